/// One request: its story as nacre why tells it, its place and sizes, and how its time was split.

import { api } from "../api.js";
import { h, put, svg } from "../dom.js";
import { here } from "../router.js";
import { absolute, badge, bytes, card, code, header, id, linkButton, load, number, pairs, time } from "../ui.js";
import { tone } from "./logs.js";

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
        h("ul", { class: "chart-key" },
            all.map(([name, words, value]) => h("li", {}, svg("svg", { width: 10, height: 10, "aria-hidden": "true" },
                svg("rect", { class: `split-${name}`, width: 10, height: 10, rx: 2 })), `${milliseconds(value)} ${words}`))),
    ];
}

export default {
    async render(view, route) {
        const uuid = route.rest[0] ?? "";
        const body = h("div", { class: "stack" });
        put(view, header("Request", { sub: uuid && id(uuid, 40), actions: [linkButton("All requests", here("logs"), { symbol: "list" })] }), body);
        // Without an ID the server would answer the newest request.
        const ask = () => (uuid ? api.get("requests", { request: uuid, limit: 1 }, { signal: route.signal }) : { requests: [] });
        await load(body, ask, ({ requests: [line] }) => {
            if (!line) return h("div", { class: "empty" }, h("h2", {}, "No such request"),
                h("p", {}, "The log keeps requests for some days. The ID is X-Apple-Request-UUID of an answer, and uuid of an error."));
            return [
                h("p", { class: "outcome" }, badge(String(line.status), tone(line)), h("strong", { class: "mono" }, line.operation),
                    h("span", { class: "faint" }, time(line.time)),
                    line.code && h("a", { href: here("logs", { code: line.code }) }, `others with ${line.code}`)),
                card("What came of it", h("ul", { class: "trace" }, line.story.map((text) => h("li", {}, text)))),
                h("div", { class: "grid-2" },
                    card("Who and where", pairs([
                        ["Time", absolute(line.time)], ["Client", line.client],
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
                        ["Way of the query", line.index]]))),
                card(`It took ${milliseconds(line.milliseconds)}`, split(line)),
                card("In a terminal", code(`nacre why ${line.request}`)),
            ];
        });
    },
};
