/// Differences of schemas, as lists: what an import, a deployment or an undo makes.

import { h } from "./dom.js";
import { badge } from "./ui.js";

const name = ({ role, recordType, field }) => (role ? `role ${role}` : field ? `${recordType}.${field}` : recordType);

/// Lines with + - and ~: `[{ recordType, field, role, before, after }]`.
export function differences(list) {
    return h("ul", { class: "diff" }, list.map((one) => {
        const kind = one.before === undefined ? "added" : one.after === undefined ? "removed" : "changed";
        return h("li", { class: kind }, h("span", { class: "sign", "aria-label": kind }, { added: "+", removed: "−", changed: "~" }[kind]),
            h("span", { class: "mono" }, name(one)),
            h("span", { class: "mono soft" }, kind === "changed" ? `${one.before} → ${one.after}` : one.after ?? one.before));
    }));
}

const kinds = { recordType: "type", field: "field", role: "role", grants: "grants", options: "options", subscription: "subscriptions",
    madeIndex: "built index" };

/// What production gains by a deployment.
export function gains(list) {
    return h("ul", { class: "diff" }, list.map((one) => h("li", { class: one.kind === "grants" ? "changed" : "added" },
        h("span", { class: "sign", "aria-hidden": "true" }, one.kind === "grants" ? "~" : "+"),
        h("span", { class: "mono" }, name(one)), h("span", { class: "mono soft" }, one.declaration), badge(kinds[one.kind] ?? one.kind))));
}

/// Queries that a change breaks: what apps asked within a month.
export function broken(list) {
    if (!list?.length) return null;
    return h("div", { class: "stack tight" }, h("h3", {}, "Queries that would break"),
        h("ul", { class: "diff" }, list.map((one) => h("li", { class: "removed" }, h("span", { class: "sign", "aria-hidden": "true" }, "!"),
        h("span", { class: "mono" }, one.query), h("span", { class: "soft" }, `${one.reason}${one.remedy ? `. ${one.remedy}` : ""}`)))));
}
