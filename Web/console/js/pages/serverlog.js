/// The last lines of the server's own log, and those that come.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { live } from "../live.js";
import { here } from "../router.js";
import { commands, toastError } from "../shell.js";
import { badge, clock, code, filterInput, header, liveButton, passes, select } from "../ui.js";

const linesMost = 1000;
const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const tones = { warning: "warn", error: "bad", critical: "bad" };

/// A line of the log: its time, level and text, and the rest as pairs. A line that is no JSON is a text.
export function read(line) {
    try {
        const { ts, level, msg, ...others } = JSON.parse(line);
        return { time: ts, level, text: msg ?? "", pairs: Object.entries(others).filter(([, value]) => value !== "") };
    } catch {
        return { time: undefined, level: "", text: line, pairs: [] };
    }
}

/// The pairs that say why, which stand before the others.
const telling = ["code", "reason", "error", "remedy", "path", "url"];
const shown = (pairs) => pairs.map(([name, value]) => [" ", h("span", { class: "keyed" }, `${name}=`),
    name === "request_id" ? h("a", { href: here(`request/${encodeURIComponent(value)}`) }, value) : String(value)]);

function row(line) {
    const { time, level, text, pairs } = read(line);
    return h("li", { data: { text: line } }, time ? clock(time) : h("span", {}), h("span", {}, badge(level, tones[level] ?? "")),
        h("span", {}, text, shown(pairs.filter(([name]) => telling.includes(name))),
            h("span", { class: "keyed" }, shown(pairs.filter(([name]) => !telling.includes(name))))));
}

export default {
    async render(view, route) {
        let tail;
        const list = h("ol", {});
        const note = h("p", { class: "faint" });
        const filter = filterInput({ value: route.query.q ?? "", oninput: () => { route.replace({ ...route.query, q: filter.value }); sift(); } });
        const level = select([["", "All levels"], ...levels.slice(2).map((name) => [name, `From ${name} on`])], route.query.level ?? "",
            (value) => route.go({ ...route.query, level: value }), { "aria-label": "Level" });
        const toggle = liveButton(() => route.go({ ...route.query, still: route.query.still ? "" : "1" }));
        const isSifted = (one) => one.hidden = !passes(filter.value, one.dataset.text);
        const sift = () => [...list.children].forEach(isSifted);

        function begin() {
            tail?.stop();
            list.replaceChildren();
            toggle.setAttribute("aria-pressed", String(!route.query.still));
            level.value = route.query.level ?? "";
            filter.value = route.query.q ?? "";
            commands.ofPage = [{ title: route.query.still ? "Follow the server's log" : "Stop following", hint: "Server log", symbol: "activity",
                run: () => toggle.click() }];
            let after;
            tail = live(async (signal) => {
                const page = await api.get("logs", { after, level: route.query.level }, { signal });
                const isFirst = after === undefined;
                after = page.last;
                const rows = page.lines.map(row).reverse();
                rows.forEach(isSifted);
                list.prepend(...rows);
                while (list.children.length > linesMost) list.lastChild.remove();
                if (page.missed > 0 && !isFirst) put(note, `${page.missed} lines came too fast to be kept.`);
                if (list.children.length === 0) put(note, "No line of this level is kept.");
                else if (isFirst) put(note);
                if (route.query.still) tail.stop();
            }, { every: 1000, onerror: toastError });
        }
        put(view, header("Server log", { sub: "The newest lines first; the last thousand are kept, wherever the server writes them.",
            actions: [toggle] }), h("div", { class: "toolbar" }, filter, level), note,
            h("div", { class: "server-lines", tabindex: "0", role: "log", "aria-label": "Lines of the server's log" }, list),
            code("nacre logs --server-lines -f"));
        begin();
        return {
            update(next) {
                route = next;
                begin();
            },
            close: () => tail?.stop(),
        };
    },
};
