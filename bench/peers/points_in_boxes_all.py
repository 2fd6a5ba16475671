#!/usr/bin/env python3
"""Which boxes hold each point, as int32 [N, T], on a GPU: pointmill.compat.mmcv against other ways to the same answer.

    points_in_boxes_all.py [--points 16000 200000] [--boxes 128 512] [--repeats 50]

Rows: `compat` is pointmill.compat.mmcv.points_in_boxes_all; `widened` takes the same bits apart in int32 and stacks the samples; `bits` is the operator
alone; `torch` is the definition in torch's operators; `mmcv` is mmcv's operator where it is installed. Times are medians in ms of a call with a
synchronization behind it, and in parentheses those of the device alone, by events around 20 calls. All answers are compared before anything is timed;
points within 1e-4 m of a face are not put into the scene, so they are equal.

Needs torch with CUDA, numpy and pointmill.
"""

import argparse
import statistics
import time

import torch

import pointmill
from pointmill.compat import mmcv as compat

try:
    from mmcv.ops import points_in_boxes_all as of_mmcv
except ImportError:
    of_mmcv = None


def widened(points, boxes):
    every = []
    for p, b in zip(points, boxes):
        words = pointmill.points_in_boxes_all(p.detach().float().contiguous(), b.detach().float().contiguous(), layout="bits")
        bits = (words.unsqueeze(-1) >> torch.arange(32, dtype=torch.int32, device=words.device)) & 1
        every.append(bits.flatten(1)[:, : b.shape[0]].contiguous())
    return torch.stack(every)


def bits(points, boxes):
    return pointmill.points_in_boxes_all(points[0], boxes[0], layout="bits")


def distances(points, boxes):
    """How far each point is inside of each box along its axes, negative outside: [B, M, T]."""
    local = points[:, :, None] - boxes[:, None, :, :3]
    sine, cosine = boxes[:, None, :, 6].sin(), boxes[:, None, :, 6].cos()
    along = local[..., 0] * cosine + local[..., 1] * sine
    across = local[..., 1] * cosine - local[..., 0] * sine
    size = boxes[:, None, :, 3:6]
    height = torch.minimum(local[..., 2], size[..., 2] - local[..., 2])
    return torch.minimum(torch.minimum(size[..., 0] / 2 - along.abs(), size[..., 1] / 2 - across.abs()), height)


def by_torch(points, boxes):
    return (distances(points, boxes) > 0).int()


def scene(number, boxes, device):
    """Points in a plane of 150 m, and boxes of the size of cars around some of them."""
    random = torch.Generator().manual_seed(0)
    extent = torch.tensor([150.0, 150.0, 4.0])
    points = torch.rand(2 * number, 3, generator=random) * extent - extent / 2
    centres = points[torch.randperm(len(points), generator=random)[:boxes]] - torch.tensor([0.0, 0.0, 1.0])
    sizes = torch.rand(boxes, 3, generator=random) + torch.tensor([4.0, 1.6, 1.4])
    headings = torch.rand(boxes, 1, generator=random) * 6.0
    boxes = torch.cat([centres, sizes, headings], 1).to(device)
    clear = [distances(part[None], boxes[None])[0].abs().amin(1) > 1e-4 for part in points.to(device).split(8192)]
    points = points.to(device)[torch.cat(clear)][:number]
    assert len(points) == number
    return points[None].contiguous(), boxes[None].contiguous()


def host(call):
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


def on_device(call):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(20):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, nargs="+", default=[16_000, 200_000])
    parser.add_argument("--boxes", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit("torch sees no GPU\n")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, pointmill {pointmill.__version__}")
    for number, boxes in zip(options.points, options.boxes, strict=True):
        points_boxes = scene(number, boxes, "cuda")
        calls = {"compat": compat.points_in_boxes_all, "widened": widened, "bits": bits, "torch": by_torch}
        if of_mmcv is not None:
            calls["mmcv"] = of_mmcv
        want = by_torch(*points_boxes)
        for name, call in calls.items():
            if name != "bits":
                assert torch.equal(call(*points_boxes), want), name
        print(f"\n{boxes} boxes, {number} points, {int(want.sum())} pairs\n\n| way | ms (device) |\n|---|---|")
        # In turn, so that all see the same machine.
        times = {name: [] for name in calls}
        for _ in range(options.repeats):
            for name, call in calls.items():
                times[name].append(host(lambda: call(*points_boxes)))
        for name, call in calls.items():
            device = statistics.median(on_device(lambda: call(*points_boxes)) for _ in range(5))
            print(f"| {name} | {statistics.median(times[name]):.4f} ({device:.4f}) |")


if __name__ == "__main__":
    main()
