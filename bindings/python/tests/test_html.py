"""What notebooks show of results."""

import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest
from conftest import Foreign, torch_or_none

import pointmill

GRID = dict(voxel_size=[1, 1, 1], point_cloud_range=[-4, -4, -4, 4, 4, 4])


def cloud(n=500):
    return np.random.default_rng(0).uniform(-3.9, 3.9, (n, 4)).astype(np.float32)


def shown(result):
    """The HTML, which is well formed."""
    html = result._repr_html_()
    xml.fromstring(f"<all>{html}</all>")
    return html


def cells(html):
    return dict(re.findall(r"<tr><th>(\w+)</th><td>(.*?)</td></tr>", html, re.S))


def test_arrays_are_shown_by_type_and_shape():
    found = cells(shown(pointmill.voxelize(cloud(), **GRID, mean="float32")))
    assert found["coords"].startswith("int32 [") and found["mean"].endswith(", 4]")
    assert found["voxel_splits"] == "None"
    rois = np.array([[0, 0, 0, 4, 2, 2, 0]], np.float32)
    pooled = pointmill.roi_aware_pool3d(rois, cloud()[:, :3].copy(), cloud(), out_size=4)
    assert cells(shown(pooled))["pooled"] == "float32 [1, 4, 4, 4, 4]"


def test_arrays_of_other_libraries():
    found = cells(shown(pointmill.voxelize(Foreign(cloud()), **GRID)))
    assert re.fullmatch(r"\[\d+, 3\]", found["coords"])
    torch = torch_or_none()
    if torch is not None:
        assert "torch.int32" in cells(shown(pointmill.voxelize(torch.from_numpy(cloud()), **GRID)))["coords"]


def test_registrations_have_a_plot():
    source, target = cloud()[:, :3].astype(np.float64), cloud()[:, :3] + [0.05, 0.0, 0.0]
    html = shown(pointmill.icp(source=source, target=target, max_distance=1.0, metric="point-to-point"))
    line = re.search(r'points="(.*?)"', html).group(1).split()
    found = pointmill.icp(source=source, target=target, max_distance=1.0, metric="point-to-point")
    assert len(line) == len(found.trace)
    # The first rmse is the largest, so it is on top.
    assert float(line[0].split(",")[1]) == min(float(point.split(",")[1]) for point in line)
    assert "float64 [4, 4]<pre>" in cells(html)["target_from_source"]


def test_trajectories_and_maps_have_a_plot():
    truth = np.tile(np.eye(4), (50, 1, 1))
    truth[:, 0, 3] = np.arange(50.0)
    estimate = truth.copy()
    estimate[:, 1, 3] = 0.1 * np.arange(50)
    assert "0 to 4.9<" in shown(pointmill.evaluate(estimate, truth))
    odometry = pointmill.Odometry(voxel_size=0.5, min_range=0.1)
    assert "<svg" not in shown(odometry)
    step = odometry.push(cloud(4000)[:, :3])
    assert cells(shown(step))["index"] == "0"
    assert shown(odometry).count("h0") > 10
    grid = pointmill.ndt.Grid(cloud(4000)[:, :3].astype(np.float64), resolution=2.0)
    html = shown(grid)
    assert set(cells(html)) == {"resolution", "report"} and html.count("h0") > 10
    assert "4000" in shown(grid.report)


def test_scans_are_escaped(tmp_path):
    path = tmp_path / "a.npz"
    pointmill.write(path, cloud(), names=["x", "y", "z", "</script><img src=x onerror=alert(1)>"])
    html = shown(pointmill.read(path))
    assert "<img" not in html and "&lt;img" in html


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.full((3, 3), np.nan), np.zeros((1, 3)), np.full((2, 3), 1e300)])
def test_odd_clouds_are_shown(tmp_path, points):
    path = tmp_path / "a.npz"
    pointmill.write(path, points.astype(np.float32))
    shown(pointmill.read(path))
