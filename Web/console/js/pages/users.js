/// Accounts; and one of them, with its places, sessions, devices and passkeys.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { form, given, shownOnce } from "../forms.js";
import { go, href } from "../router.js";
import { ask, attempt, commands, dialog, toast, toastError } from "../shell.js";
import { shell } from "../snippets.js";
import { may, store } from "../store.js";
import { absolute, badge, button, card, code, empty, field, filterInput, header, id, load, number, pairs, plural, rowButton, select, snippets, table,
    time } from "../ui.js";

/// The states of an account, as an app sees them.
const states = {
    available: ["Available", "The account is used as usual."],
    restricted: ["Restricted", "Apps see a restricted account; requests for its data are refused."],
    noAccount: ["No account", "Requests are answered as if no user were signed in."],
    couldNotDetermine: ["Could not determine", "Requests are answered as if the account's status could not be found out."],
    temporarilyUnavailable: ["Temporarily unavailable", "Apps keep their data, send nothing and wait."],
};

const page = (email) => href(`users/${encodeURIComponent(email)}`);

async function create() {
    const made = await form({
        title: "New account", confirm: "Make account",
        fields: [{ name: "email", label: "E-mail address", type: "email", required: true },
            { name: "password", label: "Password", type: "password", required: true, autocomplete: "new-password",
                hint: "The user may change it, or get a code for another one." },
            { name: "givenName", label: "Given name" }, { name: "familyName", label: "Family name" }],
        run: (values) => api.post("users", { email: values.email, password: values.password, givenName: given(values.givenName),
            familyName: given(values.familyName) }),
    });
    if (made) go(page(made.email));
}

async function list(view, route) {
    commands.ofPage = [{ title: "New account", hint: "Users", symbol: "user-plus", run: create }];
    const filter = filterInput({ placeholder: "Filter by address", value: route.query.q ?? "",
        oninput: () => draw(filter.value), onkeydown: (event) => event.key === "Enter" && filter.value.includes("@")
            && go(page(filter.value.trim())) });
    const body = h("div", { class: "stack" });
    let users = [];
    let isWhole = true;
    put(view, header("Users", { sub: "Accounts of this server. Each has a user record in every container that its user has opened.",
        actions: [button("New account", create, { kind: "main", symbol: "user-plus", asks: "POST users" })] }),
        h("div", { class: "toolbar" }, filter), body);
    function draw(text) {
        route.replace({ q: text });
        const found = users.filter((user) => user.email.toLowerCase().includes(text.trim().toLowerCase()));
        put(body, h("p", { class: "faint" }, text ? `${number(found.length)} of ${plural(users.length, "account")}` : plural(users.length, "account"),
            isWhole ? "" : "; there are more: write a whole address and press Enter."),
            table({ label: "Users", rows: found.slice(0, 500), key: (user) => user.id, onopen: (user) => !user.isDeleted && go(page(user.email)),
                columns: [{ title: "Address",
                    render: (user) => (user.isDeleted ? [user.email, " ", badge("being deleted", "warn")]
                        : h("a", { href: page(user.email) }, user.email)) },
                    { title: "ID", class: "mono", render: (user) => id(user.id) }, { title: "Made", render: (user) => time(user.created) }],
                empty: h("p", { class: "faint" }, "No account has this in its address.") }),
            found.length > 500 && h("p", { class: "faint" }, "The first 500: write more of the address."));
    }
    await load(body, () => api.all("users", {}, "users", { signal: route.signal, most: 2000 }), (found) => {
        [users, isWhole] = [found.list, found.isWhole];
        if (users.length === 0) return empty("No accounts yet",
            "Users make their own where the server runs with --open-sign-up.",
            [["Shell", "nacre user create ada@example.com"]], [button("New account", create, { symbol: "user-plus", asks: "POST users" })]);
        queueMicrotask(() => draw(filter.value));
        return [];
    });
}

// MARK: One account

/// The lines that act as a user with a token: `[title, text]`.
export function actingLines({ token, url, container }) {
    const caller = `${url}/database/1/${container}/development/public/users/caller`;
    return [
        ["Swift", `# In the scheme's environment; the code stays as it is:\nCLOUDKIT_SERVER_URL=${url}\nCLOUDKIT_ACCOUNT_TOKEN=${token}`],
        ["JavaScript", `const answer = await fetch("${caller}",\n    { headers: { Authorization: "Bearer ${token}" } });`],
        ["curl", `curl -sS -H "Authorization: Bearer ${token}" \\\n    "${caller}"`],
    ];
}

