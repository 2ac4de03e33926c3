// One decision: the numbered checks as they ran, the evidence, what was signed, what happened.
import { get, segment } from "./api.js";
import { el, link, show } from "./dom.js";
import { evidenceOf } from "./evidence.js";
import { clock, milliseconds, usd } from "./format.js";
import { originsCard } from "./origins.js";
import { actionCard, agentLink, block, card, copyButton, decisionPill, empty, facts, fillFrom, riskPill, statusPill, voter, when } from "./parts.js";

const STATES = {
  passed: ["✓", "passed"], decided: ["➜", "decided here"], tightened: ["↑", "also spoke against it"], not_reached: ["", "not reached"], not_applicable: ["–", "does not apply"],
};

const check = (row, entry) => {
  const [sign, words] = STATES[row.state] ?? ["?", row.state];
  const verified = row.number === 17 && entry.verification && row.state !== "not_reached"
    ? `${entry.verification.engine}: ${entry.verification.status}${entry.verification.reason ? `, ${entry.verification.reason}` : ""}` : null;
  return el("li", { class: `check ${row.state} ${row.state === "decided" ? `by-${String(entry.decision).toLowerCase()}` : ""}` },
    el("span", { class: "check-number" }, row.number ?? ""), el("span", { class: "check-sign", "aria-hidden": "true" }, sign),
    el("span", { class: "check-text" }, row.check, el("span", { class: `check-state ${row.state === "passed" ? "unseen" : ""}` }, words),
      row.message ? el("span", { class: "check-why" }, row.code ? el("code", row.code) : null, " ", row.message) : null,
      verified ? el("span", { class: "check-why dim" }, verified) : null));
};

const verification = (found) => card("Verification",
  facts([["Result", found.status], ["Engine", el("code", found.engine)], ["Risk", riskPill(found.risk_level)], ["Reason", found.reason], ["Failure", found.failure],
    ["Took", found.latency_ms === undefined ? undefined : milliseconds(found.latency_ms)],
    ["Passed", found.checks_passed?.length ? found.checks_passed.join(", ") : undefined], ["Failed", found.checks_failed?.length ? found.checks_failed.join(", ") : undefined]]),
  evidenceOf(found.evidence));

const VERDICTS = {
  APPROVED: "The gateway allowed it.", CORRECTED: "The gateway allowed it with a correction.", PENDING: "It waits for a person.",
  DENIED: "The gateway denied it.", BUDGET_EXCEEDED: "It was refused: the budget is spent.", NOTED: "A change that somebody made.",
};

/** The answer and its reason, before anything else. */
const verdict = (entry, checks) => {
  const decided = checks.find((row) => row.state === "decided");
  const why = entry.error?.message ?? decided?.message ?? entry.verification?.reason;
  return el("section", { class: `verdict by-${String(entry.decision).toLowerCase()}`, "aria-label": "Verdict" },
    el("p", { class: "verdict-what" }, VERDICTS[entry.decision] ?? entry.decision),
    why ? el("p", why) : null,
    entry.error || decided ? el("p", { class: "small" }, entry.error ? el("code", entry.error.code) : null, decided ? ` ${entry.error ? "· " : ""}decided by ${decided.number === null ? "" : `check ${decided.number}: `}${decided.check}` : "") : null);
};

/** What decided and what failed is open; what merely passed, and what was not reached, is folded away. */
const checkList = (checks, entry) => {
  const isQuiet = (row) => row.state !== "decided" && !row.message;
  const loud = checks.filter((row) => !isQuiet(row));
  const quiet = checks.filter(isQuiet);
  const passed = quiet.filter((row) => row.state === "passed").length;
  const rows = (some) => el("ol", { class: "checks" }, some.map((row) => check(row, entry)));
  return [loud.length ? rows(loud) : null,
    quiet.length ? el("details", { class: "spaced", open: !loud.length }, el("summary", `${passed} checks passed, ${quiet.length - passed} did not apply or were not reached`), rows(quiet)) : null];
};

