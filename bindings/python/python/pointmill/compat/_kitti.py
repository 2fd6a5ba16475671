"""KITTI's evaluation by the names of ``kitti_object_eval_python`` and ``rotate_iou``, of which OpenPCDet and mmdet3d have copies.

An annotation is a dict of a frame: ``name``, ``bbox`` ``[N, 4]``, ``dimensions`` ``[N, 3]`` (length, height, width), ``location`` ``[N, 3]`` and ``rotation_y`` in the
camera's frame, ``alpha``; of the truth ``truncated`` and ``occluded``, of detections ``score``. Figures are those of the copies, in percent, and an object has one
recall at most as there. Different on purpose: equal boxes overlap by 1, where rounding gives the copies 0 for some; names of classes ignore case; a box that is no
number overlaps nothing; neither numba nor a GPU is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _pointmill

Annotations = Sequence[dict[str, Any]]

CLASSES = ("Car", "Pedestrian", "Cyclist", "Van", "Person_sitting", "Truck")
METRICS = ("bbox", "bev", "3d")
# The least overlaps of a match of each class: KITTI's, then looser ones, which are KITTI's in the image.
_STRICT = [0.7, 0.5, 0.5, 0.7, 0.5, 0.7]
_LOOSE = [0.5, 0.25, 0.25, 0.5, 0.25, 0.5]
OVERLAPS = np.array([[_STRICT] * 3, [[0.7, 0.5, 0.5, 0.7, 0.5, 0.5], _LOOSE, _LOOSE]])


def _rows(boxes: np.ndarray, name: str, columns: int) -> np.ndarray:
    boxes = np.asarray(boxes, np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != columns:
        raise ValueError(f"{name}: expected an array of shape [N, {columns}], got shape {list(boxes.shape)}")
    return boxes


def _measure(shared: np.ndarray, a: np.ndarray, b: np.ndarray, criterion: int) -> np.ndarray:
    """What is shared, as a part of the union (-1), of the first (0), of the second (1), or itself."""
    whole = {-1: a + b - shared, 0: a + 0 * b, 1: b + 0 * a}.get(criterion)
    if whole is not None:
        shared = np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)
    return shared.astype(np.float32)


def _shared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The area that rectangles x, y, length, width, angle share; the angle turns clockwise."""

    def of(flat: np.ndarray) -> np.ndarray:
        rows = np.ones((len(flat), 7))
        rows[:, [0, 1, 3, 4]], rows[:, 6] = flat[:, :4], -flat[:, 4]
        return rows

    overlap = _pointmill.iou(of(a), of(b))
    areas = (a[:, 2] * a[:, 3])[:, None] + b[:, 2] * b[:, 3]
    return np.where(overlap > 0, overlap / (1 + overlap) * areas, 0)


def rotate_iou_gpu_eval(
    boxes: np.ndarray, query_boxes: np.ndarray, criterion: int = -1, device_id: int = 0
) -> np.ndarray:
    """Measure the overlap of rectangles x, y, length, width, angle, which turns clockwise: ``[N, 5]``, ``[K, 5]`` to float32 ``[N, K]``.

    `criterion` -1 is the overlap as a part of the union, 0 of the query box, 1 of the box, 2 the area. `device_id` has no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import rotate_iou_gpu_eval
    >>> box = np.array([[10.0, 5, 4, 2, 0.3]])
    >>> rotate_iou_gpu_eval(box, box).tolist(), rotate_iou_gpu_eval(box, box, 2).tolist()
    ([[1.0]], [[8.0]])
    """
    a, b = _rows(boxes, "boxes", 5), _rows(query_boxes, "query_boxes", 5)
    areas = [each[:, 2] * each[:, 3] for each in (a, b)]
    return _measure(_shared(a, b), areas[0][:, None], areas[1], {0: 1, 1: 0}.get(criterion, criterion))


def d3_box_overlap(boxes: np.ndarray, qboxes: np.ndarray, criterion: int = -1) -> np.ndarray:
    """Measure the overlap of volumes in the camera's frame, x, y, z, length, height, width, rotation: ``[N, 7]``, ``[K, 7]`` to float32 ``[N, K]``.

    y is the bottom and points down. `criterion` -1 is the overlap as a part of the union, 0 of the box, 1 of the query box, 2 the volume.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import d3_box_overlap
    >>> box = np.array([[1.0, 1.5, 20, 4, 1.5, 2, 0.3]])
    >>> d3_box_overlap(box, box - [0, 0.75, 0, 0, 0, 0, 0]).round(3).tolist()
    [[0.3330000042915344]]
    """
    a, b = _rows(boxes, "boxes", 7), _rows(qboxes, "qboxes", 7)
    flat = [0, 2, 3, 5, 6]
    tops = np.maximum((a[:, 1] - a[:, 4])[:, None], b[:, 1] - b[:, 4])
    heights = np.minimum(a[:, 1][:, None], b[:, 1]) - tops
    shared = _shared(a[:, flat], b[:, flat]) * np.where(heights > 0, heights, 0)
    return _measure(shared, a[:, 3:6].prod(1)[:, None], b[:, 3:6].prod(1), criterion)


