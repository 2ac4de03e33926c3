// Search over the record. What is asked for is the address, so that it can be shared and kept.
import { get, segment } from "./api.js";
import { asCsv, download } from "./csv.js";
import { el, link, show } from "./dom.js";
import { clock, moment, summary } from "./format.js";
import { agentLink, decisionPill, empty, failure, field, loading, toast } from "./parts.js";
import { saveView, savedViews } from "./saved-views.js";

const FILTERS = ["agent_id", "decision", "action_type", "error_code", "conversation_id", "text", "from", "to"];
const DECISIONS = ["APPROVED", "CORRECTED", "PENDING", "DENIED", "BUDGET_EXCEEDED", "NOTED"];
const PAGE = 50;
// A search looks at a stretch of the record at a time; a few empty stretches are passed without asking.
const PATIENCE = 10;

const row = (entry, names) =>
  el("tr",
    el("td", { "data-label": "When" }, link(`/dashboard/decisions/${segment(entry.activity_id)}`, {}, clock(entry.timestamp))),
    el("td", { "data-label": "Decision" }, decisionPill(entry.decision)),
    el("td", { "data-label": "Agent" }, entry.agent_id === "gateway" ? "the gateway" : agentLink(entry.agent_id, names[entry.agent_id])),
    el("td", { "data-label": "Action", class: "what" }, el("strong", entry.action_type), el("span", { class: "clip" }, summary(entry.action))),
    el("td", { "data-label": "Why", class: "what" }, entry.error_code ? el("code", entry.error_code) : null, el("span", { class: "clip dim" }, entry.error?.message ?? entry.verification?.reason ?? "")));

