// What belongs to the deployment: budgets, keys, teams and webhooks.
import { get, post, remove, segment, session } from "./api.js";
import { gauge } from "./charts.js";
import { el, link, show } from "./dom.js";
import { clock, count, usd } from "./format.js";
import { make, sign } from "./passkeys.js";
import { fillTeams } from "./teams.js";
import { agentLink, ask, card, empty, field, fillFrom, statusPill, toast, when } from "./parts.js";

const TABS = [["/dashboard/budgets", "Budgets"], ["/dashboard/keys", "Keys"], ["/dashboard/teams", "Teams"], ["/dashboard/webhooks", "Webhooks"], ["/dashboard/passkeys", "Passkeys"]];

const frame = (main, title, ...actions) => {
  const place = el("div", { class: "stack" });
  show(main, el("div", { class: "page-head" }, el("h1", title),
    el("div", { class: "actions" }, actions, el("nav", { class: "choice", "aria-label": "Manage" }, TABS.map(([path, label]) => link(path, { "aria-current": label === title ? "true" : undefined }, label))))), place);
  return place;
};

const table = (names, rows) => el("div", { class: "wide-table" }, el("table", { class: "table" }, el("thead", el("tr", names.map((name) => el("th", { scope: "col" }, name || el("span", { class: "unseen" }, "Actions"))))), el("tbody", rows)));
const cell = (label, ...content) => el("td", { "data-label": label }, content);

/** Something that is shown once and can't be read again. */
const showSecret = (title, secret) => ask({
  title,
  body: [el("p", { class: "dim" }, "It is shown this once: only its hash is stored."), el("pre", { class: "block secret", tabindex: "0" }, secret)],
  confirm: "I have kept it",
  cancel: null,
  attempt: async () => true,
});

// --- budgets ----------------------------------------------------------------------------------------

const PAGE = 100;

export const budgetsPage = async ({ main, signal }) => {
  const place = frame(main, "Budgets");
  await fillFrom(place, signal, async () => {
    const { agents, next } = await get("/agents", { limit: PAGE });
    const spent = await Promise.all(agents.map((agent) => get(`/agents/${segment(agent.agent_id)}/budget`).catch(() => null)));
    const rows = agents.map((agent, at) => [agent, spent[at]]).filter(([, budget]) => budget !== null)
      .sort(([, one], [, other]) => Number(other.cost.current_daily_usd) - Number(one.cost.current_daily_usd));
    if (!rows.length) return empty("No agents yet", "Each agent has a budget of its own from the moment it is registered.");
    return [el("p", { class: "dim" }, "Days start at midnight UTC. QWED answers BUDGET_EXCEEDED to a request that would go over a limit."),
      ...rows.map(([agent, budget]) => card([agentLink(agent.agent_id, agent.name), " ", agent.status === "active" ? null : statusPill(agent.status)], el("div", { class: "gauges level" },
        gauge("Cost today", budget.cost.current_daily_usd, budget.cost.max_daily_usd, usd),
        gauge("Requests this hour", budget.requests.current_hour, budget.requests.max_per_hour, count),
        gauge("Requests today", budget.requests.current_day, budget.requests.max_per_day, count),
        gauge("Tokens today", budget.tokens.current_daily, budget.tokens.max_daily, count)))),
      next ? el("p", { class: "dim" }, `These are the first ${PAGE} agents.`) : null];
  });
};

// --- keys -------------------------------------------------------------------------------------------

const SCOPES = [["verify", "ask for decisions"], ["register", "register and manage agents"], ["read", "read the record"], ["approve", "answer what waits"], ["trust", "change how far agents are trusted"], ["permits", "use permits and report what was run"], ["metrics", "read metrics"], ["policy", "change the policy, stop and resume"], ["audit", "verify the whole ledger"]];

