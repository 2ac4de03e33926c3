// The frame around the pages: who is signed in, where one is, what happens, and the keys that work everywhere.
import { session, signOut, get, whoAmI } from "./api.js";
import { calmly, el, link, show, svg } from "./dom.js";
import { ago, count, left, num } from "./format.js";
import * as live from "./live.js";
import { tellOfRequest } from "./notify.js";
import { PAGES, find } from "./pages.js";
import { ask, empty, failure, toast } from "./parts.js";
import { signInPage } from "./sign-in.js";

const top = document.getElementById("top");
const main = document.getElementById("main");
const root = document.documentElement;

let leaving = new AbortController();
let waiting = null;
let liveState = "off";

// --- the frame --------------------------------------------------------------------------------------

const icon = (path) => svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));

const brand = () =>
  link("/dashboard", { class: "brand", "aria-label": "QWED, overview" },
    svg("svg", { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true" },
      svg("rect", { width: 32, height: 32, rx: 8 }), svg("path", { class: "mark-line", d: "M16 8.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15M21.4 21.4l3.6 3.6M12.6 16.2l2.4 2.4 4.6-5" })),
    "QWED");

const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

const themeButton = () => {
  const button = el("button", { type: "button", class: "tool", id: "theme" });
  const draw = () => {
    const other = isDark() ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    button.title = `Switch to the ${other} theme`;
    show(button, icon(isDark() ? "M12 7a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5" : "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z"));
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("qwed-theme", root.dataset.theme);
    } catch {
      // It holds for this page then.
    }
    draw();
  });
  draw();
  return button;
};

const liveSign = () => {
  const words = { live: "Live", waiting: "Reconnecting", off: "Off" }[liveState];
  return el("span", { class: `live ${liveState}`, title: "Whether this page hears what happens" }, el("span", { class: "live-dot", "aria-hidden": "true" }), words);
};

const menu = (here) =>
  el("nav", { class: "menu", "aria-label": "Pages" }, PAGES.filter((page) => page.menu && (!page.scope || session.scopes.includes(page.scope))).map((page) =>
    link(page.path, { class: "menu-item", "aria-current": here && (here.path === page.path || here.within === page.path) ? "page" : undefined },
      icon(page.icon), el("span", page.menu), page.counts && waiting ? el("span", { class: "count", title: `${count(waiting)} waiting` }, waiting > 99 ? "99+" : waiting) : null)));

const frame = (here) => {
  const who = session.label || session.key_id;
  show(top,
    el("div", { class: "top-in" }, brand(), session.signed_in ? menu(here) : el("span", { class: "grow" }),
      el("div", { class: "tools" },
        session.signed_in ? liveSign() : null,
        themeButton(),
        session.signed_in ? el("button", { type: "button", class: "tool", "aria-label": "Help and keys", title: "Help (?)", on: { click: help } }, icon("M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5v.5")) : null,
        session.signed_in ? el("div", { class: "who" },
          el("span", { class: "who-name" }, who, el("small", session.is_operator ? "operator" : session.principal_id)),
          el("button", { type: "button", class: "button small", id: "sign-out", on: { click: leave } }, "Sign out")) : null)),
    session.signed_in && session.observes_until ? el("p", { class: "observing", role: "status" }, `Observing: decisions are recorded and stop no action until ${session.observes_until}.`) : null);
};

const leave = async () => {
  live.stop();
  try {
    await signOut();
    // The session at the identity provider ends there; it sends the browser back here.
    if (session.sign_out_url) {
      location.assign(session.sign_out_url);
      return;
    }
  } catch (error) {
    toast(error.message, "denied");
    live.start();
    return;
  }
  await draw();
};

// --- where one is -----------------------------------------------------------------------------------

/** The title says how much waits, so that a tab in the background does, too. */
const name = (title) => {
  document.title = `${waiting ? `(${waiting > 99 ? "99+" : waiting}) ` : ""}${title} · QWED`;
};

