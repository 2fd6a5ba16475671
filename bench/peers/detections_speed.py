#!/usr/bin/env python3
"""Times `pointmill evaluate detections` on a generated validation set of nuScenes' size, and nuscenes-devkit on some of it.

6,019 frames with 31 true and 500 predicted boxes each, seeded; both read the same JSON. The devkit evaluates the first
--frames of them, and so does the command, in one run; the command evaluates the whole set too. The numbers of both must
agree to 1e-9. Times are those of a process, reading included; of the command the median of three.

    python3 bench/peers/detections_speed.py target/release/pointmill --frames 600
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fixtures"))
import detections as peers  # noqa: E402

NAMES = ["car", "truck", "bus", "trailer", "construction_vehicle", "pedestrian", "motorcycle", "bicycle", "traffic_cone", "barrier"]
ATTRIBUTES = {"pedestrian": "pedestrian.moving", "bicycle": "cycle.with_rider", "motorcycle": "cycle.with_rider", "traffic_cone": "", "barrier": ""}
TRUE, FOUND = 31, 500
FULL = 6019


def frame(rng):
    """The boxes of a frame: a part of the predictions lies near the truth."""
    token, vehicle = f"{rng.integers(1 << 60):016x}", rng.uniform(-500, 500, 3)
    place, size = rng.uniform(-50, 50, (TRUE, 3)) * [1, 1, 0.05], rng.uniform(0.4, 5, (TRUE, 3))
    yaw, speed, kind = rng.uniform(-np.pi, np.pi, TRUE), rng.normal(0, 3, (TRUE, 2)), rng.integers(10, size=TRUE)
    of = rng.integers(TRUE, size=FOUND)
    spread = rng.choice([0.3, 2.0, 30.0], FOUND)[:, None]
    near = np.clip(place[of] + rng.normal(0, 1, (FOUND, 3)) * spread * [1, 1, 0.05], -50, 50)
    score = rng.uniform(size=FOUND) * np.where(spread[:, 0] > 1, 0.6, 1.0)
    make = lambda place, size, yaw, speed, name, score, points: peers.box(
        token, vehicle, place, size, yaw, speed, name, score, ATTRIBUTES.get(name, "vehicle.moving"), points)
    true = [make(place[k], size[k], yaw[k], speed[k], NAMES[kind[k]], -1.0, 5) for k in range(TRUE)]
    found = [make(near[k], size[of[k]], yaw[of[k]] + 0.1, speed[of[k]], NAMES[kind[of[k]]], score[k], -1) for k in range(FOUND)]
    return token, found, true


def write(folder, frames):
    """Writes pred.json and truth.json frame by frame."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    meta = {f"use_{sensor}": sensor == "lidar" for sensor in ["camera", "lidar", "radar", "map", "external"]}
    with open(folder / "pred.json", "w") as pred, open(folder / "truth.json", "w") as truth:
        pred.write('{"meta": ' + json.dumps(meta) + ', "results": {')
        truth.write("{")
        for k in range(frames):
            token, found, true = frame(rng)
            comma = ", " if k else ""
            pred.write(f'{comma}"{token}": {json.dumps(found)}')
            truth.write(f'{comma}"{token}": {json.dumps(true)}')
        pred.write("}}")
        truth.write("}")


def ours(binary, folder, times=3):
    """Seconds of a run, and the summary."""
    command = [str(binary), "evaluate", "detections", "pred.json", "truth.json", "--protocol", "nuscenes", "--json"]
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), json.loads(out.splitlines()[-1])["data"]


def theirs(folder):
    """Seconds of a process that evaluates with the devkit, and its scores."""
    program = f"import sys, json, pathlib; sys.path.insert(0, {str(pathlib.Path(peers.__file__).parent)!r}); import detections"
    program += "; found = detections.nuscenes(pathlib.Path('.')); print(json.dumps([found['nds'], found['mean_ap']]))"
    begin = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True).stdout
    return time.perf_counter() - begin, json.loads(out.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=600, help="frames that both evaluate")
    parser.add_argument("--full", type=int, default=FULL, help="frames that the command alone evaluates")
    args = parser.parse_args()
    binary = args.binary.resolve()
    with tempfile.TemporaryDirectory() as folder:
        part, full = pathlib.Path(folder) / "part", pathlib.Path(folder) / "full"
        write(part, args.frames)
        (peer, scores), (seconds, summary) = theirs(part), ours(binary, part)
        print(f"{args.frames} frames: pointmill {seconds:.2f} s, nuscenes-devkit {peer:.1f} s, {peer / seconds:.1f}x", flush=True)
        differences = [abs(a - b) for a, b in zip(scores, [summary["nds"], summary["mean_ap"]])]
        print(f"NDS and mean AP differ by {max(differences):.1e} at most")
        write(full, args.full)
        seconds, summary = ours(binary, full)
        print(f"{args.full} frames, {summary['predictions']} predicted, {summary['truth']} true: pointmill {seconds:.2f} s")
    return int(max(differences) > 1e-9)


if __name__ == "__main__":
    sys.exit(main())
