"""The circle NMS of CenterPoint, ``det3d.models.bbox_heads.center_head._circle_nms``."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ._boxes import circles

__all__ = ["circle_nms"]


def circle_nms(boxes: np.ndarray | Tensor, min_radius: float, post_max_size: int = 83) -> np.ndarray | Tensor:
    """Keep the detections that no better one is close to.

    Parameters
    ----------
    boxes : array or Tensor, ``[N, 3]``
        x, y, score.
    min_radius : float
        A squared distance of at most this suppresses, whatever its name says.
    post_max_size : int
        Most that are kept.

    Returns
    -------
    array or Tensor of int64, ``[K]``
        Rows, an array of numpy if `boxes` is one, by score; of equal scores the lower row first, where CenterPoint has the higher one.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.centerpoint import circle_nms
    >>> circle_nms(torch.tensor([[0.0, 0.0, 0.3], [1.9, 0.0, 0.9], [5.0, 0.0, 0.5]]), 4.0).tolist()
    [1, 2]
    """
    found = circles(torch.as_tensor(boxes), min_radius, post_max_size)
    return found.numpy() if isinstance(boxes, np.ndarray) else found
