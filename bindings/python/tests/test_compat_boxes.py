"""Overlaps and suppression by the names and conventions of other packages, and the operators of pointmill.torch."""

import importlib
import sys
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pointmill.torch as pt
from pointmill import boxes
from pointmill.compat import centerpoint, mmcv, mmdet3d, pcdet
from test_boxes import some
from test_compat_kitti import corners, shared

FOUND, SCORES = some(60)
OTHERS = some(20, 9)[0]
A, B, S = torch.from_numpy(FOUND), torch.from_numpy(OTHERS), torch.from_numpy(SCORES)
FLAT, FLAT_B = A[:, [0, 1, 3, 4, 6]], B[:, [0, 1, 3, 4, 6]]


def straight(found):
    return np.concatenate([found[:, :6], np.zeros((len(found), 1), np.float32)], 1)


def test_overlaps():
    bev, volume = boxes.iou(FOUND, OTHERS), boxes.iou(FOUND, OTHERS, kind="volume", origin="center")
    assert np.array_equal(mmcv.box_iou_rotated(FLAT, FLAT_B), bev)
    assert np.array_equal(pcdet.boxes_iou_bev(A, B), bev) and np.array_equal(pcdet.boxes_bev_iou_cpu(FOUND, OTHERS), bev)
    assert np.array_equal(mmcv.boxes_iou3d(A, B), volume) and np.array_equal(pcdet.boxes_iou3d_gpu(A, B), volume)
    aligned = pcdet.boxes_aligned_iou3d_gpu(A[:20], B)
    assert aligned.shape == (20, 1) and np.array_equal(aligned[:, 0], volume[:20].diagonal())
    assert torch.equal(pcdet.paired_boxes_iou3d_gpu(A[:20], B), aligned[:, 0])
    turned = FLAT * torch.tensor([1, 1, 1, 1, -1]), FLAT_B * torch.tensor([1, 1, 1, 1, -1])
    assert np.array_equal(mmcv.box_iou_rotated(*turned, clockwise=False), bev)
    areas, others = FOUND[:, 3] * FOUND[:, 4], OTHERS[:, 3] * OTHERS[:, 4]
    shared = mmcv.boxes_overlap_bev(A, B).numpy()
    assert np.allclose(shared / (areas[:, None] + others - shared), bev, atol=1e-5)
    assert np.allclose(mmcv.box_iou_rotated(FLAT, FLAT_B, "iof"), shared / areas[:, None], atol=1e-6)
    assert np.allclose(mmcv.box_iou_rotated(FLAT[:20], FLAT_B, "iof", True), (shared / areas[:, None]).diagonal(), atol=1e-6)


def test_pairs_are_those_of_their_definition():
    """The volume of the same row, by cutting one rectangle with the edges of the other; equal, apart and touching ones too."""
    rng = np.random.default_rng(5)
    a = np.concatenate([rng.uniform(-1, 1, (300, 3)), rng.uniform(0.5, 4, (300, 3)), rng.uniform(-4, 4, (300, 1))], 1)
    b = np.concatenate([rng.uniform(-1, 1, (300, 3)), rng.uniform(0.5, 4, (300, 3)), rng.uniform(-4, 4, (300, 1))], 1)
    b[:20], b[20:40, 0], b[40:60, 2] = a[:20], 50, a[40:60, 2] + (a[40:60, 5] + b[40:60, 5]) / 2 + 0.01
    want = []
    for one, other in zip(a, b):
        flat = shared(*(corners(x, y, length, width, -yaw) for x, y, _, length, width, _, yaw in (one, other)))
        high = max(0, min(one[2] + one[5] / 2, other[2] + other[5] / 2) - max(one[2] - one[5] / 2, other[2] - other[5] / 2))
        want.append(flat * high / (one[3:6].prod() + other[3:6].prod() - flat * high))
    have = pcdet.paired_boxes_iou3d_gpu(torch.from_numpy(a), torch.from_numpy(b))
    assert have.shape == (300,) and have.dtype == torch.float32 and np.abs(have.numpy() - want).max() < 1e-6
    assert (have[:20] == 1).all() and (have[20:60] == 0).all() and 100 < (have > 0).sum() < 260
    assert pcdet.paired_boxes_iou3d_gpu(A[:0], A[:0]).shape == (0,)
    with pytest.raises(ValueError, match="300.*299|299.*300"):
        pcdet.paired_boxes_iou3d_gpu(torch.from_numpy(a), torch.from_numpy(b[1:]))


