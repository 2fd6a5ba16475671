#!/usr/bin/env python3
"""Executes the notebooks, and compares what they print with what stands in them.

    python3 docs/notebooks/run.py [--write] [NOTEBOOK ...]

It needs nbclient, ipykernel, matplotlib and the package pointmill in the interpreter that runs it. A picture must be made
where one stands, and may differ: its bytes depend on the version of matplotlib. `--write` puts text and pictures into the
notebooks. The exit code is 1 if a cell fails or prints another text.
"""

import argparse
import base64
import io
import pathlib
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

COLOURS = 256


def small(picture):
    """A picture as PNG with few colours, which takes less than half of the bytes."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(COLOURS)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def outputs(cell):
    """What is kept of a cell's outputs: text as one string, and pictures."""
    printed = "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout")
    pictures = [one.data["image/png"] for one in cell.outputs if "image/png" in one.get("data", {})]
    return printed, pictures


def run(path, write):
    """Returns what is wrong with a notebook."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stood = [outputs(cell) for cell in cells]
    with tempfile.TemporaryDirectory() as folder:
        try:
            quiet = ["--log-level=ERROR"]
            NotebookClient(notebook, timeout=600, kernel_name="python3", extra_arguments=quiet, resources={"metadata": {"path": folder}}).execute()
        except CellExecutionError as failed:
            return [f"{path.name}: {failed}"]
    wrong = []
    for number, (cell, (text, pictures)) in enumerate(zip(cells, stood)):
        now, made = outputs(cell)
        if write:
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=now)] if now else []
            cell.outputs += [nbformat.v4.new_output("display_data", {"image/png": small(picture)}) for picture in made]
        elif now != text:
            wrong.append(f"{path.name}, code {number}: expected\n{text}got\n{now}")
        elif len(made) != len(pictures):
            wrong.append(f"{path.name}, code {number}: expected {len(pictures)} pictures, got {len(made)}")
        cell.execution_count = None
        cell.metadata.clear()
    if write:
        notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
        nbformat.write(notebook, path)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path, help="the notebooks to run; without one, all beside this program")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    wrong = []
    for path in given.notebooks or sorted(pathlib.Path(__file__).parent.glob("*.ipynb")):
        found = run(path, given.write)
        print(f"{path.name}: {'wrong' if found else 'as it stands'}", flush=True)
        wrong += found
    print("\n".join(wrong), end="")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
