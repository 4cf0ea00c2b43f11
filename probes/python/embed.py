# SPDX-License-Identifier: MIT
"""embed.py INPUT OUTPUT NAME: writes a file as a C string of that name, for the build."""

import sys
from pathlib import Path

source, output, name = sys.argv[1:]
data = Path(source).read_bytes()
if b"\0" in data:
    sys.exit(f"{source} has a NUL in it, and would be cut off there")
lines = [f"const char {name}[] = {{"]
for start in range(0, len(data), 16):
    lines.append("\t" + " ".join(f"{byte}," for byte in data[start : start + 16]))
lines += ["\t0,", "};", ""]
Path(output).write_text(f"extern const char {name}[];\n" + "\n".join(lines))
