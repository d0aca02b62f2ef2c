/// Every limit of the server, as it is set.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { span } from "../figures.js";
import { badge, bytes, code, filterInput, header, load, number, table } from "../ui.js";

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
            const asked = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
            const rows = limits.filter((one) => asked.every((word) => `${one.name} ${one.source}`.toLowerCase().includes(word)));
            put(list, table({ label: "Limits", rows, key: (one) => one.name, empty: h("p", { class: "faint" }, "No limit has such a name."),
                columns: [{ title: "Limit", class: "mono", key: "name" }, { title: "Value", class: "number", render: (one) => number(one.value) },
                    { title: "That is", render: words },
                    { title: "Whose", render: (one) => badge(one.source, one.source === "CloudKit" ? "accent" : "") }] }));
        }
        put(view, header("Limits", { sub: "What one request, user, container or connection may take: CloudKit's own limits, and those of this server." }),
            body);
        await load(body, () => api.get("limits", {}, { signal: route.signal }), (found) => {
            ({ limits } = found);
            draw();
            return [h("form", { class: "toolbar", onsubmit: (event) => event.preventDefault() }, filter), list,
                code("nacre limits", { language: "Shell" })];
        });
        return null;
    },
};
