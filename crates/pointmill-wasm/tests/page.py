#!/usr/bin/env python3
"""Opens the page of `just wasm` in headless Chromium, gives it files, and compares SHA-256 with those of the command.

    python3 page.py POINTMILL FOLDER [--chromium CHROMIUM] [--keep FOLDER]

Needs Chromium and no Python package. POINTMILL is the command, FOLDER what `just wasm` built. `--keep` keeps screenshots.
"""

import argparse
import functools
import hashlib
import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "pointmill-cli" / "tests"))
from browser import Browser  # noqa: E402


ENDS = """
import { Clouds as Whole } from "./pointmill.js";
export class Clouds {
  constructor(name, bytes) {
    if (name === "ends.laz") throw new WebAssembly.RuntimeError("unreachable");
    return new Whole(name, bytes);
  }
  static drive() { return Whole.drive(); }
}
"""


class Served(http.server.SimpleHTTPRequestHandler):
    """The folder, and what was asked for."""

    asked = []
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def do_GET(self):
        # No file is known that ends the program, so one of this name does what such a file would.
        if self.path == "/pointmill/index.js":
            text = (pathlib.Path(self.directory) / "pointmill/index.js").read_text() + ENDS
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.end_headers()
            self.wfile.write(text.encode())
        else:
            super().do_GET()

    def log_request(self, *_):
        self.asked.append(f"{self.command} {self.path}")

    def log_message(self, *_):
        pass


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pointmill", type=pathlib.Path)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--chromium", default="chromium")
    arguments.add_argument("--keep", type=pathlib.Path)
    given = arguments.parse_args()
    command = given.pointmill.resolve()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Served, directory=given.folder / "try"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        work = pathlib.Path(work)

        def native(out, *args):
            done = subprocess.run([command, *args, "--device", "cpu", "--out", out], cwd=work, capture_output=True, text=True)
            assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
            return hashlib.sha256((work / out).read_bytes()).hexdigest()

        subprocess.run([command, "synth", "--sweeps", "4", "--format", "ply", "--out", "drive"], cwd=work, check=True, capture_output=True)
        sweeps = sorted(path.relative_to(work) for path in (work / "drive").glob("*.ply"))
        (work / "cut.ply").write_bytes((work / sweeps[0]).read_bytes()[:-5])
        browser = Browser(given.chromium, profile)
        try:
            browser.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/index.html")
            browser.wait("document.getElementById('message')?.textContent === 'The program is loaded.'")
            asked = len(Served.asked)

            def run(operation, files):
                browser.js(f"document.getElementById('operation').value = '{operation}'; document.getElementById('operation').onchange(); delete document.body.dataset.state")
                if files:
                    node = browser.call("Runtime.evaluate", expression="document.getElementById('files')")["result"]["objectId"]
                    browser.call("DOM.setFileInputFiles", files=[str(work / file) for file in files], objectId=node)
                else:
                    browser.js("document.getElementById('drive').click()")
                browser.wait("document.body.dataset.state === 'done'", 120)
                return browser.js("window.results"), browser.js("[...document.querySelectorAll('#errors li')].map(e => e.textContent)"), browser.js("document.getElementById('message').textContent")

            def look(name):
                for width, height in ((1600, 1000), (400, 844)):
                    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                    assert browser.js("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width} px"
                    png = browser.screenshot()
                    if given.keep:
                        given.keep.mkdir(parents=True, exist_ok=True)
                        (given.keep / f"{name}_{width}.png").write_bytes(png)

            look("first")
            assert browser.js("['view', 'cancel', 'progress'].every(id => document.getElementById(id).offsetHeight === 0)")
            for operation, files, out, line in [
                ("odometry", [], "poses.txt", ["odometry"]),
                ("odometry", sweeps, "poses.txt", ["odometry", *sweeps]),
                ("voxelize", sweeps[:1], "voxels.npz", ["voxelize", sweeps[0]]),
                ("downsample", sweeps[:1], "thin.npz", ["downsample", sweeps[0]]),
                ("icp", sweeps[1::-1], "aligned.npz", ["icp", sweeps[1], sweeps[0], "--max-distance", "2"]),
                ("ndt", sweeps[:2], "map.npz", ["ndt", "build", *sweeps[:2]]),
            ]:
                results, errors, message = run(operation, files)
                assert len(results) == 1 and not errors, (operation, results, errors, message)
                assert results[0]["sha256"] == native(out, *line), (operation, results)
                print(f"{operation}: {results[0]['sha256'][:16]}, as the command")
                browser.js("document.getElementById('view').scrollIntoView({block: 'end'})")
                look(operation + ("" if files else "_drive"))
                browser.js("scrollTo(0, 0)")
            _, errors, _ = run("voxelize", [pathlib.Path("cut.ply")])
            told = subprocess.run([command, "voxelize", "cut.ply"], cwd=work, capture_output=True, text=True).stderr
            assert len(errors) == 1 and errors[0] in told, (errors, told)
            look("broken")
            # The page asked for nothing once it was loaded, and wrote no error to its console.
            assert Served.asked[asked:] == [], Served.asked[asked:]
            # A program that ends is loaded anew, and the page goes on.
            (work / "ends.laz").write_bytes(b"LASF")
            for operation in ("voxelize", "odometry"):
                results, errors, message = run(operation, [pathlib.Path("ends.laz")])
                assert not results and not errors and message.startswith("ends.laz: the program ended here"), (results, errors, message)
            look("ended")
            results, errors, message = run("voxelize", sweeps[:1])
            assert len(results) == 1 and not errors and message.startswith("Done"), (results, errors, message)
            wrong = [e for e in browser.events if e.get("method") == "Runtime.exceptionThrown"]
            assert not wrong, wrong
        finally:
            browser.close()
            server.shutdown()
    print("the page has the command's SHA-256")


main()
