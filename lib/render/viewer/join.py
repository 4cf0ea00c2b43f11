#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Joins the page's template, style and modules into a C file with the three pieces between which the
report's data are written: before the report's JSON, before its columns, and behind them.

Pages that are opened from disk cannot import modules, so the modules become one script: each after the
ones that it imports, without the import and export words. That needs top-level names that are
different in all modules, which is checked here. Comments are left out. The script is in the page as a
zlib stream in base64, which unpack.js turns into a script again. The page allows these two scripts and this
style, by their hashes, and no other.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys
import zlib

IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([\w.-]+)';\n", re.MULTILINE)
# Comments that stand alone, which are a quarter of all text.
COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(
    r"^(?:export )?(?:const|let|class|function|async function) (\w+)", re.MULTILINE
)


def fail(message):
    sys.exit(f"join.py: {message}")


def join_modules(folder, entry):
    order, open_modules, owners = [], [], {}

    def visit(name):
        if name in open_modules:
            fail(f"{' → '.join([*open_modules, name])}: modules import each other in a circle")
        if any(name == known for known, _ in order):
            return
        text = (folder / name).read_text(encoding="utf-8")
        open_modules.append(name)
        for names, imported in IMPORT.findall(text):
            if " as " in names:
                fail(f"{name}: an import renames something: {names.strip()}")
            visit(imported)
        open_modules.pop()
        body = COMMENT.sub("", IMPORT.sub("", text))
        if re.search(r"^\s*import\b|^export (default|\{|\*)", body, re.MULTILINE):
            fail(f"{name}: has an import or export of a form that is not understood")
        for declared in DECLARATION.findall(body):
            if declared in owners:
                fail(f"{name} and {owners[declared]} both declare {declared}")
            owners[declared] = name
        order.append((name, re.sub(r"^export ", "", body, flags=re.MULTILINE)))

    visit(entry)
    return (
        '"use strict";\n// SPDX-License-Identifier: MIT\n(() => {\n'
        + "\n".join(body for _, body in order)
        + "})();\n//# sourceURL=giltrace.js\n"
    )


def join_styles(folder):
    """What all have in common first; what is for paper only comes last, and wins."""
    names = sorted(path.name for path in folder.glob("*.css"))
    names.sort(key=lambda name: {"style.css": 0, "print.css": 2}.get(name, 1))
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    return "\n".join(COMMENT.sub("", text) for text in texts)


def source_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def c_array(name, text):
    data = text.encode() + b"\0"
    lines = [
        "\t"
        + ",".join(str(byte - 256 if byte > 127 else byte) for byte in data[at : at + 24])
        + ","
        for at in range(0, len(data), 24)
    ]
    return f"const char {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()

    script = join_modules(arguments.folder, "main.js")
    unpack = COMMENT.sub("", (arguments.folder / "unpack.js").read_text(encoding="utf-8"))
    style = join_styles(arguments.folder)
    page = (arguments.folder / "template.html").read_text(encoding="utf-8")
    for text, closing in ((unpack, "</script"), (style, "</style")):
        if closing in text.lower() or "<!--" in text:
            fail(f"the text {closing} or <!-- would end the element that holds it")
    for place, text in (
        ("@STYLE_HASH@", source_hash(style)),
        ("@SCRIPT_HASH@", source_hash(script)),
        ("@STYLE@", style),
        ("@UNPACK_HASH@", source_hash(unpack)),
        ("@SCRIPT@", base64.b64encode(zlib.compress(script.encode(), 9)).decode()),
        ("@UNPACK@", unpack),
    ):
        if page.count(place) != 1:
            fail(f"the template has {place} {page.count(place)} times, not once")
        page = page.replace(place, text)
    before_report, rest = page.split("@REPORT@")
    before_columns, behind_columns = rest.split("@COLUMNS@\n")
    arguments.output.write_text(
        '#include "render/viewer/pieces.h"\n\n'
        + c_array("gt_viewer_before_report", before_report)
        + c_array("gt_viewer_before_columns", before_columns)
        + c_array("gt_viewer_behind_columns", behind_columns),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
