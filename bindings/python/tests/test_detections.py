"""Scores of detections, of files and of columns."""

import json

import numpy as np
import pytest

import pointmill
from test_threads import interrupted

RNG = np.random.default_rng(7)


def street(frames=20, per_frame=12):
    """Truth of nuScenes and what a detector found: moved, doubled, missed."""
    n = frames * per_frame
    classes = RNG.choice(["car", "pedestrian", "barrier"], n)
    boxes = np.concatenate([RNG.uniform([-40, -40, -1], [40, 40, 1], (n, 3)), RNG.uniform(0.5, 5, (n, 3)), RNG.uniform(-3, 3, (n, 1))], 1)
    truth = {
        "frames": np.repeat([f"s{i:03}" for i in range(frames)], per_frame),
        "classes": classes,
        "boxes": boxes,
        "num_points": np.full(n, 9),
        "velocities": RNG.normal(0, 2, (n, 2)),
        "attributes": np.where(classes == "car", "vehicle.moving", np.where(classes == "pedestrian", "pedestrian.moving", "")),
        "from_ego": boxes[:, :2],
    }
    rows = np.sort(np.concatenate([RNG.permutation(n)[: n // 2], RNG.permutation(n)[: n // 2]]))
    found = {key: values[rows] for key, values in truth.items() if key not in ("num_points", "from_ego")}
    found["boxes"] = found["boxes"] + RNG.normal(0, 0.3, (len(rows), 7)) * [1, 1, 0.1, 0, 0, 0, 0.1]
    found["scores"] = RNG.uniform(0, 1, len(rows))
    return found, truth


def as_json(columns, path):
    """What the reader of nuScenes' files reads: the same boxes."""
    samples = {}
    for i, frame in enumerate(columns["frames"]):
        x, y, z, dx, dy, dz, yaw = map(float, columns["boxes"][i])
        box = {
            "sample_token": str(frame),
            "translation": [x, y, z],
            "size": [dy, dx, dz],
            "rotation": [np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)],
            "velocity": list(map(float, columns["velocities"][i])),
            "detection_name": str(columns["classes"][i]),
            "detection_score": float(columns["scores"][i]) if "scores" in columns else -1.0,
            "attribute_name": str(columns["attributes"][i]),
        }
        if "from_ego" in columns:
            box |= {"ego_translation": [*map(float, columns["from_ego"][i]), 0.0], "num_pts": int(columns["num_points"][i])}
        samples.setdefault(str(frame), []).append(box)
    path.write_text(json.dumps(samples))
    return path


def close(a, b):
    assert (a is None) == (b is None) and (a is None or a == pytest.approx(b, abs=1e-12)), (a, b)


def test_columns_and_files_are_one(tmp_path):
    found, truth = street()
    files = pointmill.evaluate_detections(
        as_json(found, tmp_path / "found.json"), as_json(truth, tmp_path / "truth.json"), protocol="nuscenes"
    )
    columns = pointmill.evaluate_detections(found, truth, protocol="nuscenes")
    assert columns.frames == 20 and 0 < columns.nds < 1 and columns.changes is None
    for name in ("mean_ap", "nds", "cds", "translation_error", "orientation_error", "velocity_error", "attribute_error"):
        close(getattr(files, name), getattr(columns, name))
    assert len(files.precisions) == len(columns.precisions) == 40
    for a, b in zip(files.precisions, columns.precisions):
        close(a.ap, b.ap)
        # These columns have the order of the file.
        for rows in ("true_predictions", "found_truth", "false_predictions", "missed_truth"):
            assert np.array_equal(getattr(a, rows), getattr(b, rows))


def test_rows_are_those_of_the_caller():
    found, truth = street()
    mixed = RNG.permutation(len(found["scores"]))
    want = pointmill.evaluate_detections(found, truth, protocol="nuscenes")
    have = pointmill.evaluate_detections({k: v[mixed] for k, v in found.items()}, truth, protocol="nuscenes")
    assert (want.nds, want.mean_ap) == (have.nds, have.mean_ap)
    for a, b in zip(want.precisions, have.precisions):
        assert sorted(mixed[b.true_predictions]) == a.true_predictions.tolist()
        assert sorted(mixed[b.false_predictions]) == a.false_predictions.tolist()
        assert b.missed_truth.tolist() == a.missed_truth.tolist()
        same_class = truth["classes"] == b.class_name
        assert len(b.found_truth) + len(b.missed_truth) + len(b.ignored_truth) == same_class.sum()
        pairs = zip(mixed[b.true_predictions], b.found_truth)
        assert sorted(pairs) == sorted(zip(a.true_predictions, a.found_truth))


def test_kitti_truth_against_itself_and_a_run_that_lost_a_box():
    n = 60
    truth = {
        "frames": np.arange(n) // 3,
        "classes": np.repeat("Car", n),
        "boxes": np.concatenate([np.tile([0, 10, -1], (n, 1)) + np.arange(n)[:, None] % 3 * [[8, 0, 0]], np.tile([4, 1.8, 1.5], (n, 1)), RNG.uniform(-3, 3, (n, 1))], 1),
        "image_boxes": np.tile([100.0, 100, 160, 170], (n, 1)) + np.arange(n)[:, None] % 3 * [[90, 0, 90, 0]],
    }
    truth["scores"] = np.linspace(-1, 0, n)
    report = pointmill.evaluate_detections(truth, truth, protocol="kitti")
    assert report.mean_ap == 1.0 and report.nds is None and report.classes == []
    less = {key: values[1:] for key, values in truth.items()}
    gate = pointmill.evaluate_detections(less, truth, protocol="kitti", compare=truth)
    assert [(c.class_name, c.frame, c.row, c.before, c.after, c.verdict) for c in gate.changes] == [("Car", "0", 0, "true", "missed", "worse")]
    back = pointmill.evaluate_detections(truth, truth, protocol="kitti", compare=less)
    assert [c.verdict for c in back.changes] == ["better"]
    assert "mean_ap=1.0" in repr(report) and "Car, 3d" in repr(next(p for p in report.precisions if p.metric == "3d"))


def test_frames_without_predictions(tmp_path):
    found, truth = street(4)
    some = {key: values[found["frames"] != "s002"] for key, values in found.items()}
    assert pointmill.evaluate_detections(some, truth, protocol="nuscenes").frames == 4
    none = {key: values[:0] for key, values in found.items()}
    report = pointmill.evaluate_detections(none, truth, protocol="nuscenes")
    assert report.mean_ap == 0 and all(len(p.true_predictions) == 0 for p in report.precisions)
    other = some | {"frames": np.where(some["frames"] == "s001", "elsewhere", some["frames"])}
    # A sample that one side alone has is without boxes of the other.
    assert pointmill.evaluate_detections(other, truth, protocol="nuscenes").frames == 5


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"boxes": np.zeros((4, 6))}, ValueError, r"truth: expected the column boxes of shape \[N, 7\], got"),
        ({"frames": ["a"]}, ValueError, r'truth\["frames"\]: expected \d+ names, as boxes has rows, got 1'),
        ({"classes": 3}, TypeError, r'truth\["classes"\]: expected a list or array of names'),
        ({"num_points": [1.0]}, ValueError, r'truth\["num_points"\]: expected \d+ rows of 1 as boxes has rows'),
        ({"attributes": np.repeat("flying", 48)}, ValueError, r'truth\["attributes"\]: expected one of pedestrian'),
        ({"boxes": np.full((48, 7), np.nan)}, ValueError, "truth: row 0: box: x: expected .*, got NaN"),
    ],
)
def test_what_is_refused(change, error, words):
    truth = street(4)[1]
    with pytest.raises(error, match=words):
        pointmill.evaluate_detections(truth | {"scores": np.ones(48)}, truth | change, protocol="nuscenes")


