// Every page of the dashboard. A new one is a module and a row here.
import { agentPage } from "./agent.js";
import { agentsPage } from "./agents.js";
import { decisionPage } from "./decision.js";
import { inboxPage } from "./inbox.js";
import { budgetsPage, keysPage, passkeysPage, teamsPage, webhooksPage } from "./manage.js";
import { overviewPage } from "./overview.js";
import { policyPage } from "./policy.js";
import { provenancePage, provenanceStart } from "./provenance.js";
import { searchPage } from "./search.js";

/** `path` segments in braces become parameters; `menu` puts a page into the navigation, `key` after `g` opens it, `scope` says who sees it. */
export const PAGES = [
  { path: "/dashboard", title: "Overview", menu: "Overview", key: "o", icon: "M3 12h4v8H3zM10 4h4v16h-4zM17 9h4v11h-4z", render: overviewPage },
  { path: "/dashboard/inbox", title: "Inbox", menu: "Inbox", key: "i", counts: true, icon: "M3 5h18v14H3zM3 13h5l2 3h4l2-3h5", render: inboxPage },
  { path: "/dashboard/inbox/{id}", title: "Inbox", within: "/dashboard/inbox", render: inboxPage },
  { path: "/dashboard/agents", title: "Agents", menu: "Agents", key: "a", icon: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4 20c1-4 4-6 8-6s7 2 8 6", render: agentsPage },
  { path: "/dashboard/agents/{id}", title: "Agent", within: "/dashboard/agents", render: agentPage },
  { path: "/dashboard/decisions/{id}", title: "Decision", within: "/dashboard/search", render: decisionPage },
  { path: "/dashboard/provenance", title: "Provenance", within: "/dashboard/search", render: provenanceStart },
  { path: "/dashboard/provenance/{id}", title: "Provenance", within: "/dashboard/search", render: provenancePage },
  { path: "/dashboard/search", title: "Search", menu: "Search", key: "s", icon: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l5 5", render: searchPage },
  { path: "/dashboard/policy", title: "Policy", menu: "Policy", key: "p", scope: "policy", icon: "M6 3h9l4 4v14H6zM9 11h7M9 15h7M9 7h3", render: policyPage },
  { path: "/dashboard/budgets", title: "Budgets", menu: "Manage", key: "m", icon: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4v6M8 14v6", render: budgetsPage },
  { path: "/dashboard/keys", title: "Keys", within: "/dashboard/budgets", render: keysPage },
  { path: "/dashboard/teams", title: "Teams", within: "/dashboard/budgets", render: teamsPage },
  { path: "/dashboard/webhooks", title: "Webhooks", within: "/dashboard/budgets", render: webhooksPage },
  { path: "/dashboard/passkeys", title: "Passkeys", within: "/dashboard/budgets", render: passkeysPage },
];

export const find = (pathname) => {
  const asked = pathname.replace(/\/+$/, "").split("/");
  for (const page of PAGES) {
    const pattern = page.path.split("/");
    if (pattern.length !== asked.length) continue;
    const parameters = {};
    const matches = pattern.every((part, at) => {
      if (!part.startsWith("{")) return part === asked[at];
      try {
        parameters[part.slice(1, -1)] = decodeURIComponent(asked[at]);
      } catch {
        return false;
      }
      return asked[at] !== "";
    });
    if (matches) return { page, parameters };
  }
  return null;
};
