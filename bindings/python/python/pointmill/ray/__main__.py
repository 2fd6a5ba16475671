"""``python -m pointmill.ray build``: :func:`pointmill.ray.build_ndt` from the shell."""

import argparse
import sys

from . import build_ndt


def _origin(text):
    """``auto``, ``none`` or ``X,Y,Z``."""
    if text in ("auto", "none"):
        return text
    x, y, z = _numbers(text)
    return [x, y, z]


def _numbers(text):
    return [float(number) for number in text.split(",")]


def main(args=None):
    parser = argparse.ArgumentParser(prog="python -m pointmill.ray", description="Jobs of pointmill on a Ray cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build a map by blocks of many clouds")
    build.add_argument("inputs", nargs="+", metavar="INPUT", help="files, folders and quoted patterns, local or URLs of fsspec")
    build.add_argument("--resolution", type=float, default=2.0, help="edge of a cell in metres [2]")
    build.add_argument("--poses", help="file of poses: pose i belongs to input i, or by stamp for the clouds of bags")
    build.add_argument("--block", type=float, default=128.0, help="edge of a block in metres [128]")
    build.add_argument("--deskew", choices=["off", "auto", "on"], default="off", help="move each point by the pose of its own time: never, where points and poses have times, always [off]")
    build.add_argument("--local-origin", type=_origin, default="auto", metavar="auto|none|X,Y,Z", help="point that cells and blocks are counted from [auto]")
    build.add_argument("--out", required=True, help="folder of the map, local or a URL of fsspec")
    build.add_argument("--num-gpus", type=float, default=0, help="GPUs of each actor, such as 1 or 0.5 [0: the CPU]")
    build.add_argument("--concurrency", type=int, help="number of actors [one for each CPU but one]")
    build.add_argument("--columns", type=int, help="columns of raw float32 rows")
    build.add_argument("--format", help="format of the inputs")
    build.add_argument("--dataset", help="data set of the inputs")
    build.add_argument("--topic", help="topic of bags")
    build.add_argument("--bounds", type=_numbers, metavar="X0,Y0,X1,Y1", help="read only the points in this part, in global coordinates")
    build.add_argument("--drop-zeros", action="store_true", default=None, help="skip points at exactly (0, 0, 0)")
    build.add_argument("--salvage", action="store_true", default=None, help="read what is whole of inputs that were cut or damaged")
    build.add_argument("--no-resume", action="store_true", help="do all inputs again")
    args = parser.parse_args(args)
    names = ("columns", "format", "dataset", "bounds", "drop_zeros", "salvage")
    read = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    try:
        rows = build_ndt(
            args.inputs,
            resolution=args.resolution,
            poses=args.poses,
            block=args.block,
            out=args.out,
            num_gpus=args.num_gpus,
            concurrency=args.concurrency,
            deskew=args.deskew,
            local_origin=args.local_origin,
            topic=args.topic,
            read=read,
            resume=not args.no_resume,
        )
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failed = points = count = 0
    for row in rows.iter_rows():
        count, points = count + 1, points + row["points"]
        if row["status"] == "failed":
            failed += 1
            print(f"error: {row['path']}: {row['error']}", file=sys.stderr)
    print(f"{count - failed} of {count} inputs, {points:,} points; map: {args.out}")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
