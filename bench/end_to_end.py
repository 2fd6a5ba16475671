#!/usr/bin/env python3
"""What a user waits for: whole commands on real sweeps, beside what a user would write instead, in turns.

    python3 bench/end_to_end.py --sweeps DRIVE [--devices cuda:0,cpu] [--commands new=pointmill,old=OTHER] [--rounds 5] [--copies 10]

DRIVE is a folder of LAZ sweeps. Each is also written as .bin, so many copies of each; the map of `localize` is made with the poses of
`odometry`. A command counts from the start of its process to its end. A peer counts its loop alone, from
files to results, without its imports and without the start of CUDA. Times are medians; outputs of all commands and devices must be equal.
Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

Case = tuple[str, str, Path | None]  # name, arguments, output


def cases(work: Path, laz: Path) -> Iterator[Case]:
    bins, out = work / "bin", work / "out"
    yield "voxelize .bin", f"voxelize {bins}", None
    yield "voxelize .bin to .npz", f"voxelize {bins} --out {out}/", out
    yield "voxelize .bin to .npz, --jobs 1", f"voxelize {bins} --out {out}/ --jobs 1", out
    yield "voxelize .laz", f"voxelize {laz}", None
    # One cloud of all sweeps. Goal: a downsampled one takes at most 1.1 times as long as its voxels.
    yield "voxelize all to .npz", f"voxelize {work / 'all.bin'} --voxel-size 0.2 --range auto --out {out}.npz", work / "out.npz"
    yield "downsample all", f"downsample {work / 'all.bin'} --voxel-size 0.2 --out {out}.bin", work / "out.bin"
    yield "odometry .laz", f"odometry {laz} --out {out}.txt", work / "out.txt"
    yield "odometry .bin", f"odometry {work / 'drive'} --out {out}.txt", work / "out.txt"
    yield "localize .laz", f"localize {laz} --map {work / 'map.npz'} --guess {work / 'start.txt'} --out {out}.txt", work / "out.txt"


def digest(path: Path | None) -> str:
    """The bytes of a file, or of all results in a folder."""
    if path is None or not path.exists():
        return "-"
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:12]


def run(command: str, arguments: str, device: str, out: Path | None, environment: dict[str, str] | None = None) -> tuple[float, str, list]:
    if out is not None and out.exists():
        shutil.rmtree(out) if out.is_dir() else out.unlink()
    line = [*shlex.split(command), *shlex.split(arguments), "--device", device, "--json"]
    start = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 6):
        raise SystemExit(f"{shlex.join(line)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    frames = [json.loads(text)["data"] for text in done.stdout.splitlines() if '"type":"frame"' in text.replace(" ", "")]
    return seconds, digest(out), [frame["ms"] for frame in frames if frame.get("ms") is not None]


def torch_voxelize(files: list[Path], device: str) -> Callable[[], None]:
    """Files to voxels on the host: numpy or laspy, then the deterministic voxelizer of plain torch calls."""
    import numpy as np
    import torch
    from odometry import load
    from torch_voxelizer import FIRST_SEEN, TorchVoxelizer

    where = "cuda" if device.startswith("cuda") else "cpu"
    size, reach = np.float32([0.2] * 3), np.float32([-51.2, -51.2, -5, 51.2, 51.2, 3])
    voxelizer = TorchVoxelizer(size, reach, 32, 150_000, FIRST_SEEN, where)

    def loop() -> None:
        for file in files:
            raw = np.fromfile(file, np.float32).reshape(-1, 4) if file.suffix == ".bin" else load(file).astype(np.float32)
            voxels = voxelizer(torch.from_numpy(raw).to(where))
            _ = {name: value.cpu() for name, value in voxels.items()}

    loop()
    return loop


def kiss_icp(files: list[Path], _: str) -> Callable[[], None]:
    from odometry import kiss, load

    return lambda: kiss([load(file) for file in files], os.cpu_count() or 1) and None


def peers(case: str, files: list[Path], device: str) -> Iterator[tuple[str, Callable[[], None]]]:
    wanted = {"voxelize .bin": [("torch loop", torch_voxelize)], "voxelize .laz": [("laspy and torch loop", torch_voxelize)]}
    wanted |= {f"odometry {kind}": [("KISS-ICP, CPU", kiss_icp)] for kind in (".laz", ".bin")}
    for name, make in wanted.get(case, []):
        try:
            yield name, make(files, device)
        except ImportError as e:
            print(f"left out: {name}: {e}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=Path, required=True)
    parser.add_argument("--devices", default="cuda:0,cpu")
    parser.add_argument("--commands", default="pointmill=pointmill", help="NAME=COMMAND, more than one to compare builds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=10)
    options = parser.parse_args()
    commands = dict(pair.split("=", 1) for pair in options.commands.split(","))
    first = next(iter(commands.values()))
    laz = sorted(options.sweeps.glob("*.laz"))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        inputs = work / "laz"
        inputs.mkdir()
        for sweep in laz:
            shutil.copy(sweep, inputs / sweep.name)
        setup = lambda arguments: subprocess.run([*shlex.split(first), *shlex.split(arguments)], check=True, capture_output=True)
        setup(f"convert {inputs} --to bin --out {work / 'drive'}")
        setup(f"merge {inputs} --out {work / 'all.bin'}")
        (work / "bin").mkdir()
        for file in sorted((work / "drive").glob("*.bin")):
            for copy in range(options.copies):
                shutil.copy(file, work / "bin" / f"{copy:02}_{file.name}")
        poses = work / "poses.txt"
        setup(f"odometry {inputs} --device cpu --out {poses}")
        (work / "start.txt").write_text(poses.read_text().splitlines()[0] + "\n")
        setup(f"ndt build {inputs} --poses {poses} --resolution 2 --device cpu --out {work / 'map.npz'}")
        print(f"{len(laz)} LAZ sweeps, {len(laz) * options.copies} of .bin, {os.cpu_count()} cores, medians of {options.rounds} in turns")
        print("| case | device | program | s | of it, ms an input | outputs |\n|---|---|---|---|---|---|")
        for name, arguments, out in cases(work, inputs):
            for device in options.devices.split(","):
                files = sorted(inputs.iterdir()) if ".laz" in name else sorted((work / ("drive" if "odometry" in name else "bin")).glob("*.bin"))
                others = dict(peers(name, files, device))
                times: dict[str, list[float]] = {program: [] for program in (*commands, *others)}
                steps: dict[str, float] = {}
                digests: dict[str, str] = {}
                for _ in range(options.rounds):
                    for program, command in commands.items():
                        seconds, digests[program], ms = run(command, arguments, device, out)
                        times[program].append(seconds)
                        steps[program] = statistics.median(ms) if ms else float("nan")
                    for program, loop in others.items():
                        start = time.perf_counter()
                        loop()
                        times[program].append(time.perf_counter() - start)
                for program, taken in times.items():
                    own = f"{steps[program]:.2f}" if program in steps else ""
                    print(f"| {name} | {device} | {program} | {statistics.median(taken):.3f} | {own} | {digests.get(program, '')} |", flush=True)
        for program, command in commands.items():
            for device in (device for device in options.devices.split(",") if device.startswith("cuda")):
                for what in ("voxelize", "icp"):
                    scans = f"{laz[0]}" if what == "voxelize" else f"{laz[1]} {laz[0]}"
                    taken = []
                    for turn in range(options.rounds):
                        fresh = {"CUDA_CACHE_PATH": str(work / f"cache-{program}-{what}-{turn}")}
                        taken.append(run(command, f"{what} {scans}", device, None, fresh)[0])
                    print(f"| {what} with an empty cache of the driver | {device} | {program} | {statistics.median(taken):.3f} | | |", flush=True)


if __name__ == "__main__":
    main()
