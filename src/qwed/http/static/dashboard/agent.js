// One agent: who it is, what it may do, how far it is trusted and why, what it spends, what it did.
import { get, hasScope, post, segment, session } from "./api.js";
import { gauge, scoreLine, trustSteps } from "./charts.js";
import { calmly, el, link, show } from "./dom.js";
import { LEVELS, clock, count, milliseconds, summary, usd } from "./format.js";
import { ask, block, card, decisionPill, empty, facts, field, fillFrom, statusPill, toast, trustPill, when } from "./parts.js";

const SHOWN = 8;

// --- what a principal may do ------------------------------------------------------------------------

const suspend = (agent) => {
  const reason = el("input", { type: "text", name: "reason", maxlength: "500", "data-first": true });
  return ask({
    title: `Suspend ${agent.name}?`,
    body: [el("p", { class: "dim" }, "Every request of it is denied until it is reactivated."), field("Reason", reason)],
    confirm: "Suspend",
    kind: "bad",
    attempt: async () => {
      await post(`/agents/${segment(agent.agent_id)}/suspend`, { reason: reason.value || null });
      toast(`${agent.name} is suspended.`, "denied");
      return true;
    },
  });
};

const reactivate = (agent) =>
  ask({
    title: `Reactivate ${agent.name}?`,
    body: [el("p", { class: "dim" }, agent.status_reason ? ["It was suspended: ", agent.status_reason] : "It may act again at once.")],
    confirm: "Reactivate",
    kind: "good",
    attempt: async () => {
      await post(`/agents/${segment(agent.agent_id)}/reactivate`);
      toast(`${agent.name} is active again.`, "approved");
      return true;
    },
  });

const rotate = async (agent) => {
  let token = null;
  await ask({
    title: `Replace the token of ${agent.name}?`,
    body: [el("p", { class: "dim" }, "The present token stops working at once.")],
    confirm: "Replace it",
    kind: "bad",
    attempt: async () => {
      token = (await post(`/agents/${segment(agent.agent_id)}/rotate-token`)).agent_token;
      return true;
    },
  });
  if (token === null) return false;
  return ask({
    title: "The new token",
    body: [el("p", { class: "dim" }, "It is shown this once: only its hash is stored."), el("pre", { class: "block secret", tabindex: "0" }, token)],
    confirm: "I have kept it",
    cancel: null,
    attempt: async () => true,
  });
};

// --- cards ------------------------------------------------------------------------------------------

const chips = (names) => (names.length ? el("ul", { class: "chips" }, names.map((name) => el("li", el("code", name)))) : el("span", { class: "dim" }, "none"));

const identity = (agent) => card("Identity", facts([
  ["Id", el("code", agent.agent_id)], ["DID", el("code", agent.did)], ["Principal", agent.principal_id], ["Type", agent.type],
  ["Description", agent.description], ["Framework", agent.framework], ["Model", agent.model], ["Registered", clock(agent.created_at)],
]));

const permissions = (agent) => card("Permissions", facts([
  ["Engines", chips(agent.permissions.allowed_engines)], ["Own tools", chips(agent.permissions.allowed_tools)], ["Blocked", chips(agent.permissions.blocked_tools)],
]));

const budget = (status) => card("Budget", el("div", { class: "gauges" },
  gauge("Cost today", status.cost.current_daily_usd, status.cost.max_daily_usd, usd),
  gauge("Requests this hour", status.requests.current_hour, status.requests.max_per_hour, count),
  gauge("Requests today", status.requests.current_day, status.requests.max_per_day, count),
  gauge("Tokens today", status.tokens.current_daily, status.tokens.max_daily, count)),
  el("p", { class: "dim small" }, "A single request: at most ", status.cost.max_per_request_usd === null ? "any cost" : usd(status.cost.max_per_request_usd), " and ",
    status.tokens.max_per_request === null ? "any number of tokens" : `${count(status.tokens.max_per_request)} tokens`, "."));

const CAUSES = {
  registered: "Registered", set: "Set by a person", granted: "Granted on request", suspended: "Suspended", complaint: "Complaint",
  reactivated: "Reactivated", security_violation: "Security violation", repeated_denials: "Repeated denials", budget_abuse: "Budget abuse",
};

