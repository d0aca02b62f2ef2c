/// A share that an administrator makes as its owner, in development.

import { api } from "./api.js";
import { h } from "./dom.js";
import { form, given } from "./forms.js";
import { dialog } from "./shell.js";
import { button, code } from "./ui.js";

/// Asks what to share of a user, shares it, and shows the URL. `what` has `{ user, zone, record, zones }`: a zone and a record that are chosen
/// already, and names of zones to choose from. Answers the share; undefined if none was made.
export async function share(place, what) {
    const zones = (what.zones ?? []).filter((zone) => zone !== "_defaultZone");
    const made = await form({ title: "Share", confirm: "Share",
        text: `As ${what.user} does in the app. The audit log says that you did. In production only users share.`,
        fields: [
            { name: "zone", label: "Zone", value: what.zone ?? zones[0] ?? "", required: true, ...(zones.length ? { options: zones } : {}),
                hint: "Not the default zone: CloudKit shares nothing of it." },
            { name: "record", label: "Record", value: what.record ?? "", hint: "It and what hangs on it. Empty: the whole zone." },
            { name: "title", label: "Title", hint: "Participants see it." },
            { name: "participants", label: "Invite", hint: "E-mail addresses or user record names, with commas between." },
            { name: "permission", label: "They may", options: [["READ_ONLY", "read"], ["READ_WRITE", "read and write"]], value: "READ_ONLY" },
            { name: "publicPermission", label: "Everybody who has the URL may", options: [["NONE", "nothing"], ["READ_ONLY", "read"],
                ["READ_WRITE", "read and write"]], value: "NONE" }],
        run: (values) => api.post("shares/create", { ...place, user: what.user, zone: values.zone.trim(), record: given(values.record),
            title: given(values.title), permission: values.permission, publicPermission: values.publicPermission,
            participants: values.participants.split(",").map((one) => one.trim()).filter(Boolean) }) });
    if (made) await dialog("It is shared", (close) => h("div", { class: "stack" }, h("p", {}, made.participants > 1 || made.publicPermission !== "NONE"
        ? "Who may take part opens this URL, or gives it to the app:" : "Nobody is invited yet. Participants will accept by this URL:"),
    code(made.url, { language: "URL" }), code(`nacre share accept ${made.url}`),
    h("div", { class: "actions end" }, button("Done", () => close(), { kind: "main" }))));
    return made;
}