def test_suppression():
    want, flat = boxes.nms(FOUND, SCORES, 0.2), boxes.nms(straight(FOUND), SCORES, 0.2)
    assert len(want) < 60 and want.tolist() != flat.tolist()
    dets, rows = mmcv.nms_rotated(FLAT, S, 0.2)
    assert np.array_equal(rows, want) and rows.dtype == torch.int64
    assert torch.equal(dets, torch.cat([FLAT[rows], S[rows, None]], 1))
    labels = torch.arange(60) % 3
    assert np.array_equal(mmcv.nms_rotated(FLAT, S, 0.2, labels)[1], boxes.nms(FOUND, SCORES, 0.2, class_ids=labels.numpy()))
    assert mmcv.nms_rotated(FLAT[:0], S[:0], 0.2)[1] is None
    assert np.array_equal(mmcv.nms3d(A, S, 0.2), want) and np.array_equal(mmcv.nms3d_normal(A, S, 0.2), flat)
    keep, nothing = pcdet.nms_gpu(A, S, 0.2, pre_maxsize=30, post_maxsize=5)
    assert np.array_equal(keep, boxes.nms(FOUND, SCORES, 0.2, pre_max=30)) and nothing is None
    assert np.array_equal(pcdet.nms_normal_gpu(A, S, 0.2)[0], flat)
    corners = torch.cat([FLAT[:, :2] - FLAT[:, 2:4] / 2, FLAT[:, :2] + FLAT[:, 2:4] / 2, FLAT[:, 4:]], 1)
    assert np.array_equal(mmcv.nms_bev(corners, S, 0.2, post_max_size=4), want[:4])
    assert np.array_equal(mmcv.nms_normal_bev(corners, S, 0.2), flat)


@pytest.mark.parametrize("offset", [0, 1])
def test_upright_rectangles(offset):
    # Halves, so that overlaps are exact and many are equal to the threshold.
    random = np.random.default_rng(offset)
    low = random.integers(0, 12, (80, 2)) / 2
    rectangles = np.concatenate([low, low + random.integers(1, 8, (80, 2)) / 2], 1).astype(np.float32)
    scores = (random.integers(0, 20, 80) / 20).astype(np.float32)

    def overlap(a, b):
        shared = np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + offset, 0, None).prod()
        return shared / (sum((x[2:] - x[:2] + offset).prod() for x in (a, b)) - shared)

    for least, most in ((0, -1), (0.4, -1), (0.4, 3)):
        want = []
        for row in np.argsort(-scores, kind="stable"):
            if (least == 0 or scores[row] > np.float32(least)) and all(overlap(rectangles[row], rectangles[k]) <= 0.25 for k in want):
                want.append(int(row))
        want = want[:most] if most > 0 else want
        dets, rows = mmcv.nms(torch.from_numpy(rectangles), torch.from_numpy(scores), 0.25, offset, least, most)
        assert rows.tolist() == want and rows.dtype == torch.int64
        assert np.array_equal(dets, np.column_stack([rectangles[want], scores[want]]))
        of_numpy = mmcv.nms(rectangles, scores, 0.25, offset, least, most)
        assert all(isinstance(one, np.ndarray) for one in of_numpy)
        assert np.array_equal(of_numpy[0], dets) and np.array_equal(of_numpy[1], rows)
    none = mmcv.nms(torch.zeros(0, 4), torch.zeros(0), iou_thr=0.5)
    assert none[0].shape == (0, 5) and none[1].shape == (0,)
    for bad, name in (({}, "iou_threshold"), ({"iou_threshold": 0.5, "offset": 2}, "offset")):
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            mmcv.nms(torch.zeros(1, 4), torch.zeros(1), **bad)
    with pytest.raises(ValueError, match="^boxes: expected"):
        mmcv.nms(torch.zeros(1, 5), torch.zeros(1), 0.5)
    with pytest.raises(TypeError, match="^scores: expected a torch.Tensor"):
        mmcv.nms(torch.zeros(1, 4), [0.0], 0.5)


def test_circles_and_collisions():
    dets = np.column_stack([FOUND[:, :2], SCORES])
    want = []
    for row in np.argsort(-SCORES):
        if all(((dets[row, :2] - dets[k, :2]) ** 2).sum() > 2 for k in want):
            want.append(int(row))
    assert mmdet3d.circle_nms(dets, 2.0) == want and mmdet3d.circle_nms(dets, 2.0, 3) == want[:3]
    assert centerpoint.circle_nms(torch.from_numpy(dets), 2.0, 4).tolist() == want[:4]
    rows = centerpoint.circle_nms(dets, 2.0)
    assert isinstance(rows, np.ndarray) and rows.dtype == np.int64 and rows.tolist() == want
    assert centerpoint.circle_nms(dets.astype(np.float32), 2.0).tolist() == want
    assert centerpoint.circle_nms(dets[:0], 2.0).shape == (0,)
    # A distance of exactly the radius suppresses.
    line = np.array([[0.0, 0, 0.9], [2, 0, 0.8], [4, 0, 0.7], [4.001, 0, 0.6]])
    assert centerpoint.circle_nms(line, 4.0).tolist() == [0, 2]
    turn = np.stack([[np.cos(FOUND[:, 6]), np.sin(FOUND[:, 6])], [-np.sin(FOUND[:, 6]), np.cos(FOUND[:, 6])]]).transpose(2, 0, 1)
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2
    corners = signs * FOUND[:, None, 3:5] @ turn + FOUND[:, None, :2]
    for each in (corners, corners[:, ::-1]):
        assert np.array_equal(mmdet3d.box_collision_test(each, corners), boxes.iou(FOUND, FOUND) > 1e-6)


