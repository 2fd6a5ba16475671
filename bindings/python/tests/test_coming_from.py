"""docs/coming_from.md says name by name what is covered, and what is not."""

import importlib
import pathlib
import re

import pytest

pytest.importorskip("torch")

PAGE = pathlib.Path(__file__).parents[3] / "docs/coming_from.md"
# Modules of which the page must list every name.
WHOLE = ["mmcv", "mmdet3d", "pcdet", "pointnet2_batch", "pointnet2_stack", "spconv", "torch_scatter"]


def names_of(cell):
    """Names in code quotes behind the colon of a cell."""
    return re.findall(r"`(\w+)`", cell.rpartition(": ")[2])


def rows(title):
    """Names and modules of the rows of a table, by its first title."""
    lines = PAGE.read_text().split(f"\n| {title} | module |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    return [(names_of(cell[0]), re.findall(r"`(\w+)`", cell[1])) for cell in cells]


def module_of(name):
    return importlib.import_module(f"pointmill.compat.{name}")


COVERED = rows("names of")


@pytest.mark.parametrize("names, modules", COVERED)
def test_covered_names_are_there(names, modules):
    assert names and modules
    for name in names:
        homes = [module for module in map(module_of, modules) if name in module.__all__]
        assert homes, f"{name} is in none of {modules}"
        assert all(callable(getattr(module, name)) for module in homes), name
    for module in modules:
        assert set(names) & set(module_of(module).__all__), f"{module} has none of {names}"


@pytest.mark.parametrize("names, modules", rows("not covered"))
def test_other_names_are_not_there(names, modules):
    assert names and modules
    for module in map(module_of, modules):
        assert not [name for name in names if hasattr(module, name) or name in module.__all__]


@pytest.mark.parametrize("module", WHOLE)
def test_every_name_is_listed(module):
    listed = {name for names, modules in COVERED if module in modules for name in names}
    assert set(module_of(module).__all__) - listed <= {"patch"}
