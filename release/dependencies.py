#!/usr/bin/env python3
"""Write what a package is made of: release/dependencies.py PACKAGE TARGET --sbom FILE --licences FILE

The SBOM is CycloneDX 1.5 as JSON. The licences are the texts that each crate comes with; equal texts stand once. Both
name the crates that are linked into PACKAGE for TARGET, with its default features; neither has a time in it.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent


def crates(package: str, target: str) -> tuple[list[dict], dict[str, list[str]]]:
    """The crates that are linked in, PACKAGE first, and the ids that each needs."""
    # Cargo's tree has the features of this package alone, its metadata those of the whole workspace.
    tree = ["cargo", "tree", "--locked", "--package", package, "--target", target, "--edges", "normal,no-proc-macro",
            "--prefix", "none", "--format", "{p}"]
    lines = subprocess.check_output(tree, cwd=ROOT, text=True).splitlines()
    linked = {tuple(line.split()[:2]) for line in lines if line}
    metadata = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", target]
    known = json.loads(subprocess.check_output(metadata, cwd=ROOT))
    found = {p["id"]: p for p in known["packages"] if (p["name"], "v" + p["version"]) in linked}
    missing = linked - {(p["name"], "v" + p["version"]) for p in found.values()}
    if missing:
        sys.exit(f"release/dependencies.py: expected every crate of the tree in cargo's metadata, missing {missing}")
    needs = {
        node["id"]: sorted(
            d["pkg"] for d in node["deps"] if d["pkg"] in found and any(k["kind"] is None for k in d["dep_kinds"])
        )
        for node in known["resolve"]["nodes"]
        if node["id"] in found
    }
    return sorted(found.values(), key=lambda p: (p["name"] != package, p["name"], p["version"])), needs


def purl(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def sbom(packages: list[dict], needs: dict[str, list[str]]) -> dict:
    checksums = {}
    for name, version, checksum in re.findall(
        r'name = "(\S+)"\nversion = "(\S+)"\nsource = .*\nchecksum = "(\w+)"', (ROOT / "Cargo.lock").read_text()
    ):
        checksums[f"pkg:cargo/{name}@{version}"] = checksum

    def component(package: dict, kind: str) -> dict:
        answer = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"],
                  "description": package["description"], "purl": purl(package),
                  "licenses": [{"expression": (package["license"] or "").replace("/", " OR ")}]}
        if checksum := checksums.get(purl(package)):
            answer["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package["repository"]:
            answer["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return answer

    by_id = {package["id"]: purl(package) for package in packages}
    components = [component(package, "library") for package in packages[1:]]
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1,
        "metadata": {"component": component(packages[0], "application")}, "components": components,
        "dependencies": [{"ref": by_id[i], "dependsOn": [by_id[d] for d in needs[i]]} for i in sorted(by_id)],
    }


def licences(packages: list[dict]) -> str:
    texts: dict[str, list[str]] = {}
    lines = ["pointmill contains these crates. Each line has the terms of one; the texts follow.", ""]
    for package in packages:
        if package["source"] is None:
            continue
        title = f"{package['name']} {package['version']}"
        lines.append(f"{title}: {package['license']}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and re.match(r"(?i)(licen[sc]e|copying|copyright|notice|unlicense)", path.name):
                text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
                texts.setdefault(text, []).append(title)
    for text, titles in texts.items():
        lines += ["", "-" * 78, ", ".join(dict.fromkeys(titles)), "", text]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("target")
    parser.add_argument("--sbom", type=pathlib.Path)
    parser.add_argument("--licences", type=pathlib.Path)
    asked = parser.parse_args()
    packages, needs = crates(asked.package, asked.target)
    if asked.sbom:
        asked.sbom.write_text(json.dumps(sbom(packages, needs), indent=1) + "\n")
    if asked.licences:
        asked.licences.write_text(licences(packages))


if __name__ == "__main__":
    main()
