#!/usr/bin/env python3
"""pointmill's operators of points on a GPU by the names of mmcv, and mmcv's own on the same points.

    points_mmcv.py MMCV CLOUD [--rounds 30]

MMCV is the unpacked source of mmcv 2.x (PyPI's sdist): its CUDA files are compiled here for the machine's card, and its own
Python calls them, gradients by torch's autograd as pointmill's. CLOUD is a `.bin` of x, y, z, intensity in float32. Times
are medians in ms by events. Needs torch with CUDA, nvcc and pointmill.
"""

import argparse
import pathlib

import numpy as np
import torch
from mmcv_kernels import by_events, compiled, functions

from pointmill.compat import mmcv as ours

BINDING = """
#include <torch/extension.h>
using at::Tensor;
namespace py = pybind11;
using py::arg;
void FurthestPointSamplingForwardCUDAKernelLauncher(int, int, int, const float*, float*, int*);
void BallQueryForwardCUDAKernelLauncher(int, int, int, float, float, int, const Tensor, const Tensor, Tensor);
void ThreeNNForwardCUDAKernelLauncher(int, int, int, const Tensor, const Tensor, Tensor, Tensor);
void KNNForwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, Tensor, Tensor);
void ThreeInterpolateForwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, const Tensor, Tensor);
void ThreeInterpolateBackwardCUDAKernelLauncher(int, int, int, int, const Tensor, const Tensor, const Tensor, Tensor);
void GroupPointsForwardCUDAKernelLauncher(int, int, int, int, int, const Tensor, const Tensor, Tensor);
void GroupPointsBackwardCUDAKernelLauncher(int, int, int, int, int, const Tensor, const Tensor, Tensor);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.def("furthest_point_sampling_forward", [](Tensor points, Tensor temp, Tensor out, int b, int n, int m) {
        FurthestPointSamplingForwardCUDAKernelLauncher(b, n, m, points.data_ptr<float>(), temp.data_ptr<float>(), out.data_ptr<int>());
    }, arg("points"), arg("temp"), arg("out"), arg("b"), arg("n"), arg("m"));
    module.def("ball_query_forward", [](Tensor centres, Tensor points, Tensor out, int b, int n, int m, float min_radius, float max_radius, int nsample) {
        BallQueryForwardCUDAKernelLauncher(b, n, m, min_radius, max_radius, nsample, centres, points, out);
    }, arg("centres"), arg("points"), arg("out"), arg("b"), arg("n"), arg("m"), arg("min_radius"), arg("max_radius"), arg("nsample"));
    module.def("three_nn_forward", [](Tensor target, Tensor source, Tensor distances, Tensor out, int b, int n, int m) {
        ThreeNNForwardCUDAKernelLauncher(b, n, m, target, source, distances, out);
    }, arg("target"), arg("source"), arg("distances"), arg("out"), arg("b"), arg("n"), arg("m"));
    module.def("knn_forward", [](Tensor points, Tensor centres, Tensor out, Tensor distances, int b, int n, int m, int nsample) {
        KNNForwardCUDAKernelLauncher(b, n, m, nsample, points, centres, out, distances);
    }, arg("points"), arg("centres"), arg("out"), arg("distances"), arg("b"), arg("n"), arg("m"), arg("nsample"));
    module.def("three_interpolate_forward", [](Tensor features, Tensor rows, Tensor weights, Tensor out, int b, int c, int m, int n) {
        ThreeInterpolateForwardCUDAKernelLauncher(b, c, m, n, features, rows, weights, out);
    }, arg("features"), arg("rows"), arg("weights"), arg("out"), arg("b"), arg("c"), arg("m"), arg("n"));
    module.def("three_interpolate_backward", [](Tensor grad, Tensor rows, Tensor weights, Tensor out, int b, int c, int n, int m) {
        ThreeInterpolateBackwardCUDAKernelLauncher(b, c, n, m, grad, rows, weights, out);
    }, arg("grad"), arg("rows"), arg("weights"), arg("out"), arg("b"), arg("c"), arg("n"), arg("m"));
    module.def("group_points_forward", [](Tensor features, Tensor rows, Tensor out, int b, int c, int n, int npoints, int nsample) {
        GroupPointsForwardCUDAKernelLauncher(b, c, n, npoints, nsample, features, rows, out);
    }, arg("features"), arg("rows"), arg("out"), arg("b"), arg("c"), arg("n"), arg("npoints"), arg("nsample"));
    module.def("group_points_backward", [](Tensor grad, Tensor rows, Tensor out, int b, int c, int n, int npoints, int nsample) {
        GroupPointsBackwardCUDAKernelLauncher(b, c, n, npoints, nsample, grad, rows, out);
    }, arg("grad"), arg("rows"), arg("out"), arg("b"), arg("c"), arg("n"), arg("npoints"), arg("nsample"));
}
"""
NAMES = ("furthest_point_sample", "ball_query", "three_nn", "knn", "three_interpolate", "group_points")


