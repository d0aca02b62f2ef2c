/// Faults that an emulator is told to make, for tests of apps.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { given } from "../forms.js";
import { commands, toastError } from "../shell.js";
import { may } from "../store.js";
import { button, card, code, empty, field, header, load, problem, select } from "../ui.js";

const faults = {
    requestRateLimited: "Too many requests", serviceUnavailable: "Service unavailable", zoneBusy: "Zone busy", quotaExceeded: "Quota exceeded",
    permissionFailure: "Not permitted", serverRejectedRequest: "Rejected",
    changeTokenExpired: "Change token expired", connectionLostBeforeCommit: "Connection lost before the commit",
    connectionLostAfterCommit: "Connection lost after the commit", latency: "Slow",
};
const requests = { any: "Any request", modifyRecords: "Saves and deletions", fetchRecords: "Fetches of records", queryRecords: "Queries",
    modifyZones: "Changes of zones", fetchZones: "Fetches of zones", fetchZoneChanges: "Changes of a zone",
    fetchDatabaseChanges: "Changes of a database", modifySubscriptions: "Changes of subscriptions", fetchSubscriptions: "Fetches of subscriptions",
    fetchUser: "The user", transferAsset: "Files" };
const withPause = ["requestRateLimited", "serviceUnavailable", "zoneBusy"];

/// The order in the words of the command line.
export function command(order) {
    const options = { request: "request", count: "count", user: "user", zone: "zone", retryAfter: "retry-after", seconds: "seconds" };
    return ["nacre fault add", order.fault,
        ...Object.entries(options).filter(([name]) => order[name] !== undefined).map(([name, option]) => `--${option} ${order[name]}`),
        ...(order.records ?? []).map((name) => `--record ${name}`)].join(" ");
}

export default {
    async render(view, route) {
        const body = h("div", { class: "stack" });
        put(view, header("Faults", { sub: "Make requests of your app fail on purpose, and see what it does." }), body);
        await load(body, async () => ((await api.get("server")).isEmulator ? (await api.get("faults", {}, { signal: route.signal })).faults : null), (first) => {
            if (!first) return empty("This server makes no faults",
                "Only an emulator does: it keeps its data in memory, and takes orders for faults.",
                [["Shell", "nacre serve --emulator"], ["Tests", "nacre exec -- swift test"]]);
            const pending = h("div", { class: "stack" });
            const wrong = h("div", {});
            const input = (props) => h("input", { autocomplete: "off", spellcheck: "false", oninput: tell, ...props });
            const fields = {
                fault: select(Object.entries(faults), "zoneBusy", adapt), request: select(Object.entries(requests), "any", tell),
                count: input({ type: "number", min: "1", max: "1000000", value: "1" }),
                user: input({ type: "email", placeholder: "any" }), zone: input({ placeholder: "any" }),
                records: input({ placeholder: "the whole request", class: "mono" }),
                retryAfter: input({ type: "number", min: "0", max: "86400", value: "1" }),
                seconds: input({ type: "number", min: "0", max: "86400", step: "0.1", value: "2" }),
            };
            const shown = {
                fault: field("What goes wrong", fields.fault), request: field("With", fields.request), count: field("How often", fields.count),
                user: field("Of the user", fields.user), zone: field("That names the zone", fields.zone),
                records: field("Only for the records", fields.records, { hint: "Names, with blanks between." }),
                retryAfter: field("Ask again after, in seconds", fields.retryAfter), seconds: field("For seconds", fields.seconds),
            };
            const line = h("code", { class: "mono faint" });
            const order = () => ({
                fault: fields.fault.value, request: fields.request.value === "any" ? undefined : fields.request.value,
                count: Number(fields.count.value), user: given(fields.user.value), zone: given(fields.zone.value),
                records: given(fields.records.value)?.split(/\s+/),
                retryAfter: withPause.includes(fields.fault.value) ? Number(fields.retryAfter.value) : undefined,
                seconds: fields.fault.value === "latency" ? Number(fields.seconds.value) : undefined,
            });
            function tell() {
                put(line, command(order()));
            }
            function adapt() {
                shown.retryAfter.hidden = !withPause.includes(fields.fault.value);
                shown.seconds.hidden = fields.fault.value !== "latency";
                tell();
            }
            function show(list) {
                put(pending, list.length === 0 ? h("p", { class: "faint" }, "Nothing is ordered.")
                    : [h("ol", { class: "changes" }, list.map((text) => h("li", {}, text))),
                        h("div", { class: "actions" }, button("Take all back", clear, { kind: "danger", asks: "POST faults/clear" }))]);
            }
            const clear = () => api.post("faults/clear").then(() => show([]), toastError);
            async function add(event) {
                event.preventDefault();
                put(wrong);
                try {
                    show((await api.post("faults", order())).faults);
                } catch (error) {
                    put(wrong, problem(error));
                }
            }
            commands.ofPage = [{ title: "Take all faults back", hint: "Faults", symbol: "rotate-ccw", asks: "POST faults/clear", run: clear }];
            adapt();
            show(first);
            return h("div", { class: "grid-2" },
                may("POST faults") && card("Order a fault", h("form", { class: "form", onsubmit: add }, h("div", { class: "form-row" }, shown.fault, shown.request),
                    h("div", { class: "form-row" }, shown.count, shown.retryAfter, shown.seconds),
                    h("div", { class: "form-row" }, shown.user, shown.zone), shown.records, line, wrong,
                    h("div", { class: "actions" }, button("Order it", undefined, { kind: "main", type: "submit", symbol: "zap" })))),
                card("Ordered, and not happened yet", pending,
                    button("Look again", () => api.get("faults").then((answer) => show(answer.faults), toastError), { kind: "quiet" }),
                    code("nacre fault list")));
        });
        return null;
    },
};
