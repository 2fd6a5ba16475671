#!/usr/bin/env python3
"""pointmill's overlaps and suppression of boxes on a GPU, and mmcv's own kernels on the same boxes.

    boxes_mmcv.py MMCV [--rounds 100]

MMCV is the unpacked source of mmcv 2.x (PyPI's sdist): its three CUDA files are compiled here for the machine's card.
Times are medians in ms of a call with a synchronization behind it, and by events. Needs torch with CUDA, nvcc and
pointmill.
"""

import argparse
import pathlib
import statistics
import time

import numpy as np
import torch
from mmcv_kernels import by_events, compiled

import pointmill.boxes

BINDING = """
#include <torch/extension.h>
using at::Tensor;
void IoU3DBoxesOverlapBevForwardCUDAKernelLauncher(const int, const Tensor, const int, const Tensor, Tensor);
void IoU3DNMS3DForwardCUDAKernelLauncher(const Tensor, Tensor&, Tensor&, float);
Tensor nms_rotated_cuda(const Tensor, const Tensor, const Tensor, const Tensor, float, const int);
void box_iou_rotated_cuda(const Tensor, const Tensor, Tensor, const int, const bool);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("overlap", [](Tensor a, Tensor b, Tensor out) {
        IoU3DBoxesOverlapBevForwardCUDAKernelLauncher(a.size(0), a, b.size(0), b, out);
    });
    m.def("nms3d", [](Tensor boxes, Tensor keep, Tensor number, double threshold) {
        IoU3DNMS3DForwardCUDAKernelLauncher(boxes, keep, number, threshold);
    });
    m.def("nms_rotated", &nms_rotated_cuda);
    m.def("box_iou_rotated", &box_iou_rotated_cuda);
}
"""


def detections(n):
    """Eight detections around each of n / 8 proposals of a street with 32 cars."""
    random = np.random.default_rng(0)
    cars = np.column_stack([random.uniform(-70, 70, 32), random.uniform(-20, 20, 32), np.full(32, -1.0),
                            random.uniform([3.6, 1.5, 1.4], [5.2, 2.1, 2.1], (32, 3)), random.uniform(-3.2, 3.2, 32)])
    spread = np.array([0.4, 0.4, 0.1, 0.2, 0.1, 0.1, 0.2])
    proposals = cars[random.integers(0, 32, n // 8)] + 2 * spread * random.uniform(-0.5, 0.5, (n // 8, 7))
    boxes = np.repeat(proposals, 8, axis=0) + spread * random.uniform(-0.5, 0.5, (n // 8 * 8, 7))
    return boxes.astype(np.float32), random.random(len(boxes), np.float32)


def median_ms(call, rounds):
    events = by_events(call, rounds)
    waits = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        waits.append(time.perf_counter() - start)
    return statistics.median(waits) * 1e3, events


def measure(mmcv, rounds):
    ops = compiled(mmcv, BINDING, ("iou3d", "nms_rotated", "box_iou_rotated"))

    def nms3d(boxes, scores, threshold):
        order = scores.sort(0, descending=True)[1]
        boxes = boxes[order].contiguous()
        keep = boxes.new_zeros(len(boxes), dtype=torch.long)
        number = boxes.new_zeros(size=(), dtype=torch.long)
        ops.nms3d(boxes, keep, number, threshold)
        return order[keep[:number]]

    def nms_rotated(boxes, scores, threshold):
        flat = boxes[:, [0, 1, 3, 4, 6]].contiguous()
        order = scores.sort(0, descending=True)[1]
        return ops.nms_rotated(flat, scores, order, flat.index_select(0, order), threshold, 0)

    print(f"{torch.cuda.get_device_name()}: ms with a wait, ms by events")
    for n in (1000, 4096):
        boxes = torch.from_numpy(detections(n)[0]).cuda()
        flat = boxes[:, [0, 1, 3, 4, 6]].contiguous()
        area, out = torch.zeros(n, n, device="cuda"), torch.zeros(n * n, device="cuda")
        for name, call in {
            "pointmill.boxes.iou": lambda: pointmill.boxes.iou(boxes, boxes),
            "mmcv boxes_overlap_bev": lambda: ops.overlap(boxes, boxes, area),
            "mmcv box_iou_rotated": lambda: ops.box_iou_rotated(flat, flat, out, 0, False),
        }.items():
            print(f"{name}, {n} x {n}:", *(f"{ms:.3f}" for ms in median_ms(call, rounds)))
    for n, items in ((4096, 1), (65_536, 32)):
        boxes, scores = (torch.from_numpy(array).cuda() for array in detections(n))
        splits = [n // items * item for item in range(items + 1)]
        groups = list(zip(boxes.chunk(items), scores.chunk(items), strict=True))
        for name, call in {
            "pointmill.boxes.nms": lambda: pointmill.boxes.nms(boxes, scores, 0.2, row_splits=splits)[0],
            "mmcv nms3d": lambda: torch.cat([nms3d(*group, 0.2) for group in groups]),
            "mmcv nms_rotated": lambda: torch.cat([nms_rotated(*group, 0.2) for group in groups]),
        }.items():
            kept = len(call())
            print(f"{name}, {n} in {items} items, {kept} kept:", *(f"{ms:.3f}" for ms in median_ms(call, rounds)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mmcv", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    measure(args.mmcv, args.rounds)


if __name__ == "__main__":
    main()