const createKey = async () => {
  const principal = el("input", { type: "text", name: "principal_id", required: true, maxlength: "128", value: session.principal_id ?? "", "data-first": true });
  const label = el("input", { type: "text", name: "label", maxlength: "128", placeholder: "whose key it is" });
  const days = el("input", { type: "number", name: "days", min: "1", max: "3650", placeholder: "never" });
  const boxes = SCOPES.map(([scope, meaning]) => [scope, el("input", { type: "checkbox", name: scope, checked: scope === "read" }), meaning]);
  let made = null;
  await ask({
    title: "Create a key",
    body: [field("Principal", principal), field("Label", label), field("Expires after (days)", days),
      el("fieldset", el("legend", "It may"), boxes.map(([scope, box, meaning]) => el("label", { class: "check-label" }, box, el("code", scope), meaning)))],
    confirm: "Create",
    attempt: async () => {
      const scopes = boxes.filter(([, box]) => box.checked).map(([scope]) => scope);
      if (!scopes.length) throw new Error("Choose at least one thing that it may do.");
      const ends = days.value ? { expires_in_seconds: Number(days.value) * 86400 } : {};
      made = await post("/keys", { principal_id: principal.value, scopes, ...ends, ...(label.value ? { label: label.value } : {}) });
      return true;
    },
  });
  if (made !== null) await showSecret("The new key", made.api_key);
  return made !== null;
};

const revokeKey = (key) => ask({
  title: `Revoke ${key.label ?? key.key_id}?`,
  body: [el("p", { class: "dim" }, "QWED refuses everybody who uses it from now on. You can't undo this.")],
  confirm: "Revoke",
  kind: "bad",
  attempt: async () => {
    await remove(`/keys/${segment(key.key_id)}`);
    toast(`${key.label ?? key.key_id} is revoked.`, "denied");
    return true;
  },
});

export const keysPage = async ({ main, signal }) => {
  const place = frame(main, "Keys", session.is_operator ? el("button", { type: "button", class: "button primary", on: { click: async () => { if (await createKey()) draw(); } } }, "Create a key") : null);
  const row = (key) => el("tr", cell("Key", el("strong", key.label ?? "no label"), el("small", key.key_id)), cell("Principal", key.principal_id ?? "operator"),
    cell("May", key.roles?.includes("operator") ? "everything" : key.scopes.join(", ") || "nothing"), cell("Created", when(key.created_at)),
    cell("Status", key.revoked_at ? el("span", { class: "pill noted" }, `revoked ${clock(key.revoked_at)}`) : el("span", { class: "pill approved" }, key.expires_at ? `valid until ${clock(key.expires_at)}` : "valid")),
    el("td", key.revoked_at || key.key_id === session.key_id ? null : el("button", { type: "button", class: "button small bad", on: { click: async () => { if (await revokeKey(key)) draw(); } } }, "Revoke")));
  const draw = () => fillFrom(place, signal, async () => {
    const { keys } = await get("/keys");
    return table(["Key", "Principal", "May", "Created", "Status", ""], keys.map(row));
  });
  await draw();
};

// --- webhooks ---------------------------------------------------------------------------------------

const EVENTS = ["approval", "trust", "outcome", "decision", "policy"];
const KINDS = [["webhook", "signed JSON"], ["slack", "Slack"], ["teams", "Microsoft Teams"], ["pagerduty", "PagerDuty"], ["email", "e-mail (mailto:…)"]];

const addWebhook = async () => {
  const kind = el("select", { name: "kind" }, KINDS.map(([value, label]) => el("option", { value }, label)));
  const address = el("input", { type: "url", name: "url", required: true, placeholder: "where QWED sends it", "data-first": true });
  const boxes = EVENTS.map((event) => [event, el("input", { type: "checkbox", name: event, checked: event === "approval" })]);
  let made = null;
  await ask({
    title: "Add a webhook",
    body: [field("Kind", kind), field("Address", address), el("fieldset", el("legend", "Notify about"), boxes.map(([event, box]) => el("label", { class: "check-label" }, box, event)))],
    confirm: "Add",
    attempt: async () => {
      made = await post("/webhooks", { url: address.value, kind: kind.value, events: boxes.filter(([, box]) => box.checked).map(([event]) => event) });
      return true;
    },
  });
  if (made !== null && made.secret) await showSecret("The secret that signs what is sent", made.secret);
  return made !== null;
};

const testWebhook = async (hook) => {
  await post(`/webhooks/${segment(hook.id)}/test`);
  toast("The test is on its way: its deliveries say whether it arrived.");
};

