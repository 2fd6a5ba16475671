"""What the tests share: the repository's fixtures, and the libraries whose arrays are tested."""

import pathlib

import numpy as np
import pytest

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures"


def fixture_files(operator):
    """The files of an operator, by name."""
    files = sorted((FIXTURES / operator).glob("*.npz"))
    assert files, f"no fixtures of {operator} in {FIXTURES}"
    return [pytest.param(file, id=file.stem) for file in files]


def torch_or_none():
    try:
        import torch
    except ImportError:
        return None
    return torch


class Foreign:
    """An array of a library that is not known by name: it speaks DLPack and names its namespace."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        return ForeignNamespace


class ForeignNamespace:
    @staticmethod
    def from_dlpack(array):
        array = np.from_dlpack(array)
        # numpy before 2 takes arrays as read-only, and hands on none of those.
        return Foreign(array if array.flags.writeable else array.copy())


def _numpy(values):
    return np.ascontiguousarray(values)


def _torch(values):
    values = np.ascontiguousarray(values)
    return torch_or_none().from_numpy(values.copy() if not values.flags.writeable else values)


def _foreign(values):
    return Foreign(np.ascontiguousarray(values))


LIBRARIES = [pytest.param(_numpy, id="numpy"), pytest.param(_foreign, id="dlpack")]
if torch_or_none() is not None:
    LIBRARIES.append(pytest.param(_torch, id="torch"))


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Makes an array of a library from one of numpy."""
    return request.param


def to_numpy(array, like=None):
    """Back to numpy; `like` is what was handed in, whose kind the result must be."""
    if like is not None:
        assert type(array) is type(like), f"expected {type(like)}, got {type(array)}"
    if isinstance(array, Foreign):
        return array.array
    if isinstance(array, np.ndarray):
        return array
    torch = torch_or_none()
    if array.dtype == torch.bfloat16:
        return array.view(torch.int16).numpy()
    return array.numpy()


def assert_bits(got, want, what=""):
    """Equal in shape, size of the type and every bit."""
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.shape == want.shape, f"{what}: {got.shape} != {want.shape}"
    assert got.dtype.itemsize == want.dtype.itemsize, f"{what}: {got.dtype} and {want.dtype}"
    assert got.tobytes() == want.tobytes(), f"{what} differs"
