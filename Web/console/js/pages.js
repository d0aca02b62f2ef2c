/// The pages, one line each: in the order of the navigation, by group. `isOfServer`: the page is of the whole server and not of a container.
/// A module's default export is `{ render(view, route) }`; what it returns may have `update(route)`, called instead of another
/// `render` when only the query changes, and `close()`.

export const pages = [
    { path: "home", title: "Home", group: "", icon: "house", keys: "h", isOfServer: true, load: () => import("./pages/home.js") },
];
