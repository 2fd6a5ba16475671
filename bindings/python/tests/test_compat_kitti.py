"""KITTI's evaluation by the names of OpenPCDet and mmdet3d, against a plain program that follows the definition of the benchmark."""

import math

import numpy as np
import pytest

from pointmill.compat._kitti import OVERLAPS, d3_box_overlap, eval_class, rotate_iou_gpu_eval
from pointmill.compat._kitti_reports import do_eval, do_eval_of_types, get_official_eval_result, kitti_eval

LEVELS = ("easy", "moderate", "hard")
NEUTRAL = {"car": "van", "pedestrian": "person_sitting"}


# The definition


def corners(x, y, length, width, angle):
    c, s = math.cos(angle), math.sin(angle)
    local = [(length / 2, width / 2), (-length / 2, width / 2), (-length / 2, -width / 2), (length / 2, -width / 2)]
    return [(x + c * u + s * v, y - s * u + c * v) for u, v in local]


def area(polygon):
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1])) / 2


def shared(a, b):
    """The area of a polygon that is cut by each edge of another; both turn left."""
    for start, end in zip(b, b[1:] + b[:1]):
        side = [(end[0] - start[0]) * (p[1] - start[1]) - (end[1] - start[1]) * (p[0] - start[0]) for p in a]
        rest = []
        for i, (p, s) in enumerate(zip(a, side)):
            q, t = a[(i + 1) % len(a)], side[(i + 1) % len(a)]
            if s >= 0:
                rest.append(p)
            if (s > 0 > t) or (s < 0 < t):
                rest.append((p[0] + (q[0] - p[0]) * s / (s - t), p[1] + (q[1] - p[1]) * s / (s - t)))
        a = rest
        if len(a) < 3:
            return 0.0
    return area(a)


def of_row(anno, i):
    (length, height, width), (x, y, z) = anno["dimensions"][i], anno["location"][i]
    return x, y, z, length, height, width, anno["rotation_y"][i]


def overlap(metric, a, i, b, j):
    if metric == 0:
        (l, t, r, d), (m, u, s, e) = a["bbox"][i], b["bbox"][j]
        both = max(0, min(r, s) - max(l, m)) * max(0, min(d, e) - max(t, u))
        return both / ((r - l) * (d - t) + (s - m) * (e - u) - both)
    x, y, z, length, height, width, turn = of_row(a, i)
    x2, y2, z2, length2, height2, width2, turn2 = of_row(b, j)
    both = shared(corners(x, z, length, width, turn), corners(x2, z2, length2, width2, turn2))
    sizes = length * width, length2 * width2
    if metric == 2:
        both *= max(0, min(y, y2) - max(y - height, y2 - height2))
        sizes = sizes[0] * height, sizes[1] * height2
    return both / (sum(sizes) - both)


class Frame:
    """What a frame has for a class at a level."""

    def __init__(self, truth, found, name, metric, level, least):
        height = lambda anno, i: anno["bbox"][i][3] - anno["bbox"][i][1]  # noqa: E731
        least_height, occluded, truncated = [(40, 0, 0.15), (25, 1, 0.3), (25, 2, 0.5)][level]
        self.objects, regions = [], []
        for i, own in enumerate(map(str.lower, truth["name"])):
            plain = truth["occluded"][i] <= occluded and truth["truncated"][i] <= truncated and height(truth, i) > least_height
            if own in (name, NEUTRAL.get(name)):
                self.objects.append((i, own == name and plain))
            elif own == "dontcare":
                regions.append(truth["bbox"][i])
        self.boxes = {}
        for j, own in enumerate(map(str.lower, found["name"])):
            small = height(found, j) < least_height
            if small or own == name:
                l, t, r, d = found["bbox"][j]
                inside = [max(0, min(r, s) - max(l, m)) * max(0, min(d, e) - max(t, u)) / ((r - l) * (d - t)) for m, u, s, e in regions]
                self.boxes[j] = (found["score"][j], small, metric == 0 and any(part > least for part in inside))
        self.pairs = {(i, j): overlap(metric, found, j, truth, i) for i, _ in self.objects for j in self.boxes}
        self.least, self.angles = least, (truth["alpha"], found["alpha"])

    def scores(self):
        """Of what is found if each object takes the surest box."""
        taken, out = set(), []
        for i, counts in self.objects:
            free = [j for j in self.boxes if j not in taken and self.pairs[i, j] > self.least]
            if free:
                best = max(free, key=lambda j: (self.boxes[j][0], -j))
                taken.add(best)
                if counts and not self.boxes[best][1]:
                    out.append(self.boxes[best][0])
        return out

    def counts(self, score):
        """Hits, false boxes, misses, and how alike the hits are, if each object takes the box of the largest overlap."""
        taken, hits, misses, alike = set(), 0, 0, 0.0
        for i, counts in self.objects:
            free = [j for j in self.boxes if j not in taken and self.pairs[i, j] > self.least and self.boxes[j][0] >= score]
            large = [j for j in free if not self.boxes[j][1]]
            best = max(large, key=lambda j: (self.pairs[i, j], -j)) if large else next(iter(free), None)
            if best is None:
                misses += counts
                continue
            taken.add(best)
            if counts and large:
                hits += 1
                alike += (1 + math.cos(self.angles[0][i] - self.angles[1][best])) / 2
        false = sum(1 for j, (own, small, ignored) in self.boxes.items() if own >= score and not small and not ignored and j not in taken)
        return np.array([hits, false, misses, alike])


