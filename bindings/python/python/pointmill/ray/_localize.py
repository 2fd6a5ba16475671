"""Poses of many drives in one map, found by a cluster."""

import os
import tempfile

import numpy as np
import pyarrow as pa

import pointmill
from pointmill import _pointmill

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
        Drives: a folder or a pattern whose files are the scans in natural order, or a bag; local or of fsspec.
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
        drive, out, error = item["path"], item["out"], None
        row = {"path": drive, "status": "failed", "points": 0, "error": None, "scans": 0, "fixes": 0, "out": None}
        is_bag = drive.lower().endswith((".mcap", ".bag"))
        read = {**self.read, "topic": self.topic} if is_bag else self.read
        localizer = pointmill.Localizer(self.grid, **self.params)
        try:
            reader = _pointmill._InputReader(**read)
            for path in self.files(drive, is_bag):
                try:
                    with Local(path) as local:
                        points, reason = localizer._push_inputs(local, reader)
                except OSError as trouble:
                    localizer._skip()
                    points, reason = 0, str(trouble)
                row["points"] += points
                error = error or reason
        except (OSError, ValueError, MemoryError) as trouble:
            return {**row, "error": str(trouble)}
        if error is not None and row["points"] == 0:
            return {**row, "error": error}
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "poses.txt")
            scans, fixes = localizer._write_poses(copy)
            put(copy, out)
        return {**row, "status": "done", "error": error, "scans": scans, "fixes": fixes, "out": out}

    def files(self, drive, is_bag):
        """What is fetched and read one after the other: a drive that is here or in one file is read at once."""
        if is_bag or not is_remote(drive):
            return [drive]
        found = find([drive])
        if found[0][1] is not None:
            raise ValueError(found[0][1])
        return [path for path, _ in found]
