// Searches that somebody keeps, in this browser.
import { el, link } from "./dom.js";
import { ask, field } from "./parts.js";

const KEPT = "qwed-views";
const MOST = 30;

const read = () => {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((view) => typeof view?.name === "string" && typeof view?.query === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
};
const write = (views) => {
  try {
    localStorage.setItem(KEPT, JSON.stringify(views));
  } catch {
    // The browser keeps nothing for this page.
  }
};

export const savedViews = (redraw) => {
  const views = read();
  if (!views.length) return null;
  return el("div", { class: "list-tools" }, el("span", { class: "dim" }, "Saved:"), views.map((view) => el("span", { class: "pill" },
    link(`/dashboard/search?${view.query}`, {}, view.name),
    el("button", { type: "button", class: "button plain", "aria-label": `Forget ${view.name}`, on: { click: () => {
      write(read().filter((one) => one.name !== view.name));
      redraw();
    } } }, "✕"))));
};

export const saveView = (query) => {
  const name = el("input", { type: "text", name: "name", maxlength: "60", required: true, "data-first": true });
  return ask({
    title: "Save this search",
    body: [field("Name", name)],
    confirm: "Save",
    attempt: async () => {
      write([...read().filter((view) => view.name !== name.value), { name: name.value, query }].slice(-MOST));
      return true;
    },
  });
};
