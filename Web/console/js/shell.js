/// The frame around the pages: sign-in, navigation, place, palette, dialogs, toasts and keys.

import { api, session } from "./api.js";
import { h, icon, put, uniqueID } from "./dom.js";
import { maySee, pages } from "./pages.js";
import { create, invited, signIn } from "./passkey.js";
import { go, here, href, parse } from "./router.js";
import { may, store } from "./store.js";
import { announce, button, code, copy, empty, field, iconButton, faultReport, linkButton, passes, problem, skeleton, textInput, worded } from "./ui.js";

// MARK: Dialogs

/// Opens a dialog. `content(close)` makes what is in it. Returns what `close` was called with; Escape answers undefined.
export function dialog(title, content, { className = "" } = {}) {
    return new Promise((resolve) => {
        let answer;
        const titleID = uniqueID("title");
        const close = (value) => {
            answer = value;
            element.close();
        };
        const element = h("dialog", { class: className, "aria-labelledby": titleID, onclose: () => { element.remove(); resolve(answer); } },
            h("div", { class: "dialog-head" }, h("h2", { id: titleID }, title), iconButton("x", "Close", () => close())), content(close));
        document.body.append(element);
        element.showModal();
        element.querySelector("[autofocus]")?.focus();
    });
}

/// Asks before something that cannot be taken back. `typed` is a text that must be typed first. Returns whether to do it.
export async function ask({ title, text, confirm = "Continue", isDanger = false, typed, details }) {
    return (await dialog(title, (close) => {
        const go = button(confirm, undefined, { kind: isDanger ? "danger" : "main", type: "submit" });
        const input = typed && textInput({ autofocus: true,
            oninput: () => { go.disabled = input.value !== typed; } });
        go.disabled = Boolean(typed);
        return h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); if (!go.disabled) close(true); } },
            text && h("p", {}, text), details, typed && field(`Type ${typed} to confirm`, input),
            h("div", { class: "actions end" }, button("Cancel", () => close(false), { autofocus: typed ? undefined : true }), go));
    })) === true;
}

/// Asks before something destructive in the present place: in production by typing the container's name.
export function askToDestroy({ title, text, confirm, details }) {
    const { container, environment } = store.place.get();
    return ask({ title, text, confirm, details, isDanger: true, typed: environment === "production" ? container : undefined });
}

/// Says something for a few seconds; `action` is `{ title, run }`.
export function toast(text, { tone = "", action, seconds = action ? 10 : 4 } = {}) {
    const element = h("div", { class: `toast ${tone}`, role: tone === "bad" ? "alert" : "status" }, h("span", {}, text),
        action && button(action.title, () => { element.remove(); action.run(); }, { kind: "quiet" }),
            iconButton("x", "Dismiss", () => element.remove()));
    const toasts = document.getElementById("toasts");
    // The same words again take the place of those before.
    for (const one of toasts?.children ?? []) if (one.firstChild.textContent === text && !action) one.remove();
    toasts?.append(element);
    setTimeout(() => element.remove(), seconds * 1000);
}

/// Does something, and says `done` or what the server refused. Returns whether it was done.
export async function attempt(run, done) {
    try {
        await run();
    } catch (error) {
        toastError(error);
        return false;
    }
    if (done) toast(done, { tone: "good" });
    return true;
}

/// A toast with what the server refused.
export function toastError(told) {
    if (told.name === "AbortError") return;
    const { reason, remedy, fault } = worded(told);
    toast([reason, remedy].filter(Boolean).join(" "), { tone: "bad", seconds: 10, action: fault && { title: "Copy report", run: () => copy(faultReport(fault)) } });
}

// MARK: Palette and sheet

/// Commands beyond pages and containers, which a page adds while it is shown: `[{ title, hint, asks, run }]`, with `asks` as that of a button.
export const commands = { ofPage: [] };

