// Where something came from: the graph of tokens before it, drawn on a canvas that can be moved, zoomed and clicked.
import { get, segment } from "./api.js";
import { el, link, show } from "./dom.js";
import { clock, count } from "./format.js";
import { card, empty, facts, fillFrom } from "./parts.js";

const COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#76b7b2", "#edc948", "#ff9da7"];
const BAD = "#d62728";
const WIDE = 150;
const HIGH = 34;
const APART = [220, 54];
// Rows between two bands, and columns that need no folding.
const BETWEEN = 1.5;
const UNFOLDED = 6;
const STUB = 28;
const READABLE = 0.35;
const LISTED = 200;

/** One column for each step away from the roots; parents come before children. */
const columnsOf = (graph) => {
  const nodes = new Map(graph.nodes.map((node) => [node.jti, { ...node, column: 0, parents: [] }]));
  for (const jti of graph.missing) nodes.set(jti, { jti, agent: "missing", action: "not on record", missing: true, column: 0, parents: [] });
  for (const [parent, child] of graph.edges) {
    const [from, to] = [nodes.get(parent), nodes.get(child)];
    if (!from || !to) continue;
    to.column = Math.max(to.column, from.column + 1);
    to.parents.push(from);
  }
  const columns = [];
  for (const node of nodes.values()) (columns[node.column] ??= []).push(node);
  return { nodes, columns };
};

/** Beside its parents, so that few links cross. */
const order = (column) => {
  const mean = (node) => node.parents.reduce((sum, parent) => sum + parent.row, 0) / (node.parents.length || 1);
  column.sort((one, other) => mean(one) - mean(other)).forEach((node, row) => { node.row = row; });
};

/** A long story is folded into bands, as a text into lines: otherwise it is a thread that nobody can read. */
const layout = (graph, aspect) => {
  const { nodes, columns } = columnsOf(graph);
  columns.forEach(order);
  const tallest = Math.max(...columns.map((column) => column.length), 1);
  const wanted = Math.ceil(Math.sqrt((columns.length * (tallest + BETWEEN) * APART[1] * aspect) / APART[0]));
  const perBand = Math.max(wanted, UNFOLDED);
  let top = 0;
  for (let first = 0; first < columns.length; first += perBand) {
    const band = columns.slice(first, first + perBand);
    band.forEach((column, at) => column.forEach((node) => Object.assign(node, { band: first, x: at * APART[0], y: (top + node.row) * APART[1] })));
    top += Math.max(...band.map((column) => column.length)) + BETWEEN;
  }
  return nodes;
};

const colourOf = (nodes) => {
  const agents = [...new Set([...nodes.values()].map(whoseOf))];
  return { agents, of: (node) => (node.missing ? BAD : COLOURS[agents.indexOf(whoseOf(node)) % COLOURS.length]) };
};

class Picture {
  constructor(canvas, graph, chosen) {
    this.canvas = canvas;
    this.nodes = layout(graph, innerWidth < 720 ? 0.8 : 1.7);
    this.edges = graph.edges.map(([from, to]) => [this.nodes.get(from), this.nodes.get(to)]).filter(([from, to]) => from && to);
    this.colours = colourOf(this.nodes);
    this.chosen = null;
    this.onChosen = chosen;
    this.scale = 1;
    this.at = [20, 20];
    this.listen();
  }

