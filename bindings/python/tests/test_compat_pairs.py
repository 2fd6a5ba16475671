"""The pairs of spconv, against every input and every offset of a kernel one by one."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pointmill.compat import spconv as ops


def pairs_by_definition(indices, shape, ksize, stride, padding, dilation, subm, transpose):
    """The pairs (input, item and cell of the output) of each offset, by spconv's definition."""
    axes = len(shape)
    if subm:
        stride, padding, out = [1] * axes, [k // 2 * d for k, d in zip(ksize, dilation)], shape
    elif transpose:
        out = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(shape, ksize, stride, padding)]
    else:
        out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(shape, ksize, stride, padding, dilation)]
    cells = {tuple(row) for row in indices.tolist()}
    found = []
    for at in product(*map(range, ksize)):
        pairs = set()
        for row, (item, *cell) in enumerate(indices.tolist()):
            if transpose:
                there = [c * s - p + k * d for c, s, p, k, d in zip(cell, stride, padding, at, dilation)]
            else:
                far = [c + p - k * d for c, p, k, d in zip(cell, padding, at, dilation)]
                if any(f % s for f, s in zip(far, stride)):
                    continue
                there = [f // s for f, s in zip(far, stride)]
            inside = all(0 <= t < n for t, n in zip(there, out))
            if inside and (not subm or (item, *there) in cells):
                pairs.add((row, (item, *there)))
        found.append(pairs)
    return found


CASES = [
    ([9, 8, 7], 3, 1, 0, 1, True, False),
    ([9, 8, 7], [3, 1, 5], 1, 1, [2, 1, 1], True, False),
    ([9, 8, 7], 3, 2, 1, 1, False, False),
    ([9, 8, 7], [2, 3, 1], [2, 3, 1], [0, 1, 0], [1, 2, 1], False, False),
    ([5, 6, 7], 2, 2, 0, 1, False, True),
    ([5, 6, 7], [3, 3, 1], [2, 1, 1], [1, 1, 0], 1, False, True),
    ([20, 30], 3, 1, 0, 1, True, False),
    ([20, 30], [3, 2], 2, [1, 0], 1, False, False),
    ([300], 3, 2, 1, 1, False, False),
]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs(case, dtype):
    shape, *sizes, subm, transpose = case
    rng = np.random.default_rng(len(shape))
    cells = rng.permutation(2 * np.prod(shape))[:120]
    indices = np.stack(np.unravel_index(cells, (2, *shape)), 1)
    out, pairs, numbers = ops.get_indice_pairs(torch.from_numpy(indices).to(dtype), 2, shape, None, *sizes, 0, subm, transpose)
    sizes = [[size] * len(shape) if isinstance(size, int) else size for size in sizes]
    want = pairs_by_definition(indices, shape, *sizes, subm, transpose)
    assert out.dtype == pairs.dtype == numbers.dtype == torch.int32
    assert pairs.shape == (2, len(want), len(indices)) and numbers.tolist() == [len(one) for one in want]
    for k, one in enumerate(want):
        n = len(one)
        got = {(row, tuple(out[to].tolist())) for row, to in pairs[:, k, :n].T.tolist()}
        assert got == one and (pairs[:, k, n:] == -1).all()
    if subm:
        assert np.array_equal(out, indices)
    else:
        assert list(map(tuple, out.tolist())) == sorted({cell for one in want for _, cell in one})


def test_any_order_of_inputs():
    indices = torch.from_numpy(np.stack(np.unravel_index(np.random.default_rng(1).permutation(700)[:90], (10, 10, 7)), 1))
    indices = torch.nn.functional.pad(indices, (1, 0))
    other = torch.randperm(90)
    how = ([10, 10, 7], None, 3, 2, 1, 1, 0)
    out, pairs, numbers = ops.get_indice_pairs(indices, 1, *how)
    out_again, again, numbers_again = ops.get_indice_pairs(indices[other], 1, *how)
    assert torch.equal(out, out_again) and torch.equal(numbers, numbers_again) and torch.equal(pairs[1], again[1])
    there = pairs[0] >= 0
    assert torch.equal(other[again[0][there].long()], pairs[0][there].long())


def test_no_inputs():
    out, pairs, numbers = ops.get_indice_pairs(torch.zeros((0, 4), dtype=torch.int32), 1, [4, 4, 4], None, 3, 2, 1, 1, 0)
    assert out.shape == (0, 4) and pairs.shape == (2, 27, 0) and numbers.tolist() == [0] * 27


@pytest.mark.parametrize(
    ("kind", "args", "text"),
    [
        (TypeError, {"indices": [[0, 0, 0, 0]]}, "indices: expected a torch.Tensor"),
        (ValueError, {"indices": torch.zeros(3)}, r"indices: expected an array of shape \[N, 2\] to \[N, 4\], got shape \[3\]"),
        (ValueError, {"indices": torch.zeros(1, 5).int()}, "indices: expected an array of shape"),
        (ValueError, {"spatial_shape": [4, 4]}, "spatial_shape: expected 3 whole numbers, or one for all, got 2"),
        (ValueError, {"ksize": [3, 3]}, "ksize: expected 3 whole numbers"),
        (ValueError, {"ksize": 2, "subm": True}, "ksize: expected odd sizes"),
        (ValueError, {"out_padding": 1, "transpose": True}, "out_padding: expected 0, got 1"),
        (ValueError, {"dilation": 2, "transpose": True}, "dilation: expected 1 for a transposed layer, got 2"),
        (ValueError, {"indices": torch.zeros(2, 4).int()}, "indices: expected each cell once"),
    ],
)
def test_what_does_not_fit_is_named(kind, args, text):
    given = {"indices": torch.zeros(1, 4).int(), "batch_size": 1, "spatial_shape": [4, 4, 4], "algo": None}
    given |= {"ksize": 3, "stride": 1, "padding": 0, "dilation": 1, "out_padding": 0} | args
    with pytest.raises(kind, match=f"^{text}"):
        ops.get_indice_pairs(**given)
