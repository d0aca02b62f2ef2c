/// The pages, one line each: in the order of the navigation, by group. `isOfServer`: the page is of the whole server and not of a container.
/// A module's default export is `{ render(view, route) }`; what it returns may have `update(route)`, called instead of another
/// `render` when only the query changes, and `close()`. A page that `isHidden` shows its `parent` in the navigation. A page that `asks` an
/// endpoint first is for the roles that may.

import { may } from "./store.js";

export const pages = [
    { path: "home", title: "Home", group: "", icon: "house", keys: "h", isOfServer: true, load: () => import("./pages/home.js") },

    { path: "records", title: "Records", group: "Data", icon: "table-2", keys: "r", asks: "POST query/explain",
        load: () => import("./pages/records.js") },
    { path: "zones", title: "Zones", group: "Data", icon: "layers", keys: "z", asks: "POST zones/list", load: () => import("./pages/zones.js") },
    { path: "shares", title: "Shares", group: "Data", icon: "share-2", asks: "POST shares/list", load: () => import("./pages/shares.js") },
    { path: "subscriptions", title: "Subscriptions", group: "Data", icon: "bell", asks: "POST subscriptions/list",
        load: () => import("./pages/subscriptions.js") },

    { path: "schema", title: "Types and indexes", group: "Schema", icon: "boxes", keys: "s", load: () => import("./pages/schema.js") },
    { path: "ckdb", title: "Schema file", group: "Schema", icon: "file-code", load: () => import("./pages/ckdb.js") },
    { path: "deploy", title: "Deploy", group: "Schema", icon: "rocket", keys: "d", asks: "POST schema/deploy",
        load: () => import("./pages/deploy.js") },
    { path: "roles", title: "Roles", group: "Schema", icon: "shield-check", asks: "GET roles", load: () => import("./pages/roles.js") },

    { path: "telemetry", title: "Telemetry", group: "Observe", icon: "activity", keys: "t", load: () => import("./pages/telemetry.js") },
    { path: "logs", title: "Requests", group: "Observe", icon: "list", keys: "l", load: () => import("./pages/logs.js") },
    { path: "request", title: "Request", group: "Observe", icon: "list", isHidden: true, parent: "logs", load: () => import("./pages/request.js") },

    { path: "tokens", title: "Tokens and keys", group: "Container", icon: "key-round", keys: "k", asks: "GET tokens",
        load: () => import("./pages/tokens.js") },
    { path: "webhooks", title: "Webhooks", group: "Container", icon: "webhook", keys: "w", asks: "GET webhooks",
        load: () => import("./pages/webhooks.js") },
    { path: "push", title: "Push", group: "Container", icon: "send", load: () => import("./pages/push.js") },
    { path: "quotas", title: "Quotas and rates", group: "Container", icon: "gauge", keys: "q", asks: "GET usage",
        load: () => import("./pages/quotas.js") },
    { path: "sharing", title: "Container settings", group: "Container", icon: "settings", load: () => import("./pages/sharing.js") },

    { path: "status", title: "Status", group: "Server", icon: "heart-pulse", isOfServer: true, load: () => import("./pages/status.js") },
    { path: "limits", title: "Limits", group: "Server", icon: "hash", isOfServer: true, load: () => import("./pages/limits.js") },
    { path: "users", title: "Users", group: "Server", icon: "users", keys: "u", isOfServer: true, asks: "GET users",
        load: () => import("./pages/users.js") },
    { path: "alerts", title: "Alerts", group: "Server", icon: "triangle-alert", keys: "a", isOfServer: true, load: () => import("./pages/alerts.js") },
    { path: "backups", title: "Backups", group: "Server", icon: "archive", keys: "b", isOfServer: true, load: () => import("./pages/backups.js") },
    { path: "tasks", title: "Tasks and checks", group: "Server", icon: "workflow", isOfServer: true, asks: "GET tasks",
        load: () => import("./pages/tasks.js") },
    { path: "team", title: "Team", group: "Server", icon: "user-plus", isOfServer: true, asks: "GET team", load: () => import("./pages/team.js") },
    { path: "audit", title: "Audit log", group: "Server", icon: "history", isOfServer: true, asks: "GET audit",
        load: () => import("./pages/audit.js") },
    { path: "serverlog", title: "Server log", group: "Server", icon: "scroll-text", isOfServer: true, asks: "GET logs",
        load: () => import("./pages/serverlog.js") },
    { path: "faults", title: "Faults", group: "Server", icon: "zap", isOfServer: true, load: () => import("./pages/faults.js") },
];

/// Whether the session's role sees a page.
export const maySee = (page) => !page.asks || may(page.asks);
