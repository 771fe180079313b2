"""Drawings as SVG text: a heat map, and lines or dots over an axis of numbers or names. No fonts, no scripts."""
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#c4501b", "#2a8f4f", "#7a4fa3", "#a8861b", "#555555")


def text(x, y, what, anchor="middle", size=12, turn=None):
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turned}>'
            f"{escape(str(what))}</text>")


def rectangle(x, y, width, height, fill, title=""):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}">'
            f"<title>{escape(title)}</title></rect>")


def line(x1, y1, x2, y2, colour="#999999", width=1):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def document(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def share_colour(share):
    """Red for 0, yellow in the middle, green for 1."""
    low, middle, high = (196, 64, 54), (240, 214, 110), (58, 150, 88)
    start, end, t = (low, middle, 2 * share) if share < 0.5 else (middle, high, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * t):02x}" for a, b in zip(start, end))


def heat_map(title, columns, rows, cells, column_label, row_label):
    """`cells[(column, row)]` = (right, of); a combination that is absent stays blank."""
    wide, high, left, top = 76, 34, 90, 56
    width, height = left + wide * len(columns) + 20, top + high * len(rows) + 56
    parts = [text(width / 2, 24, title, size=15)]
    for i, column in enumerate(columns):
        parts.append(text(left + wide * (i + 0.5), top - 8, column))
        for j, row in enumerate(rows):
            if (column, row) not in cells:
                continue
            right, of = cells[(column, row)]
            x, y = left + wide * i, top + high * j
            parts += [rectangle(x + 1, y + 1, wide - 2, high - 2, share_colour(right / of), f"{column}, {row}"),
                      text(x + wide / 2, y + high / 2 + 4, f"{right}/{of}")]
    parts += [text(left - 10, top + high * (j + 0.5) + 4, row, "end") for j, row in enumerate(rows)]
    parts += [text(left + wide * len(columns) / 2, height - 16, column_label),
              text(20, top + high * len(rows) / 2, row_label, turn=-90)]
    return document(width, height, parts)


def bars(groups, series, values, top, left, width, height, title):
    """One panel of grouped bars: `values[s][g]`, None where there is none. Returns its parts."""
    largest = max((v for row in values for v in row if v is not None), default=0) or 1
    base, step = top + height, width / max(1, len(groups))
    bar = step * 0.8 / max(1, len(series))
    parts = [text(left + width / 2, top - 8, title, size=13), line(left, base, left + width, base)]
    for g, group in enumerate(groups):
        parts.append(text(left + step * (g + 0.5), base + 16, group))
        for s, name in enumerate(series):
            value = values[s][g]
            if value is None:
                continue
            tall = height * 0.88 * value / largest
            x, shown = left + step * (g + 0.1) + bar * s, f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
            parts += [rectangle(x, base - tall, bar * 0.92, tall, COLOURS[s % len(COLOURS)], f"{name}: {shown}"),
                      text(x + bar / 2, base - tall - 3, shown, size=10)]
    return parts


def legend(series, x, y):
    parts = []
    for s, name in enumerate(series):
        parts += [rectangle(x, y + 18 * s - 10, 12, 12, COLOURS[s % len(COLOURS)]),
                  text(x + 18, y + 18 * s, name, "start")]
    return parts


def intervals(title, rows, unit):
    """One dot with its interval per row, around a line at 0: `rows` = (name, value, low, high)."""
    left, top, plot, high = 200, 50, 420, 28
    width, height = left + plot + 40, top + high * len(rows) + 50
    edge = max([abs(v) for _, *numbers in rows for v in numbers], default=0) or 1
    place = lambda v: left + plot / 2 + v / edge * plot * 0.46
    parts = [text(width / 2, 24, title, size=15), line(place(0), top - 8, place(0), top + high * len(rows))]
    for i, (name, value, low, upper) in enumerate(rows):
        y = top + high * (i + 0.5)
        parts += [text(left - 12, y + 4, name, "end"), line(place(low), y, place(upper), y, COLOURS[0], 2),
                  f'<circle cx="{place(value):.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"/>',
                  text(place(upper) + 8, y + 4, f"{value:+.3g}", "start", 10)]
    parts += [text(place(v), height - 18, f"{v:+.3g}") for v in (-edge, 0, edge)]
    parts.append(text(left + plot / 2, height - 4, unit, size=10))
    return document(width, height, parts)
