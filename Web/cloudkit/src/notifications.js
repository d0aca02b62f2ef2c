/** Notifications of a user's subscriptions, and those who are told of them. */

import { Registration, tellEnd } from "./registration.js";

/** How many of the notifications that were told are remembered: one of them that comes again is not told again. */
const remembered = 500;

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

/**
 * @param {any} payload
 * @returns {Notification}
 */
function notificationOf(payload) {
    const { ck } = payload;
    const Kind = ck?.qry ? QueryNotification : ck?.fet ? RecordZoneNotification : Notification;
    return new Kind(payload);
}

/** The listeners of a container. */
export class Listening {
    #transport;
    #apnsEnvironment;
    /** @type {Set<(notification: Notification) => void>} */
    #listeners = new Set();
    /** @type {Registration | undefined} */
    #registration;
    /** @type {AbortController | undefined} of the time in which the page is registered */
    #registered;
    /** @type {Set<string>} names of notifications that were told, the oldest first */
    #told = new Set();

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {string} apnsEnvironment
     */
    constructor(transport, apnsEnvironment) {
        this.#transport = transport;
        this.#apnsEnvironment = apnsEnvironment;
    }

    get isRegistered() {
        return this.#registered !== undefined;
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
        const { session } = this.#transport;
        const { signal } = this.#registered ??= new AbortController();
        try {
            const device = this.#registration ? "" : await session.device();
            signal.throwIfAborted();
            this.#registration ??= this.#begin(device);
        } catch (error) {
            if (!signal.aborted) this.unregister();
            throw error;
        }
        /** @type {Registration} */
        let registration;
        do {
            registration = this.#registration;
            try {
                await registration.ready;
            } catch (error) {
                // Another registration may have taken its place.
                if (signal.aborted || registration === this.#registration) throw error;
            }
        } while (registration !== this.#registration);
    }

    /**
     * Begins the registration of a device.
     * @param {string} device
     */
    #begin(device) {
        const { session } = this.#transport;
        const { epoch } = session;
        // Another tab of the session may have noted a name at the same moment. A tab of another user's session hears
        // nothing more.
        const end = (/** @type {unknown} */ error) => {
            const noted = session.notes.device;
            const goesOn = registration === this.#registration && noted && noted !== device && session.epoch === epoch;
            if (goesOn) this.#replace(registration, noted); else this.unregister(registration, error);
        };
        /** @type {Registration} */
        const registration = new Registration(this.#transport, this.#apnsEnvironment, device, {
            tell: (payload) => { if (session.notes.device === device) this.tell(payload); else end(undefined); },
            end: (error) => { if (error) end(error); else this.unregister(registration); },
        });
        return registration;
    }

    /**
     * Registers under the name that the session has now. Listeners are told that something may have come meanwhile.
     * @param {Registration} before
     * @param {string} device
     */
    async #replace(before, device) {
        const registration = this.#registration = this.#begin(device);
        before.end();
        try {
            await registration.ready;
            if (registration === this.#registration) this.tell({});
        } catch {
            // The registration has told of its end.
        }
    }

    /**
     * Stops asking.
     * @param {Registration | undefined} [registration]
     * @param {unknown} [error] what it failed for
     */
    unregister(registration = this.#registration, error) {
        registration?.end(error);
        if (registration !== this.#registration) return;
        this.#registration = undefined;
        this.#registered?.abort();
        this.#registered = undefined;
    }

    /**
     * Tells the tabs of a session that this page has ended it.
     * @param {import("./session.js").Notes} notes
     */
    end({ device }) {
        if (device && this.#transport.session.isShared) tellEnd(device);
    }

    /**
     * Tells the listeners of a notification, once.
     * @param {any} payload
     */
    tell(payload) {
        const notification = notificationOf(payload);
        const { notificationID, subscriptionID } = notification;
        const name = `${notificationID} ${subscriptionID}`;
        if (notificationID !== undefined && this.#told.has(name)) return;
        this.#told.add(name);
        if (this.#told.size > remembered) this.#told.delete(/** @type {string} */ (this.#told.values().next().value));
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