def test_what_nobody_needs_is_not_read():
    found, truth = street(4)
    want = pointmill.evaluate_detections(found, truth, protocol="nuscenes")
    with pytest.warns(UserWarning, match="truth: columns that are not read: colour; those that are: frames, "):
        have = pointmill.evaluate_detections(found, truth | {"colour": "red", "scores": [np.nan]}, protocol="nuscenes")
    assert have.nds == want.nds and len(have.warnings) == len(want.warnings) + 1
    with pytest.raises(ValueError, match="predictions: expected the column scores, got none; give ones if all"):
        pointmill.evaluate_detections({k: v for k, v in found.items() if k != "scores"}, truth, protocol="nuscenes")


def test_classes_come_in_any_collection():
    found, truth = street(4)
    want = pointmill.evaluate_detections(found, truth, protocol="nuscenes")
    names = found["classes"].tolist()
    for classes in (names, tuple(names), dict(enumerate(names)).values(), iter(names), np.array(names, object)):
        assert pointmill.evaluate_detections(found | {"classes": classes}, truth, protocol="nuscenes").nds == want.nds
    for classes, words in (("car", "a list or array of names"), (iter([*names, "car"]), f"{len(names)} names")):
        with pytest.raises((TypeError, ValueError), match=rf'predictions\["classes"\]: expected {words}'):
            pointmill.evaluate_detections(found | {"classes": classes}, truth, protocol="nuscenes")


