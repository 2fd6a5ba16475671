"""Gives the names of the stub _pointmill.pyi the text that stands over them in the Rust sources of the Python package."""

import re
from pathlib import Path

import griffe

SOURCES = Path(__file__).parent.parent / "bindings/python/src"
CLASS = re.compile(r'\b(?:struct|enum) (\w+)')
NAME = re.compile(r'name = "(\w+)"')
# A role of reStructuredText, which is a word of code here.
ROLE = re.compile(r":\w+:`~?([^`]+)`")


def texts():
    """Return the text of each class, function and method, by its path."""
    found, names = {}, {}
    for path in sorted(SOURCES.rglob("*.rs")):
        lines, attributes, inside = [], "", None
        for line in path.read_text().splitlines():
            bare = line.strip()
            if bare.startswith("///"):
                lines.append(bare[3:].removeprefix(" "))
            elif bare.startswith("#[") or (attributes and not attributes.rstrip().endswith("]")):
                attributes += bare + " "
            else:
                name = NAME.search(attributes)
                if (match := CLASS.search(bare)) and "pyclass" in attributes:
                    names[match[1]] = name[1] if name else match[1]
                    found[names[match[1]]] = "\n".join(lines)
                elif match := re.match(r"impl(?:<[^>]*>)? (\w+)", bare):
                    inside = match[1] if "pymethods" in attributes else None
                elif match := re.match(r"(?:pub(?:\([^)]*\))? )?fn (\w+)", bare):
                    own = name[1] if name else match[1]
                    if "pyfunction" in attributes:
                        found[own] = "\n".join(lines)
                    elif inside and line.startswith("    "):
                        found[f"{inside}.{own}"] = "\n".join(lines)
                if bare:
                    lines, attributes = [], ""
    named = {}
    for path, text in found.items():
        of, dot, member = path.partition(".")
        named[(names.get(of, of) if dot else of) + dot + member] = text
    return named


class RustDocstrings(griffe.Extension):
    def on_package(self, *, pkg, loader, **_):
        module = pkg["_pointmill"]
        for of in (module, *module.classes.values()):
            # A stub has overloads alone; the first stands for them in the list of members.
            for name, overloads in of.overloads.items():
                if name not in of.members and overloads:
                    of.set_member(name, overloads[0])
                    overloads[0].overloads = overloads
        for path, text in texts().items():
            of = module
            try:
                for part in path.split("."):
                    of = of.members[part]
            except KeyError:
                continue
            if text and not of.is_alias and not of.docstring:
                text = ROLE.sub(r"`\1`", text)
                of.docstring = griffe.Docstring(text, parent=of, lineno=1, parser=loader.docstring_parser)
