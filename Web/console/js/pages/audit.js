/// What administrators did.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { attempt } from "../shell.js";
import { badge, button, code, empty, filterInput, header, id, load, passes, table, time } from "../ui.js";

/// The action in words of its path: `POST /admin/1/tokens/revoke` is "tokens/revoke".
const action = (text) => text.replace(/^(POST|DELETE) \/admin\/1\//, (_, method) => (method === "DELETE" ? "delete " : ""));
const subject = (entry) => Object.entries(entry.subject).toSorted(([one], [other]) => one.localeCompare(other));
const plain = (entry) => [entry.action, entry.author, entry.address, entry.requestID, ...subject(entry).flat()].join(" ");

export default {
    async render(view, route) {
        const body = h("div", { class: "stack" });
        let [entries, next] = [[], undefined];
        const filter = filterInput({ value: route.query.q ?? "", oninput: () => { route.replace({ q: filter.value }); draw(); } });
        async function more() {
            const page = await api.get("audit", { after: next }, { signal: route.signal });
            entries.push(...page.entries);
            next = page.next;
            draw();
        }
        function draw() {
            const rows = entries.filter((entry) => passes(filter.value, plain(entry)));
            put(body, table({ label: "Audit log", rows, key: (entry) => entry.number,
                empty: h("p", { class: "faint" }, "Nothing here passes the filter."), columns: [
                { title: "Time", class: "nowrap", render: (entry) => time(entry.time) },
                { title: "Action", class: "mono nowrap", render: (entry) => action(entry.action) },
                { title: "Subject", render: (entry) => subject(entry).map(([name, value], index) => [index > 0 && ", ",
                    h("span", { class: "faint" }, `${name} `), value]) },
                { title: "By", class: "nowrap", render: (entry) => entry.author ?? "administrator" },
                { title: "From", class: "mono nowrap", render: (entry) => entry.address },
                { title: "Status", render: (entry) => (entry.status ? badge(String(entry.status), entry.status < 400 ? "good" : "warn")
                    : badge("no answer", "bad")) }, { title: "Request", class: "mono", render: (entry) => id(entry.requestID, 13) },
            ] }), next && h("div", {}, button("Older", () => attempt(more))), code("nacre audit list"));
        }
        put(view, header("Audit log",
            { sub: "Each request of an administrator that changed something or read a database, before it was carried out." }),
            h("div", { class: "toolbar" }, filter), body);
        await load(body, () => api.get("audit", {}, { signal: route.signal }), (page) => {
            [entries, next] = [page.entries, page.next];
            if (entries.length === 0) return empty("Nothing yet", "",
                [["Shell", "nacre audit list"]]);
            queueMicrotask(draw);
            return [];
        });
        return {
            update(next_) {
                filter.value = next_.query.q ?? "";
                draw();
            },
        };
    },
};
