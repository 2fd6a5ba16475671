"""Makes the pages of the site from the files that GitHub shows: the front matter of README.md is the home page, files beside
docs/ become pages, and links between them lead where they lead on GitHub."""

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


def on_files(files, config):
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / file).read_text()))
    for page, path in OWN.items():
        files.append(File.generated(config, page, content=path.read_text()))
    files.append(File.generated(config, "site.css", abs_src_path=str(HERE / "site.css")))
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
        return path.removeprefix("docs/")
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
