/// The schema as a file in CloudKit's language: read, edited with the server's judgement while one types, and saved to development.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { saveFile } from "../files.js";
import { here } from "../router.js";
import { ask, attempt } from "../shell.js";
import { may } from "../store.js";
import { broken, differences } from "../differences.js";
import { button, code, header, linkButton, plural, problem } from "../ui.js";

const words = /("(?:[^"]|"")*")|(--[^\n]*|\/\/[^\n]*)|\b(DEFINE|SCHEMA|CREATE|ROLE|RECORD|TYPE|GRANT|TO)\b|\b(STRING|INT64|DOUBLE|TIMESTAMP|LOCATION|REFERENCE|ASSET|BYTES|LIST|ENCRYPTED|NUMBER)\b|\b(QUERYABLE|SORTABLE|SEARCHABLE|READ|WRITE)\b/g;

/// The text in spans of the language's words.
function coloured(text) {
    const nodes = [];
    let at = 0;
    for (const found of text.matchAll(words)) {
        nodes.push(text.slice(at, found.index));
        nodes.push(h("span", { class: found[1] ? "k-text" : found[2] ? "k-note" : found[3] ? "k-word" : found[4] ? "k-type" : "k-option" },
            found[0]));
        at = found.index + found[0].length;
    }
    return [...nodes, text.slice(at), "\n"];
}

export default {
    async render(view, route) {
        const { text: original } = await api.get("schema", route.place, { signal: route.signal });
        const command = `nacre schema ${route.isProduction ? "export" : "import"} --container ${route.container}${route.isProduction ? " --environment production > production.ckdb" : " schema.ckdb"}`;
        const download = button("Download", () => saveFile(new Blob([area?.value ?? original], { type: "text/plain" }),
            `${route.container}-${route.environment}.ckdb`), { symbol: "download" });
        let area;
        if (route.isProduction || !may("POST schema/import")) {
            put(view, header("Schema file", { sub: route.isProduction ? "Production's schema, to read. It changes by a deployment alone."
                : "Development's schema, to read.", actions: [download,
                route.isProduction && linkButton("Deploy", here("deploy"), { kind: "main", symbol: "rocket", asks: "POST schema/deploy" })] }),
                code(original, { language: "Schema", shown: coloured(original), class: "ckdb" }), code(command));
            return undefined;
        }

        const verdict = h("div", { class: "stack", "aria-live": "polite" });
        const behind = h("pre", { class: "ckdb", "aria-hidden": "true" });
        const numbers = h("pre", { class: "numbers", "aria-hidden": "true" });
        area = h("textarea", { class: "ckdb", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
            "aria-label": "Schema in CloudKit's language", value: original, oninput: () => changed(),
            onscroll: () => { behind.scrollTop = numbers.scrollTop = area.scrollTop; behind.scrollLeft = area.scrollLeft; },
            onkeydown: (event) => {
                // Tab leaves the field, as everywhere; Ctrl and ] indents.
                if (event.key === "]" && event.ctrlKey) { event.preventDefault();
                    area.setRangeText("    ", area.selectionStart, area.selectionEnd, "end"); changed(); }
                if (event.key === "s" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
            } });
        const saver = button("Save to development", () => save(), { kind: "main", symbol: "save", disabled: true });
        const file = h("input", { type: "file", accept: ".ckdb,.txt,text/plain", class: "sr", tabindex: "-1", "aria-label": "Schema file",
            onchange: async () => {
            if (file.files[0]) {
                area.value = await file.files[0].text();
                file.value = "";
                changed();
            }
        } });
        put(view, header("Schema file",
            { sub: "Development's schema in CloudKit's language. The server reads it as you type, and changes nothing until you save.",
            actions: [file, button("Open a file", () => file.click(), { symbol: "file-code" }), download, saver] }),
            h("div", { class: "split editor-split" }, h("div", { class: "editor" }, numbers, h("div", { class: "editor-text" }, behind,
                area)), verdict));

        let timer;
        let controller = new AbortController();
        let found = [];
        function changed() {
            put(behind, coloured(area.value));
            numbers.textContent = area.value.split("\n").map((_, index) => index + 1).join("\n");
            saver.disabled = true;
            clearTimeout(timer);
            timer = setTimeout(judge, 350);
        }
        async function judge() {
            controller.abort();
            controller = new AbortController();
            if (area.value === original) return put(verdict, h("div", { class: "note info" }, "As development has it."),
                h("h2", {}, "The same by nacre"), code(command));
            try {
                const answer = await api.post("schema/import", { container: route.container, text: area.value, isDryRun: true },
                    { signal: controller.signal });
                found = answer.differences;
                saver.disabled = found.length === 0;
                return put(verdict, h("div", { class: "note info" }, found.length ? `Good: ${plural(found.length, "difference")}`
                    : "Good, and means the same as development has."), differences(found), broken(answer.broken));
            } catch (error) {
                if (error.name === "AbortError") return undefined;
                const place = /line (\d+), column (\d+)/.exec(error.reason ?? "");
                return put(verdict, problem(error), place && button(`Go to line ${place[1]}`, () => {
                    const lines = area.value.split("\n");
                    const at = lines.slice(0, place[1] - 1).reduce((sum, line) => sum + line.length + 1, 0) + Number(place[2]) - 1;
                    area.focus();
                    area.setSelectionRange(at, at + (/^[\w"]+/.exec(area.value.slice(at))?.[0].length ?? 1));
                    area.scrollTop = (place[1] - 8) * 19.5;
                }));
            }
        }
        async function save() {
            if (saver.disabled) return;
            if (!await ask({ title: "Save the schema to development?", confirm: "Save", details: differences(found) })) return;
            if (await attempt(() => api.post("schema/import", { container: route.container, text: area.value, isDryRun: false }),
                "Saved to development")) route.reload();
        }
        put(behind, coloured(original));
        numbers.textContent = original.split("\n").map((_, index) => index + 1).join("\n");
        judge();
        return { close: () => { clearTimeout(timer); controller.abort(); } };
    },
};
