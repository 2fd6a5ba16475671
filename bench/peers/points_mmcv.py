#!/usr/bin/env python3
"""pointmill's operators of points on a GPU by the names of mmcv, and mmcv's own kernels on the same points.

    points_mmcv.py MMCV CLOUD [--rounds 30]

MMCV is the unpacked source of mmcv 2.x (PyPI's sdist): its CUDA files are compiled here for the machine's card. CLOUD is
a `.bin` of x, y, z, intensity in float32. Times are medians in ms by events. Needs torch with CUDA, nvcc and pointmill.
"""

import argparse
import pathlib
import statistics
import tempfile

import numpy as np
import torch

from pointmill.compat import mmcv as ours

BINDING = """
#include <torch/extension.h>
using at::Tensor;
void FurthestPointSamplingForwardCUDAKernelLauncher(int, int, int, const float*, float*, int*);
void BallQueryForwardCUDAKernelLauncher(int, int, int, float, float, int, const Tensor, const Tensor, Tensor);
void ThreeNNForwardCUDAKernelLauncher(int, int, int, const Tensor, const Tensor, Tensor, Tensor);
void KNNForwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, Tensor, Tensor);
void ThreeInterpolateForwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, const Tensor, Tensor);
void ThreeInterpolateBackwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, const Tensor, Tensor);
void GroupPointsForwardCUDAKernelLauncher(int, int, int, int, int, const Tensor, const Tensor, Tensor);
void GroupPointsBackwardCUDAKernelLauncher(int, int, int, int, int, const Tensor, const Tensor, Tensor);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("fps", [](Tensor points, Tensor temp, Tensor out) {
        FurthestPointSamplingForwardCUDAKernelLauncher(points.size(0), points.size(1), out.size(1),
            points.data_ptr<float>(), temp.data_ptr<float>(), out.data_ptr<int>());
    });
    m.def("ball", &BallQueryForwardCUDAKernelLauncher);
    m.def("three_nn", &ThreeNNForwardCUDAKernelLauncher);
    m.def("knn", &KNNForwardCUDAKernelLauncher);
    m.def("interpolate", &ThreeInterpolateForwardCUDAKernelLauncher);
    m.def("interpolate_back", &ThreeInterpolateBackwardCUDAKernelLauncher);
    m.def("group", &GroupPointsForwardCUDAKernelLauncher);
    m.def("group_back", &GroupPointsBackwardCUDAKernelLauncher);
}
"""
NAMES = ("furthest_point_sample", "ball_query", "three_nn", "knn", "three_interpolate", "group_points")


def median_ms(call, rounds):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def compiled(mmcv):
    from torch.utils.cpp_extension import load

    sources = mmcv / "mmcv/ops/csrc"
    build = pathlib.Path(tempfile.mkdtemp())
    (build / "binding.cpp").write_text(BINDING)
    cuda = [str(sources / f"pytorch/cuda/{name}_cuda.cu") for name in NAMES]
    include = [str(sources / "common"), str(sources / "common/cuda")]
    flags = ["-DMMCV_WITH_CUDA"]
    return load(
        "mmcv_points", [str(build / "binding.cpp"), *cuda], extra_include_paths=include, build_directory=str(build),
        extra_cflags=flags, extra_cuda_cflags=flags,
    )  # fmt: skip


