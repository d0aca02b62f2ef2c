/// Values of records: as a text in a row, as a part of a page, and as a field of a form.

import { h, icon, put, svg } from "./dom.js";
import { absolute, badge, bytes, button, field, id, time } from "./ui.js";

// MARK: One line

const sealedBytes = (value) => Math.floor(String(value ?? "").replace(/=+$/, "").length * 3 / 4);

/// A value in one line of text.
export function text(held) {
    if (!held || held.value === null || held.value === undefined) return "";
    const { value, type = "" } = held;
    if (held.isEncrypted) return "sealed";
    if (Array.isArray(value)) return value.map((one) => text({ value: one, type: type.replace(/_LIST$/, "") })).join(", ");
    switch (type) {
        case "TIMESTAMP": return absolute(value);
        case "LOCATION": return `${degrees(value.latitude)}, ${degrees(value.longitude)}`;
        case "REFERENCE": return value.recordName;
        case "ASSETID": case "ASSET": return `${bytes(value.size)} file`;
        case "BYTES": return `${bytes(sealedBytes(value))} of data`;
        default: return String(value);
    }
}

const degrees = (value) => (Math.round(value * 1e5) / 1e5).toString();

// MARK: In full

/// A value in full. `openReference(recordName, zone)` makes a link's target, and `showFile(asset, index)` what is shown of a file.
export function full(held, openReference, showFile) {
    if (!held || held.value === null || held.value === undefined) return h("span", { class: "faint" }, "none");
    const { value, type = "" } = held;
    if (held.isEncrypted) return h("span", { class: "sealed" }, icon("lock"),
        Array.isArray(value) ? `Sealed: ${value.length} values` : `Sealed: ${bytes(sealedBytes(value))}`,
        h("span", { class: "faint" }, " The app has the key, and the server has not."));
    if (Array.isArray(value)) {
        if (value.length === 0) return h("span", { class: "faint" }, "empty list");
        const one = type.replace(/_LIST$/, "");
        if (one === "LOCATION") return [map(value), value.map((place) => h("div", { class: "mono" }, text({ value: place, type: one })))];
        if (one === "STRING") return h("div", { class: "chips" }, value.map((item) => h("span", { class: "item" }, item)));
        return h("ol", { class: "values" }, value.map((item, index) => h("li", {}, full({ value: item, type: one }, openReference,
            showFile && ((asset) => showFile(asset, index))))));
    }
    switch (type) {
        case "TIMESTAMP": return h("span", {}, absolute(value), " ", h("span", { class: "faint" }, time(value)));
        case "LOCATION": return [map([value]), h("span", { class: "mono" }, text(held), value.horizontalAccuracy > 0
            && ` ± ${value.horizontalAccuracy} m`)];
        case "REFERENCE": return h("span", { class: "row" }, h("a", { href: openReference(value.recordName, value.zoneID?.zoneName) },
            value.recordName),
            value.action && value.action !== "NONE" && badge(value.action === "DELETE_SELF" ? "deletes with it"
                : value.action.toLowerCase().replaceAll("_", " ")));
        case "ASSETID": case "ASSET": return showFile ? showFile(value) : h("span", { class: "row" }, icon("file"), bytes(value.size));
        case "BYTES": return h("span", { class: "mono" }, `${bytes(sealedBytes(value))}: `, id(String(value), 40));
        case "STRING": return h("span", { class: "text" }, value);
        default: return h("span", { class: "mono" }, String(value));
    }
}

// MARK: Map

