/// API tokens of web apps, server-to-server keys, and management tokens of scripts.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { seconds } from "../figures.js";
import { base64 } from "../files.js";
import { fault, form, given, shownOnce } from "../forms.js";
import { askToDestroy, attempt, commands } from "../shell.js";
import { absolute, badge, button, code, empty, header, id, load, rowButton, table, time } from "../ui.js";

const kinds = {
    api: ["API token", "For web pages and apps: it says which container they speak to, and is no secret."],
    server: ["server key", "For servers of yours: they sign each request with a private key of theirs."],
    management: ["management token", "For scripts and CI: it changes the schema of this container, in both environments."],
};

/// Milliseconds since 1970 of seconds since 2001, which creation times of tokens are.
export const since1970 = (value) => Math.round((value + 978_307_200) * 1000);

/// A text in PEM.
export function pem(bytes, label) {
    const text = base64(bytes).replace(/.{64}(?=.)/g, "$&\n");
    return `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
}

async function keyPair() {
    const made = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    return { publicKey: pem(await crypto.subtle.exportKey("spki", made.publicKey), "PUBLIC KEY"),
        privateKey: pem(await crypto.subtle.exportKey("pkcs8", made.privateKey), "PRIVATE KEY") };
}

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

const creating = {
    async api({ container, environment }) {
        const made = await form({
            title: "New API token", text: kinds.api[1], confirm: "Make token",
            fields: [{ name: "name", label: "Name", placeholder: "Web app" },
                { name: "origins", label: "Origins that may use it", placeholder: "https://notes.example.com",
                    hint: "With blanks between. Without one, any page may." },
                { name: "redirect", label: "Sign-in returns to", placeholder: "https://notes.example.com/signed-in",
                    hint: "Without it, sign-in is a popup that sends a message to the page." }],
            run: ({ name, origins, redirect }) => api.post("tokens",
                { container, environment, kind: "api", name: given(name), origins: words(origins).length ? words(origins) : undefined,
                    redirect: given(redirect) }),
        });
        if (made) await shownOnce("API token", `For ${container}, ${environment}. It is in the list, too.`, made.token, { label: "API token" });
        return made;
    },
    async server({ container, environment }) {
        let pair;
        const made = await form({
            title: "New server key", text: kinds.server[1], confirm: "Make key",
            fields: [{ name: "name", label: "Name", placeholder: "Nightly job" },
                { name: "publicKey", label: "Public key", type: "textarea", class: "mono", placeholder: "-----BEGIN PUBLIC KEY-----",
                    hint: "On P-256, in PEM. Leave it empty and this browser makes a pair; the private half is shown once and goes nowhere." },
                { name: "isAdministrator", label: "Administrator", type: "checkbox", hint: "grants do not restrict it in the public database" }],
            run: async ({ name, publicKey, isAdministrator }) => {
                pair = given(publicKey) ? undefined : pair ?? (await keyPair());
                return api.post("tokens", { container, environment, kind: "server", name: given(name), publicKey: given(publicKey) ?? pair.publicKey,
                    isAdministrator });
            },
        });
        if (made && pair) await shownOnce("Private key", `The key ID is ${made.keyID}. Keep the private key on your server: it is shown this once.`,
            pair.privateKey, { label: "Private key" });
        else if (made) await shownOnce("Key ID", "Your server sends it with each request, as X-Apple-CloudKit-Request-KeyID.", made.keyID,
            { label: "Key ID" });
        return made;
    },
    async management({ container }) {
        const made = await form({
            title: "New management token", text: kinds.management[1], confirm: "Make token",
            fields: [{ name: "name", label: "Name", placeholder: "CI" },
                { name: "life", label: "Good for", value: "90d", hint: "Such as 30d; a year at most." }],
            run: ({ name, life }) => api.post("tokens", { container, kind: "management", name: given(name),
                lifeSeconds: given(life) ? Math.round(seconds(life) ?? fault("life", "This is no time.", "Give days, such as 90d.")) : undefined }),
        });
        if (made) await shownOnce("Management token", "It is shown this once. Keep it where your scripts find it, and not in the repository.",
            made.token, { label: "Management token" });
        return made;
    },
};

export default {
    async render(view, route) {
        const { container, environment } = route.place;
        const body = h("div", { class: "stack" });
        const create = (kind) => async () => (await creating[kind](route.place)) && read();
        commands.ofPage = Object.entries(kinds).map(([kind, [title]]) => ({ title: `New ${title}`, hint: "Tokens", symbol: "key-round",
            asks: "POST tokens", run: create(kind) }));
        put(view, header("Tokens and keys", {
            actions: Object.entries(kinds).map(([kind, [title]]) => button(`New ${title}`, create(kind),
                { kind: kind === "api" ? "main" : "", symbol: "plus", asks: "POST tokens" })) }), body);

        async function rotate(token) {
            const made = await form({
                title: "Replace the token",
                text: "A new token takes its place. The old one may stay good for a while, so that pages that are open go on.", confirm: "Replace",
                fields: [{ name: "grace", label: "The old one ends after", value: "7d", hint: "Such as 7d or 1h; 0 for at once." }],
                run: ({ grace }) => api.post("tokens/rotate",
                    { id: token.id, graceSeconds: Math.round(seconds(grace) ?? fault("grace", "This is no time.", "Give 7d, 1h or 0.")) }),
            });
            if (!made) return;
            await shownOnce("New API token", made.oldEnds ? `The old one ends ${absolute(made.oldEnds)}.` : "The old one has ended.", made.token,
                { label: "API token" });
            read();
        }

        async function revoke(token) {
            const isSure = await askToDestroy({ title: `End the ${kinds[token.kind][0]}`,
                text: `${token.name || "It"} is refused from now on, wherever it is used. This cannot be taken back.`, confirm: "End it" });
            if (isSure && await attempt(() => api.post("tokens/revoke", { id: token.id }), "Ended")) read();
        }

        const read = () => load(body, () => api.all("tokens", { container }, "tokens", { signal: route.signal }), ({ list }) => {
            const rows = list.filter((token) => !token.environment || token.environment === environment);
            if (rows.length === 0) return empty("No tokens in this environment",
                "Web pages and apps need an API token, and servers of yours a server key.",
                [["Shell", `nacre token create --container ${container} --environment ${environment} --kind api`]],
                [button("New API token", create("api"), { kind: "main", asks: "POST tokens" })]);
            return [table({ label: "Tokens and keys", rows, key: (token) => token.id, columns: [
                { title: "Name", render: (token) => [token.name || h("span", { class: "faint" }, "no name"),
                    token.isAdministrator && [" ", badge("administrator", "warn")]] },
                { title: "Kind", render: (token) => kinds[token.kind]?.[0] ?? token.kind },
                { title: "Token or key ID", class: "mono", render: (token) => id(token.id) },
                { title: "Origins", render: (token) => (token.kind === "api" ? token.origins?.join(", ") ?? h("span", { class: "faint" }, "any")
                    : "–") },
                { title: "Made", render: (token) => time(since1970(token.created)) },
                { title: "Last used", render: (token) => (token.used ? time(token.used) : h("span", { class: "faint" }, "never")) },
                { title: "Ends", render: (token) => (token.ends ? time(token.ends) : "–") },
                { title: "Action", class: "number nowrap",
                    render: (token) => [token.kind === "api" && !token.ends
                        && rowButton("Replace", token.name || token.id, () => rotate(token), { asks: "POST tokens/rotate" }),
                        rowButton("End", token.name || token.id, () => revoke(token), { asks: "POST tokens/revoke" })] },
            ] }), code(`nacre token list --container ${container}`)];
        });
        await read();
        return null;
    },
};
