/// The zones of a private database, the feed of a zone from any token with tombstones, and the end of a zone.

import { api } from "../api.js";
import { changes, orNothing, zones as listZones } from "../data.js";
import { h, put } from "../dom.js";
import { form as ask } from "../forms.js";
import { askToLook, looked, lookForm } from "../look.js";
import { here } from "../router.js";
import { askToDestroy, attempt } from "../shell.js";
import { badge, button, card, copy, empty, field, header, id, iconButton, load, plural, problem, rowForm, skeleton, table, textInput, time } from "../ui.js";

const keyOf = (zone, owner, isShared) => (isShared ? `${zone}\n${owner}` : zone);
const named = ({ zoneID }, isShared) => ({ zone: zoneID.zoneName, owner: isShared ? zoneID.ownerRecordName : undefined });

export default {
    render(view, route) {
        const form = h("div", {});
        const list = h("div", {});
        const feed = h("div", {});
        let drawn = "";
        const make = h("div", {});
        put(view, header("Zones and changes",
            { sub: "The feed of a zone is what CKSyncEngine and other clients read.",
                actions: [make] }), form,
            h("div", { class: "stack" }, list, feed));

        function update({ query }) {
            const db = query.db ?? "private";
            const isShared = db === "shared";
            put(form, lookForm({ ...query, db, databases: [["private", "private"], ["shared", "shared with them"]] },
                (asked) => route.go(asked), route));
            const of = { ...route.place, database: db, user: query.user, owner: query.owner };
            if (!query.user) {
                drawn = "";
                put(make);
            }
            if (!query.user || !query.zone) put(feed);
            if (!query.user) return put(list, empty("Whose zones?", "Name the owner of the private database.", [
                ["Swift", "let zone = CKRecordZone(zoneName: \"Notes\")\ntry await container.privateCloudDatabase.save(zone)"],
                    ["nacre", "eval \"$(nacre env)\"\nnacre zone list\nnacre zone changes --zone Notes"]]));
            put(make, query.user && !isShared && !route.isProduction && button("New zone", () => create(query.user), { symbol: "plus" }));
            if (!looked.has(query.user)) {
                drawn = "";
                put(feed);
                return put(list, askToLook(query.user, () => update({ query })));
            }
            if (drawn !== `${db} ${query.user}`) {
                drawn = `${db} ${query.user}`;
                load(list, () => listZones(of, { signal: route.signal }).catch(orNothing([])), (zones) => table({
                    label: `Zones of ${query.user}`, rows: zones, key: (zone) => keyOf(zone.zoneID.zoneName, zone.zoneID.ownerRecordName, isShared),
                        current: query.zone && keyOf(query.zone, query.owner, isShared), empty: empty("No zones",
                        isShared ? `Nobody shares a zone with ${query.user} here.` : `${query.user} has not opened the app yet, and has no data here.`),
                        onopen: (zone) => route.go({ user: query.user, db, ...named(zone, isShared) }), columns: [
                        { title: "Zone", render: (zone) => h("span", { class: "mono" }, zone.zoneID.zoneName) },
                            { title: "Kind", render: (zone) => badge(zone.zoneID.zoneType === "DEFAULT_ZONE" ? "default" : "custom",
                            zone.zoneID.zoneType === "DEFAULT_ZONE" ? "" : "accent") },
                        ...(isShared ? [{ title: "Owner", render: (zone) => id(zone.zoneID.ownerRecordName, 16) }] : []),
                        { title: "Saves", render: (zone) => (zone.atomic ? "all or nothing" : "each by itself") },
                            { title: "Change token", render: (zone) => zone.syncToken ? id(zone.syncToken, 24)
                            : h("span", { class: "faint" }, "no feed") },
                        { title: "Do", render: (zone) => h("span", { class: "row" },
                            h("a", { href: here("records", { db, user: query.user, ...named(zone, isShared) }) }, "Records"),
                            !isShared && zone.zoneID.zoneType !== "DEFAULT_ZONE" && iconButton("trash-2", `Purge ${zone.zoneID.zoneName}`,
                                () => purge(query.user, zone.zoneID.zoneName), { asks: "POST zones/purge" })) }],
                }));
            }
            if (query.zone) follow(of, query.zone, query.since);
            return undefined;
        }

        async function create(user) {
            const made = await ask({ title: "New zone", confirm: "Make it", fields: [{ name: "zone", label: "Name", required: true }],
                text: `In the private database of ${user}, as their app does. The audit log says that you did.`,
                run: ({ zone }) => api.post("zones/create", { ...route.place, user, zone: zone.trim() }) });
            if (!made) return;
            looked.add(user);
            drawn = "";
            route.go({ user, zone: made.zone });
        }

        async function purge(user, zone) {
            if (!await askToDestroy({ title: `Purge ${zone}?`, confirm: "Purge",
                text: "All its records go for good, as if the user had removed the app's data in the storage settings. Apps hear that it was purged." })) return;
            if (!await attempt(() => api.post("zones/purge", { ...route.place, user, zone }), `${zone} is purged`)) return;
            drawn = "";
            route.go({ user });
            route.reload();
        }

        function follow(of, zone, since) {
            const list = h("div", {});
            const from = textInput({ class: "mono", value: since ?? "", placeholder: "the beginning" });
            const foot = h("div", { class: "row" });
            const count = h("span", { class: "soft" });
            const asked = { db: of.database, user: of.user, zone, owner: of.owner };
            let token = since;
            const rows = [];
            put(feed, card(`Feed of ${zone}`, rowForm("Follow", () => route.go({ ...asked, since: from.value.trim() }), field("After the token", from)),
                list, foot));
            async function more() {
                put(foot, skeleton(1));
                try {
                    const page = await changes(of, zone, token, { signal: route.signal });
                    token = page.syncToken;
                    rows.push(...page.records);
                    put(list, table({ label: "Changes", rows, columns: [
                        { title: "Change", render: (record) => (record.deleted ? badge("deleted", "bad") : badge("saved", "good")) },
                        { title: "Type", key: "recordType" },
                        { title: "Record", class: "mono", render: (record) => (record.deleted ? record.recordName : h("a", { href: here("records",
                            { ...asked, type: record.recordType, record: record.recordName, rzone: zone }) }, record.recordName)) },
                        { title: "Change tag", class: "mono", key: "recordChangeTag" },
                        { title: "When", render: (record) => time(record.modified?.timestamp) },
                        { title: "By", render: (record) => id(record.modified?.userRecordName) }] }));
                    count.textContent = rows.length === 0 ? "Nothing changed since." : plural(rows.length, "change");
                    put(foot, count, page.moreComing ? button("Next page", more)
                        : h("span", { class: "soft" }, "This is the end of the feed, for now."),
                        button("Copy the token", (event) => copy(token, event.currentTarget), { symbol: "copy", kind: "quiet" }),
                            button("From here on", () => route.go({ ...asked, since: token }), { kind: "quiet" }));
                } catch (error) {
                    if (error.name !== "AbortError") put(foot, problem(error));
                }
            }
            more();
        }
        update(route);
        return { update };
    },
};
