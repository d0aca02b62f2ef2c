/// Settings of a container: where the pages of its shares lead, and whose saves bring types and fields.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { base64 } from "../files.js";
import { toastError, toast } from "../shell.js";
import { may } from "../store.js";
import { button, card, code, field, header, pairs, problem, select } from "../ui.js";

export default {
    async render(view, route) {
        const { container } = route.place;
        const [told, wrong, preview] = [h("div", { class: "stack" }), h("div", {}), h("div", { class: "share-page" })];
        const input = (props) => h("input", { autocomplete: "off", spellcheck: "false", oninput: draw, ...props });
        const fields = { appName: input({ placeholder: "as it is" }), app: input({ placeholder: "as it is", class: "mono" }),
            fallback: input({ placeholder: "as it is", class: "mono" }), icon: h("input", { type: "file", accept: "image/png", onchange: draw }),
            redirects: select([["", "As it is"], ["false", "Shows a page with both"], ["true", "Goes to the app's page at once"]], "", draw) };
        const removed = h("div", { class: "row" },
            Object.entries({ appName: "name", app: "app's URL", fallback: "page", icon: "icon" }).map(([name, title]) => h("label",
                { class: "check" }, h("input", { type: "checkbox", name }), h("span", {}, `no ${title}`))));
        let iconURL;

        function draw() {
            if (iconURL) URL.revokeObjectURL(iconURL);
            const [file] = fields.icon.files;
            iconURL = file && URL.createObjectURL(file);
            put(preview, iconURL && h("img", { src: iconURL, alt: "The chosen icon", width: "56", height: "56" }), h("strong", {}, "Our trip"),
                h("span", { class: "soft" }, "Ada shares this with you."),
                h("span", { class: "button main" }, `Open in ${fields.appName.value || "the app"}`),
                h("span", { class: "button" }, `Get ${fields.appName.value || "the app"}`));
        }
        const show = (held) => put(told,
            pairs([["Name", held.appName ?? "none"], ["Opens", held.app ?? "nothing"], ["Page about the app", held.fallback ?? "none"],
                ["A browser", held.redirects ? "goes to that page at once" : "is shown a page with both"], ["Icon", held.hasIcon ? "yes" : "none"]]));
        async function save(event) {
            event.preventDefault();
            put(wrong);
            const isRemoved = (name) => removed.querySelector(`[name=${name}]`).checked;
            try {
                const [file] = fields.icon.files;
                const text = (name) => (isRemoved(name) ? "" : fields[name].value.trim() || undefined);
                show(await api.post("containers/sharing", { name: container, appName: text("appName"), app: text("app"), fallback: text("fallback"),
                    redirects: fields.redirects.value === "" ? undefined : fields.redirects.value === "true",
                    icon: isRemoved("icon") ? "" : file ? base64(await file.arrayBuffer()) : undefined }));
                toast("Kept", { tone: "good" });
            } catch (error) {
                put(wrong, problem(error));
            }
        }
        const choice = select([["native", "The framework alone"], ["all", "All clients"]], "native", (value) => api.post("containers/change",
            { name: container, justInTime: value }).then(() => toast("Changed", { tone: "good" }), toastError), { disabled: !may("POST containers/change") });
        const [line] = (await api.get("containers", { name: container }, { signal: route.signal })).containers;
        choice.value = line.justInTime;
        show(line.sharing);
        draw();
        put(view, header("Container settings", { sub: "For both environments." }), h("div", { class: "grid-2" },
            card("Pages of shares", h("form", { class: "form", onsubmit: save, hidden: !may("POST containers/sharing") }, field("Name of the app", fields.appName),
                field("URL that opens a share in the app", fields.app, { hint: "https, or a scheme of the app's own, such as notes://share." }),
                field("Page about the app", fields.fallback, { hint: "For people without it." }),
                field("A browser that opens a share", fields.redirects), field("Icon, a PNG", fields.icon),
                h("fieldset", { class: "choices" }, h("legend", { class: "hint" }, "Remove"), removed), wrong,
                h("div", { class: "actions" }, button("Keep", undefined, { kind: "main", type: "submit" }))), told,
                    h("h3", {}, "As a page"), preview),
            card("Types and fields from saves",
                h("p", { class: "soft" },
                    "In development, a save makes types and fields that are new."),
                field("Saves that make types and fields", choice),
                code(`nacre container change ${container} --just-in-time all`))),
            code(`nacre container sharing ${container}`));
        return { close: () => iconURL && URL.revokeObjectURL(iconURL) };
    },
};
