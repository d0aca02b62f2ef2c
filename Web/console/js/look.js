/// The input for a user, and the form above pages about one user's data: whose, and the word that a look is audited.

import { accounts } from "./data.js";
import { h, put, uniqueID } from "./dom.js";
import { href } from "./router.js";
import { button, field, select } from "./ui.js";

/// An input for a user that suggests the addresses of accounts, as `[list, input]`. `props` are further ones of the input.
export function userInput(props, { signal } = {}) {
    const list = h("datalist", { id: uniqueID("accounts") });
    accounts({ signal }).then((emails) => put(list, emails.map((email) => h("option", { value: email }))), () => {});
    return [list, h("input", { type: "text", list: list.id, placeholder: "e-mail or user record name", spellcheck: "false", autocomplete: "off",
        ...props })];
}

/// A form with the user and, if `databases` are given, the database; `onlook({ user, db })` is called with what was chosen.
export function lookForm({ user = "", db, databases }, onlook, { signal } = {}) {
    const [list, input] = userInput({ value: user, "data-filter": "" }, { signal });
    const choice = databases && select(databases, db);
    return h("form", { class: "card", onsubmit: (event) => { event.preventDefault();
        if (input.value.trim()) onlook({ user: input.value.trim(), ...(choice ? { db: choice.value } : {}) }); } }, list,
        h("div", { class: "form-row" }, field("User", input), choice && field("Database", choice),
            button("Look", undefined, { kind: "main", type: "submit", symbol: "eye" })),
        h("p", { class: "hint" }, "Each look at a user's data is written to the ", h("a", { href: href("audit") }, "audit log"), "."));
}
