/// Alert rules: their states and figures, rules of one's own, silences, and a try of the ways of telling.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { figure, limit, seconds, span } from "../figures.js";
import { fault, form, given, shownOnce } from "../forms.js";
import { go, href } from "../router.js";
import { ask, attempt, commands, dialog, toast, toastError } from "../shell.js";
import { store } from "../store.js";
import { absolute, badge, button, card, code, header, linkButton, load, number, pairs, problem, table, time } from "../ui.js";

/// The kinds: what they look at, the unit of the limit, and a limit to begin with.
export const kinds = {
    "disk-free": ["Free part of the disk", "percent", "10%"], "disk-free-bytes": ["Free bytes of the disk", "bytes", "5G"],
    "backup-age": ["Age of the newest scheduled backup", "seconds", "48h"], "backup-failed": ["The last scheduled backup failed", "count", "1"],
    "tasks-parked": ["Parked tasks", "count", "1"], "task-overdue": ["The longest that a task is overdue", "seconds", "10m"],
    "webhook-lag": ["The longest that a webhook waits", "seconds", "15m"],
    "quota-used": ["Part of the public database's quota", "percent", "80%"], requests: ["Requests a minute", "perMinute", "1000"],
    errors: ["Requests with errors", "percent", "5%"], latency: ["Latency", "milliseconds", "250ms"],
    unlike: ["Unlike the same hour of the weeks before", "deviations", "1"],
};
const ofTraffic = ["requests", "errors", "latency", "unlike"];
const isBelow = (kind) => kind.startsWith("disk-free");

const tones = { firing: "bad", pending: "warn", fine: "good" };
const state = (rule) => [badge(rule.state, tones[rule.state]), rule.silence && [" ", badge("silenced")]];
const page = (rule) => href(`alerts/${encodeURIComponent(rule.name)}`);

async function add(known, before) {
    const kind = before?.kind ?? known[0];
    const input = (name) => document.querySelector(`dialog[open] [name=${name}]`);
    function adapt() {
        const chosen = input("kind").value;
        input("limit").value = kinds[chosen]?.[2] ?? "1";
        for (const [name, isUsed] of [["errors", chosen === "errors"], ["percentile", chosen === "latency"],
            ["operation", ofTraffic.includes(chosen)], ["container", [...ofTraffic, "quota-used"].includes(chosen)],
            ["environment", [...ofTraffic, "quota-used"].includes(chosen)]]) {
            input(name).closest(".field").hidden = !isUsed;
        }
    }
    const asked = form({
        title: before ? `Change ${before.name}` : "New alert", confirm: before ? "Change" : "Add alert",
        fields: [
            { name: "name", label: "Name", required: true, placeholder: "disk-low", value: before?.name ?? "", readonly: Boolean(before),
                pattern: "[A-Za-z0-9\\-]+", title: "Letters, digits and hyphens" },
            { name: "kind", label: "Figure", options: known.map((name) => [name, kinds[name]?.[0] ?? name]), value: kind, onchange: adapt },
            { name: "limit", label: "Limit", required: true, value: before ? written(before) : kinds[kind]?.[2] ?? "1",
                hint: "A figure with its unit, such as 10%, 5G, 48h, 250ms or 100." },
            { name: "errors", label: "Errors", value: before?.errors ?? "", placeholder: "all",
                hint: "client, server, or a code such as ZONE_BUSY." },
            { name: "percentile", label: "Percentile", options: [["", "95 %"], ["50", "50 %"], ["99", "99 %"]],
                value: before?.percentile ? String(before.percentile) : "" },
            { name: "container", label: "Container", options: [["", "All"], ...store.containers.get().map(({ name }) => [name, name])],
                value: before?.container ?? "" },
            { name: "environment", label: "Environment", options: [["", "Both"], ["development", "Development"], ["production", "Production"]],
                value: before?.environment ?? "" },
            { name: "operation", label: "Operation", value: before?.operation ?? "", placeholder: "all, or records/modify" },
            { name: "hold", label: "After", value: before ? `${before.holdSeconds}s` : "5m",
                hint: "How long it must be wrong before it is told; 0s for at once." },
            { name: "mail", label: "Mail to", value: before?.mail.join(", ") ?? "", placeholder: "ops@example.com" },
            { name: "webhook", label: "Webhook", type: "url", value: before?.webhook ?? "", placeholder: "https://hooks.example.com/alerts" },
        ],
        run(values) {
            const [isTraffic, hasPlace] = [ofTraffic.includes(values.kind), [...ofTraffic, "quota-used"].includes(values.kind)];
            const mail = values.mail.split(/[\s,]+/).filter(Boolean);
            return api.post("alerts", {
                name: values.name, kind: values.kind, limit: limit(values.limit, kinds[values.kind]?.[1])
                    ?? fault("limit", "This is no figure of that kind.", "Give 10%, 5G, 48h, 250ms or a number."),
                holdSeconds: seconds(values.hold) ?? fault("holdSeconds", "This is no time.", "Give 5m, 30s or 0s."),
                container: hasPlace ? given(values.container) : undefined, environment: hasPlace ? given(values.environment) : undefined,
                errors: values.kind === "errors" ? given(values.errors) : undefined,
                percentile: values.kind === "latency" ? Number(values.percentile || 95) : undefined,
                operation: isTraffic ? given(values.operation) : undefined, mail: mail.length ? mail : undefined, webhook: given(values.webhook),
                ...(values.kind === before?.kind ? { spanSeconds: before.spanSeconds, least: before.least, database: before.database } : {}),
                repeatSeconds: before?.repeatSeconds,
            });
        },
    });
    const limitBefore = input("limit").value;
    adapt();
    if (before) input("limit").value = limitBefore;
    const made = await asked;
    if (made?.secret) await shownOnce("Secret of the signatures", "The receiver checks X-Nacre-Signature with it. It is shown this once.",
        made.secret);
    return made;
}