function palette() {
    const place = store.place.get();
    const list = [
        ...pages.filter((page) => !page.isHidden && maySee(page)).map((page) => ({ title: page.title, hint: page.group || "Go to", symbol: page.icon,
            run: () => go(page.isOfServer ? href(page.path) : here(page.path)) })),
        ...store.containers.get().flatMap(({ name }) => ["development", "production"].map((environment) => (
            { title: name, hint: environment, symbol: "box", run: () => go(href(placePage(), {}, { container: name, environment })) }))),
        ...commands.ofPage.filter((one) => !one.asks || may(one.asks)),
        ...["system", "light", "dark"].map((theme) => ({ title: `Theme: ${theme}`, hint: "Appearance", symbol: "sun",
            run: () => store.theme.set(theme) })),
        { title: store.isUTC.get() ? "Times in local time" : "Times in UTC", hint: "Appearance", symbol: "clock",
            run: () => { store.isUTC.set(!store.isUTC.get()); show(); } },
        { title: "Copy link to this page", hint: "Share", symbol: "link", run: () => copy(location.href) },
        { title: "Keyboard", hint: "Help", symbol: "keyboard", run: sheet },
        { title: "Sign out", hint: place.container, symbol: "log-out", run: signOut },
    ];
    dialog("Go to", (close) => {
        let found = list;
        let at = 0;
        const listID = uniqueID("list");
        const options = h("ul", { role: "listbox", id: listID, "aria-label": "Commands" });
        const input = h("input", {
            type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": listID, "aria-label": "Page, container or command",
                placeholder: "Page, container or command",
            autocomplete: "off", spellcheck: "false", autofocus: true, oninput: () => { at = 0; draw(); },
            onkeydown: (event) => {
                const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
                if (step && found.length) {
                    event.preventDefault();
                    at = (at + step + found.length) % found.length;
                    draw();
                } else if (event.key === "Enter" && found[at]) {
                    event.preventDefault();
                    run(found[at]);
                }
            },
        });
        function run(command) {
            close();
            command.run();
        }
        function draw() {
            found = list.filter((one) => passes(input.value, `${one.title} ${one.hint}`)).slice(0, 40);
            put(options, found.map((one, index) => h("li", { role: "option", id: `${listID}-${index}`,
                "aria-selected": String(index === at), onclick: () => run(one) },
                icon(one.symbol), h("span", {}, one.title), h("span", { class: "faint" }, one.hint))));
            input.setAttribute("aria-activedescendant", found[at] ? `${listID}-${at}` : "");
            options.children[at]?.scrollIntoView({ block: "nearest" });
        }
        draw();
        return [input, options];
    }, { className: "palette" });
}

function sheet() {
    const rows = [["Ctrl K", "Go to any page, container or command"], ["/", "Filter"], ["j  k  ↓ ↑", "Next and previous row"],
        ["Enter", "Open"], ["x", "Select the row"],
        ["e", "Edit"], ["Esc", "Close"], ["?", "This sheet"], ...pages.filter((page) => page.keys && maySee(page)).map((page) => [`g ${page.keys}`, page.title])];
    dialog("Keyboard", () => h("dl", { class: "keys" }, rows.map(([keys, text]) => h("div", {},
        h("dt", {}, keys.split(" ").filter(Boolean).map((key) => h("kbd", {}, key))), h("dd", {}, text)))));
}

let isAfterG = false;
/// The key after g, before the page sees it: in a list, k is the row above.
function onKeyAfterG(event) {
    const page = isAfterG && !event.ctrlKey && !event.metaKey && !event.altKey && pages.find((one) => one.keys === event.key && maySee(one));
    isAfterG = false;
    if (!page || !store.session.get()) return;
    event.preventDefault();
    event.stopPropagation();
    go(page.isOfServer ? href(page.path) : here(page.path));
}

function onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        if (store.session.get() && !document.querySelector("dialog[open]")) palette();
        return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")
        || !store.session.get()) return;
    if (event.target.closest("input, textarea, select, [contenteditable]") && event.target.type !== "checkbox") return;
    if (event.key === "g") {
        isAfterG = true;
        setTimeout(() => { isAfterG = false; }, 1500);
    } else if (event.key === "?") sheet();
    else if (event.key === "/") {
        const filter = document.querySelector("main [data-filter]");
        if (filter) {
            event.preventDefault();
            filter.focus();
        }
    }
}

// MARK: Frame

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Pages" });
const bar = h("div", { class: "bar" });
const frame = h("div", { class: "frame" });

/// The person who is signed in, and the role.
function who() {
    const { name, role } = store.session.get();
    return [name, role].filter(Boolean).join(", ");
}

