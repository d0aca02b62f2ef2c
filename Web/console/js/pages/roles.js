/// Security roles of a public database: what each grants, who has them, and why somebody may do something or not.

import { api } from "../api.js";
import { isAsked, schema as readSchema } from "../data.js";
import { h, icon, put } from "../dom.js";
import { form, given } from "../forms.js";
import { account, accountList, userInput } from "../look.js";
import { here } from "../router.js";
import { askToDestroy, attempt, toast } from "../shell.js";
import { badge, button, card, empty, field, header, iconButton, id, linkButton, pairs, problem, select, textInput, verdict } from "../ui.js";

const BUILT_IN = { _world: "Everybody", _icloud: "Users who are signed in", _creator: "Who made the record" };
const OPERATIONS = ["READ", "CREATE", "WRITE"];

export default {
    async render(view, route) {
        const [schema, held] = await Promise.all([
            readSchema(route.place, { signal: route.signal }), api.get("roles", route.place, { signal: route.signal })]);
        const roles = [...Object.keys(BUILT_IN), ...held.roles];
        const types = schema.types;

        const matrix = h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": "Grants" }, h("table", { class: "matrix" },
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Type"),
                roles.map((role) => h("th", { scope: "col" }, h("span", { class: "mono" }, role),
                BUILT_IN[role] && h("span", { class: "faint block" }, BUILT_IN[role]))))),
            h("tbody", {}, types.map((type) => h("tr", {}, h("th", { scope: "row", class: "mono" }, type.name), roles.map((role) => {
                const permissions = type.grants.filter((grant) => grant.role === role).flatMap((grant) => grant.permissions);
                return h("td", {}, OPERATIONS.map((one) => h("span", { class: `grant ${permissions.includes(one) ? "on" : ""}`,
                    title: `${role} ${permissions.includes(one) ? "may" : "may not"} ${one.toLowerCase()}` },
                    permissions.includes(one) && icon("check"), one.toLowerCase(),
                    h("span", { class: "sr" }, permissions.includes(one) ? " granted" : " not granted"))));
            }))))));

        put(view, header("Roles",
            { sub: "What each role grants in the public database. In private databases the owner may do all, and shares say the rest.",
            actions: [linkButton("Change grants in the schema file", here("ckdb"), { symbol: "file-code" })] }), matrix,
        h("div", { class: "grid-2" }, tester(), card("Who has a role", held.roles.length === 0
            ? empty("No roles of your own", "A schema declares them, and grants them what types allow:",
                [["Schema", "CREATE ROLE Editor;\nRECORD TYPE Note (\n    text STRING,\n    GRANT READ, CREATE, WRITE TO Editor\n);"]])
            : [held.holders.length === 0 ? h("p", { class: "soft" }, "Nobody yet.")
                : h("ul", { class: "lines" }, held.holders.map((holder) => h("li", {}, id(holder.user, 30), h("span", { class: "grow" }),
                holder.roles.map((role) => h("span", { class: "row tight" }, badge(role, "accent"),
                iconButton("x", `Take ${role} from ${holder.user}`, () => revoke(holder, role),
                    { asks: "POST roles/revoke" })))))),
                held.next && h("p", { class: "soft" }, "More have roles than this page lists."),
                    h("div", {}, button("Give a role", assign, { symbol: "user-plus", asks: "POST roles/assign" }))])));

        async function assign() {
            const list = accountList({ signal: route.signal });
            const isDone = await form({ title: "Give a role", confirm: "Give",
                fields: [list, { name: "role", label: "Role", options: held.roles, value: held.roles[0] },
                    { name: "user", label: "User", ...account, list: list.id },
                    { name: "key", label: "Or a server-to-server key", placeholder: "key ID", class: "mono" }],
                run: ({ role, user, key }) => api.post("roles/assign", { ...route.place, role, ...(given(key) ? { key: given(key) }
                    : { user: user.trim() }) }) });
            if (isDone) {
                toast("Given", { tone: "good" });
                route.reload();
            }
        }

        async function revoke(holder, role) {
            if (!await askToDestroy({ title: `Take ${role} away?`, confirm: "Take away",
                text: `${holder.user} may no longer do what only ${role} may.` })) return;
            if (await attempt(() => api.post("roles/revoke", { ...route.place, role, user: holder.user }), "Taken away")) route.reload();
        }

        function tester() {
            const { query } = route;
            const [emails, user] = userInput({ value: query.user ?? "", placeholder: "not signed in" }, { signal: route.signal });
            const operation = select(OPERATIONS.map((one) => [one, one.toLowerCase()]), query.operation ?? "WRITE", () => draw());
            const record = textInput({ value: query.record ?? "", placeholder: "record name", class: "mono" });
            const type = select(types.filter(isAsked).map((one) => one.name), query.type ?? types.find(isAsked)?.name);
            const about = h("div", { class: "grow" });
            const told = h("div", { "aria-live": "polite" });
            const draw = () => put(about, operation.value === "CREATE" ? field("A record of type", type) : field("The record", record));
            draw();
            async function tell() {
                const asked = { user: user.value.trim(), operation: operation.value,
                    ...(operation.value === "CREATE" ? { type: type.value } : { record: record.value.trim() }) };
                route.replace(asked);
                try {
                    const answer = await api.post("roles/why", { ...route.place, operation: asked.operation,
                        ...(asked.user ? { user: asked.user } : {}), ...(asked.record ? { record: asked.record } : {}),
                        ...(asked.type ? { recordType: asked.type } : {}) });
                    put(told, verdict(answer.isPermitted, answer.isPermitted ? "Yes" : "No", `${answer.isPermitted
                        ? `because ${answer.because.join(" and ") || "an administrator's key may do all"}` : "none of the roles"} may ${
                        asked.operation.toLowerCase()} ${answer.recordType}`),
                    pairs([["Has here", answer.roles.join(", ") || "no roles"], ["Granted to", answer.grantedTo.join(", ") || "nobody"],
                        ["Record made by", answer.creator && id(answer.creator, 34)], ["User", answer.user && id(answer.user, 34)]]));
                } catch (error) {
                    put(told, problem(error));
                }
            }
            if (query.record && query.operation) tell();
            return card("May somebody do it?", h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); tell(); } }, emails,
                h("div", { class: "form-row" }, field("May", user), field("do", operation), about),
                h("div", {}, button("Ask", undefined, { kind: "main", type: "submit" }))), told);
        }
    },
};