const written = (rule) => ({ percent: `${rule.limit}%`, seconds: `${rule.limit}s`, milliseconds: `${rule.limit}ms` })[rule.unit]
    ?? String(rule.limit);

async function list(view, route) {
    const body = h("div", { class: "stack" });
    let known = Object.keys(kinds);
    const create = async () => {
        const made = await add(known);
        if (made) go(page(made));
    };
    commands.ofPage = [{ title: "New alert", hint: "Alerts", symbol: "plus", asks: "POST alerts", run: create }];
    put(view, header("Alerts", { sub: "The server compares figures with limits every half minute, and tells you when something is wrong.",
        actions: [button("New alert", create, { kind: "main", symbol: "plus", asks: "POST alerts" })] }), body);
    await load(body, () => api.get("alerts", {}, { signal: route.signal }), (answer) => {
        known = answer.kinds;
        const order = { firing: 0, pending: 1, fine: 2 };
        const rows = answer.alerts.toSorted((one, other) => order[one.state] - order[other.state] || one.name.localeCompare(other.name));
        return [table({ label: "Alerts", rows, key: (rule) => rule.name, onopen: (rule) => go(page(rule)), columns: [
            { title: "State", class: "nowrap", render: state },
            { title: "Name", render: (rule) => [h("a", { href: page(rule) }, rule.name),
                rule.isDefault && h("span", { class: "faint" }, " from the start")] },
            { title: "Figure", render: (rule) => kinds[rule.kind]?.[0] ?? rule.kind },
            { title: "Now", class: "number", render: (rule) => figure(rule.figure, rule.unit) },
            { title: "Limit", class: "number", render: (rule) => `${isBelow(rule.kind) ? "<" : "≥"} ${figure(rule.limit, rule.unit)}` },
            { title: "Since", render: (rule) => (rule.since ? time(rule.since) : "–") },
            { title: "Told by", render: (rule) => ["log", rule.mail.length > 0 && "mail", rule.webhook && "webhook"].filter(Boolean).join(", ") },
        ] }), code("nacre alert list")];
    });
}

