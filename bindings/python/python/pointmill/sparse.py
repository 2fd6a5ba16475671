"""The front end of sparse detectors: one point of each cell, cells in the order of curves, larger cells, pairs of convolutions, sweeps in one frame, features of pillars.

Examples
--------
>>> import numpy as np
>>> from pointmill import sparse
>>> points = np.array([[4, 1, 1], [1, 1, 1], [4.1, 1.1, 1.1]], np.float32)
>>> sampled = sparse.grid_sample(points, grid_size=0.5)
>>> cells, stages = sparse.pool_hierarchy(sampled.grid_coord, sampled.batch, strides=[2, 2])
>>> cells.order.shape, [len(stage.head) for stage in stages]
((4, 2), [2, 2])
"""

from ._pointmill import (
    ConvPairs,
    GridSampled,
    Patches,
    PooledStage,
    Serialized,
    densify,
    grid_sample,
    index_pairs,
    patches,
    pillar_features,
    pool_hierarchy,
    serialize,
)

__all__ = [
    "ConvPairs",
    "GridSampled",
    "Patches",
    "PooledStage",
    "Serialized",
    "densify",
    "grid_sample",
    "index_pairs",
    "patches",
    "pillar_features",
    "pool_hierarchy",
    "serialize",
]