const trustChange = (change) => {
  const rose = change.to_level - change.from_level;
  const cause = CAUSES[change.cause] ?? change.cause ?? "Changed";
  return el("li", el("div", { class: "change" },
    el("strong", cause), rose && change.cause !== "registered" ? el("span", { class: rose < 0 ? "down" : "up" }, `${change.from_level} → ${change.to_level}`) : el("span", { class: "dim" }, `level ${change.to_level}`),
    el("span", { class: "dim" }, "by ", change.by, " ", when(change.timestamp))),
  change.reason ? el("p", { class: "said" }, change.reason) : null,
  change.activities?.length ? el("p", { class: "dim small" }, "because of ", change.activities.slice(0, 8).map((id, at) => [at ? ", " : "", link(`/dashboard/decisions/${segment(id)}`, {}, id.slice(-8))])) : null,
  change.evidence && Object.keys(change.evidence).length ? el("details", el("summary", "Evidence"), block(change.evidence)) : null);
};

const trust = (agent, history) => {
  const changes = history?.changes ?? [];
  const points = [...changes].reverse().filter((change, at) => at === 0 || change.from_level !== change.to_level).map((change) => ({ at: change.timestamp, level: change.to_level }));
  if (!points.length) points.push({ at: agent.created_at, level: agent.trust_level });
  return card("Trust over time", trustSteps(points, LEVELS),
    changes.length ? el("ol", { class: "rows changes" }, changes.map(trustChange)) : el("p", { class: "dim" }, "It has not changed since it was registered."));
};

// Told to operators only, where scores are kept; else there is nothing to show.
const score = (told) => {
  if (told === null) return null;
  const changes = told.changes.map((change) => ({ ...change, at: Number(change.at) * 1000 }));
  const points = changes.map((change) => ({ at: change.at, score: Number(change.after), said: `${change.event}: ${change.after.slice(0, 8)}, ${clock(new Date(change.at).toISOString())}` }));
  return card("Trust score",
    facts([["Score", told.score.slice(0, 12)], ["Confidence", `${told.confidence}, ${count(told.interactions)} interactions`], ["Waiting to settle", told.pending || undefined], ["Revoked", told.revoked ? "until an operator reinstates it" : undefined]]),
    points.length ? scoreLine(points) : el("p", { class: "dim" }, "Nothing has moved it yet."),
    changes.length ? el("ol", { class: "rows changes" }, changes.slice(-SHOWN).reverse().map((change) => el("li", el("div", { class: "change" },
      el("strong", change.event.replaceAll("_", " ")), el("span", { class: Number(change.after) < Number(change.before) ? "down" : "up" }, `${change.before.slice(0, 8)} → ${change.after.slice(0, 8)}`),
      when(new Date(change.at).toISOString()), change.evidence ? link(`/dashboard/provenance/${segment(change.evidence)}`, {}, "evidence") : null)))) : null);
};

// --- conversations ----------------------------------------------------------------------------------

const why = (entry) => entry.error?.message ?? entry.verification?.reason ?? "";

const step = (entry) =>
  el("li", { class: "step" },
    el("span", { class: "step-number", "aria-label": `Step ${entry.context?.step_number ?? "?"}` }, entry.context?.step_number ?? "–"),
    el("div", { class: "step-body" },
      el("div", { class: "step-head" }, decisionPill(entry.decision), link(`/dashboard/decisions/${segment(entry.activity_id)}`, {}, entry.action_type), el("span", { class: "dim" }, clock(entry.timestamp),
        entry.verification?.latency_ms === undefined ? "" : ` · ${milliseconds(entry.verification.latency_ms)}`)),
      el("p", { class: "step-what" }, summary(entry.action)),
      why(entry) ? el("p", { class: "dim" }, why(entry)) : null,
      entry.execution ? el("p", { class: entry.execution.success ? "dim" : "down" }, "outcome: ", entry.execution.outcome, entry.execution.error ? [", ", entry.execution.error] : "") : null));

