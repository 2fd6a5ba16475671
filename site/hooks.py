"""Makes the pages of the site from the files that GitHub shows: the front matter of README.md is the home page, files beside
docs/ and notebooks become pages, and links between them lead where they lead on GitHub."""

import base64
import json
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCE = "https://github.com/pointmill/pointmill/blob/main/"
# Files of the repository that are pages of the site too.
PAGES = {
    "README.md": "index.md",
    "bench/BENCHMARK.md": "about/BENCHMARK.md",
    **{f"{name}.md": f"about/{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")},
}
FILES = {page: file for file, page in PAGES.items()}
# Pages that only the site has.
OWN = {"reference/python.md": HERE / "python.md", "reference/rust.md": HERE / "rust.md"}
LINK = re.compile(r"(\]\()([^)\s#]*)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^( *```[^\n]*\n.*?^ *```)", re.M | re.S)
LIVE = os.environ.get("POINTMILL_LIVE")
# The page that computes, with all it needs; made by `just wasm`.
TRY = ROOT / "target/browser/try"


def on_config(config):
    if TRY.is_dir():
        OWN["try.md"] = HERE / "try.md"
        config.nav.insert(1, {"Try it": "try.md"})


def notebook(path):
    """Return a notebook as the text of a page, and its pictures by their names."""
    parts, pictures = [], {}
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            if len(parts) == 1:
                parts.append(f'<a href="{path.name}" download>Take the notebook</a>. Text and pictures below its code are what it printed.')
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            if "text" in output:
                parts.append("```text\n" + "".join(output["text"]).rstrip() + "\n```")
            else:
                name = f"{path.stem}-{len(pictures)}.png"
                pictures[name] = base64.b64decode("".join(output["data"]["image/png"]))
                parts.append(f"![What this code draws]({name})")
    return "\n\n".join(parts) + "\n", pictures


def on_files(files, config):
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / file).read_text()))
    for page, path in OWN.items():
        files.append(File.generated(config, page, content=path.read_text()))
    for path in (ROOT / "docs/notebooks").glob("*.ipynb"):
        text, pictures = notebook(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    files.append(File.generated(config, "site.css", abs_src_path=str(HERE / "site.css")))
    for path in sorted(TRY.rglob("*.*")):
        files.append(File.generated(config, f"try/{path.relative_to(TRY).as_posix()}", abs_src_path=str(path)))
    # The list of all pages is no home page here.
    listed = files.get_file_from_path("README.md")
    listed.dest_uri, listed.url = "pages.html", "pages.html"
    return files


def target(link, source):
    """Return where a link of a file of the repository leads on the site."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/").replace(".ipynb", ".md")
    if (ROOT / path).exists():
        return SOURCE + path
    raise ValueError(f"{source}: no file {path}")


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri in OWN:
        return markdown
    source = FILES.get(uri, f"docs/{uri}")

    def relink(match):
        link = match[2]
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        to = target(link, source)
        if not to.startswith("https:"):
            to = posixpath.relpath(to, posixpath.dirname(uri) or ".")
        return f"{match[1]}{to}{match[3] or ''}{match[4]}"

    # What stands in a block of code is no link; its first word is the language.
    parts = FENCE.split(markdown)
    parts[::2] = (LINK.sub(relink, part) for part in parts[::2])
    parts[1::2] = (re.sub(r"\A( *```\w+),\w+", r"\1", part) + frames(part) * (uri == "live.md") for part in parts[1::2])
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]
    if uri == "browser.md" and TRY.is_dir():
        parts[0] = parts[0].replace("## The page\n", "## The page\n\n[Try it](try.md){.md-button .md-button--primary}\n")
    return "".join(parts)


def frames(block):
    """Return the pages that the commands of a block make, to play with in place."""
    if not LIVE:
        return ""
    return "".join(
        f'\n\n<iframe class="live" src="live/{name}#still" title="{name}" loading="lazy"></iframe>\n\n'
        f"[Open {name} alone](live/{name}){{target=_blank}}\n"
        for name in re.findall(r"--(?:visualize|plot) (\S+\.html)", block)
    )
