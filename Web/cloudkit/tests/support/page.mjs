/** The parts of a browser's page that the library uses, as globals of this process. */

/** A storage that notes its changes, as other tabs hear of them. */
function storage() {
    const values = new Map();
    const changes = [];
    const change = (key, newValue) => {
        const oldValue = values.get(key) ?? null;
        if (newValue === null) values.delete(key); else values.set(key, newValue);
        if (newValue !== oldValue) changes.push({ key, oldValue, newValue });
    };
    return {
        changes, getItem: (key) => values.get(key) ?? null, setItem: change, removeItem: (key) => change(key, null),
    };
}

/** A place for a button; `click` does what the button does. */
function element() {
    const place = { buttons: [], replaceChildren: () => { place.buttons = []; }, append: (button) => place.buttons.push(button) };
    place.click = () => place.buttons[0].action();
    return place;
}

/** Opens a page at a URL. `opener` is the window that opened it, and `popups` says whether the browser allows any. */
export function openPage(url, { opener = null, popups = true, sessionStorage = storage() } = {}) {
    const page = { opened: [], assigned: [], isClosed: false, localStorage: storage(), sessionStorage, listeners: {} };
    const places = { "apple-sign-in-button": element(), "apple-sign-out-button": element() };
    page.signIn = places["apple-sign-in-button"];
    page.signOut = places["apple-sign-out-button"];
    const { href, origin, search } = new URL(url);
    const globals = {
        opener, localStorage: page.localStorage, sessionStorage,
        document: {
            getElementById: (id) => places[id],
            createElement: () => ({ dataset: {}, addEventListener(_, action) { this.action = action; } }),
        },
        location: { href, origin, search, assign: (to) => page.assigned.push(new URL(to)) },
        history: { state: null, replaceState: (_, __, to) => { page.url = String(to); } },
        open: (to) => { page.opened.push(new URL(to)); return popups ? { focus() {} } : null; },
        close: () => { page.isClosed = true; },
        addEventListener: (type, listener) => { (page.listeners[type] ??= []).push(listener); },
    };
    for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    /** Tells the page of an event of its window. */
    page.tell = (type, event) => { for (const listener of page.listeners[type] ?? []) listener(event); };
    return page;
}