def test_patches(monkeypatch):
    def fake(path, **names):
        module = types.ModuleType(path)
        module.__path__ = []
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, path, module)
        return module

    def theirs():
        raise AssertionError

    # What `patch` puts there stays out of other tests.
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    fake("mmcv")
    ops = fake("mmcv.ops", nms_rotated=theirs, other=theirs)
    head = fake("mmdet3d", nms_rotated=theirs, circle_nms=theirs, box_collision_test=theirs)
    elsewhere = fake("elsewhere", nms_rotated=theirs)
    assert mmdet3d.patch() == ["mmcv.ops.nms_rotated", "mmdet3d.nms_rotated", "mmdet3d.circle_nms"]
    assert ops.nms_rotated is head.nms_rotated is mmcv.nms_rotated and head.circle_nms is mmdet3d.circle_nms
    assert ops.other is head.box_collision_test is elsewhere.nms_rotated is theirs
    assert mmdet3d.patch() == []
    assert "mmcv._ext" not in sys.modules, "a placeholder that nobody imported"

    for path in ("pcdet", "pcdet.ops", "pcdet.ops.iou3d_nms", "pcdet.ops.roiaware_pool3d"):
        fake(path)
    utils = fake("pcdet.ops.iou3d_nms.iou3d_nms_utils", nms_gpu=theirs)
    missing = "pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils"
    monkeypatch.setitem(sys.modules, missing, None)
    assert pcdet.patch() == [missing, "pcdet.ops.iou3d_nms.iou3d_nms_utils.nms_gpu"]
    assert utils.nms_gpu is pcdet.nms_gpu and sys.modules[missing] is pcdet and pcdet.patch() == []


def test_operators():
    ops = torch.ops.pointmill
    assert np.array_equal(pt.boxes_iou(A, B, kind="giou"), boxes.iou(FOUND, OTHERS, kind="giou"))
    assert np.array_equal(pt.nms(A, S, 0.2), boxes.nms(FOUND, SCORES, 0.2))
    assert pt.nms(A, S, 0.2, row_splits=[0, 30, 60])[1].shape == (3,)
    for aligned in (False, True):
        torch.library.opcheck(ops.boxes_iou, (A[:20], B, "volume", aligned, "bottom"))
    ids = torch.arange(60) % 2
    for padded in (False, True):
        torch.library.opcheck(ops.nms, (A, S, 0.2, "bev", ids, None, None, 30, None, "bottom", padded))
        torch.library.opcheck(ops.nms, (A, S, 0.2, "bev", None, [0, 20, 60], 0.1, None, 7, "bottom", padded))


def test_operators_where_torch_traces():
    def call(a, s):
        return pt.boxes_iou(a, B), *pt.nms(a, s, 0.2, padded=True)

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    assert all(map(torch.equal, compiled(A, S), call(A, S)))
    each = torch.func.vmap(lambda a: pt.boxes_iou(a, B))(torch.stack([A, A + 1]))
    assert torch.equal(each[1], pt.boxes_iou(A + 1, B))
    with pytest.raises(ValueError, match="^boxes: expected a tensor that does not require grad"):
        pt.nms(A.clone().requires_grad_(), S)
    with pytest.raises(ValueError, match="^padded: expected True under torch.vmap"):
        torch.func.vmap(lambda a: pt.nms(a, S))(torch.stack([A, A]))


@pytest.mark.parametrize("bad", [2e7, 1e30, float("inf"), float("nan"), -1.0])
def test_boxes_that_cannot_be_measured_overlap_nothing(bad):
    flat = torch.tensor([[0, 0, bad, 2, 0.0], [9, 9, 4, 2, 0]])
    scores = torch.tensor([0.9, 0.5])
    assert mmcv.nms_rotated(flat, scores, 0.5)[1].tolist() == [1]
    assert mmcv.box_iou_rotated(flat, flat).tolist() == [[0, 0], [0, 1]]
    whole = torch.tensor([[0, 0, 0, bad, 2, 2, 0.0], [9, 9, 0, 4, 2, 2, 0]])
    assert pcdet.nms_gpu(whole, scores, 0.5)[0].tolist() == [1]
    assert mmcv.boxes_iou3d(whole, whole).tolist() == [[0, 0], [0, 1]]
    assert mmcv.boxes_overlap_bev(whole, whole).tolist() == [[0, 0], [0, 8]]


