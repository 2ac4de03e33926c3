// Pieces that several pages use.
import { el, link, show } from "./dom.js";
import { ago, json, level, moment } from "./format.js";
import { segment } from "./api.js";
import { addressParts, codeBlock, sqlBlock } from "./evidence.js";

const DECISIONS = {
  APPROVED: ["approved", "✓"],
  CORRECTED: ["corrected", "≈"],
  PENDING: ["pending", "…"],
  DENIED: ["denied", "✕"],
  BUDGET_EXCEEDED: ["budget", "$"],
  NOTED: ["noted", "•"],
};

const pill = (kind, sign, text) => el("span", { class: `pill ${kind}` }, el("span", { "aria-hidden": "true" }, sign), text);

export const decisionPill = (decision) => {
  const [kind, sign] = DECISIONS[decision] ?? ["noted", "•"];
  return pill(kind, sign, String(decision).replaceAll("_", " ").toLowerCase());
};

const RISKS = { low: ["noted", "▁"], medium: ["corrected", "▃"], high: ["pending", "▅"], critical: ["denied", "▇"] };
export const riskPill = (risk) => {
  const [kind, sign] = RISKS[risk] ?? ["noted", "?"];
  return pill(kind, sign, `${risk} risk`);
};

const STATUSES = {
  active: ["approved", "●"], suspended: ["denied", "■"], deregistered: ["noted", "○"],
  open: ["pending", "…"], approved: ["approved", "✓"], denied: ["denied", "✕"], expired: ["noted", "○"], redeemed: ["corrected", "✓"],
};
export const statusPill = (status) => {
  const [kind, sign] = STATUSES[status] ?? ["noted", "•"];
  return pill(kind, sign, status);
};

const TRUST = ["denied", "pending", "corrected", "approved"];
export const trustPill = (value) => pill(TRUST[value] ?? "noted", "◆", `trust ${level(value)}`);

export const when = (iso) => el("time", { datetime: iso, title: moment(iso), "data-ago": iso }, ago(iso));

export const agentLink = (agentId, name) => link(`/dashboard/agents/${segment(agentId)}`, { class: "agent" }, name || agentId);

export const card = (title, ...children) => el("section", { class: "card" }, title ? el("h2", title) : null, ...children);

export const block = (value) => el("pre", { class: "block", tabindex: "0" }, typeof value === "string" ? value : json(value));

/** `[[name, value], …]`; what has no value is left out. */
export const facts = (rows) =>
  el("dl", { class: "facts" }, rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => [el("dt", name), el("dd", value)]));

const isSql = (type, evidence) => /sql|database/.test(String(type)) || Array.isArray(evidence?.statements);
const nodesOf = (evidence) => (Array.isArray(evidence?.warnings) ? evidence.warnings.map((one) => one?.node).filter((node) => typeof node === "string") : []);

/** What is asked for: the text as it was written, not as a string within JSON. What an engine found fault with is marked. */
export const actionCard = (action, evidence) => {
  const { type, query, code, target, parameters, ...rest } = action ?? {};
  const faults = Array.isArray(evidence?.problems) ? evidence.problems : [];
  return card("The action",
    facts([["Type", el("code", type)], ["Target", target === undefined ? undefined : el("code", target)]]),
    typeof target === "string" ? addressParts(target) : null,
    query === undefined || query === null ? null : [el("h3", "Query"), typeof query === "string" && isSql(type, evidence) ? sqlBlock(query, nodesOf(evidence)) : block(query)],
    code === undefined || code === null ? null : [el("h3", "Code"), typeof code === "string" ? codeBlock(code, faults) : block(code)],
    parameters && Object.keys(parameters).length ? [el("h3", "Parameters"), block(parameters)] : null,
    Object.keys(rest).length ? [el("h3", "More"), block(rest)] : null);
};

export const empty = (title, text) => el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), text ? el("p", text) : null);

export const loading = (text = "Loading …") => el("p", { class: "loading", role: "status" }, text);

const MISSING = ["This does not exist here", "Or your key or your groups may not see it. Check the address, or search for it."];

export const failure = (error, retry, [title, advice] = MISSING) =>
  el("div", { class: "failure", role: "alert" },
    el("p", { class: "empty-title" }, error.status === 404 ? title : "This could not be loaded"),
    el("p", error.status === 404 ? advice : error.message),
    error.status === 404 ? el("p", link("/dashboard/search", {}, "Search the record")) : null,
    retry && error.status !== 404 ? el("button", { type: "button", class: "button", on: { click: retry } }, "Try again") : null);

/** Fill `place` with what `load` builds; show that it loads, and what went wrong; `missing` says what to do where there is none. */
export const fillFrom = async (place, signal, load, missing) => {
  if (!place.hasChildNodes()) show(place, loading());
  place.setAttribute("aria-busy", "true");
  try {
    const content = await load();
    if (!signal.aborted) show(place, content);
  } catch (error) {
    if (!signal.aborted) show(place, failure(error, () => fillFrom(place, signal, load, missing), missing));
  } finally {
    place.removeAttribute("aria-busy");
  }
};

export const toast = (text, kind = "noted") => {
  const note = el("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6000);
};

/** A question to a person: resolves with what `fields` say, or null. `attempt` may refuse with an error to show. */
export const ask = ({ title, body = [], confirm, kind = "primary", cancel = "Cancel", attempt }) =>
  new Promise((resolve) => {
    const problem = el("p", { class: "problem", role: "alert" });
    const yes = el("button", { type: "submit", class: `button ${kind}` }, confirm);
    const no = cancel ? el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, cancel) : null;
    const form = el("form", {}, el("h2", { id: "dialog-title" }, title), body, problem, el("div", { class: "actions" }, yes, no));
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" }, form);
    let answer = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      yes.disabled = true;
      problem.textContent = "";
      try {
        answer = await attempt();
        dialog.close();
      } catch (error) {
        show(problem, error.message);
        yes.disabled = false;
      }
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector("[data-first]") ?? yes).focus();
  });

export const field = (label, input, kind = "") => el("label", { class: `field ${kind}` }, el("span", label), input);

export const copyButton = (text, label) =>
  el("button", {
    type: "button",
    class: "button small",
    on: {
      click: async () => {
        try {
          await navigator.clipboard.writeText(text());
          toast("Copied.");
        } catch {
          toast("The browser did not allow copying; the address is in its address bar.", "pending");
        }
      },
    },
  }, label);

/** Who voted: the person by name, with who knows them and how they signed in; else the key. */
export const voter = (vote) =>
  vote.person
    ? el("span", { class: "voter", title: `${vote.person.subject} at ${vote.person.issuer}` }, el("strong", vote.person.name), el("small", ` ${vote.person.how}`))
    : el("code", vote.by);
