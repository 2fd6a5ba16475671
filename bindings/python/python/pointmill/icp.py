"""Iterative closest point: the pose that brings one cloud onto another.

The module can be called: ``pointmill.icp(source=..., target=...)`` aligns two clouds, and so does :func:`align`, a plain function for type checkers and other processes.
:func:`align_many` aligns many pairs in one call.
:class:`Target` is made ready once for many sources, :class:`Searcher` finds exact neighbours,
and :func:`normals` estimates normals.

Examples
--------
>>> import numpy as np
>>> import pointmill
>>> x, y = (grid.ravel() * 0.04 for grid in np.meshgrid(np.arange(50), np.arange(50)))
>>> sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)
>>> pointmill.icp(source=sheet, target=sheet).converged
True
>>> target = pointmill.icp.Target(sheet)
>>> target.align(sheet, guess=np.eye(4)).converged
True
"""

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

from . import _pointmill
from ._pointmill import IcpIteration, IcpRegistration, Searcher, Target, align_many, normals
from ._pointmill import icp as align

__all__ = ["IcpIteration", "IcpRegistration", "Searcher", "Target", "align", "align_many", "normals"]
__doc__ = f"{__doc__}\n\n{_pointmill.icp.__doc__}"
__signature__ = inspect.signature(_pointmill.icp)


class _Callable(ModuleType):
    # A builtin function is not bound to the module, so that it gets the arguments of the call alone.
    __call__ = _pointmill.icp

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Callable
