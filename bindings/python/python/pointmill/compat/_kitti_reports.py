"""The figures and texts of KITTI's evaluation, as OpenPCDet and mmdet3d report them; see :mod:`pointmill.compat._kitti`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._kitti import CLASSES, METRICS, OVERLAPS, Annotations, curves

_LEVELS = ("easy", "moderate", "hard")
_ALL = (*METRICS, "aos")

Averages = tuple["np.ndarray | None", ...]


def _averages(found: dict[str, np.ndarray]) -> Averages:
    """Of 11 and of 40 recalls, in percent ``[classes, levels, overlaps]``: bbox, bev, 3d, aos; None for what was not asked for."""
    of = [found.get(metric) for metric in _ALL]
    eleven = [None if curve is None else 100 * curve[..., ::4].sum(-1) / 11 for curve in of]
    return (*eleven, *(None if curve is None else 100 * curve[..., 1:].sum(-1) / 40 for curve in of))


def _places(current_classes: Any, names: Sequence[str]) -> list[int]:
    """The places of classes, which are given by name or place, one or a list of them."""
    is_one = isinstance(current_classes, str) or np.ndim(current_classes) == 0 and not isinstance(current_classes, Iterable)
    places = []
    for one in [current_classes] if is_one else current_classes:
        place = names.index(one) if one in names else one
        if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
            raise ValueError(f"current_classes: expected some of {', '.join(names)}, or their places, got {one!r}")
        places.append(int(place))
    return places


def _line(metric: str, title: str, values: np.ndarray) -> str:
    """A line of a report: a metric at the three levels."""
    digits = 2 if metric == "aos" else 4
    return f"{metric:<4} {title}:" + ", ".join(f"{value:.{digits}f}" for value in values)


def _heading(name: str, title: str, least: np.ndarray) -> str:
    return f"{name} {title}@" + ", ".join(f"{value:.2f}" for value in least) + ":"


def do_eval(
    gt_annos: Annotations,
    dt_annos: Annotations,
    current_classes: Sequence[int],
    min_overlaps: np.ndarray,
    compute_aos: bool = False,
    PR_detail_dict: dict[str, Any] | None = None,
) -> Averages:
    """Return average precisions in percent, ``[classes, levels, overlaps]``: bbox, bev, 3d, aos of 11 recalls, then the same of 40; aos is None without `compute_aos`.

    `min_overlaps` is ``[overlaps, 3, classes]``. `PR_detail_dict` gets the curves.
    """
    found = curves(gt_annos, dt_annos, current_classes, min_overlaps)
    of = dict(zip(METRICS, found[:, 1])) | ({"aos": found[0, 2]} if compute_aos else {})
    if PR_detail_dict is not None:
        PR_detail_dict.update(of)
    return _averages(of)


def get_official_eval_result(
    gt_annos: Annotations,
    dt_annos: Annotations,
    current_classes: Any,
    PR_detail_dict: dict[str, Any] | None = None,
) -> tuple[str, dict[str, float]]:
    """Evaluate detections as KITTI does: a text, and its figures by names such as ``Car_3d_moderate_R40``.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import get_official_eval_result
    >>> names, boxes = np.repeat("Car", 50), np.tile([100.0, 100, 180, 170], (50, 1))
    >>> flat = {key: np.zeros(50) for key in ("truncated", "occluded", "alpha", "rotation_y")}
    >>> at = np.arange(150.0).reshape(50, 3) * 4
    >>> truth = flat | {"name": names, "bbox": boxes + at[:, :1] * 8, "location": at, "dimensions": np.tile([4, 1.5, 2], (50, 1))}
    >>> text, figures = get_official_eval_result([truth], [truth | {"score": np.linspace(0.1, 1, 50)}], ["Car"])
    >>> text.splitlines()[0], round(float(figures["Car_3d_moderate_R40"]), 4)
    ('Car AP@0.70, 0.70, 0.70:', 100.0)
    """
    places = _places(current_classes, CLASSES)
    least = OVERLAPS[:, :, places]
    aos = next((bool(anno["alpha"][0] != -10) for anno in dt_annos if len(anno["alpha"])), False)
    found = do_eval(gt_annos, dt_annos, places, least, aos, PR_detail_dict)
    lines: list[str] = []
    figures: dict[str, float] = {}
    for j, name in enumerate(CLASSES[place] for place in places):
        for i in range(len(least)):
            for title, ending, of in (("AP", "", found[:4]), ("AP_R40", "_R40", found[4:])):
                lines.append(_heading(name, title, least[i, :, j]))
                for metric, values in zip(_ALL, of):
                    if values is None:
                        continue
                    lines.append(_line(metric, "AP", values[j, :, i]))
                    if i == 0:
                        key = f"{name}_{'image' if metric == 'bbox' else metric}"
                        figures |= {f"{key}_{level}{ending}": value for level, value in zip(_LEVELS, values[j, :, 0])}
    return "".join(f"{one}\n" for one in lines), figures


def do_eval_of_types(
    gt_annos: Annotations,
    dt_annos: Annotations,
    current_classes: Sequence[int],
    min_overlaps: np.ndarray,
    eval_types: Sequence[str] = METRICS,
) -> Averages:
    """Return average precisions in percent, ``[classes, levels, overlaps]``: bbox, bev, 3d, aos of 11 recalls, then the same of 40; None for types that are not asked for.

    `min_overlaps` is ``[overlaps, 3, classes]``.
    """
    metrics = [i for i, metric in enumerate(METRICS) if metric in eval_types]
    found = curves(gt_annos, dt_annos, current_classes, min_overlaps, metrics)
    of = {METRICS[metric]: found[i, 1] for i, metric in enumerate(metrics)}
    if "aos" in eval_types and "bbox" in eval_types:
        of["aos"] = found[0, 2]
    return _averages(of)


def kitti_eval(
    gt_annos: Annotations,
    dt_annos: Annotations,
    current_classes: Any,
    eval_types: Sequence[str] = METRICS,
) -> tuple[str, dict[str, float]]:
    """Evaluate detections as KITTI does: a text, and its figures by names such as ``KITTI/Car_3D_AP40_moderate_strict``."""
    if not set(eval_types) & set(METRICS) or not set(eval_types) <= set(_ALL):
        raise ValueError(f"eval_types: expected some of {', '.join(METRICS)}, and aos, got {list(eval_types)}")
    if "aos" in eval_types and "bbox" not in eval_types:
        raise ValueError(f"eval_types: expected 'bbox' beside 'aos', got {list(eval_types)}")
    names = CLASSES[:5]
    places = _places(current_classes, names)
    least = OVERLAPS[:, :, places]
    is_known = all(any(np.any(np.asarray(anno["alpha"]) != -10) for anno in annos) for annos in (dt_annos, gt_annos))
    types = [one for one in eval_types if one != "aos"] + (["aos"] if is_known and "bbox" in eval_types else [])
    found = do_eval_of_types(gt_annos, dt_annos, places, least, types)
    lines: list[str] = []
    figures: dict[str, float] = {}
    theirs = {"bbox": "2D", "bev": "BEV", "3d": "3D"}
    for title, averages in (("AP11", found[:4]), ("AP40", found[4:])):
        of = {metric: values for metric, values in zip(_ALL, averages) if values is not None}
        lines += ["", f"----------- {title} Results ------------", ""]
        for j, name in enumerate(names[place] for place in places):
            for i, kind in enumerate(("strict", "loose")):
                lines.append(_heading(name, title, least[i, :, j]))
                for metric, values in of.items():
                    lines.append(_line(metric, title, values[j, :, i]))
                    if metric in theirs:
                        key = f"KITTI/{name}_{theirs[metric]}_{title}"
                        figures |= {f"{key}_{level}_{kind}": x for level, x in zip(_LEVELS, values[j, :, i])}
        if len(places) > 1:
            lines += ["", f"Overall {title}@{', '.join(_LEVELS)}:"]
            for metric, values in of.items():
                mean = values.mean(0)[:, 0]
                lines.append(_line(metric, title, mean))
                if metric in theirs:
                    figures |= {f"KITTI/Overall_{theirs[metric]}_{title}_{level}": x for level, x in zip(_LEVELS, mean)}
    return "".join(f"{one}\n" for one in lines), figures
