// All agents.
import { get } from "./api.js";
import { calmly, el, show } from "./dom.js";
import { agentLink, empty, failure, loading, statusPill, trustPill, when } from "./parts.js";

const row = (agent) =>
  el("tr", el("td", agentLink(agent.agent_id, agent.name), el("small", agent.agent_id)), el("td", { "data-label": "Status" }, statusPill(agent.status)),
    el("td", { "data-label": "Trust" }, trustPill(agent.trust_level)), el("td", { "data-label": "Type" }, agent.type),
    el("td", { "data-label": "Principal" }, agent.principal_id), el("td", { "data-label": "Since" }, when(agent.created_at)));

export const agentsPage = async ({ main, signal, live }) => {
  const body = el("tbody");
  const foot = el("div", { class: "more" });
  const place = el("div", loading());
  show(main, el("div", { class: "page-head" }, el("h1", "Agents")), place);
  let pages = 0;
  const load = async (after) => {
    try {
      const page = await get("/agents", { after, limit: 100 });
      if (signal.aborted) return;
      if (after === undefined) show(body, null);
      body.append(...page.agents.map(row));
      pages = after === undefined ? 1 : pages + 1;
      if (!body.hasChildNodes()) {
        show(place, empty("No agents yet", "Register one with qwed agents register, or with POST /agents/register."));
        return;
      }
      show(place, el("table", { class: "table" }, el("thead", el("tr", ["Agent", "Status", "Trust", "Type", "Principal", "Since"].map((name) => el("th", { scope: "col" }, name)))), body), foot);
      show(foot, page.next ? el("button", { type: "button", class: "button", on: { click: () => load(page.next) } }, "Show more") : null);
    } catch (error) {
      if (!signal.aborted) show(place, failure(error, () => load(after)));
    }
  };
  // Only the first page is drawn anew: whoever has paged on is reading, and must not be thrown back.
  const refresh = calmly(2000, () => pages <= 1 && load());
  live.on("trust", refresh, signal);
  await load();
};
