// Teams of the policy: whose agents they are, what they may do beside everybody's rules, what they spent, and a switch that stops them.
import { get, post, segment, session } from "./api.js";
import { el } from "./dom.js";
import { count, usd } from "./format.js";
import { agentLink, ask, card, empty, field, fillFrom, toast, when } from "./parts.js";

const PAGE = 100;
const MAX_PAGES = 5;
const SHOWN = 8;

const everyAgent = async () => {
  const found = [];
  let after;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { agents, next } = await get("/agents", { limit: PAGE, ...(after ? { after } : {}) });
    found.push(...agents);
    if (!next) return { agents: found, isAll: true };
    after = next;
  }
  return { agents: found, isAll: false };
};

/** By agent; those beyond the first hundred are not asked about. */
const spentToday = async (agents) => new Map(await Promise.all(agents.slice(0, PAGE).map(async ({ agent_id: id }) => {
  const budget = await get(`/agents/${segment(id)}/budget`).catch(() => null);
  return [id, budget === null ? null : Number(budget.cost.current_daily_usd)];
})));

const row = (name, ...content) => [el("dt", name), el("dd", content)];

const ruleOf = (rule) => el("li", el("code", rule.id), " ", el("span", { class: "dim" }, `${rule.then} when `), el("code", rule.when));

/** Who of the organisation belongs to one of the team's principals. */
const groupsOf = (principals, people) => Object.entries(people?.groups ?? {}).filter(([, group]) => principals.includes(group.principal));

const confirmStop = (name, isStopped) => {
  const reason = el("input", { type: "text", name: "reason", required: true, maxlength: "500", "data-first": true });
  return ask({
    title: isStopped ? `Resume ${name}?` : `Stop ${name}?`,
    body: [el("p", { class: "dim" }, isStopped ? "Its agents may act again, as the policy says." : "Everything that its agents ask for is refused, everywhere, until somebody resumes it."), field("Reason", reason)],
    confirm: isStopped ? "Resume" : "Stop",
    kind: isStopped ? "primary" : "bad",
    attempt: async () => {
      await post(isStopped ? "/resume" : "/stop", { scope: "team", name, reason: reason.value });
      toast(`${name} is ${isStopped ? "resumed" : "stopped"}.`, isStopped ? "approved" : "denied");
      return true;
    },
  });
};

const teamCard = ([name, team], { agents, spent, stops, people }, draw) => {
  const own = agents.filter((agent) => team.principals.includes(agent.principal_id));
  const stop = stops.find((one) => one.scope === "team" && one.name === name);
  const groups = groupsOf(team.principals, people);
  const known = own.map((agent) => spent.get(agent.agent_id)).filter((cost) => typeof cost === "number");
  const total = known.reduce((sum, cost) => sum + cost, 0);
  return card([name, " ", stop ? el("span", { class: "pill denied" }, "stopped") : null],
    stop ? el("p", `${stop.reason} (`, stop.by, ", ", when(stop.at), ")") : null,
    el("dl", { class: "facts" },
      row("Principals", team.principals.join(", ")),
      row("People", groups.length ? groups.map(([group, { roles, scopes }]) => el("div", el("code", group), el("span", { class: "dim" }, ` ${[...roles, ...scopes].join(", ") || "read"}`))) : "no group of the policy"),
      row("Agents", own.length ? [count(own.length), ": ", own.slice(0, SHOWN).map((agent, at) => [at ? ", " : null, agentLink(agent.agent_id, agent.name)]), own.length > SHOWN ? " …" : null] : "none yet"),
      row("Spent today", usd(total), known.length < own.length ? el("span", { class: "dim" }, ` by the first ${count(known.length)}`) : null)),
    team.rules.length ? el("details", { class: "spaced" }, el("summary", `${count(team.rules.length)} ${team.rules.length === 1 ? "rule" : "rules"} of its own`), el("ul", { class: "found" }, team.rules.map(ruleOf))) : el("p", { class: "dim spaced" }, "No rules of its own: everybody's hold."),
    el("div", { class: "actions" },
      el("button", { type: "button", class: `button small ${stop ? "" : "bad"}`, on: { click: async () => { if (await confirmStop(name, Boolean(stop))) draw(); } } }, stop ? `Resume ${name}` : `Stop ${name}`)));
};

export const fillTeams = (place, signal) => {
  const draw = () => fillFrom(place, signal, async () => {
    if (!session.scopes.includes("policy")) return empty("You may not see the teams", "They are part of the policy. Ask an operator, or for the scope policy.");
    const [{ policy, stops }, { agents, isAll }] = await Promise.all([get("/policy"), everyAgent()]);
    const teams = Object.entries(policy.teams ?? {});
    if (!teams.length) return empty("No teams yet", ["A team is some principals with rules of their own: ", el("code", "teams:"), " in the policy."]);
    const spent = await spentToday(agents.filter((agent) => teams.some(([, team]) => team.principals.includes(agent.principal_id))));
    return [...teams.map((team) => teamCard(team, { agents, spent, stops, people: policy.people }, draw)),
      isAll ? null : el("p", { class: "dim" }, `Only the first ${PAGE * MAX_PAGES} agents are counted.`)];
  });
  return draw();
};
