// The policy: its text with what is wrong in it, how it differs from what is in force, and how it came about.
import { get, post, put, session } from "./api.js";
import { diffBlock } from "./diff.js";
import { calmly, el, link, show } from "./dom.js";
import { clock } from "./format.js";
import { ask, block, card, empty, facts, failure, field, fillFrom, loading, toast, when } from "./parts.js";
import { backtestCard, shadowCard } from "./policy-trials.js";

const PAGE = 20;
const DIRECTIONS = { tighter: ["approved", "▲"], looser: ["denied", "▼"], both: ["pending", "◆"], "not analysed": ["noted", "?"] };

const sign = (kind, mark, text) => el("span", { class: `pill ${kind}` }, el("span", { "aria-hidden": "true" }, mark), text);

// --- the text ---------------------------------------------------------------------------------------

/** A text with numbered lines; `mark` colours lines, `goTo` selects one. */
const editor = (text, onChange) => {
  const numbers = el("pre", { class: "editor-numbers", "aria-hidden": "true" });
  const area = el("textarea", { class: "code", id: "policy-text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Text of the policy", value: text });
  let marked = new Map();
  const draw = () => {
    const count = area.value.split("\n").length;
    show(numbers, Array.from({ length: count }, (_, at) => el("span", { class: marked.get(at + 1) }, String(at + 1))));
    numbers.scrollTop = area.scrollTop;
  };
  area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });
  area.addEventListener("input", () => {
    draw();
    onChange();
  });
  draw();
  return {
    node: el("div", { class: "editor" }, numbers, area),
    area,
    mark: (lines) => {
      marked = lines;
      draw();
    },
    goTo: (line) => {
      const lines = area.value.split("\n");
      const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
      area.focus();
      area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
      area.scrollTop = Math.max(0, (line - 5) * (area.scrollHeight / lines.length));
    },
  };
};

const lineButton = (line, goTo) => (line > 0 ? el("button", { type: "button", class: "button small", on: { click: () => goTo(line) } }, `Line ${line}`) : null);

const findingsList = (found, goTo) => {
  if (!found.is_valid) {
    return [el("p", { class: "problem" }, "This text can't be put in force."),
      el("ul", { class: "rows" }, found.mistakes.map((one) => el("li", lineButton(Number(one.line), goTo), el("span", one.path ? [el("code", one.path), " "] : null, one.message))))];
  }
  const findings = found.findings ?? [];
  const missing = found.not_analysed ?? [];
  if (!findings.length && !missing.length) return el("p", { class: "calm" }, "Nothing is wrong, and nothing is doubtful.");
  return el("ul", { class: "rows" },
    findings.map((one) => el("li", lineButton(Number(one.line), goTo), el("div", { class: "finding grow" }, el("span", el("code", one.rule), " ", one.message),
      one.example === undefined || one.example === null ? null : [el("small", "For example"), block(one.example)]))),
    missing.map((one) => el("li", lineButton(Number(one.line), goTo), el("span", el("code", one.rule), ` not analysed (${one.question}): ${one.why}`))));
};

const marksOf = (found) => new Map(found.is_valid
  ? [...(found.findings ?? []), ...(found.not_analysed ?? [])].map((one) => [Number(one.line), "line-doubtful"])
  : found.mistakes.map((one) => [Number(one.line), "line-wrong"]));

// --- what changes -----------------------------------------------------------------------------------

const meaning = (found) => {
  if (!found.is_valid) return null;
  const told = found.differences ?? [];
  if (!told.length) return el("p", { class: "dim" }, "It decides as the policy in force does.");
  return el("ul", { class: "rows" }, told.map((one) => {
    const [kind, mark] = DIRECTIONS[one.direction] ?? ["noted", "•"];
    return el("li", sign(kind, mark, one.direction), el("div", { class: "finding grow" }, el("span", one.subject, one.why ? el("span", { class: "dim" }, ` ${one.why}`) : null),
      one.tighter ? [el("small", "Stopped now"), block(one.tighter)] : null,
      one.looser ? [el("small", "Allowed now"), block(one.looser)] : null));
  }));
};

// --- apply, history, roll back ----------------------------------------------------------------------

const reasonField = () => el("input", { type: "text", name: "reason", required: true, maxlength: "1000", "data-first": true, placeholder: "why, for the record" });

/** Says what came of it: in force, or waiting for a second person. */
const tellChange = (answer) => {
  if (answer.approval_id) toast("A second person has to agree: it waits in the inbox.", "pending");
  else toast(`Version ${answer.version} is in force.`, "approved");
};

const applyText = (text, inForce, found) => {
  const reason = reasonField();
  return ask({
    title: "Put this text in force?",
    body: [el("p", { class: "dim" }, "It holds for every gateway of the deployment from the next decision on."),
      found?.needs_review ? el("p", { class: "warning" }, "Something becomes looser, or could not be analysed.") : null,
      field("Reason", reason)],
    confirm: "Put in force",
    attempt: async () => {
      tellChange(await put("/policy", { text, reason: reason.value, version: inForce.version }));
      return true;
    },
  });
};

const rollBack = (change) => {
  const reason = reasonField();
  return ask({
    title: `Roll back to version ${change.version}?`,
    body: [el("p", { class: "dim" }, "Its policy becomes the newest version. What is stopped stays stopped."), field("Reason", reason)],
    confirm: "Roll back",
    kind: "bad",
    attempt: async () => {
      tellChange(await post("/policy/rollback", { version: change.version, reason: reason.value }));
      return true;
    },
  });
};