def _columns(annos: Annotations, name: str, own: Sequence[str], in_space: bool) -> dict[str, Any]:
    """The boxes of all frames as columns."""
    wide = {"bbox": 4, "alpha": 1, **dict.fromkeys(own, 1)}
    if in_space:
        wide |= {"dimensions": 3, "location": 3, "rotation_y": 1}
    parts: dict[str, list[np.ndarray]] = {key: [np.zeros((0, columns))] for key, columns in wide.items()}
    names: list[str] = []
    numbers: list[int] = []
    for i, anno in enumerate(annos):
        count = len(anno["name"])
        names += map(str, anno["name"])
        numbers += [i] * count
        for key, columns in wide.items():
            if key not in anno:
                raise ValueError(f"{name}[{i}]: expected the key {key!r}, got {', '.join(map(str, anno))}")
            values = np.asarray(anno[key], np.float64)
            if values.size != count * columns:
                expected = f"{count} rows of {columns}, as 'name' has rows"
                raise ValueError(f"{name}[{i}][{key!r}]: expected {expected}, got shape {list(values.shape)}")
            parts[key].append(values.reshape(count, columns))
    of = {key: np.concatenate(values) for key, values in parts.items()}
    boxes = np.zeros((len(names), 7))
    if in_space:
        (length, height, width), (x, y, z) = of["dimensions"].T, of["location"].T
        boxes = np.stack([z, -x, height / 2 - y, length, width, height, -of["rotation_y"][:, 0] - np.pi / 2], 1)
        boxes[~(np.isfinite(boxes).all(1) & (boxes[:, 3:6] >= 0).all(1))] = 0
    out: dict[str, Any] = {"frames": [f"{i:09}" for i in numbers], "classes": names, "boxes": boxes, "image_boxes": of["bbox"]}
    theirs = {"alpha": "alpha", "truncated": "truncation", "occluded": "occlusion", "score": "scores"}
    return out | {theirs[key]: of[key][:, 0] for key in ("alpha", *own)}


def curves(
    gt_annos: Annotations,
    dt_annos: Annotations,
    classes: Sequence[int],
    min_overlaps: np.ndarray,
    metrics: Sequence[int] = (0, 1, 2),
) -> np.ndarray:
    """Recall, precision and orientation at 41 recalls: ``[metrics, 3, classes, levels, overlaps, 41]``."""
    if len(gt_annos) != len(dt_annos):
        raise ValueError(f"dt_annos: expected {len(gt_annos)} frames, as gt_annos, got {len(dt_annos)}")
    min_overlaps = np.asarray(min_overlaps, np.float64)
    if min_overlaps.ndim != 3 or min_overlaps.shape[1:] != (3, len(classes)):
        expected = f"an array of shape [K, 3, {len(classes)}]"
        raise ValueError(f"min_overlaps: expected {expected}, got shape {list(min_overlaps.shape)}")
    in_space = any(metric > 0 for metric in metrics)
    truth = _columns(gt_annos, "gt_annos", ("truncated", "occluded"), in_space)
    found = _columns(dt_annos, "dt_annos", ("score",), in_space)
    cases = [
        (CLASSES[index], METRICS[metric], float(least))
        for metric in metrics
        for i, index in enumerate(classes)
        for least in min_overlaps[:, metric, i]
    ]
    extension: Any = _pointmill
    all_curves = extension._kitti_curves(found, truth, cases)
    shape = (len(metrics), len(classes), len(min_overlaps), 3, 3, all_curves.shape[-1])
    return all_curves.reshape(shape).transpose(0, 4, 1, 3, 2, 5)


def eval_class(
    gt_annos: Annotations,
    dt_annos: Annotations,
    current_classes: Sequence[int],
    difficultys: Sequence[int],
    metric: int,
    min_overlaps: np.ndarray,
    compute_aos: bool = False,
    num_parts: int = 50,
) -> dict[str, np.ndarray]:
    """Return ``recall``, ``precision`` and ``orientation``, ``[classes, levels, overlaps, 41]``, of a metric: 0 for the image, 1 from above, 2 of volumes.

    `min_overlaps` is ``[overlaps, 3, classes]``; `num_parts` has no effect.
    """
    found = curves(gt_annos, dt_annos, current_classes, min_overlaps, [metric])[0][:, :, list(difficultys)]
    return {"recall": found[0], "precision": found[1], "orientation": found[2] if compute_aos else 0 * found[2]}
