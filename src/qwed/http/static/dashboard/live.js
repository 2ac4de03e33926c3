// What happens, as it happens. One stream for the page; it rests while nobody looks, unless a person wants to be told.
import { parse } from "./api.js";

const target = new EventTarget();
let source = null;
let retry = 1000;
let timer = null;
let wanted = false;
let alwaysOn = false;

const TYPES = ["decision", "approval", "trust", "lost"];

const tell = (type, detail) => target.dispatchEvent(new CustomEvent(type, { detail }));

const close = () => {
  clearTimeout(timer);
  timer = null;
  source?.close();
  source = null;
};

const open = () => {
  if (source !== null || !wanted || (document.hidden && !alwaysOn)) return;
  source = new EventSource("/events");
  source.addEventListener("open", () => {
    retry = 1000;
    tell("state", "live");
    // Whatever happened while nothing was heard.
    tell("again", null);
  });
  source.addEventListener("error", () => {
    tell("state", "waiting");
    if (source?.readyState === EventSource.CLOSED) {
      close();
      timer = setTimeout(open, retry);
      retry = Math.min(retry * 2, 30000);
    }
  });
  for (const type of TYPES) {
    source.addEventListener(type, (event) => {
      let detail = null;
      try {
        detail = parse(event.data);
      } catch {
        return;
      }
      tell(type === "lost" ? "again" : type, detail);
    });
  }
};

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) open();
  else if (!alwaysOn) close();
});
// A stream left open would keep the browser from keeping the page ready for the way back.
window.addEventListener("pagehide", close);

export const start = () => {
  wanted = true;
  open();
};
/** Who wants desktop notifications wants them from a tab in the background. */
export const listenInBackground = () => {
  alwaysOn = true;
};
export const stop = () => {
  wanted = false;
  close();
  tell("state", "off");
};

/** `handler(detail)` for `decision`, `approval`, `trust`, `state` and `again` (look anew), until `signal` ends. */
export const on = (type, handler, signal) =>
  target.addEventListener(type, (event) => handler(event.detail), { signal });
