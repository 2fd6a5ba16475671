#!/usr/bin/env python3
"""Odometry on every drive at hand: pointmill beside KISS-ICP and small_gicp at several voxel sizes, as tables in Markdown.

    python bench/drives.py --pointmill target/release/pointmill [--data FOLDER] [--drives NAME..] [--programs NAME..] [--voxels SIZE..]
                           [--rows ROWS.json] [--update bench/drives.md]

`--list` prints the drives, with a recipe of each. Drives that are not there are named and left out; those that are made from others are written to a folder that is removed.
One drive after the other, the programs in turns, --threads threads each, no deskew in the packages. Sweeps lie in memory before the clock
of a package starts; ours reports its time of a sweep without reading.

Errors. The trajectory is laid on the truth by a rotation and a translation; the root mean square of the distances that remain is the ATE.
Where truth and sensor differ by a constant rotation, an error of calibration, that is taken out instead: the smallest rotation that lays the
positions along the truth turns the frames of world and sensor. A sweep is off where its pose relative to that of ten sweeps before (in the
first ten: to the first) is wrong by more than 1 m or 5 degrees. The step of a drive that jumps is part of that. A drive without truth has the
largest distance to the positions of the packages at 1.0 m.

--rows keeps what was measured: what is run takes the place of what the file had, and the tables show all of it. --update writes the tables between the two markers of a Markdown file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from common import load_after, machine
from odometry import SWEEPS, Run, corrected, gicp, kiss, load, ours, read_poses

BEGIN, END = "<!-- drives: begin -->", "<!-- drives: end -->"
VOXELS = ("0.3", "0.5", "1.0", "auto")
PEERS = {"KISS-ICP": kiss, "small_gicp": gicp}
PROGRAMS = ("pointmill", *PEERS)
SPAN = 10
"""A sweep is judged relative to the one so many before it."""


def turned(x: float, y: float, z: float) -> np.ndarray:
    """The rotation by angles in degrees about x, then y, then z."""
    (a, b, c), (i, j, k) = np.cos(np.radians([x, y, z])), np.sin(np.radians([x, y, z]))
    about_x, about_y, about_z = [[1, 0, 0], [0, a, -i], [0, i, a]], [[b, 0, j], [0, 1, 0], [-j, 0, b]], [[c, -k, 0], [k, c, 0], [0, 0, 1]]
    return np.array(about_z) @ np.array(about_y) @ np.array(about_x)


def shaken(i: int) -> np.ndarray:
    """A turn of sweep i by up to 11 degrees about each axis, other than those of its neighbours."""
    return turned(*(11 * np.sin([1.7 * i, 2.3 * i + 1, 3.1 * i + 2])))


@dataclass(frozen=True)
class Drive:
    """A drive and where it comes from. `order` picks sweeps of the folder, `turn` turns the points of a sweep, `scene` makes it by `pointmill synth`."""

    name: str
    recipe: str
    folder: str = ""
    truth: str = ""
    flags: tuple[str, ...] = ()
    rotated: bool = False  # the truth differs from the sensor by a constant rotation
    times: bool = False  # points have times, which ours gets with the files as they are
    order: Callable[[range], list[int]] = list
    turn: Callable[[int], np.ndarray] | None = None
    scene: str = ""


HKU = {"folder": "livox_hku2", "truth": "reference_poses.txt"}
KITTI = {"folder": "kitti04", "truth": "poses.txt", "rotated": True}
CORRECTED = ("--dataset", "kitti-odometry")
DRIVES = (
    Drive("livox_hku2", "266 key frames of a Livox Avia that is carried through a building, from the repository daxuanzi515/Fast-LIO2_SC-SLAM, as LAZ with its poses of FAST-LIO2 (KITTI rows of the LiDAR)", **HKU),
    Drive("hku2 second", "every second sweep of livox_hku2", order=lambda all: list(all)[::2], **HKU),
    Drive("hku2 third", "every third sweep", order=lambda all: list(all)[::3], **HKU),
    Drive("hku2 reversed", "from the last sweep to the first", order=lambda all: list(all)[::-1], **HKU),
    Drive("hku2 upside down", "all sweeps turned by 180 degrees about x", turn=lambda _: turned(180, 0, 0), **HKU),
    Drive("hku2 tilted", "all sweeps turned by 40 degrees about y", turn=lambda _: turned(0, 40, 0), **HKU),
    Drive("hku2 shaken", "each sweep turned by up to 11 degrees about each axis, by sines of its number", turn=shaken, **HKU),
    Drive("hku2 jump", "sweeps 0 to 119, then 10 to 29", order=lambda _: [*range(120), *range(10, 30)], **HKU),
    Drive("kaist03", "21 key frames of an Ouster on a car, 1 to 2 m apart, of MulRan's KAIST03, as LAZ with the poses of SC-A-LOAM", folder="kaist03", truth="reference_poses.txt"),
    Drive("apollo", "14 sweeps of an HDL-64 at 14 m/s, of Apollo SouthBay's ColumbiaPark, as LAZ with a time for each point, in the order of these, with the poses of its INS", folder="apollo", truth="truth.txt", rotated=True, times=True),
    Drive("kitti04", "sweeps 0 to 24 of KITTI's odometry benchmark, sequence 04, with its poses in the frame of the LiDAR", **KITTI),
    Drive("kitti04 corrected", "the same with the vertical angle corrected: `--dataset kitti-odometry`, the packages by KISS-ICP's function", flags=CORRECTED, **KITTI),
    Drive("kitti04 second", "every second sweep of kitti04", order=lambda all: list(all)[::2], **KITTI),
    Drive("kitti04 jump", "sweeps 0 to 24, then 2 to 11", order=lambda _: [*range(25), *range(2, 12)], **KITTI),
    Drive("drive", "22 sweeps of an HDL-64 at 10 Hz, of a raw drive of KITTI; no truth", folder="drive"),
    Drive("street", "`pointmill synth --scene street --sweeps 100 --seed 301`", scene="street"),
    Drive("loop", "`pointmill synth --scene loop --sweeps 100 --seed 301`", scene="loop"),
    Drive("tunnel", "`pointmill synth --scene tunnel --sweeps 100 --seed 301`", scene="tunnel"),
)


def missing(drive: Drive, data: Path) -> str | None:
    """Why a drive cannot be run."""
    folder = data / drive.folder
    if drive.scene:
        return None
    if not folder.is_dir() or drive.truth and not (folder / drive.truth).is_file():
        return f"{folder / drive.truth} is not there"
    return None


def lay(drive: Drive, data: Path, work: Path, program: Path) -> tuple[list[Path], list[np.ndarray], np.ndarray | None]:
    """The files for ours, the same sweeps for the packages, and the true poses.

    Files are rows of f32, so that reading them in the background takes no time from ours, but where points have times. The packages get the coordinates that f32 holds too.
    """
    folder, truth = data / drive.folder, drive.truth
    if drive.scene:
        folder, truth = work / "scene", "poses.txt"
        subprocess.run([program, "synth", "--scene", drive.scene, "--sweeps", "100", "--seed", "301", "--format", "npy", "--out", folder, "--quiet"], check=True)
    files = sorted(path for path in folder.iterdir() if path.suffix in SWEEPS)
    order = drive.order(range(len(files)))
    if any(i >= len(files) for i in order):
        raise SystemExit(f"{drive.name}: expected {max(order) + 1} sweeps or more in {folder}, got {len(files)}")
    poses = read_poses(folder / truth) if truth else None
    if poses is not None and len(poses) != len(files):
        raise SystemExit(f"{drive.name}: expected {len(files)} poses in {folder / truth}, one for each sweep, got {len(poses)}")
    turns = [drive.turn(i) if drive.turn else np.eye(3) for i in order]
    sweeps = [(load(files[i]) @ turn.T).astype(np.float32).astype(np.float64) for i, turn in zip(order, turns)]
    if poses is not None:
        poses = poses[order]
        poses[:, :3, :3] = [pose[:3, :3] @ turn.T for pose, turn in zip(poses, turns)]
    paths = [files[i] for i in order]
    if not drive.times:
        paths = [work / f"{n:06}.bin" for n in range(len(sweeps))]
        for path, sweep in zip(paths, sweeps):
            np.column_stack([sweep, np.zeros(len(sweep))]).astype(np.float32).tofile(path)
    if drive.flags == CORRECTED:
        sweeps = [corrected(sweep) for sweep in sweeps]
    return paths, sweeps, poses


def kabsch(source: np.ndarray, target: np.ndarray, smallest: bool) -> np.ndarray:
    """The rotation that takes positions to others, both about their mean. The smallest has no turn about the way where that is nearly straight."""
    a, b = (points - points.mean(0) for points in (source, target))
    u, values, v = np.linalg.svd(a.T @ b)
    if not smallest or values[1] > 1e-3 * values[0]:
        return v.T @ np.diag([1, 1, np.sign(np.linalg.det(u @ v))]) @ u.T
    x, y = u[:, 0], v[0]
    cross, cosine = np.cross(x, y), x @ y
    skew = np.array([[0, -cross[2], cross[1]], [cross[2], 0, -cross[0]], [-cross[1], cross[0], 0]])
    return np.eye(3) + skew + skew @ skew / (1 + cosine)


def errors(poses: np.ndarray, truth: np.ndarray, rotated: bool) -> tuple[float, list[bool]]:
    """The ATE in metres, and which sweeps are off, from the second on."""
    poses, truth = (np.linalg.inv(of[0]) @ of for of in (poses, truth))
    turn = np.eye(4)
    turn[:3, :3] = kabsch(poses[:, :3, 3], truth[:, :3, 3], rotated)
    poses = turn @ poses @ turn.T if rotated else turn @ poses
    apart = poses[:, :3, 3] - truth[:, :3, 3]
    ate = float(np.sqrt(np.mean(np.sum((apart - apart.mean(0)) ** 2, 1))))
    before = np.maximum(np.arange(1, len(truth)) - SPAN, 0)
    motion, true = (np.linalg.inv(of[before]) @ of[1:] for of in (poses, truth))
    wrong = np.linalg.inv(true) @ motion
    cosine = np.clip((np.trace(wrong[:, :3, :3], axis1=1, axis2=2) - 1) / 2, -1, 1)
    return ate, ((np.linalg.norm(wrong[:, :3, 3], axis=1) > 1) | (np.degrees(np.arccos(cosine)) > 5)).tolist()


def row(drive: Drive, truth: np.ndarray | None, runs: list[Run]) -> dict[str, object]:
    """What the tables need of the runs of a program on a drive."""
    times = list(chain.from_iterable(run.ms for run in runs))
    found: dict[str, object] = {"sweeps": len(runs[0].poses), "median_ms": statistics.median(times), "mean_ms": statistics.mean(times)}
    run = runs[0]
    found |= {"statuses": Counter(run.statuses), "voxel": run.voxel}
    if truth is None:
        return found | {"positions": run.poses[:, :3, 3].tolist()}
    ate, off = errors(run.poses, truth, drive.rotated)
    tracked = [wrong for wrong, status in zip(off, run.statuses[1:]) if status == "tracked"]
    way = float(np.sum(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1)))
    return found | {"way_m": way, "ate_m": ate, "off": sum(off), "tracked": len(tracked), "tracked_off": sum(tracked)}


def measure(drive: Drive, args: argparse.Namespace) -> Iterator[tuple[str, dict[str, object]]]:
    """Keys and rows of all programs and voxels."""
    with tempfile.TemporaryDirectory() as work:
        files, sweeps, truth = lay(drive, args.data, Path(work), args.pointmill)
        for voxel in args.voxels:
            runs: dict[str, list[Run]] = {}
            for program in args.programs * args.rounds:
                if program == "pointmill":
                    run = ours(args.pointmill, files, voxel, args.threads, list(drive.flags))
                elif voxel != "auto":
                    run = PEERS[program](sweeps, float(voxel), args.threads)
                else:
                    continue
                if isinstance(run, str):
                    print(f"{drive.name}, {program}, voxel {voxel}: left out, {run}", file=sys.stderr)
                else:
                    runs.setdefault(program, []).append(run)
            for program, of in runs.items():
                yield f"{drive.name}|{program}|{voxel}", row(drive, truth, of)


def error_cell(rows: dict[str, dict], name: str, program: str, voxel: str) -> str:
    of = rows[f"{name}|{program}|{voxel}"]
    if "positions" in of:
        peers = {peer: rows.get(f"{name}|{peer}|1.0") for peer in PEERS if (peer, "1.0") != (program, voxel)}
        apart = {peer: np.linalg.norm(np.subtract(of["positions"], its["positions"]), axis=1).max() for peer, its in peers.items() if its}
        return ", ".join(f"{far:.3f} from {peer}" for peer, far in apart.items())
    alone = f"{of['off']}/{of['sweeps'] - 1}"
    return f"{of['ate_m']:.3f}; {of['tracked_off']}/{of['tracked']} ({alone})" if program == "pointmill" else f"{of['ate_m']:.3f}; {alone}"


def time_cell(rows: dict[str, dict], name: str, program: str, voxel: str) -> str:
    of = rows[f"{name}|{program}|{voxel}"]
    return f"{of['median_ms']:.1f}, {of['mean_ms']:.1f}"


def status_cell(rows: dict[str, dict], name: str, program: str, voxel: str) -> str:
    of = rows[f"{name}|{program}|{voxel}"]
    size = f"{of['voxel']:.3g} m: " if voxel == "auto" and of["voxel"] else ""
    return size + ", ".join(f"{count} {status}" for status, count in of["statuses"].items() if status != "started")


def table(rows: dict[str, dict], programs: tuple[str, ...], cell: Callable[..., str]) -> Iterator[str]:
    heads = [voxel if voxel == "auto" else f"{voxel} m" for voxel in VOXELS]
    yield f"| drive | program | {' | '.join(heads)} |\n|{'---|' * (2 + len(heads))}"
    for name in (drive.name for drive in DRIVES):
        for program in programs:
            cells = [cell(rows, name, program, voxel) if f"{name}|{program}|{voxel}" in rows else "" for voxel in VOXELS]
            if any(cells):
                yield f"| {name} | {program} | {' | '.join(cells)} |"


def recipes(rows: dict[str, dict]) -> Iterator[str]:
    yield "| drive | sweeps | way | recipe |\n|---|---|---|---|"
    for drive in DRIVES:
        of = next((of for key, of in rows.items() if key.split("|")[0] == drive.name), {})
        way = f"{of['way_m']:.0f} m" if "way_m" in of else ""
        yield f"| {drive.name} | {of.get('sweeps', 'not run')} | {way} | {drive.recipe} |"


def tables(rows: dict[str, dict], about: str) -> str:
    """Everything between the markers."""
    parts = [
        [about],
        recipes(rows),
        ["ATE in metres; sweeps that are off by more than 1 m or 5 degrees. Of pointmill these are among the `tracked` ones, and among all in brackets:"],
        table(rows, PROGRAMS, error_cell),
        ["Milliseconds a sweep, median and mean:"],
        table(rows, PROGRAMS, time_cell),
        ["Statuses after the first sweep, with the voxel that `auto` took:"],
        table(rows, ("pointmill",), status_cell),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def update(page: Path, text: str) -> None:
    old = page.read_text()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise SystemExit(f"{page}: expected {BEGIN} and {END}, once each; add them where the tables shall stand")
    page.write_text(old[: old.index(BEGIN)] + f"{BEGIN}\n{text}" + old[old.index(END) :])


def check() -> None:
    """Trajectories with known errors, and the drives that turn their sweeps: exit 1 where a judgement is not what it must be."""
    n = 40
    truth = np.tile(np.eye(4), (n, 1, 1))
    truth[:, :3, :3] = [turned(0, 0, 9 * i) for i in range(n)]
    truth[:, :3, 3] = [(0.5 * i, np.sin(0.3 * i), 0.1 * i) for i in range(n)]
    moved, calibration = np.eye(4), np.eye(4)
    moved[:3, :3], moved[:3, 3], calibration[:3, :3] = turned(20, 30, 40), (5, 6, 7), turned(1, 2, -3)
    jump, bend, calibrated = truth.copy(), truth.copy(), calibration @ truth @ calibration.T
    jump[20:, 1, 3] += 1.5
    bend[30:, :3, :3] = bend[30:, :3, :3] @ turned(0, 0, 6)
    cases = [(moved @ truth, False, True, []), (calibrated, True, True, []), (jump, False, False, [*range(20, 30)]), (bend, False, True, [*range(30, 40)])]
    for case, (poses, rotated, exact, expected) in enumerate(cases):
        ate, off = errors(poses, truth, rotated)
        found = [i + 1 for i, wrong in enumerate(off) if wrong]
        assert (ate < 1e-9 if exact else ate > 0.1) and found == expected, (case, ate, found)
    world = np.array([[3, 4, 5], [-6, 7, 1], [2, -9, 3.0]])
    for drive in (drive for drive in DRIVES if drive.folder and drive.truth):
        with tempfile.TemporaryDirectory() as work:
            (folder := Path(work) / drive.folder).mkdir()
            many = np.tile(truth, (4, 1, 1))
            np.savetxt(folder / drive.truth, many[:, :3].reshape(-1, 12), fmt="%.17g")
            for i, pose in enumerate(many):
                np.save(folder / f"{i:06}.npy", (world - pose[:3, 3]) @ pose[:3, :3])
            files, sweeps, poses = lay(replace(drive, flags=()), Path(work), Path(work), Path())
            for file, sweep, pose in zip(files, sweeps, poses, strict=True):
                for points in (sweep, load(file)):
                    assert np.allclose(points @ pose[:3, :3].T + pose[:3, 3], world, atol=1e-4), (drive.name, file)
    print(f"{len(cases)} trajectories and {len(DRIVES)} drives are judged as they must be")


def main() -> None:
    names = [drive.name for drive in DRIVES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pointmill", type=Path, default=Path("target/release/pointmill"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with a folder for each drive")
    parser.add_argument("--drives", nargs="*", choices=names, default=names, metavar="NAME", help="none: only the tables of --rows")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--voxels", nargs="+", choices=VOXELS, default=VOXELS)
    parser.add_argument("--rounds", type=int, default=1, help="runs of each, for the times")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="JSON file that keeps what was measured")
    parser.add_argument("--update", type=Path, help="Markdown file with the two markers")
    parser.add_argument("--list", action="store_true", help="print the drives and their recipes")
    parser.add_argument("--check", action="store_true", help="test the judgement on trajectories whose errors are known; needs numpy alone")
    args = parser.parse_args()
    if args.check:
        check()
        return
    if args.list:
        print("\n".join(f"{drive.name}: {drive.recipe}{f' ({drive.folder}/{drive.truth})' if drive.folder else ''}" for drive in DRIVES))
        return
    kept = json.loads(args.rows.read_text()) if args.rows and args.rows.exists() else {"about": "", "rows": {}}
    if args.drives and not args.pointmill.is_file():
        raise SystemExit(f"--pointmill: expected the command, got {args.pointmill}, which is not there; cargo build --release makes it")
    if args.drives:
        about = machine("kiss-icp", "small_gicp")
        versions = about["versions"]
        ours_is = subprocess.run([args.pointmill, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        kept["about"] = f"{about['cpu']}, {os.cpu_count()} cores, {args.threads} threads; {ours_is}, KISS-ICP {versions['kiss-icp']}, small_gicp {versions['small_gicp']}."
    for drive in (drive for drive in DRIVES if drive.name in args.drives):
        if why := missing(drive, args.data):
            print(f"{drive.name}: left out, {why}", file=sys.stderr)
            continue
        for program, voxel in product(args.programs, args.voxels):
            kept["rows"].pop(f"{drive.name}|{program}|{voxel}", None)
        for key, of in measure(drive, args):
            kept["rows"][key] = of
            print(f"{key}: {error_cell(kept['rows'], *key.split('|'))}, {of['median_ms']:.1f} ms", file=sys.stderr, flush=True)
            if args.rows:
                args.rows.write_text(json.dumps(kept))
    text = tables(kept["rows"], kept["about"])
    print(text)
    if args.update:
        update(args.update, text)
    if args.drives:
        load_after(about)


if __name__ == "__main__":
    main()
