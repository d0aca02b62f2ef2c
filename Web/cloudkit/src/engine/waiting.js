/** The request that a sync engine holds open: the server answers it as soon as the database changes. */

import { isOfNetwork } from "./failures.js";

/** Seconds for which the server may hold a request open, and the pause before one that failed is sent again. */
const waitSeconds = 30;

/**
 * Waits until there may be something to fetch: the server has told of a change, has refused the request, or answers
 * again after a failure of the network.
 * @param {import("./requests.js").Requests} requests
 * @param {import("../transport.js").Transport} transport
 * @param {string} token of the database's feed
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>} false if the signal has ended the wait
 */
export async function waitForChanges(requests, { services, session }, token, signal) {
    let hasFailed = false;
    while (!signal.aborted) {
        const start = services.now();
        try {
            const page = await requests.databasePage({ signal, epoch: session.epoch }, token, { waitSeconds });
            // A page may be empty and not the last: it passes over zones that were deleted and made again.
            if (hasFailed || page.moreComing || page.modifications.length + page.deletions.length > 0) return !signal.aborted;
            // A pause limits the requests to a server that answers without waiting.
            if (services.now() - start < waitSeconds * 500) await services.pause(waitSeconds * 1000, signal);
        } catch (error) {
            if (signal.aborted) return false;
            const seconds = Math.max(/** @type {any} */ (error).retryAfter ?? 0, waitSeconds) * (1 + 0.25 * services.random());
            await services.pause(seconds * 1000, signal);
            if (!isOfNetwork(error)) return !signal.aborted;
            hasFailed = true;
        }
    }
    return false;
}
