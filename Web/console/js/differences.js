/// Differences of schemas, as lists: what an import, a deployment or an undo makes.

import { h } from "./dom.js";
import { badge } from "./ui.js";

const name = ({ role, recordType, field }) => (role ? `role ${role}` : field ? `${recordType}.${field}` : recordType);

const line = (kind, sign, ...parts) => h("li", { class: kind }, h("span", { class: "sign", "aria-hidden": "true" }, sign), parts);

/// Lines with + - and ~: `[{ recordType, field, role, before, after }]`.
export function differences(list) {
    return h("ul", { class: "diff" }, list.map((one) => {
        const kind = one.before === undefined ? "added" : one.after === undefined ? "removed" : "changed";
        return line(kind, { added: "+", removed: "−", changed: "~" }[kind], h("span", { class: "sr" }, kind), h("span", { class: "mono" }, name(one)),
            h("span", { class: "mono soft" }, kind === "changed" ? `${one.before} → ${one.after}` : one.after ?? one.before));
    }));
}

const kinds = { recordType: "type", field: "field", role: "role", grants: "grants", options: "options", subscription: "subscriptions",
    madeIndex: "built index" };

/// What production gains by a deployment.
export function gains(list) {
    return h("ul", { class: "diff" }, list.map((one) => line(one.kind === "grants" ? "changed" : "added", one.kind === "grants" ? "~" : "+",
        h("span", { class: "mono" }, name(one)), h("span", { class: "mono soft" }, one.declaration), badge(kinds[one.kind] ?? one.kind))));
}

/// Queries that a change breaks: what apps asked within a month.
export function broken(list) {
    if (!list?.length) return null;
    return h("div", { class: "stack tight" }, h("h3", {}, "Queries that would break"),
        h("ul", { class: "diff" }, list.map((one) => line("removed", "!", h("span", { class: "mono" }, one.query),
        h("span", { class: "soft" }, [one.reason, one.remedy].filter(Boolean).join(". "))))));
}
