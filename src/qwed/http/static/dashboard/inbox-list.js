// The list in the inbox: sorted, filtered, repeats put together, several denied at once.
import { post, segment } from "./api.js";
import { el, link } from "./dom.js";
import { left, summary } from "./format.js";
import { ask, field, riskPill, toast, when } from "./parts.js";

const RISKS = ["low", "medium", "high", "critical"];
const rank = (approval) => RISKS.indexOf(approval.risk_level);
const time = (iso) => new Date(iso).getTime();

export const SORTS = {
  newest: ["Newest first", (one, other) => time(other.created_at) - time(one.created_at)],
  expires: ["Expires first", (one, other) => time(one.expires_at) - time(other.expires_at)],
  risk: ["Highest risk first", (one, other) => rank(other) - rank(one) || time(one.expires_at) - time(other.expires_at)],
  agent: ["By agent", (one, other) => one.agent_id.localeCompare(other.agent_id) || time(other.created_at) - time(one.created_at)],
};

const KEPT = "qwed-inbox";
export const readView = () => {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    return { sort: Object.hasOwn(SORTS, kept.sort) ? kept.sort : "newest", text: "", grouped: kept.grouped !== false };
  } catch {
    return { sort: "newest", text: "", grouped: true };
  }
};
export const keepView = ({ sort, grouped }) => {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ sort, grouped }));
  } catch {
    // It holds for this page then.
  }
};

const words = (approval, names) => `${approval.action?.type} ${summary(approval.action)} ${names[approval.agent_id] ?? approval.agent_id} ${approval.risk_level}`.toLowerCase();

/** The requests to show, as groups: the same action of the same agent is one group. */
export const arrange = (listed, names, view) => {
  const wanted = view.text.trim().toLowerCase();
  const found = listed.filter((approval) => words(approval, names).includes(wanted)).sort(SORTS[view.sort][1]);
  if (!view.grouped) return found.map((approval) => [approval]);
  const groups = new Map();
  for (const approval of found) {
    const key = `${approval.agent_id} ${approval.action_hash}`;
    groups.set(key, [...(groups.get(key) ?? []), approval]);
  }
  return [...groups.values()];
};

export const toolbar = (view, redraw) => {
  const text = el("input", { type: "search", "aria-label": "Filter this list", placeholder: "Filter", value: view.text, autocomplete: "off" });
  text.addEventListener("input", () => redraw({ ...view, text: text.value }));
  const sort = el("select", { "aria-label": "Sort by" }, Object.entries(SORTS).map(([value, [label]]) => el("option", { value, selected: value === view.sort }, label)));
  sort.addEventListener("change", () => redraw({ ...view, sort: sort.value }));
  const grouped = el("input", { type: "checkbox", checked: view.grouped });
  grouped.addEventListener("change", () => redraw({ ...view, grouped: grouped.checked }));
  return el("div", { class: "mail-tools" }, text, sort, el("label", { class: "check-label" }, grouped, "Group repeats"));
};

export const groupItem = (group, names, chosen, tab) => {
  const [first] = group;
  const here = group.some((approval) => approval.id === chosen);
  const shown = here ? group.find((approval) => approval.id === chosen) : first;
  return el("li", link(`/dashboard/inbox/${segment(shown.id)}${tab === "open" ? "" : `?status=${tab}`}`, { class: "mail", "aria-current": here ? "true" : undefined, "data-id": shown.id },
    el("span", { class: "mail-top" }, el("strong", first.action?.type ?? "?", group.length > 1 ? el("span", { class: "times" }, `× ${group.length}`) : null), riskPill(first.risk_level)),
    el("span", { class: "mail-what" }, summary(first.action)),
    el("span", { class: "mail-who dim" }, names[first.agent_id] ?? first.agent_id, " · ",
      first.status === "open" ? ["expires in ", el("span", { "data-left": first.expires_at }, left(first.expires_at))] : when(first.created_at))));
};

/** Resolves with true once at least one was denied. */
export const denyAll = (approvals) => {
  const said = el("textarea", { name: "note", rows: "2", maxlength: "2000", required: true, placeholder: "Why: kept in the record of each", "data-first": true });
  const counts = new Map();
  for (const approval of approvals) counts.set(approval.action?.type, (counts.get(approval.action?.type) ?? 0) + 1);
  return ask({
    title: `Deny ${approvals.length} requests?`,
    body: [el("ul", [...counts].map(([type, number]) => el("li", `${number} × `, el("code", type)))), field("Note", said)],
    confirm: `Deny all ${approvals.length}`,
    kind: "bad",
    attempt: async () => {
      let denied = 0;
      for (const approval of approvals) {
        try {
          await post(`/approvals/${segment(approval.id)}/deny`, { note: said.value });
          denied += 1;
        } catch (error) {
          // Somebody else may have answered it meanwhile: the others are still to be denied.
          if (error.status === 0 || error.status >= 500) throw new Error(`${denied} denied, then: ${error.message}`);
        }
      }
      toast(`${denied} of ${approvals.length} denied.`, "denied");
      return true;
    },
  });
};
