/// What the cloud did in a period: figures, a chart over time, what changed, and lines by a property.

import { api } from "../api.js";
import { chart } from "../chart.js";
import { h, put } from "../dom.js";
import { change, latency, percent, rate, sentence } from "../figures.js";
import { here } from "../router.js";
import { commands } from "../shell.js";
import { firstRecord } from "../snippets.js";
import { store } from "../store.js";
import { absolute, bytes, card, code, empty, header, iconButton, load, number, segments, select, table } from "../ui.js";

const periods = { hour: "Hour", day: "Day", week: "Week", month: "30 days", year: "Year" };
const groupings = { operation: "Operations", series: "Operations by database", database: "Databases", container: "Containers", code: "Errors",
    client: "Clients", index: "Indexes" };

/// Why figures are not there.
export const hidden = "Figures of private and shared databases are left out if they are of fewer than five users, or of a time that is not over.";

/// The query of the admin API for a state of the page.
export function question({ query, place }) {
    const ofPlace = query.scope === "server" ? {} : { container: place.container, environment: place.environment };
    const period = query.from ? { from: query.from, to: query.to } : { last: query.last ?? "day" };
    return { ...period, ...ofPlace, operation: query.operation, database: query.database };
}

function tiles({ total, before }) {
    const tile = (name, value, of, isBad) => {
        const changed = before && change(of(before), of(total));
        return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value,
            changed && h("span", { class: `delta ${isBad && changed.tone === "up" ? "bad" : ""}` }, changed.text,
                h("span", { class: "sr" }, " against the period before"))));
    };
    return h("dl", { class: "tiles" },
        tile("Requests", number(total.requests), (line) => line.requests),
        tile("Refused", percent(rate(total)), rate, true),
        tile("Items refused", number(total.itemErrors), (line) => line.itemErrors, true),
        tile("Median", latency(total.p50), (line) => line.p50, true),
        tile("95 %", latency(total.p95), (line) => line.p95, true),
        tile("99 %", latency(total.p99), (line) => line.p99, true),
        tile("Users", /^\d+$/.test(total.users) ? number(total.users) : total.users?.replace("fewer than", "<"),
            (line) => (/^\d+$/.test(line.users) ? Number(line.users) : undefined)),
        tile("Sent", bytes(total.bytesOut), (line) => line.bytesOut),
        total.storedBytes !== undefined && tile("Stored", bytes(total.storedBytes), (line) => line.storedBytes));
}

