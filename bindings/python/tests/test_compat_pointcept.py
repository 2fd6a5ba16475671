"""The names of Pointcept, against plain programs of numpy."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pointmill.compat import pointcept
from pointmill.compat.pointcept import GridSample, serialization

FIXTURES = Path(__file__).parents[3] / "fixtures"
ORDERS = ["z", "z-trans", "hilbert", "hilbert-trans"]
KEYS = ["serialized_code", "serialized_order", "serialized_inverse"]


class Point(dict):
    """As the class of Pointcept: keys are attributes too."""

    __getattr__ = dict.__getitem__
    serialization = serialization


def scene(n=2000, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    coord = rng.uniform(-3, 5, (n, 3)).astype(dtype)
    normal = rng.normal(size=(n, 3)).astype(np.float32)
    return {"coord": coord, "color": np.arange(n), "segment": rng.integers(0, 9, n), "normal": normal, "name": "scene"}


def cells_of(coord, size):
    """Cells by Pointcept's definition in double precision, their least one, and the cell of each point by the first point."""
    cells = np.floor(coord.astype(np.float64) / size).astype(int)
    _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    return cells - cells.min(0), cells.min(0), np.argsort(by_first)[inverse.reshape(-1)]


@pytest.mark.parametrize("name", ["few", "deep", "shallow"])
@pytest.mark.parametrize("kind", [dict, Point])
def test_serialization(name, kind):
    case = np.load(FIXTURES / f"sparse/{name}.npz")
    depth, batch = int(case["depth"]), torch.from_numpy(case["batch"]).long()
    point = kind(grid_coord=torch.from_numpy(case["coords"]), batch=batch)
    serialization(point, ORDERS, depth=depth)
    assert point["serialized_depth"] == depth and point["order"] == ORDERS
    for key, want in zip(KEYS, ("codes", "order", "inverse")):
        assert point[key].dtype == torch.int64 and np.array_equal(point[key].numpy(), case[want].astype(np.int64))
    assert point["offset"].tolist() == np.bincount(case["batch"]).cumsum().tolist()


def test_z_codes_by_their_bits():
    rng = np.random.default_rng(2)
    coords = np.unique(rng.integers(0, 700, (500, 3)), axis=0)
    offset = torch.tensor([100, 100, len(coords)])
    point = Point(grid_coord=torch.from_numpy(coords), offset=offset)
    point.serialization(order=("z", "z-trans"))
    assert point["serialized_depth"] == int(coords.max() + 1).bit_length() == 10
    batch = np.repeat([0, 1, 2], [100, 0, len(coords) - 100])
    assert point["batch"].tolist() == batch.tolist()
    for k, axes in enumerate(([0, 1, 2], [1, 0, 2])):
        codes = batch << 30
        for bit in range(10):
            for place, axis in enumerate(axes):
                codes |= (coords[:, axis] >> bit & 1) << (3 * bit + 2 - place)
        order = np.argsort(codes, kind="stable")
        assert np.array_equal(point["serialized_code"][k], codes)
        assert np.array_equal(point["serialized_order"][k], order)
        assert np.array_equal(point["serialized_inverse"][k], np.argsort(order))


def test_cells_of_coordinates_and_shuffled_curves():
    coord = torch.from_numpy(scene()["coord"])
    point = Point(coord=coord, grid_size=0.25, batch=torch.zeros(len(coord), dtype=torch.int64))
    point.serialization("hilbert")
    want = ((coord - coord.min(0).values) / 0.25).int()
    assert torch.equal(point.grid_coord, want) and point.serialized_code.shape == (1, len(coord))
    point.serialization(ORDERS)
    torch.manual_seed(4)
    shuffled = Point(point)
    shuffled.serialization(ORDERS, shuffle_orders=True)
    torch.manual_seed(4)
    curves = torch.randperm(4)
    assert curves.tolist() != [0, 1, 2, 3]
    for key in KEYS:
        assert torch.equal(shuffled[key], point[key][curves])


def test_a_compiled_model_may_serialize():
    coords = torch.randint(0, 100, (300, 3), dtype=torch.int32)

    def codes(coords, offset):
        point = {"grid_coord": coords, "batch": torch.zeros_like(coords[:, 0]), "offset": offset}
        serialization(point, ORDERS, depth=8)
        return point["serialized_code"], point["serialized_inverse"]

    torch._dynamo.reset()
    got = torch.compile(codes, backend="aot_eager", fullgraph=True)(coords, torch.tensor([300]))
    assert all(map(torch.equal, got, codes(coords, torch.tensor([300]))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0.7, [0.5, 0.9, 2.0]])
