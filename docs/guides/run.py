#!/usr/bin/env python3
"""Runs the fenced blocks of the guides, each guide in an empty folder of its own.

The blocks of a page run in order and share the folder. Each block is a program of its own:

- `sh` runs in bash, and fails at the first command that fails; `pointmill` must be on PATH;
- `python` runs in the interpreter that runs this script, which must find the package pointmill;
- `rust` runs as a test of rustdoc against the libraries in the folder that --rlibs names;
- `text` is compared with the stdout of the block before it; `...` matches anything.

A page that begins with `<!-- needs torch -->` is skipped where torch cannot be imported. One that begins with
`<!-- has FILE as NAME -->` finds that file of the repository under the name in its folder. The exit code is 1 if a block fails.
"""

import argparse
import doctest
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HAS = re.compile(r"\A<!-- has (\S+) as (\S+) -->\n")
NEEDS = re.compile(r"\A<!-- needs (\w+) -->\n")
ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATES = ("pointmill", "pointmill_slam", "pointmill_data", "pointmill_io", "pointmill_synth")
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Failed(Exception):
    """A block that did not do what its page says."""


def blocks_of(text):
    """The line, language and text of each block."""
    for match in FENCE.finditer(text):
        yield text[: match.start()].count("\n") + 1, match[1], match[2]


def command_of(language, block, folder, rlibs):
    """The command that runs a block; its program is written into `folder`."""
    if language == "sh":
        return ["bash", "-euo", "pipefail", "-c", block]
    if language == "python":
        program = folder / "block.py"
        program.write_text(block)
        return [sys.executable, str(program)]
    if language == "rust":
        page = folder / "block.md"
        page.write_text(f"```rust\n{block}```\n")
        libraries = [f"--extern={crate}={rlibs}/lib{crate}.rlib" for crate in CRATES]
        command = ["rustdoc", "--test", str(page), "--edition=2024", "--test-run-directory=.", f"-Ldependency={rlibs}/deps"]
        return command + libraries
    raise Failed(f"expected a block of sh, python, rust or text, got {language or 'one without a language'}")


def run_block(language, block, folder, programs, rlibs):
    """Runs one block in `folder` and returns its stdout."""
    command = command_of(language, block, programs, rlibs)
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"the block ended with exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_page(page, rlibs):
    """Runs the blocks of one page and returns how many of them ran and how many were skipped.

    A block of Rust that is skipped leaves out what the rest of the page needs, so the rest is skipped too.
    """
    ran = skipped = 0
    output = None
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
        if has := HAS.match(page.read_text()):
            shutil.copy(ROOT / has[1], pathlib.Path(folder) / has[2])
        for line, language, block in blocks_of(page.read_text()):
            try:
                if skipped or (language == "rust" and rlibs is None):
                    skipped += 1
                elif language == "text":
                    if output is None or not doctest.OutputChecker().check_output(block, output, LIKE):
                        raise Failed(f"expected the output\n{block}got\n{output}")
                else:
                    output = run_block(language, block, pathlib.Path(folder), pathlib.Path(programs), rlibs)
                    ran += 1
            except Failed as failed:
                raise Failed(f"{page}:{line}: {failed}") from None
    if ran + skipped == 0:
        raise Failed(f"{page}: expected at least one block")
    return ran, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="the pages to run; without one, all guides")
    parser.add_argument("--rlibs", type=os.path.abspath, help="the folder that cargo builds into, such as target/debug; without it, a page ends at its first block of rust")
    args = parser.parse_args()
    guides = pathlib.Path(__file__).parent
    failures = 0
    for page in args.pages or sorted(guides.glob("*.md")):
        needed = NEEDS.match(page.read_text())
        if needed and importlib.util.find_spec(needed[1]) is None:
            print(f"{page.name}: skipped, {needed[1]} cannot be imported", flush=True)
            continue
        try:
            ran, skipped = run_page(page, args.rlibs)
            print(f"{page.name}: {ran} blocks ran" + (f", {skipped} from the first of rust on skipped" if skipped else ""), flush=True)
        except Failed as failed:
            failures += 1
            print(failed, flush=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
