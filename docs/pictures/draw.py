#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the documents, as SVG that is readable on light and dark backgrounds.

    draw.py OUTPUT_DIR     writes architecture.svg, heap.svg, put.svg, hang.svg and headline.svg; a test compares
                           them with those in the tree"""
import html, os, pathlib, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests/arrows'))
sys.dont_write_bytecode = True
import arrows  # which file may include which, and does
# Text, background and colours change together, so viewers cannot mix them.
STYLE = '''<style>
.paper { fill: #ffffff } text { fill: #1f2328; font-family: sans-serif; font-size: 13px }
.small { font-size: 11px } .title { font-size: 15px; font-weight: bold } .middle { text-anchor: middle }
.end { text-anchor: end } .mono { font-family: monospace } .box { fill: #f6f8fa; stroke: #8c959f }
.mine { fill: #ddf4ff; stroke: #0969da } .user { fill: #dafbe1; stroke: #1a7f37 } .none { fill: none; stroke: #8c959f }
.far { fill: #fff8c5; stroke: #9a6700 } .line { stroke: #57606a; fill: none; stroke-width: 1.5 }
.dash { stroke-dasharray: 5 4 } .head { fill: #57606a } .ours { fill: #0969da } .theirs { fill: #d0d7de }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } text { fill: #e6edf3 } .box { fill: #161b22; stroke: #6e7681 }
.mine { fill: #0c2d6b; stroke: #58a6ff } .user { fill: #0f3d1e; stroke: #56d364 } .none { stroke: #6e7681 }
.far { fill: #3b2300; stroke: #d29922 } .line { stroke: #9da7b3 } .head { fill: #9da7b3 }
.ours { fill: #58a6ff } .theirs { fill: #424a53 }
}
</style>
<defs><marker id="arrow" markerWidth="9" markerHeight="9" refX="8" refY="4.5" orient="auto">
<path class="head" d="M0,0 L9,4.5 L0,9 z"/></marker></defs>'''


class Picture:
    def __init__(self, width, height, title):
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                    f'viewBox="0 0 {width} {height}" role="img">', f'<title>{html.escape(title)}</title>', STYLE,
                    f'<rect class="paper" width="{width}" height="{height}"/>']

    def text(self, x, y, words, kind=''):
        self.out.append(f'<text class="{kind}" x="{x}" y="{y}">{html.escape(words)}</text>')

    def box(self, x, y, width, height, kind='box', words=(), words_kind='middle'):
        self.out.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>')
        top = y + height / 2 + 5 - 8 * (len(words) - 1)
        for i, line in enumerate(words):
            self.text(x + width / 2, top + 16 * i, line, words_kind if i == 0 else words_kind + ' small')

    def arrow(self, points, kind=''):
        path = ' '.join(f'{x},{y}' for x, y in points)
        self.out.append(f'<polyline class="line {kind}" points="{path}" marker-end="url(#arrow)"/>')

    def line(self, points, kind=''):
        path = ' '.join(f'{x},{y}' for x, y in points)
        self.out.append(f'<polyline class="line {kind}" points="{path}"/>')

    def svg(self):
        return '\n'.join(self.out) + '\n</svg>\n'


# Room: its place (column, row) and what it is for.
ROOMS = {
    'dialects': (2.1, 0, 'names of other libraries'),
    'runtime/api': (1, 0, 'host calls, calls for dialects'),
    'tools': (2.6, 3, 'gshmemrun, gshmem-info'),
    'runtime/init': (1, 1, 'job, network, device, heap'),
    'runtime/backend': (0.5, 2, 'CPU and CUDA rows'),
    'runtime/context': (1.5, 2, 'contexts'),
    'runtime/team': (0.5, 3, 'teams, host barriers'),
    'runtime/far': (1.5, 3, 'requests to far PEs'),
    'runtime/instance': (1, 4, "a PE's state and end"),
    'heap': (0.5, 5, 'symmetric memory'),
    'proxy': (1.5, 5, 'engine, ring, loop, ucx'),
    'nic': (2.1, 6, 'adapters for kernels'),
    'bootstrap': (0.5, 6, 'how PEs find each other'),
    'base': (1, 7, 'results, log, environment'),
    'kernels': (3.1, 4, "the library's kernels"),
    'device': (2.6, 5, 'calls in kernels'),
    'cpu': (3.1, 6, 'CUDA on host threads'),
    'include': (1, 8, 'public headers'),
    'wire': (2.6, 7, 'structs shared with kernels'),
}


def room_of(path):
    if path in arrows.INTO_DEVICE:
        return 'device'
    top, *rest = path.split('/')
    if top == 'gshmem' or path.startswith('include/'):
        return 'include'
    if top == 'runtime':
        return 'runtime/' + rest[0] if len(rest) > 1 else 'runtime/api'
    return top


def include_edges():
    """Which room includes which, without what follows from others; public headers only have the language's."""
    root, edges = pathlib.Path(ROOT), {room: set() for room in ROOMS}
    for source in arrows.sources(root):
        for name in arrows.INCLUDE.findall((root / source).read_text()):
            here, there = room_of(source), room_of(arrows.resolve(root, source, name))
            if here in ROOMS and there in ROOMS and here not in (there, 'include'):
                edges[here].add(there)

    def reach(room):
        return set().union(*({next_room} | reach(next_room) for next_room in edges[room]))

    return {room: [there for there in sorted(edges[room])
                   if not any(there in reach(other) for other in edges[room] if other != there)] for room in ROOMS}


