"""Signatures show the defaults of the library."""

import inspect

import pytest

from pointmill import _pointmill

LIBRARY = _pointmill._defaults()
# The parameters of the library that functions and methods take, with all of their fields unless some are named.
PARAMS = {
    "icp": ("IcpParams", None),
    "align_many": ("IcpParams", None),
    "Target": ("IcpParams", None),
    "register": ("RegisterParams", None),
    "RegisterTarget": ("RegisterParams", None),
    "Searcher": ("IcpParams", {"search"}),
    "iou": ("IouParams", None),
    "overlaps": ("IouParams", None),
    "nms": ("NmsParams", None),
    "downsample": ("DownsampleParams", None),
    "furthest_point_sample": ("FurthestParams", None),
    "ball_query": ("BallParams", None),
    "knn": ("KnnParams", None),
    "Grid": ("NdtParams", None),
    "Moments.grid": ("NdtParams", None),
    "BlockMap": ("NdtParams", None),
    "Grid.align": ("NdtAlignParams", None),
    "Grid.align_many": ("NdtAlignParams", None),
    "Localizer": ("LocalizerParams", None),
    "Odometry": ("OdometryParams", None),
    "evaluate": ("EvaluationParams", None),
    "roi_aware_pool3d": ("RoiPoolParams", None),
    "points_in_boxes_part": ("RoiPoolParams", {"origin", "margin"}),
    "points_in_boxes_count": ("RoiPoolParams", {"origin", "margin"}),
    "points_in_boxes_crop": ("RoiPoolParams", {"origin", "margin"}),
    "points_in_boxes_all": ("RoiPoolParams", {"origin", "margin"}),
    "voxelize": ("VoxelizeParams", None),
    "read": ("ReadOptions", None),
    "grid_sample": ("GridSampleParams", None),
    "index_pairs": ("ConvParams", None),
    "pillar_features": ("PillarParams", None),
    "pool_hierarchy": ("PoolParams", None),
    "serialize": ("SerializeParams", None),
}
# Defaults that Python alone has. None says that an argument may be left out.
PYTHON = {
    "BlockMap": {"block": 128.0, "device": "cpu"},
    "BlockMap.add": {"state": ""},
    "BlockMap.grid": {"reach": 200.0},
    "BlockMap.state_of": {"how": ""},
    "Grid.neighbours": {"cells": 7},
    "Searcher.normals": {"k": LIBRARY["IcpParams"]["neighbours"]},
    "Scan": {"start": 0.0, "deskewed": False, "local_origin": "auto"},
    "deskew": {"index": 0},
    "drive": {"sweeps": 10, "scene": "street", "seed": 0, "distort": False},
    "grid_sample": {"number": 0, "seed": 0, "padded": False},
    "index_pairs": {"batch": 1, "padded": False},
    "iou": {"aligned": False},
    "nms": {"padded": False},
    "normals": {"k": LIBRARY["IcpParams"]["neighbours"]},
    "page": {"title": "pointmill"},
    "points_in_boxes_all": {"layout": "csr"},
    "pool_hierarchy": {"orders": LIBRARY["SerializeParams"]["orders"], "padded": False},
    "read_bag": {"local_origin": "auto"},
    "roi_aware_pool3d": {"for_gradient": False},
    "voxelize": {"seed": 0, "point_to_voxel": False, "report": False},
    "write_poses": {"format": "kitti"},
}


def called():
    """Functions, classes and methods with signatures, by their names."""
    for name, found in vars(_pointmill).items():
        if isinstance(found, type) and found.__module__.startswith("pointmill"):
            members = {f"{name}.{key}": getattr(found, key) for key in vars(found) if not key.startswith("__")}
            yield from {name: found, **members}.items()
        elif callable(found):
            yield name, found


def defaults(function):
    """The defaults that a signature shows."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.default is not one.empty}


# What begins with an underscore is for other modules of the package.
FUNCTIONS = {name: function for name, function in called() if not name.startswith("_")}


@pytest.mark.parametrize("name", PARAMS)
def test_signatures_show_the_defaults_of_the_library(name):
    params, fields = PARAMS[name]
    want = {key: value for key, value in LIBRARY[params].items() if fields is None or key in fields}
    shown = defaults(FUNCTIONS[name])
    assert want and {key: shown[key] for key in want} == want


def test_no_other_default_is_shown():
    for name, function in FUNCTIONS.items():
        params, fields = PARAMS.get(name, (None, None))
        known = {key for key in LIBRARY.get(params, {}) if fields is None or key in fields}
        own = {key: value for key, value in defaults(function).items() if key not in known and value is not None}
        assert own == PYTHON.get(name, {}), name
