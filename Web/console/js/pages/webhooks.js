/// Webhooks: servers that are told of changes, how they fare, and new ones.

import { api } from "../api.js";
import { readSchema } from "../ckdb.js";
import { h, put } from "../dom.js";
import { fault, form, given, shownOnce } from "../forms.js";
import { filters, parse } from "../predicate.js";
import { askToDestroy, attempt, commands, dialog, toast, toastError } from "../shell.js";
import { badge, button, code, empty, header, id, load, number, pairs, plural, rowButton, table, time } from "../ui.js";

const tones = { active: "good", retrying: "warn", behind: "warn", parked: "bad" };
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

/// The body of a query that chooses among changes; undefined without a type.
export function query(type, condition, fields) {
    if (!type) return undefined;
    return JSON.stringify({ query: { recordType: type, ...(condition ? { filterBy: filters(parse(condition), fields) } : {}) } });
}

/// The conditions of a webhook's query in words.
function conditions(text) {
    try {
        return (JSON.parse(text).query?.filterBy
            ?? []).map(({ fieldName, comparator, fieldValue }) => `${fieldName ?? ""} ${comparator} ${JSON.stringify(fieldValue?.value)}`).join(", ");
    } catch {
        return text;
    }
}

export default {
    async render(view, route) {
        const { container, environment } = route.place;
        const place = route.place;
        const body = h("div", { class: "stack" });

        async function create() {
            const types = await api.get("schema", place).then(({ text }) => readSchema(text).types, () => []);
            const made = await form({
                title: "New webhook", confirm: "Make webhook",
                text: "A server of yours gets a signed POST for the changes of a zone, in their order, each at least once.",
                fields: [{ name: "url", label: "URL of the receiver", type: "url", required: true, placeholder: "https://hooks.example.com/notes",
                    hint: "https, or http on this machine." },
                    { name: "type", label: "Records", options: [["", "All types"], ...types.map(({ name }) => [name, name])], value: "" },
                    { name: "condition", label: "That pass", class: "mono", placeholder: "stars >= 3",
                        hint: "A predicate on one type; an update counts where the record passes after it." },
                    { name: "fields", label: "With the values of", class: "mono", placeholder: "title, stars",
                        hint: "Without fields no value is sent." }, { name: "zone", label: "Zone", placeholder: "all" },
                    { name: "isPrivate", label: "Private databases too", type: "checkbox",
                        hint: "changes of all users leave the server; the audit log keeps that you said so" }],
                run(values) {
                    if (given(values.condition) && !values.type) fault("type", "A predicate needs a type.", "Choose the records that it is about.");
                    const fields = Object.fromEntries((types.find(({ name }) => name === values.type)?.fields ?? []).map((one) => [one.name, one]));
                    const wanted = words(values.fields);
                    return api.post("webhooks", { container, environment, url: values.url, zone: given(values.zone),
                        query: query(values.type, given(values.condition), fields), fields: wanted.length ? wanted : undefined,
                        isPrivate: values.isPrivate });
                },
            });
            if (!made) return;
            await shownOnce("Secret of the webhook", `The receiver ${made.id} checks X-Nacre-Signature with it. It is shown this once.`, made.secret);
            read();
        }

        const name = (hook) => ({ container, environment, id: hook.id });
        const tell = (hook) => attempt(async () => {
            const { isTaken, status } = await api.post("webhooks/test", name(hook));
            toast(`${isTaken ? "Taken" : "Not taken"}: ${status}`, { tone: isTaken ? "good" : "bad", seconds: 8 });
        });
        const resume = (hook) => api.post("webhooks/resume",
            name(hook)).then(({ resumed }) => { toast(`${plural(resumed, "zone")} will be told again.`, { tone: "good" }); read(); }, toastError);
        async function remove(hook) {
            if (!await askToDestroy({ title: "Delete the webhook",
                text: `${hook.url} is told of nothing any more, and the changes that wait for it go.`, confirm: "Delete" })) return;
            if (await attempt(() => api.post("webhooks/delete", name(hook)), "Deleted")) read();
        }
        const open = (hook) => dialog("Webhook",
            () => h("div", { class: "stack" },
                pairs([["ID", id(hook.id, 40)], ["URL", hook.url], ["State", badge(hook.state, tones[hook.state])],
                    ["Changes dropped", hook.lost && number(hook.lost)], ["Last answer", hook.lastStatus],
                    ["Last delivery", hook.lastTime && time(hook.lastTime)], ["Waits since", hook.waitingSince && time(hook.waitingSince)],
            ["Records", hook.recordType ?? "all types"], ["That pass", hook.query && conditions(hook.query)],
            ["Values", hook.fields.join(", ") || "none"], ["Zone", hook.zone ?? "all"], ["Private databases", hook.isPrivate ? "yes" : "no"],
            ["Made", time(hook.created, { isAbsolute: true })]]),
            code(`nacre webhook show --container ${container} --environment ${environment} ${hook.id}`)));

        const read = () => load(body, () => api.get("webhooks", place, { signal: route.signal }), ({ webhooks }) => (webhooks.length === 0
            ? empty("No webhooks", "A webhook tells a server of yours of changes in the public database, and, if you say so, in private ones.",
            [["Shell", `nacre webhook create --container ${container} --environment ${environment} \\\n    --url https://hooks.example.com/notes`]],
            [button("New webhook", create, { kind: "main", asks: "POST webhooks" })])
            : [table({ label: "Webhooks", rows: webhooks, key: (hook) => hook.id, onopen: open, columns: [
                { title: "State", render: (hook) => badge(hook.state, tones[hook.state]) }, { title: "URL", render: (hook) => hook.url },
                { title: "Told of", render: (hook) => [hook.recordType ?? "all types", hook.zone && ` in ${hook.zone}`,
                    hook.isPrivate && [" ", badge("private too", "warn")],
                    hook.lost && [" ", badge(`${plural(hook.lost, "change")} dropped`, "bad")]] },
                { title: "Last answer", render: (hook) => hook.lastStatus ?? h("span", { class: "faint" }, "none yet") },
                { title: "Last delivery", render: (hook) => (hook.lastTime ? time(hook.lastTime) : "–") },
                { title: "Action", class: "number nowrap",
                    render: (hook) => [hook.state === "parked" && rowButton("Resume", hook.url, () => resume(hook)),
                        rowButton("Test", hook.url, () => tell(hook)),
                        rowButton("Delete", hook.url, () => remove(hook), { asks: "POST webhooks/delete" })] },
            ] }), code(`nacre webhook list --container ${container} --environment ${environment}`)]));
        commands.ofPage = [{ title: "New webhook", hint: "Webhooks", symbol: "plus", run: create }];
        put(view, header("Webhooks",
            { actions: [button("New webhook", create,
                { kind: "main", symbol: "plus", asks: "POST webhooks" })] }), body);
        await read();
        return null;
    },
};
