/// Types, fields and indexes of a place, with what each index costs and when a query last needed it; and the diagram of references.

import { api } from "../api.js";
import { inOrder, typeText } from "../ckdb.js";
import { answer, isAsked, query, schema as readSchema } from "../data.js";
import { h, icon, put, svg } from "../dom.js";
import { form } from "../forms.js";
import { here } from "../router.js";
import { attempt, toast } from "../shell.js";
import { noTypes } from "../snippets.js";
import { may } from "../store.js";
import { badge, button, card, header, linkButton, number, plural, problem, segments, skeleton, table, time } from "../ui.js";
import { request } from "../predicate.js";

const OPTIONS = ["QUERYABLE", "SORTABLE", "SEARCHABLE"];
const TYPES = ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "LOCATION", "REFERENCE", "ASSET", "BYTES"];

/// The options that a field of a type can have.
const optionsOf = (one) => (one.isEncrypted || ["ASSET", "BYTES"].includes(one.type) ? []
    : OPTIONS.filter((option) => (option !== "SEARCHABLE" || one.type === "STRING")
    && (option !== "SORTABLE" || !one.isList && (one.type !== "REFERENCE" || one.isSystem))));

export default {
    async render(view, route) {
        const [schema, made] = await Promise.all([readSchema(route.place, { signal: route.signal }),
            api.get("schema/indexes", route.place, { signal: route.signal })]);
        const indexesOf = (type, name) => made.indexes.filter((one) => one.recordType === type
            && (name === undefined || one.field === name || one.field.split("+").includes(name)));
        const views = segments("View", [["", "Types"], ["diagram", "Diagram"]], "", (view) => route.go({ type: route.query.type, view }));
        const body = h("div", { class: "stack" });
        // Counting takes longer than the page: the numbers come when they are there.
        let counts;
        const cells = new Map();
        const count = (name) => {
            if (!counts) return "";
            const records = counts.types.find((one) => one.recordType === name)?.records ?? 0;
            return counts.isWhole ? number(records) : `${number(records)} or more`;
        };
        const cell = (name) => cells.set(name, h("span", {}, count(name))).get(name);
        if (may("GET schema/counts")) api.get("schema/counts", route.place, { signal: route.signal }).then((found) => {
            counts = found;
            for (const [name, one] of cells) put(one, count(name));
        }, () => {});
        put(view, header("Types and indexes", {
            sub: `Version ${schema.version}. ${route.isProduction ? "Production takes what a deployment brings, and no other change." : "An app's first save makes types and fields here; production gets them by a deployment."}`,
            actions: [views, linkButton("Schema file", here("ckdb"), { symbol: "file-code" }),
                !route.isProduction && button("Add a field", () => addField(), { symbol: "plus", kind: "main", asks: "POST schema/indexes" })],
        }), body);

        function draw({ query: asked }) {
            [...views.children].forEach((one, at) => one.setAttribute("aria-pressed", String(at === Number(asked.view === "diagram"))));
            if (asked.view === "diagram") return put(body, diagram(schema, route));
            if (schema.types.filter(isAsked).length === 0) {
                return put(body, noTypes(route, button("Add a type", () => addField(), { kind: "main" })));
            }
            const chosen = schema.types.find((type) => type.name === asked.type) ?? schema.types.find(isAsked);
            return put(body, h("div", { class: "split" },
                table({ label: "Record types", rows: schema.types, key: (type) => type.name, current: chosen.name,
                    onopen: (type) => route.go({ ...asked, type: type.name, view: undefined }), columns: [
                    { title: "Type", render: (type) => h("span", { class: "mono" }, type.name) },
                    { title: "Fields", class: "number", render: (type) => type.fields.filter((one) => !one.isSystem).length },
                    ...(may("GET schema/counts") ? [{ title: "Public records", class: "number", render: (type) => cell(type.name) }] : []),
                    { title: "Built", class: "number", render: (type) => indexesOf(type.name).length }] }), details(chosen)));
        }

        function details(type) {
            const fields = [...type.fields.filter((one) => one.isSystem), ...inOrder(type.fields.filter((one) => !one.isSystem))];
            return h("div", { class: "stack" }, card(null,
                h("div", { class: "row" }, h("h2", { class: "mono grow" }, type.name),
                    isAsked(type) && linkButton("Records", here("records", { type: type.name }),
                        { symbol: "table-2", asks: "POST query/explain" })),
                table({ label: `Fields of ${type.name}`, rows: fields, columns: [{ title: "Field", class: "mono", key: "name" },
                    { title: "Type", class: "mono", render: (one) => h("span", { class: "soft" }, one.isEncrypted && icon("lock", "encrypted"), " ",
                        typeText({ ...one, isEncrypted: false })) },
                    { title: "Indexes", render: (one) => h("div", { class: "row tight" }, optionsOf(one).map((option) => toggle(type, one, option))) },
                    { title: "Built for queries", render: (one) => (schema.building.includes(`${type.name}.${one.name}`) ? badge("building", "warn")
                        : indexesOf(type.name, one.name).length > 0 && badge(plural(indexesOf(type.name, one.name).length, "index", "indexes"),
                            "good")) }] })),
            card("Indexes that queries made", made.indexes.filter((one) => one.recordType === type.name).length === 0
                ? h("p", { class: "soft" }, "None yet: the server builds an index when a query needs one, and takes it away a month after the last.")
                : table({ label: "Built indexes", rows: indexesOf(type.name), key: (one) => `${one.field} ${one.kind}`, columns: [
                    { title: "Field", render: (one) => h("span", { class: "mono" }, one.field) },
                        { title: "Kind", render: (one) => one.kind },
                        { title: "State", render: (one) => badge(one.state, one.state === "usable" ? "good" : "warn") },
                    { title: "Last used", render: (one) => (one.lastUsed ? time(one.lastUsed)
                        : h("span", { class: "faint" }, "not within a month")) }, { title: "Cost", render: (one) => one.cost },
                        { title: "Made for", render: (one) => h("span", { class: "mono" }, one.query ?? "") },
                    { title: "Kept", render: (one) => (route.isProduction ? (one.isPinned ? "pinned" : "")
                        : h("label", { class: "row" }, h("input", { type: "checkbox", checked: one.isPinned, onchange: (event) => pin(one,
                        event.target.checked) }), "pin")) }] })),
            card("Grants in the public database", type.grants.length === 0 ? h("p", { class: "soft" }, "None.") : h("div",
                { class: "stack tight" }, type.grants.map((grant) => h("div", { class: "row" }, h("span", { class: "mono" }, grant.role),
                grant.permissions.map((one) => badge(one.toLowerCase())))), linkButton("Roles", here("roles"), { kind: "quiet", asks: "GET roles" }))));
        }

        function toggle(type, one, option) {
            const isOn = one.options.includes(option);
            return h("button", { type: "button", class: "toggle", "aria-pressed": String(isOn), disabled: route.isProduction || !may("POST schema/indexes"),
                title: route.isProduction ? "Indexes of production come by a deployment" : isOn ? `Take the index away`
                : `Let apps ask by ${one.name}`, onclick: async (event) => {
                event.currentTarget.disabled = true;
                if (await attempt(() => api.post("schema/indexes", { container: route.container, recordType: type.name, field: one.name, options: isOn
                    ? one.options.filter((other) => other !== option) : [...one.options, option] }),
                `${type.name}.${one.name}: ${option.toLowerCase()} ${isOn ? "taken away" : "added"}`)) route.reload();
                else event.target.disabled = false;
            } }, option.toLowerCase());
        }

        const pin = (index, isPinned) => attempt(() => api.post("schema/indexes", { container: route.container, recordType: index.recordType,
            field: index.field, isPinned }),
        isPinned ? "The index stays, even if no query needs it." : "The index goes when no query needs it for a month.");

        async function addField() {
            const made = await form({ title: "Add a field", confirm: "Add", fields: [
                h("datalist", { id: "types" }, schema.types.filter(isAsked).map((type) => h("option", { value: type.name }))),
                { name: "type", label: "Record type", list: "types", value: route.query.type ?? "", required: true, hint: "A new name makes a new type." },
                { name: "field", label: "Field", required: true, class: "mono" },
                { name: "kind", label: "Type of its values", options: TYPES.flatMap((one) => [one, `LIST<${one}>`]), value: "STRING" },
                ...OPTIONS.map((option) => ({ name: option, label: `Index: ${option.toLowerCase()}`, type: "checkbox" }))],
            run: async (values) => {
                await api.post("schema/indexes", { container: route.container, recordType: values.type.trim(), field: values.field.trim(),
                    fieldType: values.kind, options: OPTIONS.filter((option) => values[option]) });
                return values.type.trim();
            } });
            if (made) {
                toast("Added to development", { tone: "good" });
                route.go({ type: made });
                route.reload();
            }
        }

        draw(route);
        return { update: draw };
    },
};