def test_training(dtype, size):
    data = scene(dtype=dtype)
    cells, low, inverse = cells_of(data["coord"], size)
    flags = {"return_inverse": True, "return_grid_coord": True, "return_min_coord": True, "return_displacement": True}
    given = dict(data)
    sampled = GridSample(size, hash_type="ravel", seed=7, **flags)(given)
    assert sampled is given and sampled["name"] == "scene"
    assert np.array_equal(sampled["inverse"], inverse) and sampled["inverse"].dtype == np.int64
    rows = sampled["color"]
    assert np.array_equal(inverse[rows], np.arange(inverse.max() + 1))
    for key in ("coord", "segment", "normal"):
        assert np.array_equal(sampled[key], data[key][rows]) and sampled[key].dtype == data[key].dtype
    assert np.array_equal(sampled["grid_coord"], cells[rows]) and sampled["grid_coord"].dtype == np.int64
    assert np.array_equal(sampled["min_coord"], (low * np.array(size)).reshape(1, 3))
    displacement = data["coord"].astype(np.float64) / size - low - cells - 0.5
    assert np.array_equal(sampled["displacement"], displacement[rows]) and np.abs(displacement).max() <= 0.5
    assert sampled["index_valid_keys"][-2:] == ["grid_coord", "displacement"]
    projected = GridSample(size, seed=7, return_displacement=True, project_displacement=True)(dict(data))
    along = (displacement * data["normal"]).sum(-1, keepdims=True)[rows]
    assert np.array_equal(projected["displacement"], along) and "inverse" not in projected


def test_picks():
    """The same by a seed, another by another, all points of a cell as often."""
    coord = np.repeat(np.arange(1000)[:, None] + 0.5, 3, 1).repeat(3, 0)
    rows = lambda sample: sample({"coord": coord, "color": np.arange(3000)})["color"]
    first = rows(GridSample(1.0, seed=5))
    assert np.array_equal(rows(GridSample(1.0, seed=5)), first) and (rows(GridSample(1.0, seed=6)) != first).any()
    assert np.abs(np.bincount(first % 3) - 1000 / 3).max() < 5 * (1000 * 2 / 9) ** 0.5
    # Without a seed, that of numpy decides.
    np.random.seed(3)
    drawn = [rows(GridSample(1.0)), rows(GridSample(1.0))]
    np.random.seed(3)
    assert np.array_equal(rows(GridSample(1.0)), drawn[0]) and (drawn[0] != drawn[1]).any()


def test_labelled_points_stay():
    data = scene() | {"sampled_index": np.array([5, 17, 1999])}
    labels = data["segment"][[5, 17, 1999]]
    sampled = GridSample(1.0, seed=0)(data)
    assert {5, 17, 1999} <= set(sampled["color"]) and np.array_equal(sampled["segment"][sampled["sampled_index"]], labels)
    assert np.array_equal(sampled["color"][sampled["sampled_index"]], [5, 17, 1999])


def test_testing():
    data = scene()
    cells, _, inverse = cells_of(data["coord"], 0.7)
    counts = np.bincount(inverse)
    members = [np.flatnonzero(inverse == cell) for cell in range(len(counts))]
    before = {key: data[key] for key in data}
    parts = GridSample(0.7, mode="test", return_grid_coord=True, return_inverse=True, return_min_coord=True)(data)
    assert len(parts) == counts.max() > 3
    for i, part in enumerate(parts):
        want = np.array([rows[i % len(rows)] for rows in members])
        assert np.array_equal(part["index"], want) and np.array_equal(part["coord"], data["coord"][want])
        assert np.array_equal(part["grid_coord"], cells[want]) and np.array_equal(part["inverse"], inverse)
        assert part["name"] == "scene" and part["min_coord"].shape == (1, 3)
    assert np.array_equal(np.unique(np.concatenate([part["index"] for part in parts])), np.arange(2000))
    assert all(data[key] is before[key] for key in before) and "grid_coord" not in data


def test_keys():
    data = scene() | {"strength": np.arange(2000.0), "extra": np.arange(2000)}
    sampled = GridSample(1.0, keys=("coord", "extra"), seed=0, return_grid_coord=True)(dict(data))
    assert len(sampled["extra"]) == len(sampled["coord"]) == len(sampled["grid_coord"]) < 2000
    assert len(sampled["strength"]) == 2000 and "index_valid_keys" not in sampled
    own = GridSample(1.0, seed=0)(dict(data) | {"index_valid_keys": ["coord", "extra"]})
    assert np.array_equal(own["extra"], sampled["extra"]) and len(own["strength"]) == 2000


