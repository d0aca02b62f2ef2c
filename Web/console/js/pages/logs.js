/// The requests that the server answered: filters, older ones, a live tail, and a file of what is filtered.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { saveFile } from "../files.js";
import { live } from "../live.js";
import { go, href } from "../router.js";
import { attempt, commands, toast, toastError } from "../shell.js";
import { firstRecord, shell } from "../snippets.js";
import { badge, button, bytes, clock, empty, field, header, liveButton, load, number, problem, select, table } from "../ui.js";

const names = ["status", "operation", "database", "code", "user", "zone", "client", "slowerThan", "since"];
const spans = { "": "All that is kept", hour: "Last hour", day: "Last day" };
/// Rows of the live tail: so many are drawn within a frame.
const tailRows = 250;

/// The query of the admin API for a state of the page.
export function question({ query, place }, now = Date.now()) {
    const ofPlace = query.scope === "server" ? {} : { container: place.container, environment: place.environment };
    const since = { hour: now - 3_600_000, day: now - 86_400_000 }[query.since];
    const slowerThan = query.slowerThan ? Number.parseInt(query.slowerThan, 10) || undefined : undefined;
    const status = query.status === "refused" ? { status: undefined, refused: "true" } : {};
    return { ...ofPlace, ...Object.fromEntries(names.map((name) => [name, query[name]])), since, slowerThan, ...status };
}

/// The tone of a status: what was refused, also in part, is not good.
export const tone = (line) => (line.status >= 500 ? "bad" : line.status >= 400 || line.refused > 0 ? "warn" : "good");

function columns() {
    return [
        { title: "Time", class: "ms", render: (line) => clock(line.time) },
        { title: "Status", render: (line) => badge(line.refused > 0 && line.status < 400 ? `${line.status} · ${line.refused} refused`
            : String(line.status), tone(line)) },
        { title: "Operation", class: "mono", render: (line) => line.operation },
        { title: "ms", class: "number ms",
            render: (line) => (line.milliseconds >= 100 ? Math.round(line.milliseconds) : line.milliseconds.toFixed(1)) },
        { title: "Items", class: "number", render: (line) => number(line.answered) },
        { title: "Out", class: "number", render: (line) => bytes(line.bytesOut) },
        { title: "Database", render: (line) => line.database ?? "–" },
        { title: "User", class: "mono", render: (line) => line.user?.slice(0, 10) ?? h("span", { class: "faint" }, "none") },
        { title: "Client", render: (line) => line.client },
        { title: "Why", class: "wrap", render: (line) => line.code && [h("span", { class: "mono" }, line.code), line.reason && ` ${line.reason}`] },
    ];
}

function command({ query, place }) {
    const quoted = (text) => (/^[\w.:@/-]+$/.test(text) ? text : shell(text));
    const options = { status: "status", operation: "operation", database: "database", code: "code", user: "user", zone: "zone", client: "client" };
    return ["nacre logs", query.scope === "server" ? "" : `--container ${place.container} --environment ${place.environment}`,
        ...Object.entries(options).map(([name, option]) => query[name]
            && (name === "status" && query[name] === "refused" ? "--refused" : `--${option} ${quoted(query[name])}`)),
        query.slowerThan && `--slower-than ${parseInt(query.slowerThan, 10)}ms`,
        query.since && `--since ${query.since === "hour" ? "1h" : "24h"}`, query.live && "-f"].filter(Boolean).join(" ");
}

/// Downloads the filtered requests, a JSON object on each line.
const save = (route) => attempt(async () => {
    const { list, isWhole } = await api.all("requests", { ...question(route), limit: 500 }, "requests", { most: 20_000, signal: route.signal });
    saveFile(new Blob([list.map((line) => JSON.stringify(line)).join("\n"), "\n"], { type: "application/x-ndjson" }), "requests.jsonl");
    toast(isWhole ? `${number(list.length)} requests.` : `The newest ${number(list.length)} requests.`);
});

