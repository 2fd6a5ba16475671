"""Reading clouds from files: published readers and ours on the same files, in turns, in one process.

    .venv/bin/pip install -r bench/peers/requirements.txt && .venv/bin/pip install ./bindings/python
    .venv/bin/python bench/peers/reading.py --make clouds/ --rounds 9

Each reader goes from a path to arrays of numpy in memory. The table has the median and the least of all rounds. `--make` first writes one synthetic cloud in every format; other files can be named.
A package that cannot be imported is left out. Every peer's x, y, z are compared with ours before anything is timed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pointmill

from common import load_after, machine, timed

PACKAGES = ("pointmill", "numpy", "laspy", "lazrs", "pyarrow", "pandas", "open3d", "plyfile", "pye57")

# What the synthetic cloud is about: a corner of a map in UTM.
CORNER = np.array([515_000.0, 4_918_000.0, 0.0])

# From a path to x, y, z of every point, `[N, 3]` or three columns.
Reader = Callable[[Path], object]


def survey(count: int) -> dict[str, np.ndarray]:
    """Lines of an airborne scanner over hills: x, y, z in metres to the centimetre, intensity, time and colour."""
    rng = np.random.default_rng(0)
    time = np.arange(count) * 2e-6
    line, along = np.divmod(time, 0.1)
    x = np.abs((along / 0.1 * 40) % 2 - 1) * 400 + line * 3
    y = along * 600 + rng.normal(0, 0.05, count)
    z = 120 + 12 * np.sin(x / 60) * np.cos(y / 45) + np.where(rng.random(count) < 0.3, rng.gamma(2, 3, count), 0)
    shade = np.clip(30_000 + 900 * (z - 120) + rng.normal(0, 1500, count), 0, 65_535)
    colours = {name: (shade * share).astype(np.uint16) for name, share in (("red", 0.9), ("green", 1.0), ("blue", 0.7))}
    xyz = {axis: np.round(v, 2) for axis, v in (("x", x), ("y", y), ("z", z))}
    return {**xyz, "intensity": rng.integers(0, 4096, count).astype(np.uint16), "gps_time": 2.5e8 + time, **colours}


def make(folder: Path, count: int) -> list[Path]:
    """Writes the cloud in every format that a package here can write."""
    cloud = survey(count)
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.stack([cloud[name] for name in ("x", "y", "z", "intensity")], 1).astype(np.float32)
    names = ["x", "y", "z", "intensity"]
    files = [folder / f"sweep{ending}" for ending in (".bin", ".npy", ".ply", ".pcd", ".xyz", ".csv", ".feather")]
    for path in files:
        pointmill.write(path, rows, names=names)
    try:
        import laspy

        header = laspy.LasHeader(point_format=3, version="1.2")
        header.scales, header.offsets = np.full(3, 0.01), CORNER
        las = laspy.LasData(header)
        las.x, las.y, las.z = (cloud[axis] + at for axis, at in zip("xyz", CORNER))
        for name in ("intensity", "gps_time", "red", "green", "blue"):
            las[name] = cloud[name]
        files.append(folder / "survey.laz")
        las.write(files[-1])
    except ImportError:
        pass
    try:
        import pyarrow
        from pyarrow import feather

        half = {axis: (cloud[axis] % 256).astype(np.float16) for axis in "xyz"}
        sweep = {**half, "intensity": (cloud["intensity"] >> 4).astype(np.uint8), "laser_number": (np.arange(count) % 64).astype(np.uint8)}
        sweep["offset_ns"] = (np.arange(count, dtype=np.int64) * 100_000_000 // count).astype(np.int32)
        wide = {axis: cloud[axis] + at for axis, at in zip("xyz", CORNER)}
        for name, table in (("argoverse", sweep), ("survey", {**wide, "intensity": cloud["intensity"], "gps_time": cloud["gps_time"]})):
            files.append(folder / f"{name}.feather")
            feather.write_feather(pyarrow.table(table), files[-1], compression="lz4")
    except ImportError:
        pass
    try:
        import pye57

        files.append(folder / "sweep.e57")
        files[-1].unlink(missing_ok=True)
        with pye57.E57(str(files[-1]), mode="w") as out:
            out.write_scan_raw({f"cartesian{axis.upper()}": cloud[axis] for axis in "xyz"})
    except ImportError:
        pass
    return files


def peers(path: Path) -> Iterator[tuple[str, Reader]]:
    """The readers of a file's format that can be imported."""
    ending = path.suffix
    if ending == ".bin":
        yield "numpy.fromfile", lambda path: np.fromfile(path, np.float32).reshape(-1, 4)[:, :3]
    if ending == ".npy":
        yield "numpy.load", lambda path: np.load(path)[:, :3]
    if ending in (".las", ".laz"):
        try:
            import laspy

            yield "laspy", lambda path: laspy.read(path).xyz
        except ImportError:
            pass
    if ending in (".feather", ".arrow"):
        try:
            from pyarrow import feather

            def arrow(path: Path) -> list[np.ndarray]:
                table = feather.read_table(path)
                arrays = {name: table[name].to_numpy() for name in table.column_names}
                return [arrays[axis] for axis in "xyz"]

            yield "pyarrow", arrow
        except ImportError:
            pass
    if ending in (".xyz", ".csv"):
        comma = "," if ending == ".csv" else None
        head = int(ending == ".csv")
        yield "numpy.loadtxt", lambda path: np.loadtxt(path, delimiter=comma, skiprows=head)[:, :3]
        try:
            import pandas

            yield "pandas", lambda path: pandas.read_csv(path, sep=comma or " ", header=0 if head else None).to_numpy()[:, :3]
        except ImportError:
            pass
    if ending in (".ply", ".pcd", ".xyz"):
        try:
            import open3d

            yield "Open3D", lambda path: np.asarray(open3d.io.read_point_cloud(str(path)).points)
        except (ImportError, OSError):
            pass
    if ending == ".ply":
        try:
            from plyfile import PlyData

            def ply(path: Path) -> list[np.ndarray]:
                vertex = PlyData.read(path)["vertex"]
                return [np.array(vertex[axis]) for axis in "xyz"]

            yield "plyfile", ply
        except ImportError:
            pass
    if ending == ".e57":
        try:
            import pye57

            def e57(path: Path) -> list[np.ndarray]:
                with pye57.E57(str(path)) as file:
                    scan = file.read_scan(0, ignore_missing_fields=True)
                return [scan[f"cartesian{axis}"] for axis in "XYZ"]

            yield "pye57", e57
        except ImportError:
            pass