// MARK: Diagram

/// Types as boxes, and references as lines to what the first records of the public database refer to.
function diagram(schema, route) {
    const types = schema.types.filter(isAsked);
    const place = h("div", { class: "stack" }, skeleton(4));
    (async () => {
        const edges = [];
        const unknown = [];
        await Promise.all(types.map(async (type) => {
            const references = type.fields.filter((one) => !one.isSystem && one.type === "REFERENCE");
            if (references.length === 0) return;
            const of = { ...route.place, database: "public" };
            const records = await query(of, request({ type: type.name, limit: 30 }), { signal: route.signal }).then((page) => page.records, () => []);
            for (const reference of references) {
                const names = [...new Set(records.flatMap((record) => [record.fields[reference.name]?.value
                    ?? []].flat().map((value) => value.recordName)))].slice(0, 10);
                const found = names.length ? (await answer("records/lookup", of, { records: names.map((recordName) => ({ recordName })) },
                    { signal: route.signal })).records : [];
                const targets = [...new Set(found.map((record) => record.recordType).filter(Boolean))];
                for (const target of targets) edges.push({ from: type.name, to: target, field: reference.name });
                if (targets.length === 0) unknown.push(`${type.name}.${reference.name}`);
            }
        }));
        put(place, draw(types, edges), unknown.length > 0 && h("p", { class: "soft" },
            `No public record tells where these refer to: ${unknown.join(", ")}.`));
    })().catch((error) => error.name !== "AbortError" && put(place, problem(error)));
    return place;
}

