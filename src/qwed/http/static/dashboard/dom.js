// Nodes from values. Text is only ever text: nothing here, or anywhere else, makes HTML of a string.
import { visible } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

const fill = (node, options, children) => {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : visible(child))));
  return node;
};

// What was read from the gateway has no prototype (see api.js), so nothing an agent says can be options.
const isOptions = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;

const maker = (create) => (tag, ...rest) => {
  const options = isOptions(rest[0]) ? rest.shift() : {};
  return fill(create(tag), options, rest);
};

/** `el("p", {class: "dim"}, "text", node, [more])` */
export const el = maker((tag) => document.createElement(tag));
export const svg = maker((tag) => document.createElementNS(SVG, tag));

/** Show these nodes and nothing else. */
export const show = (parent, ...children) => {
  parent.replaceChildren();
  fill(parent, {}, children);
  return parent;
};

/** A link inside the dashboard: followed without loading the page again. */
export const link = (href, options, ...children) => el("a", { href, ...options }, ...children);

/** At most once in a while, and always once more after the last call. */
export const calmly = (milliseconds, work) => {
  let timer = null;
  let last = -Infinity;
  return () => {
    if (timer !== null) return;
    const wait = Math.max(0, last + milliseconds - performance.now());
    timer = setTimeout(() => {
      timer = null;
      last = performance.now();
      work();
    }, wait);
  };
};
