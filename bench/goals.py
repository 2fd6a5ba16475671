"""Measures every operator on one GPU in one run, and prints a Markdown table: now, goal, others.

    python3 bench/goals.py --pointmill target/release/pointmill-bench --kitti 0000000000.bin --nuscenes sweeps.pcd.bin \\
        --bunny bun045.ply bun000.ply

Times are medians of the device's clock in milliseconds. A goal is what the project aims at, others
is the fastest published result for the same work on the same kind of GPU. Cases without their file
are left out. Python 3.10 or later, no packages; the machine needs nvidia-smi.
"""

import argparse
import json
import subprocess

# The arguments of `pointmill-bench`, the file that they need, and its cases: name, goal, others.
SUITES = [
    (["voxelize"], "kitti", 400, [
        ("mean", 0.0205, "0.067 (random result)"),
        ("points", 0.0235, "0.479"),
        ("mean, sorted", 0.033, "0.883"),
        ("mean, 32 sweeps", 0.35, ""),
        ("mean, sorted, 32 sweeps", None, ""),
    ]),
    (["voxelize"], "nuscenes", 400, [
        ("mean", 0.034, "0.116 (random result)"),
        ("points", 0.044, "0.588"),
        ("mean, sorted", 0.052, "0.700"),
    ]),
    (["voxelize", "--points", "1000000"], "kitti", 100, [("mean", None, ""), ("mean, sorted", None, "")]),
    (["voxelize", "--points", "10000000"], "kitti", 30, [("mean", 0.10, ""), ("mean, sorted", None, "")]),
    (["voxelize", "--points", "100000000"], "kitti", 10, [("mean", 0.70, ""), ("mean, sorted", None, "")]),
    (["voxelize"], None, 100, [
        ("sort u32 pairs", [0.026, 0.048, 0.305], ["", "", "0.354 (CUB)"]),
    ]),
    (["roi-pool"], None, 200, [
        ("street, 128 boxes: dense, max", 0.044, "3.46"),
        ("street, 128 boxes: csr, max", 0.021, ""),
        ("street, 128 boxes: sparse, max", 0.0175, ""),
        ("street, 128 boxes: backward of dense, max", 0.011, "0.024"),
        ("crowded, 128 boxes: dense, max", 0.060, "4.83"),
        ("crowded, 128 boxes: sparse, max", 0.030, ""),
        ("street, 512 boxes: dense, max", 0.205, "38.5"),
        ("street, 512 boxes: sparse, max", 0.068, ""),
        ("street, 512 boxes: backward of dense, max", 0.055, ""),
        ("street, 512 boxes: points in boxes, part", 0.011, "0.42"),
    ]),
    (["ndt"], None, 60, [
        ("build: sweep", 0.045, ""),
        ("build: street, 1 M", 0.08, ""),
        ("build: street, 1 M, in no order", None, ""),
        ("build: street, 10 M", 0.24, ""),
        ("build: street, 10 M, in no order", 0.38, ""),
        ("radius 2 m: street, 1 M", 0.12, ""),
        ("align, 11 steps: street, 10 M", 0.19, "5.0 (published)"),
        ("align, 100 guesses: street, 10 M", 2.2, ""),
        ("align, 64 scans: street, 10 M", 1.1, ""),
    ]),
    (["icp"], "bunny", 40, [
        ("lbvh, build", 0.055, ""),
        ("lbvh, aligned", 0.009, ""),
        ("lbvh, from the start", 0.055, ""),
        ("normals of 20", 0.06, ""),
        ("point-to-point, 78 steps", 1.6, ""),
        ("point-to-plane, 10 steps", 0.42, ""),
        ("gicp, 7 steps", 0.38, ""),
    ]),
]


def measured(command: list[str]) -> tuple[dict, list[dict]]:
    """The GPU and its cases; the CPU, which `pointmill-bench` measures last, is not waited for."""
    begin, cases = {}, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            record = json.loads(line)
            data = record["data"]
            if record["type"] == "begin" and data["device"].startswith("cpu"):
                run.kill()
                return begin, cases
            if record["type"] == "begin":
                begin = data
            elif record["type"] == "bench":
                cases.append(data)
        said = run.stderr.read()
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}: {said.strip()}")
    return begin, cases


def without_input(case: str) -> str:
    """The name of a case without operator and input: what stands behind the colon for voxelize, before it for icp."""
    operator, _, rest = case.partition(" ")
    if operator == "voxelize":
        return rest.rpartition(": ")[2]
    if operator == "icp":
        return rest.rpartition(": ")[0]
    return rest if operator == "ndt" else case


def row(cells: list) -> str:
    return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pointmill", default="target/release/pointmill-bench", help="built with --release")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--kitti", help="a sweep of four columns")
    parser.add_argument("--nuscenes", help="merged sweeps of five columns")
    parser.add_argument("--bunny", nargs=2, metavar=("SOURCE", "TARGET"), help="two clouds to align")
    parser.add_argument("--rounds", type=int, help="of every case, instead of its own number")
    args = parser.parse_args()
    inputs = {
        "kitti": args.kitti and ["--input", args.kitti],
        "nuscenes": args.nuscenes and ["--input", args.nuscenes],
        "bunny": args.bunny and ["--input", args.bunny[0], "--target", args.bunny[1]],
        None: [],
    }
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem", "--format=csv,noheader"]
    machine = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[0]
    lines, commits, rates = [], set(), []
    for bench, file, rounds, cases in SUITES:
        if inputs[file] is None:
            continue
        command = [args.pointmill, *bench, *inputs[file], "--device", args.device, "--json"]
        begin, found = measured([*command, "--rounds", str(args.rounds or rounds)])
        commits.add(begin["commit"])
        rates.append(begin["copy_rate_tb_per_s"])
        for name, *numbers in cases:
            same = [case for case in found if without_input(case["case"]).removesuffix(" of points") == name]
            for at, case in enumerate(same):
                goal, others = (value[at] if isinstance(value, list) else value for value in numbers)
                now = case["device_ms"] or case["median_ms"]
                floor = f"{case['floor_ms']:.4f}" if case["floor_ms"] else None
                kind = bench[0] if file is None else f"{bench[0]}, {file}"
                lines.append(row([kind, name, f"{case['points']:,}", f"{now:.4f}", goal, others, floor]))
            if not same:
                lines.append(row([bench[0], name, None, "not measured", None, None, None]))
    print(f"{machine}; copies {min(rates):.2f} to {max(rates):.2f} TB/s; commit {', '.join(sorted(commits))}\n")
    print(row(["operator", "case", "points", "now", "goal", "others", "floor"]))
    print("|---" * 7 + "|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
