/// Charts over time, as SVG made by hand: columns, hatched columns and dashed lines, with a brush, keys and a table.

import { h, put, svg } from "./dom.js";

// MARK: Pure parts

/// The steps of an axis from 0 to at least `most`: 1, 2 or 5 times a power of ten apart.
export function steps(most, count = 4, isWhole = true) {
    if (!(most > 0)) return [0, 1];
    const raw = most / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    let step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999999) ?? power * 10;
    if (isWhole) step = Math.max(1, Math.round(step));
    const found = [];
    do found.push(Number((found.length * step).toPrecision(12))); while (found.at(-1) < most);
    return found;
}

/// The index of the slot at a distance from the left of the plot.
export function slotAt(x, width, count) {
    if (!(count > 0) || !(width > 0)) return 0;
    return Math.min(count - 1, Math.max(0, Math.floor((x / width) * count)));
}

/// The indexes of at most `count` labels along the slots, evenly spread.
export function labelled(slots, count) {
    if (slots <= 0 || count <= 0) return [];
    const step = Math.max(1, Math.ceil(slots / count));
    return Array.from({ length: Math.ceil(slots / step) }, (_, index) => index * step);
}

/// A number in few characters: 950, 1.2k, 34k, 5.6M.
export function short(value) {
    const size = Math.abs(value);
    for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
        if (size >= unit * 0.9995) return Number((value / unit).toPrecision(size >= unit * 99.95 ? 3 : 2)) + name;
    }
    return String(Number(value.toPrecision(3)));
}

/// The words for a slot of so many milliseconds in a longer period: the time of day, the day, or both.
export function slotWords(start, slot, span, timeZone) {
    const day = 86_400_000;
    const clock = { hour: "2-digit", minute: "2-digit" };
    const options = span <= day * 1.5 ? { ...clock, ...(slot < 60_000 ? { second: "2-digit" } : {}) }
        : { day: "numeric", month: "short", ...(slot < day ? clock : {}) };
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone }).format(start);
}

/// One sentence about a chart for those who do not see it.
export function summary({ title, series, starts, slot, timeZone }) {
    if (starts.length === 0) return `${title}: no data.`;
    const span = starts.at(-1) + slot - starts[0];
    const parts = series.map(({ name, values }) => {
        const most = Math.max(...values);
        if (most === 0) return `${name}: none`;
        const total = values.reduce((sum, value) => sum + value, 0);
        return `${name}: ${total} in all, at most ${most} at ${slotWords(starts[values.indexOf(most)], slot, span, timeZone)}`;
    });
    return `${title}. ${parts.join("; ")}.`;
}

/// The selection after a key, as indexes `{ at, anchor }`; `anchor` is null without a selection. Null for a key that does nothing.
export function moved({ at, anchor }, key, isExtending, count) {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: count - 1 }[key];
    if (to === undefined || count === 0) return null;
    return { at: Math.min(count - 1, Math.max(0, to)), anchor: isExtending ? anchor ?? at : null };
}

/// The period from the beginning of the earlier slot to the end of the later one.
export function period(starts, slot, one, other) {
    return { from: starts[Math.min(one, other)], to: starts[Math.max(one, other)] + slot };
}

// MARK: Drawing

const [TOP, BOTTOM, LEFT, RIGHT] = [8, 22, 40, 4];
let made = 0;

