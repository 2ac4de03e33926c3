// Search over the record. What is asked for is the address, so that it can be shared and kept.
import { get, segment } from "./api.js";
import { el, link, show } from "./dom.js";
import { clock, moment, summary } from "./format.js";
import { agentLink, decisionPill, empty, failure, field, loading } from "./parts.js";

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

export const searchPage = async ({ main, signal, query, go }) => {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const input = (name, options = {}) => el("input", { type: "text", name, value: asked[name], spellcheck: "false", autocomplete: "off", ...options });
  const decision = el("select", { name: "decision" }, el("option", { value: "" }, "any"), DECISIONS.map((one) => el("option", { value: one, selected: one === asked.decision }, one.replaceAll("_", " ").toLowerCase())));
  const form = el("form", { class: "card filters", role: "search" },
    field("Text", input("text", { placeholder: "as it stands in the entry", maxlength: "256" }), "wide"), field("Decision", decision), field("Action type", input("action_type")),
    field("Agent id", input("agent_id")), field("Code", input("error_code", { placeholder: "QWED-AGENT-005" })), field("Conversation", input("conversation_id"), "wide"),
    field("From", input("from", { type: "datetime-local", value: asked.from && asLocal(asked.from) }), "wide"), field("To", input("to", { type: "datetime-local", value: asked.to && asLocal(asked.to) }), "wide"),
    el("div", { class: "actions" }, el("button", { type: "submit", class: "button primary" }, "Search"), link("/dashboard/search", { class: "button" }, "Clear")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value) given.set(name, name === "from" || name === "to" ? new Date(value).toISOString() : value);
    }
    const text = given.toString();
    go(text ? `/dashboard/search?${text}` : "/dashboard/search");
  });

  const body = el("tbody");
  const place = el("div", loading());
  const foot = el("div", { class: "more" });
  show(main, el("div", { class: "page-head" }, el("h1", "Search")), form, place, foot);

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