/// Signs the console's user in as another user, and shows the token once.
async function act(user) {
    const places = store.containers.get().map(({ name }) => name);
    const made = await form({ title: `Act as ${user.email}`, confirm: "Make a token",
        text: "In development alone, for an hour. The audit log has it, and the user's devices show it.",
        fields: [{ name: "container", label: "Container", options: places.map((name) => [name, name]),
            value: user.places.find((place) => place.environment === "development")?.container ?? places[0] }],
        run: async ({ container }) => ({ container, ...await api.post("users/sign-in", { email: user.email, container }) }) });
    if (!made) return false;
    const url = (store.server.get() ?? await api.get("server")).publicURL;
    return dialog(`You are ${user.email}`, (close) => h("div", { class: "stack" },
        h("p", {}, `This token is shown once. It is good until ${absolute(made.expires)}, unless you sign it out before.`),
        code(made.token, { language: "Token" }), snippets(actingLines({ ...made, url })),
        h("div", { class: "actions end" }, button("I have kept it", () => close(true), { kind: "main" }))));
}

function actions(user, again) {
    const { email } = user;
    const change = async (run, text) => (await attempt(run, text)) && again();
    return {
        name: async () => (await form({ title: "Change the name", confirm: "Change",
            fields: [{ name: "givenName", label: "Given name", value: user.givenName ?? "" },
                { name: "familyName", label: "Family name", value: user.familyName ?? "" }],
            run: (values) => api.post("users/change-name", { email, givenName: given(values.givenName), familyName: given(values.familyName) }) }))
                && again(),
        email: async () => {
            const changed = await form({ title: "Change the address",
                text: "You vouch for the new address. The old one is told, if the server sends mail.", confirm: "Change",
                fields: [{ name: "newEmail", label: "New address", type: "email", required: true, value: email }],
                run: (values) => api.post("users/change-email", { email, newEmail: values.newEmail }) });
            if (!changed) return;
            toast("Changed", { tone: "good" });
            if (changed.email === email) again(); else go(page(changed.email));
        },
        verify: () => change(() => api.post("users/change-email", { email, newEmail: email }), "The address counts as verified."),
        password: async () => {
            const isWanted = await ask({ title: "Code for a new password",
                text: `A code for ${email} is shown once. Whoever has it chooses a new password.`, confirm: "Make a code" });
            if (isWanted) attempt(async () => {
                const { code: made, expires } = await api.post("users/reset-password", { email });
                await shownOnce("Code for a new password", `Give it to the user. It is good once, until ${absolute(expires)}.`, made,
                    { label: "Code" });
            });
        },
        act: () => act(user).then((made) => made && again(), toastError),
        state: (state) => change(() => api.post("users/state", { email, state }), `The account is ${states[state]?.[0].toLowerCase() ?? state}.`),
        remove: async () => {
            if (!(await ask({ title: "Delete the account",
                text: "Its private databases, user records, sessions and devices are removed, and its shares end. This cannot be taken back.",
                confirm: "Delete account", isDanger: true, typed: email }))) return;
            if (await attempt(() => api.post("users/delete", { email }), `${email} is deleted.`)) go(href("users"));
        },
        end: (session) => change(() => api.post("sessions/revoke", session ? { email, id: session.id } : { email, all: true }), "Signed out"),
        passkey: async (key) => {
            if (await ask({ title: "Remove the passkey", text: `${key.name} can sign nobody in any more.`, confirm: "Remove",
                isDanger: true })) change(() => api.post("users/passkeys/remove", { email, id: key.id }), "Removed");
        },
    };
}

function signIns(sessions, does) {
    const endAll = async () => (await ask({ title: "Sign out everywhere",
        text: `${plural(sessions.length, "session or device", "sessions and devices")} must sign in again.`, confirm: "Sign out", isDanger: true }))
        && does.end();
    return card(null, h("div", { class: "page-header" }, h("h2", {}, "Sessions and devices"),
        sessions.length > 1 && button("Sign out everywhere", endAll, { kind: "danger", asks: "POST sessions/revoke" })),
        table({ label: "Sessions and devices", rows: sessions, key: (one) => one.id, empty: h("p", { class: "faint" }, "Signed in nowhere."),
            columns: [{ title: "Device", render: (one) => one.device ?? badge("on the web") },
                { title: "Containers", render: (one) => one.containers.join(", ") }, { title: "Environment", render: (one) => one.environment },
                { title: "Since", render: (one) => time(one.created) },
                { title: "Action", class: "number", render: (one) => rowButton("Sign out", one.device ?? "the session on the web", () => does.end(one),
                    { asks: "POST sessions/revoke" }) }] }));
}