def test_packages_without_compiled_operators_can_be_imported(monkeypatch, tmp_path):
    """As mmcv-lite and OpenPCDet without a compiler: names that pointmill has not raise when they are called."""

    def write(path, text=""):
        path = tmp_path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("mmcv/__init__.py")
    write("mmdet3d/__init__.py")
    write("mmdet3d/models/__init__.py", "from mmcv.ops import DeformConv2d, nms_rotated\nfrom mmcv.ops.nms import batched_nms\nimport mmcv._ext")
    write("mmdet3d/models/layers/__init__.py")
    write("mmdet3d/models/layers/box3d_nms.py", "from mmcv.ops import nms_rotated")
    write("mmdet3d/models/data_preprocessors/__init__.py")
    write("mmdet3d/models/data_preprocessors/voxelize.py", "assert False, 'a version'")
    write("pcdet/__init__.py")
    write("pcdet/ops/__init__.py")
    write("pcdet/ops/pointnet2/__init__.py", "from . import pointnet2_batch_cuda as cuda")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    known = set(sys.modules)
    try:
        with pytest.warns(UserWarning, match="voxelize cannot be imported, and is left as it is: a version"):
            assert "mmcv.ops" in mmdet3d.patch()
        models = sys.modules["mmdet3d.models"]
        assert models.nms_rotated is mmcv.nms_rotated and sys.modules["mmdet3d.models.layers.box3d_nms"].nms_rotated is mmcv.nms_rotated
        for missing, name in ((models.DeformConv2d, "mmcv.ops.DeformConv2d"), (models.batched_nms, "mmcv.ops.nms.batched_nms"), (sys.modules["mmcv._ext"].nms, "mmcv._ext.nms")):
            with pytest.raises(NotImplementedError, match=name):
                missing(1)
        pcdet.patch()
        pointnet2 = importlib.import_module("pcdet.ops.pointnet2")

        with pytest.raises(NotImplementedError, match="pointnet2_batch_cuda.ball_query"):
            pointnet2.cuda.ball_query()
        with pytest.raises(ImportError):
            importlib.import_module("pcdet.ops.absent")
    finally:
        for name in set(sys.modules) - known:
            if name.partition(".")[0] in ("mmcv", "mmdet3d", "pcdet"):
                del sys.modules[name]


@pytest.mark.parametrize("eval_fails", [False, True])
def test_evaluation_of_kitti_is_replaced(monkeypatch, tmp_path, eval_fails):
    """Also where its modules fail as numba does without a GPU."""
    theirs = {
        "pcdet/datasets/kitti/kitti_object_eval_python": (pcdet, "get_official_eval_result"),
        "mmdet3d/evaluation/functional/kitti_utils": (mmdet3d, "kitti_eval"),
    }
    for folder, (_, name) in theirs.items():
        path = tmp_path / folder
        path.mkdir(parents=True)
        for parent in path.relative_to(tmp_path).parents:
            (tmp_path / parent / "__init__.py").touch()
        (path / "__init__.py").touch()
        (path / "rotate_iou.py").write_text("raise RuntimeError('no driver')")
        text = "raise TypeError('another numba')" if eval_fails else "from .rotate_iou import rotate_iou_gpu_eval"
        (path / "eval.py").write_text(f"{text}\ndef do_eval(): pass\ndef {name}(): pass\ndef d3_box_overlap(): pass")
    (tmp_path / "mmcv").mkdir()
    (tmp_path / "mmcv/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    known = set(sys.modules)
    try:
        for folder, (ours, name) in theirs.items():
            path = folder.replace("/", ".")
            done = ours.patch()
            module = importlib.import_module(f"{path}.eval")
            assert (module is ours) == eval_fails and sys.modules[f"{path}.rotate_iou"] is ours
            for one in (name, "do_eval", "d3_box_overlap", "rotate_iou_gpu_eval"):
                assert getattr(module, one) is getattr(ours, one), one
            assert f"{path}.rotate_iou" in done and (f"{path}.eval" if eval_fails else f"{path}.eval.{name}") in done
    finally:
        for name in set(sys.modules) - known:
            if name.partition(".")[0] in ("mmcv", "mmdet3d", "pcdet"):
                del sys.modules[name]
