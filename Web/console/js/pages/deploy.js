/// Development's schema to production: what it brings, what refuses it, which queries would break; then the history of both.

import { api } from "../api.js";
import { broken, differences, gains } from "../differences.js";
import { h, put } from "../dom.js";
import { here } from "../router.js";
import { ask, attempt } from "../shell.js";
import { badge, button, card, code, header, linkButton, plural, problem, time } from "../ui.js";

export default {
    async render(view, route) {
        const container = route.container;
        const [dry, between, ...histories] = await Promise.all([
            api.post("schema/deploy", { container, isDryRun: true }, { signal: route.signal }),
            api.get("schema", { container, environment: "development" }, { signal: route.signal })
                .then(({ text }) => api.post("schema/diff", { container, environment: "production", text }, { signal: route.signal })),
            ...["development", "production"].map((environment) => api.get("schema/history", { container, environment }, { signal: route.signal })),
        ]);
        const kept = between.differences.filter((one) => one.after === undefined);
        const isReady = dry.gains.length > 0 && dry.refusals.length === 0;
        put(view, header("Deploy", { sub: "Types, fields, indexes, grants and roles go from development to production. Nothing is taken away there, and no record moves.",
            actions: [linkButton("Schema file", here("ckdb"), { symbol: "file-code" }),
                button("Deploy to production", deploy, { kind: "main", symbol: "rocket", disabled: !isReady })] }),
        dry.gains.length === 0 && dry.refusals.length === 0
            ? h("div", { class: "note info" }, "Production has all that development has.")
            : h("div", { class: "grid-2" }, card(`Production gains ${plural(dry.gains.length, "thing")}`, gains(dry.gains), broken(dry.broken)),
                h("div", { class: "stack" }, dry.refusals.length > 0 && card("Production refuses",
                    dry.refusals.map((one) => problem({ reason: one.reason, remedy: one.remedy, field: one.field, code: one.field }))),
                    card("The same by nacre", code(`nacre schema deploy --container ${container}`),
                        h("p", { class: "soft" }, "In CI, this fails with status 2 where the two differ:"),
                        code(`nacre schema diff --container ${container} --environment production schema.ckdb`)))),
        kept.length > 0 && card("Production keeps what development has not",
            h("p", { class: "soft" }, "A reset of development brings these back there."), differences(kept)),
        h("div", { class: "grid-2" }, history("History of development", histories[0].changes, true),
            history("History of production", histories[1].changes, false)),
        card("Start over in development", h("div", { class: "row" }, h("p", { class: "soft grow" },
            "Development gets production's schema, and loses all its zones and records."),
            button("Reset development", reset, { kind: "danger", symbol: "rotate-ccw" }))));

        function history(title, changes, canUndo) {
            if (changes.length === 0) return card(title, h("p", { class: "soft" },
                "No administrator has changed it. What apps add by saving is not listed."));
            const last = changes.find((change) => change.kind !== "undo" && !change.isUndone);
            return card(title, h("ul", { class: "history" }, changes.map((change) => h("li", {}, h("details", {},
                h("summary", {}, badge(change.kind, change.kind === "deploy" ? "production" : "accent"),
                    ` ${plural(change.count, "difference")} `, time(change.time),
                    h("span", { class: "faint" }, change.author ? ` by ${change.author}` : ""), change.isUndone && badge("undone")),
                change.differences ? differences(change.differences) : h("p", { class: "soft" }, "Too long to be kept.")),
            canUndo && change === last && button("Undo", () => undo(change), { kind: "quiet", symbol: "rotate-ccw" })))));
        }

        async function deploy() {
            if (!await ask({ title: "Deploy to production?", confirm: "Deploy", isDanger: true, typed: container,
                text: `Production gains ${plural(dry.gains.length, "thing")} for good.`,
                details: dry.broken.length > 0 && broken(dry.broken) })) return;
            await run(() => api.post("schema/deploy", { container, isDryRun: false }), "Deployed to production");
        }

        async function undo(change) {
            let would;
            if (!await attempt(async () => { would = await api.post("schema/undo", { container, isDryRun: true }); })) return;
            if (await ask({ title: `Undo ${change.kind} ${change.number}?`, confirm: "Undo",
                details: differences(would.differences) })) await run(() => api.post("schema/undo", { container, isDryRun: false }), "Undone");
        }

        async function reset() {
            let would;
            if (!await attempt(async () => { would = await api.post("schema/reset", { container, isDryRun: true }); })) return;
            const lost = [...would.types.map((one) => `type ${one}`), ...would.roles.map((one) => `role ${one}`), ...would.fields];
            if (!await ask({ title: "Reset development?", confirm: "Reset", isDanger: true, typed: container,
                text: `Zones and records of ${plural(would.databases, "database")} are removed for good. ${lost.length ? `The schema loses ${lost.join(", ")}.` : "The schema stays as it is."}` })) return;
            await run(() => api.post("schema/reset", { container, isDryRun: false }), "Development was reset");
        }

        async function run(work, done) {
            if (await attempt(work, done)) route.reload();
        }
    },
};
