"""RoI-aware pooling and points in boxes against the repository's fixtures, for every library of arrays."""

import pickle

import numpy as np
import pytest
from conftest import assert_bits, fixture_files, to_numpy, torch_or_none

import pointmill

TYPES = ["float32", "float16", "bfloat16"]


def array(values, kind, library):
    """Values of a fixture as an array of a library; skips what the library has no type for."""
    name = TYPES[int(kind)]
    if name == "bfloat16":
        torch = torch_or_none()
        if torch is None or not isinstance(library(np.zeros(1, np.float32)), torch.Tensor):
            pytest.skip("only torch has bfloat16")
        return torch.from_numpy(np.ascontiguousarray(values).view(np.int16)).view(torch.bfloat16)
    return library(values.view(name))


def params(case):
    return dict(
        origin=["bottom", "center"][int(case["origin"][0])],
        margin=float(case["margin"][0]),
    )


def dense_only(case):
    if "box_splits" in case:
        pytest.skip("batches are pooled by one call a sample")


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_pooling(file, library):
    case = dict(np.load(file))
    dense_only(case)
    arrays = (
        array(case["boxes"], case["geometry_type"][0], library),
        array(case["points"], case["geometry_type"][0], library),
        array(case["features"], case["feature_type"][0], library),
    )
    more = dict(out_size=case["out_size"], max_pts_per_voxel=int(case["max_points"][0]) - 1, **params(case))
    get = lambda result: to_numpy(result, arrays[2])
    voxels = int(np.prod(case["out_size"].astype(np.int64)))
    boxes, channels = len(case["boxes"]), case["features"].shape[1]
    for mode in ("max", "mean"):
        sparse = pointmill.roi_aware_pool3d(*arrays, mode=mode, layout="sparse", **more)
        assert_bits(get(sparse.coords), case["coords"], "coords")
        assert_bits(get(sparse.pooled), case[f"sparse_{mode}"], f"sparse {mode}")
        assert_bits(get(sparse.row_splits), case["sparse_row_splits"], "sparse row_splits")
        assert_bits(get(sparse.indices), case["indices"], "sparse indices")
        if mode == "max":
            assert_bits(get(sparse.argmax), case["sparse_argmax"], "sparse argmax")
        if "row_splits" not in case:
            continue
        csr = pointmill.roi_aware_pool3d(*arrays, mode=mode, layout="csr", **more)
        assert_bits(get(csr.row_splits), case["row_splits"], "row_splits")
        assert_bits(get(csr.indices), case["indices"], "indices")
        dense = pointmill.roi_aware_pool3d(*arrays, mode=mode, lists="point_indices" in case, **more)
        shape = (boxes, *case["out_size"].tolist(), channels)
        assert get(dense.pooled).shape == get(csr.pooled).shape == shape
        flat = get(dense.pooled).reshape(boxes * voxels, channels)
        at = case["coords"].astype(np.int64)
        ox, oy, oz = case["out_size"].astype(np.int64)
        rows = ((at[:, 0] * ox + at[:, 1]) * oy + at[:, 2]) * oz + at[:, 3]
        assert_bits(flat[rows], case[f"sparse_{mode}"], f"dense {mode}")
        assert not np.delete(flat, rows, 0).view(np.uint8).any(), "empty voxels"
        assert_bits(get(csr.pooled), get(dense.pooled), "csr pooled")
        assert (dense.argmax is None) == (mode == "mean")
        if "point_indices" in case:
            assert_bits(get(dense.point_indices), case["point_indices"], "point_indices")


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_gradients(file, library):
    """The gradient that a result makes, without torch too; while its boxes and points are located still, and after others were."""
    case = dict(np.load(file))
    dense_only(case)
    if "grad_pooled" not in case or case["geometry_type"][0] or case["feature_type"][0]:
        pytest.skip("no gradient of single precision in it")
    shape = (len(case["boxes"]), *case["out_size"].astype(np.int64).tolist(), case["features"].shape[1])
    if np.prod(shape) > 1 << 24:
        pytest.skip("too large when dense")
    rois, pts, features = (library(case[name]) for name in ("boxes", "points", "features"))
    grad = np.zeros(shape, np.float32)
    grad[tuple(case["coords"].T.astype(np.int64))] = case["grad_pooled"]
    grad = library(grad)
    more = dict(out_size=case["out_size"], max_pts_per_voxel=int(case["max_points"][0]) - 1, lists=False, **params(case))
    for mode in ("max", "mean"):
        result = pointmill.roi_aware_pool3d(rois, pts, features, mode=mode, for_gradient=True, **more)
        for _ in range(2):
            got = to_numpy(result.gradient(rois, pts, result.argmax, grad), features)
            assert_bits(got, case[f"grad_{mode}"], mode)
            elsewhere = library(case["points"][::-1].copy() + np.float32(0.5))
            pointmill.roi_aware_pool3d(rois, elsewhere, features, mode=mode, **more)


