#!/usr/bin/env python3
"""What the command does when a GPU's memory is really short: fills the GPU but for 1 GiB, then voxelizes a cloud that is too large for that and one that is not.

    python3 gpu_memory.py target/release/pointmill

Needs torch with CUDA. Expected without --on-oom: the large cloud fails with OutOfMemory, exit 3; with it: the CPU does that cloud, exit 0. The small one is done on the GPU.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

LEFT, LARGE, SMALL = 1 << 30, 40_000_000, 1000


def fill(left: int) -> list[torch.Tensor]:
    """Takes memory until no more than `left` bytes are free."""
    held = []
    while (take := torch.cuda.mem_get_info()[0] - left) >= 8 << 20:
        held.append(torch.empty(min(take, 8 << 30), dtype=torch.uint8, device="cuda"))
    return held


def records(binary: str, folder: Path, flags: list[str]) -> tuple[int, dict[str, str]]:
    """The exit code, and of each cloud the device that did it or the class of its error."""
    command = [binary, "voxelize", str(folder), "--device", "cuda:0", "--max-input-points", "100000000", "--json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    told = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        data = record["data"]
        if record["type"] in ("frame", "error") and data["input"]:
            told[Path(data["input"]).stem] = data["device"] if record["type"] == "frame" else data["class"]
    return done.returncode, told


def main() -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for cloud, n in (("large", LARGE), ("small", SMALL)):
            np.save(folder / f"{cloud}.npy", rng.uniform(-50, 50, (n, 4)).astype(np.float32))
        held = fill(LEFT)
        cases = {
            (): (3, {"large": "OutOfMemory", "small": "cuda:0"}),
            ("--on-oom", "cpu"): (0, {"large": "cpu", "small": "cuda:0"}),
            ("--jobs", "2", "--on-oom", "cpu"): (0, {"large": "cpu", "small": "cuda:0"}),
        }
        failed = 0
        for flags, expected in cases.items():
            got = records(sys.argv[1], folder, list(flags))
            failed += got != expected
            print("as expected" if got == expected else f"expected {expected}", *flags, got)
        del held
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
