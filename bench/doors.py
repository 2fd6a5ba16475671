#!/usr/bin/env python3
"""What a fact costs: lines by hand that the doors have for an operator, and the places that name a parameter.

    python3 bench/doors.py [REVISION...]    of the work tree, and of other commits

A line counts that stands in a top-level item (of Rust, C++ or Python) which names the operator; of a long item that seldom
names it, such as a table of all operators, the lines that do. Tests and what is generated do not count. Doors are Python, torch, C, C++, the browser and the fuzzer; the commands are no doors of arrays.
"""

import pathlib
import re
import subprocess
import sys

DOORS = {
    "Python": ("bindings/python/src/", "bindings/python/stub/tables.py"),
    "torch": ("bindings/python/python/pointmill/_", "bindings/python/python/pointmill/torch.py"),
    "C": ("crates/pointmill-c/src/", "crates/pointmill-c/include/pointmill.hpp"),
    "browser": ("crates/pointmill-wasm/src/",),
    "fuzz": ("fuzz/src/",),
}
OPERATORS = {
    "nms": r"\bnms\b|\bNmsParams\b|\bNmsMetric\b|\bSuppressor\b|\bKept\b|pointmill_(nms|suppressor)|\bNMS\b|_suppress\b|_nms_",
    "downsample": r"\bdownsample\b|\bDownsample\w*\b|pointmill_downsample|\bDOWNSAMPLE\b",
    "voxelize": r"\bvoxelize\b|\bVoxelize\w*\b|\bVoxels\b|pointmill_voxeliz\w*",
    "grid_sample": r"\bgrid_sample\b|\bGridSample\w*\b|\bSampled\b|pointmill_grid_sample\w*",
    "index_pairs": r"\bindex_pairs\b|\bConvParams\b|\bConvPairs\b|\bIndexPairs\b|pointmill_(index_pairs|conv)\w*",
}
# Files that are of one operator: all of their lines count.
OWN = {
    "nms": "boxes/suppress.rs",
    "downsample": "src/downsample.rs",
    "voxelize": "src/voxelize.rs",
    "grid_sample": "sparse/sample.rs",
    "index_pairs": "sparse/pairs.rs",
}
PARAMETERS = ["post_max", "score_threshold", "max_points_per_voxel", "grid_size"]
GENERATED = re.compile(r"\.pyi$|include/pointmill(_workers)?\.h$")
CODE = (".rs", ".py", ".pyi", ".h", ".hpp", ".c", ".cpp", ".js", ".toml")


def is_test(path: str) -> bool:
    parts = pathlib.PurePath(path).parts
    return any(part in ("tests", "benches", "fixtures") for part in parts) or parts[-1].startswith(("test_", "tests."))


def items(text: str) -> list[str]:
    """The top-level items: what stands between blank lines behind which a line is not indented."""
    text = re.split(r"^#\[cfg\(test\)\]", text, maxsplit=1, flags=re.M)[0]
    return re.split(r"\n\n+(?=[^\s})\]])", text)


def lines(item: str, words: str) -> int:
    """The lines of an item that are an operator's."""
    whole = item.splitlines()
    named = sum(bool(re.search(words, line)) for line in whole)
    return named if len(whole) > 40 and 12 * named < len(whole) else len(whole) if named else 0


def files(revision: str | None) -> dict[str, str]:
    if revision is None:
        names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
        found = {name: pathlib.Path(name) for name in names if name.endswith(CODE)}
        return {name: path.read_text(errors="replace") for name, path in found.items() if path.is_file()}
    listed = ["git", "ls-tree", "-r", "--name-only", revision]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\n")
    show = lambda name: subprocess.run(["git", "show", f"{revision}:{name}"], capture_output=True, check=True).stdout
    return {name: show(name).decode(errors="replace") for name in names if name.endswith(CODE)}


def measure(revision: str | None) -> None:
    all_files = {name: text for name, text in files(revision).items() if not is_test(name)}
    print(f"\n{revision or 'work tree'}\n\n| lines by hand | {' | '.join(DOORS)} | all |\n|---|{'---|' * (len(DOORS) + 1)}")
    for operator, words in OPERATORS.items():
        counts = []
        for places in DOORS.values():
            texts = {name: text for name, text in all_files.items() if name.startswith(places) and not GENERATED.search(name)}
            own = sum(len(text.splitlines()) for name, text in texts.items() if name.endswith(OWN[operator]))
            others = [text for name, text in texts.items() if not name.endswith(OWN[operator])]
            counts.append(own + sum(lines(item, words) for text in others for item in items(text)))
        print(f"| {operator} | {' | '.join(map(str, counts))} | {sum(counts)} |")
    print("\n| parameter | files by hand | files generated |\n|---|---|---|")
    for parameter in PARAMETERS:
        at = [name for name, text in all_files.items() if re.search(rf"\b{parameter}\b", text)]
        made = sum(bool(GENERATED.search(name)) for name in at)
        print(f"| `{parameter}` | {len(at) - made} | {made} |")


if __name__ == "__main__":
    for one in [None, *sys.argv[1:]]:
        measure(one)
