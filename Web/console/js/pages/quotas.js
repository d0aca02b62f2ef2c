/// Bytes that databases hold and may hold, and work that users may have done.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { size } from "../figures.js";
import { fault, form, given } from "../forms.js";
import { href } from "../router.js";
import { attempt, commands, toast } from "../shell.js";
import { badge, button, bytes, card, code, filterInput, header, id, load, number, pairs, plural, table } from "../ui.js";

/// The part of a quota that is used, as a bar; nothing without a quota.
function bar(used, limit) {
    if (!limit) return h("span", { class: "faint" }, "no limit");
    const part = used / limit;
    return h("span", { class: `share ${part >= 1 ? "full" : part >= 0.8 ? "high" : ""}`, role: "img",
        "aria-label": `${Math.round(part * 100)} % of ${bytes(limit)}` }, h("span", { style: { width: `${Math.min(100, 100 * part)}%` } }));
}

const quota = (value) => (value === 0 ? "as much as the disk" : bytes(value));
const rate = (value) => (value === 0 ? "no limit" : `${number(value)} units a second`);
const own = (isOwn) => badge(isOwn ? "set here" : "the server's");

export default {
    async render(view, route) {
        const { container, environment } = route.place;
        const body = h("div", { class: "stack" });
        const told = h("div", { class: "stack" });
        let [users, next, ofPublic] = [[], undefined, undefined];

        /// A form with two numbers, each of which may be set or given back to the server.
        async function change({ title, path, place, unit, names, now, isOwn }) {
            const read = unit === "bytes" ? size : (text) => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);
            const made = await form({
                title, confirm: "Change", text: unit === "bytes"
                    ? "0 means as much as the disk. Above its quota a database takes no saves, and still deletes."
                    : "0 means no limit. A caller that has used up its rate is told when to ask again.",
                fields: names.map(([name, label]) => ({ name, label, value: isOwn[name] ? String(now[name]) : "",
                    placeholder: `the server's: ${unit === "bytes" ? quota(now[name]) : rate(now[name])}`,
                    hint: unit === "bytes" ? "Such as 250M or 1G. Empty: the server's own." : "Units of work a second. Empty: the server's own." })),
                run: (values) => api.post(path, { ...place, ...Object.fromEntries(names.map(([name]) => {
                    const text = given(values[name]);
                    if (text === undefined) return [`resets${name[0].toUpperCase()}${name.slice(1)}`, true];
                    return [name, read(text) ?? fault(name, "This is no such number.",
                        unit === "bytes" ? "Give a size such as 250M, or 0." : "Give a whole number.")];
                })) }),
            });
            if (made) toast("Changed", { tone: "good" });
            if (made) await show();
        }

        async function more() {
            const page = await api.get("usage", { container, environment, after: next }, { signal: route.signal });
            users.push(...page.users);
            next = page.next;
            draw();
        }

        function draw() {
            const rows = users.toSorted((one, other) => other.bytes - one.bytes);
            put(told, h("h2", {}, "Private databases"),
                table({ label: "Use of private databases", rows, key: (user) => user.user,
                    empty: h("p", { class: "faint" }, "No user has stored anything yet."), columns: [
                { title: "User record", class: "mono", render: (user) => id(user.user, 44) },
                { title: "Holds", class: "number", render: (user) => bytes(user.bytes) },
                { title: "Of its quota", render: (user) => bar(user.bytes, user.limit) },
                { title: "Look at", render: (user) => h("a", { href: href("logs", { user: user.user }, route.place) }, "Requests") },
            ] }), h("p", { class: "faint" }, plural(users.length, "user"), next && " so far"), next && button("More users", () => attempt(more)));
        }

        const find = filterInput({ placeholder: "A user: address or user record name", value: route.query.user ?? "",
            onchange: () => route.go({ user: find.value.trim() }) });

        const show = () => load(body, () => Promise.all([
            api.get("quotas", route.place, { signal: route.signal }), api.get("rates", { container }, { signal: route.signal }),
            api.get("usage", route.place, { signal: route.signal }),
            route.query.user ? api.get("usage", { ...route.place, user: route.query.user }, { signal: route.signal }).then(({ users: [one] }) => one,
                (error) => error) : undefined,
        ]), ([quotas, rates, usage, one]) => {
            [users, next, ofPublic] = [one ? (one.user ? [one] : []) : usage.users, one ? undefined : usage.next, usage.public];
            const [setQuotas, setRates] = [
                () => change({ title: "Quotas", path: "quotas/change", place: route.place, unit: "bytes",
                    names: [["userBytes", "Each private database"], ["publicBytes", "The public database"]], now: quotas,
                    isOwn: { userBytes: quotas.isUserBytesOwn, publicBytes: quotas.isPublicBytesOwn } }),
                () => change({ title: "Rates", path: "rates/change", place: { container }, unit: "units",
                    names: [["userRate", "Each user"], ["containerRate", "All callers together"]], now: rates,
                    isOwn: { userRate: rates.isUserRateOwn, containerRate: rates.isContainerRateOwn } }),
            ];
            commands.ofPage = [{ title: "Change quotas", hint: "Quotas", symbol: "gauge", asks: "POST quotas/change", run: setQuotas },
                { title: "Change rates", hint: "Quotas", symbol: "gauge", asks: "POST rates/change", run: setRates }];
            draw();
            return [
                h("div", { class: "grid-2" },
                    card("Public database", h("p", { class: "outcome" }, h("strong", {}, bytes(ofPublic.bytes)),
                        ofPublic.limit ? h("span", { class: "faint" }, `of ${bytes(ofPublic.limit)}`) : ""), bar(ofPublic.bytes, ofPublic.limit)),
                    card("Quotas", pairs([["Each private database", h("span", { class: "row" }, quota(quotas.userBytes), own(quotas.isUserBytesOwn))],
                        ["The public database", h("span", { class: "row" }, quota(quotas.publicBytes), own(quotas.isPublicBytesOwn))]]),
                        h("div", { class: "actions" }, button("Change quotas", setQuotas, { asks: "POST quotas/change" }))),
                    card("Rates, in both environments",
                        pairs([["Each user", h("span", { class: "row" }, rate(rates.userRate), own(rates.isUserRateOwn))],
                            ["All callers together", h("span", { class: "row" }, rate(rates.containerRate), own(rates.isContainerRateOwn))]]),
                            h("div", { class: "actions" }, button("Change rates", setRates, { asks: "POST rates/change" })))),
                h("div", { class: "toolbar" }, find), one instanceof Error && h("p", { class: "note" }, one.reason ?? one.message), told,
                code(["usage", "quota show"].map((verb) => `nacre ${verb} --container ${container} --environment ${environment}\n`).join("")
                    + `nacre rate show --container ${container}`),
            ];
        });
        put(view, header("Quotas and rates"), body);
        await show();
        return null;
    },
};
