/// The pages, one line each: in the order of the navigation, by group. `isOfServer`: the page is of the whole server and not of a container.
/// A module's default export is `{ render(view, route) }`; what it returns may have `update(route)`, called instead of another
/// `render` when only the query changes, and `close()`.

export const pages = [
    { path: "home", title: "Home", group: "", icon: "house", keys: "h", isOfServer: true, load: () => import("./pages/home.js") },

    { path: "telemetry", title: "Telemetry", group: "Observe", icon: "activity", keys: "t", load: () => import("./pages/telemetry.js") },
    { path: "logs", title: "Requests", group: "Observe", icon: "list", keys: "l", load: () => import("./pages/logs.js") },
    { path: "request", title: "Request", group: "Observe", icon: "list", isHidden: true, load: () => import("./pages/request.js") },

    { path: "tokens", title: "Tokens and keys", group: "Access", icon: "key-round", keys: "k", load: () => import("./pages/tokens.js") },

    { path: "users", title: "Users", group: "Server", icon: "users", keys: "u", isOfServer: true, load: () => import("./pages/users.js") },
];