const versionDetails = (change, inForce, signal) => {
  const place = el("div");
  const details = el("details", { class: "older" }, el("summary", `Text of version ${change.version}`), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.hasChildNodes()) return;
    fillFrom(place, signal, async () => {
      const { text } = await get(`/policy/versions/${change.version}`);
      if (text === null || text === undefined) return el("p", { class: "dim" }, "No text came with it.");
      return inForce.text === text ? block(text) : [el("p", { class: "dim" }, "Compared with what is in force:"), diffBlock(inForce.text ?? "", text)];
    });
  });
  return details;
};

const historyRow = (change, inForce, again, signal) => {
  const canReturn = (change.kind === "apply" || change.kind === "rollback") && change.version !== inForce.policy_at && inForce.source === "store";
  return el("li", sign(change.version === inForce.policy_at ? "approved" : "noted", "•", `version ${change.version}`), el("span", { class: "grow" }, el("strong", change.kind), " by ", el("code", change.by), ", ", when(change.at)),
    canReturn ? el("button", { type: "button", class: "button small", on: { click: async () => { if (await rollBack(change)) again(); } } }, `Roll back to ${change.version}`) : null,
    el("p", { class: "said" }, change.reason),
    change.kind === "apply" || change.kind === "rollback" ? versionDetails(change, inForce, signal) : null);
};

const historyCard = (inForce, again, signal) => {
  const list = el("ul", { class: "rows changes" });
  const more = el("div", { class: "more" });
  const load = async (before) => {
    show(more, loading());
    try {
      const page = await get("/policy/history", { limit: PAGE, before });
      if (signal.aborted) return;
      list.append(...page.changes.map((change) => historyRow(change, inForce, again, signal)));
      if (!list.hasChildNodes()) show(more, empty("Nothing was changed yet", "The built-in policy, or the file of the gateway, is in force."));
      else show(more, page.next ? el("button", { type: "button", class: "button", on: { click: () => load(page.next) } }, "Older changes") : null);
    } catch (error) {
      if (!signal.aborted) show(more, failure(error, () => load(before)));
    }
  };
  load();
  return card("History", list, more);
};

// --- the page ---------------------------------------------------------------------------------------

const inForceCard = (inForce) => card("In force",
  inForce.stops.length ? el("p", { class: "warning" }, `Stopped: ${inForce.stops.map((one) => (one.name ? `${one.scope} ${one.name}` : "everything")).join(", ")}`) : null,
  inForce.differs ? el("p", { class: "warning" }, "The file of this host says something else.") : null,
  facts([["Version", String(inForce.version)], ["Policy", el("code", inForce.policy_version)],
    ["Comes from", inForce.source === "store" ? "the store" : el("code", inForce.source)],
    ["Since", inForce.change ? clock(inForce.change.at) : undefined], ["By", inForce.change?.by], ["Why", inForce.change?.reason]]));

export const policyPage = async ({ main, signal, go }) => {
  if (!session.scopes.includes("policy")) {
    show(main, empty("You may not see the policy", "It holds for everybody. Ask an operator, or for the scope policy."));
    return;
  }
  show(main, el("div", { class: "page-head" }, el("h1", "Policy")), loading());
  const inForce = await get("/policy");
  if (signal.aborted) return;
  const again = () => go("/dashboard/policy", { replace: true, still: true });
  const findings = el("div", { "aria-live": "polite" }, loading("Checking …"));
  const meant = el("div");
  const written = el("div");
  let found = null;
  let turn = 0;
  const apply = el("button", { type: "button", class: "button primary", disabled: true }, "Put in force …");
  const check = async () => {
    turn += 1;
    const mine = turn;
    try {
      const answer = await post("/policy/check", { text: text.area.value });
      if (signal.aborted || mine !== turn) return;
      found = answer;
      text.mark(marksOf(found));
      show(findings, findingsList(found, text.goTo));
      show(meant, meaning(found));
    } catch (error) {
      if (!signal.aborted) show(findings, failure(error, check));
      found = null;
    }
    const isSame = text.area.value === (inForce.text ?? "");
    show(written, isSame ? el("p", { class: "dim" }, "The text is the one in force.") : diffBlock(inForce.text ?? "", text.area.value));
    apply.disabled = !found?.is_valid || isSame || inForce.source !== "store";
  };
  const text = editor(inForce.text ?? "", calmly(700, check));
  apply.addEventListener("click", async () => {
    if (await applyText(text.area.value, inForce, found)) again();
  });
  show(main,
    el("div", { class: "page-head" }, el("h1", "Policy"), el("div", { class: "actions" },
      link("/docs", { class: "button" }, "API"), apply)),
    inForce.source === "store" ? null : el("p", { class: "warning" }, "The policy comes from a file: change ", el("code", inForce.source), " and run ", el("code", "qwed policy apply --from-file"), ". Here a text can be tried."),
    inForce.text === null ? el("p", { class: "dim" }, "No text is in force: the built-in policy is. What you write here is added to it.") : null,
    el("div", { class: "columns policy-work" },
      el("div", { class: "stack" }, card("Text", text.node), card("What was found", findings)),
      el("div", { class: "stack" }, inForceCard(inForce), card("What changes", el("h3", "What it decides"), meant, el("h3", "What is written"), written))),
    backtestCard(() => text.area.value, signal),
    shadowCard(signal),
    historyCard(inForce, again, signal));
  await check();
};