const deliveries = (hook, signal) => {
  const place = el("div");
  const open = async () => fillFrom(place, signal, async () => {
    const found = (await get(`/webhooks/${segment(hook.id)}/deliveries`)).deliveries;
    return found.length
      ? table(["When", "Event", "State", "Attempts", "Last error"], found.map((one) => el("tr", cell("When", when(one.created_at)), cell("Event", one.event), cell("State", el("span", { class: `pill ${{ delivered: "approved", pending: "pending" }[one.state] ?? "denied"}` }, one.state)), cell("Attempts", one.attempts), cell("Last error", one.last_error ?? "–"))))
      : empty("Nothing was sent yet");
  });
  const details = el("details", el("summary", "Deliveries"), place);
  details.addEventListener("toggle", () => details.open && open());
  return details;
};

export const webhooksPage = async ({ main, signal }) => {
  const guarded = (work) => async () => {
    try {
      await work();
    } catch (error) {
      toast(error.message, "denied");
    }
  };
  const place = frame(main, "Webhooks", el("button", { type: "button", class: "button primary", on: { click: guarded(async () => { if (await addWebhook()) draw(); }) } }, "Add a webhook"));
  const drop = (hook) => ask({
    title: "Remove this webhook?", body: [el("p", el("code", hook.url ?? hook.id))], confirm: "Remove", kind: "bad",
    attempt: async () => {
      await remove(`/webhooks/${segment(hook.id)}`);
      return true;
    },
  });
  const one = (hook) => card(el("code", hook.url ?? hook.to ?? hook.id),
    el("p", { class: "dim" }, "notified about ", (hook.events ?? []).join(", ") || "everything", hook.created_at ? [", since ", clock(hook.created_at)] : null),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "button small", on: { click: guarded(() => testWebhook(hook)) } }, "Send a test"),
      el("button", { type: "button", class: "button small bad", on: { click: guarded(async () => { if (await drop(hook)) draw(); }) } }, "Remove")),
    deliveries(hook, signal));
  const draw = () => fillFrom(place, signal, async () => {
    const { webhooks } = await get("/webhooks");
    return webhooks.length ? webhooks.map(one) : empty("No notifications yet", "Add a webhook, and QWED notifies your own systems, Slack or a mailbox of what happens here.");
  });
  await draw();
};

// --- teams -------------------------------------------------------------------------------------------

export const teamsPage = ({ main, signal }) => fillTeams(frame(main, "Teams"), signal);

// --- passkeys ---------------------------------------------------------------------------------------

const addPasskey = () => {
  const label = el("input", { type: "text", name: "label", maxlength: "60", placeholder: "such as: laptop", "data-first": true });
  return ask({
    title: "Add a passkey",
    body: [el("p", { class: "dim" }, "Your browser asks for a fingerprint, a PIN or a security key. If you have a passkey here, it is asked for first."), field("Label", label)],
    confirm: "Add",
    attempt: async () => {
      const asked = await post("/passkeys/options");
      const proof = asked.proof ? { proof: await sign(asked.proof) } : {};
      await post("/passkeys", { ...(await make(asked)), ...proof, label: label.value });
      toast("The passkey is added.", "approved");
      return true;
    },
  });
};

export const passkeysPage = async ({ main, signal }) => {
  const place = frame(main, "Passkeys", el("button", { type: "button", class: "button primary", on: { click: async () => { if (await addPasskey()) draw(); } } }, "Add a passkey"));
  const draw = () => fillFrom(place, signal, async () => {
    let found;
    try {
      found = await get("/passkeys");
    } catch (error) {
      if (error.status === 404) return empty("Passkeys are not set up", error.message);
      throw error;
    }
    return [el("p", { class: "dim" }, "With a passkey you sign an approval yourself: the signature is kept in the record, and anybody can check it. The policy says from which risk on that is needed (people.passkey_from)."),
      found.passkeys.length
        ? table(["Passkey", "Added"], found.passkeys.map((one) => el("tr", cell("Passkey", el("strong", one.label), el("small", one.credential_id)), cell("Added", when(one.created_at)))))
        : empty("You have no passkey here yet", "Add one on each device from which you approve."),
      el("p", { class: "dim" }, "Lost one? Another operator takes all of yours away (", el("code", `DELETE /passkeys/${found.owner}`), "), and you add new ones.")];
  });
  await draw();
};
