/// One request: what it was, what came of it and why, how its time was split, and whom it told.

import { api } from "../api.js";
import { h, icon, put, svg } from "../dom.js";
import { here } from "../router.js";
import { absolute, badge, bytes, card, code, header, id, linkButton, load, number, pairs, time } from "../ui.js";
import { tone } from "./logs.js";

const clients = { framework: "an app with the framework", command: "a nacre command", serverKey: "a server-to-server key", web: "a web client",
    none: "a client without a credential" };

/// The words for what became of a notification.
const events = {
    fires: ["Fires", "accent"], firesNone: ["No subscription fires", ""], mayNotRead: ["Does not fire: the user may not read the record", "warn"],
    isAuthor: ["Made the change itself, is not told", ""],
    hasNoDevice: ["Has no device to tell", "warn"],
    isToldAnyway: ["Is to fetch everything anyway", ""], queued: ["Waits for the device", ""], listened: ["Told by its event stream", "good"],
    heard: ["Acknowledged by the device", "good"],
    coalesced: ["A later one took its place", ""], everything: ["The queue was full: is to fetch everything", "warn"],
    sent: ["Taken by the push service", "good"],
    postponed: ["Not taken by the push service yet", "warn"], refused: ["Refused by the push service", "bad"],
    addressEnded: ["Unknown to the push service", "bad"], signedOut: ["The device was signed out", ""],
};

/// The parts of a request's time in milliseconds; what is not measured is the rest.
export function parts(line) {
    const [wait, store, encode] = [line.waitMilliseconds, line.storeMilliseconds, line.encodeMilliseconds];
    return [["wait", "in queues", wait], ["store", "in the store", store], ["encode", "for encoding", encode],
        ["rest", "for the rest", Math.max(0, line.milliseconds - wait - store - encode)]];
}

const milliseconds = (value) => `${Number(value.toFixed(2))} ms`;

function split(line) {
    const all = parts(line);
    const sum = all.reduce((total, [, , value]) => total + value, 0) || 1;
    let x = 0;
    const bars = all.map(([name, , value]) => {
        const width = (1000 * value) / sum;
        const bar = svg("rect", { class: `split-${name}`, x, width: Math.max(0, width - (x + width < 999 ? 2 : 0)), height: 22 });
        x += width;
        return bar;
    });
    return [
        svg("svg", { class: "split-time", viewBox: "0 0 1000 22", height: 22, preserveAspectRatio: "none", "aria-hidden": "true" }, bars),
        h("ul", { class: "split-key" },
            all.map(([name, words, value]) => h("li", {}, svg("svg", { width: 10, height: 10, "aria-hidden": "true" },
                svg("rect", { class: `split-${name}`, width: 10, height: 10, rx: 2 })), `${milliseconds(value)} ${words}`))),
    ];
}

function outcome(line) {
    if (line.status >= 400) return "It was refused as a whole.";
    const items = Math.max(line.answered, line.refused);
    if (items === 1 && line.refused === 1) return "It was answered, but its one item was refused.";
    if (line.refused > 0) return `It was answered, but ${number(line.refused)} of its ${number(items)} items were refused.`;
    return `It was answered: it named ${number(line.asked)} items, and the answer has ${number(line.answered)}.`;
}

function refusal(line) {
    if (!line.code) return null;
    return h("div", { class: "problem" }, icon("triangle-alert"),
        h("div", {}, h("strong", {}, line.reason ?? line.code), line.remedy && h("p", {}, line.remedy),
        h("p", { class: "faint" }, [line.code, line.field && `field ${line.field}`].filter(Boolean).join(" · "), " ",
            h("a", { href: here("logs", { code: line.code }) }, "others like it"))));
}

function told(line) {
    if (!line.notifications) return null;
    if (line.notifications.length === 0) return card("Notifications", h("p", { class: "faint" }, "Whether any subscription fires is not known yet."));
    return card("Notifications", h("ul", { class: "trace" }, line.notifications.map((event) => {
        const [words, isTone] = events[event.event] ?? [event.event, ""];
        return h("li", {}, h("span", { class: "faint mono" }, absolute(event.time).slice(11, 19)), h("span", { class: "row" }, badge(words, isTone),
            event.subscription && h("span", {}, "subscription ", id(event.subscription)), event.user && h("span", {}, "user ", id(event.user)),
            event.device && h("span", {}, "device ", id(event.device))));
    })));
}

export default {
    async render(view, route) {
        const uuid = route.rest[0] ?? "";
        const body = h("div", { class: "stack" });
        put(view, header("Request", { sub: id(uuid, 40), actions: [linkButton("All requests", here("logs"), { symbol: "list" })] }), body);
        await load(body, () => api.get("requests", { request: uuid, limit: 1 }, { signal: route.signal }), ({ requests: [line] }) => {
            if (!line) return h("div", { class: "empty" }, h("h2", {}, "No such request"),
                h("p", {}, "The log keeps requests for some days. The ID is X-Apple-Request-UUID of an answer, and uuid of an error."));
            const [kind, version] = line.client.split(" ");
            const isWithoutIndex = /the whole zone$|all records by name$/.test(line.index ?? "");
            return [
                h("p", { class: "outcome" }, badge(String(line.status), tone(line)), h("strong", { class: "mono" }, line.operation),
                    h("span", {}, outcome(line)), h("span", { class: "faint" }, time(line.time))),
                refusal(line),
                h("div", { class: "grid-2" },
                    card("Who and where", pairs([
                        ["Time", absolute(line.time)], ["Client", `${clients[kind] ?? kind}${version ? ` ${version}` : ""}`],
                        ["User", line.user ? h("span", { class: "row" }, id(line.user, 24),
                            h("a", { href: here("logs", { user: line.user }) }, "their requests")) : "none"],
                        ["Container", line.container], ["Environment", line.environment], ["Database", line.database],
                        ["Zone", line.zone && id(line.zone, 30)],
                        ["Operation ID", line.operationID && id(line.operationID, 30)],
                        ["Group", line.group && h("span", {}, id(line.group, 30), line.groupName && ` ${line.groupName}`)],
                    ])),
                    card("Sizes", pairs([["Items named", number(line.asked)], ["Items answered", number(line.answered)],
                        ["Items refused", line.refused > 0 ? number(line.refused) : undefined],
                        ["Received", bytes(line.bytesIn)], ["Sent", bytes(line.bytesOut)],
                        ["Way of the query", line.index && h("span", { class: "row" }, line.index, isWithoutIndex && badge("no index", "warn"))]]))),
                card(`It took ${milliseconds(line.milliseconds)}`, split(line)),
                told(line),
                card("In a terminal", code(`nacre why ${line.request}`, { language: "Shell" })),
            ];
        });
    },
};