def gradient(made, of):
    """A call that takes the gradient of what was made."""
    grad = torch.ones_like(made)
    return lambda: torch.autograd.grad(made, of, grad, retain_graph=True)


def measure(mmcv, cloud, rounds):
    sample, ball, three, near, interpolate, group = functions(mmcv, compiled(mmcv, BINDING, NAMES), NAMES)
    whole = torch.from_numpy(np.fromfile(cloud, np.float32).reshape(-1, 4)[:, :3].copy())
    random = torch.Generator().manual_seed(0)
    table = []

    def row(name, own, theirs, equal=None):
        same = "" if equal is None else f"{(equal(own()) == equal(theirs())).float().mean().item():.4f}"
        a, b = by_events(own, rounds), by_events(theirs, rounds)
        table.append(f"| {name} | {a:.3f} | {b:.3f} | {b / a:.1f} | {same} |")

    for items, length, number in ((1, 16384, 4096), (8, 16384, 4096), (1, 100_000, 16384)):
        each = [whole[torch.randperm(len(whole), generator=random)[:length]] for _ in range(items)]
        points = torch.stack(each).cuda()
        row(f"furthest_point_sample {items} x {length} to {number}",
            lambda: ours.furthest_point_sample(points, number),
            lambda: sample.furthest_point_sample(points, number), lambda rows: rows)  # fmt: skip
        if length > 20_000:
            continue
        own = ours.furthest_point_sample(points, number)
        centres = torch.gather(points, 1, own.long()[..., None].expand(-1, -1, 3)).contiguous()
        for radius, most in ((0.8, 16), (2.0, 32)):
            row(f"ball_query {radius} m, {most}, {items} x {length}, {number}",
                lambda: ours.ball_query(0, radius, most, points, centres),
                lambda: ball.ball_query(0, radius, most, points, centres), lambda rows: rows)  # fmt: skip
        row(f"three_nn {items} x {length} in {number}", lambda: ours.three_nn(points, centres),
            lambda: three.three_nn(points, centres), lambda found: found[1])  # fmt: skip
        row(f"knn 16, {items} x {number} in {length}", lambda: ours.knn(16, points, centres),
            lambda: near.knn(16, points, centres), lambda rows: rows)  # fmt: skip
        c = 64
        features = torch.randn(items, c, number, device="cuda", requires_grad=True)
        rows = ours.three_nn(points, centres)[1]
        weights = torch.rand(items, length, 3, device="cuda")
        calls = [lambda: ours.three_interpolate(features, rows, weights),
                 lambda: interpolate.three_interpolate(features, rows, weights)]  # fmt: skip
        row(f"three_interpolate {c}, {items} x {length}", *calls)
        row("its gradient", *(gradient(call(), features) for call in calls))
        wide = torch.randn(items, c, length, device="cuda", requires_grad=True)
        members = ours.ball_query(0, 0.8, 32, points, centres)
        calls = [lambda: ours.grouping_operation(wide, members), lambda: group.grouping_operation(wide, members)]
        row(f"grouping_operation {c}, {items} x {number} x 32", *calls, lambda grouped: grouped)
        row("its gradient", *(gradient(call(), wide) for call in calls))
    print("| call | pointmill, ms | mmcv, ms | times | equal rows |\n|---|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mmcv", type=pathlib.Path)
    parser.add_argument("cloud", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    measure(given.mmcv, given.cloud, given.rounds)
