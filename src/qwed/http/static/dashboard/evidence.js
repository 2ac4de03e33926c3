// What an engine found, for people: the text with the place that matters, the parts of an address, the steps of a sum.
import { el } from "./dom.js";
import { json } from "./format.js";

const SQL_WORDS = new Set(`ADD ALL ALTER ANALYZE AND AS ASC BEGIN BETWEEN BY CASCADE CASE COLUMN COMMIT CREATE CROSS DATABASE DEFAULT DELETE DESC
  DISTINCT DROP ELSE END EXCEPT EXISTS FROM FULL GRANT GROUP HAVING IN INDEX INNER INSERT INTERSECT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON
  OR ORDER OUTER PRIMARY REFERENCES REVOKE RIGHT ROLLBACK SCHEMA SELECT SET TABLE THEN TO TRUNCATE UNION UNIQUE UPDATE USING VALUES VIEW WHEN WHERE WITH`.split(/\s+/));
const TOKEN = /('(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/|\b\d+(?:\.\d+)?\b|\b[A-Za-z_]+\b)/;
const MOST = 20000;

const kindOf = (token) => {
  if (token.startsWith("--") || token.startsWith("/*")) return "comment";
  if (token.startsWith("'") || token.startsWith('"')) return "text";
  if (/^\d/.test(token)) return "number";
  return SQL_WORDS.has(token.toUpperCase()) ? "word" : null;
};

const coloured = (text) => text.split(TOKEN).map((part, at) => {
  const kind = at % 2 ? kindOf(part) : null;
  return kind ? el("span", { class: `sql-${kind}` }, part) : part;
});

/** Where the marked texts stand, in order and without overlaps. */
const places = (text, nodes) => {
  const found = nodes.filter(Boolean).map((node) => [text.indexOf(node), node.length]).filter(([at]) => at >= 0).sort(([one], [other]) => one - other);
  return found.filter(([at], number) => number === 0 || at >= found[number - 1][0] + found[number - 1][1]);
};

/** SQL with its words coloured, and what was found fault with marked. */
export const sqlBlock = (text, nodes = []) => {
  if (text.length > MOST) return el("pre", { class: "block", tabindex: "0" }, text);
  const parts = [];
  let at = 0;
  for (const [start, length] of places(text, nodes)) {
    parts.push(...coloured(text.slice(at, start)), el("mark", coloured(text.slice(start, start + length))));
    at = start + length;
  }
  return el("pre", { class: "block sql", tabindex: "0" }, parts, coloured(text.slice(at)));
};

/** Code with the numbers of its lines; the lines that were found fault with are marked. */
export const codeBlock = (text, problems = []) => {
  const marked = new Set(problems.map((problem) => Number(problem.line)));
  return el("pre", { class: "block lines", tabindex: "0" }, text.replace(/\n$/, "").split("\n").map((line, at) =>
    el("span", { class: marked.has(at + 1) ? "line marked" : "line" }, el("span", { class: "line-number", "aria-hidden": "true" }, at + 1), line, "\n")));
};

/** The parts of an address: people read a host wrongly when it hides in a long line. */
export const addressParts = (text) => {
  let address;
  try {
    address = new URL(text);
  } catch {
    return null;
  }
  if (!/^[a-z]+:$/.test(address.protocol) || !address.host) return null;
  const rows = [["Scheme", address.protocol.replace(":", "")], ["User", address.username], ["Host", address.hostname], ["Port", address.port], ["Path", address.pathname], ["Query", address.search], ["Fragment", address.hash]];
  return el("dl", { class: "address" }, rows.filter(([, value]) => value).map(([name, value]) => el("div", el("dt", name), el("dd", { class: name === "Host" ? "host" : "" }, el("code", value)))));
};

const list = (title, rows) => (rows.length ? [el("h3", title), el("ul", { class: "found" }, rows)] : null);

const warnings = (found) => list("What stands out", found.map((one) => el("li", el("strong", one.message ?? one.rule), one.node ? [" ", el("code", one.node)] : null)));
const problem = (one) => el("li", el("strong", one.message ?? one.rule ?? "?"), one.line ? ` (line ${one.line})` : "", [one.text, one.value].filter((text) => text !== undefined).map((text) => [" ", el("code", text)]), one.parameter ? el("span", { class: "dim" }, " in ", one.parameter) : null,
  Array.isArray(one.flow) && one.flow.length > 1 ? el("ol", { class: "dim small" }, one.flow.map((place) => el("li", place))) : null);
const relation = (one) => el("li", el("code", one.left, " ", one.relation, " ", one.right), " ", el("span", { class: "dim" }, one.how ?? ""));
const step = (one) => el("li", typeof one === "string" ? el("code", one) : el("code", json(one)));

const isPlain = (value) => value !== null && (typeof value !== "object" || "rawJSON" in value || (Array.isArray(value) && value.every((one) => typeof one !== "object")));
const plain = (evidence, taken) => Object.entries(evidence).filter(([name, value]) => !taken.has(name) && isPlain(value) && (!Array.isArray(value) || value.length));
const label = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

const KNOWN = new Set(["statements", "warnings", "problems", "relations", "steps", "smtlib"]);

/** Everything an engine said, in words; as JSON for whoever wants it exactly. */
export const evidenceOf = (evidence) => {
  if (!evidence || !Object.keys(evidence).length) return null;
  const { statements = [], warnings: odd = [], problems = [], relations = [], steps = [], smtlib } = evidence;
  const simple = plain(evidence, KNOWN);
  return el("div", { class: "evidence" },
    Array.isArray(statements) && statements.length ? [el("h3", "Statements"), statements.filter((one) => one?.text).map((one) => sqlBlock(one.text, odd.map((warning) => warning.node)))] : null,
    Array.isArray(odd) ? warnings(odd) : null,
    Array.isArray(problems) ? list("Problems", problems.map(problem)) : null,
    Array.isArray(relations) ? list("Computed", relations.map(relation)) : null,
    Array.isArray(steps) ? list("Steps", steps.map(step)) : null,
    typeof smtlib === "string" ? [el("h3", "As the solver read it"), el("pre", { class: "block", tabindex: "0" }, smtlib)] : null,
    simple.length ? el("dl", { class: "facts spaced" }, simple.map(([name, value]) => [el("dt", label(name)), el("dd", Array.isArray(value) ? value.join(", ") : value)])) : null,
    el("details", { class: "spaced" }, el("summary", "Evidence as JSON"), el("pre", { class: "block", tabindex: "0" }, json(evidence))));
};
