#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a setuid program's caller must not steer: the library and its tools ask for the environment by secure_getenv
alone, and open a file that they may create without following a link.

usage: rights.py SOURCE_ROOT"""

import pathlib
import re
import sys

# Programs that nobody installs with another user's rights. Every other folder is looked at.
OTHERS = {"tests", "perftest", "examples"}
KINDS = {".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".def", ".hpp", ".in"}
GETENV = re.compile(r"(?<!secure_)\bgetenv\s*\(")
# Whoever creates a file names its flags in the same statement as O_NOFOLLOW, or opens exclusively, or has it done by
# base/own_file.c, which looks at the owner of a link.
CREATES = re.compile(r"\b(open|openat)\s*\([^;]*O_CREAT[^;]*;|\bcreat\s*\([^;]*;|"
                     r"\b(fopen|freopen)\s*\([^;]*,\s*\"(?:[wa]|r\+)[^;]*;|\bofstream\b[^;]*;", re.S)
SAFE = re.compile(r"O_NOFOLLOW|O_EXCL")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def sources(root):
    """Build directories and hidden ones are none of the tree's."""
    folders = [f for f in sorted(root.iterdir()) if f.is_dir() and f.name not in OTHERS and
               not f.name.startswith((".", "build")) and not (f / "build.ninja").exists()]
    return [p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in KINDS and p.is_file()]


def main():
    root = pathlib.Path(sys.argv[1])
    n_files = n_asked = n_wrong = 0
    for path in sources(root):
        code = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text())
        wrong = [(m, "asks by getenv; secure_getenv ignores what a setuid program's caller has set")
                 for m in GETENV.finditer(code)]
        wrong += [(m, "creates a file through whatever link is there; add O_NOFOLLOW")
                  for m in CREATES.finditer(code) if not SAFE.search(m.group())]
        for match, why in wrong:
            print(f"{path.relative_to(root)}:{code[:match.start()].count(chr(10)) + 1}: {why}")
        n_files += 1
        n_asked += code.count("secure_getenv")
        n_wrong += len(wrong)
    print(f"{n_files} files, {n_wrong} wrong")
    if n_files < 500 or n_asked < 5:
        print("these are not the library's sources")
        return 1
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
