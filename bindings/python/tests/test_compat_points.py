"""The names of pointnet2 in mmcv and OpenPCDet: what their kernels do, written as loops."""

import pytest

torch = pytest.importorskip("torch")

from pointmill.compat import mmcv, pcdet, pointnet2_batch, pointnet2_stack  # noqa: E402


def first_in_ball(points, centre, radius, most, least=0.0):
    """The loop of a thread of the kernel: rows, and how many."""
    rows, count = [0] * most, 0
    for row, point in enumerate(points):
        d = float(((point - centre) * (point - centre)).sum())
        if d == 0 or least * least <= d < radius * radius:
            if count == 0:
                rows = [row] * most
            rows[count] = row
            count += 1
            if count == most:
                break
    return rows, count


@pytest.fixture
def batch():
    torch.manual_seed(0)
    return torch.randint(-4, 5, (2, 80, 3)) / 2.0, torch.randint(-4, 5, (2, 20, 3)) / 2.0, torch.randn(2, 4, 80)


def test_balls_and_groups_of_batches(batch):
    points, centres, features = batch
    rows = mmcv.ball_query(0.5, 1.25, 6, points, centres)
    want = [[first_in_ball(p, c, 1.25, 6, 0.5)[0] for c in of] for p, of in zip(points, centres)]
    assert rows.dtype == torch.int32 and rows.tolist() == want
    assert pointnet2_batch.ball_query(1.25, 6, points, centres).tolist() == mmcv.ball_query(0, 1.25, 6, points, centres).tolist()
    assert pointnet2_batch.ball_query_dilated(1.25, 0.5, 6, points, centres).tolist() == want
    grouped = mmcv.grouping_operation(features, rows)
    for b in range(2):
        assert torch.equal(grouped[b], features[b][:, rows[b].long()])
    made = mmcv.QueryAndGroup(1.25, 6, 0.5, return_grouped_xyz=True, return_grouped_idx=True, normalize_xyz=True)(points, centres, features)
    assert made[0].shape == (2, 7, 20, 6) and torch.equal(made[0][:, :3], made[1]) and torch.equal(made[2], rows)
    near = mmcv.grouping_operation(points.transpose(1, 2), rows) - centres.transpose(1, 2)[..., None]
    assert torch.equal(made[1], near / 1.25)
    assert torch.equal(pointnet2_batch.QueryAndGroup(1.25, 6)(points, centres, features)[:, 3:], mmcv.grouping_operation(features, pointnet2_batch.ball_query(1.25, 6, points, centres)))


def test_samples(batch):
    points, _, features = batch
    rows = mmcv.furthest_point_sample(points, 12)
    distances = ((points[:, :, None] - points[:, None]) ** 2).sum(-1)
    assert torch.equal(rows, mmcv.furthest_point_sample_with_dist(distances, 12))
    both = torch.cat([points, features.transpose(1, 2)], 2)
    by_features = mmcv.PointsSampler([5, 4], ["FS", "D-FPS"], [50, -1])(points, features)
    assert by_features.shape == (2, 14)
    assert torch.equal(by_features[:, 5:10], mmcv.furthest_point_sample(points[:, :50], 5))
    assert torch.equal(by_features[:, 10:], mmcv.furthest_point_sample(points[:, 50:], 4) + 50)
    exact = ((both[:, :50, None].double() - both[:, None, :50].double()) ** 2).sum(-1)
    assert torch.equal(by_features[:, :5], mmcv.furthest_point_sample_with_dist(exact, 5))
    flat, counts = points.reshape(-1, 3), torch.tensor([80, 80])
    stacked = pointnet2_stack.stack_farthest_point_sample(flat, counts, [12, 3])
    assert stacked.tolist() == [*rows[0].tolist(), *(80 + rows[1, :3]).tolist()]