/// Land in squares of 3 degrees: 120 columns from 180° west, 52 rows from 84° north, a bit each.
const land = "AAAAAHwf+AAAAAAAAAAAAAAAD/v//ACwAAAQAAAAAAACB8P/+AAAAAADgAAAAAAcoIB/+AAAAgH/9BAAAYAHy/g/8AAMAB////+Ah////44/gAB/j///////J////Qwe"
    + "BgDv////////B///+DAMAAPf//////9cAYP/+D4AACLP/////+BAAAD//j8AACEf/////8DAAAB//7+AAFP//////+CAAAA///4AAA////////AAAAAf//4AAB//////"
    + "/8AAAAAf//gAAH18f////5AAAAAf//AAAHB//////gAAAAAf/+AAAHAX////8iAAAAAP/8AAAD8A////8MAAAAAH/4AAAH+Z////8AAAAAAD8IAAAP//9///8AAAAAAA"
    + "8AAAAf//+P//8AAAAAAAYAAAAf//fx//wAAAAAAAcggAAf//Pg8eAAAAAAAAHgAAAf//vA4PCAAAAAAAAwAAA///8AYHAAAAAAAAARwAAf//+AYBAAAAAAAAAD8AAP//"
    + "+AAEBAAAAAAAAD/gAAP/8AAAIAAAAAAAAD/gAAH/4AAEYAAAAAAAAH/4AAH/wAACYAAAAAAAAH/+AAD/gAACAHAAAAAAAH//AAD/gAAAADgAAAAAAD//AAB/gAAAAAAA"
    + "AAAAAB/+AAD/yAAAAZAAAAAAAA/+AAD/mAAAB9AAAAAAAAf+AAD/EAAAD/gAAAAAAAf8AAB/MAAAP/wAAAAAAA/wAAB+AAAAP/4AAAAAAA/wAAB+AAAAP/4AAAAAAA/g"
    + "AAA8AAAAH/4AAAAAAA/AAAAgAAAAEDwAAAAAAB+AAAAAAAAAABwCAAAAAB4AAAAAAAAAAAACAAAAAAwAAAAAAAAAAAAEAAAAABwAAAAAAAAAAAAIAAAAABgAAAAAAAAA"
    + "AAAAAAAAABgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHwD///AAAAAA"
    + "AA8AAADD/+/////A";
let dots;

/// A small map of the world with marks, drawn of dots. `[{ latitude, longitude }]`
export function map(places) {
    dots ??= [...atob(land)].flatMap((byte, at) => [...Array(8).keys()].filter((bit) => byte.charCodeAt(0) & (128 >> bit)).map((bit) => at * 8 + bit))
        .map((at) => `M${(at % 120) * 3 + 1.5} ${Math.floor(at / 120) * 3 + 1.5}h0`).join("");
    const marks = places.filter((place) => Number.isFinite(place?.latitude)
        && Number.isFinite(place?.longitude)).map((place) => [place.longitude + 180, 84 - place.latitude]);
    return svg("svg", { class: "map", viewBox: "0 0 360 156", role: "img",
        "aria-label": `Map: ${places.map((place) => text({ value: place, type: "LOCATION" })).join("; ")}` },
        svg("path", { d: dots, class: "land" }),
        marks.map(([x, y]) => svg("g", { class: "mark" }, svg("path", { d: `M${x} 0V156M0 ${y}H360` }), svg("circle", { cx: x, cy: y, r: 3.6 }))));
}

// MARK: Forms

const two = (number) => String(number).padStart(2, "0");
const localDate = (value) => {
    const date = new Date(value);
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};

function read(line, type) {
    switch (type) {
        case "INT64": if (!/^[+-]?\d+$/.test(line)) throw new Error(`${line} is no whole number`);
            return Number.isSafeInteger(Number(line)) ? Number(line) : line;
        case "DOUBLE": if (line === "" || !Number.isFinite(Number(line))) throw new Error(`${line} is no number`); return Number(line);
        case "TIMESTAMP": { const time = Date.parse(line); if (Number.isNaN(time)) throw new Error(`${line} is no date`); return time; }
        case "REFERENCE": return { recordName: line, action: "NONE" };
        case "LOCATION": { const [latitude, longitude] = line.split(/[,\s]+/).map(Number);
            if (!Number.isFinite(latitude) || !Number.isFinite(longitude)) throw new Error(`${line} is no latitude and longitude`);
            return { latitude, longitude }; }
        default: return line;
    }
}

const written = (value, type) => (type === "TIMESTAMP" ? localDate(value) : type === "REFERENCE" ? value.recordName : type === "LOCATION"
    ? `${value.latitude}, ${value.longitude}` : String(value));