function draw(types, edges) {
    const [width, line, gapX, gapY] = [210, 17, 90, 30];
    const columns = Math.max(1, Math.min(4, Math.ceil(Math.sqrt(types.length))));
    const heights = Array(columns).fill(14);
    const boxes = new Map(types.map((type, index) => {
        const column = index % columns;
        const fields = inOrder(type.fields.filter((one) => !one.isSystem));
        const box = { type, fields, x: 14 + column * (width + gapX), y: heights[column], height: 34 + fields.length * line + 8 };
        heights[column] += box.height + gapY;
        return [type.name, box];
    }));
    const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
    return h("div", { class: "card diagram", tabindex: "0", role: "region", "aria-label": "Diagram" },
        svg("svg", { viewBox: `0 0 ${columns * (width + gapX) - gapX + 28} ${Math.max(...heights)}`, role: "img",
        "aria-label": `${types.length} types. ${edges.map((edge) => `${edge.from}.${edge.field} refers to ${edge.to}`).join("; ")}`,
        style: { "max-width": `${columns * (width + gapX)}px` } },
        [...boxes.values()].map((box) => svg("g", {}, svg("rect", { x: box.x, y: box.y, width, height: box.height, rx: 8, class: "box" }),
            svg("path", { d: `M${box.x} ${box.y + 30}h${width}`, class: "rule" }),
            svg("text", { x: box.x + 12, y: box.y + 20, class: "name" }, clip(box.type.name, 24)),
            box.fields.map((one, index) => [svg("text", { x: box.x + 12, y: box.y + 48 + index * line, class: "field-name" },
                clip(one.name, 15)), svg("text", { x: box.x + width - 12, y: box.y + 48 + index * line, "text-anchor": "end",
                class: "type-name" }, typeText({ ...one, isEncrypted: false }).toLowerCase())]))),
        edges.filter((edge) => boxes.has(edge.to)).map((edge) => {
            const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
            const y = from.y + 44 + from.fields.findIndex((one) => one.name === edge.field) * line;
            const isRight = to.x > from.x;
            const [x1, x2] = [isRight ? from.x + width : from.x, isRight ? to.x : to.x + width];
            const bend = from === to || from.x === to.x ? -40 : isRight ? 45 : -45;
            const [start, end] = from.x === to.x ? [from.x, to.x] : [x1, x2];
            return svg("g", { class: "edge" },
                svg("path", { d: `M${start} ${y}C${start + bend} ${y} ${end - (from.x === to.x ? -bend : bend)} ${to.y + 15} ${end} ${to.y + 15}` }),
                svg("circle", { cx: end, cy: to.y + 15, r: 3.5 }));
        })));
}
