// Who said the values of an action: each argument with its origin, in colour and in words, and its way here.
import { el } from "./dom.js";
import { card } from "./parts.js";

const ORIGINS = {
  said: ["approved", "✓", "said"], endorsed: ["corrected", "≈", "endorsed"], untrusted: ["denied", "!", "untrusted"], unsaid: ["pending", "?", "nobody said it"],
};

const originPill = (origin) => {
  const [kind, sign, words] = ORIGINS[origin] ?? ["noted", "•", String(origin)];
  return el("span", { class: `pill ${kind}` }, el("span", { "aria-hidden": "true" }, sign), words);
};

/** From the result that said it first, to this action. */
const way = (one, step) => (one.tool ? el("ol", { class: "way", "aria-label": `The way of ${one.value}` },
  el("li", "result of ", el("code", one.tool), one.step_number ? ` at step ${one.step_number}` : ""),
  el("li", el("code", one.argument), " of this action", step ? ` at step ${step}` : "")) : null);

const argument = (one, step) => el("li", { class: "origin" },
  el("div", { class: "pills" }, originPill(one.origin), el("code", one.argument)),
  el("p", { class: "origin-value" }, el("code", one.value)),
  el("p", { class: "small" }, one.says), way(one, step));

const WORST = ["untrusted", "unsaid", "endorsed", "said"];

/** Nothing where nobody reports what was said. What is worst comes first. */
export const originsCard = (origins, step) => {
  if (!Array.isArray(origins) || !origins.length) return null;
  const rank = (one) => (WORST.indexOf(one.origin) + WORST.length + 1) % (WORST.length + 1);
  const sorted = [...origins].sort((one, other) => rank(one) - rank(other));
  return card("Who said its values", el("ul", { class: "origins" }, sorted.map((one) => argument(one, step))));
};
