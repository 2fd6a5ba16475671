"""Files, local or of any file system that fsspec knows."""

import os
import re
import secrets
import shutil
import tempfile

import fsspec

import pointmill
from pointmill import _pointmill


def is_remote(path):
    """Whether a path names another file system: ``s3://bucket/a.bin``."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path)) and not path.startswith("file://")


def filesystem(path):
    """The file system of a path, and the path in it."""
    fs, root = fsspec.core.url_to_fs(path)
    return fs, root.rstrip("/")


def find(inputs):
    """The files that inputs mean, in their order, each with its error or None."""
    inputs = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    found = []
    for path in map(os.fspath, inputs):
        if not is_remote(path):
            # Workers have working folders of their own.
            found += pointmill.find_inputs([os.path.abspath(path.removeprefix("file://"))])
            continue
        fs, root = filesystem(path)
        if any(c in root for c in "*?["):
            paths = fs.glob(root)
        else:
            paths = [f["name"] for f in fs.ls(root, detail=True) if f["type"] == "file"] if fs.isdir(root) else [root]
        error = None if paths else f"{path}: expected a file that matches, got none"
        found += [(fs.unstrip_protocol(p), error) for p in _pointmill._natural_order(paths or [root])]
    return found


class Local:
    """A copy of a file on this machine for as long as the context lasts; a local file is itself."""

    def __init__(self, path):
        self.path, self.folder = path, None

    def __enter__(self):
        if not is_remote(self.path):
            return self.path
        fs, root = filesystem(self.path)
        self.folder = tempfile.mkdtemp(prefix="pointmill-")
        # The folders of a sweep of Argoverse 2 say that its name is its time.
        names = [name for name in root.split("/") if name not in ("", ".", "..")]
        copy = os.path.join(self.folder, *names[-3:])
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        try:
            fs.get_file(root, copy)
        except BaseException:
            self.__exit__()
            raise
        return copy

    def __exit__(self, *_):
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class LastCopy:
    """The copy of the file that was asked for last, such as a bag of many clouds."""

    def __init__(self):
        self.file, self.local = None, Local("")

    def of(self, file):
        """The path of a file on this machine, until another is asked for."""
        if self.file != file:
            self.file = None
            self.local.__exit__()
            self.local = Local(file)
            self.path, self.file = self.local.__enter__(), file
        return self.path


def version_of(path):
    """What tells a version of a remote file from another; empty for what is no file."""
    fs, root = filesystem(path)
    try:
        info = fs.info(root)
    except OSError:
        return ""
    version = next((str(info[key]) for key in ("ETag", "etag", "mtime", "LastModified", "last_modified") if key in info), "")
    return f"{info.get('size')} bytes, {version}" if version else ""


def put(copy, path):
    """Write a file whole or not at all, from a copy on this machine."""
    if is_remote(path):
        fs, root = filesystem(path)
        fs.put_file(copy, root)
        return
    # A new file under a name that nobody can know before, so that no link or pipe there is opened.
    unfinished = f"{path}.{secrets.token_hex(8)}.tmp"
    with open(copy, "rb") as source, open(unfinished, "xb") as file:
        try:
            shutil.copyfileobj(source, file)
            file.close()
            os.replace(unfinished, path)
        except BaseException:
            os.remove(unfinished)
            raise