// Signed and proven only when somebody wants to see it: most readers do not.
const proof = (entry, signal) => {
  const place = el("div", { class: "stack" });
  const open = async (event) => {
    event.target.remove();
    await fillFrom(place, signal, async () => {
      const [token, included] = await Promise.all([
        entry.ect_jti ? get(`/ect/${segment(entry.ect_jti)}`).catch(() => null) : null,
        get("/ledger/proof/inclusion", { subject: entry.activity_id }).catch(() => null)]);
      return [
        included ? facts([["Ledger entry", `${included.entry.seq} of ${included.size}`], ["Root", el("code", included.root)]]) : el("p", { class: "dim" }, "The ledger has no proof for it yet."),
        included ? el("details", el("summary", "Proof of inclusion"), block(included)) : null,
        token ? el("details", el("summary", "Signed token"), block(token)) : null,
      ];
    });
  };
  return card("Evidence that it was recorded",
    facts([["Attestation", entry.attestation_id ? el("code", entry.attestation_id) : undefined], ["Token", entry.ect_jti ? el("code", entry.ect_jti) : undefined]]),
    el("p", { class: "spaced" }, el("button", { type: "button", class: "button small", on: { click: open } }, "Show the proof"),
      entry.ect_jti ? [" ", link(`/dashboard/provenance/${segment(entry.ect_jti)}`, { class: "button small" }, "Where it came from")] : null), place);
};

const outcome = (ran) => card("Outcome", facts([["Result", ran.outcome], ["Error", ran.error], ["Result hash", ran.result_hash ? el("code", ran.result_hash) : undefined], ["Settled by", ran.settled_by]]));

const approvalCard = (approval) => card("Approval",
  facts([["Status", statusPill(approval.status)], ["Request", link(`/dashboard/inbox/${segment(approval.id)}${approval.status === "open" ? "" : `?status=${approval.status}`}`, {}, approval.id)], ["Edited by", approval.edited_by]]),
  approval.votes.length ? el("ul", { class: "rows" }, approval.votes.map((vote) => el("li", decisionPill(vote.approves ? "APPROVED" : "DENIED"), voter(vote), when(vote.at), vote.note ? el("p", { class: "said" }, vote.note) : null))) : null);

export const decisionPage = async ({ main, signal, parameters }) => {
  const place = el("div", { class: "stack" });
  show(main, place);
  await fillFrom(place, signal, async () => {
    const { activity: entry, agents, checks, approval } = await get(`/activity/${segment(parameters.id)}`);
    document.title = `${String(entry.decision).toLowerCase()}: ${entry.action_type} · QWED`;
    const context = entry.context ?? {};
    return [
      el("div", { class: "page-head" },
        el("div", el("p", { class: "dim" }, agentLink(entry.agent_id, agents[entry.agent_id]), " · ", clock(entry.timestamp)), el("h1", entry.action_type), el("div", { class: "pills" }, decisionPill(entry.decision), entry.observed ? el("span", { class: "pill" }, "only observed: the agent acted") : null, entry.verification ? riskPill(entry.verification.risk_level) : null)),
        el("div", { class: "actions" }, copyButton(() => location.href, "Copy link"))),
      verdict(entry, checks),
      el("div", { class: "columns" },
        el("div", { class: "stack" },
          actionCard(entry.action, entry.verification?.evidence),
          originsCard(entry.origins, context.step_number),
          entry.verification ? verification(entry.verification) : null,
          entry.execution ? outcome(entry.execution) : null),
        el("div", { class: "stack" },
          card("Checks", checks.length ? checkList(checks, entry) : empty("No checks", "This entry records a change that somebody made.")),
          approval ? approvalCard(approval) : null,
          card("Record", facts([
            ["Activity", el("code", entry.activity_id)],
            ["Conversation", context.conversation_id ? link(`/dashboard/agents/${segment(entry.agent_id)}?conversation=${segment(context.conversation_id)}`, {}, context.conversation_id, context.step_number ? ` · step ${context.step_number}` : "") : undefined],
            ["Intent", context.user_intent],
            ["Asked by", el("code", entry.requested_by ?? "")],
            ["Cost", entry.cost ? `${usd(entry.cost.usd)}, ${entry.cost.tokens} tokens` : undefined],
            ["Policy", el("code", entry.policy_version ?? "")],
          ])),
          proof(entry, signal),
          el("details", { class: "card" }, el("summary", "The whole entry as JSON"), block(entry)))),
    ];
  });
};