def test_neighbours_and_interpolation(batch):
    points, centres, features = batch
    distance, rows = mmcv.three_nn(centres, points)
    away = ((centres[:, :, None] - points[:, None]) ** 2).sum(-1)
    ordered = away.sort(dim=2, stable=True)
    assert torch.equal(rows.long(), ordered.indices[..., :3]) and torch.equal(distance, ordered.values[..., :3].sqrt())
    assert torch.equal(mmcv.knn(7, points, centres).transpose(1, 2).long(), ordered.indices[..., :7])
    assert torch.equal(mmcv.knn(7, points.transpose(1, 2), centres.transpose(1, 2), True), mmcv.knn(7, points, centres))
    features.requires_grad_()
    weights = torch.rand(2, 20, 3)
    made = mmcv.three_interpolate(features, rows, weights)
    taken = torch.stack([features[b][:, rows[b].long()] for b in range(2)])
    assert torch.allclose(made, (taken * weights[:, None]).sum(-1), atol=1e-6)
    grad = torch.randn_like(made)
    assert torch.allclose(
        torch.autograd.grad(made, features, grad)[0],
        torch.autograd.grad((taken * weights[:, None]).sum(-1), features, grad)[0],
        atol=1e-5,
    )
    counts = torch.tensor([80, 80])
    of_stack = pointnet2_stack.three_nn(centres.reshape(-1, 3), torch.tensor([20, 20]), points.reshape(-1, 3), counts)
    assert torch.equal(of_stack[1].view(2, 20, 3), rows + torch.tensor([0, 80]).view(2, 1, 1))
    flat = features.detach().transpose(1, 2).reshape(160, 4)
    stacked = pointnet2_stack.three_interpolate(flat, of_stack[1], weights.view(-1, 3))
    assert torch.equal(stacked.view(2, 20, 4).transpose(1, 2), made.detach())


def test_items_of_different_lengths(batch):
    points, centres, features = batch
    flat, counts = points.reshape(-1, 3), torch.tensor([50, 110])
    of, of_counts = torch.cat([centres.reshape(-1, 3), torch.full((1, 3), 99.0)]), torch.tensor([15, 26])
    rows, empty = pointnet2_stack.ball_query(1.25, 6, flat, counts, of, of_counts)
    want = [first_in_ball(flat[:50], c, 1.25, 6) for c in of[:15]] + [first_in_ball(flat[50:], c, 1.25, 6) for c in of[15:]]
    assert rows.tolist() == [rows for rows, _ in want]
    assert empty.tolist() == [count == 0 for _, count in want] and empty[-1]
    assert mmcv.ball_query(0, 1.25, 6, flat, of, counts, of_counts)[-1, 0] == -1
    values = features.transpose(1, 2).reshape(160, 4)
    grouped, _ = pointnet2_stack.QueryAndGroup(1.25, 6)(flat, counts, of, of_counts, values)
    assert grouped.shape == (41, 7, 6) and (grouped[-1] == 0).all()
    starts = torch.tensor([0] * 15 + [50] * 26)[:, None]
    taken = values[(rows + starts).long()].transpose(1, 2)
    assert torch.equal(grouped[:, 3:], torch.where(empty[:, None, None], 0.0, taken))


@pytest.mark.parametrize("is_centred", [False, True])
def test_cells_around_centres(is_centred):
    torch.manual_seed(1)
    points = torch.rand(120, 3) * torch.tensor([10.0, 8.0, 4.0])
    items = torch.arange(120) % 2
    of = points.long()
    if is_centred:
        # Many distances are the radius, which counts.
        points = of + 0.5
    cells = torch.full((2, 4, 8, 10), -1)
    for row, (item, (x, y, z)) in enumerate(zip(items.tolist(), of.tolist())):
        cells[item, z, y, x] = row
    # The last centre has no cell near it.
    coords = torch.cat([torch.cat([items[:, None], of.flip(1)], 1), torch.tensor([[1, -9, 0, 0]])])
    centres = torch.cat([points, points[:1]])
    rows, empty = pointnet2_stack.voxel_query([1, 2, 2], 2.0, 4, points, centres, coords, cells)
    is_at_radius = False
    for i, (item, z, y, x) in enumerate(coords.tolist()):
        want = []
        for a in range(max(z - 1, 0), min(z + 2, 4)):
            for b in range(max(y - 2, 0), min(y + 3, 8)):
                for c in range(max(x - 2, 0), min(x + 3, 10)):
                    row = int(cells[item, a, b, c])
                    squared = float(((points[row] - centres[i]) ** 2).sum())
                    if row >= 0 and squared <= 4 and len(want) < 4:
                        want.append(row)
                        is_at_radius |= squared == 4
        assert rows[i].tolist() == ((want + want[:1] * 4)[:4] if want else [0] * 4)
    assert empty.nonzero().tolist() == [[120]] and is_at_radius == is_centred


def test_wider_boxes():
    points = torch.tensor([[[2.4, 0.0, 0.9], [0.0, 0.0, 1.6], [0.0, 1.4, 0.0]]])
    boxes = torch.tensor([[[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]]])
    pooled, empty = pcdet.RoIPointPool3d(2, [1.0, 1.0, 1.0])(points, torch.ones(1, 3, 1), boxes)
    assert pooled[0, 0, :, :3].tolist() == [points[0, 0].tolist(), points[0, 2].tolist()] and empty.tolist() == [[0]]
    assert pcdet.RoIPointPool3d(2, 0.0)(points, torch.ones(1, 3, 1), boxes)[1].tolist() == [[1]]
