/// Tasks that wait to run outside requests, and checks of what is stored.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { ask, attempt } from "../shell.js";
import { badge, button, bytes, card, code, header, id, load, number, plural, problem, progress, rowButton, table, time } from "../ui.js";

const most = 500;
const words = { mendable: ["a repair mends it", "warn"], mended: ["mended", "good"], lost: ["lost until the app saves it again", "bad"],
    beyondRepair: ["only a backup helps", "bad"], damaged: ["damaged", "bad"], missing: ["missing", "bad"],
    orphaned: ["belongs to nothing", "warn"] };

/// The parts of a check one after another: `ask(after)` brings a part, `add(part)` takes it. Ends when it is told to, or after the last part.
export async function inParts(ask, add, signal) {
    let after;
    do {
        const part = await ask(after);
        add(part);
        after = part.next;
    } while (after && !signal.aborted);
    return !after;
}

/// A check with its buttons: `ways` are `{ title, run(after, signal), isDanger, warning }`.
function check({ title, text, ways, counts, columns, signal }) {
    const place = h("div", { class: "stack" });
    let controller;
    async function run(way) {
        if (way.warning && !(await ask({ title: way.title, text: way.warning, confirm: way.title, isDanger: true }))) return;
        controller?.abort();
        const mine = (controller = new AbortController());
        signal.addEventListener("abort", () => mine.abort());
        const [sums, findings] = [{}, []];
        const draw = (state) => put(place, state, findings.length > 0
            && [h("p", {}, plural(findings.length, "fault"), findings.length > most ? `; the first ${most}:` : ":"),
                table({ label: "Faults", rows: findings.slice(0, most), columns })]);
        const told = () => Object.entries(sums).map(([name, value]) => (name === "bytes" ? bytes(value) : `${number(value)} ${name}`)).join(", ");
        draw(progress("Begins …"));
        try {
            const isWhole = await inParts((after) => way.run(after, mine.signal), (part) => {
                for (const name of counts) sums[name] = (sums[name] ?? 0) + part[name];
                findings.push(...part.findings);
                draw(h("div", { class: "row" }, progress(told()), button("Stop", () => mine.abort(), { kind: "quiet" })));
            }, mine.signal);
            draw(h("p", { class: "outcome" }, badge(findings.length ? "faults" : "fine", findings.length ? "warn" : "good"),
                `${isWhole ? "Looked at" : "Stopped after"} ${told()}.`));
        } catch (error) {
            draw(error.name === "AbortError" ? h("p", {}, `Stopped after ${told() || "nothing"}.`) : problem(error));
        }
    }
    return card(title, h("p", { class: "soft" }, text),
        h("div", { class: "actions" }, ways.map((way) => button(way.title, () => run(way), { kind: way.isDanger ? "danger" : "", asks: way.asks }))), place);
}

const where = (one) => [one.database || "no database", one.zone, one.record, one.field].filter(Boolean).join(" · ");

export default {
    async render(view, route) {
        const body = h("div", { class: "stack" });
        const retry = async (tasks) => {
            if (await attempt(async () => {
                for (const task of tasks) await api.post("tasks/retry", { id: task.id });
            }, `${plural(tasks.length, "task")} will be tried again.`)) read();
        };
        const read = () => load(body, () => api.all("tasks", {}, "tasks", { signal: route.signal }), ({ list, isWhole }) => {
            const rows = list.toSorted((one, other) => Number(other.isParked) - Number(one.isParked));
            const parked = rows.filter((task) => task.isParked);
            return [
                h("div", { class: "row" }, h("p", { class: "grow" }, plural(list.length, "task"), isWhole ? "" : " and more",
                    parked.length > 0 && [", of which ", badge(`${number(parked.length)} parked`, "bad")]),
                    parked.length > 1 && button("Retry all that are parked", () => retry(parked), { symbol: "rotate-ccw" })),
                table({ label: "Tasks", rows: rows.slice(0, most), key: (task) => task.id, empty: h("p", { class: "faint" }, "Nothing waits."),
                    columns: [
                    { title: "State", render: (task) => (task.isParked ? badge("parked", "bad") : badge("waits")) },
                    { title: "Kind", class: "mono", render: (task) => task.kind },
                    { title: "Attempts", class: "number", render: (task) => number(task.attempts) },
                    { title: "Due", render: (task) => (task.due ? time(task.due) : "–") },
                    { title: "Database", class: "mono", render: (task) => (task.database ? id(task.database, 44) : "–") },
                    { title: "Records", class: "number", render: (task) => (task.recordsDone === undefined ? "–" : number(task.recordsDone)) },
                    { title: "ID", class: "mono", render: (task) => id(task.id, 22) },
                    { title: "Action", class: "number", render: (task) => task.isParked && rowButton("Retry", task.kind, () => retry([task])) },
                ] }),
            ];
        });
        const outcome = { title: "Outcome", render: (one) => badge(...words[one.outcome ?? one.kind] ?? [one.outcome ?? one.kind]) };
        put(view, header("Tasks and checks",
            { sub: "Tasks run outside requests: letters, pushes, indexes, removals. One that fails 16 times is parked." }), body,
            h("div", { class: "grid-2" },
            check({
                title: "Records and indexes", text: "Reads every row and compares it with what its indexes say. Requests go on meanwhile.",
                counts: ["rows"], signal: route.signal,
                ways: [{ title: "Check", asks: "POST check", run: (after, signal) => api.post("check", { repairs: false, removesLost: false, after }, { signal }) },
                    { title: "Check and repair", asks: "POST check", isDanger: true, warning: "What a repair mends is mended. Make a backup first.",
                        run: (after, signal) => api.post("check", { repairs: true, removesLost: false, after }, { signal }) }],
                columns: [outcome, { title: "What", key: "what" }, { title: "Where", class: "mono", render: where }],
            }),
            check({
                title: "Files of assets", text: "Reads every chunk and compares it with what was sent; collecting removes chunks that no asset has.",
                counts: ["assets", "chunks", "bytes"], signal: route.signal,
                ways: [{ title: "Verify", asks: "POST assets/verify", run: (after, signal) => api.post("assets/verify", { after }, { signal }) },
                    { title: "Find orphans", asks: "POST assets/collect", run: (after, signal) => api.post("assets/collect", { isDryRun: true, after }, { signal }) },
                    { title: "Remove orphans", asks: "POST assets/collect", isDanger: true, warning: "Chunks that no asset has are removed.",
                        run: (after, signal) => api.post("assets/collect", { isDryRun: false, after }, { signal }) }],
                columns: [outcome, { title: "Where", class: "mono", render: where },
                    { title: "Size", class: "number", render: (one) => bytes(one.bytes) }],
            })), code("nacre task list --parked\nnacre check\nnacre assets verify"));
        await read();
        return null;
    },
};
