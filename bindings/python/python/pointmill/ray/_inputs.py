"""Inputs of a map, as far as they are looked into before the work: poses, origin, clouds of bags."""

import os

import numpy as np
import ray

import pointmill
from pointmill import _pointmill

from ._files import Local


def poses_of(poses, inputs):
    """The name of the poses, the poses, and their times if there are any. By default those of the log whose folder of sweeps is the only input."""
    if poses is None:
        given = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
        poses = _pointmill._log_poses([os.fspath(path).removeprefix("file://") for path in given])
    if poses is None:
        return None
    if isinstance(poses, (str, os.PathLike)):
        with Local(os.fspath(poses)) as path:
            return os.fspath(poses), *pointmill.read_poses(path)
    poses, times = poses if isinstance(poses, tuple) else (poses, None)
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise ValueError(f"poses: expected shape [P, 4, 4], got {list(poses.shape)}")
    if times is not None:
        times = np.asarray(times, np.float64)
        if times.shape != (len(poses),) or not (np.diff(times) > 0).all():
            raise ValueError(f"poses: expected {len(poses)} times that ascend, got {times.shape} times")
    return "poses", poses, times


def origin_of(found, read):
    """The origin of the input that is first in natural order and can be read, so that their order does not matter."""
    paths = _pointmill._natural_order([path for path, error in found if error is None])
    origins = (ray.get(_find_origin.remote(path, read)) for path in paths)
    return next((origin for origin in origins if origin is not None), [0.0] * 3)


@ray.remote(num_cpus=0.5, max_retries=-1)
def _find_origin(path, read):
    """The origin that a file is read about; None for what cannot be read."""
    try:
        with Local(path) as local:
            return _pointmill._InputReader(**read).origin(local)
    except OSError:
        return None


def with_clouds(found, read):
    """The same, each with what it has as a bag."""
    bags = {path: _clouds.remote(path, read) for path, error in found if error is None and path.lower().endswith((".mcap", ".bag"))}
    return [(path, error, ray.get(bags[path]) if path in bags else None) for path, error in found]


@ray.remote(num_cpus=0.5, max_retries=-1)
def _clouds(path, read):
    """How many clouds a bag has, and whether it was cut; None for what is no bag, which fails in its turn."""
    try:
        with Local(path) as local:
            return _pointmill._InputReader(**read).clouds(local)
    except OSError:
        return None