def definition(truth, found, name, metric, level, least):
    """Recall, precision and orientation at 41 recalls."""
    frames = [Frame(*pair, name, metric, level, least) for pair in zip(truth, found)]
    scores = sorted((score for frame in frames for score in frame.scores()), reverse=True)
    count = sum(counts for frame in frames for _, counts in frame.objects)
    chosen, recall = [], 0.0
    for k, score in enumerate(scores):
        here, then = (k + 1) / count, (k + 2) / count
        if k + 1 == len(scores) or then - recall >= recall - here:
            chosen.append(score)
            recall += 1 / 40
    curve = np.zeros((3, 41))
    for k, score in enumerate(chosen[:41]):
        hits, false, misses, alike = sum(frame.counts(score) for frame in frames)
        curve[:, k] = [hits / (hits + misses), hits / (hits + false), alike / (hits + false)]
    return np.maximum.accumulate(curve[:, ::-1], 1)[:, ::-1]


# Boxes


def street(seed, frames=30, per_frame=9):
    """Truth of KITTI and what a detector found: moved, doubled, missed, of other classes, small."""
    rng = np.random.default_rng(seed)
    truth, found = [], []
    for _ in range(frames):
        n = rng.integers(0, per_frame + 1)
        names = rng.choice(["Car", "Pedestrian", "Cyclist", "Van", "Person_sitting", "Truck", "DontCare"], n, p=[0.5, 0.15, 0.1, 0.08, 0.05, 0.02, 0.1])
        at = rng.uniform(0, 300, (n, 2))
        size = rng.uniform([30, 22], [160, 90], (n, 2))
        gt = {
            "name": names,
            "truncated": rng.choice([0.0, 0.1, 0.2, 0.4, 0.9], n, p=[0.5, 0.2, 0.1, 0.1, 0.1]),
            "occluded": rng.choice([0, 1, 2, 3], n, p=[0.5, 0.2, 0.2, 0.1]),
            "alpha": rng.uniform(-3, 3, n),
            "bbox": np.concatenate([at, at + size], 1),
            "dimensions": rng.uniform([3, 1.2, 1.5], [5, 2, 2], (n, 3)),
            "location": rng.uniform([-15, 1, 5], [15, 2, 40], (n, 3)),
            "rotation_y": rng.uniform(-3, 3, n),
        }
        rows = np.concatenate([rng.permutation(n)[: n * 3 // 4], rng.permutation(n)[: n // 3]]).astype(int)
        m = len(rows)
        dt = {key: gt[key][rows] for key in ("name", "alpha", "bbox", "dimensions", "location", "rotation_y")}
        dt["name"] = np.where((rng.uniform(size=m) < 0.1) | (dt["name"] == "DontCare"), "Car", dt["name"])
        dt["bbox"] = dt["bbox"] + rng.normal(0, 2, (m, 4))
        dt["location"] = dt["location"] + rng.normal(0, 0.12, (m, 3))
        dt["rotation_y"] = dt["rotation_y"] + rng.normal(0, 0.1, m)
        dt["alpha"] = dt["alpha"] + rng.normal(0, 0.8, m)
        dt["score"] = rng.normal(0, 1, m)
        truth.append(gt)
        found.append(dt)
    return truth, found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_curves_are_those_of_the_definition(seed):
    truth, found = street(seed, frames=[30, 60, 8][seed])
    places = [0, 1, 2, 3]
    for metric in range(3):
        have = eval_class(truth, found, places, [0, 1, 2], metric, OVERLAPS[:, :, places], True)
        for c, name in enumerate(["car", "pedestrian", "cyclist", "van"]):
            for level in range(3):
                for k in range(2):
                    want = definition(truth, found, name, metric, level, OVERLAPS[k, metric, c])
                    for kind, curve in zip(("recall", "precision", "orientation"), want):
                        assert np.allclose(have[kind][c, level, k], curve, atol=1e-9), (metric, name, level, k, kind)
        assert have["precision"][0].max() > 0.3


def test_official_results():
    truth, found = street(5)
    curves = {}
    text, figures = get_official_eval_result(truth, found, ["Car", 1], curves)
    lines = text.splitlines()
    assert len(lines) == 2 * 2 * 10 and text.endswith("\n") and len(figures) == 2 * 2 * 4 * 3
    assert lines[0] == "Car AP@0.70, 0.70, 0.70:" and lines[5] == "Car AP_R40@0.70, 0.70, 0.70:"
    assert lines[10] == "Car AP@0.70, 0.50, 0.50:" and lines[30] == "Pedestrian AP@0.50, 0.25, 0.25:"
    for place, (metric, key) in enumerate([("bbox", "image"), ("bev", "bev"), ("3d", "3d")]):
        wants = [definition(truth, found, "car", place, level, 0.7)[1] for level in range(3)]
        for start, ending, mean in ((0, "", lambda p: p[::4].mean()), (5, "_R40", lambda p: p[1:].mean())):
            averages = [100 * mean(curve) for curve in wants]
            assert lines[start + 1 + place] == f"{metric:<4} AP:" + ", ".join(f"{x:.4f}" for x in averages)
            for level, want in zip(LEVELS, averages):
                assert abs(figures[f"Car_{key}_{level}{ending}"] - want) < 1e-4
    assert lines[4].startswith("aos  AP:") and len(lines[4].split(".")[1].split(",")[0]) == 2
    assert set(curves) == {"bbox", "bev", "3d", "aos"} and curves["3d"].shape == (2, 3, 2, 41)
    assert np.array_equal(do_eval(truth, found, [0, 1], OVERLAPS[:, :, :2], True)[6][0, :, 0], [figures[f"Car_3d_{level}_R40"] for level in LEVELS])
    unknown = [anno | {"alpha": np.full(len(anno["name"]), -10.0)} for anno in found]
    text, figures = get_official_eval_result(truth, unknown, "Car")
    assert "aos" not in text and len(figures) == 2 * 3 * 3 and do_eval(truth, unknown, [0], OVERLAPS[:, :, :1])[3] is None


@pytest.mark.parametrize(
    "classes",
    [
        ("Car", "Cyclist"),
        {"Car": 0, "Cyclist": 1},
        {"Car": 0, "Cyclist": 1}.keys(),
        {0: "Car", 1: "Cyclist"}.values(),
        {0: "Car", 2: "Cyclist"},
        np.array(["Car", "Cyclist"]),
        np.array([0, 2], np.uint8),
        iter(["Car", 2]),
    ],
    ids=lambda of: type(of).__name__,
)
def test_classes_come_in_any_collection(classes):
    truth, found = street(9, 8)
    assert get_official_eval_result(truth, found, classes) == get_official_eval_result(truth, found, ["Car", "Cyclist"])
    assert get_official_eval_result(truth, found, np.int64(2)) == get_official_eval_result(truth, found, "Cyclist")


def test_results_of_mmdet3d():
    truth, found = street(6)
    text, figures = kitti_eval(truth, found, ["Car", "Cyclist"])
    official = get_official_eval_result(truth, found, ["Car", "Cyclist"])[1]
    assert text.startswith("\n----------- AP11 Results ------------\n\nCar AP11@0.70, 0.70, 0.70:\nbbox AP11:")
    assert "\n\nOverall AP40@easy, moderate, hard:\nbbox AP40:" in text and text.count("aos  AP11:") == 5
    assert len(figures) == 2 * 3 * 3 * (2 * 2 + 1)
    for key, name in (("2D", "image"), ("BEV", "bev"), ("3D", "3d")):
        each = [official[f"{one}_{name}_hard_R40"] for one in ("Car", "Cyclist")]
        assert figures[f"KITTI/Car_{key}_AP40_hard_strict"] == each[0] and figures[f"KITTI/Overall_{key}_AP40_hard"] == np.mean(each)
    types = ["bev"]
    text, figures = kitti_eval(truth, found, "Car", types)
    assert "bbox" not in text and "Overall" not in text and len(figures) == 12 and types == ["bev"]
    averages = do_eval_of_types(truth, found, [0], OVERLAPS[:, :, :1], ["bbox", "aos"])
    assert [one is None for one in averages] == [False, True, True, False] * 2
    with pytest.raises(ValueError, match="eval_types: expected 'bbox' beside 'aos'"):
        kitti_eval(truth, found, "Car", ["3d", "aos"])
    with pytest.raises(ValueError, match="eval_types: expected some of bbox, bev, 3d, and aos, got .'2d'"):
        kitti_eval(truth, found, "Car", ["2d"])


def test_frames_without_boxes_and_boxes_that_are_no_numbers():
    truth, found = street(7, 20)
    none = {key: values[:0] for key, values in found[0].items()}
    text, figures = get_official_eval_result(truth, [none] * 20, "Car")
    assert set(figures.values()) == {0.0} and "nan" not in text
    assert set(get_official_eval_result([{k: v[:0] for k, v in truth[0].items()}] * 20, found, "Car")[1].values()) == {0.0}
    assert get_official_eval_result([], [], "Car")[0].count(":0.0000, 0.0000, 0.0000") == 12
    broken = [anno | {"location": anno["location"] * np.nan} for anno in found]
    figures = get_official_eval_result(truth, broken, "Car")[1]
    assert figures["Car_3d_hard"] == 0 and figures["Car_image_hard"] == get_official_eval_result(truth, found, "Car")[1]["Car_image_hard"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": None}, r"dt_annos\[0\]: expected the key 'score', got name, "),
        ({"bbox": np.zeros((2, 3))}, r"dt_annos\[0\]\['bbox'\]: expected \d+ rows of 4, as 'name' has rows, got shape \[2, 3\]"),
    ],
)
def test_what_is_refused(change, words):
    truth, found = street(8, 3)
    bad = {key: value for key, value in (found[0] | change).items() if value is not None}
    with pytest.raises(ValueError, match=words):
        get_official_eval_result(truth, [bad, *found[1:]], "Car")


def test_refused_classes_and_lengths():
    truth, found = street(8, 3)
    with pytest.raises(ValueError, match="current_classes: expected some of Car, .*, or their places, got 'Tram'"):
        get_official_eval_result(truth, found, ["Tram"])
    with pytest.raises(ValueError, match="current_classes: .*, got 5"):
        kitti_eval(truth, found, 5)
    with pytest.raises(ValueError, match="current_classes: .*, got 0.5"):
        kitti_eval(truth, found, [0.5])
    with pytest.raises(ValueError, match="dt_annos: expected 3 frames, as gt_annos, got 2"):
        get_official_eval_result(truth, found[:2], "Car")
    with pytest.raises(ValueError, match=r"min_overlaps: expected an array of shape \[K, 3, 2\], got shape \[2, 3, 1\]"):
        do_eval(truth, found, [0, 1], OVERLAPS[:, :, :1])


def test_overlaps_of_rectangles_and_volumes():
    rng = np.random.default_rng(3)
    a, b = rng.uniform([0, 0, 0.5, 0.5, -4], [6, 6, 4, 4, 4], (40, 5)), rng.uniform([0, 0, 0.5, 0.5, -4], [6, 6, 4, 4, 4], (30, 5))
    want = np.array([[shared(corners(*p), corners(*q)) for q in b] for p in a])
    sizes, others = a[:, 2] * a[:, 3], b[:, 2] * b[:, 3]
    for criterion, part in ((-1, sizes[:, None] + others - want), (0, others), (1, sizes[:, None]), (2, 1)):
        have = rotate_iou_gpu_eval(a, b, criterion, device_id=3)
        assert have.dtype == np.float32 and have.shape == (40, 30) and np.allclose(have, want / part, atol=1e-5), criterion
    turned = np.column_stack([np.zeros((200, 2)), np.tile([4, 2], (200, 1)), rng.uniform(-9, 9, 200)])
    assert (rotate_iou_gpu_eval(turned, turned).diagonal() == 1).all()
    x, y = rng.uniform([0, 0, 0, 1, 1, 1, -4], [4, 2, 4, 4, 3, 3, 4], (20, 7)), rng.uniform([0, 0, 0, 1, 1, 1, -4], [4, 2, 4, 4, 3, 3, 4], (10, 7))
    anno = lambda boxes: {"location": boxes[:, :3], "dimensions": boxes[:, 3:6], "rotation_y": boxes[:, 6]}  # noqa: E731
    want = np.array([[overlap(2, anno(x), i, anno(y), j) for j in range(10)] for i in range(20)])
    assert np.allclose(d3_box_overlap(x, y), want, atol=1e-5)
    volumes, others = x[:, 3:6].prod(1)[:, None], y[:, 3:6].prod(1)
    both = want / (1 + want) * (volumes + others)
    for criterion, part in ((0, volumes), (1, others), (2, 1)):
        assert np.allclose(d3_box_overlap(x, y, criterion), both / part, atol=1e-4)
    assert rotate_iou_gpu_eval(a[:0], b).shape == (0, 30) and d3_box_overlap(x, y[:0]).shape == (20, 0)
    with pytest.raises(ValueError, match=r"query_boxes: expected an array of shape \[N, 5\], got shape \[30, 4\]"):
        rotate_iou_gpu_eval(a, b[:, :4])