def test_nothing_is_no_error():
    none = {"coord": np.zeros((0, 3), np.float32)}
    assert GridSample(0.5, return_grid_coord=True)(dict(none))["grid_coord"].shape == (0, 3)
    assert GridSample(0.5, mode="test")(dict(none)) == []
    point = {"grid_coord": torch.zeros((0, 3), dtype=torch.int32), "offset": torch.zeros(0, dtype=torch.int64)}
    serialization(point, ORDERS)
    assert point["serialized_order"].shape == (4, 0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: GridSample(mode="val"), 'mode: expected "train" or "test", got \'val\''),
        (lambda: GridSample()({}), "coord: expected a dict with coord, got one with nothing"),
        (lambda: GridSample()({"coord": np.zeros((3, 2))}), r"coord: expected an array of shape \[N, 3\], got shape \[3, 2\]"),
        (lambda: GridSample(0)({"coord": np.zeros((3, 3))}), "grid_size: expected one or 3 finite numbers above 0, got 0"),
        (lambda: GridSample([1, 2])({"coord": np.zeros((3, 3))}), "grid_size: expected one or 3 finite numbers"),
        (lambda: GridSample()({"coord": np.float32([[0, 0, 0], [0, np.nan, 0]])}), r"coord: expected finite .* in row 1"),
        (lambda: GridSample()({"coord": np.float64([[0, 0, 0], [-np.inf, 0, 0], [np.inf, 0, 0]])}), r"coord: expected finite .* in row 1"),
        (lambda: GridSample(0.01)({"coord": np.float64([[0, 0, 0], [30_000, 0, 0]])}), "grid_size: expected at most 2097152 cells"),
        (lambda: GridSample(return_displacement=True, project_displacement=True)({"coord": np.zeros((1, 3))}), "normal: expected"),
        (lambda: serialization({"coord": torch.zeros(1, 3)}), "grid_size: expected a dict with grid_coord, or coord and grid_size"),
        (lambda: serialization({"grid_coord": torch.zeros(1, 3).int()}), "offset: expected a dict with batch or offset"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ValueError, match=f"^{text}"):
        call()


def test_many_cells_of_an_axis():
    """All cells that are not refused are told apart."""
    most = pointcept._MOST_CELLS
    coord = np.array([[0.5, 0.5, 0.5], [most - 0.5] * 3, [most - 1.5, most - 0.5, most - 0.5]])
    sampled = GridSample(1.0, return_grid_coord=True, return_inverse=True, seed=0)({"coord": coord})
    assert sampled["inverse"].tolist() == [0, 1, 2]
    assert sampled["grid_coord"].tolist() == np.floor(coord).astype(int).tolist()


@pytest.mark.parametrize("far", [0.0, 5.4e6, 1e16])
@pytest.mark.parametrize("number", [1, 2, 3, 500])
def test_cells_are_those_of_numpy(far, number):
    """On the faces of cells, below zero, far away, and of arrays that do not lie row after row."""
    coord = np.random.default_rng(number).uniform(-40, 40, (number, 3)).round(1) + far
    coord[0] = -0.0 if far == 0 else far
    size = [0.1, 0.7, 2.0]
    cells, low, inverse = cells_of(coord, size)
    flags = {"return_grid_coord": True, "return_inverse": True, "return_min_coord": True, "seed": 1}
    for given in (coord, np.asfortranarray(coord), np.repeat(coord, 2, 0)[::2]):
        sampled = GridSample(size, **flags)({"coord": given, "color": np.arange(number)})
        assert np.array_equal(sampled["grid_coord"], cells[sampled["color"]]) and np.array_equal(sampled["inverse"], inverse)
        assert np.array_equal(sampled["min_coord"], (low * np.array(size)).reshape(1, 3))
    whole = coord.astype(np.int64)
    assert np.array_equal(GridSample(size, **flags)({"coord": whole})["inverse"], cells_of(whole, size)[2])


@pytest.mark.parametrize("mode", ["train", "test"])
def test_rows_of_frames_follow_the_points(mode):
    coord = scene(300, 4)["coord"]
    data = {"coord": coord, "color": np.arange(300), "frame_pcd_offset": np.array([90, 90, 300]), "index_valid_keys": ["coord", "color"]}
    sampled = GridSample(1.0, mode=mode, seed=1)(data)
    for part in [sampled] if mode == "train" else sampled:
        frames = part["frame_pcd_offset"]
        assert list(frames) == [0, 1, 2] and len(frames[1]) == 0 and sum(map(len, frames.values())) == len(part["coord"])
        assert (part["color"][frames[0]] < 90).all() and (part["color"][frames[2]] >= 90).all()
        again = GridSample(2.0, seed=1)({**part, "index_valid_keys": ["coord", "color"]})
        assert (again["color"][again["frame_pcd_offset"][0]] < 90).all()
    assert repr(GridSample(1.0)).startswith("GridSample(grid_size=1.0, hash_type='fnv', mode='train'")
