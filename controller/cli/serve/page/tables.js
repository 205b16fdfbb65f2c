"use strict";
/* How the page is built: elements, tables, units. What comes from the cluster is put in as text, never as markup. */
const $ = id => document.getElementById(id);
const NONE = "\u2013";

function make(tag, kind, ...inner) {
  const e = document.createElement(tag);
  if (kind) e.className = kind;
  e.append(...inner.map(x => x instanceof Node ? x : String(x)));
  return e;
}
function titled(text, title) {
  const e = make("abbr", "", text);
  e.title = title;
  return e;
}
/* A part of the page is replaced only if it changes: a selection in it, or the focus, stays. */
function show(id, ...inner) {
  const before = $(id), after = before.cloneNode(false);
  after.append(...inner);
  if (!before.isEqualNode(after)) before.replaceChildren(...after.childNodes);
}
function setText(id, text, kind) {
  const e = $(id);
  if (kind !== undefined) e.className = kind;
  if (e.textContent !== text) e.textContent = text;  /* a screen reader announces the verdict only when it changes */
}

/* heads: [heading, class, what it means]; rows: arrays of cells, or {kind, cells}.
   The roles are spelled out because cards (page.css) lose those of a table. */
function table(label, heads, rows, empty, kind = "cards") {
  if (!rows.length) return make("p", "none", empty);
  const head = heads.map(([text, name, title]) => {
    const e = role(make("th", name, text), "columnheader");
    e.scope = "col";
    if (title) e.title = title;
    return e;
  });
  const e = make("table", kind,
    make("thead", "", role(make("tr", "", ...head), "row")),
    role(make("tbody", "", ...rows.map(row => line(heads, row))), "rowgroup"));
  e.setAttribute("aria-label", label);
  return role(e, "table");
}
function role(e, name) {
  e.setAttribute("role", name);
  return e;
}
function line(heads, row) {
  const cells = (row.cells || row).map((x, i) => {
    const inner = Array.isArray(x) ? x : [x];
    const e = role(make("td", heads[i][1], ...(inner.length > 1 ? [make("div", "", ...inner)] : inner)), "cell");
    if (inner.length === 0 || inner[0] === "") e.classList.add("blank");
    e.dataset.label = heads[i][0];
    return e;
  });
  return role(make("tr", row.kind || "", ...cells), "row");
}
function more(n, noun) {
  return n > 0 ? [make("p", "none", `${count(n)} more ${noun} not shown.`)] : [];
}
function bar(part, whole, label, isLoad) {
  const share = whole > 0 ? Math.min(100, 100 * part / whole) : 100;
  const inner = make("i");
  inner.style.width = share.toFixed(1) + "%";
  const outer = role(make("span", share >= 100 && !isLoad ? "bar done" : "bar", inner), isLoad ? "img" : "progressbar");
  if (!isLoad) outer.setAttribute("aria-valuenow", share.toFixed(0));
  outer.setAttribute("aria-label", label + ": " + share.toFixed(0) + " %");
  outer.title = share.toFixed(0) + " %";
  return outer;
}

const known = n => n !== null && n !== undefined;
const count = n => Number(n).toLocaleString("en");
const ids = list => list && list.length ? list.join(", ") : NONE;
const many = (n, one, several) => count(n) + " " + (n === 1 ? one : several);
function bytes(n) {
  if (!known(n)) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return (i ? n.toFixed(1) : Math.round(n)) + " " + units[i];
}
const rate = n => known(n) ? bytes(n) + "/s" : NONE;
function lasting(s) {
  s = Math.max(0, Math.round(s));
  return s < 90 ? s + " s" : s < 5400 ? Math.round(s / 60) + " min" : s < 172800 ? (s / 3600).toFixed(1) + " h" :
    Math.round(s / 86400) + " days";
}

/* points: [milliseconds ago, bytes per second], oldest first. A gap between readings is a gap in the line. */
function graph(points, span_ms) {
  const top = Math.max(1, ...points.map(p => p[1])), now = points.length ? points[points.length - 1][1] : null;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const put = (tag, kind, attributes) => {
    const e = document.createElementNS(svg.namespaceURI, tag);
    e.setAttribute("class", kind);
    for (const name in attributes) e.setAttribute(name, attributes[name]);
    svg.append(e);
  };
  svg.setAttribute("viewBox", "0 0 1000 100");
  svg.setAttribute("preserveAspectRatio", "none");
  const span = lasting(span_ms / 1000);
  const words = now === null ? "nothing measured yet" : `now ${rate(now)}, highest ${rate(Math.max(...points.map(p => p[1])))}`;
  role(svg, "img").setAttribute("aria-label", `Bytes per second copied for reassignments in the last ${span}: ${words}`);
  for (const y of [2, 50, 98]) put("path", "grid", {d: `M0 ${y}H1000`});
  const at = p => `${(1000 - 1000 * p[0] / span_ms).toFixed(1)} ${(98 - 94 * p[1] / top).toFixed(1)}`;
  const runs = [];
  points.forEach((p, i) => {
    if (i === 0 || points[i - 1][0] - p[0] > 15000) runs.push([]);
    runs[runs.length - 1].push(p);
  });
  for (const run of runs) {
    const x = p => at(p).split(" ")[0], line = "M" + run.map(at).join("L");
    put("path", "area", {d: `${line}L${x(run[run.length - 1])} 98L${x(run[0])} 98Z`});
    put("path", "line", {d: line});
  }
  const highest = points.length && top > 1 ? rate(top) : NONE;
  return [make("figcaption", "", make("span", "", "copy rate, highest " + highest), make("span", "", "now " + rate(now))), svg,
    make("div", "ends", make("span", "", span + " ago"), make("span", "", "now"))];
}
