/// Files of records: looked at and saved.

import { file } from "./data.js";
import { h, icon, put } from "./dom.js";
import { attempt } from "./shell.js";
import { bytes, button, id } from "./ui.js";

/// Bytes of the largest file that is shown, and of the text that is shown of one.
const SHOWN = 10 << 20;
const SHOWN_TEXT = 64 << 10;

/// The Base64 of bytes.
export const base64 = (bytes) => btoa(Array.from(new Uint8Array(bytes), (one) => String.fromCharCode(one)).join(""));

/// Saves a blob as a file of this computer.
export function saveFile(blob, name) {
    const url = URL.createObjectURL(blob);
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// A file of a record of a database: its size, with buttons that show and save it. `at` is as in `file` of data.js.
export function fileView(of, at, asset, { signal } = {}) {
    const shown = h("div", {});
    const run = (body) => async (event) => {
        const { currentTarget } = event;
        currentTarget.disabled = true;
        await attempt(body);
        currentTarget.disabled = false;
    };
    const show = async () => put(shown, await preview(await (await file(of, at, { signal })).blob(), `${at.field} of ${at.record}`));
    return h("div", { class: "stack tight" }, h("span", { class: "row" }, icon("file"), bytes(asset.size),
        asset.size <= SHOWN && button("Show", run(show), { kind: "quiet", symbol: "eye" }),
        button("Download", run(() => download(of, at, asset, signal)), { kind: "quiet", symbol: "download" }),
        asset.fileChecksum && id(asset.fileChecksum, 16)), shown);
}

async function download(of, at, asset, signal) {
    const name = `${at.record}-${at.field}${at.index ? `-${at.index}` : ""}`.replace(/[^\w.-]+/g, "_");
    // A large file goes to the disk as it comes, where the browser can.
    const target = asset.size > SHOWN && window.showSaveFilePicker ? await window.showSaveFilePicker({ suggestedName: name }) : null;
    const answer = await file(of, at, { signal });
    if (target) return answer.body.pipeTo(await target.createWritable());
    return saveFile(await answer.blob(), name);
}

/// An image or a text. The server tells images by their bytes; all else has a type that no browser shows.
async function preview(blob, alt) {
    if (blob.type.startsWith("image/")) {
        const url = URL.createObjectURL(blob);
        return h("img", { class: "preview", src: url, alt, onload: () => URL.revokeObjectURL(url) });
    }
    try {
        const text = new TextDecoder("utf-8", { fatal: true }).decode(await blob.slice(0, SHOWN_TEXT).arrayBuffer(), { stream: true });
        if (!text.includes("\0")) return h("pre", { class: "preview", tabindex: "0", "aria-label": alt }, text,
            blob.size > SHOWN_TEXT && "\n…");
    } catch {
        // Not a text.
    }
    return h("p", { class: "faint" }, "Neither an image nor a text.");
}