def xyz(read: object) -> np.ndarray:
    """`[N, 3]` of what a reader returned."""
    return np.stack([np.asarray(v, np.float64) for v in read], 1) if isinstance(read, list) else np.asarray(read, np.float64)


def apart(path: Path, peer: Reader) -> float:
    """How far x, y, z of a peer are from ours at most, in metres."""
    scan = pointmill.read(path)
    ours, theirs = (np.asarray(scan.points[:, :3], np.float64) if scan.xyz is None else scan.xyz), xyz(peer(path))
    if ours.shape != theirs.shape:
        raise SystemExit(f"{path}: {len(ours)} points, a peer has {len(theirs)}")
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        raise SystemExit(f"{path}: NaN at other places than a peer has it")
    return float(np.max(np.nan_to_num(np.abs(ours - theirs)), initial=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="write the synthetic cloud into a folder and read it too")
    parser.add_argument("--points", type=int, default=519_000, help="points of the synthetic cloud")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()

    about = machine(*PACKAGES)
    print(f"{args.rounds} rounds; milliseconds, median (least)\n")
    print("| format | file | points | MB | pointmill | peer | its time | ratio |\n|---|---|---|---|---|---|---|---|")
    farthest = 0.0
    for path in args.files + (make(args.make, args.points) if args.make else []):
        readers = {"pointmill": pointmill.read, **dict(peers(path))}
        off = {name: apart(path, read) for name, read in readers.items() if name != "pointmill"}
        farthest = max([farthest, *off.values()])
        times: dict[str, list[float]] = {name: [] for name in readers}
        for _ in range(args.rounds):
            for name, read in readers.items():
                times[name].append(timed(lambda: read(path)))
        shown = {name: f"{statistics.median(taken):.1f} ({min(taken):.1f})" for name, taken in times.items()}
        scan, megabytes = pointmill.read(path), path.stat().st_size / 1e6
        for name in off:
            ratio = statistics.median(times["pointmill"]) / statistics.median(times[name])
            print(f"| {scan.format} | {path.name} | {len(scan):,} | {megabytes:.1f} | {shown['pointmill']} | {name} | {shown[name]} | {ratio:.2f} |", flush=True)
    print(f"\nx, y, z differ from those of a peer by at most {farthest:.1e} m")
    load_after(about)


if __name__ == "__main__":
    main()