const mark = () => h("img", { src: "favicon.svg", alt: "", width: "22", height: "22" });

function drawFrame() {
    put(frame,
        h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } }, "Skip to content"),
        h("header", { class: "top" },
            h("a", { class: "brand", href: href("home") }, mark(), h("span", {}, "Nacre")),
            h("button", { type: "button", class: "icon-button menu", "aria-label": "Pages", "aria-expanded": "false",
                "aria-controls": "side", onclick: (event) => openMenu(event.currentTarget.getAttribute("aria-expanded") !== "true") }, icon("menu")),
            bar,
            h("button", { type: "button", class: "find", "aria-label": "Go to", onclick: palette }, icon("search"), h("span", {}, "Go to"),
                h("kbd", {}, "Ctrl K")),
            iconButton("keyboard", "Keyboard", sheet, { class: "icon-button wide-only" }),
            iconButton("sun", "Theme", nextTheme),
            iconButton("log-out", "Sign out", signOut, { title: `Sign out: you are signed in as ${who()}` })),
        h("aside", { class: "side", id: "side" }, nav, h("footer", {}, h("p", { id: "version" }), h("p", {}, "Not affiliated with Apple."))),
        main);
    document.body.replaceChildren(frame, h("div", { id: "toasts" }), h("div", { id: "announcer", class: "sr", "aria-live": "polite" }));
}

function openMenu(isOpen) {
    frame.classList.toggle("menu-open", isOpen);
    frame.querySelector(".menu")?.setAttribute("aria-expanded", String(isOpen));
}

function nextTheme() {
    const order = ["system", "light", "dark"];
    store.theme.set(order[(order.indexOf(store.theme.get()) + 1) % order.length]);
    announce(`Theme: ${store.theme.get()}`);
    toast(`Theme: ${store.theme.get()}`, { seconds: 1.5 });
}

/// The page of the place switcher: the present one if it is of a container.
function placePage() {
    const route = parse(location.hash);
    return route.container ? route.path : firstPage();
}

/// The page of a container that the session's role sees first.
export const firstPage = () => pages.find((page) => !page.isOfServer && maySee(page)).path;

/// Drawn anew only when what it shows has changed, so that the switcher keeps the focus.
let drawnBar = "";
function drawBar() {
    const { container, environment } = store.place.get();
    const containers = store.containers.get();
    const version = JSON.stringify([container, environment, containers, placePage()]);
    if (version === drawnBar) return;
    drawnBar = version;
    document.documentElement.dataset.environment = container ? environment : "";
    const names = containers.map((one) => one.name);
    if (container && !names.includes(container)) names.unshift(container);
    put(bar, container && [
        h("label", { class: "switch" }, h("span", { class: "sr" }, "Container"), icon("box"),
            h("select", { value: container, onchange: (event) => go(href(placePage(), {}, { container: event.target.value, environment })) },
                names.map((name) => h("option", { value: name }, name)))),
        h("div", { class: "environments", role: "group", "aria-label": "Environment" }, ["development", "production"].map((one) => h("a", {
            href: href(placePage(), {}, { container, environment: one }), class: one, "aria-current": one === environment ? "true" : undefined,
            "aria-label": one === "production" ? "Production" : "Development",
        }, one === "production" ? ["Prod", h("span", {}, "uction")] : ["Dev", h("span", {}, "elopment")]))),
    ]);
}

function drawNavigation(current) {
    const marked = pages.find((page) => page.path === current)?.parent ?? current;
    const seen = pages.filter((page) => !page.isHidden && maySee(page));
    put(nav, [...new Set(seen.map((page) => page.group))].map((group) => [
        group && h("h2", {}, group),
        h("ul", {}, seen.filter((page) => page.group === group).map((page) => h("li", {}, h("a", {
            href: page.isOfServer ? href(page.path) : here(page.path), "aria-current": page.path === marked ? "page" : undefined,
                title: page.keys ? `g ${page.keys}` : undefined,
        }, icon(page.icon), page.title)))),
    ]));
    put(document.getElementById("version"), store.server.get() ? `Nacre ${store.server.get().version}` : "");
}

// MARK: Routes

let shown = null;

