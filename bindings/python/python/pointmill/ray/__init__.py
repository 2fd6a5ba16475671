"""Jobs of pointmill on Ray: maps, voxels and poses of more files than one machine holds.

Every input is worked on by itself, and its files have names and bytes that depend on it alone. So a job may lose workers and its driver, run again and take inputs in any order: the files are those of
one plain run. A file that cannot be used is a row with its error, and the rest is done.

Paths may be local or of any file system that fsspec knows (``s3://``, ``gs://``, ...). Local paths must mean the same files on every machine of the cluster. The cluster is the one of ``RAY_ADDRESS`` or
of an earlier ``ray.init``; otherwise Ray starts one on this machine.

``pip install pointmill[ray]`` installs Ray. ``python -m pointmill.ray build`` is the job from the shell.
"""

try:
    from ._localize import localize
    from ._ndt import build_ndt
    from ._voxelize import voxelize
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] not in ("fsspec", "pyarrow", "ray"):
        raise
    raise ModuleNotFoundError(f"{error} (pip install 'pointmill[ray]')", name=error.name) from error

__all__ = ["build_ndt", "localize", "voxelize"]
