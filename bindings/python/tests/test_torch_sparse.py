"""The front end of sparse detectors as operators of torch: the results of pointmill.sparse, also where torch traces, and shapes that are known before."""

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pointmill.torch as pt
from pointmill import sparse
from torch.fx.experimental.proxy_tensor import make_fx

STRIDED = {"kind": "strided", "kernel": 3, "stride": 2, "padding": (1, 0, 1)}
BACK = torch.eye(4, dtype=torch.float64)
BACK[:3, 3] = torch.tensor([1.0, 2.0, 3.0])
TRANSFORMS, LAGS = torch.stack([torch.eye(4).double(), BACK]), torch.tensor([0, 0.1])
PILLARS = {"voxel_size": (0.5, 0.25, 4), "origin": (-1.0, -2.0, -3.0), "features": 11}


def points(seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(-4, 4, (400, 5)).astype(np.float32))


def cells(seed=0):
    """150 cells x, y, z of 2 items, each once, with coordinates below 16, and their items."""
    ids = torch.from_numpy(np.random.default_rng(seed).permutation(2 * 16**3)[:150].astype(np.int32))
    return torch.stack([ids % 16, ids // 16 % 16, ids // 256 % 16], 1), ids // 4096


def rows(seed=0):
    coords, batch = cells(seed)
    return torch.cat([batch[:, None], coords], 1)


def flat(results):
    """All tensors of a result, one after the other."""
    if isinstance(results, torch.Tensor):
        return [results]
    return [tensor for one in results for tensor in flat(one)]


def grid_sampled(found):
    return [found.grid_coord, found.batch, found.rows, found.num_points, found.inverse]


def pooled(cells, stages):
    names = ["cluster", "indptr", "indices", "head", "grid_coord", "batch", "codes", "order", "inverse"]
    results = [cells.codes, cells.order, cells.inverse]
    return results + [getattr(stage, name) for stage in stages for name in names]


def slots(seed):
    numbers, coords = torch.arange(10, dtype=torch.int32) % 4, torch.arange(40, dtype=torch.int32).reshape(10, 4)
    return points(seed)[:30].reshape(10, 3, 5), numbers, coords


# What is called, what it is the same as in pointmill.sparse, what it takes, and the operator.
CALLS = {
    "grid_sample": (
        lambda p: pt.grid_sample(p, 0.5, pick="random", seed=3),
        lambda p: grid_sampled(sparse.grid_sample(p, 0.5, pick="random", seed=3)),
        lambda seed: (points(seed),),
        lambda p: ("grid_sample", (p, [0.5] * 3, None, "random", 0, 3, None, None)),
    ),
    "grid_sample_of_range": (
        lambda p: pt.grid_sample(p, (1, 1, 2), point_cloud_range=[-3, -3, -2, 3, 3, 2], row_splits=[0, 100, 400]),
        lambda p: grid_sampled(
            sparse.grid_sample(p, (1, 1, 2), point_cloud_range=[-3, -3, -2, 3, 3, 2], row_splits=[0, 100, 400])
        ),
        lambda seed: (points(seed),),
        lambda p: ("grid_sample", (p, [1.0, 1, 2], [-3.0, -3, -2, 3, 3, 2], "first", 0, 0, None, [0, 100, 400])),
    ),
    "serialize": (
        lambda c, b: pt.serialize(c, b, items=2, depth=5),
        lambda c, b: (lambda s: [s.codes, s.order, s.inverse])(sparse.serialize(c, b, items=2, depth=5)),
        cells,
        lambda c, b: ("serialize", (c, b, 2, 5, "z,z-trans,hilbert,hilbert-trans")),
    ),
    "serialize_one": (
        lambda c, _: pt.serialize(c, orders=["hilbert"]),
        lambda c, _: (lambda s: [s.codes, s.order, s.inverse])(sparse.serialize(c, orders=["hilbert"])),
        cells,
        lambda c, _: ("serialize", (c, None, None, None, "hilbert")),
    ),
    "pool_hierarchy": (
        lambda c, b: pt.pool_hierarchy(c, b, strides=(2, 4)),
        lambda c, b: pooled(*sparse.pool_hierarchy(c, b, strides=(2, 4))),
        cells,
        lambda c, b: ("pool_hierarchy", (c, b, [2, 4], None, None, "z,hilbert", None)),
    ),
    "submanifold": (
        lambda r: pt.index_pairs(r, (16, 16, 16), 2, dilation=2),
        lambda r: (lambda p: [p.coords, p.table, p.counts])(sparse.index_pairs(r, (16, 16, 16), 2, dilation=2)),
        lambda seed: (rows(seed),),
        lambda r: ("index_pairs", (r, None, [16] * 3, 2, "submanifold", [3] * 3, [1] * 3, [0] * 3, [2] * 3, None, None)),
    ),
    "strided": (
        lambda r: pt.index_pairs(r, (16, 16, 16), 2, **STRIDED),
        lambda r: (lambda p: [p.coords, p.table, p.counts])(sparse.index_pairs(r, (16, 16, 16), 2, **STRIDED)),
        lambda seed: (rows(seed),),
        lambda r: ("index_pairs", (r, None, [16] * 3, 2, "strided", [3] * 3, [2] * 3, [1, 0, 1], [1] * 3, None, None)),
    ),
    "densify": (
        lambda a, b, transforms, lags: pt.densify([a, b], transforms, lags),
        lambda a, b, *_: [sparse.densify([a, b], [np.eye(4), BACK.numpy()], [0, 0.1])],
        lambda seed: (points(seed), points(seed + 5), TRANSFORMS, LAGS),
        lambda a, b, transforms, lags: ("densify", ([a, b], transforms, lags)),
    ),
    "pillar_features": (
        lambda *given: pt.pillar_features(*given, **PILLARS),
        lambda *given: [sparse.pillar_features(*given, **PILLARS)],
        slots,
        lambda *given: ("pillar_features", (*given, [1.0] * 3, [0.0] * 3, 10)),
    ),
}


def padded(p):
    """All functions with capacities, after one another: every shape is known."""
    sampled = pt.grid_sample(p, 1.0, capacity=500)
    coords = torch.where(sampled.batch[:, None] < 0, torch.arange(500)[:, None] + 9, sampled.grid_coord)
    _, stages = pt.pool_hierarchy(coords, items=1, strides=(2, 2), depth=10, orders=["z"], capacities=[450, 40])
    in_rows = torch.nn.functional.pad(coords.flip(1), (1, 0))
    outputs, table, counts = pt.index_pairs(in_rows, (1024,) * 3, capacity=3000, **STRIDED)
    return [*sampled, *flat(stages), outputs, table, counts]


SHAPES = [(500, 3), (500,), (500,), (500,), (400,)]
SHAPES += [(500,), (451,), (500,), (450,), (450, 3), (450,), (1, 450), (1, 450), (1, 450)]
SHAPES += [(450,), (41,), (450,), (40,), (40, 3), (40,), (1, 40), (1, 40), (1, 40), (3000, 4), (27, 3000), (27,)]


def assert_equal(got, want):
    got, want = flat(got), flat(want)
    assert len(got) == len(want) and all(map(torch.equal, got, want))
    assert [t.dtype for t in got] == [t.dtype for t in want]


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_module(name):
    function, same, given, _ = CALLS[name]
    assert_equal(function(*given(0)), same(*given(0)))


@pytest.mark.parametrize("name", CALLS)
def test_opcheck(name):
    _, _, given, operator = CALLS[name]
    op, args = operator(*given(0))
    torch.library.opcheck(getattr(torch.ops.pointmill, op).default, args)


@pytest.mark.parametrize("name", CALLS)
def test_jit_trace(name):
    function, _, given, _ = CALLS[name]
    traced = torch.jit.trace(lambda *args: tuple(flat(function(*args))), given(0))
    assert_equal(traced(*given(1)), function(*given(1)))


@pytest.mark.parametrize("name", CALLS)
def test_make_fx_and_functionalize(name):
    function, _, given, _ = CALLS[name]
    for mode in ("real", "symbolic"):
        graph = make_fx(lambda *args: flat(function(*args)), tracing_mode=mode)(*given(0))
        assert_equal(graph(*given(1)), function(*given(1)))
        assert any("pointmill" in str(node.target) for node in graph.graph.nodes)
    assert_equal(torch.func.functionalize(lambda *args: flat(function(*args)))(*given(0)), function(*given(0)))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap():
    """One sample after the other, of as many rows each."""
    sample = lambda p: flat(pt.grid_sample(p, 1.0, capacity=300))
    clouds = torch.stack([points(), points(1)])
    assert_equal(torch.vmap(sample)(clouds), [torch.stack(both) for both in zip(*map(sample, clouds))])


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compile(backend):
    """All functions in one graph; cells and outputs are as many as there are."""
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles C++")

    def network(given):
        return [flat(CALLS[name][0](*args)) for name, args in given.items()]

    torch._dynamo.reset()
    compiled = torch.compile(network, backend=backend, fullgraph=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for seed in (0, 1):
            given = {name: call[2](seed) for name, call in CALLS.items()}
            assert_equal(compiled(given), network(given))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_with_capacities(backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles C++")
    torch._dynamo.reset()
    compiled = torch.compile(padded, backend=backend, fullgraph=True, dynamic=False)
    for seed in (0, 1):
        got = compiled(points(seed))
        assert [tuple(t.shape) for t in got] == SHAPES
        assert_equal(got, padded(points(seed)))


def test_export():
    class Net(torch.nn.Module):
        def forward(self, p):
            return padded(p)

    program = torch.export.export(Net(), (points(),))
    assert_equal(program.module()(points(1)), padded(points(1)))


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fake = mode.from_tensor(points())
        assert [tuple(t.shape) for t in padded(fake)] == SHAPES
        sampled = pt.grid_sample(fake, 0.5)
        assert not isinstance(sampled.rows.shape[0], int) and sampled.inverse.shape == (400,)
        coords = mode.from_tensor(cells()[0])
        (codes, _, _), stages = pt.pool_hierarchy(coords, strides=[2])
        assert codes.shape == (4, 150) and stages[0].cluster.shape == (150,)
        assert not isinstance(stages[0].head.shape[0], int)
        fine = mode.from_tensor(rows())
        up = pt.index_pairs(fine[:9], (8, 8, 8), 2, kind="inverse", outputs=fine, output_shape=(16, 16, 16), kernel=2)
        assert up[0].shape == (150, 4) and up[1].shape == (8, 150) and up[2].shape == (8,)


def test_capacities():
    """The first rows are those of the module, and -1 is behind them."""
    p = points()
    for capacity in (50, 10_000):
        found = sparse.grid_sample(p, 1.0, capacity=capacity)
        sampled = pt.grid_sample(p, 1.0, capacity=capacity)
        for got, want in zip(sampled[:4], grid_sampled(found)):
            assert len(got) == capacity and torch.equal(got[: len(want)], want)
        behind = [one[found.cells :].unique().tolist() for one in sampled[:4]]
        assert behind == ([[]] * 4 if capacity == 50 else [[-1]] * 3 + [[0]])
        assert torch.equal(sampled.inverse, found.inverse)

    coords, batch = cells()
    rooms = [200, 30]
    want = pooled(*sparse.pool_hierarchy(coords, batch, strides=[2, 4], capacities=rooms))
    got = flat(pt.pool_hierarchy(coords, batch, strides=[2, 4], capacities=rooms))
    assert len(want) == len(got) == 21
    for i, (one, other) in enumerate(zip(got, want)):
        assert torch.equal(one[tuple(map(slice, other.shape))], other), i
    assert got[4].tolist() == want[4].tolist() + [150] * (201 - len(want[4]))
    assert [len(got[i]) for i in (3, 4, 6, 12, 13, 15)] == [150, 201, 200, 200, 31, 30]

    pairs = sparse.index_pairs(rows(), (16, 16, 16), 2, **STRIDED)
    outputs, table, counts = pt.index_pairs(rows(), (16, 16, 16), 2, capacity=pairs.cells + 3, **STRIDED)
    assert torch.equal(outputs[:-3], pairs.coords) and torch.equal(table[:, :-3], pairs.table)
    assert (outputs[-3:] == -1).all() and (table[:, -3:] == -1).all() and torch.equal(counts, pairs.counts)


def test_an_inverse_layer_goes_back():
    shape = (16, 16, 16)
    coarse, table, _ = pt.index_pairs(rows(), shape, 2, kind="strided", kernel=2, stride=2)
    up = {"kind": "inverse", "kernel": 2, "stride": 2, "outputs": rows(), "output_shape": shape}
    back = pt.index_pairs(coarse, (8, 8, 8), 2, **up)
    assert torch.equal(back[0], rows())
    for k in range(8):
        there = (table[k] >= 0).nonzero()[:, 0]
        assert torch.equal(back[1][k][table[k][there].long()], there.int())


@pytest.mark.parametrize(
    ("kind", "call", "text"),
    [
        (ValueError, lambda: pt.grid_sample(points().requires_grad_()), "points: expected a tensor that does not require grad"),
        (ValueError, lambda: pt.densify([points().requires_grad_()], BACK[None], torch.zeros(1)), "sweeps: expected a tensor that does not"),
        (ValueError, lambda: pt.densify([], BACK[None], torch.zeros(1)), "sweeps: expected at least 1 sweep, got 0"),
        (ValueError, lambda: pt.densify([points()], TRANSFORMS, torch.zeros(1)), "transforms: expected 1"),
        (ValueError, lambda: pt.densify([points()], BACK[None].to("meta"), torch.zeros(1)), "transforms: expected a tensor in host memory"),
        (TypeError, lambda: pt.serialize(cells()[0].numpy()), "grid_coord: expected a torch.Tensor .*, got numpy.ndarray"),
        (TypeError, lambda: pt.index_pairs(rows().tolist(), (16, 16, 16)), "coords: expected a torch.Tensor .*, got builtins.list"),
        (ValueError, lambda: pt.serialize(cells()[0], orders=["peano"]), "orders: "),
        (ValueError, lambda: pt.serialize(cells()[0], orders=[]), "orders: "),
        (ValueError, lambda: pt.pool_hierarchy(cells()[0], capacities=[3]), "capacities: expected 4 numbers"),
        (ValueError, lambda: pt.grid_sample(points(), capacity=0), "capacity: expected "),
    ],
)
def test_what_does_not_fit_is_named(kind, call, text):
    with pytest.raises(kind, match=f"^{text}"):
        call()


def test_nothing_is_no_error():
    none = torch.zeros((0, 3), dtype=torch.int32)
    assert pt.serialize(none)[0].shape == (4, 0)
    _, stages = pt.pool_hierarchy(none, capacities=[2, 2, 2, 2])
    assert stages[3].indptr.tolist() == [0, 0, 0] and stages[3].head.tolist() == [-1, -1]
    assert pt.grid_sample(torch.zeros(0, 3), capacity=2).rows.tolist() == [-1, -1]
    assert pt.index_pairs(torch.zeros((0, 4), dtype=torch.int32), (4, 4, 4))[1].shape == (27, 0)
