// Desktop notifications about what waits, for those who ask for them.
import { session } from "./api.js";
import { el } from "./dom.js";
import { summary, visible } from "./format.js";
import { listenInBackground } from "./live.js";
import { toast } from "./parts.js";

const KEPT = "qwed-notify";
const told = new Set();

const isOn = () => {
  try {
    return localStorage.getItem(KEPT) === "on" && Notification.permission === "granted";
  } catch {
    return false;
  }
};

if (typeof Notification !== "undefined" && isOn()) listenInBackground();

const turn = async (button) => {
  const wanted = !isOn();
  const answer = wanted ? await Notification.requestPermission() : "default";
  try {
    localStorage.setItem(KEPT, wanted && answer === "granted" ? "on" : "off");
  } catch {
    // The browser keeps nothing for this page.
  }
  if (isOn()) listenInBackground();
  else if (wanted) toast("The browser does not allow notifications for this page.", "pending");
  label(button);
};

const label = (button) => {
  button.textContent = isOn() ? "Stop notifying me" : "Notify me";
  button.setAttribute("aria-pressed", String(isOn()));
};

export const notifyButton = () => {
  if (typeof Notification === "undefined") return null;
  const button = el("button", { type: "button", class: "button small", title: "A desktop notification for each new request" });
  button.addEventListener("click", () => turn(button));
  label(button);
  return button;
};

/** Only what waits, once, and only where nobody looks at this page. */
export const tellOfRequest = (approval, go) => {
  if (typeof Notification === "undefined" || !session.signed_in || !document.hidden || !isOn()) return;
  if (approval?.status !== "open" || told.has(approval.id)) return;
  told.add(approval.id);
  const note = new Notification(visible(`${approval.action?.type ?? "A request"} waits for you`), {
    body: visible(summary(approval.action)).slice(0, 200), tag: approval.id, icon: "/static/dashboard/icon.svg",
  });
  note.addEventListener("click", () => {
    window.focus();
    note.close();
    go(`/dashboard/inbox/${encodeURIComponent(approval.id)}`);
  });
};
