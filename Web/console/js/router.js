/// The state of the console is the fragment of its URL: `#/c/<container>/<environment>/<page>?…` and `#/server/<page>?…`.

import { store } from "./store.js";

/// Reads a fragment.
export function parse(fragment) {
    const [path, search = ""] = fragment.replace(/^#\/?/, "").split(/\?(.*)/s);
    const parts = path.split("/").filter(Boolean).map(decode);
    const query = Object.fromEntries(new URLSearchParams(search));
    // Pages show lines for a shell with the container: a link from elsewhere writes none of it.
    if (parts[0] === "c" && parts.length >= 3 && /^iCloud\.[\w.-]+$/.test(parts[1])) {
        return { container: parts[1], environment: parts[2] === "production" ? "production" : "development", path: parts[3] ?? "records",
            rest: parts.slice(4), query };
    }
    return { path: (parts[0] === "server" ? parts[1] : parts[0]) ?? "home", rest: parts.slice(2), query };
}

function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/// The fragment of a page: of the given container or, without one, of the place in which the user is.
export function href(path, query = {}, place) {
    const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "")).toString();
    const { container, environment } = place ?? {};
    const base = container ? `#/c/${encodeURIComponent(container)}/${environment}/${path}` : `#/server/${path}`;
    return search ? `${base}?${search}` : base;
}

/// The fragment of a page of the container in which the user is.
export const here = (path, query) => href(path, query, store.place.get());

export function go(fragment) {
    location.hash = fragment;
}

/// Changes the fragment without a new page, so that a reload and a copied link lead here.
export function replace(fragment) {
    history.replaceState(null, "", fragment);
}
