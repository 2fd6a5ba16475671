#!/usr/bin/env python3
"""What a torch user waits for: milliseconds of each call of the sparse front end and of NMS on a GPU, and the bytes that a trace sees going to the host.

Run: python3 bench/from_torch.py [--rounds 200]
"""

import argparse
import statistics
import time

import numpy as np
import torch

import pointmill
from pointmill import boxes, sparse


def cells(count, edge):
    """Cells as a sweep has them: thin sheets, in any order."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, edge, (2, 2 * count))
    z = ((np.sin(x / 40) + np.cos(y / 60)) * 8 + 20 + rng.integers(0, 4, 2 * count)).astype(np.int64)
    return rng.permutation(np.unique(np.stack([x, y, z], 1), axis=0)[:count])


def calls():
    cuda = torch.device("cuda")
    grid = cells(105_086, 1024)
    coords = torch.from_numpy(grid.astype(np.int32)).to(cuda)
    rows = torch.from_numpy(np.column_stack([np.zeros(len(grid)), grid[:, ::-1]]).astype(np.int32)).to(cuda)
    rng = np.random.default_rng(2)
    cloud = np.repeat(grid, 3, 0)[:271_156] * 0.1 + rng.uniform(0, 0.1, (271_156, 3))
    points = torch.from_numpy(cloud.astype(np.float32)).to(cuda)
    boxes7 = np.column_stack([rng.uniform(-50, 50, (4096, 2)), rng.uniform(-1, 1, 4096), rng.uniform(1, 5, (4096, 3)), rng.uniform(-3, 3, 4096)])
    found, scores = (torch.from_numpy(one.astype(np.float32)).to(cuda) for one in (boxes7, rng.uniform(0, 1, 4096)))
    shape = (64, 1024, 1024)
    strided = dict(kind="strided", kernel=3, stride=2, padding=1)
    return {
        "index_pairs, submanifold": lambda: sparse.index_pairs(rows, shape),
        "index_pairs, strided": lambda: sparse.index_pairs(rows, shape, **strided),
        "grid_sample": lambda: sparse.grid_sample(points, 0.1),
        "serialize, 4 orders": lambda: sparse.serialize(coords),
        "pool_hierarchy, 4 stages": lambda: sparse.pool_hierarchy(coords),
        "nms of 4,096": lambda: boxes.nms(found, scores, 0.2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    print(f"pointmill {pointmill.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}")
    print("| call | ms, median | p90 | copies to the host | bytes |\n|---|---|---|---|---|")
    for name, call in calls().items():
        for _ in range(20):
            call()
        torch.cuda.synchronize()
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
            call()
            torch.cuda.synchronize()
        copies = [one for one in trace.profiler.kineto_results.events() if "DtoH" in one.name()]
        size = sum(one.nbytes() for one in copies)
        p90 = statistics.quantiles(times, n=10)[-1]
        print(f"| {name} | {statistics.median(times):.3f} | {p90:.3f} | {len(copies)} | {size} |")


if __name__ == "__main__":
    main()