export default {
    async render(view, first) {
        let route = first;
        let [rows, next, tail] = [[], undefined, undefined];
        const body = h("div", { class: "stack" });
        const more = h("div", { class: "row" });
        const controls = new Map();
        const set = (name, value) => route.go({ ...route.query, [name]: value });
        const control = (name, label, input, hint) => {
            controls.set(name, input);
            return field(label, input, { hint });
        };
        const text = (name, label, placeholder, list) => control(name, label,
            h("input", { type: "search", class: "mono", placeholder, list, spellcheck: "false",
                onchange: (event) => set(name, event.target.value.trim()) }));
        const choice = (name, label, options) => control(name, label, select(options, "", (value) => set(name, value)));
        const toggle = liveButton(() => set("live", route.query.live ? "" : "1"));
        const operation = text("operation", "Operation", "records/modify", "operations");
        controls.get("operation").dataset.filter = "";
        /// Folded on a small screen, unless something is filtered.
        const box = h("details", { class: "filter-box" }, h("summary", {}, "Filters"));
        const wide = matchMedia("(min-width: 821px)");
        const fold = () => { box.open = wide.matches || names.some((name) => route.query[name]); };
        wide.addEventListener("change", fold);
        fold();
        box.append(h("div", { class: "filters" },
            choice("status", "Status", [["", "Any"], ["refused", "Refused, or an item"], ["4xx", "Refused (4xx)"], ["5xx", "Failed (5xx)"],
                ["2xx", "Answered (2xx)"]]), operation,
            text("code", "Error", "ZONE_NOT_FOUND"), text("user", "User", "name or u-…"), text("zone", "Zone", "name or z-…"),
            text("slowerThan", "Slower than", "200 ms"),
            choice("database", "Database", [["", "Any"], ["public", "Public"], ["private", "Private"], ["shared", "Shared"]]),
            choice("client", "Client", [["", "Any"], ["framework", "Framework"], ["web", "Web"], ["serverKey", "Server key"], ["command", "Command"],
                ["none", "No credential"]]),
            choice("since", "Time", Object.entries(spans)), choice("scope", "Of", [["", "This container"], ["server", "Whole server"]])));
        put(view,
            header("Requests", { actions: [toggle, button("Download", () => save(route), { symbol: "download" })] }), box,
            h("datalist", { id: "operations" }, ["records/modify", "records/query", "records/lookup", "changes/zone", "changes/database",
                "zones/list", "zones/modify", "subscriptions/modify", "assets/upload", "users/caller"].map((name) => h("option", { value: name }))),
            body, more);

        const open = (line) => go(href(`request/${line.request}`, {}, line.container && line.environment ? line : route.place));

        function draw(fresh = 0) {
            const list = table({ label: "Requests", columns: columns(), rows, key: (line) => line.request, onopen: open });
            list.querySelector("table").classList.add("request-lines");
            [...list.querySelectorAll("tbody tr")].slice(0, fresh).forEach((row) => row.classList.add("fresh"));
            put(body, rows.length ? list : nothing());
            put(more, next && !tail && button("Older", older), h("code", { class: "faint mono" }, command(route)));
        }

        function nothing() {
            const isFiltered = names.some((name) => route.query[name]);
            if (isFiltered) return h("p", { class: "faint" },
                tail ? "Nothing that passes the filters has come yet." : "No request passes the filters.");
            return empty("No requests yet", "Each request of an app stands here a moment after its answer. Names and values of records never do.",
                firstRecord(route.place));
        }

        const older = () => attempt(async () => {
            const page = await api.get("requests", { ...question(route), after: next, limit: 100 }, { signal: route.signal });
            rows = [...rows, ...page.requests];
            next = page.next;
            draw();
        });

        function follow(last) {
            tail = live(async (signal) => {
                const page = await api.get("requests", { ...question(route), following: last, limit: 200 }, { signal });
                last = page.requests.length > 0 && page.next ? page.next : page.last;
                if (page.requests.length === 0) return;
                const isAway = body.contains(document.activeElement) && document.activeElement.closest("tr");
                const held = isAway && document.activeElement.closest("tr").row?.request;
                rows = [...page.requests.reverse(), ...rows].slice(0, tailRows);
                draw(page.requests.length);
                if (held) [...body.querySelectorAll("tbody tr")].find((row) => row.row.request === held)?.focus({ preventScroll: true });
            }, { every: 1000, onerror: toastError });
        }

        async function read() {
            tail?.stop();
            tail = undefined;
            for (const [name, input] of controls) if (input !== document.activeElement) input.value = route.query[name] ?? "";
            toggle.setAttribute("aria-pressed", String(Boolean(route.query.live)));
            commands.ofPage = [{ title: route.query.live ? "Stop the live tail" : "Follow requests live", hint: "Requests", symbol: "activity",
                run: () => toggle.click() },
                { title: "Only refused requests", hint: "Requests", symbol: "search", run: () => set("status", "refused") }];
            const asked = route;
            await load(body, () => api.get("requests", { ...question(route), limit: 100 }, { signal: route.signal }), (page) => {
                if (asked !== route) return [];
                [rows, next] = [page.requests, page.next];
                queueMicrotask(() => {
                    draw();
                    if (page.lost > 0) body.prepend(problem({ reason: `The log has lost ${number(page.lost)} requests since the server's start.`,
                        remedy: "Its disk was full or too slow: see the server's log." }));
                    if (route.query.live) {
                        follow(page.last);
                        put(more, h("code", { class: "faint mono" }, command(route)));
                    }
                });
                return [];
            });
        }
        await read();
        return {
            update(next_) {
                route = next_;
                return read();
            },
            close() {
                tail?.stop();
                wide.removeEventListener("change", fold);
            },
        };
    },
};
