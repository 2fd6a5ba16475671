"""Detectors of mmdet3d train and predict with pointmill in place of compiled operators."""

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "bench/peers/models.py"
NEEDED = ("torch", "mmengine", "mmcv", "mmdet", "mmdet3d")
# What each model must have learned from; two stages have losses of both.
LOSSES = {
    "pointpillars": {"loss_cls", "loss_bbox", "loss_dir"},
    "second": {"loss_cls", "loss_bbox", "loss_dir"},
    "pv_rcnn": {"loss_rpn_cls", "loss_rpn_bbox", "loss_semantic", "loss_cls", "loss_bbox", "loss_corner"},
    "point_rcnn": {"rpn_bbox_loss", "rpn_semantic_loss", "loss_cls", "loss_bbox", "loss_corner"},
    "votenet": {"vote_loss", "objectness_loss", "center_loss", "semantic_loss", "dir_class_loss", "size_res_loss"},
    "3dssd": {"centerness_loss", "center_loss", "dir_class_loss", "size_res_loss", "corner_loss", "vote_loss"},
}


@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason=f"needs {', '.join(NEEDED)}")
@pytest.mark.parametrize("name", LOSSES)
def test_two_runs_have_the_same_bits(name, tmp_path):
    # A process of its own: patch() changes mmdet3d for all that comes after it.
    out = tmp_path / "out.json"
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--models", name, "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(out.read_text())[name]
    assert row["same"] and sum(row["counts"]) > 0
    assert len(row["losses"]) == len(set(row["gradients"])) == 2
    for key in LOSSES[name]:
        values = [step[key] for step in row["losses"]]
        assert all(math.isfinite(value) for value in values) and any(value > 0 for value in values), key