def architecture():
    """Who includes whom."""
    p = Picture(860, 640, 'The rooms of the source, and which of them includes which')
    p.text(20, 28, 'An arrow leads from a room to one that it includes; arrows that follow from others are left out',
           'title')
    width, height = 186, 40
    corner = {room: (30 + 205 * column, 50 + 64 * row) for room, (column, row, _) in ROOMS.items()}
    for room, targets in include_edges().items():
        for target in targets:
            (x, y), (to_x, to_y) = corner[room], corner[target]
            if y == to_y:
                p.arrow([(x, y + height / 2), (to_x + width, y + height / 2)])
            else:
                p.arrow([(x + width / 2, y + height), (to_x + width / 2, to_y)])
    for room, (x, y) in corner.items():
        kind = 'user' if room in ('include', 'dialects', 'device') else 'far' if room == 'wire' else 'mine'
        p.box(x, y, width, height, kind, [room, ROOMS[room][2]])
    p.text(20, 626, 'Green: what users include. Yellow: host and device code include it, and it includes nothing.',
           'small')
    return p.svg()


def heap():
    """Two of three near PEs: each sees all heaps, its own among them, at the same distances."""
    p = Picture(860, 350, 'How the heaps of near PEs lie in the address range of each PE')
    left, width, top = 130, 220, 60
    p.text(20, 28, 'The address range that each PE reserves: slots × stride', 'title')
    for row, pe in enumerate((0, 1)):
        y = top + 130 * row
        p.text(20, y + 38, f'PE {pe}', 'title')
        for slot in range(3):
            x = left + (width + 8) * slot
            p.box(x, y, width, 62, 'mine' if slot == pe else 'box')
            p.text(x + 8, y + 16, f'slot {slot}: the heap of PE {slot}' + (' (own)' if slot == pe else ''), 'small')
            p.box(x + 8, y + 24, 26, 30, 'none', ['lib'], 'middle small')
            p.box(x + 36, y + 24, 72, 30, 'user', ['array'], 'middle')
            p.box(x + 110, y + 24, 34, 30, 'user')
            p.text(x + 150, y + 44, 'reserved', 'small')
    a, b = left + 72, left + 72 + width + 8
    p.arrow([(a, top + 56), (a, top + 92), (b, top + 92), (b, top + 60)])
    p.text((a + b) / 2, top + 86, '+ 1 stride: the array of PE 1', 'middle small')
    y = top + 130
    p.arrow([(b, y + 56), (b, y + 92), (a, y + 92), (a, y + 60)])
    p.text((a + b) / 2, y + 86, '− 1 stride: the array of PE 0', 'middle small')
    p.text(20, 318, 'address on the peer = local address + (slot(pe) − my_slot) × stride', 'mono')
    p.text(20, 338, 'An allocation has the same offset in every slot. Memory is mapped as the heap grows; the range '
           'never moves.', 'small')
    return p.svg()