/// Shows the page of the URL's fragment.
async function show(isUpdate = false) {
    if (!store.session.get()) return;
    const route = parse(location.hash);
    const page = pages.find((one) => one.path === route.path);
    const place = store.place.get();
    if (page && !page.isOfServer && !route.container) {
        // A page of a container without one in the URL is that of the place in which the user is.
        location.replace(place.container ? href(route.path, route.query, place) : href("home"));
        if (!place.container) toast(`The page ${page.title} shows one container: make one first.`);
        return;
    }
    if (route.container) store.place.set({ container: route.container, environment: route.environment });
    const identity = JSON.stringify([route.path, route.container, route.environment, route.rest]);
    if (isUpdate && shown?.identity === identity && shown.page?.update) {
        shown.page.update(enrich(route, shown.controller));
        return;
    }
    shown?.controller.abort();
    shown?.page?.close?.();
    commands.ofPage = [];
    const isFirst = shown === null;
    const controller = new AbortController();
    shown = { identity, controller, page: null };
    openMenu(false);
    drawBar();
    drawNavigation(route.path);
    const title = page?.title ?? "No such page";
    document.title = [title, route.container, route.environment === "production" && "Production", "Nacre"].filter(Boolean).join(" · ");
    const view = h("div", { class: "view" }, skeleton());
    put(main, view);
    if (!isFirst) main.scrollTop = 0;
    if (!page) {
        put(view, h("div", { class: "empty" }, h("h1", { tabindex: "-1" }, "No such page"), h("p", {}, location.hash),
            h("a", { class: "button", href: href("home") }, "Home")));
        return;
    }
    if (!maySee(page)) {
        const { role } = store.session.get();
        put(view, h("h1", { class: "sr", tabindex: "-1" }, title), empty(`The page ${title} is not for your role`,
            `You are signed in as ${role}. An owner of the console gives you a higher role, on the page Team or by:`,
            [["Shell", "nacre team role NAME --role developer"]], [linkButton("Home", href("home"))]));
        return;
    }
    try {
        put(view);
        const made = await page.module.render(view, enrich(route, controller));
        if (controller.signal.aborted) made?.close?.();
        else shown.page = made ?? null;
    } catch (error) {
        if (error.name === "AbortError" || controller.signal.aborted) return;
        put(view, h("h1", { class: "sr", tabindex: "-1" }, title), problem(error));
        if (!error.code) console.error(error);
    }
    if (!isFirst && !controller.signal.aborted && !main.contains(document.activeElement)) view.querySelector("h1")?.focus({ preventScroll: true });
}

/// What a page gets: the parts of its URL, an AbortSignal that ends with it, and ways to another state of it.
function enrich(route, controller) {
    const place = route.container ? { container: route.container, environment: route.environment } : undefined;
    const path = [route.path, ...route.rest.map(encodeURIComponent)].join("/");
    return {
        ...route, place, signal: controller.signal, isProduction: route.environment === "production",
        /// Another query in the history, and the page shows it.
        go: (query) => go(href(path, query, place)),
        /// Another query in the URL, and nothing else: for what the page shows already.
        replace: (query) => history.replaceState(null, "", href(path, query, place)),
        reload: () => show(),
    };
}

/// Shows the present page anew.
export const reload = () => show();

export async function readContainers() {
    const { list } = await api.all("containers", {}, "containers");
    store.containers.set(list);
    const { container, environment } = store.place.get();
    if (!list.some(({ name }) => name === container)) store.place.set({ container: list[0]?.name ?? "", environment });
    drawBar();
    return list;
}

// MARK: Sign-in

function signInPage(error) {
    shown?.controller.abort();
    shown = null;
    drawnBar = "";
    document.title = "Sign in · Nacre";
    document.documentElement.dataset.environment = "";
    signInCard(error && problem(error),
        named() ? linkButton("Sign in with a passkey", named(), { kind: "main", symbol: "key-round" })
            : "PublicKeyCredential" in window && passkeyButton("Sign in with a passkey", signIn),
        h("p", {}, "Or open the console by a link that is good once, for half an hour. Where the server runs, this prints one:"),
        code("nacre console"), h("p", { class: "faint" }, "The link signs this browser in, and no other."));
}

/// This page at the name of the machine, if it is open at the machine's address, for which browsers keep no passkeys.
function named() {
    if (!["127.0.0.1", "[::1]"].includes(location.hostname)) return undefined;
    return Object.assign(new URL(location.href), { hostname: "localhost" }).href;
}

