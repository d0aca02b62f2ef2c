/// A grid of any number of rows, of which only those in sight are in the page.

import { h, icon, put, uniqueID } from "./dom.js";

const ROW = 31;
const OVERSCAN = 6;

/// `columns` are `{ name, title, width, render(row), sort }`. `onmore()` is called when the end comes near, `onopen(row)` by Enter and click.
export function grid({ label, key, onopen, onselect, onmore, onsort }) {
    const prefix = uniqueID("row");
    const selection = new Set();
    let columns = [];
    let rows = [];
    let active = 0;
    let current;
    let sort = "";
    /// The lines that are in the page, by index; `isStale` once they show something old.
    let lines = new Map();
    let isStale = false;
    /// Lines that have gone out of sight, to be filled with other rows: thousands of elements that nobody needs any more stop the page
    /// when they are collected.
    let spare = [];
    /// Pixels above what is in sight, and the height of it, kept so that no one has to ask for a layout.
    let top = 0;
    let height = 0;
    let frame;

    const head = h("div", { class: "grid-row grid-head", role: "row" });
    const body = h("div", { class: "grid-body", role: "rowgroup" });
    const element = h("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": label,
        "aria-multiselectable": "true", onscroll, onkeydown },
        h("div", { class: "grid-top", role: "rowgroup" }, head), body);
    const observer = new ResizeObserver(([{ contentRect }]) => {
        height = contentRect.height;
        top = element.scrollTop;
        draw();
    });
    observer.observe(element);

    function onscroll() {
        top = element.scrollTop;
        drawSoon();
    }

    /// A line without a row.
    function line() {
        const made = h("div", { role: "row", onclick: (event) => {
            if (event.target.closest("a")) return;
            active = made.index;
            if (event.target.closest(".grid-box") || event.ctrlKey || event.metaKey) toggle(active);
            else if (event.shiftKey) range(active);
            else if (getSelection().isCollapsed) onopen(rows[active]);
            drawSoon();
        } }, h("div", { class: "grid-box", role: "gridcell" }, h("span", { class: "tick", "aria-hidden": "true" }), h("span", { class: "sr" })),
        columns.map((column) => h("div", { role: "gridcell", class: column.class }, "")));
        return made;
    }

    /// Shows a row in a line.
    function fill(made, index) {
        made.index = index;
        made.id = prefix + index;
        made.setAttribute("aria-rowindex", String(index + 2));
        made.style.top = `${index * ROW}px`;
        let cell = made.children[1];
        for (const column of columns) {
            show(cell, column.render(rows[index]));
            cell = cell.nextSibling;
        }
    }

    function show(cell, shown) {
        const isText = typeof shown === "string";
        if (isText && shown.length > 18) cell.title = shown.slice(0, 400);
        else cell.removeAttribute("title");
        if (!isText) put(cell, shown);
        else if (cell.childNodes.length === 1 && cell.firstChild.nodeType === Node.TEXT_NODE) cell.firstChild.data = shown.slice(0, 200);
        else cell.textContent = shown.slice(0, 200);
    }

    /// Shows whether a line is the active one, the current one, and selected.
    function mark(made, index) {
        const name = key(rows[index]);
        made.className = `grid-row${index === active ? " active" : ""}${name === current ? " current" : ""}`;
        const isSelected = selection.has(name);
        if (made.getAttribute("aria-selected") === String(isSelected)) return;
        made.setAttribute("aria-selected", String(isSelected));
        const [tick, text] = made.firstChild.children;
        put(tick, isSelected && icon("check"));
        put(text, isSelected && "selected");
    }

    let anchor = 0;
    function toggle(index) {
        const name = key(rows[index]);
        anchor = index;
        selection.has(name) ? selection.delete(name) : selection.add(name);
        onselect(selection);
    }
    function range(index) {
        for (let at = Math.min(anchor, index); at <= Math.max(anchor, index); at += 1) selection.add(key(rows[at]));
        onselect(selection);
    }

    /// Draws once before the next frame, however often it is called until then.
    function drawSoon(isOld = false) {
        isStale ||= isOld;
        frame ??= requestAnimationFrame(draw);
    }

    function draw() {
        cancelAnimationFrame(frame);
        frame = undefined;
        if (height === 0) return;
        const from = Math.max(0, Math.floor(top / ROW) - OVERSCAN);
        const to = Math.min(rows.length - 1, Math.ceil((top + height) / ROW) + OVERSCAN);
        if (rows.length && to >= rows.length - 40) onmore?.();
        for (const [index, made] of lines) {
            if (!isStale && index >= from && index <= to) continue;
            if (isStale) made.remove();
            else spare.push(made);
            lines.delete(index);
        }
        if (isStale) spare = [];
        isStale = false;
        const added = document.createDocumentFragment();
        for (let index = from; index <= to; index += 1) {
            if (!lines.has(index)) {
                const made = spare.pop() ?? line();
                fill(made, index);
                lines.set(index, made);
                if (!made.isConnected) added.append(made);
            }
            mark(lines.get(index), index);
        }
        body.append(added);
        for (const made of spare) made.remove();
        if (lines.has(active)) element.setAttribute("aria-activedescendant", prefix + active);
        else element.removeAttribute("aria-activedescendant");
    }

    function move(next) {
        active = Math.max(0, Math.min(rows.length - 1, next));
        const place = active * ROW;
        // The head covers the first line.
        const room = height - 2 * ROW;
        if (place < top || place > top + room) top = element.scrollTop = place < top ? place : place - room;
        drawSoon();
    }

    function onkeydown(event) {
        if (event.target !== element || event.metaKey || event.altKey || rows.length === 0) return;
        const page = Math.max(1, Math.floor(height / ROW) - 2);
        const next = { ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, PageDown: active + page,
            PageUp: active - page, Home: 0, End: rows.length - 1 }[event.key];
        if (next !== undefined) {
            move(next);
            if (event.shiftKey) range(active);
        } else if (event.key === "Enter") onopen(rows[active]);
        else if (event.key === "x" || event.key === " ") toggle(active);
        else if (event.key === "a" && event.ctrlKey) {
            for (const row of rows) selection.add(key(row));
            onselect(selection);
        } else return;
        event.preventDefault();
        drawSoon();
    }

    return {
        element, selection,
        setColumns(list, order = "") {
            columns = list;
            sort = order;
            element.style.setProperty("--columns",
                `34px ${columns.map((column) => `minmax(${column.width ?? 120}px, ${column.share ?? 1}fr)`).join(" ")}`);
            element.style.setProperty("--least", `${columns.reduce((sum, column) => sum + (column.width ?? 120), 34)}px`);
            put(head, h("div", { role: "columnheader" }, h("span", { class: "sr" }, "Selected")), columns.map((column) => h("div", {
                role: "columnheader", class: column.class, "aria-sort": sort.replace(/^-/, "") === column.name ? (sort.startsWith("-")
                    ? "descending" : "ascending") : undefined,
            }, column.canSort && onsort ? h("button", { type: "button", class: "sort", onclick: () => onsort(sort === column.name
                ? `-${column.name}` : sort === `-${column.name}` ? "" : column.name) }, column.title,
                sort.replace(/^-/, "") === column.name && icon(sort.startsWith("-") ? "arrow-down" : "arrow-up")) : column.title)));
            drawSoon(true);
        },
        setRows(list, isReset = false) {
            rows = list;
            if (isReset) {
                active = anchor = 0;
                if (top > 0) top = element.scrollTop = 0;
            }
            this.grow();
            drawSoon(true);
        },
        /// Shows that the list of rows has become longer, and is the same otherwise.
        grow() {
            element.setAttribute("aria-rowcount", String(rows.length + 1));
            body.style.height = `${rows.length * ROW}px`;
            drawSoon();
        },
        setCurrent(name) {
            current = name;
            if (name !== undefined && !(rows[active] && key(rows[active]) === name)) {
                const index = rows.findIndex((row) => key(row) === name);
                if (index >= 0) active = index;
            }
            drawSoon();
        },
        clearSelection() {
            selection.clear();
            onselect(selection);
            drawSoon();
        },
        close() {
            observer.disconnect();
            cancelAnimationFrame(frame);
        },
    };
}
