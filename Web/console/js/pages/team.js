/// The team: who signs in to the console with a passkey, and in which role.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { form, shownOnce } from "../forms.js";
import { ask, toast, toastError } from "../shell.js";
import { badge, button, card, empty, header, iconButton, select, time } from "../ui.js";

const ROLES = ["viewer", "developer", "admin", "owner"];

export default {
    async render(view, route) {
        const { members } = await api.get("team", {}, { signal: route.signal });

        const line = (member) => h("li", {}, h("strong", {}, member.name),
            member.passkeys === 0 && badge("invited", "accent"),
            h("span", { class: "faint" }, member.used ? ["signed in ", time(member.used)] : ["added ", time(member.created)]),
            h("span", { class: "grow" }),
            select(ROLES, member.role, (role) => setRole(member, role), { "aria-label": `Role of ${member.name}` }),
            iconButton("x", `Remove ${member.name}`, () => remove(member)));

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
            await shownOnce(`The link for ${made.member.name}`, "Hand it to them by a way that others do not read.",
                new URL(made.path, location.origin).href, { label: "Link" });
            route.reload();
        }

        async function setRole(member, role) {
            try {
                await api.post("team/role", { name: member.name, role });
                toast(`${member.name} is ${role} now`, { tone: "good" });
            } catch (error) {
                toastError(error);
            }
            route.reload();
        }

        async function remove(member) {
            if (!await ask({ title: `Remove ${member.name}?`, text: "Sessions and passkeys end at once.", confirm: "Remove",
                isDanger: true })) return;
            try {
                await api.post("team/remove", { name: member.name });
                toast("Removed", { tone: "good" });
            } catch (error) {
                toastError(error);
            }
            route.reload();
        }
    },
};
