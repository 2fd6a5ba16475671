"""The examples of docstrings and pages run, and every name has its documentation."""

import doctest
import importlib
import pathlib

import pytest
from conftest import torch_or_none

import pointmill

ROOT = pathlib.Path(__file__).parents[3]
MODULES = ["pointmill._pointmill", "pointmill", "pointmill.boxes", "pointmill.ndt", "pointmill.points", "pointmill.sparse"]
PAGES = ["docs/boxes.md", "docs/python.md", "docs/coming_from.md", "docs/detections.md", "bindings/python/README.md"]
if torch_or_none() is not None:
    MODULES += ["pointmill.torch", "pointmill._boxes", "pointmill._points", "pointmill._roipoint_ops", "pointmill._scatter", "pointmill._sparse"]
    COMPAT = ("mmcv", "mmdet3d", "bevfusion", "pcdet", "spconv", "torch_scatter", "centerpoint", "pointcept", "pointnet2_batch", "pointnet2_stack", "_boxes", "_dynamic", "_generators", "_groups", "_kitti", "_kitti_reports", "_nms", "_pairs")
    MODULES += [f"pointmill.compat.{name}" for name in COMPAT]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    tests = [test for test in finder.find(module, name) if test.examples]
    assert tests, f"no example in {name}"
    for test in tests:
        runner.run(test)
    assert runner.failures == 0


def test_functions_have_examples():
    for name in ("voxelize", "roi_aware_pool3d", "points_in_boxes_part", "points_in_boxes_all", "points_in_boxes_count", "points_in_boxes_crop", "icp", "evaluate"):
        text = getattr(pointmill, name).__doc__
        assert ">>> " in text and "Parameters\n" in text and "Returns\n" in text, name


def test_readme_runs_without_a_gpu():
    if torch_or_none() is None:
        pytest.skip("the README speaks of torch")
    section = (ROOT / "README.md").read_text().split("## From Python")[1].split("\n## ")[0]
    code = section.split("```python\n")[1].split("```")[0]
    names = {}
    exec(code, names)
    assert len(names["voxels"]) == len(names["coords"]) == len(names["num_points"]) > 0


@pytest.mark.parametrize("page", PAGES)
def test_pages(page):
    if torch_or_none() is None and page != "docs/boxes.md":
        pytest.skip("pages speak of torch")
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried and not failed
