/// Records: any database and any user, by predicate or builder, with plan, selection, export and code.

import { api } from "../api.js";
import { withAuthor } from "../author.js";
import { inOrder } from "../ckdb.js";
import { isAsked, modify, orNothing, query as ask, schema as readSchema, zones as listZones } from "../data.js";
import { h, icon, put, uniqueID } from "../dom.js";
import { saveFile } from "../files.js";
import { form } from "../forms.js";
import { grid } from "../grid.js";
import { askToLook, looked, userInput } from "../look.js";
import { operators, operatorsOf, parse, print, PredicateError, request as makeRequest } from "../predicate.js";
import { isSealed, openRecord } from "../record.js";
import { here, href } from "../router.js";
import { askToDestroy, attempt, commands, dialog, toast, toastError } from "../shell.js";
import { firstRecord, noTypes, ofQuery } from "../snippets.js";
import { store } from "../store.js";
import { button, copy, elided, empty, iconButton, linkButton, number, plural, problem, progress, segments, select, skeleton, snippets,
    textInput, time } from "../ui.js";
import { text } from "../values.js";

const PAGE = 200;

const keyOf = (record) => `${record.zoneID?.zoneName ?? ""}\n${record.recordName}`;

const systemColumns = [
    { name: "___recordID", title: "Record name", width: 170, class: "mono", render: (record) => record.recordName },
    { name: "zone", title: "Zone", width: 124, render: (record) => record.zoneID?.zoneName ?? "" },
    { name: "___modTime", title: "Modified", width: 112, render: (record) => time(record.modified?.timestamp) },
    { name: "___createTime", title: "Created", width: 112, render: (record) => time(record.created?.timestamp) },
    { name: "tag", title: "Change tag", width: 110, render: (record) => record.recordChangeTag },
];

export default {
    async render(view, route) {
        view.classList.add("full", "records");
        put(view, h("div", { class: "view" }, h("h1", { class: "sr", tabindex: "-1" }, "Records"), skeleton()));
        const schema = await readSchema(route.place, { signal: route.signal });
        const types = schema.types.filter(isAsked);
        if (types.length === 0) {
            view.classList.remove("full");
            put(view, h("h1", { class: "sr", tabindex: "-1" }, "Records"), noTypes(route, linkButton("Add a type", here("schema"))));
            return undefined;
        }
        return browse(view, route, { schema, types });
    },
};