const asLocal = (iso) => {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

// --- names and suggestions --------------------------------------------------------------------------

const SUGGESTED = 500;
/** Agents by what people call them: `name (id)` where a name is not enough. */
const readAgents = async () => {
  const { agents } = await get("/agents", { limit: SUGGESTED }).catch(() => ({ agents: [] }));
  const byName = new Map();
  for (const agent of agents) byName.set(byName.has(agent.name) ? `${agent.name} (${agent.agent_id})` : agent.name, agent.agent_id);
  return byName;
};
const readTypes = async () => (await get("/actions").catch(() => ({ actions: [] }))).actions.map((action) => action.name);

const options = (id, values) => el("datalist", { id }, values.map((value) => el("option", { value })));
const CODES = ["QWED-AGENT-001", "QWED-AGENT-004", "QWED-AGENT-005", "QWED-AGENT-ACTION-001", "QWED-AGENT-BUDGET-001", "QWED-AGENT-LOOP-002", "QWED-AGENT-LOOP-003", "QWED-AGENT-RULE-001", "QWED-AGENT-RULE-002", "QWED-AGENT-RULE-003", "QWED-AGENT-TRUST-001", "QWED-AGENT-TRUST-002"];

// --- the file ---------------------------------------------------------------------------------------

const MOST_ROWS = 5000;
const exportCsv = async (asked, signal) => {
  const rows = [];
  let cursor;
  do {
    const page = await get("/activity", { ...asked, limit: 200, cursor });
    for (const entry of page.activities) {
      rows.push([entry.timestamp, entry.decision, entry.agent_id, page.agents[entry.agent_id], entry.action_type, summary(entry.action), entry.error_code, entry.error?.message ?? entry.verification?.reason, entry.context?.conversation_id, entry.context?.step_number, entry.cost?.usd, entry.activity_id]);
    }
    cursor = page.next;
  } while (cursor && rows.length < MOST_ROWS && !signal.aborted);
  download("qwed-decisions.csv", asCsv(["time_utc", "decision", "agent_id", "agent", "action_type", "action", "error_code", "why", "conversation_id", "step", "cost_usd", "activity_id"], rows.slice(0, MOST_ROWS)));
  toast(cursor ? `The first ${MOST_ROWS} rows are in the file; narrow the search for the rest.` : `${rows.length} rows are in the file.`);
};

export const searchPage = async ({ main, signal, query, go }) => {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const input = (name, options = {}) => el("input", { type: "text", name, value: asked[name], spellcheck: "false", autocomplete: "off", ...options });
  const decision = el("select", { name: "decision" }, el("option", { value: "" }, "any"), DECISIONS.map((one) => el("option", { value: one, selected: one === asked.decision }, one.replaceAll("_", " ").toLowerCase())));
  const lists = el("div", { hidden: true }, options("codes", CODES));
  const button = (label, work) => el("button", { type: "button", class: "button", on: { click: () => Promise.resolve(work()).catch((error) => toast(error.message, "denied")) } }, label);
  const saved = el("div");
  const drawSaved = () => show(saved, savedViews(drawSaved));
  const buttons = [
    FILTERS.some((name) => asked[name]) ? button("Save this search", async () => { if (await saveView(new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString())) drawSaved(); }) : null,
    button("CSV", () => exportCsv(asked, signal))];
  const form = el("form", { class: "card filters", role: "search" },
    field("Text", input("text", { placeholder: "as it stands in the entry", maxlength: "256" }), "wide"), field("Decision", decision), field("Action type", input("action_type", { list: "types" })),
    field("Agent", input("agent_id", { list: "agents", placeholder: "name or id" })), field("Code", input("error_code", { placeholder: "QWED-AGENT-005", list: "codes" })), field("Conversation", input("conversation_id"), "wide"),
    field("From", input("from", { type: "datetime-local", value: asked.from && asLocal(asked.from) }), "wide"), field("To", input("to", { type: "datetime-local", value: asked.to && asLocal(asked.to) }), "wide"),
    el("div", { class: "actions" }, el("button", { type: "submit", class: "button primary" }, "Search"), link("/dashboard/search", { class: "button" }, "Clear"), el("span", { class: "grow" }), buttons), lists);
  let agents = new Map();
  const found = { from: (value) => new Date(value).toISOString(), to: (value) => new Date(value).toISOString(), agent_id: (value) => agents.get(value) ?? value };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value) given.set(name, found[name]?.(value) ?? value);
    }
    const text = given.toString();
    go(text ? `/dashboard/search?${text}` : "/dashboard/search");
  });

  const body = el("tbody");
  const place = el("div", loading());
  const foot = el("div", { class: "more" });
  drawSaved();
  show(main, el("div", { class: "page-head" }, el("h1", "Search"), saved), form, place, foot);
  Promise.all([readAgents(), readTypes()]).then(([byName, types]) => {
    agents = byName;
    lists.append(options("agents", [...byName.keys()]), options("types", types));
    const name = [...byName].find(([, id]) => id === asked.agent_id)?.[0];
    if (name) form.elements.agent_id.value = name;
  });

  const table = el("table", { class: "table results" }, el("thead", el("tr", ["When", "Decision", "Agent", "Action", "Why"].map((name) => el("th", { scope: "col" }, name)))), body);
  const load = async (cursor) => {
    show(foot, loading("Searching …"));
    try {
      let page = await get("/activity", { ...asked, limit: PAGE, cursor });
      for (let tries = 0; !page.activities.length && page.next && tries < PATIENCE && !signal.aborted; tries += 1) {
        page = await get("/activity", { ...asked, limit: PAGE, cursor: page.next });
      }
      if (signal.aborted) return;
      body.append(...page.activities.map((entry) => row(entry, page.agents)));
      if (body.hasChildNodes()) show(place, table);
      else show(place, empty(page.next ? "Nothing found so far" : "Nothing found", page.next ? `Looked back to ${moment(page.searched_to)}.` : "No entry matches all of these filters."));
      show(foot, page.next ? [el("button", { type: "button", class: "button", on: { click: () => load(page.next) } }, "Look further back"), page.searched_to ? el("span", { class: "dim" }, `looked back to ${moment(page.searched_to)}`) : null] : null);
    } catch (error) {
      if (signal.aborted) return;
      show(foot, failure(error, () => load(cursor)));
      if (!body.hasChildNodes()) show(place, null);
    }
  };
  if (!FILTERS.some((name) => asked[name])) form.elements.text.focus();
  await load();
};