def measure(mmcv, cloud, rounds):
    peer = compiled(mmcv)
    whole = torch.from_numpy(np.fromfile(cloud, np.float32).reshape(-1, 4)[:, :3].copy())
    random = torch.Generator().manual_seed(0)
    table = []

    def row(name, own, theirs, same=None):
        a, b = median_ms(own, rounds), median_ms(theirs, rounds)
        table.append(f"| {name} | {a:.3f} | {b:.3f} | {b / a:.1f} | {'' if same is None else same} |")

    def cuda(*shape, dtype=torch.int32):
        return torch.zeros(shape, dtype=dtype, device="cuda")

    for items, length, number in ((1, 16384, 4096), (8, 16384, 4096), (1, 100_000, 16384)):
        each = [whole[torch.randperm(len(whole), generator=random)[:length]] for _ in range(items)]
        points = torch.stack(each).cuda()

        def sample(points=points, number=number):
            out, temp = cuda(len(points), number), torch.full(points.shape[:2], 1e10, device="cuda")
            peer.fps(points, temp, out)
            return out

        own = ours.furthest_point_sample(points, number)
        agree = (own == sample()).float().mean().item()
        row(f"furthest_point_sample {items} x {length} to {number}",
            lambda: ours.furthest_point_sample(points, number), sample, f"{agree:.4f}")  # fmt: skip
        if length > 20_000:
            continue
        centres = torch.gather(points, 1, own.long()[..., None].expand(-1, -1, 3)).contiguous()
        m = centres.shape[1]
        for radius, most in ((0.8, 16), (2.0, 32)):
            def ball(radius=radius, most=most):
                out = cuda(items, m, most)
                peer.ball(items, length, m, 0.0, radius, most, centres, points, out)
                return out

            agree = (ours.ball_query(0, radius, most, points, centres) == ball()).float().mean().item()
            row(f"ball_query {radius} m, {most}, {items} x {length}, {m}",
                lambda: ours.ball_query(0, radius, most, points, centres), ball, f"{agree:.4f}")  # fmt: skip
        def nn():
            distances, out = cuda(items, length, 3, dtype=torch.float32), cuda(items, length, 3)
            peer.three_nn(items, length, m, points, centres, distances, out)
            return out

        agree = (ours.three_nn(points, centres)[1] == nn()).float().mean().item()
        row(f"three_nn {items} x {length} in {m}", lambda: ours.three_nn(points, centres), nn, f"{agree:.4f}")

        def near():
            distances, out = cuda(items, m, 16, dtype=torch.float32), cuda(items, m, 16)
            peer.knn(items, length, m, 16, points, centres, out, distances)
            return out

        agree = (ours.knn(16, points, centres).transpose(1, 2) == near()).float().mean().item()
        row(f"knn 16, {items} x {m} in {length}", lambda: ours.knn(16, points, centres), near, f"{agree:.4f}")
        c = 64
        features = torch.randn(items, c, m, device="cuda", requires_grad=True)
        indices = ours.three_nn(points, centres)[1]
        weights = torch.rand(items, length, 3, device="cuda")
        made = ours.three_interpolate(features, indices, weights)
        grad = torch.randn_like(made)

        def interpolate():
            out = cuda(items, c, length, dtype=torch.float32)
            peer.interpolate(items, c, m, length, features, indices, weights, out)

        def interpolate_back():
            out = cuda(items, c, m, dtype=torch.float32)
            peer.interpolate_back(items, c, length, m, grad, indices, weights, out)

        row(f"three_interpolate {c}, {items} x {length}",
            lambda: ours.three_interpolate(features.detach(), indices, weights), interpolate)  # fmt: skip
        row("its gradient", lambda: torch.autograd.grad(made, features, grad, retain_graph=True), interpolate_back)
        wide = torch.randn(items, c, length, device="cuda", requires_grad=True)
        rows = ours.ball_query(0, 0.8, 32, points, centres)
        grouped = ours.grouping_operation(wide, rows)
        of_group = torch.randn_like(grouped)

        def group():
            out = cuda(items, c, m, 32, dtype=torch.float32)
            peer.group(items, c, length, m, 32, wide, rows, out)

        def group_back():
            out = cuda(items, c, length, dtype=torch.float32)
            peer.group_back(items, c, length, m, 32, of_group, rows, out)

        row(f"grouping_operation {c}, {items} x {m} x 32",
            lambda: ours.grouping_operation(wide.detach(), rows), group)  # fmt: skip
        row("its gradient", lambda: torch.autograd.grad(grouped, wide, of_group, retain_graph=True), group_back)
    print("| call | pointmill, ms | mmcv, ms | times | equal rows |\n|---|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mmcv", type=pathlib.Path)
    parser.add_argument("cloud", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    measure(given.mmcv, given.cloud, given.rounds)
