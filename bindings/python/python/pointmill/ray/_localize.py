"""Poses of many drives in one map, found by a cluster."""

import os
import tempfile

import numpy as np
import pyarrow as pa

import pointmill

from ._files import Local, find, is_remote, put
from ._store import fetch_map
from ._pool import run

ROW = pa.schema(
    [("path", pa.string()), ("status", pa.string()), ("points", pa.int64()), ("error", pa.string()), ("scans", pa.int64()), ("fixes", pa.int64()), ("out", pa.string())]
)


def localize(drives, *, map, out, num_gpus=0, concurrency=None, topic=None, read=None, **params):
    """Find the poses of many drives in a map on a Ray cluster, each drive by :class:`pointmill.Localizer`.

    Parameters
    ----------
    drives : list of str or path
        Drives: a folder or a pattern whose files are the scans in natural order, or an MCAP bag; local or of fsspec.
    map : str or path
        A map by blocks, or a grid (``.npz``); local or of fsspec.
    out : str or path
        The folder of the poses, local or of fsspec: ``NAME.txt`` for the drive ``NAME``, a line of 12 numbers for each scan (KITTI). A scan without a fix has the pose that was expected.
    num_gpus, concurrency, topic, read
        As of :func:`build_ndt`. On a GPU the points are of torch, which the workers need.
    params
        Arguments of :class:`pointmill.Localizer`, such as ``region``.

    Returns
    -------
    ray.data.Dataset
        A row for each drive: ``path``, ``status`` (``"done"`` or ``"failed"``), ``points``, ``error``, ``scans``, ``fixes`` and ``out``. A scan that cannot be read counts as one without a fix; a drive of which no scan can be read failed.

    Raises
    ------
    ValueError
        Two drives with one output.
    """
    here = lambda path: path if is_remote(path) else os.path.abspath(path.removeprefix("file://"))  # noqa: E731
    out, map, read = here(os.fspath(out)).rstrip("/"), here(os.fspath(map)), dict(read or {})
    if not is_remote(out):
        os.makedirs(out, exist_ok=True)
    items, first = [], {}
    for drive in [drives] if isinstance(drives, (str, os.PathLike)) else drives:
        drive = here(os.fspath(drive)).rstrip("/")
        target = f"{out}/{os.path.splitext(os.path.basename(drive))[0].strip('*?[].') or 'drive'}.txt"
        if target in first:
            raise ValueError(f"drives: expected names of their own, got {first[target]} and {drive}, which would both write {target}")
        first[target] = drive
        items.append({"path": drive, "out": target})
    return run(items, lambda: _Localize(map, topic, read, params, num_gpus), ROW, concurrency, num_gpus)[0]


class _Localize:
    """Localizes drives. It keeps the map on its device."""

    def __init__(self, map, topic, read, params, num_gpus):
        self.topic, self.read, self.params = topic, read, params
        like = np.empty((0, 3))
        if num_gpus:
            import torch

            like = torch.from_numpy(like).cuda()
        self.grid = fetch_map(map, like)

    def __call__(self, item):
        row = {"path": item["path"], "status": "failed", "points": 0, "error": None, "scans": 0, "fixes": 0, "out": None}
        localizer, poses, error = pointmill.Localizer(self.grid, **self.params), [], None
        try:
            for scan in self.scans(item["path"]):
                points = np.empty((0, 3)) if isinstance(scan, Exception) else scan.points if scan.xyz is None else scan.xyz
                fix = localizer.push(points)
                error = error or (str(scan) if isinstance(scan, Exception) else None)
                row["points"] += len(points)
                row["fixes"] += fix.status in ("tracked", "found")
                poses.append(fix.map_from_sensor)
        except (OSError, ValueError, MemoryError) as trouble:
            return {**row, "error": str(trouble)}
        if error is not None and row["points"] == 0:
            return {**row, "error": error}
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "poses.txt")
            pointmill.write_poses(copy, np.array(poses).reshape(-1, 4, 4))
            put(copy, item["out"])
        return {**row, "status": "done", "error": error, "scans": len(poses), "out": item["out"]}

    def scans(self, drive):
        """The scans of a drive, and the error of each that cannot be read."""
        if drive.lower().endswith(".mcap"):
            with Local(drive) as local:
                bag = pointmill.read_bag(local, self.topic)
                for number in range(len(bag)):
                    try:
                        yield bag[number]
                    except ValueError as error:
                        yield error
            return
        found = find([drive])
        if len(found) == 1 and found[0][1] is not None:
            raise ValueError(found[0][1])
        for path, reason in found:
            try:
                if reason is not None:
                    raise ValueError(reason)
                with Local(path) as local:
                    yield pointmill.read(local, **self.read)
            except (OSError, ValueError) as error:
                yield error
