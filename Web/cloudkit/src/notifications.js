/** Notifications of a user's subscriptions, as the server's web courier brings them. */

import { CKError } from "./error.js";
import { uuid } from "./values.js";

/** Milliseconds before the next try after failures in a row. */
const pauses = [1000, 2000, 5000, 15_000, 60_000];

/** Reasons in the order of the payload's numbers, which begin with 1. */
const reasons = ["CREATED", "UPDATED", "DELETED"].map((event) => `QUERY_NOTIFICATION_REASON_RECORD_${event}`);

/** A notification. One without a `subscriptionID` says that others were left out: fetch the changes. */
export class Notification {
    /** @param {any} payload */
    constructor({ aps = {}, ck = {} }) {
        const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert ?? {};
        const about = ck.qry ?? ck.fet ?? ck.met ?? {};
        this.notificationID = ck.nid;
        this.notificationType = ck.qry ? "NOTIFICATION_TYPE_QUERY" : ck.fet ? "NOTIFICATION_TYPE_RECORD_ZONE" : "NOTIFICATION_TYPE_DATABASE";
        this.containerIdentifier = ck.cid;
        this.subscriptionID = about.sid;
        this.zoneID = about.zid === undefined ? undefined : { zoneName: about.zid, ownerRecordName: about.zoid };
        this.alertBody = alert.body;
        this.alertLocalizationKey = alert["loc-key"];
        this.alertLocalizationArgs = alert["loc-args"];
        this.alertActionLocalizationKey = alert["action-loc-key"];
        this.alertLaunchImage = alert["launch-image"];
        this.soundName = aps.sound;
        this.badge = aps.badge;
        this.category = aps.category;
        this.isQueryNotification = ck.qry !== undefined;
        this.isRecordZoneNotification = ck.fet !== undefined;
    }
}

export class QueryNotification extends Notification {
    /** @param {any} payload */
    constructor(payload) {
        super(payload);
        const { qry } = payload.ck;
        this.recordName = qry.rid;
        this.recordFields = qry.af;
        this.queryNotificationReason = reasons[qry.fo - 1];
        this.isPublicDatabase = qry.dbs === 1;
    }
}

export class RecordZoneNotification extends Notification {}

/** @param {any} payload */
function notificationOf(payload) {
    const { ck } = payload;
    const Kind = ck?.qry ? QueryNotification : ck?.fet ? RecordZoneNotification : Notification;
    return new Kind(payload);
}

export class Courier {
    #transport;
    #apnsEnvironment;
    /** @type {Set<(notification: Notification) => void>} */
    #listeners = new Set();
    /** @type {AbortController | undefined} of the polling */
    #polling;
    /** The device: one for each container of a tab. */
    #clientId = uuid();

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {string} apnsEnvironment
     */
    constructor(transport, apnsEnvironment) {
        this.#transport = transport;
        this.#apnsEnvironment = apnsEnvironment;
    }

    get isRegistered() {
        return this.#polling !== undefined;
    }

    /** @param {(notification: Notification) => void} listener */
    add(listener) {
        this.#listeners.add(listener);
    }

    /** @param {(notification: Notification) => void} listener */
    remove(listener) {
        this.#listeners.delete(listener);
    }

    /** Registers the device, and asks for its notifications from then on. */
    async register() {
        if (this.#polling) return;
        const polling = new AbortController();
        this.#polling = polling;
        try {
            const url = await this.#address(polling.signal);
            this.#poll(url, polling);
        } catch (error) {
            this.unregister(polling);
            throw error;
        }
    }

    /**
     * Stops asking.
     * @param {AbortController | undefined} [polling]
     */
    unregister(polling = this.#polling) {
        polling?.abort();
        if (polling === this.#polling) this.#polling = undefined;
    }

    /**
     * @param {AbortSignal} signal
     * @returns {Promise<string>} where the notifications of the device are asked for
     */
    async #address(signal) {
        const device = { apnsEnvironment: this.#apnsEnvironment, clientId: this.#clientId };
        const { apnsToken, webcourierURL } = await this.#transport.askDevice("tokens/create", device, { signal });
        await this.#transport.askDevice("tokens/register", { ...device, apnsToken }, { signal });
        return webcourierURL;
    }

    /**
     * Asks again and again. An address that is not good any more has a successor as long as the user is signed in.
     * @param {string} url
     * @param {AbortController} polling
     */
    async #poll(url, polling) {
        const { services } = this.#transport;
        const { signal } = polling;
        const pause = (/** @type {number} */ failures) => services.pause(pauses[Math.min(failures, pauses.length) - 1], signal);
        for (let failures = 0; !signal.aborted;) {
            try {
                const start = services.now();
                const answer = await this.#transport.send(url, { method: "GET", signal });
                if ([401, 404, 421].includes(answer.status)) {
                    if (failures > 0) await pause(failures);
                    failures += 1;
                    url = await this.#address(signal);
                    continue;
                }
                if (!answer.ok) await this.#transport.read(answer, signal);
                const text = await this.#transport.text(answer, signal);
                if (text !== "") this.#tell(JSON.parse(text));
                // The server waits before it answers that there is nothing; one that does not is not asked in a loop.
                else if (services.now() - start < pauses[0]) await pause(1);
                failures = 0;
            } catch (error) {
                if (signal.aborted) return;
                if (["AUTHENTICATION_REQUIRED", "AUTHENTICATION_FAILED"].includes(/** @type {any} */ (error).ckErrorCode)) {
                    this.unregister(polling);
                    return;
                }
                services.log("warn", `Notifications: ${error instanceof CKError ? error : /** @type {any} */ (error)?.name}`);
                failures += 1;
                await pause(failures);
            }
        }
    }

    /** @param {any} payload */
    #tell(payload) {
        const notification = notificationOf(payload);
        for (const listener of [...this.#listeners]) {
            try {
                listener(notification);
            } catch (error) {
                // One listener's fault is none of the others'.
                this.#transport.services.log("error", `A listener of notifications failed: ${error}`);
            }
        }
    }
}
