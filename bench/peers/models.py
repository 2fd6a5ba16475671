#!/usr/bin/env python3
"""Six detectors of mmdet3d on the CPU, with pointmill in place of all compiled operators.

    models.py [--models pointpillars,second,pv_rcnn,point_rcnn,votenet,3dssd] [--json OUT.json]

Each trains two steps and predicts, twice from one seed: losses, gradients and boxes must be finite and have the same
bits. Models and configurations are mmdet3d's own, made small; the scenes are synthetic. Sparse layers are
`index_pairs`, `group` and `torch.mm`. Installs nothing: README.md says what is needed.
"""

import argparse
import hashlib
import json
import math
import pathlib
import sys
import time
import warnings

import numpy as np
import torch
from torch import nn

from pointmill.compat import mmdet3d as compat
from pointmill.torch import group, index_pairs

RANGE = [0, -12.8, -3, 25.6, 12.8, 1]
# Length, width and height of pedestrians, cyclists and cars.
SIZES = np.array([[0.8, 0.6, 1.73], [1.76, 0.6, 1.73], [3.9, 1.6, 1.56]], np.float32)
FILES = {
    "pointpillars": "_base_/models/pointpillars_hv_secfpn_kitti.py",
    "second": "_base_/models/second_hv_secfpn_kitti.py",
    "pv_rcnn": "pv_rcnn/pv_rcnn_8xb2-80e_kitti-3d-3class.py",
    "point_rcnn": "_base_/models/point_rcnn.py",
    "votenet": "_base_/models/votenet.py",
    "3dssd": "_base_/models/3dssd.py",
}
SEED = 7


class SparseConvTensor:
    """Features of cells, and the tables of the layers before."""

    def __init__(self, features, indices, spatial_shape, batch_size):
        self.features, self.indices = features, indices
        self.spatial_shape, self.batch_size = list(spatial_shape), batch_size
        self.tables = {}

    def replace_feature(self, features):
        made = SparseConvTensor(features, self.indices, self.spatial_shape, self.batch_size)
        made.tables = self.tables
        return made

    def dense(self):
        """Features ``[B, C, Z, Y, X]``: zeros where there is no cell."""
        made = self.features.new_zeros(self.batch_size, *self.spatial_shape, self.features.shape[1])
        return made.index_put(tuple(self.indices.long().T), self.features).permute(0, 4, 1, 2, 3).contiguous()


class SparseModule(nn.Module):
    """What takes a :class:`SparseConvTensor`."""


class SparseSequential(nn.Sequential, SparseModule):
    def forward(self, x):
        for layer in self:
            x = layer(x) if isinstance(layer, SparseModule) else x.replace_feature(layer(x.features))
        return x


