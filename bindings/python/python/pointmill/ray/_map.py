"""The folder of a map by blocks, on this machine or behind fsspec."""

import json
import os
import shutil
import tempfile
import weakref

from pointmill.ndt import BlockMap, Grid

from ._files import Local, filesystem, is_remote


def open_map(path, settings, device="cpu"):
    """The map in a folder; one that is remote keeps the files that it works on in a folder of this machine."""
    return RemoteMap(path, settings, device) if is_remote(path) else BlockMap(path, **settings, device=device)


def known_origin(path):
    """The origin of the map in a folder; None if there is no map."""
    file = f"{path}/map.json"
    if not is_remote(path):
        return list(BlockMap(path).origin) if os.path.exists(file) else None
    fs, root = filesystem(file)
    if not fs.exists(root):
        return None
    with tempfile.TemporaryDirectory(prefix="pointmill-map-") as folder:
        fs.get_file(root, os.path.join(folder, "map.json"))
        return list(BlockMap(folder).origin)


def fetch_map(path, like):
    """The whole grid of a map by blocks or of a file, on the device of an array."""
    if path.endswith(".npz"):
        with Local(path) as local:
            return Grid.load(local, like=like)
    if not is_remote(path):
        return BlockMap(path).grid(like=like)
    fs, root = filesystem(path)
    with tempfile.TemporaryDirectory(prefix="pointmill-map-") as folder:
        for name in [entry["name"] for entry in fs.ls(root, detail=True) if entry["type"] == "file"]:
            if name.endswith((".npz", "map.json")):
                fs.get_file(name, os.path.join(folder, os.path.basename(name)))
        return BlockMap(folder).grid(like=like)


class RemoteMap:
    """A :class:`BlockMap` behind fsspec, with the same methods as far as a job needs them.

    Files are whole or not there, as object stores write them. The row of an input is uploaded last.
    """

    def __init__(self, path, settings, device):
        self.fs, self.root = filesystem(path)
        self.folder = tempfile.mkdtemp(prefix="pointmill-map-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        known = self.fs.exists(f"{self.root}/map.json")
        if known:
            self._get("map.json")
        self.map = BlockMap(self.folder, **settings, device=device)
        if not known:
            self._put("map.json")

    def name_of(self, path):
        return path

    def keeps(self, name, state):
        row = self._row(name)
        if row is None or not state or row["error"] is not None or row.get("state") != state:
            return None
        hash = BlockMap.hash(name)
        if not all(self.fs.exists(f"{self.root}/blocks/{block}/{hash}.arrow") for block in row["blocks"]):
            return None
        return {key: row[key] for key in ("input", "points", "blocks", "error")}

    def add(self, name, points, *, pose=None, state=""):
        return self._replace(name, state, lambda: self.map.add(name, points, pose=pose, state=state))

    def refuse(self, name, error):
        return self._replace(name, "", lambda: self.map.refuse(name, error))

    def _replace(self, name, state, make):
        earlier, hash = self._row(name), BlockMap.hash(name)
        row = make()
        if earlier is not None and (not state or earlier.get("state") != state):
            self._remove(f"inputs/{hash}.json")
        for block in row["blocks"]:
            self._put(f"blocks/{block}/{hash}.arrow")
        for block in set(earlier["blocks"] if earlier else ()) - set(row["blocks"]):
            self._remove(f"blocks/{block}/{hash}.arrow")
        self._put(f"inputs/{hash}.json")
        for block in row["blocks"]:
            os.remove(os.path.join(self.folder, "blocks", block, f"{hash}.arrow"))
        os.remove(os.path.join(self.folder, "inputs", f"{hash}.json"))
        return row

    @property
    def blocks(self):
        self.fs.invalidate_cache()
        names = [path.rsplit("/", 1)[1] for path in self._ls("blocks", "directory")]
        names += [path.rsplit("/", 1)[1][:-4] for path in self._ls("", "file") if path.endswith(".npz")]
        return sorted(set(names))

    def merge(self, block):
        """Fetch the parts of a block and the rows of their inputs, merge them, and upload the block."""
        self.fs.invalidate_cache()
        local = os.path.join(self.folder, "blocks", block)
        try:
            for path in self._ls(f"blocks/{block}", "file"):
                hash = path.rsplit("/", 1)[1].removesuffix(".arrow")
                if self.fs.exists(f"{self.root}/inputs/{hash}.json"):
                    self._get(f"inputs/{hash}.json")
                    self._get(f"blocks/{block}/{hash}.arrow")
            merged = self.map.merge(block)
            for ending in ("arrow", "npz"):
                file = f"{block}.{ending}"
                if os.path.exists(os.path.join(self.folder, file)):
                    self._put(file)
                    os.remove(os.path.join(self.folder, file))
                else:
                    self._remove(file)
            return merged
        finally:
            shutil.rmtree(local, ignore_errors=True)

    def finish(self):
        """The rows of all inputs, whose parts are all there; and the manifest."""
        self.fs.invalidate_cache()
        parts = set(self.fs.find(f"{self.root}/blocks")) if self.fs.exists(f"{self.root}/blocks") else set()
        for path in self._ls("inputs", "file"):
            name = path.rsplit("/", 1)[1]
            self._get(f"inputs/{name}")
        rows = self.map.rows
        lines = []
        for row in rows:
            hash = BlockMap.hash(row["input"])
            for block in row["blocks"]:
                part = f"{self.root}/blocks/{block}/{hash}.arrow"
                if part not in parts:
                    raise ValueError(f"{part}: wanted the file that the row of `{row['input']}` names, found none; build this input again")
            lines.append(json.dumps(row, separators=(",", ":")) + "\n")
        self.fs.pipe_file(f"{self.root}/manifest.jsonl", "".join(lines).encode())
        return rows

    def _row(self, name):
        try:
            row = json.loads(self.fs.cat_file(f"{self.root}/inputs/{BlockMap.hash(name)}.json"))
        except FileNotFoundError:
            return None
        if row["input"] != name:
            raise ValueError(f"{name}: wanted a name of its own hash, found that of {row['input']}")
        return row

    def _ls(self, folder, kind):
        path = f"{self.root}/{folder}".rstrip("/")
        try:
            return [entry["name"].rstrip("/") for entry in self.fs.ls(path, detail=True) if entry["type"] == kind]
        except FileNotFoundError:
            return []

    def _get(self, file):
        local = os.path.join(self.folder, file)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        self.fs.get_file(f"{self.root}/{file}", local)

    def _put(self, file):
        self.fs.put_file(os.path.join(self.folder, file), f"{self.root}/{file}")

    def _remove(self, file):
        try:
            self.fs.rm_file(f"{self.root}/{file}")
        except FileNotFoundError:
            pass
