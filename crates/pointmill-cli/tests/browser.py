#!/usr/bin/env python3
"""Opens the pages of `--visualize OUT.html` in headless Chromium: plays, moves the slider, and compares screenshots by coarse statistics.

    python3 browser.py POINTMILL [--chromium CHROMIUM] [--keep FOLDER] [--write]

Needs Chromium and no Python package. POINTMILL is the command. `--keep` keeps the pages and screenshots, `--write` prints the statistics as the table below has them.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time
import zlib

SIZE = (800, 600)
BACKGROUND = (13, 16, 23)
# A name that ends the script and loads an image, if nobody escapes it. The slash is that of a folder.
HOSTILE = "a<", "script><img src=x onerror=\"document.title='owned'\">"

# The share of pixels that are not background, in percent, and the mean colour of each quadrant, for the first view of each page without its panels.
EXPECTED = {
    'evaluate': [5.9, [[17, 20, 26], [17, 20, 26], [17, 20, 26], [17, 20, 26]]],
    'icp': [9.6, [[28, 31, 37], [26, 29, 32], [28, 32, 37], [34, 37, 40]]],
    'localize': [12.6, [[18, 22, 30], [17, 21, 29], [19, 24, 33], [21, 26, 36]]],
    'ndt_align': [4.9, [[18, 19, 24], [18, 19, 24], [19, 20, 24], [22, 22, 25]]],
    'ndt_build': [7.2, [[17, 21, 27], [18, 22, 28], [17, 21, 27], [20, 24, 31]]],
    'ndt_score': [6.5, [[17, 21, 27], [17, 21, 27], [18, 21, 27], [21, 24, 29]]],
    'odometry': [13.2, [[22, 26, 33], [23, 27, 38], [23, 27, 38], [23, 27, 41]]],
    'roi_pool': [7.4, [[18, 22, 29], [19, 22, 29], [18, 22, 29], [18, 21, 28]]],
    'voxelize': [11.3, [[20, 24, 31], [20, 24, 30], [21, 26, 34], [23, 29, 42]]],
}  # fmt: skip
# What may differ: a quarter of the share, and so much of a colour.
SHARE = 0.25
COLOUR = 3


class Browser:
    """Chromium, driven through its pipe by the DevTools protocol."""

    def __init__(self, program, profile):
        ours, theirs = os.pipe(), os.pipe()
        flags = [
            "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--force-device-scale-factor=1", f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        # The browser reads from 3 and writes to 4.
        line = f'exec "$0" "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        log = open(pathlib.Path(profile) / "chromium.log", "wb")
        self.process = subprocess.Popen(["sh", "-c", line, program, *flags], pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(ours[0])
        os.close(theirs[1])
        self.out, self.into = ours[1], theirs[0]
        self.rest, self.events, self.number, self.session = b"", [], 0, None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)

    def read(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser did not answer in time")
            data = os.read(self.into, 1 << 20)
            if not data:
                raise EOFError("the browser ended")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=60):
        deadline = time.monotonic() + seconds
        while not self.js(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression}: not within {seconds} s; {self.js('document.body.innerText')}")
            time.sleep(0.05)

    def open(self, path, view="#still"):
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri() + view)
        self.wait("document.body && ['ready', 'failed'].includes(document.body.dataset.state)", 60)
        assert self.js("document.body.dataset.state") == "ready", self.js("document.body.innerText")

    def mouse(self, kind, x, y, button="left", buttons=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    def click(self, element):
        box = self.js(f"(() => {{ const b = document.getElementById('{element}').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] }})()")
        self.mouse("mousePressed", *box, buttons=1)
        self.mouse("mouseReleased", *box)

    def key(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            code = {"End": 35, "Home": 36, "ArrowRight": 39}[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self):
        """Rows of red, green and blue."""
        # Two frames of the browser, so that what was asked for is drawn.
        self.call("Runtime.evaluate", expression="new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", awaitPromise=True)
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def plain(self):
        """A screenshot without panels and words: letters differ from machine to machine."""
        hide = "for (const part of document.querySelectorAll('#panel, #bar, #tools, #over, #chart')) part.style.visibility = '{}'"
        self.js(hide.format("hidden"))
        png = self.screenshot()
        self.js(hide.format("visible"))
        return png

    def blank(self):
        """An empty page: a link to the page that is open loads nothing."""
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank' && document.readyState === 'complete'")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (EOFError, TimeoutError, subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
            self.process.wait()


def pixels(png):
    """Width, height and rows of a PNG of 8 bits with or without alpha."""
    at, data = 8, b""
    while at < len(png):
        length, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"), body[8], body[9]
            assert depth == 8 and colour in (2, 6), (depth, colour)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    n = 4 if colour == 6 else 3
    raw, above, rows = zlib.decompress(data), bytes(width * n), []
    for y in range(height):
        kind, row = raw[y * (width * n + 1)], bytearray(raw[y * (width * n + 1) + 1 : (y + 1) * (width * n + 1)])
        for i in range(width * n if kind else 0):
            left, up, corner = (row[i - n] if i >= n else 0), above[i], (above[i - n] if i >= n else 0)
            if kind == 4:
                near = left + up - corner
                by = min((abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner))[2]
            else:
                by = (left, up, (left + up) // 2)[kind - 1]
            row[i] = row[i] + by & 255
        rows.append([tuple(row[n * x : n * x + 3]) for x in range(width)])
        above = bytes(row)
    return width, height, rows


def statistics(png):
    """The percentage of pixels that are not background, and the mean colour of each quadrant."""
    width, height, rows = pixels(png)
    drawn = sum(max(abs(a - b) for a, b in zip(pixel, BACKGROUND)) > 8 for row in rows for pixel in row)
    means = []
    for y in (0, height // 2):
        for x in (0, width // 2):
            part = [pixel for row in rows[y : y + height // 2] for pixel in row[x : x + width // 2]]
            means.append([round(sum(pixel[k] for pixel in part) / len(part)) for k in range(3)])
    return [round(100 * drawn / (width * height), 1), means]


def pages(command, work):
    """A page of each command."""

    def run(*args):
        done = subprocess.run([command, *args], cwd=work, capture_output=True, text=True)
        assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"

    run("synth", "--scene", "street", "--sweeps", "8", "--format", "ply", "--out", "drive", "--poses", "truth.txt")
    sweeps = sorted(path.relative_to(work) for path in (work / "drive").iterdir())
    hostile = pathlib.Path(HOSTILE[0]) / (HOSTILE[1] + sweeps[0].suffix)
    (work / hostile).parent.mkdir()
    (work / hostile).write_bytes((work / sweeps[0]).read_bytes())
    (work / "still.txt").write_text("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
    run("odometry", str(hostile), *map(str, sweeps[1:]), "--out", "poses.txt", "--visualize", "odometry.html")
    run("evaluate", "poses.txt", "truth.txt", "--align", "se3", "--plot", "evaluate.html")
    run("voxelize", str(hostile), "--voxel-size", "0.4", "--visualize", "voxelize.html")
    run("roi-pool", "--visualize", "roi_pool.html")
    run("ndt", "build", *map(str, sweeps[:2]), "--out", "map.npz", "--resolution", "2", "--visualize", "ndt_build.html")
    run("ndt", "score", "--map", "map.npz", "--scan", str(sweeps[0]), "--pose", "still.txt", "--visualize", "ndt_score.html")
    run("ndt", "align", "--map", "map.npz", "--scan", str(sweeps[1]), "--guess", "still.txt", "--visualize", "ndt_align.html")
    (work / "start.txt").write_text((work / "truth.txt").read_text().splitlines()[0] + "\n")
    run("ndt", "build", *map(str, sweeps), "--poses", "truth.txt", "--out", "town.npz")
    run("localize", str(hostile), *map(str, sweeps[1:]), "--map", "town.npz", "--guess", "start.txt", "--visualize", "localize.html")
    run("icp", str(sweeps[1]), str(sweeps[0]), "--max-distance", "2", "--visualize", "icp.html")
    return sorted(work.glob("*.html"))


def check_text(browser, path):
    """Names are text, nothing failed, and nothing was asked of a network."""
    assert browser.js("document.images.length") == 0, path
    assert browser.js("document.scripts.length") == 2, path  # The script of the arrays is removed.
    assert "owned" not in browser.js("document.title").replace(HOSTILE[1], ""), path
    asked = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert asked == [path.as_uri()], asked
    thrown = [e for e in browser.events if e["method"] in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening")]
    assert not thrown, thrown
    assert browser.js("document.body.dataset.error") == "0", path


def check_steps(browser, frames):
    """The button plays, the slider steps, and the counter says so."""
    counter = "document.getElementById('counter').textContent"
    first = "document.body.dataset.frame === String(JSON.parse(document.getElementById('scene').textContent).start)"
    assert browser.js(first), browser.js(counter)
    browser.js("document.getElementById('slider').focus()")
    browser.key("Home")
    browser.wait(f"{counter} === '1 of {frames}'")
    browser.click("play")
    browser.wait("Number(document.body.dataset.frame) >= 2")
    assert browser.js("document.getElementById('play').textContent") == "Pause"
    browser.click("play")
    assert browser.js("document.getElementById('play').textContent") == "Play"
    browser.js("document.getElementById('slider').focus()")
    browser.key("End")
    browser.wait(f"{counter} === '{frames} of {frames}'")
    browser.key("Home")
    browser.wait(f"{counter} === '1 of {frames}'")
    browser.key("ArrowRight")
    browser.wait(f"{counter} === '2 of {frames}'")


def check_view(browser):
    """A drag turns the view, the wheel zooms, and each colour shows other pixels."""
    seen = [browser.screenshot()]
    browser.mouse("mousePressed", 500, 300, buttons=1)
    browser.mouse("mouseMoved", 620, 250, buttons=1)
    browser.mouse("mouseReleased", 620, 250)
    seen.append(browser.screenshot())
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=500, y=300, deltaX=0, deltaY=-400)
    seen.append(browser.screenshot())
    for mode in ("intensity", "time"):
        browser.js(f"(() => {{ const s = document.getElementById('paint'); s.value = '{mode}'; s.onchange() }})()")
        seen.append(browser.screenshot())
    points = browser.js("Number(document.body.dataset.points)")
    browser.click("keep")
    browser.wait(f"Number(document.body.dataset.points) > {points}")
    for name in ("top", "side", "reset", "light", "light", "follow"):
        browser.click(name)
        seen.append(browser.screenshot())
    assert seen.pop(-2) == seen[-3], "light twice"
    assert len(set(seen)) == len(seen), [len(png) for png in seen]
    browser.click("ask")
    assert browser.js("document.getElementById('help').checkVisibility()")
    browser.click("help")
    browser.js("location.hash = ''; location.reload()")
    browser.wait("document.body && Number(document.body.dataset.frame) > 1")


def check_windows(browser, path):
    """In windows of a desk and of a phone nothing hangs out, no letter is tiny, and the panel closes and opens."""
    shown = "document.getElementById('panel').checkVisibility()"
    out = """[...document.querySelectorAll('#panel, #bar, #tools, #chart, #tools button, #bar > *')].filter(part => {
        const box = part.getBoundingClientRect();
        return box.width && (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight);
    }).map(part => part.id).join()"""
    tiny = "[...document.querySelectorAll('body *')].filter(part => part.checkVisibility() && parseFloat(getComputedStyle(part).fontSize) < 12).map(part => part.tagName).join()"
    for width, height in [(1600, 1000), (390, 844)]:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        browser.blank()
        browser.open(path)
        assert browser.js("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        assert browser.js(out) == "", (path, width, browser.js(out))
        assert browser.js(tiny) == "", (path, width, browser.js(tiny))
        browser.click("close")
        assert not browser.js(shown), path
        browser.click("menu")
        assert browser.js(shown) and browser.js("document.getElementById('panel').open"), path
        assert browser.js(out) == "", (path, width, browser.js(out))
        # Words and bars have light and dark around each other, on a dark ground and on a light one.
        for _ in range(2):
            both = browser.js("""(() => {
                const { data } = document.getElementById('over').getContext('2d').getImageData(innerWidth - 180, innerHeight - 130, 180, 130);
                const count = [0, 0];
                for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) count[0] += data[i] < 60, count[1] += data[i] > 200;
                return count;
            })()""")
            assert min(both) > 40, (path, width, both)
            browser.click("light")
            browser.screenshot()
    browser.call("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)
    browser.blank()


def view(browser):
    """What the address keeps of the view: yaw, pitch, distance and target."""
    browser.wait("location.hash.startsWith('#view=')")
    time.sleep(0.5)
    return [float(x) for x in browser.js("new URLSearchParams(location.hash.slice(1)).get('view')").split(",")]


def check_touch(browser, path):
    """One finger turns the view, two zoom and move it."""
    browser.open(path)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)

    def drag(*ways):
        touch = lambda kind, k: browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[] if kind == "touchEnd" else [{"x": way[k][0], "y": way[k][1], "id": i} for i, way in enumerate(ways)])  # noqa: E731
        touch("touchStart", 0)
        touch("touchMove", 1)
        touch("touchEnd", 1)
        return view(browser)

    turned = drag([(400, 300), (460, 330)])
    again = drag([(400, 300), (460, 330)])
    assert again[0] != turned[0] and again[1] != turned[1] and again[2:] == turned[2:], (turned, again)
    zoomed = drag([(380, 300), (330, 260)], [(420, 300), (490, 260)])
    assert zoomed[:2] == again[:2] and zoomed[2] < 0.8 * again[2] and zoomed[3:] != again[3:], (again, zoomed)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.blank()


def check_link(browser, path):
    """The address keeps camera, frame and colours, and opens with them; one that is damaged opens as if it were none."""
    browser.open(path)
    browser.mouse("mousePressed", 500, 300, buttons=1)
    browser.mouse("mouseMoved", 620, 250, buttons=1)
    browser.mouse("mouseReleased", 620, 250)
    browser.js("(() => { for (const [id, value] of [['paint', 'intensity'], ['map', 1]]) { const s = document.getElementById(id); s.value = value; s.onchange() } })()")
    browser.js("document.getElementById('slider').focus()")
    browser.key("End")
    browser.click("light")
    browser.js("document.querySelector('#layers input').click()")
    kept = view(browser), statistics(browser.plain())
    link = browser.js("location.hash")
    browser.blank()
    browser.open(path, link)
    assert browser.js("document.getElementById('paint').value + document.getElementById('map').value") == "intensity1"
    assert browser.js("document.getElementById('counter').textContent") == "8 of 8"
    assert browser.js("document.getElementById('play').textContent") == "Play"
    assert (view(browser), statistics(browser.plain())) == kept, link
    for odd in ["#view=1,2,3", "#view=a,b,c,d,e,f", "#view=0,0,1,0,0,1e999", "#view=0,0,-1,0,0,0", "#view=1e300,9,1e300,1e300,0,0&frame=-7&paint=%3Cimg&map=9&size=x&hide=7,a", "#%"]:
        browser.blank()
        browser.open(path, odd)
        assert browser.js("document.body.dataset.error") == "0", odd
    browser.blank()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pointmill")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--keep")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        work = pathlib.Path(args.keep or f"{profile}/work")
        work.mkdir(parents=True, exist_ok=args.keep is None)
        found = pages(os.path.abspath(args.pointmill), work.resolve())
        browser = Browser(args.chromium, profile)
        failed = []
        try:
            print(browser.call("Browser.getVersion")["product"])
            for path in found:
                browser.open(path)
                png = browser.plain()
                (work / f"{path.stem}.png").write_bytes(png)
                check_text(browser, path)
                [share, means] = statistics(png)
                line = f"    {path.stem!r}: [{share}, {means}],"
                print(line if args.write else f"{path.stem}: {path.stat().st_size:,} bytes, {share} % drawn, +{time.monotonic() - start:.1f} s")
                wanted = EXPECTED.get(path.stem, [0, [[0] * 3] * 4])
                apart = max(abs(a - b) for mean, other in zip(means, wanted[1]) for a, b in zip(mean, other))
                if not args.write and (abs(share - wanted[0]) > SHARE * wanted[0] or apart > COLOUR):
                    failed.append(f"{path.stem}: expected {wanted}, got {[share, means]}")
                frames = browser.js("Number(document.getElementById('slider').max) + 1")
                if frames > 2:
                    check_steps(browser, frames)
                if path.stem == "odometry":
                    assert frames == 8, frames
                    check_view(browser)
                    browser.blank()
                    check_link(browser, path)
                    check_touch(browser, path)
                check_windows(browser, path)
        finally:
            browser.close()
        assert len(found) == 9, found
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
