#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns man pages that only refer to another one into symbolic links to it, as most of the 5,500 are.

    man_links.py MAN3_DIR"""
import os, sys

for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    with open(path, encoding='utf-8') as file:
        words = file.readline().split()
    if len(words) == 2 and words[0] == '.so':
        os.remove(path)
        os.symlink(os.path.basename(words[1]), path)
