"""A map by blocks, made by a cluster."""

import collections
import contextlib
import hashlib
import os

import numpy as np
import pyarrow as pa
import ray

import pointmill

from ._files import Local, find, is_remote, natural, state_of
from ._map import known_origin, open_map
from ._pool import connect, run

# How far the stamp of a bag's cloud may be from the time of its pose, in seconds: files of poses round times.
STAMP_TOLERANCE = 1e-3
RAW = ("kitti", "nuscenes", "bin")
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
        Files, folders and patterns, local or of fsspec. Each cloud of an MCAP bag is an input.
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
        Arguments of :func:`pointmill.read`, such as ``{"columns": 6}``.
    resume : bool
        Keep the inputs that an earlier job has done, if file, pose and arguments are the same.

    Returns
    -------
    ray.data.Dataset
        A row for each input: ``path``, ``status`` (``"done"`` or ``"failed"``), ``points`` and ``error``. The order is not that of the inputs.

    Raises
    ------
    ValueError
        An input that is given twice; a folder of other settings, about another origin or of another version of pointmill; ``deskew="on"`` and poses without times.
    ray.exceptions.RayTaskError
        What ends the job, such as a disk that is full. A later job goes on from there.
    """
    out, read = os.fspath(out).removeprefix("file://"), dict(read or {})
    settings = {
        "resolution": float(resolution),
        "block": float(block),
        "covariance": covariance,
        "min_points": min_points,
        "eigen_ratio": eigen_ratio,
    }
    out = out if is_remote(out) else os.path.abspath(out)
    poses = _log_poses(inputs) if poses is None else poses
    poses_path = os.fspath(poses) if isinstance(poses, (str, os.PathLike)) else "poses"
    poses, times = _poses(poses)
    if deskew not in ("off", "auto", "on"):
        raise ValueError(f'deskew: expected "off", "auto" or "on", got {deskew!r}')
    if deskew == "on" and times is None:
        raise ValueError(f"{poses_path}: times: wanted poses with times, found none")
    connect()
    found = find(inputs)
    settings["origin"] = _origin(local_origin, out, found, topic, read)
    folder = open_map(out, settings)
    items = _items(found, folder, topic)
    by_number = times is None or all(item["cloud"] < 0 and item["stamp"] is None for item in items)
    if poses is not None and by_number and len(poses) > len(items):
        error = f"{poses_path}: poses: wanted {len(items)}, one for each input, found {len(poses)}"
        items.append(_item(poses_path, poses_path, error=error))
    twice = [name for name, count in collections.Counter(item["name"] for item in items).items() if count > 1]
    if twice:
        raise ValueError(f"inputs: expected inputs of different names, got {twice[0]} twice")
    for index, item in enumerate(items):
        item["index"] = index
    if not items:
        raise ValueError("inputs: expected at least one, got none")

    known = ray.put((poses, times, poses_path, deskew if times is not None else "off"))
    device = "cuda:0" if num_gpus else "cpu"

    def split():
        return _Split(open_map(out, settings, device), known, read, topic, resume)

    rows, size = run(items, split, ROW, concurrency, num_gpus)
    _check(items, rows)

    blocks = folder.blocks
    # Some shares for each worker, so that one that is lost is soon made good.
    shares = max(1, min(len(blocks), 4 * size))
    ray.get([_merge.remote(out, settings, blocks[i::shares]) for i in range(shares)])
    folder.finish()
    return rows


def _origin(local_origin, out, found, topic, read):
    """The origin of the map. ``"auto"`` depends on the inputs, not on their order."""
    if local_origin == "none":
        return [0.0] * 3
    if isinstance(local_origin, str) and local_origin != "auto":
        raise ValueError(f'local_origin: expected "auto", "none" or x, y, z in metres, got {local_origin!r}')
    if local_origin != "auto":
        return list(local_origin)
    if (known := known_origin(out)) is not None:
        return known
    for path in sorted((path for path, error in found if error is None), key=natural):
        # Raw rows are float32, so no coordinate moves.
        if read.get("format", "bin" if path.lower().endswith(".bin") else None) in RAW:
            break
        if (origin := ray.get(_find_origin.remote(path, topic, read))) is not None:
            return origin
    return [0.0] * 3


def _poses(poses):
    """The poses and their times, if there are any."""
    if poses is None:
        return None, None
    if isinstance(poses, (str, os.PathLike)):
        with Local(os.fspath(poses)) as path:
            return pointmill.read_poses(path)
    poses, times = poses if isinstance(poses, tuple) else (poses, None)
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise ValueError(f"poses: expected shape [P, 4, 4], got {list(poses.shape)}")
    if times is not None:
        times = np.asarray(times, np.float64)
        if times.shape != (len(poses),) or not (np.diff(times) > 0).all():
            raise ValueError(f"poses: expected {len(poses)} times that ascend, got {times.shape} times")
    return poses, times


def _log_poses(inputs):
    """The poses of the log whose folder of sweeps is the only input."""
    inputs = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if len(inputs) != 1 or is_remote(os.fspath(inputs[0])):
        return None
    folder = os.fspath(inputs[0]).removeprefix("file://")
    return pointmill.find_log_poses(folder) if os.path.isdir(folder) else None


def _item(path, name, cloud=-1, error=None):
    return {"path": path, "name": name, "cloud": cloud, "stamp": pointmill.log_stamp(path), "error": error or ""}


def _items(found, folder, topic):
    """An item for each input: a file, or a cloud of a bag."""
    bags = {path: _count.remote(path, topic) for path, error in found if error is None and path.lower().endswith(".mcap")}
    items = []
    for path, error in found:
        count, cut = ray.get(bags[path]) if path in bags else (None, False)
        name = path if is_remote(path) else folder.name_of(path)
        clouds = range(count or 0)
        items += [_item(f"{path}#{i:06}", f"{name}#{i:06}", i) for i in clouds]
        if not clouds or cut:
            items.append(_item(path, name, error=error))
    return items


@ray.remote(num_cpus=0.5, max_retries=-1)
def _merge(out, settings, blocks):
    """Merge some blocks."""
    folder = open_map(out, settings)
    for block in blocks:
        folder.merge(block)


@ray.remote(num_cpus=0.5, max_retries=-1)
def _count(path, topic):
    """How many clouds a bag has, and whether it was cut; no number of what is no bag, which fails in its turn."""
    try:
        with Local(path) as local:
            clouds = pointmill.read_bag(local, topic)
            return len(clouds), clouds.cut
    except (OSError, ValueError):
        return None, False


@ray.remote(num_cpus=0.5, max_retries=-1)
def _find_origin(path, topic, read):
    """The origin that a cloud is read about, of a bag its first that can be read; None for what cannot be read."""
    errors = (OSError, ValueError, MemoryError)
    try:
        with Local(path) as local:
            if not path.lower().endswith(".mcap"):
                return list(pointmill.read(local, **read).origin)
            clouds = pointmill.read_bag(local, topic)
            for number in range(len(clouds)):
                with contextlib.suppress(*errors):
                    return list(clouds[number].origin)
    except errors:
        pass
    return None


class _Split:
    """Splits inputs into blocks. It keeps its device, and the bag that it has read last."""

    def __init__(self, map, known, read, topic, resume):
        self.map, self.read, self.topic, self.resume = map, read, topic, resume
        self.poses, self.times, self.poses_path, self.deskew = ray.get(known)
        # Points of a sweep that is deskewed have poses of other inputs too.
        self.way = "" if self.deskew == "off" else hashlib.sha256(self.poses.tobytes() + self.times.tobytes()).hexdigest()
        self.bag = (None, None, None)

    def __call__(self, item):
        path, name = item["path"], item["name"]
        try:
            if item["error"]:
                raise ValueError(item["error"])
            scan, pose, state = self.cloud(item) if item["cloud"] >= 0 else self.file(item)
        except (OSError, ValueError, MemoryError) as error:
            return self.refuse(path, name, error)
        if scan is None:
            return {"path": path, "status": "done", "points": state["points"], "error": None}
        try:
            points, pose = self.deskewed(item, scan, pose)
            row = self.map.add(name, points, pose=pose, state=state)
        except (ValueError, MemoryError) as error:
            return self.refuse(path, name, error)
        return {"path": path, "status": "done", "points": row["points"], "error": None}

    def refuse(self, path, name, error):
        # Paths of copies on this machine say nothing to others.
        self.map.refuse(name, str(error))
        return {"path": path, "status": "failed", "points": 0, "error": str(error)}

    def file(self, item):
        """The cloud, its pose, and what decides its files."""
        pose = self.pose(item["index"], item["stamp"])
        state = state_of(item["path"], self.how(pose))
        if (row := self.kept(item, state)) is not None:
            return None, None, row
        with Local(item["path"]) as local:
            return pointmill.read(local, **self.read), pose, state

    def cloud(self, item):
        """The same of a cloud of a bag."""
        bag = item["path"].rsplit("#", 1)[0]
        if self.bag[0] != bag:
            if self.bag[2] is not None:
                self.bag[2].__exit__()
            self.bag = (None, None, None)
            copy = Local(bag)
            self.bag = (bag, pointmill.read_bag(copy.__enter__(), self.topic), copy)
        scan = self.bag[1][item["cloud"]]
        pose = self.pose(item["index"], scan.stamp_ns / 1e9)
        state = state_of(bag, self.how(pose))
        row = self.kept(item, state)
        return (scan, pose, state) if row is None else (None, None, row)

    def deskewed(self, item, scan, pose):
        """The points and their pose, or the points where they stand if the scan is deskewed."""
        if self.deskew == "off" or self.deskew == "auto" and (scan.deskewed or scan.times is None):
            return scan, pose
        return pointmill.deskew(scan, self.poses, self.times, item["index"]), None

    def kept(self, item, state):
        return self.map.keeps(item["name"], state) if self.resume else None

    def how(self, pose):
        return f"{sorted(self.read.items())} {self.topic} {None if pose is None else pose.tolist()} {self.deskew} {self.way}"

    def pose(self, index, stamp):
        if self.poses is None:
            return None
        number, wanted = index, f"a pose for input {index} (from 0)"
        if stamp is not None and self.times is not None:
            number, wanted = -1, f"a pose within {STAMP_TOLERANCE} s of the stamp {stamp:.6f}"
            if len(self.times):
                away = np.abs(self.times - stamp)
                number = int(away.argmin()) if away.min() <= STAMP_TOLERANCE else -1
        if not 0 <= number < len(self.poses):
            raise ValueError(f"{self.poses_path}: poses: wanted {wanted}, found {len(self.poses)} poses")
        return self.poses[number]


def _check(items, rows):
    """Every input is in exactly one row."""
    paths = collections.Counter(item["path"] for item in items)
    paths.subtract(row["path"] for row in rows.iter_rows())
    wrong = [path for path, count in paths.items() if count != 0]
    if wrong:
        raise RuntimeError(f"internal error: {len(wrong)} inputs have no row or two, such as {wrong[0]}; please report it")