/// A field of a form for files. `read` answers files of this computer that are to be sent, behind those that stay.
function fileEditor({ name, isList }, held, hint) {
    let isGone = false;
    const there = h("div", {}, held && full(held, () => "#"));
    const input = h("input", { type: "file", multiple: isList });
    const clear = held && button("Remove", () => { isGone = true; put(there); clear.hidden = true; }, { kind: "quiet" });
    return { element: h("div", { class: "with-clear" }, h("div", {}, field(name, input, { hint: isList ? `${hint}: files that you choose are added`
        : `${hint}: one that you choose takes its place` }), there), clear), read: () => {
        const kept = isGone ? [] : [held?.value ?? []].flat();
        const chosen = [...input.files];
        if (chosen.length === 0 && !isGone) return undefined;
        if (isList) return held || chosen.length ? [...kept, ...chosen] : null;
        return chosen[0] ?? null;
    } };
}

/// A field of a form for a field of a record: `{ element, read() }`. `read` answers a value of the wire, null for none, or undefined for what
/// a form cannot change; it throws for a text that does not fit.
export function editor(definition, held) {
    const { name, type, isList } = definition;
    const hint = `${definition.isEncrypted ? "encrypted " : ""}${isList ? `list of ${type.toLowerCase()}` : type.toLowerCase()}`;
    if (definition.isEncrypted || held?.isEncrypted) {
        return { element: h("div", { class: "field" }, h("span", { class: "label" }, name), full(held, () => "#"),
            h("p", { class: "hint" }, `${hint}. Sealed: only an app with the key can write it.`)), read: () => undefined };
    }
    if (type === "ASSET") return fileEditor(definition, held, hint);
    if (isList) {
        const area = h("textarea", { rows: "3", value: (held?.value ?? []).map((one) => written(one, type)).join("\n"), spellcheck: "false" });
        return { element: field(name, area, { hint: `${hint}, one a line` }), read: () => {
            const lines = area.value.split("\n").map((line) => line.trim()).filter(Boolean);
            return lines.length === 0 && !held ? null : lines.map((line) => read(line, type));
        } };
    }
    if (type === "LOCATION") {
        const place = h("div", {});
        const draw = () => put(place, map([{ latitude: parseFloat(latitude.value), longitude: parseFloat(longitude.value) }]));
        const [latitude, longitude] = ["latitude", "longitude"].map((part) => h("input", { type: "number", step: "any",
            value: held?.value?.[part] ?? "", "aria-label": `${name} ${part}`, placeholder: part, oninput: () => draw() }));
        draw();
        return { element: h("div", { class: "field" }, h("span", { class: "label" }, name), place,
            h("div", { class: "row" }, latitude, longitude), h("p", { class: "hint" }, hint)),
            read: () => (latitude.value === "" && longitude.value === "" ? null : read(`${latitude.value}, ${longitude.value}`, type)) };
    }
    if (type === "TIMESTAMP") {
        const initial = held ? localDate(held.value) : "";
        const input = h("input", { type: "datetime-local", step: "1", value: initial });
        return { element: field(name, input, { hint }), read: () => (input.value === "" ? null : input.value === initial ? held.value
            : read(input.value, type)) };
    }
    const initial = held ? written(held.value, type) : "";
    const input = type === "STRING" || type === "BYTES"
        ? h("textarea", { rows: String(Math.min(8, Math.max(1, initial.split("\n").length, Math.ceil(initial.length / 56)))),
            value: initial, spellcheck: "false", class: type === "BYTES" ? "mono" : "" })
        : h("input", { type: "text", inputmode: type === "INT64" ? "numeric" : type === "DOUBLE" ? "decimal" : "text", value: initial,
            spellcheck: "false", autocomplete: "off" });
    const clear = held && button("Remove", () => { isGone = true; input.value = ""; input.placeholder = "no value"; input.focus(); },
        { kind: "quiet" });
    let isGone = !held;
    input.addEventListener("input", () => { isGone = false; });
    return { element: h("div", { class: "with-clear" }, field(name, input, { hint: type === "BYTES" ? "bytes, in Base64" : hint }), clear),
        read: () => {
        if (isGone || input.value === "" && type !== "STRING") return null;
        if (type === "REFERENCE" && held?.value?.recordName === input.value) return held.value;
        return read(type === "STRING" ? input.value : input.value.trim(), type);
    } };
}
