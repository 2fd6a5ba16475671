"""Boxes: how much pairs overlap, and which of overlapping detections are kept.

Examples
--------
>>> import numpy as np
>>> from pointmill import boxes
>>> cars = np.array([[0, 0, 0, 4, 2, 1.5, 0], [2, 0, 0, 4, 2, 1.5, 0]], np.float32)
>>> boxes.iou(cars, cars[:1]).round(3).tolist()
[[1.0], [0.3330000042915344]]
>>> boxes.nms(cars, scores=[0.4, 0.8], threshold=0.3).tolist()
[1]
"""

from ._pointmill import iou, nms, overlaps

__all__ = ["iou", "nms", "overlaps"]
