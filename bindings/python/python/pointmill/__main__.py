"""The command ``pointmill``, also as ``python -m pointmill``."""

import sys

from ._pointmill import command


def main() -> int:
    """Run the command with the arguments of the process, and return its exit code."""
    return command(["pointmill", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
