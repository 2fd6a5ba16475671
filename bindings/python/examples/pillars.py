"""A small PointPillars: pillars by pointmill, a mean of each, a picture from above, and a map of where cars are; trained for a few steps on synthetic sweeps."""

import argparse

import torch
from torch import nn

from pointmill.torch import Voxelization

SIZE, EXTENT = 0.8, 25.6
CELLS = int(2 * EXTENT / SIZE)


def sweep(generator, cars=6, points=6000):
    """Ground, and cars of which each has some points; and which cells of the picture have a car's centre."""
    uniform = lambda *shape: torch.rand(*shape, generator=generator)
    ground = torch.cat([(uniform(points, 2) * 2 - 1) * EXTENT, 0.05 * uniform(points, 1)], 1)
    centres = (uniform(cars, 2) * 2 - 1) * (EXTENT - 3)
    body = (uniform(cars, 150, 3) - torch.tensor([0.5, 0.5, 0.0])) * torch.tensor([4.0, 1.8, 1.6])
    body[..., :2] += centres[:, None]
    wanted = torch.zeros(CELLS, CELLS)
    x, y = ((centres + EXTENT) / SIZE).long().T
    wanted[y, x] = 1.0
    cloud = torch.cat([ground, body.flatten(0, 1)])
    return torch.cat([cloud, uniform(len(cloud), 1)], 1), wanted


class Pillars(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.voxelize = Voxelization([SIZE, SIZE, 4.0], [-EXTENT, -EXTENT, -1, EXTENT, EXTENT, 3], max_num_points=20, max_voxels=4000)
        self.embed = nn.Sequential(nn.Linear(7, width), nn.ReLU())
        self.head = nn.Sequential(nn.Conv2d(width, width, 5, padding=2), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, clouds):
        splits = [0, *torch.tensor([len(c) for c in clouds]).cumsum(0).tolist()]
        points, coords, count = self.voxelize(torch.cat(clouds), splits)
        there = torch.arange(points.shape[1], device=points.device) < count[:, None]
        mean = points.sum(1, keepdim=True) / count[:, None, None]
        features = torch.cat([points, points[..., :3] - mean[..., :3]], -1)
        pillars = self.embed(features).masked_fill(~there[..., None], 0.0).amax(1)
        sample, _, y, x = coords.long().T
        picture = pillars.new_zeros(len(clouds), CELLS, CELLS, pillars.shape[1])
        picture[sample, y, x] = pillars
        return self.head(picture.permute(0, 3, 1, 2))[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Pillars().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    loss_of = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(50.0, device=args.device))
    for step in range(args.steps):
        clouds, wanted = zip(*(sweep(generator) for _ in range(2)))
        loss = loss_of(model([c.to(args.device) for c in clouds]), torch.stack(wanted).to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0 or step == args.steps - 1:
            print(f"step {step:3d}: loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
