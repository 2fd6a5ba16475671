"""A network that has both operators in it."""

import torch

import pointmill.torch as pt


class Small(torch.nn.Module):
    """Voxelize, a mean of each voxel, a layer; and a pooling beside it."""

    def __init__(self, size, limits, *, max_voxels, padded):
        super().__init__()
        self.voxelize = pt.Voxelization(size, limits, max_num_points=3, max_voxels=max_voxels, padded=padded)
        self.pool = pt.RoIAwarePool3d(2, 8)
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, points, rois):
        voxels, _, num_points = self.voxelize(points)
        mean = voxels.sum(1) / num_points.clamp(min=1)[:, None]
        features = self.layer(points)
        return self.layer(mean).sum() + self.pool(rois, points[:, :3].contiguous(), features).sum()


def both(module, compiled, *inputs):
    """The loss and the gradients of a compiled module, each beside that of the module itself."""
    runs = []
    for call in (compiled, module):
        module.zero_grad()
        loss = call(*inputs)
        loss.backward()
        runs.append([loss.detach(), *(p.grad.clone() for p in module.parameters())])
    return list(zip(*runs))
