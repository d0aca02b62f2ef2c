/// The team: who signs in to the console with a passkey, and in which role.

import { api } from "../api.js";
import { h, icon, put } from "../dom.js";
import { form, shownOnce } from "../forms.js";
import { ask, attempt } from "../shell.js";
import { badge, button, card, elided, empty, header, iconButton, select, time } from "../ui.js";

const ROLES = ["viewer", "developer", "admin", "owner"];

export default {
    async render(view, route) {
        const { members } = await api.get("team", {}, { signal: route.signal });

        const invitation = ({ invited, passkeys }) => invited ? badge(invited > Date.now() ? "invited" : "invitation ended",
            invited > Date.now() ? "accent" : "warn") : passkeys.length === 0 && badge("no passkey", "warn");

        const line = (member) => [h("li", {}, h("strong", {}, member.name), invitation(member),
            h("span", { class: "faint" }, member.used ? ["signed in ", time(member.used)] : ["added ", time(member.created)]),
            h("span", { class: "grow" }),
            select(ROLES, member.role, (role) => setRole(member, role), { "aria-label": `Role of ${member.name}` }),
            iconButton("link", `Invite ${member.name} again`, () => inviteAgain(member)),
            iconButton("x", `Remove ${member.name}`, () => remove(member))),
        member.passkeys.map((passkey) => h("li", { class: "soft" }, icon("key-round"), h("span", { class: "mono" }, elided(passkey.id, 14)),
            h("span", {}, "passkey made ", time(passkey.created), passkey.used && [", used ", time(passkey.used)]), h("span", { class: "grow" }),
            iconButton("trash-2", `Remove the passkey ${elided(passkey.id, 14)} of ${member.name}`, () => removePasskey(member, passkey))))];

        put(view, header("Team", { sub: "They sign in with a passkey. A change of the role, and a removal, end their sessions at once.",
            actions: [button("Invite", invite, { kind: "main", symbol: "user-plus" })] }),
        members.length === 0
            ? empty("Nobody yet", "A person whom you invite makes a passkey on this page:", [["Shell", "nacre team add ada --role developer"]])
            : card("Members", h("ul", { class: "lines" }, members.map(line))));

        async function invite() {
            const made = await form({ title: "Invite to the team", confirm: "Invite",
                text: "The link is good once, for half an hour. The page that it opens makes the passkey.",
                fields: [{ name: "name", label: "Name", required: true, maxlength: 64, hint: "As the audit log shows it." },
                    { name: "role", label: "Role", options: ROLES, value: "developer" }],
                run: ({ name, role }) => api.post("team", { name: name.trim(), role }) });
            if (!made) return;
            await showLink(made);
        }

        async function showLink(made) {
            await shownOnce(`The link for ${made.member.name}`, "Hand it to them by a way that others do not read.",
                new URL(made.path, made.consoleURL ?? location.origin).href, { label: "Link" });
            route.reload();
        }

        async function inviteAgain(member) {
            if (!await ask({ title: `Invite ${member.name} again?`, confirm: "Invite",
                text: "The link before this one ends now. Passkeys stay." })) return;
            await attempt(async () => showLink(await api.post("team/invite", { name: member.name })));
        }

        async function removePasskey(member, passkey) {
            if (!await ask({ title: `Remove a passkey of ${member.name}?`, confirm: "Remove", isDanger: true,
                text: "Sessions that it began end at once. Without another passkey, they need a new invitation." })) return;
            await attempt(() => api.post("team/passkeys/remove", { name: member.name, id: passkey.id }), "Removed");
            route.reload();
        }

        async function setRole(member, role) {
            await attempt(() => api.post("team/role", { name: member.name, role }), `${member.name} is ${role} now`);
            route.reload();
        }

        async function remove(member) {
            if (!await ask({ title: `Remove ${member.name}?`, text: "Sessions and passkeys end at once.", confirm: "Remove",
                isDanger: true })) return;
            await attempt(() => api.post("team/remove", { name: member.name }), "Removed");
            route.reload();
        }
    },
};
