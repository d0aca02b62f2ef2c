/// The input for a user, and the form above pages about one user's data: whose, and the word that a look is audited.
/// A link alone never looks: it may be of a page elsewhere.

import { accounts } from "./data.js";
import { h, put, uniqueID } from "./dom.js";
import { href } from "./router.js";
import { button, empty, field, linkButton, select, textInput } from "./ui.js";

/// The users at whose data somebody chose to look since the console was opened; the server's audit log has each look.
export const looked = new Set();

/// Asks whether to look at a user's data, to which a link led; `onlook()` is called when that is chosen.
export function askToLook(user, onlook, isShared = false) {
    const [title, readers] = isShared ? [`What others share with ${user}`, "those who take part in a share"]
        : [`The private data of ${user}`, "the user and their apps"];
    return empty(title, `Nobody but ${readers} reads this otherwise. The audit log says that you did, and when.`, [],
        [button("Look", () => { looked.add(user); onlook(); }, { kind: "main", symbol: "eye" }), linkButton("Audit log", href("audit"))]);
}

/// The addresses of accounts, which an input suggests.
export function accountList({ signal } = {}) {
    const list = h("datalist", { id: uniqueID("accounts") });
    accounts({ signal }).then((emails) => put(list, emails.map((email) => h("option", { value: email }))), () => {});
    return list;
}

/// What an input for a user says while it is empty.
export const account = { placeholder: "e-mail or user record name" };

/// An input for a user that suggests the addresses of accounts, as `[list, input]`. `props` are further ones of the input.
export function userInput(props, options) {
    const list = accountList(options);
    return [list, textInput({ ...account, ...props, list: list.id })];
}

/// A form with the user and, if `databases` are given, the database; `onlook({ user, db })` is called with what was chosen.
export function lookForm({ user = "", db, databases }, onlook, { signal } = {}) {
    const [list, input] = userInput({ value: user, "data-filter": "" }, { signal });
    const choice = databases && select(databases, db);
    return h("form", { class: "card", onsubmit: (event) => {
        event.preventDefault();
        const name = input.value.trim();
        if (!name) return;
        looked.add(name);
        onlook({ user: name, ...(choice ? { db: choice.value } : {}) });
    } }, list,
        h("div", { class: "form-row" }, field("User", input), choice && field("Database", choice),
            button("Look", undefined, { kind: "main", type: "submit", symbol: "eye" })),
        h("p", { class: "hint" }, "Each look at a user's data is written to the ", h("a", { href: href("audit") }, "audit log"), "."));
}
