/// The first page: what to paste into an app while there is nothing, and otherwise every container with its traffic.

import { api } from "../api.js";
import { h, icon, put } from "../dom.js";
import { form } from "../forms.js";
import { href } from "../router.js";
import { firstPage, readContainers, toast, toastError } from "../shell.js";
import { store } from "../store.js";
import { badge, button, bytes, card, header, id, number, pairs, plural, snippets, time } from "../ui.js";

/// The lines that connect an app to this server: `[title, text]`.
function connection(container, url) {
    return [
        ["App", `# In the scheme's environment, or before the tests:\nCLOUDKIT_SERVER_URL=${url}\n# And CLOUDKIT_API_TOKEN: a token of the page Tokens and keys.\n\n# The code stays as it is:\nlet database = CKContainer(identifier: "${container}").privateCloudDatabase`],
        ["Terminal", `nacre up ${container}\neval "$(nacre env)"\nnacre record put --type Note --set 'text=Hello' first`],
        ["Tests", `nacre exec -- swift test`],
        ["curl", `curl -sS "${url}/readyz"\ncurl -sS "${url}/openapi.json"`],
    ];
}

export default {
    async render(view, route) {
        const [containers, server, traffic] = await Promise.all([
            readContainers(), api.get("server", {}, { signal: route.signal }),
                api.get("telemetry", { last: "day", by: "container" }, { signal: route.signal }).catch(() => ({ lines: [] }))]);
        store.server.set(server);
        const newContainer = button("New container", create, { symbol: "plus", kind: containers.length ? "" : "main",
            asks: "POST containers" });
        if (containers.length === 0) {
            const example = "iCloud.com.example.Notes";
            put(view, header("Welcome to Nacre",
                { sub: "The server runs, and has no container yet. One of these makes it and connects an app:", actions: [newContainer] }),
                card(null, snippets(connection(example, server.publicURL))), serverCard(server));
            return;
        }
        const lineOf = (container, environment) => traffic.lines.find((line) => line.container === container && line.environment === environment);
        const known = new Set(containers.map(({ name }) => name));
        const strangers = traffic.lines.filter((line) => line.container && !known.has(line.container));
        put(view, header("Home", { sub: "Containers, and their requests of the last 24 hours.", actions: [newContainer] }),
            strangers.map((line) => h("div", { class: "note" }, icon("triangle-alert"),
                h("span", { class: "grow" }, h("strong", {}, line.container), ` was asked for ${plural(line.requests, "time")}, and is not here.`),
                button("Make it", () => make(line.container).catch(toastError), { kind: "main", asks: "POST containers" }))),
            h("div", { class: "containers" }, containers.map((container) => h("section", { class: "card container" },
                h("div", { class: "row" }, icon("box"), h("h2", { class: "grow" }, container.name),
                    h("span", { class: "faint" }, "made ", time(container.created))),
                h("div", { class: "places" }, ["development", "production"].map((environment) => {
                    const place = { container: container.name, environment };
                    const line = lineOf(container.name, environment);
                    return h("a", { class: `place ${environment}`, href: href(firstPage(), {}, place) },
                        h("span", { class: "row" }, badge(environment === "production" ? "Production" : "Development",
                        environment === "production" ? "production" : "accent")),
                        line ? [h("strong", {}, plural(line.requests, "request")),
                            h("span", { class: "soft" }, [line.errors ? `${plural(line.errors, "error")}` : "no errors",
                            line.p95 !== undefined && `95 % within ${number(Math.round(line.p95))} ms`,
                            line.users && `${line.users} users`].filter(Boolean).join(" · "))]
                            : [h("strong", {}, "No requests"), h("span", { class: "soft" }, "in the last 24 hours")]);
                }))))),
            h("div", { class: "grid-2" }, card("Connect an app", snippets(connection(store.place.get().container || containers[0].name,
                server.publicURL))), serverCard(server)));

        async function make(name, justInTime = "native") {
            await api.post("containers", { name, justInTime });
            store.place.set({ container: name, environment: "development" });
            toast(`${name} is there`, { tone: "good" });
            route.reload();
        }

        function create() {
            form({ title: "New container", confirm: "Create", fields: [
                { name: "name", label: "Name", class: "mono", value: "iCloud.", required: true,
                    hint: "The identifier of the app's entitlement, such as iCloud.com.example.Notes." },
                { name: "justInTime", label: "Saves that make types and fields in development", value: "native",
                    options: [["native", "apps with the framework"], ["all", "every client"]] }],
            run: ({ name, justInTime }) => make(name.trim(), justInTime) });
        }
    },
};

/// The server with its addresses, and what is told besides.
export function serverCard(server, more = []) {
    return card("Server", pairs([["Version", server.version], ["Apps reach it at", id(server.publicURL, 60)],
        ["On its machine", server.localURL !== server.publicURL && id(server.localURL, 60)],
        ["Files of assets", server.assets ? `${bytes(server.assets.bytes)} in ${plural(server.assets.chunks, "chunk")}` : "being counted"], ...more,
            ["For people", h("a", { href: `${server.publicURL}/openapi`, target: "_blank", rel: "noopener noreferrer" },
            "The Web API, with calls to try")]]));
}
