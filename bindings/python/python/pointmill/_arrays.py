"""Points and boxes as operators take them: what they cannot use in place is copied once."""

from typing import Any

import numpy as np

# Whole numbers up to these are exact.
EXACT = {"float32": 1 << 24, "float64": 1 << 53}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def copied(array: Any, name: str, types: list[str], origin: str | None) -> Any:
    """Return a C-contiguous copy of an array of numpy or torch in one of these types, or the array itself if it has no numbers for them.

    A coordinate of float64 that float32 holds no closer than 1 mm raises ValueError, which names `origin`, and so does a whole number that changes.
    """
    kind = str(array.dtype).removeprefix("torch.")
    if kind not in ("float16", "bfloat16", "float32", "float64", *INTEGERS):
        return array
    whole = kind in INTEGERS
    to = kind if kind in types else "float64" if whole and "float64" in types else "float32"
    if whole and 0 not in array.shape and max(-int(array.min()), int(array.max())) > EXACT[to]:
        raise ValueError(f"{name}: expected whole numbers up to {EXACT[to]}, which {to} holds, got values from {array.min()} to {array.max()}{instead(array, origin)}")
    if not isinstance(array, np.ndarray):
        made = (array if kind == to else getattr(array, {"float32": "float", "float64": "double"}[to])()).contiguous()
    else:
        with np.errstate(all="ignore"):
            made = np.array(array, to, order="C")
    if kind == "float64" and to == "float32" and made.ndim:
        with np.errstate(all="ignore"):
            moved = abs(array[..., :3] - made[..., :3])
            far = moved[moved > 1e-3]
        if len(far):
            raise ValueError(f"{name}: expected coordinates that float32 holds to 1 mm, got some that it moves by {float(far.max()):.2g} m{instead(array, origin)}")
    return made


def whole(array: Any, name: str) -> Any:
    """Return a C-contiguous copy of whole numbers in int32 or int64, or the array itself if it has no whole numbers."""
    kind = str(array.dtype).removeprefix("torch.").lstrip("<>=|")
    if array.dtype.kind in "iu" if isinstance(array, np.ndarray) else kind in INTEGERS:
        if not isinstance(array, np.ndarray):
            return (array if kind in ("int32", "int64") else array.long()).contiguous()
        to = array.dtype if array.dtype.kind == "i" and array.dtype.itemsize in (4, 8) else np.dtype(np.int64)
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{name}: expected numbers of 32 bits, got {array.max()}")
        return np.array(array, to.newbyteorder("="), order="C")
    return array


def instead(array: Any, origin: str | None) -> str:
    """Return what to pass for large coordinates."""
    on_host = getattr(array, "is_cpu", True)
    return f"; pass {origin}='auto'" if origin and on_host else f"; pass {origin}=[x, y, z] near them" if origin else ""
