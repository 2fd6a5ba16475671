#!/usr/bin/env python3
"""Checks the built site: links, anchors and images; and in headless Chromium the console, the width on a phone, the search, and "Try it".

    python3 check.py [SITE] [--chromium CHROMIUM] [--keep FOLDER]

Needs no Python package. Without Chromium only links are checked. `--keep` keeps screenshots of some pages, light and dark, wide and narrow.
"""

import argparse
import functools
import http.server
import pathlib
import posixpath
import shutil
import sys
import tempfile
import threading
import time
import urllib.parse
from html.parser import HTMLParser

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "crates/pointmill-cli/tests"))
from browser import Browser  # noqa: E402

# Shown by --keep.
SHOWN = ["index", "try", "voxelize", "reference/python", "live", "notebooks/odometry", "notebooks/second_stage", "gallery", "results", "same_bits"]
SEARCHED = {"max_voxels": "voxelize", "downsample": "downsample"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key == "id" or (tag == "a" and key == "name"):
                self.ids.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


def links(site, pages):
    """Return what is wrong with links between pages."""
    parsed = {path.relative_to(site).as_posix(): Page(path.read_text()) for path in pages}
    wrong = []
    for name, page in parsed.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            # The page of a wrong address may be shown anywhere, so its links begin at the top of the server.
            if url.scheme or url.netloc or name == "404.html":
                continue
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), urllib.parse.unquote(url.path))) if url.path else name
            to = "index.html" if to == "." else to
            if to.startswith("rust/") and not (site / "rust").exists():
                continue
            if not (site / to).is_file():
                wrong.append(f"{name}: {link}: there is no {to}")
            elif url.fragment and to in parsed and urllib.parse.unquote(url.fragment) not in parsed[to].ids:
                wrong.append(f"{name}: {link}: {to} has no such anchor")
    return wrong


def visit(browser, url):
    browser.events.clear()
    browser.call("Page.navigate", url=url)
    browser.wait(f"location.href.split('#')[0] === {url!r} && document.readyState === 'complete'")


def complaints(browser):
    """Return what the console got."""
    found = []
    for event in browser.events:
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            found.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            found.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif kind == "Network.responseReceived" and params["response"]["status"] >= 400:
            found.append(f"{params['response']['status']}: {params['response']['url']}")
        # The number of stars and the last release are asked of GitHub, which a machine of CI may not reach.
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error" and "api.github.com" not in params["entry"].get("url", ""):
            found.append(params["entry"]["text"])
    return found


def size(browser, width, height):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)


def look(browser, base, names):
    """Return what is wrong with pages in a browser."""
    wrong = []
    size(browser, 400, 844)
    for name in names:
        visit(browser, base + name)
        width = browser.js("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
        if width > 400:
            wrong.append(f"{name}: at 400 pixels it is {width} wide")
        if broken := browser.js("[...document.images].filter(i => i.complete && !i.naturalWidth && i.loading !== 'lazy').map(i => i.src).join(' ')"):
            wrong.append(f"{name}: images that do not load: {broken}")
        wrong += [f"{name}: {text}" for text in complaints(browser)]
    size(browser, 1600, 1000)
    for word, page in SEARCHED.items():
        visit(browser, base + "index.html")
        browser.js("document.querySelector('[data-md-toggle=search]').click()")
        box = "document.querySelector('.md-search__input')"
        # Typed as a reader does: the index is loaded when the box is entered.
        browser.js(f"{box}.focus()")
        browser.call("Input.insertText", text=word)
        results = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href.split('?')[0].split('#')[0])"
        try:
            browser.wait(f"{results}.length > 0", 20)
        except TimeoutError:
            wrong.append(f"search: nothing found for {word}")
            continue
        found = browser.js(results)
        if not any(link == f"{base}{page}.html" for link in found):
            wrong.append(f"search: {word} does not lead to {page}.html, but to {found}")
    return wrong


def compute(browser, base):
    """Return what is wrong with the page that computes: it opens, and finds the way of the built-in drive."""
    visit(browser, base + "try.html")
    inside = "document.querySelector('iframe.try').contentWindow"
    try:
        browser.wait(f"{inside}.document.getElementById('message')?.textContent === 'The program is loaded.'", 30)
        browser.js(f"{inside}.document.getElementById('drive').click()")
        browser.wait(f"{inside}.document.body.dataset.state === 'done'", 120)
    except TimeoutError:
        return [f"try.html: no result, but {browser.js(f'{inside}.document.body.innerText')}", *complaints(browser)]
    sums = browser.js(f"{inside}.results.map(one => one.sha256)")
    wrong = [] if len(sums) == 1 and len(sums[0]) == 64 else [f"try.html: expected one SHA-256, got {sums}"]
    return wrong + [f"try.html: {text}" for text in complaints(browser)]


def show(browser, base, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for width, height in ((1600, 1000), (400, 844)):
            size(browser, width, height)
            for name in SHOWN:
                visit(browser, f"{base}{name}.html")
                # The colours of the last visit are kept.
                browser.js("localStorage.clear()")
                visit(browser, f"{base}{name}.html?{scheme}")
                time.sleep(0.5)
                (folder / f"{name.replace('/', '_')}_{scheme}_{width}.png").write_bytes(browser.screenshot())


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("site", nargs="?", type=pathlib.Path, default=ROOT / "target/site")
    arguments.add_argument("--chromium", default=shutil.which("chromium"))
    arguments.add_argument("--keep", type=pathlib.Path)
    given = arguments.parse_args()
    site = given.site.resolve()
    pages = sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] not in ("live", "rust", "try"))
    if len(pages) < 40:
        sys.exit(f"{site}: expected a site of at least 40 pages, got {len(pages)}")
    wrong = links(site, pages)
    if given.chromium:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(given.chromium, profile)
            try:
                browser.call("Log.enable")
                wrong += look(browser, base, [path.relative_to(site).as_posix() for path in pages if path.name != "404.html"])
                if (site / "try.html").exists():
                    wrong += compute(browser, base)
                else:
                    print("skipped the page that computes: it was not built")
                if given.keep:
                    show(browser, base, given.keep)
            finally:
                browser.close()
        server.shutdown()
    else:
        print("skipped what needs a browser: there is no chromium")
    print("\n".join(wrong) or f"{len(pages)} pages: all well")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
