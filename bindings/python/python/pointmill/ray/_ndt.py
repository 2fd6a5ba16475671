"""A map by blocks, made by a cluster."""

import os

import pyarrow as pa
import ray

from pointmill import _pointmill
from pointmill.ndt import BlockMap

from ._files import LastCopy, find, is_remote, version_of
from ._inputs import origin_of, poses_of, with_clouds
from ._pool import connect, run
from ._store import merge_blocks, place_of

ROW = pa.schema([("path", pa.string()), ("status", pa.string()), ("points", pa.int64()), ("error", pa.string())])


def build_ndt(
    inputs,
    *,
    resolution,
    poses=None,
    block=128.0,
    out,
    num_gpus=0,
    concurrency=None,
    covariance="autoware",
    min_points=6,
    eigen_ratio=0.01,
    local_origin="auto",
    deskew="off",
    topic=None,
    read=None,
    resume=True,
):
    """Build a map by blocks of many clouds on a Ray cluster.

    The folder is that of ``pointmill ndt build --blocks``: :class:`pointmill.ndt.BlockMap` reads it. Its blocks have the bytes of one plain build, whatever the number of actors, the order of the inputs,
    and the workers and drivers that were lost.

    Parameters
    ----------
    inputs : str, path or list of them
        Files, folders and patterns, local or of fsspec. Each cloud of a bag is an input.
    resolution : float
        Edge of a cell in metres.
    poses : str, path, array ``[P, 4, 4]`` or pair of such an array and times ``[P]``, optional
        Pose i, from the frame of the cloud to the frame of the map, belongs to input i. If the poses have times, the clouds of bags and the sweeps of Argoverse 2 have the pose whose time is within a millisecond of their stamp. By default the poses that :func:`pointmill.find_log_poses` finds, if a folder on this machine is the only input.
    block : float
        Edge of a block in metres, rounded to whole cells.
    out : str or path
        The folder of the map, local or of fsspec. A folder of the same settings gets the inputs in addition to those it has.
    num_gpus : float
        GPUs of each actor, such as 1 or 0.5; with 0 the CPU does the work.
    concurrency : int, optional
        The number of actors; by default one for each CPU but one, or as many as the GPUs allow.
    covariance, min_points, eigen_ratio
        As of :class:`pointmill.ndt.Grid`.
    local_origin : {"auto", "none"} or 3 floats
        The point in metres that cells and blocks are counted from. ``"auto"``: the one of the map that is in the folder, otherwise the one that :func:`pointmill.read` finds for the input whose path is first in natural order, of a bag for its first cloud. Inputs that cannot be read are passed over.
    deskew : {"off", "auto", "on"}
        Whether each point is moved by the pose of its own time, as :func:`pointmill.deskew` does it: never, where points and poses have times and the sweep was not published deskewed, or always; an input without times is then a row with its error.
    topic : str, optional
        The topic of bags; by default their only one of clouds.
    read : dict, optional
        Arguments of :func:`pointmill.read`, such as ``{"columns": 6}`` or ``{"salvage": True}``; and ``bounds``, x0, y0, x1, y1 in metres, and ``drop_zeros``, as the flags of the command.
    resume : bool
        Keep the inputs that an earlier job has done, if file, pose and arguments are the same.

    Returns
    -------
    ray.data.Dataset
        A row for each input: ``path``, ``status`` (``"done"`` or ``"failed"``), ``points`` and ``error``. The order is not that of the inputs.

    Raises
    ------
    ValueError
        An input that is given twice; a folder of other settings, about another origin or of another version of pointmill; ``deskew="on"`` without poses that have times.
    ray.exceptions.RayTaskError
        What ends the job, such as a disk that is full. A later job goes on from there.
    """
    out, read = os.fspath(out).removeprefix("file://"), {**(read or {}), **({"topic": topic} if topic else {})}
    out = out if is_remote(out) else os.path.abspath(out)
    settings = {"resolution": resolution, "block": block, "covariance": covariance, "min_points": min_points, "eigen_ratio": eigen_ratio}
    poses = poses_of(poses, inputs)
    reader = _pointmill._InputReader(**read)
    connect()
    found = find(inputs)
    settings["origin"] = _pointmill._map_origin(place_of(out), local_origin) or origin_of(found, read)
    folder = BlockMap(place_of(out), **settings)
    items, *settled = _pointmill._plan_map(folder, reader, with_clouds(found, read), poses, deskew)
    known, device = ray.put(poses), "cuda:0" if num_gpus else "cpu"
    rows, size = run(items, lambda: _Split(BlockMap(place_of(out), **settings, device=device), read, known, settled, resume), ROW, concurrency, num_gpus)
    merge_blocks(folder, out, settings, size)
    return rows


class _Split:
    """Splits inputs into blocks."""

    def __init__(self, map, read, known, settled, resume):
        self.map, self.resume = map, resume
        self.build = _pointmill._MapBuild(map, _pointmill._InputReader(**read), ray.get(known), *settled)
        self.copy = LastCopy()

    def __call__(self, item):
        row = self.row(item)
        return {"path": item["path"], "status": "failed" if row["error"] else "done", "points": row["points"], "error": row["error"]}

    def row(self, item):
        index, name, file, cloud = (item[key] for key in ("index", "name", "file", "cloud"))
        if item["error"]:
            return self.map.refuse(name, item["error"])
        version = version_of(file) if is_remote(file) else None
        if self.resume and (row := self.build.kept(index, name, file, version)) is not None:
            return row
        try:
            copy = self.copy.of(file)
        except OSError as error:
            return self.map.refuse(name, str(error))
        return self.build.add(index, name, copy, cloud, version)
