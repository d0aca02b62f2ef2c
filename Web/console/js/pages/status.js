/// How the server fares: what is wrong, the last hour, and what it takes.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { figure } from "../figures.js";
import { form } from "../forms.js";
import { here, href } from "../router.js";
import { toast } from "../shell.js";
import { store } from "../store.js";
import { badge, button, card, code, header, iconButton, load, number, pairs, table, time } from "../ui.js";
import { kinds } from "./alerts.js";
import { serverCard } from "./home.js";
import { tone } from "./logs.js";
import { requestChart } from "./telemetry.js";

/// Sends a mail to an address, and says what the mail server said.
async function tryMail() {
    const sent = await form({ title: "Test mail", text: "The server sends one mail a minute at most.", confirm: "Send",
        fields: [{ name: "to", label: "To", type: "email", required: true }], run: ({ to }) => api.post("mail/test", { to }) });
    if (sent) toast(sent.isTaken ? `The mail to ${sent.to} is ${sent.said}.` : `Not sent: ${sent.said}.`, { tone: sent.isTaken ? "good" : "bad" });
}

export default {
    async render(view, route) {
        const body = h("div", { class: "stack" });
        const read = () => load(body,
            () => Promise.all([api.get("server", {}, { signal: route.signal }), api.get("alerts", {}, { signal: route.signal }),
                api.get("telemetry", { last: "hour" }, { signal: route.signal }),
            api.get("requests", { status: "5xx", limit: 5 }, { signal: route.signal }).catch(() => null),
            api.get("backup", {}, { signal: route.signal }), api.get("mail", {}, { signal: route.signal }).catch(() => null)]),
        ([server, { alerts }, telemetry, failed, backup, mail]) => {
            const wrong = alerts.filter((rule) => rule.state !== "fine");
            return [
                h("p", { class: "outcome" }, wrong.length === 0 ? [badge("fine", "good"), "No alert is firing."]
                    : [badge(wrong.some((rule) => rule.state === "firing") ? "look at this" : "pending",
                        wrong.some((rule) => rule.state === "firing") ? "bad" : "warn"),
                    wrong.map((rule, index) => [index > 0 && ", ", h("a", { href: href(`alerts/${encodeURIComponent(rule.name)}`) }, rule.name),
                        ` (${figure(rule.figure, rule.unit)})`])]),
                requestChart(telemetry.bars, telemetry.to, { title: "Requests of the last hour", height: 150 }),
                h("div", { class: "grid-2" },
                    serverCard(server, [["Containers", number(store.containers.get().length)],
                        ["Mail", mail && (mail.from ? h("span", { class: "row" }, `from ${mail.from}`,
                            button("Send a test mail", tryMail, { kind: "quiet small", asks: "POST mail/test" })) : "none is sent")],
                        ["Last backup by hand", backup.state === "done" ? time(backup.backup.time) : backup.state === "none" ? "none since the start"
                            : backup.state]]),
                    card("Figures", pairs(alerts.map((rule) => [kinds[rule.kind]?.[0] ?? rule.kind,
                        h("span", { class: "row" }, figure(rule.figure, rule.unit), rule.state !== "fine" && badge(rule.state, "bad"))])))),
                failed && card("Requests that failed by a fault of the server",
                    table({ label: "Failed requests", rows: failed.requests, key: (line) => line.request,
                        empty: h("p", { class: "faint" }, "None that the log keeps."), columns: [
                    { title: "Time", render: (line) => time(line.time) },
                    { title: "Status", render: (line) => badge(String(line.status), tone(line)) },
                    { title: "Operation", class: "mono", render: (line) => line.operation },
                    { title: "Why", render: (line) => line.reason ?? line.code },
                    { title: "Request", class: "mono",
                        render: (line) => h("a",
                            { href: line.container && line.environment ? href(`request/${line.request}`, {}, line)
                                : here(`request/${line.request}`) }, line.request.slice(0, 8)) }] })),
                code("nacre status\nnacre alert list"),
            ];
        });
        put(view, header("Status", { actions: [iconButton("refresh-cw", "Refresh", read)] }), body);
        await read();
        return null;
    },
};