def test_gradients_are_of_their_pooling():
    rois = np.array([[0, 0, 0, 4, 2, 2, 0]], np.float32)
    pts, features = np.array([[1.5, 0.5, 0.5]], np.float32), np.ones((1, 2), np.float32)
    pool = lambda **more: pointmill.roi_aware_pool3d(rois, pts, features, out_size=2, **more)
    assert pool().gradient is None
    for layout in ("csr", "sparse"):
        with pytest.raises(ValueError, match=f'layout: expected "dense", where a gradient is asked for, got "{layout}"'):
            pool(layout=layout, for_gradient=True)
    result = pool(for_gradient=True)
    grad = np.ones((1, 2, 2, 2, 2), np.float32)
    assert result.gradient(rois, pts, result.argmax, grad).tolist() == [[1.0, 1.0]]
    with pytest.raises(ValueError, match=r"grad: expected an array of shape \[1, 2, 2, 2, C\], got shape \[1, 8, 2\]"):
        result.gradient(rois, pts, result.argmax, grad.reshape(1, 8, 2))
    with pytest.raises(TypeError, match="argmax: expected that of the pooling, for maxima, got None"):
        result.gradient(rois, pts, None, grad)
    with pytest.raises(TypeError, match="argmax: expected values of type int32, got float32"):
        result.gradient(rois, pts, grad, grad)
    pointmill.clear_cache()
    with pytest.raises(ValueError, match=r"pts: expected an array of shape \[1, 3\], got shape \[2, 3\]"):
        result.gradient(rois, np.concatenate([pts, pts]), result.argmax, grad)
    assert result.gradient(rois, pts, result.argmax, grad).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_points_in_boxes(file, library):
    case = dict(np.load(file))
    dense_only(case)
    kind = case["geometry_type"][0]
    points, boxes = array(case["points"], kind, library), array(case["boxes"], kind, library)
    get = lambda result: to_numpy(result, points)
    more = params(case)
    assert_bits(get(pointmill.points_in_boxes_part(points, boxes, **more)), case["part"], "part")
    assert_bits(get(pointmill.points_in_boxes_count(points, boxes, **more)), case["count"], "count")
    splits, indices = pointmill.points_in_boxes_all(points, boxes, **more)
    assert_bits(get(splits), case["all_splits"], "all splits")
    assert_bits(get(indices), case["all_boxes"], "all boxes")
    splits, indices = pointmill.points_in_boxes_crop(points, boxes, **more)
    assert_bits(get(splits), case["crop_splits"], "crop splits")
    assert_bits(get(indices), case["crop_indices"], "crop indices")
    words = get(pointmill.points_in_boxes_all(points, boxes, layout="bits", **more))
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    assert_bits(bits[:, : len(case["boxes"])], case["all"], "all")


def test_results_are_the_callers(library):
    rng = np.random.default_rng(3)
    pts = rng.uniform(-3, 3, (400, 3)).astype(np.float32)
    features = [rng.normal(size=(400, 4)).astype(np.float32) for _ in range(20)]
    rois = np.array([[0, 0, -2, 4, 3, 3, 0.3], [1, 1, -1, 2, 2, 2, -1.0]], np.float32)
    pool = lambda make, f: pointmill.roi_aware_pool3d(make(rois), make(pts), make(f), out_size=4)
    results = [pool(library, f) for f in features]
    for f, result in zip(features, results):
        assert_bits(to_numpy(result.pooled), pool(np.asarray, f).pooled)
        assert_bits(to_numpy(result.point_indices), pool(np.asarray, f).point_indices)


def test_scenes_of_maps_are_relative_to_an_origin():
    rng = np.random.default_rng(7)
    origin = np.array([515_000.0, 4_918_000.0, -1000.0])
    points = np.round(rng.uniform([300, 340, 998], [312, 352, 1002], (2000, 3)), 2) + origin
    boxes = np.zeros((3, 7))
    boxes[:, :3] = origin + [[304, 344, 998], [306, 345, 999], [309.5, 350, 998.5]]
    boxes[:, 3:] = [5, 3, 2, 0.3]
    shift = np.concatenate([origin, np.zeros(4)])
    near = lambda points, boxes: ((points - origin).astype(np.float32), (boxes - shift).astype(np.float32))
    near_points, near_boxes = near(points, boxes)
    features, grad = np.ones((2000, 2), np.float32), np.ones((3, 2, 2, 2, 2), np.float32)
    pool = lambda boxes, points, **more: pointmill.roi_aware_pool3d(
        boxes, points, features, out_size=2, for_gradient=True, **more
    )
    wanted = pool(near_boxes, near_points)
    assert (wanted.argmax >= 0).any()
    gradient = wanted.gradient(near_boxes, near_points, wanted.argmax, grad)
    torch = torch_or_none()
    for library in [np.asarray] + ([torch.from_numpy] if torch else []):
        for given in (origin, "auto"):
            scene = library(boxes), library(points)
            found = pool(*scene, local_origin=given)
            for name in ("pooled", "argmax", "point_indices"):
                assert_bits(np.asarray(getattr(found, name)), getattr(wanted, name), name)
            # Other work in between makes the gradient look for the points again, and so does a copy.
            pool(near_boxes, near_points + np.float32(1))
            for result in (found, pickle.loads(pickle.dumps(found))):
                assert_bits(np.asarray(result.gradient(*scene, result.argmax, library(grad))), gradient, "gradient")
            for name in ("part", "all", "count", "crop"):
                ask = getattr(pointmill, f"points_in_boxes_{name}")
                answers = ask(library(points), library(boxes), local_origin=given), ask(near_points, near_boxes)
                for got, want in zip(*(answer if isinstance(answer, tuple) else (answer,) for answer in answers)):
                    assert_bits(np.asarray(got), want, name)
            # Boxes of float32 are relative to the origin already.
            assert_bits(np.asarray(pool(library(near_boxes), scene[1], local_origin=given).pooled), wanted.pooled, "f32")
    with pytest.raises(ValueError, match="pts: expected coordinates that float32 holds to 1 mm, .*; pass local_origin='auto'"):
        pool(boxes, points)
    with pytest.raises(ValueError, match="local_origin: expected 3 numbers"):
        pool(boxes, points, local_origin=[1, 2])
    for bad in ([np.nan, 0, 0], [0, np.inf, 0]):
        with pytest.raises(ValueError, match="local_origin: expected three finite numbers, got"):
            pool(boxes, points, local_origin=bad)
    with pytest.raises(ValueError, match="pts: expected 3 or more columns"):
        pool(boxes, points[:, :2].copy(), local_origin="auto")
