// What waits for a person: the whole action, its evidence, what is unusual about it, and three answers.
import { get, hasScope, parse, post, segment } from "./api.js";
import { calmly, el, link, show } from "./dom.js";
import { diffBlock } from "./diff.js";
import { evidenceOf } from "./evidence.js";
import { clock, json, left, summary } from "./format.js";
import { notifyButton } from "./notify.js";
import { arrange, denyAll, groupItem, keepView, readView, toolbar } from "./inbox-list.js";
import { originsCard } from "./origins.js";
import { sign } from "./passkeys.js";
import { actionCard, agentLink, ask, block, card, decisionPill, empty, facts, failure, field, fillFrom, riskPill, statusPill, toast, trustPill, voter, when } from "./parts.js";

const TABS = [["open", "Waiting"], ["approved", "Approved"], ["denied", "Denied"], ["redeemed", "Used"], ["expired", "Expired"]];
const PAGE = 50;
const NEEDS_PASSKEY = "QWED-APPROVAL-007";
const isWide = () => matchMedia("(min-width: 56rem)").matches;

// --- answering --------------------------------------------------------------------------------------

const note = () => el("textarea", { name: "note", rows: "2", maxlength: "2000", placeholder: "Optional; kept in the record" });

const answered = (approval, what) => toast(`${approval.action?.type ?? "The request"}: ${what}.`, what === "denied" ? "denied" : "approved");

// The hash says which action was on the screen: another may have taken its place.
const seen = (approval, said) => ({ action_hash: approval.action_hash, ...(said.value ? { note: said.value } : {}) });

/** Where the policy asks for a passkey, the browser asks for it, over exactly what is on the screen. */
const approveWith = async (approval, said) => {
  const path = `/approvals/${segment(approval.id)}`;
  try {
    return await post(`${path}/approve`, said);
  } catch (error) {
    if (error.code !== NEEDS_PASSKEY) throw error;
  }
  const passkey = await sign(await post(`${path}/passkey`, said.action === undefined ? {} : { action: said.action }));
  return post(`${path}/approve`, { ...said, passkey });
};

const approve = (approval) => {
  const said = note();
  return ask({
    title: `Approve ${approval.action?.type ?? ""}?`,
    body: [el("p", { class: "dim" }, summary(approval.action)), field("Note", said)],
    confirm: "Approve",
    kind: "good",
    attempt: async () => {
      await approveWith(approval, seen(approval, said));
      answered(approval, "approved");
      return true;
    },
  });
};

const deny = (approval) => {
  const said = note();
  return ask({
    title: `Deny ${approval.action?.type ?? ""}?`,
    body: [el("p", { class: "dim" }, summary(approval.action)), field("Note", said)],
    confirm: "Deny",
    kind: "bad",
    attempt: async () => {
      await post(`/approvals/${segment(approval.id)}/deny`, said.value ? { note: said.value } : {});
      answered(approval, "denied");
      return true;
    },
  });
};

