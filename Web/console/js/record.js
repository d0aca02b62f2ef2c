/// One record in a panel: shown, edited, deleted; a conflict shows both versions.

import { authorLine, withAuthor } from "./author.js";
import { inOrder, wireType } from "./ckdb.js";
import { isAsked, lookup, modify, sendFile, taken } from "./data.js";
import { h, put } from "./dom.js";
import { fileView } from "./files.js";
import { here } from "./router.js";
import { share } from "./share.js";
import { askToDestroy, attempt, dialog, toast } from "./shell.js";
import { ofRecord } from "./snippets.js";
import { may } from "./store.js";
import { badge, button, code, empty, field, iconButton, id, pairs, problem, progress, skeleton, tabbed, table, textInput, time } from "./ui.js";
import { editor, full, text } from "./values.js";

/// Whether a value is one that no save brings back: sealed by an app, or a file.
export const isSealed = (held) => held.isEncrypted || held.type?.startsWith("ASSET");

/// Operations on a version of a record, which the server refuses on a newer one.
const update = ({ recordName, recordType, recordChangeTag }, fields) => ({ operationType: "update",
    record: { recordName, recordType, recordChangeTag, fields } });
const deletion = ({ recordName, recordChangeTag }) => ({ operationType: "delete", record: { recordName, recordChangeTag } });

