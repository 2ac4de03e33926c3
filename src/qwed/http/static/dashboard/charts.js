// Small charts, drawn by hand. Each says in words what it shows, and has its numbers in a table.
import { el, svg } from "./dom.js";
import { count, day, hour, num, percent } from "./format.js";

export const OUTCOMES = [
  ["approved", "Approved"],
  ["corrected", "Corrected"],
  ["pending", "Waiting"],
  ["denied", "Denied"],
  ["budget_exceeded", "Past budget"],
];

// As wide as there is room for, so that letters have the size they have elsewhere.
const room = () => Math.max(260, Math.min(1160, document.getElementById("main").clientWidth - 40) - 44);
const HEIGHT = 220;
const LEFT = 44;
const BOTTOM = 24;
const TOP = 8;

const niceTop = (highest) => {
  if (highest <= 4) return 4;
  const size = 10 ** Math.floor(Math.log10(highest));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * size).find((step) => step >= highest);
};

const legend = (entries) =>
  el("ul", { class: "legend" }, entries.map(([kind, label]) => el("li", el("span", { class: `key fill-${kind}`, "aria-hidden": "true" }), label)));

const numbers = (bars, label) =>
  el("details", { class: "numbers" }, el("summary", "Numbers"),
    el("div", { class: "scroll", tabindex: "0" }, el("table", el("thead", el("tr", el("th", { scope: "col" }, "From"), OUTCOMES.map(([, name]) => el("th", { scope: "col" }, name)))),
      el("tbody", bars.map((bar) => el("tr", el("th", { scope: "row" }, label(bar)), OUTCOMES.map(([kind]) => el("td", count(bar[kind])))))))));

/** A note beside what is pointed at or has the focus. Only one at a time; gone with its page. */
const tip = (node, content) => {
  const open = () => {
    document.querySelector(".tip")?.remove();
    const box = node.getBoundingClientRect();
    const note = el("div", { class: "tip", role: "presentation" }, content());
    document.body.append(note);
    note.style.left = `${Math.max(8, Math.min(innerWidth - note.offsetWidth - 8, box.left + box.width / 2 - note.offsetWidth / 2))}px`;
    note.style.top = `${Math.max(8, box.top - note.offsetHeight - 6)}px`;
  };
  const close = () => document.querySelector(".tip")?.remove();
  for (const event of ["mouseenter", "focus"]) node.addEventListener(event, open);
  for (const event of ["mouseleave", "blur", "click"]) node.addEventListener(event, close);
};

/** Decisions over time, one stack for each stretch; each leads to its decisions. */
export const outcomeBars = (bars, barHours) => {
  const label = (bar) => (barHours >= 24 ? day(bar.from) : barHours > 1 ? `${day(bar.from)}, ${hour(bar.from)}` : hour(bar.from));
  const sums = bars.map((bar) => OUTCOMES.reduce((sum, [kind]) => sum + num(bar[kind]), 0));
  const top = niceTop(Math.max(...sums, 1));
  const high = HEIGHT - BOTTOM - TOP;
  const WIDTH = room();
  const wide = (WIDTH - LEFT) / bars.length;
  const y = (value) => TOP + high - (value / top) * high;
  const lines = [0, 0.5, 1].map((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share) }),
    svg("text", { class: "axis", x: LEFT - 8, y: y(top * share) + 4, "text-anchor": "end" }, count(top * share)),
  ]);
  const every = Math.ceil(bars.length / (WIDTH > 600 ? 8 : 4));
  const stacks = bars.map((bar, at) => {
    let below = 0;
    const parts = OUTCOMES.map(([kind]) => {
      const value = num(bar[kind]);
      if (!value) return null;
      const part = svg("rect", {
        class: `fill-${kind}`, x: LEFT + at * wide + wide * 0.14, width: Math.max(1, wide * 0.72),
        y: y(below + value), height: Math.max(1, y(below) - y(below + value)),
      });
      below += value;
      return part;
    });
    const words = OUTCOMES.filter(([kind]) => num(bar[kind])).map(([kind, name]) => `${name.toLowerCase()} ${count(bar[kind])}`);
    const until = new Date(new Date(bar.from).getTime() + barHours * 3600000).toISOString();
    const place = sums[at]
      ? svg("a", { href: `/dashboard/search?from=${encodeURIComponent(bar.from)}&to=${encodeURIComponent(until)}`, "aria-label": `${label(bar)}: ${words.join(", ")}` },
        svg("rect", { class: "hit", x: LEFT + at * wide, width: wide, y: TOP, height: high }), parts)
      : svg("g", svg("rect", { class: "hit", x: LEFT + at * wide, width: wide, y: TOP, height: high }));
    tip(place, () => [el("strong", label(bar)), words.length ? words.map((one) => el("div", one)) : "nothing", words.length ? el("div", "Click to see them.") : null]);
    return svg("g", place,
      at % every === 0 ? svg("text", { class: "axis", x: LEFT + at * wide + wide / 2, y: HEIGHT - 6, "text-anchor": "middle" }, barHours > 1 ? day(bar.from) : hour(bar.from)) : null);
  });
  const all = sums.reduce((sum, one) => sum + one, 0);
  const said = OUTCOMES.map(([kind, name]) => `${name.toLowerCase()} ${count(bars.reduce((sum, bar) => sum + num(bar[kind]), 0))}`).join(", ");
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `${count(all)} decisions: ${said}` }, lines, stacks),
    el("figcaption", legend(OUTCOMES)), numbers(bars, label));
};

