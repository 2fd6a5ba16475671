"""The layers and functions of point sets of ``mmcv.ops``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from . import _points
from ._shared import tensors


@tensors("points_xyz")
def furthest_point_sample(points_xyz: Tensor, num_points: int) -> Tensor:
    """Take points one after the other, each the furthest from those before it, as ``mmcv.ops.furthest_point_sample``: ``[B, N, 3]`` to int32 ``[B, num_points]``.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import furthest_point_sample
    >>> furthest_point_sample(torch.tensor([[[0.0, 0, 0], [1, 0, 0], [4, 0, 0]]]), 2).tolist()
    [[0, 2]]
    """
    return _points.sample(points_xyz, num_points)


@tensors("points_dist")
def furthest_point_sample_with_dist(points_dist: Tensor, num_points: int) -> Tensor:
    """:func:`furthest_point_sample` by squared distances ``[B, N, N]``, as ``mmcv.ops.furthest_point_sample_with_dist``; :class:`PointsSampler` needs no such matrix."""
    return _points.sample_by_distances(points_dist, num_points)


@tensors("xyz", "center_xyz")
def ball_query(
    min_radius: float,
    max_radius: float,
    sample_num: int,
    xyz: Tensor,
    center_xyz: Tensor,
    xyz_batch_cnt: Tensor | None = None,
    center_xyz_batch_cnt: Tensor | None = None,
) -> Tensor:
    """Find the points of a ball around each centre, as ``mmcv.ops.ball_query``: ``[B, N, 3]``, ``[B, M, 3]`` to int32 ``[B, M, sample_num]``.

    With the counts of a batch: ``[N, 3]``, ``[M, 3]`` to ``[M, sample_num]``, where the first of a ball without points is -1.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import ball_query
    >>> ball_query(0, 1.5, 2, torch.eye(3)[None], torch.zeros(1, 1, 3)).tolist()
    [[[0, 1]]]
    """
    radii = (float(min_radius), float(max_radius))
    if xyz_batch_cnt is None or center_xyz_batch_cnt is None:
        return _points.balls(xyz, center_xyz, radii, sample_num)
    counts = (xyz_batch_cnt, center_xyz, center_xyz_batch_cnt)
    rows, empty = _points.stacked_balls(xyz, *counts, radii, sample_num)
    rows[:, 0] = torch.where(empty, -1, rows[:, 0])
    return rows


@tensors("xyz")
def knn(k: int, xyz: Tensor, center_xyz: Tensor | None = None, transposed: bool = False) -> Tensor:
    """Find the nearest points of each centre, as ``mmcv.ops.knn``: ``[B, N, 3]``, ``[B, M, 3]`` to int32 ``[B, k, M]``; `transposed` inputs are ``[B, 3, N]``.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import knn
    >>> knn(1, torch.eye(3)[None], torch.tensor([[[0.9, 0.0, 0.0]]])).tolist()
    [[[0]]]
    """
    centres = xyz if center_xyz is None else center_xyz
    if transposed:
        xyz, centres = xyz.transpose(1, 2), centres.transpose(1, 2)
    return _points.neighbours(xyz, centres, k)[0].transpose(1, 2).contiguous()


@tensors("target", "source")
def three_nn(target: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """Find the three points of `source` nearest to each of `target`, as ``mmcv.ops.three_nn``: ``[B, N, 3]``, ``[B, M, 3]`` to distances and int32 rows ``[B, N, 3]``.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import three_nn
    >>> three_nn(torch.zeros(1, 1, 3), torch.diag(torch.tensor([3.0, 1.0, 2.0]))[None])[1].tolist()
    [[[1, 2, 0]]]
    """
    rows, squared = _points.neighbours(source, target, 3)
    return squared.sqrt(), rows


@tensors("features", "indices", "weight")
def three_interpolate(features: Tensor, indices: Tensor, weight: Tensor) -> Tensor:
    """Add up weighted features of three neighbours, as ``mmcv.ops.three_interpolate``: ``[B, C, M]``, ``[B, N, 3]`` twice to ``[B, C, N]``, with gradients.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import three_interpolate
    >>> three_interpolate(torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0, 1, 0]]]), torch.tensor([[[0.5, 0.25, 0.25]]])).tolist()
    [[[1.5]]]
    """
    return _points.interpolated(features, indices, weight)


@tensors("features", "indices")
def gather_points(features: Tensor, indices: Tensor) -> Tensor:
    """Take the features of samples, as ``mmcv.ops.gather_points``: ``[B, C, N]``, ``[B, M]`` to ``[B, C, M]``, with a gradient."""
    return _points.grouped(features, indices)


@tensors("features", "indices")
def grouping_operation(
    features: Tensor,
    indices: Tensor,
    features_batch_cnt: Tensor | None = None,
    indices_batch_cnt: Tensor | None = None,
) -> Tensor:
    """Take the features of the points of balls, as ``mmcv.ops.grouping_operation``, with a gradient: ``[B, C, N]``, ``[B, M, K]`` to ``[B, C, M, K]``; with the counts of a batch ``[N, C]``, ``[M, K]`` to ``[M, C, K]``.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import grouping_operation
    >>> grouping_operation(torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[1, 0, 1]]])).tolist()
    [[[[3.0, 1.0, 3.0]]]]
    """
    if features_batch_cnt is None or indices_batch_cnt is None:
        return _points.grouped(features, indices)
    return _points.stacked_group(features, features_batch_cnt, indices, indices_batch_cnt)


class QueryAndGroup(nn.Module):
    """The points of balls less their centres, and their features, as ``mmcv.ops.QueryAndGroup``; without a `max_radius` the nearest points.

    Parameters
    ----------
    max_radius : float or None
    sample_num : int
        Most points of a ball.
    min_radius : float
    use_xyz : bool
        Whether the features begin with the points.
    return_grouped_xyz, return_unique_cnt, return_grouped_idx : bool
        What is returned beside the features.
    normalize_xyz : bool
        Whether the points are divided by the radius.
    uniform_sample : bool
        mmcv draws among the points of a ball; here it is refused, because no two runs would be the same.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import QueryAndGroup
    >>> QueryAndGroup(1.5, 2)(torch.eye(3)[None], torch.zeros(1, 1, 3)).shape
    torch.Size([1, 3, 1, 2])
    """

    def __init__(
        self,
        max_radius: float | None,
        sample_num: int,
        min_radius: float = 0.0,
        use_xyz: bool = True,
        return_grouped_xyz: bool = False,
        normalize_xyz: bool = False,
        uniform_sample: bool = False,
        return_unique_cnt: bool = False,
        return_grouped_idx: bool = False,
    ) -> None:
        super().__init__()
        if uniform_sample:
            raise NotImplementedError("uniform_sample: expected False, since draws differ from run to run, got True")
        if normalize_xyz and max_radius is None:
            raise ValueError("normalize_xyz: expected False without max_radius, got True")
        self.max_radius, self.min_radius, self.sample_num = max_radius, min_radius, sample_num
        self.return_grouped_xyz, self.return_unique_cnt = return_grouped_xyz, return_unique_cnt
        self.return_grouped_idx, self.use_xyz, self.normalize_xyz = return_grouped_idx, use_xyz, normalize_xyz

    def _query(self, points: Tensor, centres: Tensor) -> Tensor:
        if self.max_radius is None:
            return _points.neighbours(points, centres, self.sample_num)[0]
        return ball_query(self.min_radius, self.max_radius, self.sample_num, points, centres)

    @tensors("points_xyz", "center_xyz")
    def forward(self, points_xyz: Tensor, center_xyz: Tensor, features: Tensor | None = None) -> Any:
        """Group ``[B, N, 3]``, ``[B, M, 3]``, ``[B, C, N]`` to ``[B, 3 + C, M, sample_num]``."""
        rows = self._query(points_xyz, center_xyz)
        near = _points.grouped(points_xyz.transpose(1, 2).contiguous(), rows) - center_xyz.transpose(1, 2)[..., None]
        if self.normalize_xyz and self.max_radius is not None:
            near = near / float(self.max_radius)
        made = _points.joined(near, None if features is None else _points.grouped(features, rows), self.use_xyz)
        beside = [near] if self.return_grouped_xyz else []
        beside += [_points.unique_counts(rows)] if self.return_unique_cnt else []
        beside += [rows] if self.return_grouped_idx else []
        return (made, *beside) if beside else made


class GroupAll(nn.Module):
    """All points as one group, as ``mmcv.ops.GroupAll``."""

    def __init__(self, use_xyz: bool = True) -> None:
        super().__init__()
        self.use_xyz = use_xyz

    def forward(self, xyz: Tensor, new_xyz: Tensor | None, features: Tensor | None = None) -> Tensor:
        """Group ``[B, N, 3]`` and ``[B, C, N]`` to ``[B, 3 + C, 1, N]``; `new_xyz` is not read."""
        near = xyz.transpose(1, 2).unsqueeze(2)
        if features is None:
            return near
        return torch.cat([near, features.unsqueeze(2)], 1) if self.use_xyz else features.unsqueeze(2)


class PointsSampler(nn.Module):
    """Samples of parts of the points, as ``mmcv.ops.PointsSampler``.

    Parameters
    ----------
    num_point : list of int
        Samples of each part.
    fps_mod_list : list of {"D-FPS", "F-FPS", "FS"}
        By points, by points and features, or both one after the other.
    fps_sample_range_list : list of int
        Where each part ends; -1 is the end.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import PointsSampler
    >>> PointsSampler([2])(torch.tensor([[[0.0, 0, 0], [1, 0, 0], [4, 0, 0]]]), None).tolist()
    [[0, 2]]
    """

    def __init__(
        self,
        num_point: list[int],
        fps_mod_list: list[str] = ["D-FPS"],
        fps_sample_range_list: list[int] = [-1],
    ) -> None:
        super().__init__()
        if not len(num_point) == len(fps_mod_list) == len(fps_sample_range_list):
            got = f"{len(num_point)}, {len(fps_mod_list)} and {len(fps_sample_range_list)}"
            raise ValueError(f"num_point: expected as many as of fps_mod_list and of fps_sample_range_list, got {got}")
        unknown = [mod for mod in fps_mod_list if mod not in ("D-FPS", "F-FPS", "FS")]
        if unknown:
            raise ValueError(f"fps_mod_list: expected D-FPS, F-FPS or FS, got {unknown[0]!r}")
        self.num_point, self.mods, self.ends = num_point, fps_mod_list, fps_sample_range_list

    @tensors("points_xyz")
    def forward(self, points_xyz: Tensor, features: Tensor | None) -> Tensor:
        """Sample ``[B, N, 3]`` and ``[B, C, N]`` to int32 ``[B, samples]``."""
        rows, start = [], 0
        for end, mod, number in zip(self.ends, self.mods, self.num_point):
            stop = end if end != -1 else points_xyz.shape[1]
            part = points_xyz[:, start:stop]
            by = None
            if mod != "D-FPS":
                if features is None:
                    raise ValueError(f"features: expected a tensor for {mod}, got None")
                by = features[:, :, start:stop].transpose(1, 2)
            if mod != "D-FPS":
                rows.append(_points.sample(part, number, by) + start)
            if mod != "F-FPS":
                rows.append(_points.sample(part, number) + start)
            start += stop - start
        return torch.cat(rows, 1)
