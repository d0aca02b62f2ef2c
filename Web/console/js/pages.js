/// The pages, one line each: in the order of the navigation, by group. `isOfServer`: the page is of the whole server and not of a container.
/// A `module`'s default export is `{ render(view, route) }`; what it returns may have `update(route)`, called instead of another
/// `render` when only the query changes, and `close()`. A page that `isHidden` shows its `parent` in the navigation. A page that `asks` an
/// endpoint first is for the roles that may.

import home from "./pages/home.js";
import records from "./pages/records.js";
import zones from "./pages/zones.js";
import shares from "./pages/shares.js";
import subscriptions from "./pages/subscriptions.js";
import schema from "./pages/schema.js";
import ckdb from "./pages/ckdb.js";
import deploy from "./pages/deploy.js";
import roles from "./pages/roles.js";
import telemetry from "./pages/telemetry.js";
import logs from "./pages/logs.js";
import request from "./pages/request.js";
import tokens from "./pages/tokens.js";
import webhooks from "./pages/webhooks.js";
import push from "./pages/push.js";
import quotas from "./pages/quotas.js";
import sharing from "./pages/sharing.js";
import status from "./pages/status.js";
import limits from "./pages/limits.js";
import users from "./pages/users.js";
import alerts from "./pages/alerts.js";
import backups from "./pages/backups.js";
import tasks from "./pages/tasks.js";
import team from "./pages/team.js";
import audit from "./pages/audit.js";
import serverlog from "./pages/serverlog.js";
import faults from "./pages/faults.js";
import { may } from "./store.js";

export const pages = [
    { path: "home", title: "Home", group: "", icon: "house", keys: "h", isOfServer: true, module: home },

    { path: "records", title: "Records", group: "Data", icon: "table-2", keys: "r", asks: "POST query/explain", module: records },
    { path: "zones", title: "Zones", group: "Data", icon: "layers", keys: "z", asks: "POST zones/list", module: zones },
    { path: "shares", title: "Shares", group: "Data", icon: "share-2", asks: "POST shares/list", module: shares },
    { path: "subscriptions", title: "Subscriptions", group: "Data", icon: "bell", asks: "POST subscriptions/list", module: subscriptions },

    { path: "schema", title: "Types and indexes", group: "Schema", icon: "boxes", keys: "s", module: schema },
    { path: "ckdb", title: "Schema file", group: "Schema", icon: "file-code", module: ckdb },
    { path: "deploy", title: "Deploy", group: "Schema", icon: "rocket", keys: "d", asks: "POST schema/deploy", module: deploy },
    { path: "roles", title: "Roles", group: "Schema", icon: "shield-check", asks: "GET roles", module: roles },

    { path: "telemetry", title: "Telemetry", group: "Observe", icon: "activity", keys: "t", module: telemetry },
    { path: "logs", title: "Requests", group: "Observe", icon: "list", keys: "l", module: logs },
    { path: "request", title: "Request", group: "Observe", icon: "list", isHidden: true, parent: "logs", module: request },

    { path: "tokens", title: "Tokens and keys", group: "Container", icon: "key-round", keys: "k", asks: "GET tokens", module: tokens },
    { path: "webhooks", title: "Webhooks", group: "Container", icon: "webhook", keys: "w", asks: "GET webhooks", module: webhooks },
    { path: "push", title: "Push", group: "Container", icon: "send", module: push },
    { path: "quotas", title: "Quotas and rates", group: "Container", icon: "gauge", keys: "q", asks: "GET usage", module: quotas },
    { path: "sharing", title: "Container settings", group: "Container", icon: "settings", module: sharing },

    { path: "status", title: "Status", group: "Server", icon: "heart-pulse", isOfServer: true, module: status },
    { path: "limits", title: "Limits", group: "Server", icon: "hash", isOfServer: true, module: limits },
    { path: "users", title: "Users", group: "Server", icon: "users", keys: "u", isOfServer: true, asks: "GET users", module: users },
    { path: "alerts", title: "Alerts", group: "Server", icon: "triangle-alert", keys: "a", isOfServer: true, module: alerts },
    { path: "backups", title: "Backups", group: "Server", icon: "archive", keys: "b", isOfServer: true, module: backups },
    { path: "tasks", title: "Tasks and checks", group: "Server", icon: "workflow", isOfServer: true, asks: "GET tasks", module: tasks },
    { path: "team", title: "Team", group: "Server", icon: "user-plus", isOfServer: true, asks: "GET team", module: team },
    { path: "audit", title: "Audit log", group: "Server", icon: "history", isOfServer: true, asks: "GET audit", module: audit },
    { path: "serverlog", title: "Server log", group: "Server", icon: "scroll-text", isOfServer: true, asks: "GET logs", module: serverlog },
    { path: "faults", title: "Faults", group: "Server", icon: "zap", isOfServer: true, module: faults },
];

/// Whether the session's role sees a page.
export const maySee = (page) => !page.asks || may(page.asks);
