// How things stand.
import { get, segment } from "./api.js";
import { gauge, outcomeBars, rankedBars } from "./charts.js";
import { calmly, el, link, show } from "./dom.js";
import { compact, count, milliseconds, num, percent, summary, usd } from "./format.js";
import { agentLink, card, decisionPill, empty, fillFrom, when } from "./parts.js";

const PERIODS = [["24", "24 hours"], ["168", "7 days"], ["720", "30 days"]];
const FEED = 8;
const PAGE = 50;
const MAX_PAGES = 4;

const tile = (label, value, note, href) =>
  el(href ? "a" : "div", { class: "tile", href }, el("span", { class: "tile-label" }, label), el("span", { class: "tile-value" }, value), el("span", { class: "tile-note" }, note));

const tiles = (now) => {
  const { approved, corrected, pending, denied, budget_exceeded: overdrawn } = now.totals;
  const all = approved + corrected + pending + denied + overdrawn;
  const times = now.verification_ms;
  return el("div", { class: "tiles" },
    tile("Decisions", compact(all), `${percent(approved + corrected, all)} allowed`),
    tile("Refused", compact(denied + overdrawn), `${percent(denied + overdrawn, all)} of all`, "/dashboard/search?decision=DENIED"),
    tile("Waiting for a person", count(now.waiting), now.waiting ? "open the inbox" : "nothing to answer", "/dashboard/inbox"),
    tile("Verification", times.sample ? milliseconds(times.p50) : "–", times.sample ? `95 % within ${milliseconds(times.p95)}` : "no recent decisions"),
    tile("Spent today", usd(now.spending.today_usd), now.spending.ceiling_usd === null ? "all agents" : `of ${usd(now.spending.ceiling_usd)}`));
};

const FINDINGS = {
  receipt_mismatch: "What ran is not what was approved",
  effect_without_permit: "Ran without a permit",
  call_refused: "Calls that tools refused",
  permit_unused: "Permits that nobody used",
};

/** Differences between what was approved and what was run; nothing where there are none. */
const permitFindings = (now) => {
  const rows = Object.entries(FINDINGS).filter(([kind]) => now.permit_findings[kind]);
  if (!rows.length) return null;
  return card("Approved and executed", rankedBars(rows.map(([kind, label]) => ({
    label: link("/dashboard/search?action_type=" + (kind === "permit_unused" ? "permit_unused" : kind === "receipt_mismatch" ? "report_receipt" : "permit_finding"), {}, label),
    value: now.permit_findings[kind],
  }))));
};

const refusals = (now) =>
  card("Refusals by reason", now.refusals.length
    ? rankedBars(now.refusals.map((row) => ({
      label: link(`/dashboard/search?error_code=${segment(row.error_code)}`, {}, row.meaning || row.error_code, el("small", row.error_code)),
      value: row.count,
    })))
    : empty("Nothing was refused", "In this period every action was allowed or put to a person."));

const spending = (now) =>
  card("Spending today", now.spending.agents.length
    ? el("div", { class: "gauges" }, now.spending.agents.slice(0, 6).map((row) => gauge(agentLink(row.agent_id, row.name), row.spent_usd, row.limit_usd, usd)))
    : empty("Nothing was spent yet", "Days start at midnight UTC."));

const atRisk = (now) =>
  card("Agents to look at", now.at_risk.length
    ? el("ul", { class: "rows" }, now.at_risk.map((row) => el("li", agentLink(row.agent_id, row.name), el("span", { class: "dim" }, row.reasons.join(" · ")))))
    : empty("No agent stands out", "No suspensions, no unusual refusals, no budget nearly spent."));

const feedRow = (entry, names) =>
  el("li", { class: "feed-row" }, decisionPill(entry.decision),
    el("span", { class: "feed-what" }, link(`/dashboard/decisions/${segment(entry.activity_id)}`, {}, entry.action_type), el("span", { class: "dim" }, summary(entry.action))),
    el("span", { class: "feed-who dim" }, names[entry.agent_id] ?? entry.agent_id, " ", when(entry.timestamp)));