class SparseConv3d(SparseModule):
    kind = "strided"

    def __init__(self, inputs, outputs, kernel_size, stride=1, padding=0, bias=True, indice_key=None):
        super().__init__()
        sizes = (kernel_size, stride, padding)
        self.kernel, self.stride, self.padding = ([v] * 3 if isinstance(v, int) else list(v) for v in sizes)
        self.key = indice_key
        self.weight = nn.Parameter(torch.empty(math.prod(self.kernel), inputs, outputs))
        nn.init.uniform_(self.weight, -1, 1).data.mul_((self.weight.shape[0] * inputs) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x):
        coords, table, shape = x.tables.get(self.key) or self.find(x)
        if self.key:
            x.tables[self.key] = coords, table, shape
        out = sum(torch.mm(group(x.features, rows), weight) for rows, weight in zip(table, self.weight))
        made = SparseConvTensor(out if self.bias is None else out + self.bias, coords, shape, x.batch_size)
        made.tables = x.tables
        return made

    def find(self, x):
        sizes = {"stride": self.stride, "padding": self.padding} if self.kind == "strided" else {}
        place = (x.indices, x.spatial_shape, x.batch_size)
        coords, table = index_pairs(*place, kernel=self.kernel, kind=self.kind, **sizes)[:2]
        if not sizes:
            return x.indices, table, x.spatial_shape
        sides = zip(x.spatial_shape, self.kernel, self.stride, self.padding)
        return coords, table, [(n + 2 * p - k) // s + 1 for n, k, s, p in sides]


class SubMConv3d(SparseConv3d):
    kind = "submanifold"


def put_layers():
    """Give mmdet3d the sparse layers, which pointmill has not."""
    from mmengine.registry import MODELS as registry

    for layer in (SparseConv3d, SubMConv3d):
        registry.register_module(name=layer.__name__, module=layer, force=True)
    for path, module in list(sys.modules.items()):
        if path.split(".")[0] == "mmdet3d":
            for kind in (SparseConvTensor, SparseModule, SparseSequential):
                if kind.__name__ in vars(module):
                    setattr(module, kind.__name__, kind)


def scene(rng, count):
    """Return points on a floor and on boxes ``[count, 4]``, boxes ``[6, 7]`` (cz of the bottom face) and classes."""
    labels = np.array([2, 2, 2, 0, 0, 1])
    places = rng.permutation(16)[: len(labels)]
    centres = np.stack([4 + 5.5 * (places // 4), -8.5 + 5.5 * (places % 4), np.full(len(labels), -1.7)], 1)
    boxes = np.concatenate([centres, SIZES[labels], rng.uniform(-3, 3, (len(labels), 1))], 1).astype(np.float32)
    floor = rng.uniform([0.1, -12.7, -1.75], [25.5, 12.7, -1.65], (count // 2, 3))
    of = rng.integers(len(boxes), size=count - count // 2)
    at = rng.uniform(-0.5, 0.5, (len(of), 3))
    side = rng.integers(3, size=len(of))
    at[np.arange(len(of)), side] = np.where(at[np.arange(len(of)), side] < 0, -0.49, 0.49)
    at = at * boxes[of, 3:6] + np.array([0, 0, 0.5]) * boxes[of, 3:6]
    cos, sin = np.cos(boxes[of, 6]), np.sin(boxes[of, 6])
    at = np.stack([at[:, 0] * cos - at[:, 1] * sin, at[:, 0] * sin + at[:, 1] * cos, at[:, 2]], 1) + boxes[of, :3]
    points = np.concatenate([np.concatenate([floor, at]), rng.uniform(0, 1, (count, 1))], 1).astype(np.float32)
    return torch.from_numpy(points[rng.permutation(count)]), torch.from_numpy(boxes), torch.from_numpy(labels)


def anchors(head):
    head.anchor_generator.ranges = [[*RANGE[:2], z, *RANGE[3:5], z] for z in (-0.6, -0.6, -1.78)]
    head.feat_channels = head.in_channels = 64


def voxels(model, size, most):
    layer = model.data_preprocessor.voxel_layer
    layer.voxel_size, layer.point_cloud_range, layer.max_num_points, layer.max_voxels = size, RANGE, most, (4000, 4000)


def planes(model, inputs):
    stages = len(model.backbone.layer_nums)
    model.backbone.update(in_channels=inputs, layer_nums=[1] * stages, out_channels=[32] * stages)
    model.neck.update(in_channels=[32] * stages, out_channels=[64 - 20 * (stages - 1)] + [20] * (stages - 1))


def second_stage(model):
    """Few boxes, and overlaps that those of an untrained first stage reach."""
    for one in model.train_cfg.rcnn.assigner:
        one.update(pos_iou_thr=0.1, neg_iou_thr=0.1, min_pos_iou=0.1)
    model.train_cfg.rcnn.sampler.update(num=32, neg_iou_piece_thrs=[0.1, 0.05])
    model.test_cfg.rcnn.score_thr = 0


def config(name):
    """Return mmdet3d's own configuration, made small."""
    import mmdet3d
    from mmengine.config import Config

    model = Config.fromfile(pathlib.Path(mmdet3d.__file__).parent / ".mim/configs" / FILES[name]).model
    size = [0.2, 0.2, 0.1]
    if name == "pointpillars":
        voxels(model, [0.2, 0.2, 4], 16)
        model.voxel_encoder.update(voxel_size=[0.2, 0.2, 4], point_cloud_range=RANGE)
        model.middle_encoder.output_shape = [128, 128]
        planes(model, 64)
    if name in ("second", "pv_rcnn"):
        voxels(model, size, 5)
        model.middle_encoder.sparse_shape = [41, 128, 128]
        planes(model, 256)
    if name == "pv_rcnn":
        model.points_encoder.update(num_keypoints=256, voxel_size=size, point_cloud_range=RANGE)
        anchors(model.rpn_head)
        model.train_cfg.rpn_proposal.update(nms_pre=512, nms_post=64, max_num=64)
        model.test_cfg.rpn.update(nms_pre=256, nms_post=32, max_num=32)
        second_stage(model)
    if name in ("pointpillars", "second"):
        anchors(model.bbox_head)
        model.test_cfg.score_thr = 0
    if name == "point_rcnn":
        model.backbone.num_points = (512, 128, 64, 16)
        model.train_cfg.rpn.rpn_proposal.update(nms_pre=512, nms_post=64)
        model.test_cfg.rpn.nms_cfg.update(nms_pre=256, nms_post=32)
        model.roi_head.bbox_roi_extractor.roi_layer.num_sampled_points = 128
        model.roi_head.bbox_head.num_points = (32, 16, -1)
        second_stage(model)
    if name == "votenet":
        model.backbone.num_points = (512, 256, 128, 64)
        model.bbox_head.vote_aggregation_cfg.num_point = 64
        coder = {"type": "PartialBinBasedBBoxCoder", "num_sizes": 3, "num_dir_bins": 12, "with_rot": True}
        model.bbox_head.update(num_classes=3, bbox_coder=coder | {"mean_sizes": SIZES.tolist()})
        # Proposals of an untrained model are metres away, and count as objects all the same.
        model.train_cfg.update(pos_distance_thr=4, neg_distance_thr=5)
        model.test_cfg.score_thr = 0
    if name == "3dssd":
        model.backbone.update(num_points=(512, 128, (64, 64)), fps_sample_range_lists=(-1, -1, (128, -1)))
        model.bbox_head.vote_module_cfg.num_points = 64
        coder = {"type": "AnchorFreeBBoxCoder", "num_dir_bins": 12, "with_rot": True}
        model.bbox_head.update(num_classes=3, bbox_coder=coder)
    return model


def batch(name, count=4096):
    """Return two scenes as the loader hands them to a model."""
    from mmdet3d.structures import DepthInstance3DBoxes, Det3DDataSample, LiDARInstance3DBoxes, PointData
    from mmengine.structures import InstanceData

    boxes_of = DepthInstance3DBoxes if name == "votenet" else LiDARInstance3DBoxes
    rng = np.random.default_rng(SEED)
    points, samples = [], []
    for _ in range(2):
        cloud, boxes, labels = scene(rng, count)
        points.append(cloud)
        sample = Det3DDataSample(metainfo={"box_type_3d": boxes_of})
        sample.gt_instances_3d = InstanceData(bboxes_3d=boxes_of(boxes), labels_3d=labels)
        sample.gt_pts_seg = PointData()
        samples.append(sample)
    return {"inputs": {"points": points}, "data_samples": samples}


def bits(tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(np.ascontiguousarray(tensor.detach().numpy()).tobytes())
    return digest.hexdigest()[:16]


def run(name):
    """Train two steps and predict; return losses, digests and counts."""
    from mmdet3d.registry import MODELS

    torch.manual_seed(SEED)
    np.random.seed(SEED)
    model = MODELS.build(config(name))
    model.init_weights()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, gradients = [], []
    model.train()
    for _ in range(2):
        total, parts = model.parse_losses(model(**model.data_preprocessor(batch(name), True), mode="loss"))
        optimizer.zero_grad()
        total.backward()
        # Raises where a gradient is not finite.
        nn.utils.clip_grad_norm_(model.parameters(), 10, error_if_nonfinite=True)
        gradients.append(bits(p.grad for p in model.parameters() if p.grad is not None))
        optimizer.step()
        losses.append({key: float(value) for key, value in parts.items()})
    model.eval()
    with torch.no_grad():
        found = model(**model.data_preprocessor(batch(name), False), mode="predict")
    found = [sample.pred_instances_3d for sample in found]
    boxes = bits(tensor for one in found for tensor in (one.bboxes_3d.tensor, one.scores_3d, one.labels_3d))
    return {"losses": losses, "gradients": gradients, "counts": [len(one) for one in found], "boxes": boxes}


def prepare():
    """Put pointmill into mmdet3d, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compat.patch()
        import mmdet3d.models  # noqa: F401
        from mmengine.logging import MMLogger
        from mmengine.registry import init_default_scope

        init_default_scope("mmdet3d")
        MMLogger.get_instance("mmengine", logger_name="mmengine", log_level="ERROR")
    put_layers()
    torch.use_deterministic_algorithms(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(FILES))
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    names = args.models.split(",")
    if unknown := set(names) - set(FILES):
        parser.error(f"--models: expected some of {', '.join(FILES)}, got {', '.join(sorted(unknown))}")
    prepare()
    rows = {}
    for name in names:
        start = time.perf_counter()
        first, second = run(name), run(name)
        rows[name] = first | {"same": first == second, "seconds": round(time.perf_counter() - start, 1)}
        steps = " ".join(f"{step['loss']:.6f}" for step in first["losses"])
        verdict = "the same bits" if first == second else "OTHER BITS"
        counts = " ".join(map(str, first["counts"]))
        print(f"{name}: losses {steps}, boxes {counts}, {verdict} in two runs", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["same"] and any(row["counts"]) for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
