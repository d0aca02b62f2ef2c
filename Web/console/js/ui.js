/// Parts of pages: tables, fields, texts to copy, times.

import { h, icon, put, uniqueID } from "./dom.js";
import { may, store } from "./store.js";

// MARK: Texts

/// A button; `kind` is "main", "danger" or "quiet". One that `asks` an endpoint, such as "POST tokens", is hidden from roles that may not.
export function button(text, onclick, { kind = "", symbol, type = "button", asks, ...props } = {}) {
    return h("button", { type, class: `button ${kind}`, onclick, hidden: asks && !may(asks), ...props }, symbol && icon(symbol), h("span", {}, text));
}

/// A button that is an icon; `asks` is as that of `button`.
export function iconButton(symbol, label, onclick, { asks, ...props } = {}) {
    return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, hidden: asks && !may(asks), ...props },
        icon(symbol));
}

/// A small button in a row or beside a value; `name` says to a screen reader of what.
export const rowButton = (text, name, onclick, props) => button(text, onclick, { kind: "quiet small", "aria-label": `${text} ${name}`, ...props });

/// A link of the console that looks like a button; `asks` is as that of `button`.
export function linkButton(text, fragment, { kind = "", symbol, asks } = {}) {
    return h("a", { class: `button ${kind}`, href: fragment, hidden: asks && !may(asks) }, symbol && icon(symbol), h("span", {}, text));
}

/// A short word with a colour; `tone` is "good", "warn", "bad", "accent" or nothing.
export const badge = (text, tone = "") => h("span", { class: `badge ${tone}` }, text);