const draw = async () => {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  if (!session.signed_in) {
    frame(null);
    document.title = "Sign in · QWED";
    signInPage(main, () => {
      live.start();
      recount();
      draw();
    });
    return;
  }
  const found = find(location.pathname);
  frame(found?.page);
  name(found?.page.title ?? "Nothing here");
  if (found === null) {
    show(main, empty("There is no such page", link("/dashboard", {}, "Go to the overview")));
    return;
  }
  try {
    await found.page.render({ main, signal, parameters: found.parameters, query: new URLSearchParams(location.search), go, live, recount });
  } catch (error) {
    if (!signal.aborted) show(main, failure(error, draw));
  }
};

/** Another address, without loading the page again. */
const go = (path, { replace = false, still = false } = {}) => {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  draw();
  if (still) return;
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
};

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("a[href]");
  if (anchor === null || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  // Of a link within a drawing, `href` is no text.
  const address = new URL(anchor.getAttribute("href"), location.href);
  if (address.origin !== location.origin || !/^\/dashboard(\/|$)/.test(address.pathname)) return;
  event.preventDefault();
  go(address.pathname + address.search);
});
window.addEventListener("popstate", draw);
window.addEventListener("qwed-signed-out", () => {
  if (!session.signed_in) return;
  session.signed_in = false;
  live.stop();
  toast("You have been signed out.", "pending");
  draw();
});

// --- what happens -----------------------------------------------------------------------------------

const drawMenu = () => {
  const old = top.querySelector(".menu");
  if (old !== null) old.replaceWith(menu(find(location.pathname)?.page));
};

const recount = calmly(1500, async () => {
  if (!session.signed_in) return;
  try {
    waiting = num((await get("/overview")).waiting);
    name(document.title.replace(/^\(\d+\+?\) /, "").replace(/ · QWED$/, ""));
    drawMenu();
  } catch {
    // The number in the menu can wait.
  }
});

live.on("approval", recount);
live.on("approval", (event) => tellOfRequest(event?.approval, go));
live.on("again", recount);
live.on("state", (state) => {
  liveState = state;
  top.querySelector(".live")?.replaceWith(liveSign());
});

setInterval(() => {
  for (const node of document.querySelectorAll("[data-ago]")) node.textContent = ago(node.dataset.ago);
  for (const node of document.querySelectorAll("[data-left]")) node.textContent = left(node.dataset.left);
}, 1000);

// --- keys -------------------------------------------------------------------------------------------

const KEYS = [
  ["g then o, i, a, s, p, m", "open overview, inbox, agents, search, policy, manage"],
  ["/", "search"],
  ["j, k", "next or previous in the inbox"],
  ["a", "approve what is open in the inbox (Enter confirms)"],
  ["e", "edit its arguments, then approve"],
  ["d", "deny it"],
  ["t", "light or dark"],
  ["?", "this help"],
  ["Esc", "close a question"],
];

const help = () =>
  ask({
    title: "Keys",
    body: [el("dl", { class: "keys" }, KEYS.map(([key, what]) => [el("dt", el("kbd", key)), el("dd", what)]))],
    confirm: "Close",
    cancel: null,
    attempt: async () => true,
  });

let leader = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !session.signed_in) return;
  // A question that was just closed may keep the focus for a moment: what is typed then is not for it.
  if (event.target.closest("input, textarea, select, dialog") && !event.target.closest("dialog:not([open])")) return;
  if (leader) {
    leader = false;
    const page = PAGES.find((one) => one.key === event.key);
    if (page) {
      event.preventDefault();
      go(page.path);
      return;
    }
  }
  if (event.key === "g") {
    leader = true;
    setTimeout(() => { leader = false; }, 1200);
  } else if (event.key === "?") help();
  else if (event.key === "t") document.getElementById("theme").click();
  else if (event.key === "/") {
    event.preventDefault();
    go("/dashboard/search");
  } else if (event.key.length === 1) {
    // A dialog may open and take the focus at once: the key must not become a letter in it.
    const isTaken = !window.dispatchEvent(new CustomEvent("qwed-key", { detail: event.key, cancelable: true }));
    if (isTaken) event.preventDefault();
  }
});

// --- begin ------------------------------------------------------------------------------------------

try {
  await whoAmI();
  if (session.signed_in) {
    live.start();
    recount();
  }
  await draw();
} catch (error) {
  show(main, failure(error, () => location.reload()));
}