  listen() {
    let from = null;
    let moved = false;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      moved = false;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const step = [event.clientX - from[0], event.clientY - from[1]];
      if (!moved && Math.hypot(...step) < 4) return;
      moved = true;
      from = [event.clientX, event.clientY];
      this.move(...step);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from !== null && !moved) this.choose(this.under(event));
      from = null;
    });
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, [event.clientX - box.left, event.clientY - box.top]);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (steps[event.key]) this.move(...steps[event.key]);
      else if (event.key === "+") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }

  move(x, y) {
    this.at = [this.at[0] + x, this.at[1] + y];
    this.draw();
  }

  zoom(factor, around = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const scale = Math.min(4, Math.max(0.02, this.scale * factor));
    this.at = this.at.map((place, axis) => around[axis] - ((around[axis] - place) * scale) / this.scale);
    this.scale = scale;
    this.draw();
  }

  fit() {
    const all = [...this.nodes.values()];
    const right = Math.max(...all.map((node) => node.x)) + WIDE;
    const bottom = Math.max(...all.map((node) => node.y)) + HIGH;
    this.scale = Math.min(1.4, Math.max(0.02, Math.min((this.canvas.clientWidth - 40) / right, (this.canvas.clientHeight - 40) / bottom)));
    this.at = [20, 20];
    this.draw();
  }

  /** The chosen one in the middle, large enough to be read. */
  find() {
    if (this.chosen === null) return;
    this.scale = Math.max(this.scale, 0.9);
    this.at = [this.canvas.clientWidth / 2 - (this.chosen.x + WIDE / 2) * this.scale, this.canvas.clientHeight / 2 - (this.chosen.y + HIGH / 2) * this.scale];
    this.draw();
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left - this.at[0]) / this.scale;
    const y = (event.clientY - box.top - this.at[1]) / this.scale;
    return [...this.nodes.values()].find((node) => x >= node.x && x <= node.x + WIDE && y >= node.y && y <= node.y + HIGH) ?? null;
  }

  choose(node) {
    this.chosen = node;
    this.onChosen(node);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    const { canvas, scale, at } = this;
    const dense = devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(high * dense)) {
      canvas.width = Math.round(wide * dense);
      canvas.height = Math.round(high * dense);
    }
    const pen = canvas.getContext("2d");
    const ink = getComputedStyle(canvas).color;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, wide, high);
    pen.translate(...at);
    pen.scale(scale, scale);
    const [left, top] = [-at[0] / scale, -at[1] / scale];
    const [right, bottom] = [left + wide / scale, top + high / scale];
    const isSeen = (from, to) => Math.max(from.x + WIDE, to.x) >= left && Math.min(from.x, to.x) <= right && Math.max(from.y, to.y) + HIGH >= top && Math.min(from.y, to.y) <= bottom;
    const seen = this.edges.filter(([from, to]) => isSeen(from, to));
    this.paintLinks(pen, seen.filter(([from, to]) => from.band === to.band), ink, 0.35, 1);
    // From band to band only the ends are drawn, as where a line of text goes on; the chosen one's links are whole.
    this.paintStubs(pen, seen.filter(([from, to]) => from.band !== to.band), ink);
    if (this.chosen !== null) this.paintLinks(pen, seen.filter((link) => link.includes(this.chosen)), ink, 1, 2);
    pen.font = "12px sans-serif";
    for (const node of this.nodes.values()) {
      if (node.x > right || node.x + WIDE < left || node.y > bottom || node.y + HIGH < top) continue;
      this.paintNode(pen, node, ink);
    }
  }

  paintLinks(pen, links, ink, alpha, width) {
    pen.strokeStyle = ink;
    pen.globalAlpha = alpha;
    pen.lineWidth = width / Math.max(0.4, this.scale);
    pen.beginPath();
    for (const [from, to] of links) {
      pen.moveTo(from.x + WIDE, from.y + HIGH / 2);
      pen.lineTo(to.x, to.y + HIGH / 2);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  paintStubs(pen, links, ink) {
    const ends = links.flatMap(([from, to]) => [
      [{ x: from.x, y: from.y }, { x: from.x + WIDE + STUB, y: from.y }],
      [{ x: to.x - WIDE - STUB, y: to.y }, { x: to.x, y: to.y }],
    ]);
    pen.setLineDash([3, 3]);
    this.paintLinks(pen, ends, ink, 0.35, 1);
    pen.setLineDash([]);
  }

  paintNode(pen, node, ink) {
    const isBad = node.missing || ["failure", "DENIED", "BUDGET_EXCEEDED"].includes(node.outcome);
    pen.fillStyle = isBad ? BAD : this.colours.of(node);
    pen.globalAlpha = this.scale < READABLE ? 0.8 : 0.25;
    pen.fillRect(node.x, node.y, WIDE, HIGH);
    pen.globalAlpha = 1;
    pen.lineWidth = (node === this.chosen ? 3 : 1.5) / Math.min(1, Math.max(0.25, this.scale));
    pen.strokeStyle = node === this.chosen ? ink : isBad ? BAD : this.colours.of(node);
    pen.setLineDash(node.level === "L1" ? [4, 3] : []);
    pen.strokeRect(node.x, node.y, WIDE, HIGH);
    pen.setLineDash([]);
    if (this.scale < READABLE) return;
    pen.fillStyle = ink;
    pen.fillText(short(titleOf(node)), node.x + 8, node.y + 14, WIDE - 16);
    pen.globalAlpha = 0.7;
    pen.fillText(short(whoseOf(node)), node.x + 8, node.y + 28, WIDE - 16);
    pen.globalAlpha = 1;
  }
}

// A decision's token says "qwed:decision DENIED for …": its action and its agent stand in the record.
const DECISION = /^qwed:decision (\w+) for (\S+)$/;
const titleOf = (node) => {
  const decision = DECISION.exec(node.action)?.[1];
  if (!decision) return node.action;
  return `${node.entry?.action_type ?? "decision"}: ${decision.toLowerCase().replaceAll("_", " ")}`;
};
const whoseOf = (node) => node.name ?? DECISION.exec(node.action)?.[2].split(":").at(-1) ?? node.agent;

const NAMED = 60;
/** The action and the agent of the decisions that come first; a large graph is named as far as it can be read. */
const nameNodes = async (graph) => {
  const decisions = graph.nodes.filter((node) => DECISION.test(node.action)).slice(-NAMED);
  await Promise.all(decisions.map(async (node) => {
    const found = await get(`/activity/${segment(activityOf(node.jti))}`).catch(() => null);
    if (found === null) return;
    node.entry = found.activity;
    node.name = found.agents[found.activity.agent_id];
  }));
};

const short = (text) => (text.length > 26 ? `${text.slice(0, 12)}…${text.slice(-12)}` : text);

const activityOf = (jti) => `act_${jti.replaceAll("-", "")}`;

const details = (node) => (node === null ? empty("Choose a node", "What it is appears here.") : facts([
  ["Action", titleOf(node)], ["Agent", node.name ?? el("code", whoseOf(node))], ["Issued by", el("code", node.agent)], ["Level", node.level], ["Outcome", node.outcome ?? undefined],
  ["When", node.at === undefined ? undefined : clock(new Date(Number(node.at) * 1000).toISOString())],
  ["Data from", node.data_source], ["Classification", node.data_classification],
  ["Transformations", node.transformations?.length ? node.transformations.join(", ") : undefined],
  ["Decision", node.action?.startsWith("qwed:") ? link(`/dashboard/decisions/${segment(activityOf(node.jti))}`, {}, "Open it") : undefined],
  ["Token", el("code", node.jti)],
]));

const listed = (graph, choose) => el("details", el("summary", "As a list"),
  el("div", { class: "scroll", tabindex: "0" }, el("table",
    el("thead", el("tr", ["Action", "Agent", "Level", "Token"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", graph.nodes.slice(0, LISTED).map((node) => el("tr", el("td", el("button", { type: "button", class: "button plain", on: { click: () => choose(node.jti) } }, titleOf(node))), el("td", whoseOf(node)), el("td", node.level), el("td", el("code", node.jti))))))),
  graph.nodes.length > LISTED ? el("p", { class: "dim" }, `and ${count(graph.nodes.length - LISTED)} more`) : null);

const ADVICE = "Open a decision in Search and choose “Where it came from”: the page then shows what led to it, step by step. Tokens that your agents submit are shown too.";

/** Without a token there is nothing to draw; the page says where to find one. */
export const provenanceStart = async ({ main }) =>
  show(main, empty("Choose a decision first", [ADVICE, " ", link("/dashboard/search", {}, "Search the record")]));

export const provenancePage = async ({ main, signal, parameters }) => {
  const place = el("div", { class: "stack" });
  show(main, place);
  let picture = null;
  await fillFrom(place, signal, async () => {
    const graph = await get(`/provenance/${segment(parameters.id)}/graph`);
    await nameNodes(graph);
    const said = `${count(graph.nodes.length)} tokens and ${count(graph.edges.length)} links${graph.missing.length ? `, ${count(graph.missing.length)} missing` : ""}`;
    const canvas = el("canvas", { class: "graph", tabindex: "0", role: "img", "aria-label": `Graph of ${said}. Drag or use the arrow keys to move, the wheel or + and - to zoom.` });
    const side = el("div", { id: "chosen" }, details(null));
    picture = new Picture(canvas, graph, (node) => show(side, details(node)));
    const button = (label, work) => el("button", { type: "button", class: "button small", on: { click: work } }, label);
    return [
      el("div", { class: "page-head" }, el("div", el("h1", "Where it came from"), el("p", { class: "dim" }, said, graph.bounded ? "; there is more than is shown" : "")),
        el("div", { class: "actions" }, button("Zoom in", () => picture.zoom(1.25)), button("Zoom out", () => picture.zoom(0.8)), button("Fit", () => picture.fit()), button("Find the chosen one", () => picture.find()))),
      el("div", { class: "columns graphs" },
        card("Graph", canvas, el("p", { class: "dim small" }, "One colour for each agent; dashed is unsigned; red is denied, failed or missing."), listed(graph, (jti) => { picture.choose(picture.nodes.get(jti)); picture.find(); canvas.scrollIntoView({ block: "nearest" }); })),
        card("Chosen", side)),
    ];
  }, ["No token has this id, or you may not see it", ADVICE]);
  if (picture === null) return;
  picture.choose(picture.nodes.get(parameters.id) ?? null);
  picture.fit();
  window.addEventListener("resize", () => picture.draw(), { signal });
};
