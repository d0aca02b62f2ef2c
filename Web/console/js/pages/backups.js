/// Backups: one now, how it goes, and the age of the newest scheduled one.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { size, span } from "../figures.js";
import { fault, given } from "../forms.js";
import { live } from "../live.js";
import { commands, toastError } from "../shell.js";
import { shell } from "../snippets.js";
import { may } from "../store.js";
import { badge, button, bytes, card, code, field, header, id, number, pairs, problem, progress, rowButton, table, time } from "../ui.js";

function status(answer, cancel) {
    if (answer.state === "running") {
        const part = answer.bytesInAll ? answer.bytes / answer.bytesInAll : undefined;
        return [h("p", { class: "outcome" }, badge(answer.phase === "checking" ? "checking" : "copying", "accent"),
            h("span", { class: "mono" }, answer.path)),
            progress(`${bytes(answer.bytes ?? 0)}${answer.bytesInAll ? ` of ${bytes(answer.bytesInAll)}` : ""}`, part),
            h("div", { class: "actions" }, button("Give up", cancel, { kind: "danger", asks: "DELETE backup" }))];
    }
    if (answer.state === "failed") return problem({ reason: answer.problem ?? "The backup failed.", remedy: answer.remedy });
    if (answer.state === "none") return h("p", { class: "faint" }, "No backup was asked for since the server's start.");
    const { backup } = answer;
    return [h("p", { class: "outcome" }, badge("done", "good"), h("span", { class: "mono" }, backup.path)),
        backup.lostFiles > 0 && problem({ reason: `${number(backup.lostFiles)} files of records have chunks that are missing beside the backup.`,
            remedy: "Look at the assets: nacre assets verify." }),
        pairs([["Shows", time(backup.time, { isAbsolute: true })], ["Size", bytes(backup.bytes)], ["Containers", number(backup.containers)],
            ["Databases", number(backup.databases)], ["Made by", `Nacre ${backup.nacre}`], ["SHA-256", id(backup.sha256, 40)]]),
        code(`nacre backup verify ${shell(backup.path)}\nnacre backup restore ${shell(backup.path)} --data ./another-folder`)];
}

/// The backups that the server makes by itself.
function made({ folder, backups, next, verification }, verify) {
    if (!folder) return [];
    const isRunning = verification.state === "running";
    const outcome = ({ check }) => (!check ? h("span", { class: "faint" }, "not since the start")
        : check.isWhole ? [badge("whole", "good"), " ", time(check.time)] : [badge("damaged", "bad"), ` ${check.problem ?? ""}`]);
    return card("Made by itself", pairs([["Folder", h("span", { class: "mono" }, folder)], ["The next one", time(next)]]),
        isRunning && progress(`Verifying ${verification.path}`, verification.bytesInAll ? verification.bytes / verification.bytesInAll : undefined),
        table({ label: "Backups", rows: backups, key: (one) => one.name, empty: h("p", { class: "faint" }, "None yet."),
            columns: [{ title: "File", class: "mono", render: (one) => one.name },
                { title: "Shows", render: (one) => time(one.time, { isAbsolute: true }) },
                { title: "Size", class: "number", render: (one) => bytes(one.bytes) }, { title: "Verified", class: "wrap", render: outcome },
                { title: "Action", class: "number", render: (one) => rowButton("Verify", one.name, () => verify(one.name),
                    { asks: "POST backups/verify", disabled: isRunning }) }] }),
        code("nacre backup list"));
}

export default {
    async render(view, route) {
        const now = h("div", { class: "stack", "aria-live": "polite" }, h("p", { class: "faint" }, "Asking …"));
        const scheduled = h("div", {});
        const path = h("input", { class: "mono", placeholder: "/srv/backups", required: true, value: route.query.path ?? "", autocomplete: "off",
            oninput: () => route.replace({ path: path.value }) });
        const speed = h("input", { placeholder: "no limit", autocomplete: "off" });
        const start = button("Back up", undefined, { kind: "main", type: "submit", symbol: "archive" });
        let tail;
        let isRunning = false;

        const cancel = () => api.delete("backup").then(follow, toastError);
        const show = (answer) => {
            isRunning = answer.state === "running";
            start.disabled = isRunning;
            put(now, status(answer, cancel));
            if (!isRunning) tail?.stop();
        };
        /// Asks once, and on while a backup runs and the page is seen.
        function follow() {
            tail?.stop();
            tail = live(async (signal) => show(await api.get("backup", {}, { signal })), { every: 700, onerror: toastError });
        }
        async function begin(event) {
            event.preventDefault();
            try {
                const bytesPerSecond = given(speed.value) ? size(speed.value) ?? fault("bytesPerSecond", "This is no size.",
                    "Give a size such as 20M.") : undefined;
                show(await api.post("backup", { path: path.value.trim(), bytesPerSecond }));
                follow();
            } catch (error) {
                put(now, problem(error));
            }
        }
        commands.ofPage = [{ title: "Back up", hint: "Backups", symbol: "archive", asks: "POST backup", run: () => path.focus() }];
        put(view, header("Backups", { sub: "A backup is one file, and shows a single moment. Requests go on meanwhile." }),
            h("div", { class: "grid-2" }, card("A backup now", h("form", { class: "form", onsubmit: begin, hidden: !may("POST backup") },
                field("Path on the server's machine", path, { hint: "A whole path: of a file, or of a folder in which a file is made." }),
                field("Bytes a second", speed, { hint: "Such as 20M, where the disk is slow." }), h("div", { class: "actions" }, start)), now),
            card("By itself", scheduled)));
        follow();
        const kept = h("div", { class: "stack" });
        view.append(kept);
        let watch;
        const list = (answer) => {
            if (answer.verification.state !== "running") watch?.stop();
            put(kept, made(answer, (name) => api.post("backups/verify", { name }).then(watchList, toastError)));
        };
        function watchList() {
            watch?.stop();
            watch = live(async (signal) => list(await api.get("backups", {}, { signal })), { every: 700, onerror: toastError });
        }
        watchList();
        const { alerts } = await api.get("alerts", {}, { signal: route.signal });
        const [age, failed] = ["backup-age", "backup-failed"].map((kind) => alerts.find((rule) => rule.kind === kind));
        put(scheduled, age
            ? [pairs([["The newest one", age.figure === undefined ? "none yet" : `${span(age.figure)} old`],
                ["The last one", failed?.figure === 1 ? badge("failed", "bad") : badge("fine", "good")]]),
                h("p", { class: "hint" }, "How often and how many: --backup-every and --backup-keep of nacre serve.")]
            : [h("p", {}, "The server makes no backups by itself."),
                code("nacre serve --backup-dir /srv/backups --backup-every 24h")]);
        return { close: () => { tail?.stop(); watch?.stop(); }, update: () => {} };
    },
};
