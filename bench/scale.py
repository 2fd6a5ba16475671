#!/usr/bin/env python3
"""Builds one map by blocks in several ways, compares the bytes, and prints a table of times.

    python3 bench/scale.py --tiles 200 --points 100000 command:1 command:2 ray:1 ray:2
    python3 bench/scale.py --tiles 200 --points 5000000 --files 20 processes:1:cuda:0 processes:2:cuda:0 processes:2:cuda:0,cuda:1

A way is one of

- `command:JOBS[:DEVICE]`: `pointmill ndt build --jobs JOBS` (on PATH);
- `processes:WORKERS[:DEVICE,..]`: worker processes with `pointmill.ndt.BlockMap`, each on the next of the devices;
- `ray:ACTORS[:GPUS]`: `pointmill.ray.build_ndt`, with so many GPUs for each actor (0.5: two actors on one GPU).

Tiles are generated. With `--files F` there are F files, and the other tiles are hard links to them with poses of their own: the disk holds less, and the reads and sums are the same. Times include starting
workers; `GB/s` counts the bytes of the inputs. The memory is the largest of any process of the way, and of the driver.
"""

import argparse
import hashlib
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

BLOCK, RESOLUTION = 128.0, 2.0


def generate(folder, tiles, points, files):
    """Tiles of rough ground with walls, and their poses in rows of ten."""
    (folder / "tiles").mkdir(parents=True)
    poses = np.tile(np.eye(4), (tiles, 1, 1))
    for tile in range(tiles):
        path = folder / "tiles" / f"{tile:06}.bin"
        if tile >= files:
            os.link(folder / "tiles" / f"{tile % files:06}.bin", path)
        else:
            dice = np.random.default_rng(tile)
            cloud = np.empty((points, 4), np.float32)
            cloud[:, :2] = dice.uniform(-50, 50, (points, 2))
            cloud[:, 2] = np.abs(dice.normal(0, 3, points))
            cloud[:, 3] = 0.5
            cloud.tofile(path)
        poses[tile, :3, 3] = [80.0 * (tile % 10), 80.0 * (tile // 10), 0.125 * (tile // files)]
    np.savetxt(folder / "poses.txt", poses[:, :3].reshape(tiles, 12), fmt="%.17g")


def digest(out):
    """One hash of the files of all blocks."""
    whole = hashlib.sha256()
    for path in sorted(p for p in out.iterdir() if p.suffix in (".arrow", ".npz")):
        whole.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def command(folder, out, jobs, device="cpu"):
    arguments = ["pointmill", "ndt", "build", str(folder / "tiles"), "--poses", str(folder / "poses.txt"), "--blocks", str(BLOCK)]
    subprocess.run([*arguments, "--resolution", str(RESOLUTION), "--out", str(out), "--jobs", jobs, "--device", device], check=True, stdout=subprocess.DEVNULL)


def _start(out, devices, count, threads):
    global blocks
    import pointmill
    from pointmill.ndt import BlockMap

    with count.get_lock():
        device = devices[count.value % len(devices)]
        count.value += 1
    pointmill.set_num_threads(threads)
    blocks = BlockMap(out, resolution=RESOLUTION, block=BLOCK, device=device)


def _add(item):
    import pointmill

    path, pose = item
    blocks.add(blocks.name_of(path), pointmill.read(path), pose=pose)


def _merge(block):
    blocks.merge(block)


def processes(folder, out, workers, devices="cpu"):
    from pointmill.ndt import BlockMap

    workers, poses = int(workers), np.loadtxt(folder / "poses.txt").reshape(-1, 3, 4)
    poses = np.concatenate([poses, np.tile([[[0, 0, 0, 1.0]]], (len(poses), 1, 1))], 1)
    whole = BlockMap(out, resolution=RESOLUTION, block=BLOCK)
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // workers)
    with context.Pool(workers, _start, (str(out), devices.split(","), context.Value("i", 0), threads)) as pool:
        for _ in pool.imap_unordered(_add, zip(map(str, sorted((folder / "tiles").iterdir())), poses)):
            pass
        for _ in pool.imap_unordered(_merge, whole.blocks):
            pass
    whole.finish()


def with_ray(folder, out, actors, gpus="0"):
    """In a process of its own, so that the memory of the driver is its own."""
    program = f"""
import resource
from pointmill.ray import build_ndt
rows = build_ndt({str(folder / "tiles")!r}, resolution={RESOLUTION}, poses={str(folder / "poses.txt")!r}, block={BLOCK}, out={str(out)!r}, num_gpus={gpus}, concurrency={actors})
assert all(row["status"] == "done" for row in rows.iter_rows())
print("driver", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MiB")
"""
    told = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return told.stdout.strip().splitlines()[-1]


WAYS = {"command": command, "processes": processes, "ray": with_ray}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="+", metavar="WAY")
    parser.add_argument("--tiles", type=int, default=200)
    parser.add_argument("--points", type=int, default=100_000, help="points of a tile [100000]")
    parser.add_argument("--files", type=int, help="files that are not links [all]")
    parser.add_argument("--repeat", type=int, default=1, help="times that all ways are taken, in turns [1]")
    parser.add_argument("--folder", type=pathlib.Path, help="where to work [a temporary folder]")
    args = parser.parse_args()
    folder = args.folder or pathlib.Path(tempfile.mkdtemp(prefix="pointmill-scale-"))
    files = min(args.files or args.tiles, args.tiles)
    if not (folder / "tiles").exists():
        generate(folder, args.tiles, args.points, files)
    points = args.tiles * args.points
    print(f"{args.tiles} tiles of {args.points:,} points, {points:,} in all; {os.cpu_count()} CPUs")
    print("| way | s | million points/s | GB/s | largest process, MiB | blocks |\n|---|---|---|---|---|---|")
    for way in args.ways * args.repeat:
        name, *rest = way.split(":", 2)
        out = folder / "map"
        shutil.rmtree(out, ignore_errors=True)
        start = time.perf_counter()
        told = WAYS[name](folder, out, *rest)
        took = time.perf_counter() - start
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        memory = f"{largest} so far" + (f", {told}" if told else "")
        print(f"| `{way}` | {took:.2f} | {points / took / 1e6:.1f} | {16 * points / took / 1e9:.2f} | {memory} | {digest(out)} |", flush=True)
    if args.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