const SPARKS = { APPROVED: "approved", CORRECTED: "corrected", PENDING: "pending", DENIED: "denied", BUDGET_EXCEEDED: "budget_exceeded" };

/** The last decisions of an agent, oldest first: low where it was allowed, high where it was refused. */
export const spark = (decisions) => {
  const wide = 120 / Math.max(decisions.length, 1);
  const refused = decisions.filter((one) => one === "DENIED" || one === "BUDGET_EXCEEDED").length;
  return svg("svg", { class: "spark", viewBox: "0 0 120 20", preserveAspectRatio: "none", role: "img", "aria-label": `${refused} of the last ${decisions.length} refused` },
    decisions.map((one, at) => {
      const high = one === "DENIED" || one === "BUDGET_EXCEEDED" ? 18 : one === "PENDING" ? 12 : 6;
      return svg("rect", { class: `fill-${SPARKS[one] ?? "pending"}`, x: at * wide, width: Math.max(1, wide * 0.75), y: 20 - high, height: high });
    }));
};

/** Rows of label, bar and number; `rows` are `{label, value, href?}` with a label that may be a node. */
export const rankedBars = (rows) => {
  const most = Math.max(...rows.map((row) => row.value), 1);
  return el("ol", { class: "ranked" }, rows.map((row) =>
    el("li", el("div", { class: "ranked-label" }, row.label, el("span", { class: "ranked-value" }, count(row.value))),
      svg("svg", { class: "ranked-bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "track", width: 100, height: 4 }), svg("rect", { class: "fill-denied", width: Math.max(0.5, (100 * row.value) / most), height: 4 })))));
};

/** How much of a limit is used; a limit of null is none. */
export const gauge = (label, used, limit, write) => {
  const share = limit === null || limit === undefined ? null : num(limit) === 0 ? 1 : Math.min(1, num(used) / num(limit));
  const kind = share === null ? "corrected" : share >= 1 ? "denied" : share >= 0.8 ? "pending" : "approved";
  const text = share === null ? `${write(used)}, no limit` : `${write(used)} of ${write(limit)}`;
  return el("div", { class: "gauge" },
    el("div", { class: "gauge-label" }, el("span", label), el("span", { class: "dim" }, text)),
    svg("svg", { class: "gauge-bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": share === null ? text : `${percent(share, 1)} used` },
      svg("rect", { class: "track", width: 100, height: 6, rx: 1 }),
      share === null ? null : svg("rect", { class: `fill-${kind}`, width: 100 * share, height: 6, rx: 1 })));
};

/** A score from 0 to 1 over time: `points` are `{at, score, said}` with instants in milliseconds, oldest first. */
export const scoreLine = (points) => {
  const wide = room();
  const high = 160;
  const first = points[0].at;
  const last = Math.max(Date.now(), first + 1);
  const x = (at) => LEFT + ((at - first) / (last - first)) * (wide - LEFT - 10);
  const y = (score) => 10 + (1 - score) * (high - 38);
  const path = points.map((point, at) => (at ? `H ${x(point.at)} V ${y(point.score)}` : `M ${x(point.at)} ${y(point.score)}`)).join(" ");
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Trust score, now ${points.at(-1).score.toFixed(2)}` },
      [0, 0.5, 1].map((score) => [
        svg("line", { class: "grid", x1: LEFT, x2: wide - 10, y1: y(score), y2: y(score) }),
        svg("text", { class: "axis", x: LEFT - 8, y: y(score) + 4, "text-anchor": "end" }, String(score)),
      ]),
      svg("path", { class: "line", d: `${path} H ${wide - 10}` }),
      points.map((point) => svg("circle", { class: "dot", cx: x(point.at), cy: y(point.score), r: 3 }, svg("title", point.said)))));
};

/** Trust over time: `points` are `{at, level}`, oldest first. */
export const trustSteps = (points, names) => {
  const wide = room();
  const high = 160;
  const left = 104;
  const first = new Date(points[0].at).getTime();
  const last = Math.max(Date.now(), first + 1);
  const x = (at) => left + ((new Date(at).getTime() - first) / (last - first)) * (wide - left - 10);
  const y = (value) => 14 + (3 - value) * ((high - 42) / 3);
  let path = `M ${x(points[0].at)} ${y(points[0].level)}`;
  points.slice(1).forEach((point) => {
    path += ` H ${x(point.at)} V ${y(point.level)}`;
  });
  path += ` H ${wide - 10}`;
  const said = points.map((point) => `${point.level} since ${day(point.at)}`).join(", ");
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Trust level: ${said}` },
      names.map((name, value) => [
        svg("line", { class: "grid", x1: left, x2: wide - 10, y1: y(value), y2: y(value) }),
        svg("text", { class: "axis", x: left - 10, y: y(value) + 4, "text-anchor": "end" }, `${value} ${name}`),
      ]),
      svg("path", { class: "line", d: path }),
      points.map((point) => svg("circle", { class: "dot", cx: x(point.at), cy: y(point.level), r: 4 }, svg("title", `${point.level} ${names[point.level]}, ${day(point.at)}`))),
      svg("text", { class: "axis", x: left, y: high - 6 }, day(points[0].at)),
      svg("text", { class: "axis", x: wide - 10, y: high - 6, "text-anchor": "end" }, "now")));
};
