/// A grid of any number of rows, of which only those in sight are in the page.

import { h, icon, put, uniqueID } from "./dom.js";

const ROW = 31;
const OVERSCAN = 6;

/// `columns` are `{ name, title, width, render(row), sort }`. `onmore()` is called when the end comes near, `onopen(row)` by Enter and click.
export function grid({ label, key, onopen, onselect, onmore, onsort, canSelect = true }) {
    const prefix = uniqueID("row");
    const selection = new Set();
    let columns = [];
    let rows = [];
    let active = 0;
    let current;
    let sort = "";
    /// The lines that are in the page, by index.
    let lines = new Map();

    const head = h("div", { class: "grid-row grid-head", role: "row" });
    const body = h("div", { class: "grid-body", role: "rowgroup" });
    const element = h("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": label,
        "aria-multiselectable": canSelect ? "true" : undefined, onscroll: () => draw(), onkeydown },
        h("div", { class: "grid-top", role: "rowgroup" }, head), body);
    const observer = new ResizeObserver(() => draw(true));
    observer.observe(element);

    function line(index) {
        const row = rows[index];
        const name = key(row);
        const made = h("div", {
            class: `grid-row${index === active ? " active" : ""}${name === current ? " current" : ""}`, role: "row", id: prefix + index,
                "aria-rowindex": String(index + 2),
            "aria-selected": canSelect ? String(selection.has(name)) : undefined, style: { transform: `translateY(${index * ROW}px)` },
            onclick: (event) => {
                if (event.target.closest("a")) return;
                active = index;
                if (event.target.closest(".grid-box") || event.ctrlKey || event.metaKey) toggle(index);
                else if (event.shiftKey && canSelect) range(index);
                else if (getSelection().isCollapsed) onopen(row);
                draw(true);
            },
        }, canSelect && h("div", { class: "grid-box", role: "gridcell" },
            h("span", { class: "tick", "aria-hidden": "true" }, selection.has(name) && icon("check")),
            h("span", { class: "sr" }, selection.has(name) ? "selected" : "")));
        for (const column of columns) {
            const shown = column.render(row);
            made.append(h("div", { role: "gridcell", class: column.class,
                title: typeof shown === "string" && shown.length > 18 ? shown.slice(0, 400) : undefined },
                typeof shown === "string" && shown.length > 200 ? shown.slice(0, 200) : shown));
        }
        return made;
    }

    let anchor = 0;
    function toggle(index) {
        const name = key(rows[index]);
        anchor = index;
        selection.has(name) ? selection.delete(name) : selection.add(name);
        onselect?.(selection);
    }
    function range(index) {
        for (let at = Math.min(anchor, index); at <= Math.max(anchor, index); at += 1) selection.add(key(rows[at]));
        onselect?.(selection);
    }

    function draw(isAll = false) {
        const from = Math.max(0, Math.floor(element.scrollTop / ROW) - OVERSCAN);
        const to = Math.min(rows.length - 1, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + OVERSCAN);
        if (rows.length && to >= rows.length - 40) onmore?.();
        if (isAll) {
            lines = new Map();
            put(body);
        }
        for (const [index, made] of lines) {
            if (index < from || index > to) {
                made.remove();
                lines.delete(index);
            }
        }
        const added = document.createDocumentFragment();
        for (let index = from; index <= to; index += 1) {
            if (lines.has(index)) continue;
            const made = line(index);
            lines.set(index, made);
            added.append(made);
        }
        body.append(added);
        if (lines.has(active)) element.setAttribute("aria-activedescendant", prefix + active);
        else element.removeAttribute("aria-activedescendant");
    }

    function move(next) {
        active = Math.max(0, Math.min(rows.length - 1, next));
        const top = active * ROW;
        const height = element.clientHeight - ROW;
        if (top < element.scrollTop) element.scrollTop = top;
        else if (top + ROW > element.scrollTop + height) element.scrollTop = top + ROW - height;
        draw(true);
    }

    function onkeydown(event) {
        if (event.target !== element || event.metaKey || event.altKey || rows.length === 0) return;
        const page = Math.max(1, Math.floor(element.clientHeight / ROW) - 2);
        const next = { ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, PageDown: active + page,
            PageUp: active - page, Home: 0, End: rows.length - 1 }[event.key];
        if (next !== undefined) {
            move(next);
            if (event.shiftKey && canSelect) range(active);
        } else if (event.key === "Enter") onopen(rows[active]);
        else if ((event.key === "x" || event.key === " ") && canSelect) toggle(active);
        else if (event.key === "a" && event.ctrlKey && canSelect) {
            for (const row of rows) selection.add(key(row));
            onselect?.(selection);
        } else return;
        event.preventDefault();
        draw(true);
    }

    return {
        element, selection,
        setColumns(list, order = "") {
            columns = list;
            sort = order;
            element.style.setProperty("--columns",
                `${canSelect ? "34px " : ""}${columns.map((column) => `minmax(${column.width ?? 120}px, ${column.share ?? 1}fr)`).join(" ")}`);
            element.style.setProperty("--least", `${columns.reduce((sum, column) => sum + (column.width ?? 120), canSelect ? 34 : 0)}px`);
            put(head, canSelect && h("div", { role: "columnheader" }, h("span", { class: "sr" }, "Selected")), columns.map((column) => h("div", {
                role: "columnheader", class: column.class, "aria-sort": sort.replace(/^-/, "") === column.name ? (sort.startsWith("-")
                    ? "descending" : "ascending") : undefined,
            }, column.canSort && onsort ? h("button", { type: "button", class: "sort", onclick: () => onsort(sort === column.name
                ? `-${column.name}` : sort === `-${column.name}` ? "" : column.name) }, column.title,
                sort.replace(/^-/, "") === column.name && icon(sort.startsWith("-") ? "arrow-down" : "arrow-up")) : column.title)));
            draw(true);
        },
        setRows(list, isReset = false) {
            rows = list;
            if (isReset) {
                active = anchor = 0;
                element.scrollTop = 0;
            }
            element.setAttribute("aria-rowcount", String(rows.length + 1));
            body.style.height = `${rows.length * ROW}px`;
            draw(true);
        },
        setCurrent(name) {
            current = name;
            const index = rows.findIndex((row) => key(row) === name);
            if (index >= 0) active = index;
            draw(true);
        },
        clearSelection() {
            selection.clear();
            onselect?.(selection);
            draw(true);
        },
        close: () => observer.disconnect(),
    };
}