def test_scores_below_0_are_scores():
    found, truth = street(4)

    def fates(scores):
        report = pointmill.evaluate_detections(found | {"scores": scores}, truth, protocol="nuscenes")
        return report.mean_ap, [[p.true_predictions.tolist(), p.false_predictions.tolist()] for p in report.precisions]

    want = fates(found["scores"])
    assert want[0] > 0 and fates(found["scores"] - 2) == want
    # A score of -1 is one too: the boxes count in the order of their rows.
    assert fates(np.full(len(found["scores"]), -1.0)) == fates(np.full(len(found["scores"]), 0.5))


@pytest.mark.parametrize("after", [0.05, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("kind", ["columns", "file"])
def test_an_interrupt_is_answered_at_once(kind, after, tmp_path):
    """Wherever it comes: while names are taken over, files are read, boxes are matched, arrays are made."""
    n = 600_000
    rows = np.arange(n)
    truth = {
        "frames": (rows // 300).tolist(),
        "classes": ["Car"] * n,
        "boxes": np.stack([rows % 30 * 1.0, rows // 30 % 10 * 1.0, *(rows * 0 + x for x in (0, 4, 2, 1.5, 0.3))], 1),
        "image_boxes": np.tile([100.0, 100, 160, 170], (n, 1)) + (rows % 30)[:, None],
        "scores": rows % 97 / 97,
    }
    if kind == "file":
        path = tmp_path / "boxes.txt"
        line = "{} {} Car 0 0 0 {} 170 {} 230 1.6 1.7 3.2 {} 1.7 {} 0.5 0.{}\n"
        path.write_text("".join(line.format(i // 300, i, i % 30, i % 30 + 50, i % 30, i // 30 % 10, i % 89 + 10) for i in range(n)))
        truth = path
    assert interrupted(lambda: pointmill.evaluate_detections(truth, truth, protocol="kitti"), after) < 0.5


def test_refused_arguments(tmp_path):
    truth = street(4)[1]
    with pytest.raises(ValueError, match="protocol: .*kitti"):
        pointmill.evaluate_detections(truth, truth, protocol="waymo")
    with pytest.raises(TypeError, match="predictions: expected a path, or a dict of columns, got int"):
        pointmill.evaluate_detections(3, truth, protocol="av2")
    with pytest.raises(ValueError, match="truth: expected the column image_boxes, which protocol kitti needs, got none"):
        pointmill.evaluate_detections(truth, truth, protocol="kitti")
    with pytest.raises(FileNotFoundError):
        pointmill.evaluate_detections(tmp_path / "none.json", tmp_path / "none.json", protocol="nuscenes")