/** What agents asked for: notes of bookkeeping arrive in heaps and would hide it, so they are passed over, within bounds. */
const newest = async () => {
  let [entries, names, cursor] = [[], {}, undefined];
  for (let pages = 0; pages < MAX_PAGES && entries.length < FEED; pages += 1) {
    const page = await get("/activity", { limit: PAGE, cursor });
    entries = [...entries, ...page.activities.filter((entry) => entry.decision !== "NOTED")];
    names = { ...names, ...page.agents };
    cursor = page.next;
    if (!cursor) break;
  }
  return { entries: entries.slice(0, FEED), names };
};

/** Until there is an agent there is nothing to count: what to do first. */
const firstRun = () => {
  const lines = (text) => el("pre", { class: "block", tabindex: "0" }, text);
  return el("section", { class: "card first-run" }, el("h2", "Put your first agent behind QWED"),
    el("ol",
      el("li", "Register an agent. Its token is shown once.", lines(`export QWED_BASE_URL=${location.origin}\nexport QWED_API_KEY=…   # your key\nqwed agents register MyAgent --principal me --engine sql --engine math`)),
      el("li", "Wrap a function that the agent calls.", lines('from qwed_sdk import QWEDClient, verified\n\nclient = QWEDClient()\nclient.register_agent("MyAgent", "supervised", "me", permissions={"allowed_engines": ["sql"]})\n\n@verified(client, action_type="execute_sql", query="statement")\ndef run_sql(statement):\n    ...')),
      el("li", "Call it with ", el("code", "DROP TABLE users"), ". It is denied, and the denial appears here."),
      el("li", "What needs a person appears in the ", link("/dashboard/inbox", {}, "inbox"), ". ", el("a", { href: "/docs" }, "Every HTTP endpoint"), " is described, too.")));
};

export const overviewPage = async ({ main, signal, query, live }) => {
  const hours = PERIODS.some(([value]) => value === query.get("hours")) ? query.get("hours") : "24";
  const figures = el("div", { class: "stack" });
  const feed = el("div");
  show(main,
    el("div", { class: "page-head" }, el("h1", "Overview"),
      el("nav", { class: "choice", "aria-label": "Period" }, PERIODS.map(([value, label]) => link(`/dashboard?hours=${value}`, { "aria-current": value === hours ? "true" : undefined }, label)))),
    figures, card("Recent activity", feed));

  const build = async () => {
    const [now, known] = await Promise.all([get("/overview", { hours }), get("/agents", { limit: 1 })]);
    const all = ["approved", "corrected", "pending", "denied", "budget_exceeded"].reduce((sum, kind) => sum + num(now.totals[kind]), 0);
    return [known.agents.length ? null : firstRun(), tiles(now),
      card("Decisions over time", all ? outcomeBars(now.bars, now.period.bar_hours) : empty("No decisions in this period", "They appear here as agents ask.")),
      permitFindings(now), now.at_risk.length ? atRisk(now) : null,
      el("div", { class: "columns level" }, refusals(now), spending(now)), now.at_risk.length ? null : atRisk(now)];
  };
  const refresh = calmly(3000, () => fillFrom(figures, signal, build));
  const refreshFeed = calmly(2000, () => fillFrom(feed, signal, async () => {
    const { entries, names } = await newest();
    return entries.length
      ? el("ul", { class: "rows feed" }, entries.map((entry) => feedRow(entry, names)))
      : empty("Nobody has asked for anything yet", "Register an agent and let it ask for something.");
  }));
  for (const type of ["decision", "approval", "trust", "again"]) {
    live.on(type, () => {
      refresh();
      refreshFeed();
    }, signal);
  }
  refreshFeed();
  await fillFrom(figures, signal, build);
};
