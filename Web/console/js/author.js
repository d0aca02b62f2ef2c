/// The user in whose name a record of a public database is changed: such a record has a creator.

import { h, put } from "./dom.js";
import { form } from "./forms.js";
import { account, accountList } from "./look.js";
import { href } from "./router.js";
import { store } from "./store.js";
import { button } from "./ui.js";

const authorOf = (of) => store.author.get()[of.container];

/// The database with the name of an author, who is asked for once; undefined if none is given.
export async function withAuthor(of) {
    if (of.database !== "public") return of;
    const author = authorOf(of) ?? await choose(of);
    return author ? { ...of, author } : undefined;
}

/// A line that says in whose name changes are made, and lets one choose another.
export function authorLine(of) {
    const line = h("span", { class: "soft" });
    const draw = () => put(line, authorOf(of) ? `In the name of ${authorOf(of)}. ` : "",
        button(authorOf(of) ? "Another" : "Choose in whose name", async () => { await choose(of); draw(); }, { kind: "quiet" }));
    if (of.database === "public") draw();
    return line;
}

function choose(of) {
    const list = accountList();
    return form({ title: "In whose name?", confirm: "Use",
        text: "A record of a public database has a creator. Grants of roles do not restrict you, and the audit log has what you do.",
        fields: [list, { name: "user", label: "User", value: authorOf(of) ?? "", required: true, ...account, list: list.id },
            h("p", { class: "hint" }, "No account yet? Make one on the page ", h("a", { href: href("users") }, "Users"), ".")],
        run({ user }) {
            store.author.set({ ...store.author.get(), [of.container]: user.trim() });
            return user.trim();
        } });
}
