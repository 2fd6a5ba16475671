#!/usr/bin/env python3
"""What laspy finds in LAS and LAZ files before and after `convert`, `crop`, `merge` and `downsample --keep first`.

    python3 las_whole.py POINTMILL                 200 files of every point format, from fixed seeds
    python3 las_whole.py POINTMILL FILE|FOLDER...  these files

Needs numpy, laspy and laszip. Every dimension, record, scale and offset must be what it was, but for what pointmill says that
it does not keep: wave packets, and bytes that no record describes. Exit 1 on a difference.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import laspy
import numpy as np

KINDS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
VERSIONS = {"1.1": 2, "1.2": 4, "1.3": 6, "1.4": 11}
WITHOUT_WAVES = {4: 1, 5: 3, 9: 6, 10: 8}
# Records that belong to the layout of a file.
OF_LAYOUT = [("laszip encoded", 22204), ("LASF_Spec", 4), ("copc", 1), ("copc", 1000), ("LASF_Spec", 65535)]


def made(seed: int, path: Path) -> None:
    """A file with every field drawn from its whole range."""
    rng = np.random.default_rng(seed)
    point_format = seed % 11
    version = rng.choice([version for version, formats in VERSIONS.items() if point_format < formats])
    head = laspy.LasHeader(point_format=point_format, version=str(version))
    head.scales, head.offsets = 10.0 ** rng.integers(-4, 0, 3), np.round(rng.uniform(-1e5, 1e6, 3))
    for i in range(rng.integers(0, 5)):
        kind, count = rng.choice(KINDS), int(rng.integers(1, 4))
        is_scaled = rng.random() < 0.4 and kind[0] != "f" and kind not in ("u8", "i8")
        scale = {"scales": np.full(count, 0.01), "offsets": np.full(count, 5.0)} if is_scaled else {}
        name = ["HeightAboveGround", "Amplitude", "pulse width", "id", "n"][i]
        text = "as the scanner has it"[: rng.integers(0, 22)]
        type_name = kind if count == 1 else f"{count}{kind}"
        head.add_extra_dim(laspy.ExtraBytesParams(name=name, type=type_name, description=text, **scale))
    if rng.random() < 0.2:
        head.add_extra_dim(laspy.ExtraBytesParams(name="raw", type="5u1"))
    n = int(rng.choice([0, 1, 60]))
    las = laspy.LasData(head)
    las.X, las.Y, las.Z = (rng.integers(-30_000, 30_000, n).astype(np.int32) for _ in range(3))
    for dimension in head.point_format.dimensions:
        if dimension.name in "XYZ":
            continue
        shape = (n, dimension.num_elements) if dimension.num_elements > 1 else n
        kind = dimension.dtype.base if dimension.num_bits >= 8 and dimension.dtype is not None else np.dtype("u1")
        if kind.kind == "f":
            values = rng.normal(0.0, 1e6, shape).astype(kind)
        else:
            bits = min(dimension.num_bits // max(dimension.num_elements, 1), 8 * kind.itemsize)
            low, high = (0, (1 << bits) - 1) if kind.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
            # Angles that a scanner has.
            low, high = (-30_000, 30_000) if dimension.name == "scan_angle" else (low, high)
            values = rng.integers(low, high, shape, dtype=kind, endpoint=True)
        # The stored values, without a scale; flags and classes of old formats lie in bits.
        if dimension.name in las.points.array.dtype.names:
            las.points.array[dimension.name] = values
        else:
            las[dimension.name] = values
    las.point_source_id = np.arange(n)
    if rng.random() < 0.5:
        las.vlrs.append(laspy.VLR("other", int(seed), "before the points", bytes(rng.integers(0, 256, 40, np.uint8))))
    if version == "1.4" and rng.random() < 0.5:
        las.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("other", 7, "behind the points", bytes(rng.integers(0, 256, 99, np.uint8)))])
    las.write(path)


def records(las: laspy.LasData) -> set[tuple]:
    every = [*las.vlrs, *(las.evlrs or [])]
    return {(v.user_id, v.record_id, v.record_data_bytes()) for v in every if (v.user_id, v.record_id) not in OF_LAYOUT}


def differences(before: laspy.LasData, rows: np.ndarray, after: laspy.LasData) -> list[str]:
    """What is not in `after` as it was in the rows of `before`."""
    found = []
    if len(after) != len(rows):
        return [f"{len(after)} points for {len(rows)}"]
    for name in before.point_format.dimension_names:
        dimension = before.point_format.dimension_by_name(name)
        if name.startswith(("wavepacket_", "byte_offset_", "return_point_wave", "x_t", "y_t", "z_t")) or name == "raw":
            continue
        values = np.asarray(before[name])[rows]
        names = [name] if dimension.num_elements == 1 else [f"{name}_{k}" for k in range(dimension.num_elements)]
        for column, other in zip(values.reshape(len(rows), dimension.num_elements).T, names, strict=True):
            if other not in after.point_format.dimension_names:
                found.append(f"{other} is missing")
                continue
            now = np.asarray(after[other])
            if now.dtype != column.dtype or not np.array_equal(now, column, equal_nan=now.dtype.kind == "f"):
                most = np.max(np.abs(now.astype(np.float64) - column.astype(np.float64)), initial=0.0)
                found.append(f"{other}: {column.dtype} is {now.dtype}, largest change {most}")
            if not dimension.is_standard:
                of = after.point_format.dimension_by_name(other)
                if of.description != dimension.description or of.dtype.base != dimension.dtype.base:
                    found.append(f"{other}: {dimension.dtype} '{dimension.description}' is {of.dtype} '{of.description}'")
    kept = WITHOUT_WAVES.get(before.point_format.id, before.point_format.id)
    for what, was, now in [
        ("point format", kept, after.point_format.id),
        ("records", records(before), records(after)),
        ("scales", [*before.header.scales], [*after.header.scales]),
        ("offsets", [*before.header.offsets], [*after.header.offsets]),
    ]:
        if was != now:
            found.append(f"{what}: {was} is {now}")
    return found


def check(pointmill: str, path: Path, folder: Path) -> list[str]:
    before = laspy.read(path, laz_backend=laspy.LazBackend.Laszip)
    n = len(before)
    middle = float(np.median(before.x)) if n else 0.0
    every = np.arange(n)
    commands = {
        "convert": ([str(path)], every),
        "crop": ([str(path), f"--box=-inf,-inf,-inf,{middle!r},inf,inf"], every[np.asarray(before.x) <= middle]),
        "merge": ([str(path), str(path)], np.concatenate([every, every])),
        "downsample": ([str(path), "--keep", "first", "--voxel-size", "7"], None),
    }
    found = []
    for i, (command, (arguments, rows)) in enumerate(commands.items()):
        out = folder / f"{command}.{['las', 'laz'][(i + len(path.name)) % 2]}"
        ran = subprocess.run([pointmill, command, *arguments, "--out", str(out)], capture_output=True, text=True)
        if ran.returncode:
            found.append(f"{command}: {ran.stderr.strip()}")
            continue
        after = laspy.read(out, laz_backend=laspy.LazBackend.Laszip)
        if rows is None:
            # In order, each a point of the file.
            key = lambda las: [*zip(las.X, las.Y, las.Z, las.point_source_id, las.intensity, strict=True)]
            place, rows = 0, []
            keys = key(before)
            for point in key(after):
                place = keys.index(point, place)
                rows.append(place)
                place += 1
            rows = np.array(rows, int)
        found += [f"{command}: {difference}" for difference in differences(before, rows, after)]
        is_lossy = before.point_format.id in WITHOUT_WAVES or "raw" in before.point_format.dimension_names
        if is_lossy != ("not kept" in ran.stderr) and before.point_format.id in WITHOUT_WAVES:
            found.append(f"{command}: wave packets are lost without a word")
    return found


def main(pointmill: str, arguments: list[str]) -> int:
    failed, count = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [Path(argument) for argument in arguments]
        files = [file for path in given for file in ([*path.rglob("*.la[sz]")] if path.is_dir() else [path])]
        if not given:
            files = [folder / f"{seed}.{['las', 'laz'][seed // 11 % 2]}" for seed in range(200)]
            for seed, file in enumerate(files):
                made(seed, file)
        for file in sorted(files):
            found = check(pointmill, file, folder)
            failed, count = failed + bool(found), count + 1
            for line in found:
                print(f"{file.name}: {line}")
    print(f"{count - failed} of {count} files come back whole")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