const isMasked = (action) => /\[masked[^\]]*\]|…\[\d+ characters, sha256:/.test(JSON.stringify(action));

/** What would be granted beside what was asked for: drawn anew at every letter. */
const changes = (approval, text) => {
  const place = el("div", { class: "stack", "aria-live": "polite" });
  const draw = () => {
    let action = null;
    try {
      action = parse(text.value);
    } catch {
      show(place, el("p", { class: "dim" }, "This is not JSON yet."));
      return;
    }
    const isOther = action?.type !== approval.action?.type;
    show(place,
      isOther ? el("p", { class: "warning" }, "The type changes from ", el("code", approval.action?.type), " to ", el("code", action?.type ?? "nothing"), ": this is another action, not an edit of the one that was asked for.") : null,
      el("h3", "What changes"), json(action) === json(approval.action) ? el("p", { class: "dim" }, "Nothing yet.") : diffBlock(json(approval.action), json(action)));
  };
  text.addEventListener("input", draw);
  draw();
  return place;
};

const edit = (approval) => {
  const text = el("textarea", { name: "action", class: "code", rows: "12", spellcheck: "false", "data-first": true, value: json(approval.action) });
  const said = note();
  return ask({
    title: "Edit, then approve",
    body: [
      el("p", { class: "dim" }, "The edited action is verified again before it is granted."),
      isMasked(approval.action) ? el("p", { class: "warning" }, "Parts of this action are masked here. Replace them with their real values, or the mask itself would be granted.") : null,
      field("Action", text), changes(approval, text), field("Note", said)],
    confirm: "Verify and approve",
    kind: "good",
    attempt: async () => {
      let action;
      try {
        action = parse(text.value);
      } catch (problem) {
        throw new Error(`This is not JSON: ${problem.message}`);
      }
      await approveWith(approval, { action, ...seen(approval, said) });
      answered(approval, "approved with changes");
      return true;
    },
  });
};

const ANSWERS = { a: approve, e: edit, d: deny };

// --- one request ------------------------------------------------------------------------------------

const unusual = (comparison) => {
  if (comparison === null) return null;
  if (!comparison.differences.length) {
    return comparison.compared_with ? el("p", { class: "calm" }, `Nothing about it is unusual: it resembles this agent's last ${comparison.compared_with} actions.`) : null;
  }
  return el("section", { class: "card unusual" }, el("h2", "Unusual for this agent"),
    el("ul", comparison.differences.map((one) => el("li", el("strong", one.field), " ", el("code", one.now), el("span", { class: "dim" }, " ", one.usual)))));
};

const votes = (approval) =>
  approval.votes.length || approval.approvers_needed > 1 || approval.required_role || approval.escalated_to
    ? card("Answers",
      el("p", { class: "dim" }, `${approval.votes.filter((vote) => vote.approves).length} of ${approval.approvers_needed} needed`, approval.required_role ? `, by the role ${approval.required_role}` : "",
        approval.escalated_to ? [`; passed on to the role ${approval.escalated_to} `, when(approval.escalated_at)] : null),
      el("ul", { class: "rows" }, approval.votes.map((vote) => el("li", decisionPill(vote.approves ? "APPROVED" : "DENIED"), voter(vote), when(vote.at), vote.passkey ? el("span", { class: "pill approved" }, "signed with a passkey") : null, vote.note ? el("p", { class: "said" }, vote.note) : null))))
    : null;

const buttons = (approval, answer) => {
  if (approval.status !== "open") return null;
  if (!hasScope("approve")) return el("p", { class: "warning" }, "Your key may look at this, not answer it: that needs the scope approve.");
  const one = (key, label, kind) => el("button", { type: "button", class: `button ${kind}`, "aria-keyshortcuts": key, on: { click: () => answer(key) } }, label, el("kbd", { "aria-hidden": "true" }, key));
  return el("div", { class: "answers" }, one("a", "Approve", "good"), approval.kind === "action" ? one("e", "Edit", "") : null, one("d", "Deny", "bad"));
};

/** An edited request still shows what was asked for, and what somebody made of it. */
const edited = (approval, asked) =>
  approval.edited_by && asked
    ? card("Edited by a person", el("p", { class: "dim" }, el("code", approval.edited_by), " changed what the agent asked for:"),
      asked.type === approval.action?.type ? null : el("p", { class: "warning" }, "The type changed from ", el("code", asked.type), " to ", el("code", approval.action?.type), "."),
      diffBlock(json(asked), json(approval.action)),
      el("details", el("summary", "What the agent asked for"), block(asked)))
    : null;

const detail = (approval, comparison, asked, answer) => {
  const agent = comparison?.agent;
  return [
    el("div", { class: "detail-head" },
      el("div", { class: "pills" }, statusPill(approval.status), riskPill(approval.risk_level), approval.edited_by ? el("span", { class: "pill corrected" }, "edited") : null),
      el("h2", { class: "detail-title" }, approval.action?.type ?? "?"),
      el("p", { class: "dim" }, agentLink(approval.agent_id, agent?.name), " asked ", when(approval.created_at),
        approval.status === "open" ? [", expires in ", el("span", { class: "ending", "data-left": approval.expires_at }, left(approval.expires_at))] : null)),
    buttons(approval, answer),
    approval.user_intent ? el("blockquote", { class: "intent" }, el("p", approval.user_intent), el("footer", { class: "dim" }, "what the agent says it is for")) : null,
    unusual(comparison),
    edited(approval, asked),
    actionCard(approval.action, approval.evidence),
    originsCard(approval.evidence?.origins, approval.step_number),
    card("Why it waits", el("p", approval.reason || "A person must approve it."), evidenceOf(approval.evidence)),
    votes(approval),
    card("Where it comes from", facts([
      ["Agent", agentLink(approval.agent_id, agent?.name)],
      ["Principal", approval.principal_id],
      ["Trust", agent ? trustPill(agent.trust_level) : undefined],
      ["Conversation", approval.conversation_id ? link(`/dashboard/agents/${segment(approval.agent_id)}?conversation=${segment(approval.conversation_id)}`, {}, approval.conversation_id, approval.step_number ? ` · step ${approval.step_number}` : "") : undefined],
      ["Decision", link(`/dashboard/decisions/${segment(approval.activity_id)}`, {}, approval.activity_id)],
      ["Asked at", clock(approval.created_at)],
      ["Expires at", clock(approval.expires_at)],
      ["Action hash", el("code", approval.action_hash)],
      ["Policy", el("code", approval.policy_version)],
      ["Reminded at", approval.reminded_at ? clock(approval.reminded_at) : undefined],
      ["Edited by", approval.edited_by],
      ["Grant expires at", approval.grant_expires_at ? clock(approval.grant_expires_at) : undefined],
      ["Used at", approval.redeemed_at ? clock(approval.redeemed_at) : undefined],
    ])),
  ];
};

// --- the page ---------------------------------------------------------------------------------------

export const inboxPage = async ({ main, signal, parameters, query, go, live, recount }) => {
  const tab = TABS.some(([value]) => value === query.get("status")) ? query.get("status") : "open";
  const chosen = parameters.id ?? null;
  const back = `/dashboard/inbox${tab === "open" ? "" : `?status=${tab}`}`;
  const list = el("ul", { class: "mails" });
  const tools = el("div");
  const many = el("div", { class: "mail-many" });
  let view = readView();
  const more = el("div", { class: "more" });
  const reading = el("article", { class: "reading", "aria-label": "The chosen request" });
  let listed = [];
  let names = {};
  let next = null;
  let current = null;
  let isAsking = false;

  show(main,
    el("div", { class: "page-head" }, el("h1", "Inbox"),
      el("div", { class: "actions" }, notifyButton(), el("nav", { class: "choice", "aria-label": "Status" }, TABS.map(([value, label]) => link(`/dashboard/inbox${value === "open" ? "" : `?status=${value}`}`, { "aria-current": value === tab ? "true" : undefined }, label))))),
    el("div", { class: `inbox ${chosen ? "has-chosen" : ""}` },
      el("div", { class: "mail-list" }, tools, list, more, many),
      el("div", { class: "mail-detail" }, chosen ? link(back, { class: "back" }, "← All requests") : null, reading)));

  const denyMany = (some) => async () => {
    if (isAsking) return;
    isAsking = true;
    const done = await denyAll(some);
    isAsking = false;
    recount();
    if (done && !signal.aborted) go(back);
  };
  const drawTools = () => {
    if (listed.length < 2) return;
    show(tools, toolbar(view, (changed) => {
      Object.assign(view, changed);
      keepView(view);
      drawList();
    }));
  };
  const drawList = () => {
    const groups = arrange(listed, names, view);
    const shown = groups.flat();
    show(many, tab === "open" && shown.length > 1 && hasScope("approve") ? el("button", { type: "button", class: "button small bad", on: { click: denyMany(shown) } }, `Deny all ${shown.length} listed`) : null);
    if (listed.length && !shown.length) {
      show(list, el("li", empty("No request matches the filter")));
      return;
    }
    if (!listed.length) show(list, el("li", empty(tab === "open" ? "Nothing waits for you" : "Nothing here", tab === "open" ? "When an agent needs a person, it appears here at once." : undefined)));
    else show(list, groups.map((group) => groupItem(group, names, chosen, tab)));
    show(more, next ? el("button", { type: "button", class: "button", on: { click: () => load(next) } }, "Show more") : null);
  };
  const load = async (after) => {
    try {
      const page = await get("/approvals", { status: tab, limit: PAGE, after });
      if (signal.aborted) return;
      listed = after ? [...listed, ...page.approvals] : page.approvals;
      names = { ...names, ...page.agents };
      next = page.next ?? null;
      if (!tools.hasChildNodes()) drawTools();
      drawList();
    } catch (error) {
      if (!signal.aborted) show(list, el("li", failure(error, () => load(after))));
    }
  };
  const read = () => fillFrom(reading, signal, async () => {
    const [approval, comparison] = await Promise.all([
      get(`/approvals/${segment(chosen)}`), get(`/approvals/${segment(chosen)}/comparison`).catch(() => null)]);
    const asked = approval.edited_by ? await get(`/activity/${segment(approval.activity_id)}`).then((found) => found.activity.action, () => null) : null;
    current = approval;
    return detail(approval, comparison, asked, answer);
  });
  const answer = async (key) => {
    if (current === null || current.status !== "open" || isAsking || !hasScope("approve")) return;
    if (key === "e" && current.kind !== "action") return;
    isAsking = true;
    const done = await ANSWERS[key](current);
    isAsking = false;
    recount();
    if (signal.aborted) return;
    if (!done) {
      // Somebody else may have answered while the question was open.
      read();
      return;
    }
    const shown = arrange(listed, names, view).flat();
    const at = shown.findIndex((one) => one.id === chosen);
    const following = shown.filter((one) => one.id !== chosen)[Math.max(0, at)] ?? shown.find((one) => one.id !== chosen);
    go(tab === "open" && following && isWide() ? `/dashboard/inbox/${segment(following.id)}` : back);
  };
  const step = (by) => {
    const shown = arrange(listed, names, view).map((group) => group.find((one) => one.id === chosen) ?? group[0]);
    if (!shown.length) return;
    const at = shown.findIndex((one) => one.id === chosen);
    const to = shown[at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by))];
    if (to.id !== chosen) go(`/dashboard/inbox/${segment(to.id)}${tab === "open" ? "" : `?status=${tab}`}`);
  };

  window.addEventListener("qwed-key", (event) => {
    const key = event.detail;
    if (Object.hasOwn(ANSWERS, key)) answer(key);
    else if (key === "j") step(1);
    else if (key === "k") step(-1);
    else return;
    event.preventDefault();
  }, { signal });
  // Where there is room for both, the first request is open without a click.
  const openFirst = () => {
    const first = chosen === null && isWide() && !isAsking ? arrange(listed, names, view)[0]?.[0] : undefined;
    if (first) go(`/dashboard/inbox/${segment(first.id)}${tab === "open" ? "" : `?status=${tab}`}`, { replace: true, still: true });
  };
  const reload = calmly(500, async () => {
    await load();
    if (!signal.aborted) openFirst();
  });
  live.on("approval", (event) => {
    reload();
    if (event?.approval?.id === chosen && !isAsking) read();
  }, signal);
  live.on("again", reload, signal);

  if (chosen === null) show(reading, empty(tab === "open" ? "Nothing waits for you" : "Choose a request"));
  await Promise.all([load(), chosen === null ? null : read()]);
  if (signal.aborted) return;
  openFirst();
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
};
