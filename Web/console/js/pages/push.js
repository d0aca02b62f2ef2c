/// The keys by which Apple's push services know the apps of a container, and what became of pushes lately.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { form } from "../forms.js";
import { here } from "../router.js";
import { askToDestroy, toast, toastError } from "../shell.js";
import { badge, button, card, code, header, load, number, pairs, table, time } from "../ui.js";
import { hidden } from "./telemetry.js";

const services = { development: "Development: apps from Xcode", production: "Production: TestFlight and the App Store" };

export default {
    async render(view, route) {
        const { container } = route.place;
        const body = h("div", { class: "stack" });
        const set = async (environment, key) => {
            const made = await form({
                title: key ? "Replace the key" : "Give a key", confirm: "Keep it",
                text: "The key of Apple's developer pages. The server keeps it sealed, and shows it to nobody.",
                fields: [{ name: "key", label: "Text of the .p8 file", type: "textarea", class: "mono", required: true,
                    placeholder: "-----BEGIN PRIVATE KEY-----" },
                    { name: "keyID", label: "Key ID", required: true, value: key?.keyID ?? "", maxlength: 10 },
                    { name: "teamID", label: "Team ID", required: true, value: key?.teamID ?? "", maxlength: 10 },
                    { name: "topic", label: "Bundle ID of the app", required: true, value: key?.topic ?? "", placeholder: "com.example.notes" }],
                run: (values) => api.post("push/apns/set", { container, environment, ...values }),
            });
            if (!made) return;
            toast("Kept", { tone: "good" });
            read();
        };
        const remove = async (key) => {
            if (await askToDestroy({ title: "Take the key away",
                text: `Apps with ${key.topic} are not pushed to by Apple's ${key.environment} service any more.`,
                confirm: "Take away" })) api.post("push/apns/remove", { container, environment: key.environment }).then(read, toastError);
        };
        const read = () => load(body,
            () => Promise.all([api.get("push/apns", { container }, { signal: route.signal }),
                api.get("telemetry", { ...route.place, last: "day" }, { signal: route.signal })]), ([{ keys }, { lines }]) => {
            const deliveries = lines.filter((line) => line.operation?.startsWith("notifications/"));
            return [
                h("div", { class: "grid-2" }, Object.entries(services).map(([environment, title]) => {
                    const key = keys.find((one) => one.environment === environment);
                    return card(title, key
                        ? [pairs([["Key ID", h("span", { class: "mono" }, key.keyID)], ["Team ID", h("span", { class: "mono" }, key.teamID)],
                            ["Bundle ID", key.topic], ["Since", time(key.created)]]),
                            h("div", { class: "actions" }, button("Replace", () => set(environment, key), { asks: "POST push/apns/set" }),
                                button("Take away", () => remove(key), { kind: "danger", asks: "POST push/apns/remove" }))]
                        : [h("p", { class: "soft" },
                            "No key: Apple's service is not asked. Devices that listen, poll or use another service are told all the same."),
                            h("div", { class: "actions" }, button("Give a key", () => set(environment), { asks: "POST push/apns/set" }))]);
                })),
                card("Notifications of the last day, in this environment",
                    table({ label: "Notifications", rows: deliveries, key: (line) => line.operation + line.database,
                        empty: h("p", { class: "faint" }, hidden), columns: [
                    { title: "Way", render: (line) => ({ "notifications/queue": "Put into queues of devices",
                        "notifications/push": "Sent to push services" })[line.operation] ?? line.operation },
                    { title: "Database", render: (line) => line.database },
                    { title: "Notifications", class: "number", render: (line) => number(line.requests) },
                    { title: "Told at once", class: "number", render: (line) => number(line.answered) },
                    { title: "Refused", class: "number", render: (line) => (line.errors > 0 ? badge(number(line.errors), "warn") : "0") },
                    { title: "Users", class: "number", render: (line) => line.users },
                ] }), h("p", { class: "hint" }, "What became of each notification of one change: on the page of its ",
                    h("a", { href: here("logs", { operation: "records/modify" }) }, "request"), ".")),
                code(`nacre push apns show --container ${container}`),
            ];
        });
        put(view, header("Push", { sub: "How devices are told of changes." }), body);
        await read();
        return null;
    },
};
