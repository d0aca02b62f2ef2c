/// Forms in dialogs, and secrets that are shown once.

import { h, put } from "./dom.js";
import { dialog } from "./shell.js";
import { button, code, field, problem, select, textInput } from "./ui.js";

/// A form in a dialog. `fields` are `{ name, label, hint, type, value, options, required, … }`; one without a name is a node that
/// stands between them. `run(values)` does it, and what it throws is shown in the form. Returns what `run` answered, or undefined.
export function form({ title, text, fields, confirm, isDanger = false, run }) {
    return dialog(title, (close) => {
        const inputs = new Map();
        const fault = h("div", {});
        const go = button(confirm, undefined, { kind: isDanger ? "danger" : "main", type: "submit" });
        const parts = fields.filter(Boolean).map((one) => {
            if (!one.name) return one;
            const { name, label, hint, type = "text", options, ...props } = one;
            const input = options ? select(options, props.value, props.onchange, { name, required: props.required })
                : type === "textarea" ? h("textarea", { rows: 4, spellcheck: "false", name, ...props })
                : textInput({ type, name, ...props });
            inputs.set(name, input);
            return type === "checkbox" ? h("label", { class: "check" }, input,
                h("span", {}, label, hint && h("small", { class: "faint" }, ` ${hint}`)))
                : field(label, input, { hint });
        });
        if (inputs.size > 0) [...inputs.values()][0].setAttribute("autofocus", "");
        async function send(event) {
            event.preventDefault();
            put(fault);
            go.disabled = true;
            try {
                const values = Object.fromEntries([...inputs].map(([name, input]) => [name,
                    input.type === "checkbox" ? input.checked : input.value]));
                close((await run(values)) ?? true);
            } catch (error) {
                put(fault, problem(error));
                inputs.get(error.field)?.focus();
            } finally {
                go.disabled = false;
            }
        }
        return h("form", { onsubmit: send }, text && h("p", {}, text), parts, fault,
            h("div", { class: "actions end" }, button("Cancel", () => close()), go));
    });
}

/// Shows a secret that the server shows once. It closes by its button alone.
export function shownOnce(title, text, secret, { label = "Secret", then } = {}) {
    return dialog(title, (close) => h("div", { class: "stack" }, h("p", {}, text), code(secret, { language: label }),
        then && h("p", { class: "faint" }, then),
        h("div", { class: "actions end" }, button("I have kept it", () => close(true), { kind: "main" }))));
}

/// The text of a field, or undefined for an empty one.
export const given = (text) => (text.trim() === "" ? undefined : text.trim());

/// Refuses a value of a form before the server is asked.
export function fault(field, reason, remedy) {
    throw Object.assign(new Error(reason), { field, reason, remedy });
}
