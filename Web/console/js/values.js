/// Values of records: as a text in a row, as a part of a page, and as a field of a form.

import { h, icon, put, svg } from "./dom.js";
import { absolute, badge, bytes, button, field, id, textInput, time } from "./ui.js";

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
        Array.isArray(value) ? `Sealed: ${value.length} values` : `Sealed: ${bytes(value.size ?? sealedBytes(value))}`,
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

/// Land in squares of 3 degrees: 120 columns from 180° west, rows from 84° north. The lengths of sea and land in turn, as characters from 0 on.
const land = "Q55:o0P91@:112G1b1654?Y3Z32111518<I18=1151C2<521175:@2=N714L3337@83[01212I11425462931d5H5282@41]1113925?55C131122W61F?36B1413W62G@"
    + "17@1112]51IEE`ODD_QBD511153P21OAE35VT@F3711O2131Q>H68L42S<H8222MZ641GD1G[014KF3D]2LA173?_32151BA255434d4HB14635441a2FF9263g133AF82"
    + "81j6@E@171d9C>F1g9D<B132f<B;D122f>A9E1:3]?@9Q3]>A8o0C<A:21J221`;A922H511a:A831H9`9C722F<^8E6K=]8E6K=]7G4M<]6H1P164]6o03381T4o0@1U2"
    + "o0@1U3o0?1V2o0g2o0o0o0o0o0o0o0o0o0o0858D`4H24=1N";
let dots;

/// A small map of the world with marks, drawn of dots. `[{ latitude, longitude }]`
export function map(places) {
    let at = 0;
    dots ??= [...land].map((length, index) => {
        let line = "";
        for (const end = at + length.charCodeAt(0) - 48; at < end; at += 1) {
            if (index % 2) line += `M${(at % 120) * 3 + 1.5} ${Math.floor(at / 120) * 3 + 1.5}h0`;
        }
        return line;
    }).join("");
    const marks = places.filter((place) => Number.isFinite(place?.latitude)
        && Number.isFinite(place?.longitude)).map((place) => [place.longitude + 180, 84 - place.latitude]);
    return svg("svg", { class: "map", viewBox: "0 0 360 156", role: "img",
        "aria-label": `Map: ${places.map((place) => text({ value: place, type: "LOCATION" })).join("; ")}` },
        svg("path", { d: dots, class: "land" }),
        marks.map(([x, y]) => svg("g", { class: "mark" }, svg("path", { d: `M${x} 0V156M0 ${y}H360` }), svg("circle", { cx: x, cy: y, r: 3.6 }))));
}

// MARK: Forms

const localDate = (value) => absolute(value, false).replace(" ", "T");

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
        : textInput({ inputmode: type === "INT64" ? "numeric" : type === "DOUBLE" ? "decimal" : "text", value: initial });
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