function browse(view, route, { schema, types }) {
    let now = {};
    let of;
    let rows = [];
    let marker;
    let plan = [];
    let seconds = 0;
    let isLoading = false;
    /// The next page, while it is on its way.
    let coming;
    /// Whether the next page was refused: it is asked for again by hand, and not by scrolling.
    let isStopped = false;
    let controller = new AbortController();
    let panel = null;
    let isBuilding = false;
    /// Whether the query is one that no index allows apps to ask for.
    let withoutIndexes = false;
    /// Records of the public database by type, once they are counted: `{ types, isWhole }`.
    let counts = null;
    let typePicker = null;

    // MARK: State of the URL

    function read(query) {
        const database = ["private", "shared"].includes(query.db) ? query.db : "public";
        const type = types.some((one) => one.name === query.type) ? query.type
            : (types.find((one) => one.fields.some((field) => field.name === "___recordID" && field.options.includes("QUERYABLE"))) ?? types[0]).name;
        return { database, type, user: query.user ?? "", zone: query.zone ?? firstZone(database),
            owner: database === "shared" ? query.owner : undefined,
            predicate: query.q ?? "", sort: query.sort ?? "", columns: query.cols ?? "", record: query.record, recordZone: query.rzone };
    }
    const firstZone = (database) => ({ private: "*", shared: "" })[database] ?? "_defaultZone";
    const isPublic = (state) => state.database === "public";
    const write = (state) => ({ db: state.database, user: isPublic(state) ? undefined : state.user,
        zone: isPublic(state) ? undefined : state.zone, owner: state.owner, type: state.type,
        q: state.predicate, sort: state.sort, cols: state.columns, record: state.record, rzone: state.record ? state.recordZone : undefined });
    const change = (changes) => route.go(write({ ...now, record: undefined, ...changes }));
    const recordLink = (record, zone) => href("records", write({ ...now, record, recordZone: zone }), route.place);
    const typeNow = () => schema.types.find((type) => type.name === now.type);
    const fieldsNow = () => Object.fromEntries(typeNow().fields.map((field) => [field.name, field]));

    // MARK: Parts

    const toolbar = h("div", { class: "records-bar" });
    const status = h("div", { class: "records-status", "aria-live": "polite" });
    const notice = h("div", { class: "records-notice" });
    const builder = h("div", { class: "builder", hidden: true });
    const side = h("aside", { class: "panel", hidden: true, "aria-label": "Record" });
    const list = grid({
        label: "Records", key: keyOf, onmore: () => isStopped || more().catch(() => {}), onselect: () => drawStatus(),
        onopen: (record) => route.go(write({ ...now, record: record.recordName, recordZone: record.zoneID?.zoneName })),
        onsort: (sort) => change({ sort }),
    });
    const place = h("div", { class: "grid-place" }, list.element);
    put(view, h("h1", { class: "sr", tabindex: "-1" }, "Records"), toolbar, builder, notice,
        h("div", { class: "records-body" }, place, side), status);

    const input = textInput({ class: "mono predicate", "data-filter": "", "aria-label": "Predicate", placeholder: "stars > 3 AND title BEGINSWITH \"Gro\"" });
    const fault = h("p", { class: "fault", id: uniqueID("fault"), role: "alert", hidden: true });
    input.addEventListener("input", () => check());

    function check() {
        try {
            const conditions = parse(input.value);
            makeRequest({ type: now.type, conditions, fields: fieldsNow() });
            input.removeAttribute("aria-invalid");
            fault.hidden = true;
            return conditions;
        } catch (error) {
            if (!(error instanceof PredicateError)) throw error;
            input.setAttribute("aria-invalid", "true");
            input.setAttribute("aria-describedby", fault.id);
            fault.hidden = false;
            fault.textContent = error.message + (error.at === undefined ? "" : `, at character ${error.at + 1}`);
            return null;
        }
    }

    function drawToolbar() {
        const zonePicker = !isPublic(now) && h("label", { class: "picker" }, h("span", {}, "Zone"), zoneField());
        put(toolbar,
            h("form", { class: "toolbar", onsubmit: (event) => event.preventDefault() },
                segments("Database", [["public", "Public"], ["private", "Private"],
                    ["shared", "Shared", "What others share with a user, as the user sees it"]], now.database,
                (database) => change({ database, zone: firstZone(database), owner: undefined })),
                !isPublic(now) && h("label", { class: "picker" }, h("span", { class: "sr" }, "User"), userInput({
                    value: now.user, onchange: (event) => change({ user: event.target.value.trim(),
                        zone: firstZone(now.database), owner: undefined }) }, { signal: route.signal })),
                zonePicker,
                h("label", { class: "picker" }, h("span", {}, "Type"),
                    typePicker = select(types.map((type) => [type.name, titleOf(type.name)]), now.type,
                        (type) => change({ type, sort: "", columns: "", predicate: "" }))),
                h("span", { class: "grow" }),
                button("New record", () => panelOf({ isNew: true }), { symbol: "plus", kind: "lead", asks: "POST records/modify" }),
                menu("Columns", "columns-3", columnsMenu), menu("Queries", "history", queriesMenu),
                menu("Export", "download", exportMenu), button("Code", () => showCode(), { symbol: "code", title: "Code" })),
            h("form", { class: "toolbar", onsubmit: (event) => { event.preventDefault(); if (check()) change({ predicate: input.value.trim() }); } },
                h("div", { class: "predicate-place" }, icon("search"), input, fault),
                button("Builder", (event) => { isBuilding = !isBuilding;
                    event.currentTarget.setAttribute("aria-expanded", String(isBuilding)); drawBuilder(); },
                    { symbol: "sliders-horizontal", "aria-expanded": String(isBuilding) }),
                button("Find", undefined, { kind: "main", type: "submit" })));
    }

    /// The number of public records of a type, as text; undefined where it is not known.
    function countOf(name) {
        const found = isPublic(now) ? counts?.types.find((one) => one.recordType === name)?.records ?? (counts?.isWhole ? 0 : undefined) : undefined;
        return found === undefined ? undefined : `${number(found)}${counts.isWhole ? "" : " or more"}`;
    }

    const titleOf = (name) => (countOf(name) === undefined ? name : `${name} (${countOf(name)})`);

    async function readCounts() {
        if (!isPublic(now)) return;
        counts = await api.get("schema/counts", route.place, { signal: route.signal }).catch(() => null);
        for (const option of typePicker?.options ?? []) option.textContent = titleOf(option.value);
        drawStatus();
    }

    /// A field for the zone: a list if a user is named, and otherwise a name.
    function zoneField() {
        if (!now.user) return textInput({ value: now.zone === "*" ? "" : now.zone, placeholder: "all zones",
            onchange: (event) => change({ zone: event.target.value.trim() || "*" }) });
        const isShared = now.database === "shared";
        // A name has no line feed: a zone that is shared is told by its name and its owner.
        const value = (zone, owner) => (isShared ? `${zone}\n${owner}` : zone);
        const chosen = value(now.zone, now.owner);
        const first = isShared ? [] : [["*", "All zones"]];
        const made = select([...first, ...(["*", ""].includes(now.zone) ? [] : [[chosen, now.zone]])], chosen, (picked) => {
            const [zone, owner] = picked.split("\n");
            change({ zone, owner });
        });
        if (looked.has(now.user)) listZones(of, { signal: route.signal }).then((found) => {
            put(made, [...first, ...found.map(({ zoneID }) => [value(zoneID.zoneName, zoneID.ownerRecordName),
                isShared ? `${zoneID.zoneName} of ${elided(zoneID.ownerRecordName, 14)}` : zoneID.zoneName])].map(([one, title]) => h("option",
                { value: one }, title)));
            made.value = chosen;
        }, () => {});
        return made;
    }

    /// A button with a menu that is made when it opens.
    function menu(title, symbol, make) {
        const popover = h("div", { class: "menu-list", popover: "auto", id: uniqueID("menu") });
        const opener = button(title, () => {
            put(popover, make(() => popover.hidePopover()));
            const box = opener.getBoundingClientRect();
            popover.style.top = `${box.bottom + 4}px`;
            popover.style.right = `${Math.max(8, innerWidth - box.right)}px`;
        }, { symbol, title, popovertarget: popover.id });
        return [opener, popover];
    }

    const item = (title, run, symbol) => h("button", { type: "button", class: "menu-item", onclick: run }, symbol && icon(symbol), title);

    function columnsMenu() {
        const shown = columnNames();
        const all = [...systemColumns.map((column) => [column.name, column.title]),
            ...typeNow().fields.filter((one) => !one.isSystem).map((one) => [one.name, one.name])];
        return [h("p", { class: "menu-title" }, "Columns"), all.map(([name, title]) => h("label", { class: "menu-item" },
            h("input", { type: "checkbox", checked: shown.includes(name), onchange: (event) => {
            const next = all.map(([one]) => one).filter((one) => (one === name ? event.target.checked : columnNames().includes(one)));
            now = { ...now, columns: next.join(",") };
            route.replace(write(now));
            drawColumns();
        } }), title))];
    }

    function columnNames() {
        if (now.columns) return now.columns.split(",");
        // A field that no record in sight has takes no column.
        const seen = new Set(rows.slice(0, 100).flatMap((record) => Object.keys(record.fields ?? {})));
        const fields = inOrder(typeNow().fields.filter((one) => !one.isSystem && (seen.size === 0 || seen.has(one.name))));
        return ["___recordID", ...(now.zone === "*" ? ["zone"] : []), ...fields.slice(0, 7).map((one) => one.name), "___modTime"];
    }

    function drawColumns() {
        const type = typeNow();
        list.setColumns(columnNames().map((name) => {
            const system = systemColumns.find((column) => column.name === name);
            const definition = type.fields.find((one) => one.name === name);
            const canSort = Boolean(definition) && !definition.isList && !definition.isEncrypted && !["ASSET", "BYTES"].includes(definition.type);
            if (system) return { ...system, canSort };
            const isNumber = !definition?.isList && ["INT64", "DOUBLE"].includes(definition?.type);
            return { name, title: name, width: isNumber ? 80 : definition?.type === "TIMESTAMP" ? 178 : 120,
                share: definition?.type === "STRING" ? 2 : 1, canSort, class: isNumber ? "number" : "", render: (record) => {
                const held = record.fields?.[name];
                return held?.isEncrypted ? h("span", { class: "faint" }, icon("lock"), " sealed") : text(held);
            } };
        }), now.sort);
    }

    // MARK: Builder

    function drawBuilder() {
        builder.hidden = !isBuilding;
        if (!isBuilding) return;
        let conditions;
        try {
            conditions = parse(input.value);
        } catch {
            conditions = [];
        }
        const fields = typeNow().fields.filter((one) => !one.isEncrypted && operatorsOf(one.type, one.isList).length > 0);
        const apply = () => {
            input.value = print(conditions);
            check();
        };
        const line = (condition) => {
            const definition = fields.find((one) => one.name === condition.field) ?? { type: "STRING" };
            const allowed = operatorsOf(definition.type, definition.isList);
            const value = h("input", { type: "text", "aria-label": "Value", value: [condition.value].flat().join(", "),
                placeholder: definition.type === "TIMESTAMP" ? "2026-01-31" : definition.type === "LOCATION"
                ? "latitude, longitude, metres" : "value", oninput: () => {
                const parts = condition.operator === "IN" || condition.operator === "NEAR"
                    ? value.value.split(",").map((part) => part.trim()).filter(Boolean) : [value.value];
                const typed = parts.map((part) => (["INT64", "DOUBLE", "LOCATION"].includes(definition.type) && part !== ""
                    && Number.isFinite(Number(part)) ? Number(part) : part));
                condition.value = condition.operator === "IN" || condition.operator === "NEAR" ? typed : typed[0] ?? "";
                apply();
            } });
            return h("div", { class: "builder-line" },
                select(["is", "not"].map((one) => [one, one === "is" ? "where" : "where not"]), condition.isNot ? "not" : "is",
                    (one) => { condition.isNot = one === "not"; apply(); }, { "aria-label": "Condition" }),
                select(fields.map((one) => one.name), condition.field,
                    (name) => { Object.assign(condition, { field: name, operator: operatorsOf(...typeOf(fields, name))[0], value: "" });
                    apply(); drawBuilder(); }, { "aria-label": "Field" }),
                select(allowed.map((one) => [one, operators[one].title]), condition.operator,
                    (one) => { condition.operator = one; apply(); drawBuilder(); }, { "aria-label": "Operator" }),
                value, iconButton("x", "Remove the condition", () => { conditions.splice(conditions.indexOf(condition), 1); apply();
                    drawBuilder(); }));
        };
        put(builder, conditions.map(line), h("div", { class: "toolbar" },
            button("Add a condition", () => {
                const first = fields.find((one) => one.options.includes("QUERYABLE") && !one.isSystem) ?? fields[0];
                conditions.push({ field: first.name, operator: operatorsOf(first.type, first.isList)[0], value: "", isNot: false });
                apply();
                drawBuilder();
            }, { symbol: "plus" }),
            h("label", { class: "picker" }, h("span", {}, "Sort by"),
                select([["", "record name"], ...typeNow().fields.filter((one) => !one.isList && !one.isEncrypted
                && !["ASSET", "BYTES"].includes(one.type)).flatMap((one) => [[one.name, one.name], [`-${one.name}`, `${one.name}, descending`]])],
                now.sort, (sort) => change({ sort, predicate: input.value.trim() })))));
    }

    const typeOf = (fields, name) => {
        const definition = fields.find((one) => one.name === name);
        return [definition.type, definition.isList];
    };

    // MARK: Queries that were asked

    const queriesOf = (kind) => store[kind].get()[route.container] ?? [];

    function remember(state) {
        if (!state.predicate && !state.sort) return;
        const { record, recordZone, columns, ...asked } = state;
        const others = queriesOf("recent").filter((one) => JSON.stringify(one) !== JSON.stringify(asked));
        store.recent.set({ ...store.recent.get(), [route.container]: [asked, ...others].slice(0, 12) });
    }

    const words = (one) => `${one.type}${one.predicate ? ` where ${one.predicate}` : ""}${one.sort ? `, by ${one.sort}` : ""}`;

    function queriesMenu(close) {
        const saved = queriesOf("queries");
        const open = (one) => { close(); route.go(write({ columns: "", ...one })); };
        return [
            item("Save this query", async () => { close(); await saveQuery(); }, "save"),
            saved.length > 0 && h("p", { class: "menu-title" }, "Saved"),
            saved.map((one) => h("div", { class: "menu-line" }, item(one.title, () => open(one.state), "save"),
                iconButton("x", `Forget ${one.title}`, () => {
                store.queries.set({ ...store.queries.get(), [route.container]: saved.filter((other) => other !== one) });
                close();
            }))),
            h("p", { class: "menu-title" }, "Asked lately"),
            queriesOf("recent").length === 0 ? h("p", { class: "menu-item faint" }, "Queries with a predicate stand here.")
                : queriesOf("recent").map((one) => item(words(one), () => open(one), "clock")),
        ];
    }

    async function saveQuery() {
        const { record, recordZone, ...state } = now;
        const title = await form({ title: "Save this query", confirm: "Save", run: ({ name }) => name.trim(),
            fields: [{ name: "name", label: "Name", value: words(now), required: true, maxlength: "120", hint: "Kept in this browser." }] });
        if (title) store.queries.set({ ...store.queries.get(), [route.container]: [...queriesOf("queries"), { title, state }] });
    }

    // MARK: Export and code

    const fileName = (extension) => `${now.type}-${route.environment}.${extension}`;

    const save = (content, name, type) => saveFile(new Blob(content, { type }), name);

    function exportMenu(close) {
        const chosen = list.selection.size;
        const run = (kind) => async () => {
            close();
            const records = chosen ? rows.filter((record) => list.selection.has(keyOf(record))) : await all();
            if (!records) return;
            if (kind === "json") save(records.map((record) => JSON.stringify(record) + "\n"), fileName("jsonl"), "application/jsonl");
            else {
                const names = typeNow().fields.filter((one) => !one.isSystem).map((one) => one.name);
                // A cell that a spreadsheet would take for a formula gets an apostrophe.
                const cell = (value) => `"${String(value ?? "").replace(/^(?![+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:, -?\d+(?:\.\d+)?)*$)[=+\-@\t\r\n]/i, "'$&").replaceAll("\"", "\"\"")}"`;
                save([[["recordName", "zone", ...names].map(cell).join(",") + "\r\n"],
                    ...records.map((record) => [record.recordName, record.zoneID?.zoneName,
                    ...names.map((name) => text(record.fields?.[name]))].map(cell).join(",") + "\r\n")].flat(), fileName("csv"), "text/csv");
            }
            toast(`${plural(records.length, "record")} exported`, { tone: "good" });
        };
        const what = chosen ? plural(chosen, "selected record") : "all that the query finds";
        return [h("p", { class: "menu-title" }, `Export ${what}`), item("JSON, a line for each", run("json"), "file-code"),
            item("CSV, for spreadsheets", run("csv"), "table")];
    }

    /// Loads all pages, with a dialog that shows how far it is; null if it was closed.
    async function all() {
        if (!marker) return rows;
        isStopped = false;
        let isOver = false;
        const closed = dialog("Loading", (close) => {
            const bar = h("div", {}, progress(`${number(rows.length)} records`));
            (async () => {
                while (marker && !isOver) {
                    await more();
                    put(bar, progress(`${number(rows.length)} records`));
                }
                close(true);
            })().catch((error) => { toastError(error); close(); });
            return h("div", { class: "stack" }, bar, h("div", { class: "actions end" }, button("Cancel", () => close())));
        });
        const isDone = await closed;
        isOver = true;
        return isDone ? rows : null;
    }

    function showCode() {
        let conditions;
        try {
            conditions = parse(now.predicate);
        } catch {
            conditions = [];
        }
        dialog("This query as code", () => snippets(ofQuery({ ...route.place, ...now, conditions, fields: fieldsNow() })), { className: "wide" });
    }

    // MARK: Asking

    function makeBody() {
        return makeRequest({ type: now.type, conditions: parse(now.predicate), sort: now.sort,
            zone: isPublic(now) ? undefined : now.zone, owner: now.owner, fields: fieldsNow(), limit: PAGE, marker });
    }

    /// The next page, for all who ask while it is on its way.
    const more = () => (coming ??= next().finally(() => { coming = undefined; }));

    async function next() {
        if (isLoading || !marker) return;
        isLoading = true;
        const mine = controller;
        try {
            const page = await ask(of, makeBody(), { signal: mine.signal, withoutIndexes });
            if (mine !== controller) return;
            rows.push(...page.records);
            marker = page.marker;
            list.grow();
            drawStatus();
        } catch (error) {
            if (mine === controller) {
                isStopped = true;
                toastError(error);
            }
            throw error;
        } finally {
            if (mine === controller) isLoading = false;
        }
    }

    async function find() {
        controller.abort();
        controller = new AbortController();
        const mine = controller;
        isLoading = true;
        isStopped = false;
        marker = undefined;
        rows = [];
        plan = [];
        list.clearSelection();
        list.setRows(rows, true);
        put(notice);
        if (!isPublic(now) && !now.user) return show(empty(now.database === "private" ? "Whose private database?" : "Shared with whom?",
            "Give an e-mail address or a user record name above. Each look is written to the audit log.", [], []));
        if (!isPublic(now) && !looked.has(now.user)) {
            return show(askToLook(now.user, () => { drawToolbar(); find().then(showRecord); }, now.database === "shared"));
        }
        put(place, h("div", { class: "pad" }, skeleton(9)));
        // A query of a shared database names its zone.
        if (now.database === "shared" && !now.zone) return firstShared(mine);
        const start = performance.now();
        try {
            withoutIndexes = false;
            let page;
            try {
                page = await ask(of, makeBody(), { signal: mine.signal }).catch(orNothing({ records: [], lines: [] }));
            } catch (error) {
                if (!missingIndex(error)) throw error;
                withoutIndexes = true;
                page = await ask(of, makeBody(), { signal: mine.signal, withoutIndexes });
                put(notice, indexNote(error));
            }
            // A page may be empty although more follows: go on until there is one to show.
            while (page.records.length === 0 && page.marker && mine === controller) {
                marker = page.marker;
                page = await ask(of, makeBody(), { signal: mine.signal, withoutIndexes });
            }
            if (mine !== controller) return undefined;
            seconds = (performance.now() - start) / 1000;
            ({ records: rows, marker, lines: plan } = page);
            isLoading = false;
            remember(now);
            if (rows.length === 0) show(nothing());
            else {
                put(place, list.element);
                drawColumns();
                list.setRows(rows, true);
            }
            drawStatus();
        } catch (error) {
            if (error.name === "AbortError" || mine !== controller) return undefined;
            isLoading = false;
            show(refusal(error));
        }
        return undefined;
    }

    async function firstShared(mine) {
        try {
            const [first] = await listZones(of, { signal: mine.signal });
            if (mine !== controller) return undefined;
            if (!first) return show(empty(`Nobody shares a zone with ${now.user}`, "A shared zone is here once the user has accepted its share.",
                [], [linkButton("Shares of a user", here("shares"))]));
            now = { ...now, zone: first.zoneID.zoneName, owner: first.zoneID.ownerRecordName };
            of = { ...of, owner: now.owner };
            route.replace(write(now));
            drawToolbar();
            return find();
        } catch (error) {
            return error.name === "AbortError" || mine !== controller ? undefined : show(problem(error));
        }
    }

    function show(node) {
        isLoading = false;
        put(place, h("div", { class: "pad" }, node));
        drawStatus();
    }

    function nothing() {
        if (now.predicate) return empty("Nothing matches", `No ${now.type} passes ${now.predicate}`, [],
            [button("Clear the predicate", () => { input.value = ""; change({ predicate: "" }); })]);
        return empty(`No records of type ${now.type} here`, "Records stand here as soon as an app saves them.",
            firstRecord(route.place),
            now.database === "shared" ? [] : [button("New record", () => panelOf({ isNew: true }), { symbol: "plus", kind: "main" })]);
    }

    function refusal(error) {
        if (error instanceof PredicateError) return problem({ reason: error.message, remedy: "The predicate above says where." });
        return h("div", { class: "stack" }, problem(error), missingIndex(error) && indexNote(error));
    }

    /// The index for want of which a query was refused: `{ name, option }`.
    function missingIndex(error) {
        const wanted = /not marked (queryable|sortable|searchable|indexable)/.exec(error.reason ?? "");
        if (!wanted) return undefined;
        const isOfType = wanted[1] === "indexable" || !error.field || error.field === "recordType" || error.field === "recordName";
        return { name: isOfType ? "___recordID" : error.field, option: { queryable: "QUERYABLE", sortable: "SORTABLE",
            searchable: "SEARCHABLE", indexable: "QUERYABLE" }[wanted[1]] };
    }

    /// Says that apps cannot ask this, and adds the index that lets them.
    function indexNote(error) {
        const { name, option } = missingIndex(error);
        const definition = typeNow().fields.find((one) => one.name === name);
        return h("div", { class: "note info" }, h("span", { class: "grow" },
            `Your app could not ask this: ${now.type}.${name} has no ${option.toLowerCase()} index.`),
            route.isProduction ? linkButton("Deploy it from development", here("deploy"), { asks: "POST schema/deploy" }) : button("Add the index", async () => {
                if (await attempt(() => api.post("schema/indexes", { container: route.container, recordType: now.type, field: name,
                    options: [...new Set([...(definition?.options ?? []), option])] }),
                `${now.type}.${name} is ${option.toLowerCase()} now. Production has it after a deployment.`)) route.reload();
            }, { kind: "main", symbol: "plus" }));
    }

    const ofAll = () => (now.predicate || countOf(now.type) === undefined ? "and more" : `of ${countOf(now.type)}`);

    function drawStatus() {
        const chosen = list.selection.size;
        put(status,
            chosen > 0 ? h("div", { class: "row" }, h("strong", {}, `${number(chosen)} selected`),
                button("Copy names", (event) => copy([...list.selection].map((key) => key.split("\n")[1]).join("\n"), event.currentTarget),
                    { symbol: "copy", kind: "quiet" }),
                button("Delete", () => removeSelected(), { symbol: "trash-2", kind: "danger", asks: "POST records/modify" }),
                    button("Clear", () => list.clearSelection(), { kind: "quiet" }))
                : h("span", {}, rows.length ? `${number(rows.length)} ${marker ? ofAll() : rows.length === 1 ? "record" : "records"}` : ""),
            marker && button("Load all", () => all(), { kind: "quiet" }),
            h("span", { class: "grow" }),
            plan.length > 0 && h("details", { class: "plan" }, h("summary", {}, `Plan: ${plan.at(-1)}`, h("span", { class: "faint" },
                ` · ${(seconds * 1000).toFixed(0)} ms`)), h("ol", {}, plan.map((line) => h("li", {}, line)))));
    }

    // MARK: Records

    async function removeSelected() {
        const chosen = rows.filter((record) => list.selection.has(keyOf(record)));
        const sealed = chosen.filter((record) => Object.values(record.fields ?? {}).some(isSealed)).length;
        if (!await askToDestroy({ title: `Delete ${plural(chosen.length, "record")}?`, confirm: "Delete", text: sealed
            ? `Apps hear of it at once. ${plural(sealed, "record has", "records have")} files or sealed values, which an undo does not bring back.`
                : "Apps hear of it at once. You can undo it right after." })) return;
        const as = await withAuthor(of);
        if (!as) return;
        await attempt(async () => {
            const failures = (await modifyAll(as, chosen, ({ recordName }) => ({ operationType: "forceDelete", record: { recordName } })))
                .filter((one) => one.serverErrorCode);
            readCounts();
            toast(`${plural(chosen.length - failures.length, "record")} deleted${failures.length ? `; ${failures.length} refused: ${failures[0].reason}` : ""}`,
                { tone: failures.length ? "bad" : "good", action: { title: "Undo", run: () => restore(chosen) } });
        });
        find();
    }

    /// The answers to an operation on each record, zone by zone.
    async function modifyAll(as, records, operation) {
        const answers = [];
        for (const zone of new Set(records.map((record) => record.zoneID?.zoneName))) {
            const group = records.filter((record) => record.zoneID?.zoneName === zone).map(operation);
            for (let at = 0; at < group.length; at += PAGE) answers.push(...await modify(as, group.slice(at, at + PAGE), zone));
        }
        return answers;
    }

    async function restore(records) {
        const as = await withAuthor(of);
        if (!as) return;
        await attempt(() => modifyAll(as, records, ({ recordName, recordType, parent, fields }) => ({ operationType: "create", record: {
            recordName, recordType, ...(parent ? { parent: { recordName: parent.recordName } } : {}),
            fields: Object.fromEntries(Object.entries(fields).filter(([, held]) => !isSealed(held))) } })), "Undone");
        find();
    }

    function closePanel() {
        const hadFocus = side.contains(document.activeElement);
        side.hidden = true;
        put(side);
        if (hadFocus) list.element.focus();
        panel?.close?.();
        panel = null;
        view.classList.remove("has-panel");
    }

    function panelOf(what) {
        closePanel();
        side.hidden = false;
        view.classList.add("has-panel");
        panel = openRecord(side, {
            ...what, of, schema, type: typeNow(), zone: what.zone ?? (now.zone === "*" ? "_defaultZone" : now.zone),
                link: recordLink, signal: route.signal, isPrivate: now.database === "private", isPublic: isPublic(now),
            onclose: () => (now.record ? route.go(write({ ...now, record: undefined })) : closePanel()),
            onsaved: (record) => {
                const at = rows.findIndex((one) => keyOf(one) === keyOf(record));
                if (at >= 0) rows[at] = record;
                else if (record.recordType === now.type) rows.unshift(record);
                if (!list.element.isConnected) put(place, list.element);
                list.setRows(rows);
                readCounts();
            },
            ondeleted: (record) => {
                readCounts();
                rows = rows.filter((one) => keyOf(one) !== keyOf(record));
                list.setRows(rows);
                if (rows.length === 0) show(nothing());
                if (now.record) route.go(write({ ...now, record: undefined }));
                else closePanel();
            },
            restore,
        });
    }

    async function showRecord() {
        if (!now.record) {
            closePanel();
            list.setCurrent(undefined);
            return;
        }
        if (!isPublic(now) && !looked.has(now.user)) return;
        const zone = now.recordZone ?? "_defaultZone";
        list.setCurrent(`${zone}\n${now.record}`);
        panelOf({ name: now.record, zone, known: rows.find((one) => keyOf(one) === `${zone}\n${now.record}`) });
    }

    async function update(next) {
        const before = now;
        now = read(next.query);
        of = { ...route.place, database: now.database, user: now.user, owner: now.owner };
        const isSame = ["database", "user", "zone", "owner", "type", "predicate", "sort"].every((name) => before[name] === now[name]);
        if (!isSame) {
            input.value = now.predicate;
            drawToolbar();
            drawBuilder();
            check();
        }
        if (!isSame) {
            rows = [];
            drawColumns();
            await find();
            if (!counts) readCounts();
        } else if (before.columns !== now.columns) drawColumns();
        if (!isSame || before.record !== now.record || before.recordZone !== now.recordZone) await showRecord();
    }

    commands.ofPage = types.map((type) => ({ title: `Records of ${type.name}`, hint: "Type", symbol: "table-2",
        run: () => change({ type: type.name, sort: "", columns: "", predicate: "" }) }));
    const onkeydown = (event) => {
        if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey) return;
        if (event.key === "Escape" && !side.hidden) {
            if (now.record) route.go(write({ ...now, record: undefined }));
            else closePanel();
            list.element.focus();
        } else if (event.key === "e" && panel?.edit) {
            event.preventDefault();
            panel.edit();
        }
    };
    view.addEventListener("keydown", onkeydown);
    update(route);
    return { update, close: () => { controller.abort(); list.close(); panel?.close?.(); } };
}
