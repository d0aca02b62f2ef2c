/** The server's page of a share, in a dialog over the app's page. */

import { localError } from "./error.js";

/** The time in which the page has to come up. */
const patienceMilliseconds = 30_000;

/** The app's page may style the dialog by its class. These are set as properties, which no policy of a page refuses. */
const dialogStyle = {
    boxSizing: "border-box", width: "min(36rem, calc(100vw - 1rem))", height: "min(48rem, calc(100vh - 1rem))", maxWidth: "none", maxHeight: "none",
    padding: "0", border: "0", borderRadius: "1rem", overflow: "hidden", colorScheme: "light dark",
};
const frameStyle = { display: "block", width: "100%", height: "100%", border: "0", colorScheme: "light dark" };

/**
 * Shows the page until its user is done: by its button, or by the key Escape. The focus then returns to where it was.
 * @param {string} url opens the page once
 * @param {import("./transport.js").Services} services
 * @param {AbortSignal[]} signals close the dialog; the promise rejects with the reason
 * @returns {Promise<void>}
 */
export function showSharePage(url, services, signals) {
    for (const { aborted, reason } of signals) if (aborted) throw reason;
    const { document } = globalThis;
    const { origin, protocol } = new URL(url);
    if (!/^https?:$/.test(protocol)) throw localError("UNEXPECTED_SERVER_RESPONSE", "the server answered no address of a page");
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const dialog = document.createElement("dialog");
    dialog.className = "cloudkit-share-dialog";
    dialog.setAttribute("aria-label", "Share");
    Object.assign(dialog.style, dialogStyle);
    const frame = document.createElement("iframe");
    Object.assign(frame, { title: "Share", allow: "clipboard-write", referrerPolicy: "no-referrer", src: url });
    Object.assign(frame.style, frameStyle);
    dialog.append(frame);
    return new Promise((resolve, reject) => {
        const [end, patience] = [new AbortController(), new AbortController()];
        const close = (/** @type {() => void} */ settle) => {
            if (end.signal.aborted) return;
            end.abort();
            patience.abort();
            dialog.close();
            dialog.remove();
            before?.focus();
            settle();
        };
        addEventListener("message", ({ source, origin: sender, data }) => {
            if (source !== frame.contentWindow || sender !== origin) return;
            if (data?.nacreShare === "ready") patience.abort();
            if (data?.nacreShare === "done") close(resolve);
        }, { signal: end.signal });
        dialog.addEventListener("close", () => close(resolve), { signal: end.signal });
        for (const signal of signals) signal.addEventListener("abort", () => close(() => reject(signal.reason)), { signal: end.signal });
        document.body.append(dialog);
        dialog.showModal();
        frame.focus();
        services.pause(patienceMilliseconds, patience.signal).then(() => {
            if (patience.signal.aborted) return;
            close(() => reject(localError("SHARE_UI_TIMEOUT", "the page of the share did not come up in time: does this page's policy allow its frame?")));
        });
    });
}
