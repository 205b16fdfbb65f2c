"use strict";
/* What the page says: status.json, asked for once a second. */
const OPEN_MAX = 40;  /* with more partitions than this, topics are closed at first */
const PLAIN = {"-1": "read-only", "1": "offline"};

function remaining(x) {
  if (x.is_stalled) return make("span", "warn", "stalled");
  return known(x.remaining_s) ? (x.remaining_s < 1 ? "under 1 s" : "about " + lasting(x.remaining_s)) : NONE;
}
function of(x) {
  return known(x.bytes_to_copy) ? `${bytes(x.bytes_copied)} of ${bytes(x.bytes_to_copy)}` : bytes(x.bytes_copied);
}
function waiting(move) {
  if (!move.waits_on.length) return ["none; about to complete"];
  return move.waits_on.map(w => {
    const name = `broker ${w.broker}`;
    if (w.is_down) return make("div", "bad", `${name} is down`);
    if (w.of < 0) return make("div", "warn", `${name}: the size of the leader's log is unknown`);
    if (known(w.bytes_to_copy)) return make("div", "", `${name}: ${of(w)}`, bar(w.bytes_copied, w.bytes_to_copy, name));
    return make("div", "", `${name}: ${count(w.has)} of ${count(w.of)} records`, bar(w.has, w.of, name));
  });
}
function moves(s) {
  const heads = [["partition", "name", "topic and partition"],
    ["replicas", "tight", "the brokers that hold the partition, and those that are to hold it"],
    ["not in sync", "", "target replicas that have not caught up with the leader yet"],
    ["copied", "", "bytes on all new replicas, of the bytes that they need"],
    ["rate", "n", "bytes per second, over the last 10 s"],
    ["remaining", "n", "estimated from the rate; stalled: nothing was copied for 5 s"],
    ["running for", "n", "time since the reassignment was requested"]];
  return table("Running reassignments", heads, s.moves.map(m => [
    `${m.topic}-${m.partition}`,
    [make("div", "", ids(m.replicas)), make("div", "", "\u2192 " + ids(m.target))],
    waiting(m),
    known(m.bytes_to_copy) ? [make("div", "", of(m)), bar(m.bytes_copied, m.bytes_to_copy, "copied")] : of(m),
    rate(m.rate_bytes_s), remaining(m), lasting((s.at_ms - m.started_at_ms) / 1000)]),
    s.controller_epoch === null ? "The page of the active controller lists the reassignments." : "No reassignment is running.");
}
function sum(s) {
  if (!s.moves_count) return "";
  const known_ = s.moves.filter(m => known(m.bytes_to_copy));
  if (!known_.length) return "";
  const total = known_.reduce((n, m) => n + m.bytes_to_copy, 0), copied = known_.reduce((n, m) => n + m.bytes_copied, 0);
  const stalled = s.moves.filter(m => m.is_stalled).length, left = s.moves.map(m => m.remaining_s);
  const time = stalled ? `; ${many(stalled, "reassignment is", "reassignments are")} stalled` :
    left.every(known) ? `; about ${lasting(Math.max(...left))} remaining` : "";
  const listed = s.moves_count > s.moves.length ? `Of the ${count(s.moves.length)} that are listed: ` : "";
  return `${listed}${bytes(copied)} of ${bytes(total)} copied, at ${rate(s.copy_rate_bytes_s)} in all${time}.`;
}
function brokers(s) {
  const most = Math.max(1, ...s.brokers.map(b => b.replicas)), heaviest = Math.max(1, ...s.brokers.map(b => b.bytes || 0));
  return table("Brokers", [["broker", ""], ["rack", ""], ["state", "tight"], ["leads", "n", "partitions that the broker leads"],
    ["replicas", "n", "replicas on the broker, those that are being added included"], ["bytes", "n", "bytes in all logs on the broker"]],
    s.brokers.map(b => [b.id, known(b.rack) ? b.rack : NONE, make("span", b.is_live ? "good" : "bad", b.is_live ? "up" : "down"),
      count(b.leaders), [count(b.replicas), bar(b.replicas, most, "share of the highest number of replicas", true)],
      known(b.bytes) ? [bytes(b.bytes), bar(b.bytes, heaviest, "share of the highest number of bytes", true)] : NONE]),
    s.controller_epoch === null ? "This process has no brokers." : "No broker is registered.", "plain");
}
function state(p) {
  if (p.leader === -2) return make("span", "warn", "being deleted");
  if (p.status !== 0) return make("span", "warn", PLAIN[p.status]);
  if (p.leader < 0) return make("span", "bad", "no leader");
  if (p.is_under_replicated) return make("span", "warn", "under-replicated");
  return make("span", p.is_moving ? "" : "good", p.is_moving ? "moving" : "ok");
}
/* Topics that were opened or closed by hand; all others are open while few partitions are listed. */
const chosen = new Map();
function topic(t, isOpen) {
  const heads = [["partition", ""], ["leader", "", "the broker that leads the partition"],
    ["replicas", "", "the brokers that hold the partition, the preferred leader first"],
    ["in sync", "", "the in-sync replicas (ISR): brokers that have all committed records"], ["state", ""]];
  const facts = [` \u00b7 ${many(t.partitions, "partition", "partitions")}`];
  if (t.rows.length && t.rows.length < t.partitions) facts.push(`, ${count(t.rows.length)} listed`);
  if (t.leaderless) facts.push(make("span", "bad", `, ${count(t.leaderless)} without a leader`));
  if (t.under_replicated) facts.push(make("span", "warn", `, ${count(t.under_replicated)} under-replicated`));
  const summary = make("summary", "", t.topic, make("span", "", ...facts));
  const e = make("details", "", summary, table("Partitions of topic " + t.topic, heads, t.rows.map(p => ({
    kind: p.is_under_replicated || p.leader === -1 ? "late" : "",
    cells: [p.partition, p.leader < 0 ? NONE : p.leader, ids(p.replicas), ids(p.isr), state(p)]})), "Its partitions are not listed.", "plain"));
  e.open = chosen.has(t.topic) ? chosen.get(t.topic) : isOpen;
  summary.addEventListener("click", () => chosen.set(t.topic, !e.open));
  return e;
}
function topics(s) {
  if (s.controller_epoch === null) return [make("p", "none", "The page of the active controller lists the topics.")];
  if (!s.topics_shown.length) return [make("p", "none", "There is no topic.")];
  const listed = s.topics_shown.reduce((n, t) => n + t.rows.length, 0);
  return [...s.topics_shown.map(t => topic(t, listed <= OPEN_MAX)), ...more(s.topics - s.topics_shown.length, "topics"),
    ...more(s.partitions - listed, "partitions")];
}
function throttles(s) {
  const rows = [];
  for (const b of s.brokers) for (const name in b.throttles) rows.push(["broker " + b.id, name,
    /^\d+$/.test(b.throttles[name]) ? rate(Number(b.throttles[name])) : b.throttles[name]]);
  for (const t of s.throttled_topics) for (const name in t) if (name !== "topic") rows.push(["topic " + t.topic, name, t[name]]);
  const removed = [...(s.throttles_to_remove.brokers || []).map(b => "broker " + b), ...(s.throttles_to_remove.topics || []).map(t => "topic " + t)];
  return [table("Throttles", [["for", "name"], ["config", ""], ["value", ""]], rows,
    s.controller_epoch === null ? "The page of the active controller lists the throttles." : "No throttle is set."),
    ...more(s.throttled_topics_count - s.throttled_topics.length, "topics with throttles"),
    ...(removed.length ? [make("p", "none", "Removed when the last reassignment has ended: " + removed.join(", ") + ".")] : [])];
}
function about(row) {
  const named = (row.entity || "").replace(/^brokers\/(\d+)$/, "broker $1").replace(/^(topic|broker)s\//, "$1 ");
  const name = row.topic === undefined ? named : row.partition === undefined ? row.topic : `${row.topic}-${row.partition}`;
  return name + (row.broker === undefined ? "" : `${name ? " on " : ""}broker ${row.broker}`);
}
function journal(s) {
  const list = x => x ? ids(x) : "";
  return table("Latest events", [["time", "tight", "UTC"], ["event", "", "the title of each has the name in the journal"],
    ["about", ""], ["replicas", ""], ["in sync", "", "the in-sync replicas (ISR)"], ["targets", ""], ["leader", ""], ["cause", "", "why, and which configs changed"]],
    s.journal.map(r => [new Date(r.ts).toISOString().slice(11, 19), titled(r.words, r.event), about(r), list(r.replicas),
      list(r.isr), list(r.target), r.leader === undefined ? "" : r.leader < 0 ? NONE : r.leader,
      [...(r.cause ? [r.cause] : []), ...(r.changes || []).map(c => make("div", "", c))]]), "No event yet.");
}
function counts(s) {
  const rows = Object.entries(s.events).map(([kind, n]) => [titled(s.events_in_words[kind], kind), count(n)]);
  return table("Client connections", [["what happened since the start", ""], ["times", "n"]], rows,
    "No connection was refused or closed by an error since the start.", "plain");
}
function facts(s, down) {
  const fact = (value, name, title) => {
    const e = make("div", "fact", make("dt", "", name), make("dd", "", value));
    e.title = title;
    return e;
  };
  const ofAll = n => s.controller_epoch === null ? NONE : count(n);  /* a standby does not know */
  const held = s.brokers.reduce((n, b) => n + (b.bytes || 0), 0);
  return [fact(count(s.brokers_count - down.length), "live brokers", "registered brokers that are up"),
    fact(ofAll(s.topics), "topics", "topics in the cluster"),
    fact(ofAll(s.partitions), "partitions", "partitions of all topics"),
    fact(ofAll(s.under_replicated), "under-replicated", "partitions with a replica that is not in sync; replicas that are being added do not count"),
    fact(ofAll(s.moves_count), "reassignments", "partitions that are being reassigned"),
    fact(rate(s.copy_rate_bytes_s), "copy rate", "bytes per second copied for reassignments, over the last 10 s"),
    fact(bytes(held), "bytes on all brokers", "bytes in the logs of all brokers, each replica counted"),
    fact(bytes(s.kept_bytes), "bytes of records", "bytes of the records that this process keeps, each counted once for all its replicas"),
    fact(ofAll(s.replicas_to_delete), "replicas to delete", "replicas whose deletion their broker has not acknowledged"),
    fact(count(s.requests), "requests", "requests of clients since the start")];
}
function verdict(s, down) {
  const isActive = s.controller_epoch !== null, bad = [];
  if (s.leaderless) bad.push(many(s.leaderless, "partition has", "partitions have") + " no leader");
  if (down.length) bad.push(down.length === 1 ? `broker ${down[0]} is down` :
    `brokers ${ids(down.slice(0, 10))}${down.length > 10 ? ` and ${count(down.length - 10)} more` : ""} are down`);
  if (s.under_replicated) bad.push(many(s.under_replicated, "partition is", "partitions are") + " under-replicated");
  if (s.findings.length) bad.push(many(s.findings_count, "finding", "findings") + ": " + s.findings[0]);
  const kind = !isActive && s.active === null ? " warn" : s.leaderless ? " bad" : bad.length ? " warn" : "";
  if (s.moves_count) bad.push(many(s.moves_count, "reassignment is", "reassignments are") + " running");
  if (!isActive) bad.unshift(s.active === null ? "This controller is on standby, and no controller is active" :
    `This controller is on standby; controller ${s.active} is active, and its page shows the whole cluster`);
  const text = bad.join("; ");
  setText("verdict", text ? text[0].toUpperCase() + text.slice(1) + "." : "Everything is in order. No reassignment is running.", "verdict" + kind);
}
function shown(s) {
  const down = s.brokers.filter(b => !b.is_live).map(b => b.id);
  setText("about", `Cluster ${s.cluster_id} at ${s.listen}. Metadata in ${s.store}. Controller ${s.controller} ` +
    (s.controller_epoch === null ? "is on standby." : `is active, epoch ${s.controller_epoch}.`));
  verdict(s, down);
  show("facts", ...facts(s, down));
  const notes = [];
  if (s.leaving_partitions) notes.push(many(s.leaving_partitions, "partition is", "partitions are") + " read-only or offline, and will be removed.");
  if (s.deleting_topics.length) notes.push("Topics being deleted: " + s.deleting_topics.join(", ") + ".");
  setText("moves-sum", sum(s));
  show("moves", moves(s), ...more(s.moves_count - s.moves.length, "reassignments"), ...notes.map(t => make("p", "none", t)));
  show("rates", ...graph(s.copy_rates, s.copy_rates_ms));
  show("brokers", brokers(s), ...more(s.brokers_count - s.brokers.length, "brokers"));
  show("topics", ...topics(s));
  show("throttles", ...throttles(s));
  show("journal", journal(s));
  show("counted", counts(s));
}
async function look() {
  try {
    const answer = await fetch("status.json", {cache: "no-store"});
    if (!answer.ok) throw new Error(await answer.text());
    shown(await answer.json());
  } catch (error) {
    setText("verdict", "No answer: " + String(error.message || error).trim(), "verdict bad");
  }
  setTimeout(look, 1000);
}
look();
