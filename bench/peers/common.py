"""What the runners of packages share: the clock, the machine, the lines of our binary."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call; the result is dropped after the clock stops."""
    start = time.perf_counter_ns()
    result = call()
    elapsed = time.perf_counter_ns() - start
    del result
    return elapsed / 1e6


def machine(*packages: str) -> dict[str, object]:
    """What the figures were taken on, printed and returned."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next((line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")), model)
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    about = {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "load_1min": os.getloadavg()[0], "versions": versions}
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load_1min']:.2f}; versions {about['versions']}")
    return about


def pointmill_lines(command: list[str], kinds: tuple[str, ...], codes: tuple[int, ...] = (0,)) -> list[dict[str, object]]:
    """The `data` of each line of some kinds of one run of our binary."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line["data"] for line in lines if line.get("type") in kinds]


def load_after(about: dict[str, object]) -> None:
    """The load at the end, beside that at the beginning."""
    about["load_1min_after"] = os.getloadavg()[0]
    print(f"\nload after: {about['load_1min_after']:.2f}")
