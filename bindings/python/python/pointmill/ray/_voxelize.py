"""Voxels of many clouds, made by a cluster."""

import io
import os

import numpy as np
import pyarrow as pa

import pointmill

from ._files import Local, filesystem, find, is_remote
from ._pool import run

ROW = pa.schema([("path", pa.string()), ("status", pa.string()), ("points", pa.int64()), ("error", pa.string()), ("out", pa.string())])
ARRAYS = ("voxels", "coords", "num_points", "means")


def voxelize(inputs, *, out, num_gpus=0, concurrency=None, read=None, **params):
    """Voxelize many clouds on a Ray cluster, each into an ``.npz`` file.

    Parameters
    ----------
    inputs : str, path or list of them
        Files, folders and patterns, local or of fsspec.
    out : str or path
        The folder of the files, local or of fsspec: ``NAME.npz`` for the input ``NAME.*``. The arrays are those of :class:`pointmill.Voxels` that ``params`` ask for.
    num_gpus, concurrency, read
        As of :func:`build_ndt`. On a GPU the arrays are of torch, which the workers need.
    params
        Arguments of :func:`pointmill.voxelize`, such as ``voxel_size`` and ``point_cloud_range``.

    Returns
    -------
    ray.data.Dataset
        A row for each input: ``path``, ``status`` (``"done"`` or ``"failed"``), ``points``, ``error`` and ``out``. The order is not that of the inputs.

    Raises
    ------
    ValueError
        Two inputs with one output.
    """
    out, read = os.fspath(out).removeprefix("file://").rstrip("/"), dict(read or {})
    if not is_remote(out):
        out = os.path.abspath(out)
        os.makedirs(out, exist_ok=True)
    items, first = [], {}
    for path, error in find(inputs):
        path = path if is_remote(path) else os.path.abspath(path)
        target = f"{out}/{os.path.splitext(os.path.basename(path))[0]}.npz"
        if target in first:
            raise ValueError(f"inputs: expected names of their own, got {first[target]} and {path}, which would both write {target}")
        first[target] = path
        items.append({"path": path, "error": error or "", "out": target})
    return run(items, lambda: lambda item: _one(item, read, params, num_gpus), ROW, concurrency, num_gpus)[0]


def _one(item, read, params, num_gpus):
    row = {"path": item["path"], "status": "failed", "points": 0, "error": item["error"], "out": None}
    if item["error"]:
        return row
    try:
        with Local(item["path"]) as local:
            points = pointmill.read(local, **read).points
        if num_gpus:
            import torch

            points = torch.from_numpy(points).cuda()
        voxels = pointmill.voxelize(points, **params)
    except (OSError, ValueError, MemoryError) as error:
        return {**row, "error": str(error)}
    arrays = {name: getattr(voxels, name, None) for name in ARRAYS}
    arrays = {name: a.cpu().numpy() if hasattr(a, "cpu") else np.asarray(a) for name, a in arrays.items() if a is not None}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    _write(item["out"], buffer.getvalue())
    return {**row, "status": "done", "points": len(points), "error": None, "out": item["out"]}


def _write(path, content):
    """Write a file whole or not at all."""
    if is_remote(path):
        fs, root = filesystem(path)
        fs.pipe_file(root, content)
        return
    unfinished = f"{path}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.remove(unfinished)
        raise
