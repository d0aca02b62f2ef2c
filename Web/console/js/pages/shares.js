/// What a user shares, and who sees and writes a record of theirs, by which share and why.

import { api } from "../api.js";
import { orNothing, zones } from "../data.js";
import { h, put } from "../dom.js";
import { askToLook, looked, lookForm } from "../look.js";
import { here } from "../router.js";
import { share as makeShare } from "../share.js";
import { attempt } from "../shell.js";
import { badge, button, card, empty, field, header, id, load, rowForm, table, textInput } from "../ui.js";

const PUBLIC = { NONE: ["invited users", ""], READ_ONLY: ["everybody reads", "warn"], READ_WRITE: ["everybody writes", "warn"] };

export default {
    render(view, route) {
        const list = h("div", {});
        const who = h("div", {});
        const form = h("div", {});
        const make = h("div", {});
        put(view, header("Shares", { sub: "Zones and records of a private database that others see, and who they are.", actions: [make] }), form,
            h("div", { class: "stack" }, list, who));

        async function add(user) {
            const found = await zones({ ...route.place, database: "private", user }, { signal: route.signal }).catch(orNothing([]));
            const made = await makeShare(route.place, { user, zones: found.map(({ zoneID }) => zoneID.zoneName) });
            if (made) route.go({ user, zone: made.zone, record: made.root ?? made.share });
        }

        function update({ query }) {
            put(form, lookForm(query, (asked) => route.go(asked), route));
            put(who);
            put(make);
            if (!query.user) return put(list, empty("Whose shares?",
                "A share is in its owner's private database: name the owner. An app shares a zone by these lines:", [
                ["Swift", "let share = CKShare(recordZoneID: zone.zoneID)\nshare[CKShare.SystemFieldKey.title] = \"Trip\"\ntry await database.modifyRecords(saving: [share], deleting: [])"],
                ["nacre", `nacre share list --container ${route.container} --environment ${route.environment} --user ada@example.com`]]));
            if (!looked.has(query.user)) return put(list, askToLook(query.user, () => update({ query })));
            put(make, !route.isProduction && button("Share a zone or record", () => attempt(() => add(query.user)), { symbol: "plus", kind: "main" }));
            load(list, () => api.post("shares/list", { ...route.place, user: query.user }, { signal: route.signal }).catch(orNothing({ shares: [] })),
                ({ shares }) => table({
                label: `Shares of ${query.user}`, rows: shares, key: (share) => `${share.zone}\n${share.share}`,
                    onopen: (share) => route.go({ user: query.user, zone: share.zone, record: share.root ?? share.share }),
                current: shares.find((share) => share.zone === query.zone && (share.root ?? share.share) === query.record)
                    && `${query.zone}\n${shares.find((share) => share.zone === query.zone && (share.root ?? share.share) === query.record).share}`,
                empty: empty("Nothing is shared", `${query.user} shares no zone and no record here.`),
                columns: [{ title: "Zone", key: "zone" }, { title: "What", render: (share) => (share.root ? h("span", {}, "record ",
                    h("span", { class: "mono" }, share.root), " and below") : "the whole zone") },
                    { title: "Open to", render: (share) => badge(...PUBLIC[share.publicPermission] ?? [share.publicPermission]) },
                        { title: "Participants", class: "number", key: "participants" },
                    { title: "Share", render: (share) => h("a", { class: "mono", href: here("records", { db: "private", user: query.user,
                        zone: share.zone, record: share.share, rzone: share.zone }) }, share.share) }],
            }));
            const zone = textInput({ value: query.zone ?? "" });
            const record = textInput({ class: "mono", value: query.record ?? "" });
            const answer = h("div", { "aria-live": "polite" });
            put(who, card("Who sees a record, and why", rowForm("Ask", () => route.go({ user: query.user, zone: zone.value.trim(),
                record: record.value.trim() }), field("Zone", zone), field("Record", record)), answer));
            if (query.zone && query.record) {
                load(answer, () => api.post("shares/who", { ...route.place, user: query.user, zone: query.zone, record: query.record },
                    { signal: route.signal }), (found) => h("div", { class: "stack" },
                    h("p", {}, found.share ? ["By the share ", h("span", { class: "mono" }, found.share),
                        found.root && [", whose root is ", h("span", { class: "mono" }, found.root)], "."] : "No share: only the owner sees it."),
                    found.path.length > 1 && h("p", { class: "row" },
                        found.path.map((name, index) => [index > 0 && "→",
                        h("a", { class: "mono", href: here("records",
                        { db: "private", user: query.user, zone: query.zone, record: name, rzone: query.zone }) }, name)])),
                    table({ label: "People with access", rows: found.people, key: (person) => person.user ?? person.invited, columns: [
                        { title: "Person", render: (person) => h("span", { class: "row" }, person.user ? id(person.user) : "not signed in",
                            person.invited && h("span", { class: "soft" }, person.invited)) },
                        { title: "Role", render: (person) => badge(person.role.toLowerCase().replace("_", " "),
                            person.role === "OWNER" ? "accent" : "") },
                        { title: "Reads", render: (person) => (person.mayRead ? badge("reads", "good") : badge("no")) },
                            { title: "Writes", render: (person) => (person.mayWrite ? badge("writes", "good") : badge("no")) },
                        { title: "Because", key: "because" }] })));
            }
            return undefined;
        }
        update(route);
        return { update };
    },
};