/// Opens a record in an element. `what` has `of`, `name`, `zone`, `known`, `schema`, `link(record, zone)`, `onclose`, `onsaved`, `ondeleted`,
/// and `isNew` with `type` for a record that is to be made. Answers `{ close(), edit() }`.
export function openRecord(place, what) {
    const controller = new AbortController();
    let record = what.known ?? null;
    const handle = { close: () => controller.abort(), edit: undefined };
    const head = (title, ...actions) => h("header", { class: "panel-head" }, h("h2", { class: "grow" }, title), actions,
        iconButton("x", "Close", what.onclose));

    if (what.isNew) form(null);
    else read();
    return handle;

    async function read() {
        if (record) show();
        else put(place, head(what.name), skeleton(8));
        try {
            record = await lookup(what.of, what.name, what.zone, { signal: controller.signal });
            if (record) show();
            else put(place, head(what.name), h("div", { class: "panel-body" }, empty("No such record",
                `${what.zone} has no record of this name. It may have been deleted, or never saved.`)));
        } catch (error) {
            if (error.name !== "AbortError") put(place, head(what.name), h("div", { class: "panel-body" }, problem(error)));
        }
    }

    function show() {
        const type = what.schema.types.find((one) => one.name === record.recordType);
        const has = (name) => record.fields?.[name]?.value != null;
        const names = [...new Set([...inOrder((type?.fields ?? []).filter((one) => !one.isSystem)).map((one) => one.name),
            ...Object.keys(record.fields ?? {})])].sort((one, other) => has(other) - has(one));
        const canEdit = type && isAsked(type) && may("POST records/modify");
        handle.edit = canEdit ? () => form(record) : undefined;
        const zone = record.zoneID?.zoneName;
        const canShare = canEdit && what.isPrivate && !record.share && zone !== "_defaultZone" && what.of.environment === "development";
        put(place, head(h("span", { class: "row" }, badge(record.recordType, "accent"), id(record.recordName, 30)),
            canEdit && button("Edit", () => form(record), { symbol: "pencil" }), canEdit && iconButton("trash-2", "Delete the record", remove)),
        h("div", { class: "panel-body" }, tabbed([
            ["Fields", () => h("dl", { class: "record-fields" }, names.map((name) => {
                const definition = type?.fields.find((one) => one.name === name);
                const held = record.fields?.[name];
                return h("div", {}, h("dt", {}, name, h("span", { class: "faint" }, definition
                    ? wireType(definition).toLowerCase().replace("_list", " list") : held?.type)),
                    h("dd", {}, full(held, (name, target) => what.link(name, target ?? zone), (asset, index) => fileView(what.of,
                        { zone, record: record.recordName, field: name, index }, asset, { signal: controller.signal }))));
            }))],
            ["About", () => pairs([
                ["Zone", zone], ["Owner", record.zoneID?.ownerRecordName && id(record.zoneID.ownerRecordName)],
                    ["Change tag", record.recordChangeTag && id(record.recordChangeTag)],
                ["Created", record.created && h("span", { class: "row" }, time(record.created.timestamp), id(record.created.userRecordName))],
                ["Modified", record.modified && h("span", { class: "row" }, time(record.modified.timestamp), id(record.modified.userRecordName))],
                ["By device", record.modified?.deviceID && id(record.modified.deviceID)],
                ["Parent", record.parent && h("a", { href: what.link(record.parent.recordName, zone) }, record.parent.recordName)],
                ["Share", record.share && (what.isPrivate ? h("a", { href: here("shares", { user: what.of.user, zone,
                    record: record.recordName }) }, record.share.recordName) : record.share.recordName)],
                ["Not shared", canShare && button("Share it", shareIt, { symbol: "share-2", kind: "quiet small" })],
                ["Requests", h("a", { href: here("logs", { zone }) }, "Requests about this zone")],
                ["Who sees it", what.isPrivate && h("a", { href: here("shares", { user: what.of.user, zone,
                    record: record.recordName }) }, "Participants, and why")],
                ["Who may do what", what.isPublic && h("a", { href: here("roles", { record: record.recordName }) }, "Ask the roles")],
            ])],
            ["JSON", () => code(JSON.stringify(record, null, 2), { language: "JSON" })],
            ["Code", () => h("div", { class: "stack" }, ofRecord({ ...what.of, record }).map(([title, line]) => h("div",
                { class: "stack tight" }, h("h3", {}, title), code(line, { language: title }))))],
        ])));
    }

    async function shareIt() {
        const { container, environment, user } = what.of;
        if (await share({ container, environment }, { user, zone: record.zoneID.zoneName, record: record.recordName })) read();
    }

    /// The record after a form, which had the focus: it is on the first button of the panel then.
    function back() {
        show();
        place.querySelector(".panel-head button")?.focus();
    }

    // MARK: Editing

    function form(before) {
        const type = before ? what.schema.types.find((one) => one.name === before.recordType) : what.type;
        const fields = inOrder(type.fields.filter((one) => !one.isSystem));
        const editors = fields.map((definition) => [definition, editor(definition, before?.fields?.[definition.name])]);
        const name = textInput({ class: "mono", placeholder: "made by the server" });
        const zone = textInput({ value: what.zone });
        const trouble = h("div", {});
        const save = button(before ? "Save" : "Create", undefined, { kind: "main", type: "submit" });
        const element = h("form", { class: "panel-body form", novalidate: true, onsubmit: (event) => { event.preventDefault(); submit(); } },
            !before && h("div", { class: "form-row" }, field("Record name", name), what.isPrivate && field("Zone", zone)),
                editors.map(([, one]) => one.element), trouble,
            h("div", { class: "actions end sticky" }, authorLine(what.of), h("span", { class: "grow" }),
                button("Cancel", () => (before ? back() : what.onclose())), save));
        put(place, head(before ? h("span", { class: "row" }, "Edit ", h("span", { class: "mono" }, before.recordName))
            : `New ${type.name}`), element);
        element.querySelector("input:not([type=hidden]), textarea")?.focus();

        async function submit() {
            const changed = {};
            for (const [definition, one] of editors) {
                let value;
                try {
                    value = one.read();
                } catch (error) {
                    put(trouble, problem({ reason: `${definition.name}: ${error.message}` }));
                    const wrong = one.element.querySelector("input, textarea");
                    wrong?.setAttribute("aria-invalid", "true");
                    wrong?.focus();
                    return;
                }
                const held = before?.fields?.[definition.name]?.value ?? null;
                if (value !== undefined && JSON.stringify(value) !== JSON.stringify(held)) changed[definition.name] = { value,
                    ...(value === null ? {} : { type: wireType(definition) }) };
            }
            if (before && Object.keys(changed).length === 0) return back();
            const of = await withAuthor(what.of);
            if (!of) return undefined;
            save.disabled = true;
            const inZone = before?.zoneID?.zoneName ?? (what.isPublic ? undefined : zone.value.trim());
            try {
                const at = { zone: inZone, record: before?.recordName ?? (name.value.trim() || undefined), recordType: type.name };
                for (const [field, one] of Object.entries(changed)) one.value = await sent(of, { ...at, field }, one.value);
                put(trouble);
                await send(of, before ? update(before, changed)
                    : { operationType: "create", record: { ...(name.value.trim() ? { recordName: name.value.trim() } : {}),
                        recordType: type.name, fields: changed } }, inZone, before, changed);
            } catch (error) {
                put(trouble, problem(error));
                trouble.scrollIntoView({ block: "nearest" });
            } finally {
                save.disabled = false;
            }
            return undefined;
        }

        /// A value with its files sent, one after the other.
        async function sent(of, at, value) {
            if (Array.isArray(value)) {
                const list = [];
                for (const one of value) list.push(await sent(of, at, one));
                return list;
            }
            if (!(value instanceof File)) return value;
            const onprogress = (part) => put(trouble, progress(`Sending ${value.name}`, part));
            onprogress(0);
            return sendFile(of, at, value, { signal: controller.signal, onprogress });
        }
    }

    async function send(of, operation, zone, before, changed) {
        const [answer] = await modify(of, [operation], zone);
        if (answer.serverErrorCode === "CONFLICT" && before) return conflict(of, before, changed);
        record = taken(answer);
        what.onsaved(answer);
        back();
        // A file that was replaced cannot be saved again without being sent.
        const hadFile = Object.keys(changed).some((name) => before?.fields?.[name]?.type?.startsWith("ASSET"));
        toast(before ? "Saved" : "Created", { tone: "good",
            action: hadFile ? undefined : { title: "Undo", run: () => undo(of, before, changed, answer, zone) } });
        return undefined;
    }

    /// Puts back what a save changed, and deletes what it made. A newer change of somebody else stays: the save is on the version it made.
    async function undo(of, before, changed, saved, zone) {
        await attempt(async () => {
            const fields = before && Object.fromEntries(Object.keys(changed).map((name) => [name, before.fields?.[name] ?? { value: null }]));
            const [answer] = await modify(of, [before ? update(saved, fields) : deletion(saved)], zone);
            taken(answer, { reason: "Somebody has changed the record since: nothing was undone." });
            toast("Undone", { tone: "good" });
            if (!before) return what.ondeleted(saved);
            what.onsaved(answer);
            if (place.isConnected && record?.recordName === answer.recordName) {
                record = answer;
                back();
            }
            return undefined;
        });
    }

    /// Both versions beside each other: the server's, and what was to be saved.
    async function conflict(of, before, changed) {
        const theirs = await lookup(what.of, before.recordName, before.zoneID?.zoneName);
        const choice = await dialog("The record was changed meanwhile", (close) => h("div", { class: "stack" },
            theirs ? h("p", {}, `Since you opened it, ${theirs.modified?.userRecordName ?? "somebody"} saved version ${theirs.recordChangeTag}; yours began from ${before.recordChangeTag}.`)
                : h("p", {}, "Since you opened it, it was deleted."),
            table({ label: "Versions", rows: [...new Set([...Object.keys(changed), ...Object.keys(theirs?.fields ?? {}).filter((name) =>
                JSON.stringify(theirs.fields[name]) !== JSON.stringify(before.fields?.[name]))])], columns: [
                { title: "Field", render: (name) => h("strong", {}, name) },
                { title: "When you opened it", render: (name) => text(before.fields?.[name]) },
                { title: "On the server now", render: (name) => h("span", { class: theirs && text(theirs.fields?.[name]) !== text(before.fields?.[name])
                    ? "differs" : "" }, text(theirs?.fields?.[name])) },
                { title: "Yours", render: (name) => (changed[name] ? h("span", { class: "differs" }, text(changed[name]))
                    : h("span", { class: "faint" }, "unchanged")) }] }),
            h("div", { class: "actions end" }, button("Keep the server's", () => close("theirs")),
                theirs && button("Put my changes on it", () => close("mine"), { kind: "main" }))), { className: "wide" });
        if (!choice) return;
        record = theirs;
        if (choice === "theirs") {
            if (!theirs) return what.ondeleted(before);
            what.onsaved(theirs);
            back();
            return;
        }
        await send(of, update(theirs, changed), theirs.zoneID?.zoneName, theirs, changed);
    }

    async function remove() {
        if (!await askToDestroy({ title: `Delete ${record.recordName}?`, confirm: "Delete",
            text: Object.values(record.fields ?? {}).some(isSealed) ? "Apps hear of it at once. It has files or sealed values, which an undo does not bring back."
            : "Apps hear of it at once. You can undo it right after." })) return;
        const of = await withAuthor(what.of);
        if (!of) return;
        await attempt(async () => {
            const [answer] = await modify(of, [deletion(record)], record.zoneID?.zoneName);
            taken(answer, { remedy: "Open it again to see the newest version." });
            toast("Deleted", { tone: "good", action: { title: "Undo", run: () => what.restore([record]) } });
            what.ondeleted(record);
        });
    }
}