async function details(view, route) {
    const email = route.rest[0];
    const body = h("div", { class: "stack" });
    put(view, body);
    await load(body, () => Promise.all([api.get("users/show", { email }, { signal: route.signal }),
        api.all("sessions", { email }, "sessions", { signal: route.signal }), api.get("users/passkeys", { email }, { signal: route.signal })]),
        ([user, { list: sessions }, { passkeys }]) => {
            const does = actions(user, () => details(view, route));
            commands.ofPage = [["Act as this user", "user", does.act], ["Code for a new password", "key-round", does.password], ["Change the name", "pencil", does.name],
                ["Change the address", "pencil", does.email]].map(([title, symbol, run]) => ({ title, hint: email, symbol, run }));
            const [, meaning] = states[user.state] ?? ["", ""];
            return [
                header(user.email, { sub: [user.givenName, user.familyName].filter(Boolean).join(" "),
                    actions: [button("Act as this user", does.act, { symbol: "user", asks: "POST users/sign-in" }),
                        button("Code for a new password", does.password, { symbol: "key-round", asks: "POST users/reset-password" }),
                        button("Delete", does.remove, { kind: "danger", symbol: "trash-2", asks: "POST users/delete" })] }),
                h("div", { class: "grid-2" },
                    card("Account", pairs([["ID", id(user.id, 40)],
                        ["Name", h("span", { class: "row" }, [user.givenName, user.familyName].filter(Boolean).join(" ") || "none",
                            rowButton("Change", "the name", does.name, { asks: "POST users/change-name" }))],
                        ["Address", h("span", { class: "row" }, user.email,
                            user.isEmailVerified ? badge("verified", "good") : [badge("not verified", "warn"),
                                button("Vouch for it", does.verify, { kind: "quiet small", asks: "POST users/change-email" })],
                                rowButton("Change", "the address", does.email, { asks: "POST users/change-email" }))],
                        ["Phone", user.phone], ["Made", time(user.created, { isAbsolute: true })]])),
                    card("State", field("What apps see", select(Object.entries(states).map(([key, [title]]) => [key, title]), user.state, does.state,
                        { disabled: !may("POST users/state") }),
                        { hint: meaning }),
                        user.state !== "available" && h("p", { class: "note" },
                            "Sessions and devices keep their tokens, and work again once the account is available."))),
                card("Places", table({ label: "Places", rows: user.places, key: (place) => place.userRecordName,
                    empty: h("p", { class: "faint" }, "The user has opened no container yet."),
                    columns: [{ title: "Container", render: (place) => place.container },
                        { title: "Environment", render: (place) => badge(place.environment, place.environment === "production" ? "production" : "") },
                        { title: "User record", class: "mono", render: (place) => id(place.userRecordName, 30) },
                        { title: "Look at", render: (place) => h("span", { class: "row" },
                            h("a", { href: href("records", { db: "private", user: user.email }, place) }, "Private records"),
                            h("a", { href: href("logs", { user: place.userRecordName }, place) }, "Requests"),
                            h("a", { href: href("quotas", { user: user.email }, place) }, "Use")) }] })),
                signIns(sessions, does),
                card("Passkeys", table({ label: "Passkeys", rows: passkeys, key: (one) => one.id, empty: h("p", { class: "faint" }, "No passkeys."),
                    columns: [{ title: "Name", render: (one) => one.name }, { title: "Made", render: (one) => time(one.created) },
                        { title: "Last used", render: (one) => (one.used ? time(one.used) : "never") },
                        { title: "Action", class: "number",
                            render: (one) => rowButton("Remove", one.name, () => does.passkey(one), { asks: "POST users/passkeys/remove" }) }] })),
                card("In a terminal", code(`nacre user show ${shell(user.email)}\nnacre session list ${shell(user.email)}`)),
            ];
        });
}

export default { render: (view, route) => (route.rest[0] ? details(view, route) : list(view, route)).then(() => null) };
