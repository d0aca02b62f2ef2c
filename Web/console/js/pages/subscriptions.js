/// A user's subscriptions, and why one fired for a record or did not, with the log of each device.

import { api } from "../api.js";
import { h, icon, put } from "../dom.js";
import { askToLook, looked, lookForm } from "../look.js";
import { here } from "../router.js";
import { badge, card, empty, field, header, load, rowForm, select, table, textInput, time, verdict } from "../ui.js";

/// The form of a notification: its texts, and what it does besides.
function told(form) {
    if (!form) return h("span", { class: "faint" }, "nothing");
    const texts = [form.title, form.subtitle, form.alert].filter(Boolean);
    return h("div", {}, texts.map((text) => h("div", {}, text)), h("span", { class: "row" },
        form.sound && badge(`sound ${form.sound}`), form.badge && badge("badge"), form.contentAvailable && badge("wakes the app"),
        form.mutableContent && badge("may be changed"), form.category && badge(`category ${form.category}`),
        form.collapseIDKey && badge(`one for each ${form.collapseIDKey}`)),
        form.desiredKeys?.length > 0 && h("div", { class: "faint" }, `with ${form.desiredKeys.join(", ")}`));
}

export default {
    render(view, route) {
        const form = h("div", {});
        const list = h("div", {});
        const why = h("div", {});
        put(view, header("Subscriptions", { sub: "What a user's devices asked to be told of, and why they were told or not." }), form,
            h("div", { class: "stack" }, list, why));

        function update({ query }) {
            const db = query.db ?? "private";
            put(form, lookForm({ ...query, db, databases: [["private", "private"], ["public", "public"], ["shared", "shared with them"]] },
                (asked) => route.go(asked), route));
            put(why);
            if (!query.user) return put(list, empty("Whose subscriptions?", "A subscription belongs to its user. An app makes one by these lines:", [
                ["Swift", "let subscription = CKQuerySubscription(recordType: \"Note\", predicate: NSPredicate(format: \"stars > 3\"),\n    subscriptionID: \"starred\", options: [.firesOnRecordCreation])\nsubscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)\ntry await database.save(subscription)"],
                ["nacre", `nacre subscription list --container ${route.container} --environment ${route.environment} --database private --user ada@example.com\nnacre listen   # prints notifications as they come`]]));
            if (!looked.has(query.user)) return put(list, askToLook(query.user, () => update({ query })));
            load(list, () => api.post("subscriptions/list", { ...route.place, user: query.user, database: db }, { signal: route.signal }),
                ({ subscriptions }) => {
                ask(subscriptions, query, db);
                return table({ label: `Subscriptions of ${query.user}`, rows: subscriptions, key: (one) => one.id,
                    current: query.subscription, onopen: (one) => route.go({ ...query, db, subscription: one.id }),
                    empty: empty("No subscriptions",
                        `${query.user} has none in this database. CKSyncEngine makes one by itself, in the private and the shared database.`),
                        columns: [
                        { title: "Subscription", render: (one) => h("span", { class: "mono" }, one.id) },
                            { title: "Kind", render: (one) => badge(one.kind) },
                        { title: "Watches", render: (one) => h("span", {}, one.kind === "database" ? "the whole database" : one.of,
                            one.zone && ` in ${one.zone}`, one.filter && h("div", {}, h("a", { class: "mono", href: here("records",
                            { db, user: query.user, type: one.of, q: one.filter }), title: "Records that pass" }, one.filter))) },
                        { title: "Fires on", render: (one) => `${(one.firesOn ?? "every change").replaceAll(",", ", ")}${one.firesOnce ? ", once" : ""}` },
                        { title: "Tells", render: (one) => told(one.notification) }] });
            });
            return undefined;
        }

        function ask(subscriptions, query, db) {
            if (subscriptions.length === 0) return;
            const isShared = db === "shared";
            const subscription = select(subscriptions.map((one) => one.id), query.subscription ?? subscriptions[0].id);
            const zone = textInput({ value: query.zone ?? "", placeholder: "_defaultZone" });
            const record = textInput({ class: "mono", value: query.record ?? "" });
            const owner = textInput({ value: query.owner ?? "", placeholder: "e-mail or user record name" });
            const answer = h("div", { "aria-live": "polite" });
            put(why, card("Why did it fire, or not?", rowForm("Ask", () => route.go({ user: query.user, db, subscription: subscription.value,
                zone: zone.value.trim(), owner: isShared ? owner.value.trim() : undefined, record: record.value.trim() }),
                field("Subscription", subscription), field("Record", record), db !== "public" && field("Zone", zone),
                isShared && field("Owner of the zone", owner)), answer));
            if (!query.record || !query.subscription) return;
            load(answer, () => api.post("subscriptions/why", { ...route.place, user: query.user, database: db,
                subscription: query.subscription, record: query.record, ...(query.zone ? { zone: query.zone } : {}),
                ...(isShared && query.owner ? { owner: query.owner } : {}) },
                { signal: route.signal }), (found) => h("div", { class: "stack" },
                verdict(found.fires, found.fires ? "It fires" : "It does not fire"),
                h("ol", { class: "steps" }, found.steps.map((step) => h("li", { class: step.isPassed ? "passed" : "failed" },
                    icon(step.isPassed ? "check" : "x", step.isPassed ? "passed" : "failed"), h("strong", {}, step.name), h("span", {}, step.text)))),
                h("h3", {}, "Devices"), found.devices.length === 0 ? h("p", { class: "soft" },
                    "No device of the user asks to be told, by a push token or by a connection for notifications.")
                    : found.devices.map((device) => card(null, h("div", { class: "row" }, h("strong", {}, device.name),
                        badge(device.way), device.isAuthor && badge("made the change: is not told", "warn")),
                        device.log.length > 0 && table({ label: `Log of ${device.name}`, rows: device.log,
                            key: (line) => `${line.time} ${line.number} ${line.event}`, columns: [
                            { title: "Time", render: (line) => time(line.time, { isAbsolute: true }) },
                                { title: "Event", render: (line) => badge(line.event,
                                { sent: "good", refused: "bad", addressEnded: "bad" }[line.event] ?? "") },
                                { title: "Number", class: "number", key: "number" },
                            { title: "Subscription", key: "subscription" },
                                { title: "Record", render: (line) => h("span", { class: "mono" }, line.record) },
                                { title: "The push service said", key: "said" }] }),
                        device.logBegins && h("p", { class: "faint" }, "The log is full, and begins ", time(device.logBegins)))) ));
        }
        update(route);
        return { update };
    },
};
