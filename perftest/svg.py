# SPDX-License-Identifier: Apache-2.0
"""Charts with two logarithmic axes, written as SVG."""

import html
import math

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 240, 46, 56
COLOURS = ["#1f6fb4", "#d1495b", "#2e8b57", "#8e5bb5", "#c77f1a", "#3b3b3b"]
# The background goes with the colours, so a page's own style cannot make text unreadable.
STYLE = """<style>
.paper { fill: #ffffff } text { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } text { fill: #e6edf3 } [stroke="#dddddd"] { stroke: #30363d }
[stroke="#1f6fb4"] { stroke: #58a6ff } [fill="#1f6fb4"] { fill: #58a6ff }
[stroke="#d1495b"] { stroke: #ff7b8a } [fill="#d1495b"] { fill: #ff7b8a }
[stroke="#2e8b57"] { stroke: #56d364 } [fill="#2e8b57"] { fill: #56d364 }
[stroke="#8e5bb5"] { stroke: #bc8cff } [fill="#8e5bb5"] { fill: #bc8cff }
[stroke="#3b3b3b"] { stroke: #b1bac4 } [fill="#3b3b3b"] { fill: #b1bac4 }
}
</style>"""


def bytes_text(value):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


class Axis:
    """Maps values of a logarithmic scale to pixels. Its ends are marks: `parts` times powers of the base."""

    def __init__(self, values, base, begin, end, parts=(1,)):
        self.base = base
        first, last = (math.floor(math.log(v, base) + 1e-9) for v in (min(values), max(values)))
        marks = [part * base ** i for i in range(first, last + 2) for part in parts]
        low = max(i for i, mark in enumerate(marks) if mark <= min(values) * (1 + 1e-9))
        high = min(i for i, mark in enumerate(marks) if mark >= max(values) * (1 - 1e-9))
        self.marks = marks[low:max(high, low + 1) + 1]
        self.low, self.high = math.log(self.marks[0], base), math.log(self.marks[-1], base)
        self.begin, self.end = begin, end

    def at(self, value):
        part = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def has(self, value):
        return self.low - 1e-9 <= math.log(value, self.base) <= self.high + 1e-9

    def ticks(self, most):
        """The marks; when they are too many, whole powers alone, and only every few."""
        if len(self.marks) <= most:
            return self.marks
        low, high = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        return [self.base ** i for i in range(low, high + 1, max(1, math.ceil((high - low) / most)))]


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(what)}</text>'


def line(x1, y1, x2, y2, style):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def style_of(series):
    dash = {"solid": "", "dashed": 'stroke-dasharray="6 4"', "dotted": 'stroke-dasharray="2 3"'}
    return f'stroke="{series["colour"]}" stroke-width="1.8" fill="none" {dash[series["line"]]}'


def draw_axes(x, y, x_label, y_label, x_text):
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    grid = 'stroke="#dddddd" stroke-width="1"'
    out = []
    for tick in x.ticks(10):
        out.append(line(x.at(tick), TOP, x.at(tick), bottom, grid))
        out.append(text(x.at(tick), bottom + 18, x_text(tick)))
    for tick in y.ticks(16):
        out.append(line(LEFT, y.at(tick), right, y.at(tick), grid))
        out.append(text(LEFT - 8, y.at(tick) + 4, f"{tick:g}", "end"))
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}" '
               'fill="none" stroke="#888888"/>')
    out.append(text((LEFT + right) / 2, HEIGHT - 14, x_label))
    middle = (TOP + bottom) / 2
    out.append(text(18, middle, y_label, more=f'transform="rotate(-90 18 {middle})"'))
    return out


def draw_series(x, y, index, series):
    points = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in series["points"])
    style = style_of(series)
    out = [f'<polyline points="{points}" {style}/>']
    if series["line"] != "dotted":
        out += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="2.2" fill="{series["colour"]}"/>'
                for a, b in series["points"]]
    row = TOP + 10 + 20 * index
    out.append(line(WIDTH - RIGHT + 14, row, WIDTH - RIGHT + 44, row, style))
    out.append(text(WIDTH - RIGHT + 52, row + 4, series["name"], "start"))
    return out


def chart(title, y_label, series, x_label="bytes moved by one call", x_text=bytes_text):
    """series: [{name, colour, line: solid, dashed or dotted, points: [(bytes, value)]}]; values
    above 0. Returns the SVG, or None if there is nothing to draw."""
    series = [{**s, "points": sorted(p for p in s["points"] if p[0] > 0 and p[1] > 0)}
              for s in series]
    series = [s for s in series if len(s["points"]) > 1]
    measured = [p for s in series if s["line"] != "dotted" for p in s["points"]]
    if not measured:
        return None
    # The measured values decide the axes; a limit is drawn as far as it lies within them.
    x = Axis([p[0] for p in measured], 2, LEFT, WIDTH - RIGHT)
    y = Axis([p[1] for p in measured], 10, HEIGHT - BOTTOM, TOP, (1, 2, 5))
    series = [s if s["line"] != "dotted" else
              {**s, "points": [p for p in s["points"] if x.has(p[0]) and y.has(p[1])]} for s in series]
    series = [s for s in series if len(s["points"]) > 1]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           STYLE,
           f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
           text(LEFT, 26, title, "start", 'font-size="15" font-weight="bold"')]
    out += draw_axes(x, y, x_label, y_label, x_text)
    for index, one in enumerate(series):
        out += draw_series(x, y, index, one)
    return "\n".join(out) + "\n</svg>\n"