/// A chart over time. `starts` are the slots' beginnings and `slot` their length in milliseconds; `series` are `{ name, values, shape }`, where the
/// shape is `column`, `hatched` or `dashed`. `onperiod({ from, to })` is called when a period is chosen.
export function chart(spec) {
    const { title, series, starts, slot, onperiod, height = 190, timeZone } = spec;
    const hatch = `hatch${(made += 1)}`;
    const count = starts.length;
    const span = count ? starts.at(-1) + slot - starts[0] : 0;
    const axis = steps(Math.max(0, ...series.flatMap((one) => one.values)));
    let place = { at: count - 1, anchor: null };
    let [width, isDragging] = [0, false];
    let cursor, brush;

    const plot = svg("svg", {
        class: "chart-plot", height, role: count ? "slider" : "img", "aria-label": summary(spec), tabindex: count ? "0" : undefined,
        "aria-valuemin": count ? "0" : undefined, "aria-valuemax": count ? String(count - 1) : undefined,
    });
    const readout = h("output", { class: "chart-readout" });
    const sheet = h("div", { class: "chart-table", hidden: true, tabindex: "0", role: "region", "aria-label": `${title}, as a table` });
    const toggle = h("button", { type: "button", class: "button quiet small", "aria-pressed": "false", onclick: flip }, "Table");
    const figure = h("figure", { class: "chart" },
        h("figcaption", {}, h("span", { class: "chart-title" }, title),
            h("ul", { class: "chart-key" }, series.map((one) => h("li", {}, swatch(one, hatch), one.name))), readout, toggle), plot, sheet);

    function flip() {
        const isTable = sheet.hidden;
        if (isTable) put(sheet, asTable(spec, span));
        sheet.hidden = !isTable;
        plot.toggleAttribute("hidden", isTable);
        toggle.setAttribute("aria-pressed", String(isTable));
    }

    const inner = () => width - LEFT - RIGHT;
    const x = (index) => LEFT + (inner() * index) / count;
    const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / axis.at(-1));
    const px = (value) => value.toFixed(1);

    function draw() {
        plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
        const step = inner() / Math.max(1, count);
        const gap = step > 6 ? 1.5 : step > 3 ? 0.75 : 0;
        brush = svg("rect", { class: "chart-brush", y: TOP, height: height - TOP - BOTTOM, visibility: "hidden" });
        cursor = svg("line", { class: "chart-cursor", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
        put(plot, pattern(hatch),
            axis.map((value) => [
                svg("line", { class: "chart-grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
                svg("text", { class: "chart-label", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)),
            ]),
            labelled(count, Math.floor(inner() / 96)).map((index) =>
                svg("text", { class: "chart-label", x: x(index), y: height - 5 }, slotWords(starts[index], slot, span, timeZone))),
            series.map(({ values, shape }) => {
                if (shape === "dashed") {
                    const line = values.map((value, index) => `${index ? "L" : "M"}${px(x(index))} ${px(y(value))}H${px(x(index + 1))}`);
                    return svg("path", { class: "chart-dashed", d: line.join("") });
                }
                const bars = values.map((value, index) =>
                    value > 0 ? `M${px(x(index) + gap)} ${px(y(0))}V${px(Math.min(y(value), y(0) - 2))}h${px(step - 2 * gap)}V${px(y(0))}z` : "");
                return svg("path", { class: `chart-${shape}`, d: bars.join(""), fill: shape === "hatched" ? `url(#${hatch})` : undefined });
            }),
            brush, cursor);
    }

    function show(isShown) {
        if (!count || !cursor) return;
        for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(place.at + 0.5));
        cursor.setAttribute("visibility", isShown ? "visible" : "hidden");
        const values = series.map((one) => `${one.name} ${one.values[place.at]}`).join(", ");
        const words = `${slotWords(starts[place.at], slot, span, timeZone)}: ${values}`;
        plot.setAttribute("aria-valuenow", place.at);
        plot.setAttribute("aria-valuetext", words);
        readout.textContent = isShown ? words : "";
        brush.setAttribute("visibility", place.anchor === null ? "hidden" : "visible");
        if (place.anchor === null) return;
        const first = Math.min(place.at, place.anchor);
        brush.setAttribute("x", x(first));
        brush.setAttribute("width", x(Math.max(place.at, place.anchor) + 1) - x(first));
    }

    function choose() {
        if (place.anchor !== null) onperiod?.(period(starts, slot, place.anchor, place.at));
    }

    function pointed(event) {
        return slotAt(event.clientX - plot.getBoundingClientRect().left - LEFT, inner(), count);
    }

    function listen() {
        plot.addEventListener("pointerdown", (event) => {
            if (event.button !== 0) return;
            plot.setPointerCapture(event.pointerId);
            isDragging = true;
            place = { at: pointed(event), anchor: pointed(event) };
            show(true);
        });
        plot.addEventListener("pointermove", (event) => {
            place = { at: pointed(event), anchor: isDragging ? place.anchor : null };
            show(true);
        });
        plot.addEventListener("pointerup", () => {
            const isChosen = isDragging && place.anchor !== place.at;
            isDragging = false;
            if (isChosen) choose();
            place.anchor = null;
            show(true);
        });
        plot.addEventListener("pointerleave", () => !isDragging && show(document.activeElement === plot));
        plot.addEventListener("focus", () => show(true));
        plot.addEventListener("blur", () => {
            place.anchor = null;
            show(false);
        });
        plot.addEventListener("keydown", (event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            if (event.key === "Enter" && onperiod) {
                place.anchor ??= place.at;
                choose();
            } else if (event.key === "Escape" && place.anchor !== null) {
                place.anchor = null;
            } else {
                const next = moved(place, event.key, event.shiftKey, count);
                if (!next) return;
                place = next;
            }
            event.preventDefault();
            event.stopPropagation();
            show(true);
        });
        show(false);
    }

    if (count) listen();
    new ResizeObserver(([entry]) => {
        const wide = Math.round(entry.contentRect.width);
        if (wide === width || wide === 0) return;
        width = wide;
        draw();
        show(document.activeElement === plot);
    }).observe(figure);
    return figure;
}

function pattern(id) {
    return svg("defs", {}, svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { class: "chart-hatch-ground", width: 5, height: 5 }), svg("rect", { class: "chart-hatch-line", width: 2.5, height: 5 })));
}

function swatch({ shape }, hatch) {
    return svg("svg", { class: "chart-swatch", width: 18, height: 10, "aria-hidden": "true" },
        shape === "dashed" ? svg("path", { class: "chart-dashed", d: "M0 5H18" })
            : svg("rect", { class: `chart-${shape}`, width: 18, height: 10, rx: 2, fill: shape === "hatched" ? `url(#${hatch})` : undefined }));
}

function asTable({ title, series, starts, slot, timeZone }, span) {
    return h("table", { "aria-label": title },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "From"), series.map((one) => h("th", { scope: "col", class: "number" }, one.name)))),
        h("tbody", {}, starts.map((start, index) => h("tr", {}, h("td", {}, slotWords(start, slot, span, timeZone)),
            series.map((one) => h("td", { class: "number" }, String(one.values[index])))))));
}