async function details(view, route) {
    const name = route.rest[0];
    const again = () => details(view, route);
    const body = h("div", { class: "stack" });
    put(view, body);
    const tell = () => attempt(async () => {
        const { ways } = await api.post("alerts/test", { name });
        await dialog(`Test of ${name}`,
            () => table({ label: "Ways of telling", rows: ways, key: (one) => one.way,
                columns: [{ title: "Way", key: "way" },
                    { title: "Outcome", render: (one) => badge(one.isTaken ? "taken" : "not taken", one.isTaken ? "good" : "bad") },
                    { title: "Answer", key: "said" }] }));
    });
    const silence = async () => (await form({ title: `Silence ${name}`,
        text: "No beginning and no repetition is told in a silence. An alert that goes on after it is told.", confirm: "Silence",
        fields: [{ name: "time", label: "For", value: "4h", required: true, hint: "A minute to 30 days, such as 4h." },
            { name: "by", label: "Who", required: true, value: store.session.get()?.name ?? "" },
            { name: "why", label: "Why", required: true, placeholder: "A larger disk is on its way" }],
        run: (values) => api.post("alerts/silence",
            { name, seconds: Math.round(seconds(values.time) ?? fault("seconds", "This is no time.", "Give 4h, 30m or 2d.")), by: values.by,
                why: values.why }) })) && again();
    const end = async () => api.post("alerts/silence", { name }).then(again, toastError);
    const remove = async () => {
        if (!(await ask({ title: `Remove ${name}`,
            text: "No end is told of an alert that goes on. A rule that the server has from the start comes back as it was.", confirm: "Remove",
            isDanger: true }))) return;
        await attempt(async () => {
            const { hasDefault } = await api.post("alerts/remove", { name });
            toast(hasDefault ? "The server's own rule is back." : "Removed");
            go(href("alerts"));
        });
    };
    await load(body, () => api.get("alerts", {}, { signal: route.signal }), (answer) => {
        const rule = answer.alerts.find((one) => one.name === name);
        if (!rule) return [header(name), problem({ reason: "There is no such rule." }), linkButton("All alerts", href("alerts"))];
        const change = async () => (await add(answer.kinds.includes(rule.kind) ? answer.kinds : [rule.kind, ...answer.kinds], rule)) && again();
        return [
            header(rule.name, { sub: kinds[rule.kind]?.[0],
                actions: [button("Test", tell, { symbol: "send", asks: "POST alerts/test" }),
                    rule.silence ? button("End the silence", end, { asks: "POST alerts/silence" })
                        : button("Silence", silence, { asks: "POST alerts/silence" }),
                    button("Change", change, { symbol: "pencil", asks: "POST alerts" }),
                    !rule.isDefault && button("Remove", remove, { kind: "danger", symbol: "trash-2", asks: "POST alerts/remove" })] }),
            h("p", { class: "outcome" }, state(rule), h("strong", {}, figure(rule.figure, rule.unit)),
                h("span", { class: "faint" }, `limit ${isBelow(rule.kind) ? "below" : "from"} ${figure(rule.limit, rule.unit)}`),
                rule.since && h("span", { class: "faint" }, rule.state === "fine" ? "" : ["since ", time(rule.since)])),
            rule.silence && h("p", { class: "note" }, `Silenced until ${absolute(rule.silence.until)} by ${rule.silence.by}: ${rule.silence.why}`),
            card("Rule", pairs([["Kind", rule.kind], ["Told after", span(rule.holdSeconds)], ["Told again every", span(rule.repeatSeconds)],
                ["Looks at the last", rule.spanSeconds && span(rule.spanSeconds)], ["Judged from", rule.least && `${number(rule.least)} requests on`],
                ["Container", rule.container], ["Environment", rule.environment], ["Databases", rule.database], ["Operation", rule.operation],
                ["Errors", rule.errors], ["Percentile", rule.percentile && `${rule.percentile} %`],
                ["Mail to", rule.mail.join(", ")], ["Webhook", rule.webhook],
                ["From the start", rule.isDefault ? "yes: it cannot be removed, but silenced or changed" : undefined]])),
            code(`nacre alert show ${rule.name}\nnacre alert test ${rule.name}`),
        ];
    });
}

export default { render: (view, route) => (route.rest[0] ? details(view, route) : list(view, route)).then(() => null) };
