// Values as people read them.

// Characters that are not seen, or that change the order of others: an agent could hide behind them.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|\u{e0000}|[\u{e0001}-\u{e01ef}]/gu;
const named = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

const written = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value));

export const visible = (value) => written(value).replace(HIDDEN, named);

const escaped = (text) => text.replace(HIDDEN, (character) =>
  [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));

/** JSON that can be read, edited and read back without losing anything. */
export const json = (value) => escaped(JSON.stringify(value, null, 2) ?? "null");

/** A number, also where the exact digits were kept beside it. */
export const num = (value) => (value !== null && typeof value === "object" && "rawJSON" in value ? Number(value.rawJSON) : Number(value ?? 0));

const whole = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
export const count = (value) => whole.format(num(value));
export const compact = (value) => (num(value) < 10000 ? whole.format(num(value)) : short.format(num(value)));

export const usd = (value) => {
  const amount = num(value);
  const digits = amount !== 0 && Math.abs(amount) < 1 ? 4 : 2;
  return `$${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
};

export const percent = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");

export const milliseconds = (value) => {
  const time = num(value);
  return time < 1 ? `${time.toFixed(2)} ms` : time < 100 ? `${time.toFixed(1)} ms` : `${Math.round(time)} ms`;
};

// With the zone: the same page is read in several places.
const dayAndTime = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
const timeOnly = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
const hourOnly = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayOnly = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
export const moment = (iso) => dayAndTime.format(new Date(iso));
export const clock = (iso) => {
  const at = new Date(iso);
  return at.toDateString() === new Date().toDateString() ? timeOnly.format(at) : dayAndTime.format(at);
};
export const hour = (iso) => hourOnly.format(new Date(iso));
export const day = (iso) => dayOnly.format(new Date(iso));

const STEPS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const span = (seconds) => {
  const [size, unit] = STEPS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
};
export const ago = (iso) => {
  const seconds = (Date.now() - new Date(iso)) / 1000;
  return seconds < 2 ? "just now" : `${span(seconds)} ago`;
};
export const left = (iso) => {
  const seconds = Math.floor((new Date(iso) - Date.now()) / 1000);
  return seconds <= 0 ? "no time: it has expired" : span(seconds);
};

export const shortId = (id) => (id.length > 22 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id);

/** One line that says what an action would do. */
export const summary = (action) => {
  if (action === null || typeof action !== "object") return "";
  const parts = [action.query, action.code, action.target].filter((part) => typeof part === "string");
  const parameters = action.parameters;
  if (parameters !== null && typeof parameters === "object" && Object.keys(parameters).length) parts.push(JSON.stringify(parameters));
  const text = parts.join("  ·  ");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

export const LEVELS = ["untrusted", "supervised", "autonomous", "trusted"];
export const level = (value) => `${value} · ${LEVELS[value] ?? "unknown"}`;