def put():
    p = Picture(860, 400, 'The way of a near put and of a far put')
    p.text(20, 28, 'gshmemx_float_put_block(dest, source, n, pe)', 'title mono')
    p.box(20, 50, 150, 50, 'mine', ['kernel', 'all threads of a block'])
    p.box(220, 50, 150, 50, 'box', ['is pe near?', 'address.cuh'])
    p.arrow([(170, 75), (218, 75)])
    p.text(395, 66, 'near', 'small')
    p.arrow([(370, 75), (438, 75)])
    p.box(440, 50, 170, 50, 'box', ['copy by wide stores', 'copy.cuh, bulk.cuh'])
    p.arrow([(610, 75), (678, 75)])
    p.text(644, 66, 'NVLink', 'middle small')
    p.box(680, 50, 160, 50, 'user', ["the peer's heap", 'in its GPU'])
    p.text(302, 126, 'far', 'small')
    p.arrow([(295, 100), (295, 148)])
    p.box(220, 150, 150, 50, 'far', ['ring', 'one thread, 16 bytes'])
    p.arrow([(295, 200), (295, 238)])
    p.box(220, 240, 150, 50, 'far', ['proxy', 'a thread of this PE'])
    p.arrow([(370, 265), (438, 265)])
    p.box(440, 240, 170, 50, 'far', ['transport', 'UCX, from GPU memory'])
    p.arrow([(610, 265), (678, 265)])
    p.text(644, 256, 'network', 'middle small')
    p.box(680, 240, 160, 50, 'user', ["the peer's heap", 'written directly'])
    p.arrow([(295, 290), (295, 345), (438, 345)], 'dash')
    p.box(440, 320, 170, 50, 'far', ['pinned buffers', 'if UCX cannot read the GPU'])
    p.arrow([(610, 345), (760, 345), (760, 294)], 'dash')
    p.text(648, 338, 'staged', 'small')
    p.text(20, 160, 'fence, quiet, a signal or', 'small')
    p.text(20, 176, 'a barrier order the put.', 'small')
    p.text(20, 192, 'Routes without traffic', 'small')
    p.text(20, 208, 'add no cost.', 'small')
    return p.svg()


def hang():
    """The report of docs/guide/hangs.md as a picture of who waits for whom."""
    p = Picture(860, 290, 'Who waits for whom in the hang report of three PEs')
    p.text(20, 28, 'An arrow leads from a PE that waits to the PE that is to end the wait', 'title')
    p.box(20, 60, 240, 66, 'mine', ['PE 0', 'gshmem_barrier_all of team 0,', 'arrival 2 of PE 1'])
    p.box(310, 60, 240, 66, 'mine', ['PE 1', 'gshmem_signal_wait_until:', 'allocation 1 + 0x0 == 1, it is 0'])
    p.box(600, 60, 240, 66, 'far', ['PE 2', 'does not wait in gshmem,', 'nothing is left on its streams'])
    p.arrow([(260, 93), (308, 93)])
    p.arrow([(550, 93), (598, 93)], 'dash')
    p.text(284, 146, 'said by the wait', 'middle small')
    p.text(575, 146, 'worked out: who could still write', 'middle small')
    p.text(20, 186, 'The cause is where the arrows end: PE 2 has not written the word, so PE 1 does not come to the '
           'barrier.', '')
    p.text(20, 222, 'Arrows that end nowhere', 'title')
    p.box(20, 240, 110, 34, 'mine', ['PE 0'])
    p.box(190, 240, 110, 34, 'mine', ['PE 1'])
    p.arrow([(130, 250), (188, 250)])
    p.arrow([(190, 264), (132, 264)])
    p.text(320, 254, 'A cycle: none of its PEs goes on. The report names each wait of it,', 'small')
    p.text(320, 270, 'for example a barrier for which PE 0 waits, and a lock that PE 0 holds.', 'small')
    return p.svg()


def headline():
    """perftest/results/2026-11-28-h200-nvshmem.md."""
    rows = []
    with open(os.path.join(ROOT, 'docs/pictures/headline.csv'), encoding='utf-8') as lines:
        for line in lines:
            if not line.startswith('#'):
                name, ours, theirs = line.rstrip('\n').rsplit(',', 2)
                rows.append((name, float(ours), float(theirs)))
    p = Picture(860, 80 + 34 * len(rows), 'Time of calls of gshmem relative to NVSHMEM 3.8.0, on two H200s')
    p.text(20, 28, "Time of a call on two H200s, relative to NVSHMEM 3.8.0", 'title')
    left, width = 290, 440
    p.text(left, 52, '0', 'middle small')
    p.text(left + width, 52, "NVSHMEM's time", 'middle small')
    for i, (name, ours, theirs) in enumerate(rows):
        y = 62 + 34 * i
        p.out.append(f'<rect class="theirs" x="{left}" y="{y}" width="{width}" height="22"/>')
        mine = max(2, round(width * ours / theirs))
        p.out.append(f'<rect class="ours" x="{left}" y="{y}" width="{mine}" height="22"/>')
        p.text(left - 10, y + 16, name, 'end')
        p.text(left + width + 8, y + 16, f'{ours:g} of {theirs:g} µs', 'small')
    return p.svg()


for name, draw in (('architecture', architecture), ('heap', heap), ('put', put), ('hang', hang),
                   ('headline', headline)):
    with open(os.path.join(sys.argv[1], name + '.svg'), 'w', encoding='utf-8') as file:
        file.write(draw())
