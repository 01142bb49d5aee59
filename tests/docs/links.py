#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links in documents lead to files, and to headings, that exist; pictures have alternative text; lines are within 120
columns, in documents and in sources (except data, names and results); every document is linked from another; the
pictures are what their sources draw.

    links.py ROOT"""
import glob, os, re, subprocess, sys, tempfile

root, failed = sys.argv[1], 0
skipped = ('build', '.git', '.venv', 'reference')


def complain(text):
    global failed
    failed += 1
    print(text)


def documents():
    for path, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(skipped)]
        yield from (os.path.relpath(os.path.join(path, n), root) for n in names if n.endswith('.md'))


def anchors(text):
    return {re.sub(r'[^\w\- ]', '', title.lower()).strip().replace(' ', '-')
            for title in re.findall(r'^#+ (.*)$', text, re.M)}


texts = {}
for document in documents():
    with open(os.path.join(root, document), encoding='utf-8') as file:
        texts[document] = file.read()
linked = set()
for document, text in texts.items():
    kind = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('```'):
            kind = None if kind else line[3:].split()[0] if line[3:].strip() else 'code'
        if len(line) > 120 and not document.startswith('perftest/results/'):
            complain(f'{document}:{number}: {len(line)} columns')
        if re.search(r'\t| $', line):
            complain(f'{document}:{number}: a tab, or a blank at the end')
        if kind:
            continue
        for mark, words, target in re.findall(r'(!?)\[([^\]]*)\]\(([^)\s]+)\)', re.sub(r'`[^`]*`', '', line)):
            if mark and not words:
                complain(f'{document}:{number}: the picture {target} has no text')
            if re.match(r'https?:', target):
                continue
            name, _, anchor = target.partition('#')
            to = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
            if not os.path.exists(os.path.join(root, to)):
                complain(f'{document}:{number}: {target} is not there')
            elif anchor and anchor not in anchors(texts.get(to, '')):
                complain(f'{document}:{number}: {to} has no heading for #{anchor}')
            linked.add(to)
for path, folders, names in os.walk(root):
    folders[:] = [f for f in folders if not f.startswith(skipped) and
                  os.path.relpath(os.path.join(path, f), root) != 'dialects/nccl']
    for name in names:
        if name.endswith(('.py', '.sh', '.build', '.def', '.c', '.h', '.cc', '.cu', '.cuh', '.in')) or name == 'dev':
            with open(os.path.join(path, name), encoding='utf-8') as file:
                for number, line in enumerate(file, 1):
                    if len(line.rstrip('\n')) > 120:
                        complain(f'{os.path.relpath(os.path.join(path, name), root)}:{number}: {len(line)} columns')
for document in texts:
    if document.startswith('docs/') and document not in linked:
        complain(f'{document}: no other document links to it')


def compare(folder, *commands):
    """The pictures in the folder match those that the commands draw into their last argument, a folder of its own."""
    with tempfile.TemporaryDirectory() as drawn:
        for script, *words, to in commands:
            subprocess.run([sys.executable, '-B', os.path.join(root, script), *words, to + drawn], check=True,
                           stdout=subprocess.DEVNULL)
        for name in os.listdir(os.path.join(root, folder)):
            if name.endswith('.svg'):
                new = os.path.join(drawn, name)
                with open(os.path.join(root, folder, name), encoding='utf-8') as kept:
                    if not os.path.exists(new) or open(new, encoding='utf-8').read() != kept.read():
                        complain(f'{folder}/{name} is not what {" or ".join(c[0] for c in commands)} draws')


compare('docs/pictures', ['docs/pictures/draw.py', ''])
compare('docs/performance',
        ['perftest/compare.py', '--charts=' + os.path.join(root, 'perftest/results/2026-11-22-h200-nvshmem.csv'),
         '--output='],
        *(['perftest/compare_coll.py', table, '--charts=']
          for table in sorted(glob.glob(os.path.join(root, 'perftest/results/*-coll.csv')))),
        ['perftest/sim/picture.py', os.path.join(root, 'perftest/results/2026-11-28-sim.csv'), '--charts='])
print(f'{len(texts)} documents')
sys.exit(1 if failed or len(texts) < 10 else 0)
