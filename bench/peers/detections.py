#!/usr/bin/env python3
"""Compares `pointmill evaluate detections` with av2, nuscenes-devkit and a program in numpy and shapely.

Makes seeded logs of each benchmark, evaluates them with both, and compares every number; so do the cases of av2 and the
sequences of KITTI in a folder, if one is given. Exits with 1 if a number differs by more than 1e-9, of KITTI 1e-6.

    python3 bench/peers/detections.py target/release/pointmill --logs 20 --boxes FOLDER
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fixtures"))
import detections as peers  # noqa: E402

THRESHOLDS = [0.5, 1.0, 2.0, 4.0]
ERRORS = ["translation", "scale", "orientation", "velocity", "attribute"]


def evaluate(binary, protocol, predictions, truth):
    """The average precisions and the summary of the command."""
    command = [binary, "evaluate", "detections", predictions, truth, "--protocol", protocol, "--json"]
    out = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    return [line["data"] for line in lines if line["type"] == "frame"], lines[-1]["data"]


class Differences:
    """The largest difference of a benchmark."""

    def __init__(self, name, most):
        self.name, self.most, self.largest, self.count, self.failed = name, most, 0.0, 0, []

    def add(self, what, ours, theirs):
        self.count += 1
        if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
            same = ours is None
            difference = 0.0 if same else math.inf
        else:
            difference = math.inf if ours is None else abs(ours - theirs)
        self.largest = max(self.largest, difference)
        if difference > self.most:
            self.failed.append(f"{what}: {ours} and {theirs}")

    def tell(self):
        print(f"{self.name}: {self.count} numbers, largest difference {self.largest:.2e}, {len(self.failed)} failed")
        for line in self.failed[:5]:
            print(f"  {line}")
        return len(self.failed)


def compare_kitti(out, binary, predictions, truth):
    answers = peers.kitti(predictions, truth)
    for protocol in ["kitti", "kitti-r11"]:
        for row in evaluate(binary, protocol, predictions, truth)[0]:
            name = f"{row['class']} {row['metric']} {row['level']}"
            out.add(f"{predictions} {protocol} {name}", row["ap"], answers[name] and answers[name][protocol])


def compare_nuscenes(out, binary, folder):
    answers = peers.nuscenes(folder)
    rows, summary = evaluate(binary, "nuscenes", folder / "pred.json", folder / "truth.json")
    out.add("NDS", summary["nds"], answers["nds"])
    out.add("mean AP", summary["mean_ap"], answers["mean_ap"])
    for row in rows:
        wanted = answers["classes"][row["class"]]["aps"][THRESHOLDS.index(row["threshold"])]
        out.add(f"{folder} {row['class']} {row['threshold']}", row["ap"], wanted)
    for row in summary["classes"]:
        for kind, wanted in zip(ERRORS, answers["classes"][row["class"]]["errors"]):
            out.add(f"{folder} {row['class']} {kind}", row["errors"][kind], wanted)


def compare_av2(out, binary, predictions, truth):
    answers = peers.av2(predictions, truth)
    summary = evaluate(binary, "av2", predictions, truth)[1]
    rows = [({"class": "mean", "ap": summary["mean_ap"], **summary}, answers["mean"])]
    rows += [(row, answers["classes"][row["class"]]) for row in summary["classes"]]
    for row, wanted in rows:
        ours = [row["ap"], *(row["errors"][kind] for kind in ERRORS[:3]), row["cds"]]
        for kind, a, b in zip(["AP", "ATE", "ASE", "AOE", "CDS"], ours, wanted):
            out.add(f"{predictions} {row['class']} {kind}", a, b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--logs", type=int, default=20)
    parser.add_argument("--boxes", type=pathlib.Path, help="folder with argoverse2/ and kitti/, label/ and pointrcnn_*/ in it")
    args = parser.parse_args()
    kitti, nuscenes, av2 = Differences("KITTI", 1e-6), Differences("nuScenes", 1e-9), Differences("Argoverse 2", 1e-9)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.logs):
            at = pathlib.Path(folder) / str(seed)
            peers.make_kitti(seed, at / "kitti", frames=5 + 4 * seed)
            compare_kitti(kitti, args.binary, at / "kitti/pred", at / "kitti/truth")
            peers.make_nuscenes(seed, at / "nuscenes", frames=2 + 2 * seed, with_ego=seed % 2 == 0)
            compare_nuscenes(nuscenes, args.binary, at / "nuscenes")
            peers.make_av2(seed, at / "av2", sweeps=2 + 2 * seed, most=60, compression=["lz4", "zstd", "uncompressed"][seed % 3])
            compare_av2(av2, args.binary, at / "av2/pred.feather", at / "av2/truth.feather")
    if args.boxes:
        for found in sorted((args.boxes / "kitti").glob("pointrcnn_*")):
            compare_kitti(kitti, args.binary, found, args.boxes / "kitti/label")
        for found in ["detections", "detections_assignment", "detections_identity"]:
            at = args.boxes / "argoverse2"
            compare_av2(av2, args.binary, at / f"{found}.feather", at / "labels.feather")
    return int(sum(of.tell() for of in (kitti, nuscenes, av2)) > 0)


if __name__ == "__main__":
    sys.exit(main())
