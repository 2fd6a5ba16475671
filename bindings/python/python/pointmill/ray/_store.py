"""The folder of a map by blocks behind fsspec, and maps wherever they are."""

import os
import shutil
import tempfile
import weakref

import ray

from pointmill.ndt import BlockMap, Grid

from ._files import Local, filesystem, is_remote


def place_of(path):
    """What :class:`BlockMap` takes for a folder: its path, or the store of one behind fsspec."""
    return Store(path) if is_remote(path) else path


def fetch_map(path, like):
    """The whole grid of a map by blocks or of a file, on the device of an array."""
    if path.endswith(".npz"):
        with Local(path) as local:
            return Grid.load(local, like=like)
    return BlockMap(place_of(path)).grid(like=like)


def merge_blocks(folder, out, settings, workers):
    """Merge all blocks of a map, and write its manifest."""
    blocks = folder.blocks
    # Some shares for each worker, so that one that is lost is soon made good.
    shares = max(1, min(len(blocks), 4 * workers))
    ray.get([_merge.remote(out, settings, blocks[i::shares]) for i in range(shares)])
    folder.finish()


@ray.remote(num_cpus=0.5, max_retries=-1)
def _merge(out, settings, blocks):
    """Merge some blocks."""
    folder = BlockMap(place_of(out), **settings)
    for block in blocks:
        folder.merge(block)


class Store:
    """The files of a map behind fsspec, as the extension asks for them.

    ``copy`` is a path of this machine. Files are whole or not there, as object stores write them.
    """

    def __init__(self, path):
        self.path = path.rstrip("/")
        self.fs, self.root = filesystem(path)
        self.folder = tempfile.mkdtemp(prefix="pointmill-map-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def list(self, folder):
        path = f"{self.root}/{folder}".rstrip("/")
        self.fs.invalidate_cache(path)
        try:
            return [os.path.basename(entry["name"].rstrip("/")) for entry in self.fs.ls(path, detail=True)]
        except FileNotFoundError:
            return []

    def size(self, file):
        path = f"{self.root}/{file}"
        # Other workers write too.
        self.fs.invalidate_cache(path)
        try:
            return int(self.fs.info(path)["size"])
        except FileNotFoundError:
            return None

    def read(self, file, copy):
        self.fs.get_file(f"{self.root}/{file}", copy)

    def write(self, file, copy):
        self.fs.put_file(copy, f"{self.root}/{file}")

    def write_first(self, file, copy):
        if self.size(file) is None:
            self.write(file, copy)

    def remove(self, file):
        try:
            self.fs.rm_file(f"{self.root}/{file}")
        except FileNotFoundError:
            pass