function lines(answer, by, route) {
    const most = Math.max(1, ...answer.lines.map((line) => line.requests));
    const bar = (line) => h("span", { class: "share", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * line.requests) / most}%` } }));
    const isPart = ["code", "client", "index"].includes(by);
    const parts = { operation: "Operation", database: "Database", container: "Container", environment: "Environment", code: "Error", client: "Client",
        index: "Way of the query" };
    const name = ({ container: ["container", "environment"], series: ["operation", "database", "container", "environment"] }[by] ?? [by]).map((key) => (
        { title: parts[key], class: ["operation", "code"].includes(key) ? "mono" : "", render: (line) => line[key] || "–" }));
    const counts = [{ title: "Requests", class: "number", render: (line) => number(line.requests) },
        { title: h("span", { class: "sr" }, "Share"), class: "bar-column", render: bar },
        { title: "Errors", class: "number", render: (line) => number(line.errors) }];
    const rest = isPart ? [] : [
        { title: "p50", class: "number", render: (line) => latency(line.p50) },
        { title: "p95", class: "number", render: (line) => latency(line.p95) },
        { title: "p99", class: "number", render: (line) => latency(line.p99) }, { title: "Users", class: "number", render: (line) => line.users },
        { title: "In", class: "number", render: (line) => bytes(line.bytesIn) },
        { title: "Out", class: "number", render: (line) => bytes(line.bytesOut) },
    ];
    const opens = {
        operation: (line) => route.go({ ...route.query, operation: line.operation }),
        series: (line) => route.go({ ...route.query, operation: line.operation }),
        code: (line) => { location.hash = here("logs", { code: line.code, scope: route.query.scope }); },
    }[by];
    return table({ label: groupings[by], columns: [...name, ...counts, ...rest], rows: answer.lines, onopen: opens,
        empty: h("p", { class: "faint" }, answer.hasHidden ? hidden : "Nothing in this period.") });
}

/// A chart of the requests and errors of bars, the first of which would end at `to` if there were no other. `spec` has more of the chart.
export function requestChart(bars, to, { series = [], ...spec }) {
    const starts = bars.map((bar) => bar.start);
    return card(null, chart({ starts, slot: (starts[1] ?? to) - starts[0], timeZone: store.isUTC.get() ? "UTC" : undefined, ...spec,
        series: [{ name: "requests", values: bars.map((bar) => bar.requests), shape: "column" },
            { name: "errors", values: bars.map((bar) => bar.errors), shape: "hatched" }, ...series] }));
}

/// The bars of the period before, to be laid over those of the answer; empty where it is not compared.
async function barsBefore(asked, answer, isCompared, options) {
    if (!isCompared) return [];
    const { last, ...others } = asked;
    const found = await api.get("telemetry", { ...others, from: answer.from - (answer.to - answer.from), to: answer.from }, options);
    return found.bars.length === answer.bars.length ? found.bars.map((bar) => bar.requests) : [];
}

function command({ query, place }) {
    const parts = ["nacre telemetry", query.from ? "" : `--last ${query.last ?? "day"}`,
        query.scope === "server" ? "" : `--container ${place.container} --environment ${place.environment}`,
        query.operation && `--operation ${query.operation}`, query.database && `--database ${query.database}`,
        query.by && query.by !== "series" ? `--by ${query.by}` : "", query.compare === "no" ? "" : "--compare"];
    return parts.filter(Boolean).join(" ");
}

function draw(view, route) {
    const { query, place } = route;
    const by = groupings[query.by] ? query.by : "operation";
    const isCompared = query.compare !== "no";
    const last = query.from ? undefined : periods[query.last] ? query.last : "day";
    const body = h("div", { class: "stack" });
    commands.ofPage = Object.entries(periods).map(([key, title]) => ({ title: `Telemetry: last ${title.toLowerCase()}`, hint: "Period",
        symbol: "clock", run: () => route.go({ ...query, from: "", to: "", last: key }) }));

    const filters = h("div", { class: "toolbar" },
        segments("Period", Object.entries(periods), last, (key) => route.go({ ...query, from: "", to: "", last: key })),
        query.from && h("span", { class: "chip" }, `${absolute(Number(query.from))} – ${absolute(Number(query.to))}`,
            iconButton("x", "Whole day", () => route.go({ ...query, from: "", to: "" }))),
        query.operation && h("span", { class: "chip mono" }, query.operation,
            iconButton("x", "All operations", () => route.go({ ...query, operation: "" }))),
        select([["", "All databases"], ["public", "Public"], ["private", "Private and shared"]], query.database ?? "",
            (value) => route.go({ ...query, database: value }), { "aria-label": "Databases" }),
        select([["", "This container"], ["server", "Whole server"]], query.scope ?? "", (value) => route.go({ ...query, scope: value }),
            { "aria-label": "Scope" }),
        h("label", { class: "check" },
            h("input", { type: "checkbox", checked: isCompared,
                onchange: (event) => route.go({ ...query, compare: event.target.checked ? "" : "no" }) }), "Compare"));

    put(view, header("Telemetry", { sub: query.scope === "server" ? "All containers of this server" : undefined,
        actions: [iconButton("refresh-cw", "Refresh", () => draw(view, route))] }), filters, body);
    const asked = question(route);
    return load(body, async () => {
        const answer = await api.get("telemetry", { ...asked, by: by === "series" ? "" : by, compare: isCompared ? "previous" : "" },
            { signal: route.signal });
        return [answer, await barsBefore(asked, answer, isCompared, { signal: route.signal })];
    }, ([answer, before]) => {
        if (answer.total.requests === 0 && !answer.before?.requests && !query.operation && !query.database) {
            return empty("No requests in this period", answer.hasHidden ? hidden : "Sums appear ten seconds after the first request of an app.",
                firstRecord(place));
        }
        const changes = (answer.changes ?? []).map(sentence);
        return [
            tiles(answer),
            requestChart(answer.bars, answer.to, { title: "Requests",
                series: before.length ? [{ name: "requests before", values: before, shape: "dashed" }] : [],
                onperiod: ({ from, to }) => route.go({ ...query, last: "", from, to }) }),
            h("p", { class: "hint" }, "Drag across the chart to look into a part of it, or use arrows, Shift with arrows, and Enter."),
            isCompared && changes.length > 0 && card("What changed against the period before", h("ul", { class: "changes" },
                changes.map(({ head, because }) => h("li", {}, h("strong", {}, head),
                    because.length > 0 && h("span", {}, ` Mostly ${because.join(", ")}.`))))),
            card(null, segments("Lines by", Object.entries(groupings), by,
                (key) => route.go({ ...query, by: key === "operation" ? "" : key })), lines(answer, by, route),
                answer.hasHidden && h("p", { class: "hint" }, hidden)),
            code(command(route)),
        ];
    });
}

export default {
    async render(view, route) {
        await draw(view, route);
        return { update: (next) => draw(view, next) };
    },
};