/// The middle of a long ID is left out; hover and the clipboard have it whole.
export function elided(text, most = 22) {
    return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2))}…${text.slice(-Math.floor(most / 2) + 1)}`;
}

/// An ID that a click copies.
export function id(text, most) {
    if (!text) return h("span", { class: "faint" }, "–");
    return h("button", { type: "button", class: "id", title: `${text}: copy`,
        onclick: (event) => { event.stopPropagation(); copy(text, event.currentTarget); } },
        elided(text, most), h("span", { class: "sr" }, " copy"));
}

/// Copies, and says so beside the button for a second.
export async function copy(text, near) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = h("textarea", { value: text, class: "sr", "aria-hidden": "true" });
        (document.querySelector("dialog[open]") ?? document.body).append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    near?.classList.add("copied");
    setTimeout(() => near?.classList.remove("copied"), 1200);
    announce("Copied");
}

/// Says something to a screen reader.
export function announce(text) {
    const place = document.getElementById("announcer");
    if (place) place.textContent = text;
}

/// Lines to paste somewhere else, with a button that copies them; `shown` are they with colours.
export function code(text, { language = "Shell", shown = text, ...props } = {}) {
    return h("div", { class: "code" }, h("pre", { tabindex: "0", "aria-label": language, ...props }, h("code", {}, shown)),
        iconButton("copy", "Copy", (event) => copy(text, event.currentTarget)));
}

/// The same in several languages, as tabs: `[[language, text], …]`.
export const snippets = (list) => tabbed(list.map(([language, text]) => [language, () => code(text, { language })]));

// MARK: Numbers and times

const units = [["yr.", 31536000], ["mo.", 2592000], ["days", 86400], ["hr.", 3600], ["min.", 60], ["sec.", 1]];

/// Milliseconds since 1970 of a number, an ISO text or a date.
export const milliseconds = (value) => (typeof value === "number" ? value : Date.parse(value));

/// "3 min. ago" or "in 2 days". Not by Intl, as numbers: its first use takes longer than the rest of a script.
export function ago(value) {
    const seconds = Math.round((milliseconds(value) - Date.now()) / 1000);
    if (Math.abs(seconds) < 10) return "now";
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size);
    const count = Math.round(Math.abs(seconds) / size);
    const text = `${count} ${count === 1 && unit === "days" ? "day" : unit}`;
    return seconds < 0 ? `${text} ago` : `in ${text}`;
}

export function absolute(value, isUTC = store.isUTC.get()) {
    let date = new Date(milliseconds(value));
    if (!isUTC) date = new Date(date - date.getTimezoneOffset() * 60_000);
    return Number.isNaN(date.getTime()) ? "no date" : date.toISOString().replace("T", " ").replace(/\.\d+Z$/, isUTC ? " UTC" : "");
}

/// A time: relative, and absolute on hover. `isAbsolute` turns that around.
export function time(value, { isAbsolute = false } = {}) {
    if (value === undefined || value === null || value === "" || Number.isNaN(new Date(milliseconds(value)).getTime())) return h("span",
        { class: "faint" }, "–");
    const [shown, title] = isAbsolute ? [absolute(value), ago(value)] : [ago(value), absolute(value)];
    return h("time", { datetime: new Date(milliseconds(value)).toISOString(), title, class: "nowrap" }, shown);
}

/// The time of day, with the whole time on hover.
export const clock = (value) => h("time", { title: absolute(value) }, absolute(value).slice(11, 19));

/// "1,234.5", with three decimals at most.
export function number(value) {
    if (value === undefined || value === null) return "–";
    const [whole, decimals] = String(Number(Number(value).toFixed(3))).split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimals ? `.${decimals}` : "");
}

export function bytes(value) {
    if (value === undefined || value === null) return "–";
    let size = Number(value);
    const names = ["B", "KB", "MB", "GB", "TB"];
    let at = 0;
    while (Math.abs(size) >= 1024 && at < names.length - 1) [size, at] = [size / 1024, at + 1];
    return `${at === 0 ? size : size.toFixed(size < 10 ? 1 : 0)} ${names[at]}`;
}

export const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;

// MARK: Parts of a page

/// The first line of a page.
export function header(title, { sub, actions = [] } = {}) {
    return h("header", { class: "page-header" },
        h("div", { class: "page-title" }, h("h1", { tabindex: "-1" }, title), sub && h("p", { class: "sub" }, sub)),
        h("div", { class: "actions" }, actions));
}

export function card(title, ...children) {
    return h("section", { class: "card" }, title && h("h2", {}, title), children);
}

/// Names and values: `[["Created", time(…)], …]`; pairs without a value are left out.
export function pairs(list) {
    return h("dl", { class: "pairs" }, list.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
        .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/// A field of a form with its label, a hint and a place for its fault: `field("Name", input, { hint })`.
export function field(label, input, { hint } = {}) {
    if (!input.id) input.id = uniqueID("f");
    const hintID = hint && uniqueID("hint");
    if (hint) input.setAttribute("aria-describedby", hintID);
    return h("div", { class: "field" }, h("label", { for: input.id }, label), input,
        hint && h("p", { class: "hint", id: hintID }, hint));
}

/// A line for names and code, without the browser's suggestions.
export const textInput = (props) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });

/// The input that filters what a page shows, to which the key / leads.
export const filterInput = ({ placeholder = "Filter", ...props }) => textInput({ type: "search", placeholder, "aria-label": placeholder,
    "data-filter": "", ...props });

/// Whether a text has all words of a filter.
export const passes = (filter, text) => filter.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/// A line of fields and a button, which calls `run`.
export const rowForm = (title, run, ...fields) => h("form", { class: "form-row", onsubmit: (event) => { event.preventDefault(); run(); } }, fields,
    button(title, undefined, { kind: "main", type: "submit" }));

/// A button that begins and ends a list that grows by itself.
export const liveButton = (onclick) => h("button", { type: "button", class: "button live", "aria-pressed": "false", onclick },
    h("span", { class: "live-dot" }), h("span", {}, "Live"));

/// Buttons of which one is pressed: `[[key, text, title], …]`.
export const segments = (label, options, current, onchange) => h("div", { class: "segments", role: "group", "aria-label": label },
    options.map(([key, text, title]) => h("button", { type: "button", title, "aria-pressed": String(key === current), onclick: () => onchange(key) }, text)));

/// Yes or no, in colour, with a word and what it is about.
export const verdict = (isYes, word, text) => h("div", { class: `verdict ${isYes ? "yes" : "no"}` }, icon(isYes ? "check" : "x"),
    h("strong", {}, word), text && h("span", {}, text));

export function select(options, value, onchange, props) {
    return h("select", { ...props, value, onchange: onchange && ((event) => onchange(event.target.value)) },
        options.map((option) => {
            const [key, text] = Array.isArray(option) ? option : [option, option];
            return h("option", { value: key }, text);
        }));
}

/// What an empty page says, with the lines that fill it: `lines` are `[label, text]`.
export function empty(title, text, lines = [], actions = []) {
    return h("div", { class: "empty" }, h("h2", {}, title), text && h("p", {}, text),
        lines.length > 0 && snippets(lines),
            actions.length > 0 && h("div", { class: "actions" }, actions));
}

/// An error in words: the server's own, or, for a fault of the page, what may be behind it and what to do.
export const worded = (error) => (error?.reason ? error : { reason: "This page could not show what the server answered.",
    remedy: "Reload it: the server may have become a newer one. If it says so again, copy the report and hand it on.", fault: error });

/// What somebody who mends the console wants to know of a fault: the page without its query, which may name a user, the browser and the error.
export const faultReport = (error) => `${location.href.split("?")[0]}\n${navigator.userAgent}\n${error?.stack ?? error}`;

/// An error as the server says it: reason, remedy, code and request. Of a fault of the page, a report to copy.
export function problem(told) {
    const error = worded(told);
    return h("div", { class: "problem", role: "alert" }, icon("triangle-alert"),
        h("div", {}, h("strong", {}, error.reason), error.remedy && h("p", {}, error.remedy),
            error.fault && h("p", { class: "actions" }, button("Reload", () => location.reload(), { kind: "small" }),
                button("Copy report", (event) => copy(faultReport(error.fault), event.currentTarget), { kind: "small" })),
            (error.code || error.requestID) && h("p", { class: "faint" }, [error.code, error.field
                && `field ${error.field}`].filter(Boolean).join(" · "), " ", error.requestID && id(error.requestID))));
}

/// Grey lines where something will be; they show after 200 ms.
export const skeleton = (lines = 6) => h("div", { class: "skeleton", "aria-busy": "true", "aria-label": "Loading" },
    Array.from({ length: lines }, () => h("div", {})));

/// Shows what a promise brings, grey lines until then, and its error: `await load(view, () => api.get(…), (answer) => [nodes])`.
export async function load(place, ask, show) {
    put(place, skeleton());
    try {
        put(place, show(await ask()));
    } catch (error) {
        if (error.name !== "AbortError") put(place, problem(error));
    }
}

/// A progress bar; without `part`, of unknown length.
export function progress(label, part) {
    return h("label", { class: "progress" }, label, h("progress", part === undefined ? {} : { value: part, max: "1" }));
}

/// Tabs whose panels are made when they are looked at: `[[title, () => node], …]`.
export function tabbed(tabs) {
    const panel = h("div", { class: "tab-panel", role: "tabpanel", id: uniqueID("panel") });
    const buttons = tabs.map(([title], index) => h("button", {
        type: "button", role: "tab", class: "tab", id: uniqueID("tab"), "aria-controls": panel.id, onclick: () => show(index),
        onkeydown: (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const next = (index + step + tabs.length) % tabs.length;
            show(next);
            buttons[next].focus();
        },
    }, title));
    function show(index) {
        buttons.forEach((one, at) => {
            one.setAttribute("aria-selected", String(at === index));
            one.tabIndex = at === index ? 0 : -1;
        });
        panel.setAttribute("aria-labelledby", buttons[index].id);
        put(panel, tabs[index][1]());
    }
    show(0);
    return h("div", { class: "tabs" }, h("div", { role: "tablist", class: "tab-list" }, buttons), panel);
}

// MARK: Tables

/// A table. `columns` are `{ title, key, render(row), class }`; `onopen(row)` makes rows open by click and Enter, j and k or arrows move.
/// `key(row)` names a row, and the row whose name is `current` is marked.
export function table({ columns, rows, label, key = (row) => row, onopen, current, empty: nothing }) {
    if (rows.length === 0 && nothing) return nothing;
    const body = h("tbody", {}, rows.map((row) => line(row)));
    function line(row) {
        const element = h("tr", {
            tabindex: onopen ? "-1" : undefined, "aria-selected": current !== undefined && current === key(row) ? "true" : undefined,
            class: onopen ? "opens" : undefined, onclick: onopen && ((event) => !event.target.closest("a,button,input,label")
                && getSelection().isCollapsed && onopen(row)),
        }, columns.map((column) => h("td", { class: column.class }, column.render ? column.render(row) : row[column.key])));
        element.row = row;
        return element;
    }
    const made = h("table", { "aria-label": label },
        h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: column.class }, column.title)))), body);
    if (onopen) roving(body, onopen);
    return h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": label }, made);
}

/// Rows that the keyboard moves through: one of them is in the order of Tab.
function roving(body, onopen) {
    const first = body.querySelector("tr[aria-selected=true]") ?? body.rows[0];
    if (first) first.tabIndex = 0;
    body.addEventListener("keydown", (event) => {
        const row = event.target.closest("tr");
        if (!row || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
            && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
        const next = { ArrowDown: row.nextElementSibling, j: row.nextElementSibling, ArrowUp: row.previousElementSibling,
            k: row.previousElementSibling,
            Home: body.rows[0], End: body.rows[body.rows.length - 1] }[event.key];
        if (next) {
            event.preventDefault();
            for (const other of body.rows) other.tabIndex = -1;
            next.tabIndex = 0;
            next.focus();
        } else if (event.key === "Enter" && event.target === row) {
            event.preventDefault();
            onopen(row.row);
        }
    });
}
