"""Grids of normal distributions: maps to match scans against.

Examples
--------
>>> import numpy as np
>>> from pointmill import ndt
>>> i, j = np.meshgrid(np.arange(60) * 0.1 + 0.05, np.arange(60) * 0.1 + 0.05)
>>> a, b, o = i.ravel(), j.ravel(), np.zeros(3600)
>>> corner = np.concatenate([np.stack(wall, 1) for wall in ((a, b, o), (o, a, b), (a, o, b))])
>>> grid = ndt.Grid(corner, resolution=1.0)
>>> found = grid.align(corner[::7].copy(), [0.2, -0.15, 0.1, 0.0, 0.0, 0.03])
>>> found.converged, bool(np.abs(found.xyzrpy).max() < 0.02)
(True, True)
"""

from ._pointmill import BlockMap, Grid, Moments, NdtFit, NdtRegistration, NdtReport

__all__ = ["BlockMap", "Grid", "Moments", "NdtFit", "NdtRegistration", "NdtReport"]
