"""The command ``pointmill``, also as ``python -m pointmill``."""

import signal
import sys

from ._pointmill import command


def main() -> int:
    """Run the command with the arguments of the process, and return its exit code."""
    # The command hears signals itself; Python's own handler would add a traceback when it is done.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["pointmill", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
