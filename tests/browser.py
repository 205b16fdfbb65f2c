"""A page in a real browser: Chromium without a window, in frames as wide as a desktop and as a phone.

Nothing but the browser is needed: a page of ours holds the report in a frame, measures it and writes what it found into
its own text, which Chromium prints. Tests that use it carry `@pytest.mark.server`: where there is none they fail.

`python -m tests.browser`: which Chromium it would be, in one line; with `--install`, Debian's is installed first where
there is none and root may.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from servers import debian
from servers.process import NoServer
from tests.left_out import skip_if_left_out

DESKTOP: Final = 1100
PHONE: Final = 390
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT_S: Final = 120

MEASURE: Final = """
function light(c){const v=c.map(x=>{x/=255;return x<=.03928?x/12.92:Math.pow((x+.055)/1.055,2.4)});
  return .2126*v[0]+.7152*v[1]+.0722*v[2]}
function parsed(t){const m=t.match(/[\\d.]+/g).map(Number);return m.length>3&&m[3]===0?null:m.slice(0,3)}
function behind(e,w){for(;e;e=e.parentElement){const c=parsed(w.getComputedStyle(e).backgroundColor);if(c)return c}
  return [255,255,255]}
function contrast(a,b){const x=light(a),y=light(b);return (Math.max(x,y)+.05)/(Math.min(x,y)+.05)}
function measured(frame){
  const w=frame.contentWindow,d=w.document,r=d.documentElement,found={wide:r.scrollWidth,room:r.clientWidth,
    scheme:w.matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light',plots:[],low:[],out:[],over:[],
    smallest:99,texts:0};
  for(const s of d.querySelectorAll('svg')){const b=s.getBoundingClientRect();
    const boxes=[...s.querySelectorAll('text')].map(t=>[t.textContent,t.getBoundingClientRect()]);
    found.plots.push([s.getAttribute('aria-label'),b.width,b.height,s.querySelectorAll('rect,path,circle').length]);
    for(const [t,x] of boxes)
      if(x.left<b.left-1||x.right>b.right+1||x.top<b.top-1||x.bottom>b.bottom+1)found.out.push(t);
    for(let i=0;i<boxes.length;i++)for(let j=i+1;j<boxes.length;j++){const a=boxes[i][1],c=boxes[j][1];
      if(a.left<c.right-1&&c.left<a.right-1&&a.top<c.bottom-2&&c.top<a.bottom-2)
        found.over.push([boxes[i][0],boxes[j][0]])}}
  for(const e of d.body.querySelectorAll('*')){
    if(e.closest('title')||![...e.childNodes].some(n=>n.nodeType===3&&n.textContent.trim()))continue;
    const s=w.getComputedStyle(e),isText=e.tagName==='text',ink=parsed(isText?s.fill:s.color);
    const under=e.classList.contains('on')?parsed(w.getComputedStyle(e.previousElementSibling).fill):behind(e,w);
    const scale=isText?e.ownerSVGElement.getBoundingClientRect().width/960:1;
    found.texts++;found.smallest=Math.min(found.smallest,parseFloat(s.fontSize)*scale);
    const ratio=contrast(ink,under);if(ratio<4.5)found.low.push([e.tagName,e.textContent.slice(0,40),ratio])}
  return found}
"""


def chromium() -> str:
    """Its program. NoServer where there is none."""
    skip_if_left_out("browser")
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NoServer(f"none of {', '.join(_NAMES)} is on the PATH")
    return found


def measured(page: str, folder: Path, *, width: int, dark: bool = False) -> dict[str, Any]:
    """What a browser makes of a page. `wide`, `room`: what it takes and has in pixels; `plots`: of each label, width,
    height and marks; `out`: texts outside of their plot; `over`: texts that lie over each other; `low`: texts without
    contrast; `smallest`: letter, in pixels."""
    around = (
        f'<!doctype html><meta charset="utf-8"><iframe id="f" style="border:0;width:{width}px;height:900px" '
        f'srcdoc="{html.escape(page, quote=True)}"></iframe><pre id="found"></pre><script>{MEASURE}'
        "const f=document.getElementById('f');f.onload=()=>{document.getElementById('found').textContent="
        "JSON.stringify(measured(f))}</script>"
    )
    file = folder / "around.html"
    file.write_text(around, encoding="utf-8")
    return found_at(file.as_uri(), folder, dark=dark)


def dom(url: str, folder: Path, *, dark: bool = False) -> str:
    """The page at a url, with what its scripts made of it in ten seconds (not counting those in which it waited for
    answers)."""
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if dark else "1")
    return _run([scheme, "--virtual-time-budget=10000", "--dump-dom", url], folder).decode()


def complaints(url: str, folder: Path) -> list[str]:
    """What the browser writes to its console about the page at a url: errors of scripts, and what was not loaded."""
    logged = ["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom", url]
    return [line for line in _ran(logged, folder).stderr.decode().splitlines() if ":CONSOLE" in line]


def found_at(url: str, folder: Path, *, dark: bool = False) -> dict[str, Any]:
    """What a page wrote into its `<pre id="found">`, as JSON."""
    text = dom(url, folder, dark=dark).partition('<pre id="found">')[2].partition("</pre>")[0]
    found: dict[str, Any] = json.loads(html.unescape(text))
    return found


def check_readable(seen: dict[str, Any], *, plots: int) -> None:
    """Nothing is wider than the page, so many plots are there with something in them, and every word can be read."""
    assert seen["wide"] <= seen["room"]
    assert len(seen["plots"]) == plots
    assert all(wide > 300 and tall > 30 and marks > 0 for _, wide, tall, marks in seen["plots"])
    assert (seen["low"], seen["out"], seen["over"]) == ([], [], [])
    assert seen["smallest"] >= 10


def printed(page: str, folder: Path) -> bytes:
    """The page as PDF."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    _run([f"--print-to-pdf={folder / 'page.pdf'}", (folder / "page.html").as_uri()], folder)
    return (folder / "page.pdf").read_bytes()


def _run(arguments: list[str], folder: Path) -> bytes:
    return _ran(arguments, folder).stdout


def _ran(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    plain = ("--headless", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder / 'browser'}")
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [chromium(), *plain, *root, *arguments]
    return subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=True)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reason on stderr, where there is none."""
    try:
        if "--install" in arguments:
            debian.have(chromium, "chromium")
        command = chromium()
    except NoServer as error:
        sys.stderr.write(f"{error}\n(scripts/test leaves the tests that need it out)\n")
        return 1
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    sys.stdout.write(f"{done.stdout.strip()} at {command}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
