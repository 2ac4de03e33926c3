// Another policy beside the one in force: over the record, and in the shadow of running decisions.
import { get, post, segment } from "./api.js";
import { el, link, show } from "./dom.js";
import { count } from "./format.js";
import { agentLink, card, decisionPill, failure, field, when } from "./parts.js";

const DAY = 86_400_000;
const SPANS = [["1", "the last day"], ["7", "the last 7 days"], ["30", "the last 30 days"], ["", "the whole record"]];

const tally = (counts) => el("dl", { class: "tally" }, Object.entries(counts).map(([name, number]) => [el("dt", name), el("dd", count(number))]));

const unsaid = (report) => {
  const rows = Object.entries(report.cannot_say).map(([reason, number]) => `${count(number)}: ${reason}`);
  if (report.agents_may_have_gone_on_differently) rows.push(`${count(report.agents_may_have_gone_on_differently)} came after a decision that changes: the agent may have gone on differently`);
  if (report.not_counted_by_rules) rows.push(`${count(report.not_counted_by_rules)} acted and could not be counted: rules with a window may differ`);
  if (!report.windows_are_whole) rows.push("there were more windows than are kept: rules with a window may differ");
  return rows.length ? [el("h3", "What it can't say"), el("ul", { class: "found" }, rows.map((one) => el("li", one)))] : null;
};

const changedTable = (title, rows) => (rows.length ? [el("h3", title), el("div", { class: "wide-table" }, el("table", { class: "table" },
  el("thead", el("tr", ["Action", "Then", "Now", "Decisions"].map((name) => el("th", { scope: "col", class: name === "Decisions" ? "number" : undefined }, name)))),
  el("tbody", rows.map((row) => el("tr", el("td", { "data-label": "Action" }, el("code", row.action_type)), el("td", { "data-label": "Then" }, decisionPill(row.then)),
    el("td", { "data-label": "Now" }, decisionPill(row.now)), el("td", { "data-label": "Decisions", class: "number" }, count(row.count)))))))] : null);

const example = (one) => el("li", decisionPill(one.then.decision), el("span", { "aria-label": "becomes" }, "→"), decisionPill(one.now.decision),
  link(`/dashboard/decisions/${segment(one.activity_id)}`, {}, one.action_type), one.now.rules.length ? el("span", { class: "dim" }, "by ", el("code", one.now.rules.join(", "))) : null,
  el("span", { class: "dim" }, one.change === "follow_on" ? "follows from an earlier change, " : null, when(one.at)));

const reportOf = (report) => {
  const changed = [...report.direct, ...report.follow_on].reduce((sum, row) => sum + Number(row.count), 0);
  return [
    unsaid(report),
    el("p", { class: changed ? "warning" : "calm" }, `${count(report.same)} of ${count(report.decisions)} decisions stay the same; ${count(changed)} change.`),
    changedTable("Direct changes", report.direct),
    changedTable("What follows from them", report.follow_on),
    Object.keys(report.by_rule).length ? [el("h3", "Rules behind the changes"), tally(report.by_rule)] : null,
    report.changes.length ? el("details", { class: "older" }, el("summary", `${count(report.changes.length)} of them, one by one`), el("ul", { class: "rows" }, report.changes.map(example))) : null,
  ];
};

export const backtestCard = (textOf, signal) => {
  const span = el("select", { name: "since" }, SPANS.map(([value, label]) => el("option", { value, selected: value === "7" }, label)));
  const start = el("button", { type: "button", class: "button" }, "Run the backtest");
  const stop = el("button", { type: "button", class: "button", hidden: true }, "Stop");
  const place = el("div", { "aria-live": "polite" });
  let isOn = false;
  const step = async (asked, bar, said) => {
    let report = null;
    let after = 0;
    while (after !== null && isOn && !signal.aborted) {
      report = await post("/policy/backtest", { ...asked, after });
      after = report.next;
      const [done, total] = [after ?? report.total, Math.max(1, report.total)];
      bar.value = done / total;
      show(said, `${count(done)} of ${count(report.total)} entries`);
    }
    return report;
  };
  start.addEventListener("click", async () => {
    const bar = el("progress", { max: "1", value: 0, "aria-label": "Progress of the backtest" });
    const said = el("p", { class: "dim", role: "status" }, "Deciding again …");
    show(place, bar, said);
    [isOn, start.disabled, stop.hidden] = [true, true, false];
    const since = span.value ? new Date(Date.now() - Number(span.value) * DAY).toISOString() : null;
    try {
      const report = await step({ text: textOf(), since }, bar, said);
      if (signal.aborted) return;
      if (isOn) show(place, reportOf(report));
      else show(place, el("p", { class: "dim" }, "Stopped."));
    } catch (error) {
      if (!signal.aborted) show(place, failure(error));
    } finally {
      [isOn, start.disabled, stop.hidden] = [false, false, true];
    }
  });
  stop.addEventListener("click", () => { isOn = false; });
  return card("Backtest", el("p", { class: "dim" }, "What this text would have decided, over the actions on record. Nothing changes."),
    el("div", { class: "list-tools" }, field("Period", span), start, stop), place);
};

export const shadowCard = (signal) => {
  const place = el("div"), observed = el("div");
  const load = async () => {
    try {
      const found = await get("/shadow");
      if (signal.aborted) return;
      const seen = found.observed_decisions, rules = found.observed_rules;
      if (seen.total || rules.length) show(observed, card("Observed", seen.total ? el("p", { class: "dim" }, `${count(seen.total)} decisions stopped nothing. They would have been:`) : null,
        seen.total ? el("div", { class: "columns" }, tally(seen.by_decision), tally(seen.by_code)) : null,
        rules.length ? el("ul", { class: "rows spaced" }, rules.map((one) => el("li", el("code", one.id), el("span", `would ${Object.entries(one.would).map(([then, times]) => `${then} ${count(times)}`).join(", ")}`),
          link(`/dashboard/decisions/${segment(one.newest)}`, {}, "newest")))) : null));
      if (found.policy_version === null && !found.differences) return;
      show(place, card("Shadow", el("p", { class: "dim" }, `Of the last ${count(found.looked_at)} entries, ${count(found.differences)} would have been decided otherwise by the policy that only watches.`),
        found.differences ? el("div", { class: "columns" }, el("div", el("h3", "By rule"), tally(found.by_rules), el("h3", "By change"), tally(found.by_changes)),
          el("div", el("h3", "By action"), tally(found.by_actions), el("h3", "By agent"), tally(found.by_agents))) : null,
        found.examples.length ? el("ul", { class: "rows spaced" }, found.examples.slice(0, 10).map((one) => el("li", decisionPill(one.decision), el("span", { "aria-label": "would be" }, "→"), decisionPill(one.would.decision),
          link(`/dashboard/decisions/${segment(one.activity_id)}`, {}, one.action_type), agentLink(one.agent_id), el("span", { class: "dim" }, when(one.timestamp))))) : null));
    } catch (error) {
      if (!signal.aborted) show(place, failure(error, load));
    }
  };
  load();
  return el("div", observed, place);
};
