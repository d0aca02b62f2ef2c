/// Every limit of the server, as it is set.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { span } from "../figures.js";
import { badge, bytes, code, filterInput, header, load, number, passes, table } from "../ui.js";

/// What a limit is in words; its name says the unit.
export function words({ name, value }) {
    if (value === 0) return "no limit";
    if (/Bytes/.test(name)) return bytes(value);
    return /Seconds/.test(name) ? span(value) : "";
}

export default {
    async render(view, route) {
        const body = h("div", { class: "stack" });
        let limits = [];
        const filter = filterInput({ placeholder: "Bytes, CloudKit, share", oninput: () => draw() });
        const list = h("div", {});
        function draw() {
            const rows = limits.filter((one) => passes(filter.value, `${one.name} ${one.source}`));
            put(list, table({ label: "Limits", rows, key: (one) => one.name, empty: h("p", { class: "faint" }, "No limit has such a name."),
                columns: [{ title: "Limit", class: "mono", key: "name" }, { title: "Value", class: "number", render: (one) => number(one.value) },
                    { title: "That is", render: words },
                    { title: "Whose", render: (one) => badge(one.source, one.source === "CloudKit" ? "accent" : "") }] }));
        }
        put(view, header("Limits", { sub: "CloudKit's own limits, and those of this server." }),
            body);
        await load(body, () => api.get("limits", {}, { signal: route.signal }), (found) => {
            ({ limits } = found);
            draw();
            return [h("div", { class: "toolbar" }, filter), list,
                code("nacre limits")];
        });
        return null;
    },
};
