// All agents: who they are, when they were last seen, how much is refused, what they spend.
import { get, segment } from "./api.js";
import { spark } from "./charts.js";
import { calmly, el, show } from "./dom.js";
import { count, num, percent, usd } from "./format.js";
import { agentLink, empty, failure, loading, statusPill, trustPill, when } from "./parts.js";

const PAGE = 100;
const LAST = 24;
const AT_ONCE = 4;

const figure = (row, name) => (row.figures === undefined ? undefined : row.figures?.[name] ?? -1);
const COLUMNS = [
  ["Agent", (row) => row.name.toLowerCase()],
  ["Status", (row) => row.status],
  ["Trust", (row) => row.trust_level],
  ["Last seen", (row) => figure(row, "seen"), "number"],
  ["Decisions", (row) => figure(row, "all"), "number"],
  ["Refused", (row) => figure(row, "share"), "number"],
  ["Spent", (row) => figure(row, "spent"), "number"],
  ["Last decisions", null],
];

const figuresOf = async (agent) => {
  const { summary, activities } = await get(`/agents/${segment(agent.agent_id)}/activity`, { limit: LAST });
  const refused = num(summary.denied) + num(summary.budget_exceeded);
  const decisions = activities.map((entry) => entry.decision).filter((decision) => decision !== "NOTED").reverse();
  return {
    all: num(summary.total_actions), refused, share: num(summary.total_actions) ? refused / num(summary.total_actions) : 0, spent: num(summary.total_cost_usd),
    seenAt: activities[0]?.timestamp ?? null, seen: activities[0] ? new Date(activities[0].timestamp).getTime() : 0, decisions,
  };
};

const cells = ({ figures }) => {
  if (figures === undefined) return [el("td", { "data-label": "Last seen", class: "dim", colspan: 5 }, "…")];
  if (figures === null) return [el("td", { class: "dim", colspan: 5 }, "could not be read")];
  const number = (name, ...content) => el("td", { class: "number", "data-label": name }, content);
  return [number("Last seen", figures.seenAt ? when(figures.seenAt) : "never"), number("Decisions", count(figures.all)),
    number("Refused", figures.all ? percent(figures.refused, figures.all) : "–"), number("Spent", usd(figures.spent)),
    el("td", { "data-label": "Last decisions" }, figures.decisions.length ? spark(figures.decisions) : "–")];
};

const tr = (row) =>
  el("tr", el("td", agentLink(row.agent_id, row.name), el("small", row.principal_id, " · ", row.type)),
    el("td", { "data-label": "Status" }, statusPill(row.status)), el("td", { "data-label": "Trust" }, trustPill(row.trust_level)), cells(row));

export const agentsPage = async ({ main, signal, live }) => {
  const body = el("tbody");
  const head = el("tr");
  const foot = el("div", { class: "more" });
  const place = el("div", loading());
  const filter = el("input", { type: "search", "aria-label": "Filter agents", placeholder: "Filter by name, owner, type or status", autocomplete: "off" });
  show(main, el("div", { class: "page-head" }, el("h1", "Agents"), el("div", { class: "list-tools" }, filter)), place, foot);
  let rows = [];
  let order = { column: 0, down: false };

  const drawHead = () => show(head, COLUMNS.map(([name, by, kind], at) =>
    el("th", { scope: "col", class: kind, "aria-sort": by && at === order.column ? (order.down ? "descending" : "ascending") : undefined },
      by ? el("button", { type: "button", on: { click: () => sortBy(at) } }, name, at === order.column ? (order.down ? " ↓" : " ↑") : "") : name)));
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    const by = COLUMNS[order.column][1];
    const shown = rows.filter((row) => `${row.name} ${row.agent_id} ${row.principal_id} ${row.type} ${row.status}`.toLowerCase().includes(wanted))
      .sort((one, other) => ((by(one) ?? -1) < (by(other) ?? -1) ? -1 : 1) * (order.down ? -1 : 1));
    drawHead();
    show(body, shown.length ? shown.map(tr) : el("tr", el("td", { colspan: COLUMNS.length }, "No agent matches.")));
  };
  const sortBy = (column) => {
    order = { column, down: column === order.column ? !order.down : COLUMNS[column][2] === "number" };
    draw();
    head.querySelectorAll("button")[column]?.focus();
  };
  const drawSoon = calmly(300, () => !signal.aborted && draw());
  filter.addEventListener("input", draw);

  const readFigures = async (some) => {
    const queue = [...some];
    const work = async () => {
      for (let row = queue.shift(); row && !signal.aborted; row = queue.shift()) {
        row.figures = await figuresOf(row).catch(() => null);
        drawSoon();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  const load = async (after) => {
    try {
      const page = await get("/agents", { after, limit: PAGE });
      if (signal.aborted) return;
      const known = new Map(rows.map((row) => [row.agent_id, row.figures]));
      const fresh = page.agents.map((agent) => ({ ...agent, figures: known.get(agent.agent_id) }));
      rows = after === undefined ? fresh : [...rows, ...fresh];
      if (!rows.length) {
        show(place, empty("No agents yet", "Register one with qwed agents register, or with POST /agents/register."));
        return;
      }
      show(place, el("div", { class: "wide-table" }, el("table", { class: "table" }, el("thead", head), body)));
      draw();
      show(foot, page.next ? el("button", { type: "button", class: "button", on: { click: () => load(page.next) } }, "Show more") : null);
      await readFigures(fresh);
    } catch (error) {
      if (!signal.aborted) show(place, failure(error, () => load(after)));
    }
  };
  // Only the first page is drawn anew: whoever has paged on is reading, and must not be thrown back.
  const refresh = calmly(5000, () => rows.length <= PAGE && load());
  for (const type of ["trust", "decision"]) live.on(type, refresh, signal);
  await load();
};