function signInCard(...children) {
    document.body.replaceChildren(h("main", { class: "sign-in" }, h("div", { class: "sign-in-card" }, h("img", { src: "favicon.svg",
        alt: "", width: "44", height: "44" }), h("h1", {}, "Nacre console"), children)));
}

/// A button that begins a session by a passkey.
function passkeyButton(title, begin) {
    const fault = h("div", {});
    const go = button(title, async () => {
        go.disabled = true;
        try {
            enter(await begin());
            await start();
        } catch (error) {
            put(fault, problem(error));
        }
        go.disabled = false;
    }, { kind: "main", symbol: "key-round" });
    return [go, fault];
}

/// The page on which a person who was invited to the team makes a passkey.
async function invitationPage(token) {
    document.title = "Invitation · Nacre";
    try {
        const { member } = await invited(token);
        signInCard(h("p", {}, "You are invited as ", h("strong", {}, member.name), `, in the role ${member.role}.`),
            h("p", {}, "A passkey signs you in from now on, by a finger, a face or a PIN of your device."),
            passkeyButton("Make a passkey", async () => {
                const begun = await create(token);
                leaveLink();
                return begun;
            }));
    } catch (error) {
        signInPage(error);
    }
}

function enter({ key, ...begun }) {
    store.back.set("");
    store.key.set(key);
    store.session.set(begun);
}

/// Takes a link out of the address, which is then the one at which the last session ended.
function leaveLink() {
    history.replaceState(null, "", location.pathname + (store.back.get() || href("home")));
}

async function signOut() {
    await api.post("console/sign-out").catch(() => {});
    store.key.set("");
    store.session.set(null);
    signInPage();
}

async function start() {
    applyTheme(store.theme.get());
    store.theme.subscribe(applyTheme);
    const link = /^#signin=([^&]+)/.exec(location.hash);
    const invitation = /^#invitation=([^&]+)/.exec(location.hash);
    if (invitation && named()) {
        location.replace(named());
        return;
    }
    if (invitation) {
        await invitationPage(decodeURIComponent(invitation[1]));
        return;
    }
    let asked;
    const ask = () => {
        asked = Promise.all([api.get("server"), readContainers()]);
        asked.catch(() => {});
    };
    try {
        if (link) {
            leaveLink();
            enter(await api.post("console/sign-in", { token: decodeURIComponent(link[1]) }));
            ask();
        } else {
            ask();
            store.session.set(await api.get("console/session"));
        }
    } catch (error) {
        signInPage(link || error.status !== 401 ? error : undefined);
        return;
    }
    drawFrame();
    try {
        store.server.set((await asked)[0]);
    } catch (error) {
        if (store.session.get()) put(main, problem(error));
        return;
    }
    if (!location.hash || location.hash === "#/") history.replaceState(null, "", href("home"));
    await show();
}

function applyTheme(theme) {
    document.documentElement.dataset.theme = theme;
}

session.onEnd = (reason = "The session has ended.") => {
    if (!store.session.get()) return;
    store.session.set(null);
    store.back.set(location.hash);
    signInPage({ reason, remedy: "Sign in again: this page comes back." });
};

/// Another tab has signed in or out: its session is that of all tabs, which have one cookie.
async function follow() {
    if (!store.key.get()) return session.onEnd("Another tab has signed out.");
    const before = store.session.get();
    const now = await api.get("console/session").catch(() => null);
    if (!now) return undefined;
    // What is being written here stays, unless another person or role has signed in.
    if (before?.name === now.name && before?.role === now.role) return store.session.set(now);
    return start();
}

/// A fault of the console itself, with something to hand on.
function report(error) {
    if (error?.name === "AbortError") return;
    toastError(error?.reason ? error : { stack: error?.stack ?? String(error) });
}

addEventListener("error", (event) => report(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => report(event.reason));
addEventListener("hashchange", () => {
    // A dialog is about the page that it was opened on.
    for (const one of document.querySelectorAll("dialog[open]")) one.close();
    if (/^#(signin|invitation)=/.test(location.hash)) start();
    else show(true);
});
store.key.follow(follow);
addEventListener("keydown", onKeyAfterG, true);
addEventListener("keydown", onKey);
start();