const timeline = (agentId, conversation, entries) =>
  card(["Conversation ", el("code", conversation)],
    entries.length ? el("ol", { class: "timeline" }, entries.map(step)) : empty("Nothing is recorded under this name"),
    el("p", link(`/dashboard/search?agent_id=${segment(agentId)}&conversation_id=${segment(conversation)}`, {}, "Open in search")));

const conversationRow = (agentId, chosen) => (row) =>
  el("li", link(`/dashboard/agents/${segment(agentId)}?conversation=${segment(row.conversation_id)}`, { class: "conversation", "aria-current": row.conversation_id === chosen ? "true" : undefined },
    el("span", { class: "conversation-name" }, row.conversation_id),
    el("span", { class: "dim" }, `${row.entries} ${row.entries === 1 ? "step" : "steps"}, `, when(row.to)),
    el("span", { class: "pills" }, Object.entries(row.decisions).map(([decision, number]) => el("span", { class: `pill ${{ budget_exceeded: "budget" }[decision] ?? decision}` }, `${number} ${decision.replaceAll("_", " ")}`)))));

const conversationList = (agentId, chosen, rows) => {
  const shown = rows.slice(0, SHOWN);
  const rest = rows.slice(SHOWN);
  const list = (some) => el("ul", { class: "rows" }, some.map(conversationRow(agentId, chosen)));
  return [list(shown), rest.length ? el("details", { class: "older", open: rest.some((row) => row.conversation_id === chosen) }, el("summary", `${rest.length} older`), list(rest)) : null];
};

// --- the page ---------------------------------------------------------------------------------------

export const agentPage = async ({ main, signal, parameters, query, live }) => {
  const id = parameters.id;
  const at = `/agents/${segment(id)}`;
  // The newest conversation, unless the address names one.
  let chosen = query.get("conversation");
  const place = el("div", { class: "stack" });
  const steps = el("div");
  show(main, place);

  const head = (agent, redraw) => {
    const act = (work) => ({ click: async () => { if (await work(agent)) redraw(); } });
    return el("div", { class: "page-head" },
      el("div", el("h1", agent.name), el("div", { class: "pills" }, statusPill(agent.status), trustPill(agent.trust_level)), agent.status_reason ? el("p", { class: "said" }, agent.status_reason) : null),
      hasScope("register") ? el("div", { class: "actions" },
        agent.status === "suspended"
          ? el("button", { type: "button", class: "button good", on: act(reactivate) }, "Reactivate")
          : el("button", { type: "button", class: "button bad", on: act(suspend) }, "Suspend"),
        el("button", { type: "button", class: "button", on: act(rotate) }, "Rotate token")) : null);
  };
  const build = async () => {
    const [agent, spent, history, talks, told] = await Promise.all([
      get(at), get(`${at}/budget`), get(`${at}/trust`, { limit: 100 }).catch(() => null), get(`${at}/conversations`),
      session.sees_scores ? get(`${at}/trust-score`).catch(() => null) : null]);
    document.title = `${agent.name} · QWED`;
    chosen ??= talks.conversations[0]?.conversation_id ?? null;
    return [head(agent, redraw),
      el("div", { class: "columns level" }, identity(agent), budget(spent)),
      permissions(agent),
      trust(agent, history),
      score(told),
      el("div", { class: "columns talks" },
        card("Conversations", talks.conversations.length ? conversationList(id, chosen, talks.conversations) : empty("No conversations yet")),
        steps)];
  };
  const redraw = calmly(1500, () => fillFrom(place, signal, build));
  const buildSteps = async () => {
    if (chosen === null) return card("Timeline", empty("No conversations yet", "Steps appear here, each with its decision and why."));
    const { activities } = await get("/activity", { agent_id: id, conversation_id: chosen, limit: 200 });
    return timeline(id, chosen, activities.reverse());
  };
  const redrawSteps = calmly(1000, () => fillFrom(steps, signal, buildSteps));
  for (const type of ["decision", "approval", "trust"]) {
    live.on(type, (event) => {
      if (event?.agent_id !== id) return;
      redraw();
      redrawSteps();
    }, signal);
  }
  const isAskedFor = chosen !== null;
  await fillFrom(place, signal, build);
  await fillFrom(steps, signal, buildSteps);
  if (isAskedFor) steps.scrollIntoView({ block: "nearest" });
};
