"""Modules in place of compiled operators that are not installed, so that packages which import them can be imported.

What pointmill has not raises ``NotImplementedError`` with its name when it is called, and not when it is imported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def function(path: str) -> Callable[..., Any]:
    """Return a function that is not there."""

    def missing(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{path}: a compiled operator that is not installed, and that pointmill has not")

    return missing


def layer(path: str) -> type:
    """Return a layer that is not there; functions among the operators are such a class too."""
    from torch import nn

    def missing(*_: Any, **__: Any) -> None:
        function(path)()

    return type(path.rpartition(".")[2], (nn.Module,), {"__init__": missing, "__module__": __name__})


class Placeholders(MetaPathFinder, Loader):
    """Finds modules that nothing else finds.

    Parameters
    ----------
    wanted : function
        Whether a module of this path is to be there.
    names : module, optional
        Where names are taken from before they are placeholders.
    make : function
        What makes the placeholder of a name, from its path.
    """

    def __init__(self, wanted: Callable[[str], bool], names: ModuleType | None, make: Callable[[str], Any]) -> None:
        self.wanted, self.names, self.make = wanted, names, make

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if self.wanted(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name, "Placeholders of pointmill.")

        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            own = getattr(self.names, name, None) if self.names is not None and name in self.names.__all__ else None
            return own if own is not None else self.make(f"{spec.name}.{name}")

        vars(module)["__getattr__"] = attribute
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def can_import(path: str) -> bool:
    """Return whether a module is there and can be imported."""
    try:
        importlib.import_module(path)
    except (ImportError, OSError):
        return False
    return True


def is_added(wanted: Callable[[str], bool]) -> bool:
    """Return whether a finder of these modules is asked already."""
    return any(isinstance(finder, Placeholders) and finder.wanted is wanted for finder in sys.meta_path)


def add(finder: Placeholders) -> None:
    """Ask a finder where all others have found nothing."""
    sys.meta_path.append(finder)
