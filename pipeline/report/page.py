"""The page itself: headings, figures, tables. Its style is inside, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from ...controller.model.plural import counted

ROWS_MAX: Final = 1000
"""The rows of a table on a page; a note gives the number of the others, which are in the tables written by `--out`."""

_STYLE: Final = """\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6672;--line:#d7dce2;--back:#fff;--card:#f6f8fa;--good:#1a7f37;
  --bad:#c8232c;--warn:#9a6700;--s1:#2f6fdb;--s2:#e07b16;--s3:#2a9d64;--s4:#b8459b;--s5:#7a5cd6;--s6:#14899b;
  --s7:#a67c00;--s8:#6b7684;--on:#fff}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa5b1;--line:#39424d;--back:#12161b;
  --card:#1a2027;--good:#4ac26b;--bad:#ff6b6b;--warn:#e3b341;--s1:#6aa3ff;--s2:#ffa94d;--s3:#5fd39a;--s4:#f783d8;
  --s5:#b197fc;--s6:#4dd0e1;--s7:#ffd43b;--s8:#adb5bd;--on:#12161b}
}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:24px;margin:0 0 4px}
h2{font-size:17px;margin:34px 0 8px}
p.sub{color:var(--soft);margin:0 0 18px}
.verdict{border-left:6px solid var(--good);background:var(--card);padding:12px 16px;border-radius:4px;
  font-size:17px}
.verdict.bad{border-color:var(--bad)}
.verdict.warn{border-color:var(--warn)}
.facts{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}
.fact{background:var(--card);border-radius:6px;padding:8px 14px;min-width:110px}
.fact b{display:block;white-space:nowrap;font-size:20px;font-variant-numeric:tabular-nums}
.fact span{color:var(--soft);font-size:13px}
figure{margin:0;background:var(--card);border-radius:6px;padding:12px}
svg{display:block;width:100%;height:auto}
figcaption,.note{color:var(--soft);font-size:13px;margin-top:6px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
a{color:var(--s1)}
th{text-align:left;color:var(--soft);font-weight:600}
th,td{padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal;white-space:nowrap}
.axis{stroke:var(--soft)}
.grid{stroke:var(--line)}
.even{stroke:var(--soft);stroke-dasharray:4 4}
.tick{fill:var(--soft);font-size:12px}
.on{fill:var(--on);font-size:12px;font-weight:600}
.line{fill:none;stroke-width:1.8}
.was{fill:none;stroke:var(--ink);stroke-width:1.5}
.limit{fill:none;stroke:var(--bad);stroke-width:2}
.between{fill:none;stroke:var(--ink);stroke-width:1.2}
.point{fill:var(--s1);opacity:.7}
.mark{fill:var(--warn);stroke:var(--card)}
.mark.violations{fill:var(--bad)}
@media screen and (max-width:700px){main{padding:18px 12px 40px} svg{min-width:760px} .tick,.on{font-size:13px}
  .verdict{font-size:16px} .fact{flex:1 1 40%} .fact b{font-size:17px} table{min-width:560px}}
@media print{main{max-width:none;padding:0} body{font-size:12px} figure,.fact,.verdict{break-inside:avoid}
  *{print-color-adjust:exact;-webkit-print-color-adjust:exact} .wide{overflow:visible}}
"""


def page(title: str, subtitle: str, parts: Iterable[str]) -> str:
    """A whole document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n<body><main>\n"
        f'<h1>{escape(title)}</h1><p class="sub">{escape(subtitle)}</p>\n'
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def verdict(text: str, kind: str = "") -> str:
    """One sentence with the result. `kind`: "", warn or bad."""
    return f'<div class="verdict {kind}">{escape(text)}</div>'


def facts(found: Sequence[tuple[str, str]]) -> str:
    """Numbers, each with its name."""
    boxes = "".join(f'<div class="fact"><b>{escape(n)}</b><span>{escape(what)}</span></div>' for what, n in found)
    return f'<div class="facts">{boxes}</div>'


def plot(title: str, svg: str, caption: str) -> str:
    """Empty if there is nothing to plot."""
    if not svg:
        return ""
    drawn = f'<div class="wide" tabindex="0">{svg}</div>'
    return f"<h2>{escape(title)}</h2>\n<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], nothing: str = "") -> str:
    """Rows below a heading; numbers are aligned right. Without rows: the text `nothing`, or an empty string."""
    if not rows:
        return f'<h2>{escape(title)}</h2><p class="note">{escape(nothing)}</p>' if nothing else ""
    numeric = [all(isinstance(row[i], int | float) or row[i] is None for row in rows) for i in range(len(columns))]
    head = "".join(f"<th{_class(n)}>{escape(name)}</th>" for name, n in zip(columns, numeric, strict=True))
    body = "\n".join(_row(row, numeric) for row in rows[:ROWS_MAX])
    left = len(rows) - ROWS_MAX
    more = f'<p class="note">{counted(left, "more row")} not shown here.</p>' if left > 0 else ""
    whole = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<h2>{escape(title)}</h2>\n<div class="wide" tabindex="0">{whole}</div>{more}'


class Link(NamedTuple):
    """A cell with a link."""

    text: str
    to: str


def _row(row: Sequence[object], numeric: Sequence[bool]) -> str:
    cells = "".join(f"<td{_class(n)}>{_cell(value)}</td>" for value, n in zip(row, numeric, strict=True))
    return f"<tr>{cells}</tr>"


def _class(numeric: bool) -> str:  # noqa: FBT001 - internal
    return ' class="n"' if numeric else ""


def _cell(value: object) -> str:
    if isinstance(value, Link):
        return f'<a href="{escape(value.to, quote=True)}">{escape(value.text)}</a>'
    return escape(_text(value))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return f"{value:,}" if type(value) is int else str(value)
