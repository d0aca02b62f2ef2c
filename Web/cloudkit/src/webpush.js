/** Web Push: notifications that the browser shows by a service worker, also while no page is open. */

import { CKError, invalid, localError } from "./error.js";
import { browserStorage } from "./session.js";

/** The page's service worker, unless the page names another one. */
const workerURL = "/cloudkit-worker.js";

/** The name in the browser's storage of what is known of subscriptions. */
const notesKey = "cloudkit.webpush";

/**
 * A subscription of a container's user. It outlives the tab and its session's token, so its note does too. `worker` is
 * the scope of the service worker, `user` a record name, `device` the device's name at the server, and `key` the
 * server's.
 * @typedef {{ worker: string, user: string, device: string, endpoint: string, key: string }} PushNote
 */

/** @type {string | null} the notes where the browser has no storage for the page */
let keptNotes = null;

/** @returns {Record<string, PushNote>} the notes of all containers of the origin */
function pushNotes() {
    try {
        const storage = browserStorage(true);
        return JSON.parse((storage ? storage.getItem(notesKey) : keptNotes) ?? "{}") ?? {};
    } catch {
        return {};
    }
}

/** @param {Record<string, PushNote>} notes */
function keepPushNotes(notes) {
    const storage = browserStorage(true);
    if (storage) storage.setItem(notesKey, JSON.stringify(notes)); else keptNotes = JSON.stringify(notes);
}

export class WebPush {
    #transport;
    #listening;
    #caller;
    /** @type {AbortController | undefined} of hearing the service worker */
    #hearing;

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {import("./notifications.js").Listening} listening
     * @param {(options: any) => Promise<import("../cloudkit").UserIdentity>} caller asks who is signed in
     */
    constructor(transport, listening, caller) {
        this.#transport = transport;
        this.#listening = listening;
        this.#caller = caller;
    }

    get #id() {
        const { containerIdentifier, environment } = this.#transport.config;
        return `${containerIdentifier}.${environment}`;
    }

    /** @returns {PushNote | undefined} */
    get #note() {
        return pushNotes()[this.#id];
    }

    /** Ends the subscription of the note, whosever it is, and takes away what it has shown. */
    async #drop() {
        const note = this.#note;
        if (!note) return;
        await unsubscribe(note);
        const { [this.#id]: noted, ...others } = pushNotes();
        if (noted?.device === note.device) keepPushNotes(others);
    }

    /**
     * Ends the subscription of another user of this browser, whose session may live on without a tab.
     * @param {string} userRecordName the user who is signed in now
     */
    async meet(userRecordName) {
        const note = this.#note;
        if (!note || note.user === userRecordName) return;
        try {
            await this.#drop();
        } catch (error) {
            this.#transport.services.log("warn", `Web Push: ${/** @type {any} */ (error)?.name}`);
        }
    }

    /**
     * Subscribes at the browser's push service, and has the server send there.
     * @param {{ serviceWorker?: any, signal?: AbortSignal }} options
     */
    async register({ serviceWorker = workerURL, signal }) {
        const workers = globalThis.navigator?.serviceWorker;
        if (!workers || typeof globalThis.PushManager === "undefined") {
            throw localError("CONFIGURATION_ERROR", "the browser has no Web Push for this page: it takes HTTPS, on some phones an installed app");
        }
        if (typeof serviceWorker !== "string" && !(serviceWorker instanceof URL) && !serviceWorker?.pushManager) {
            throw invalid("serviceWorker is a URL or a registration");
        }
        if (await globalThis.Notification.requestPermission() !== "granted") {
            throw new CKError({ ckErrorCode: "ACCESS_DENIED", reason: "the user does not allow notifications" });
        }
        const { userRecordName = "" } = await this.#caller({ signal });
        if (this.#note && this.#note.user !== userRecordName) await this.#drop();
        const { session } = this.#transport;
        const { epoch } = session;
        const { applicationServerKey } = await this.#transport.askDevice("tokens/web-push", undefined, { signal });
        const registration = serviceWorker.pushManager ? serviceWorker : await workers.register(serviceWorker);
        await activated(registration);
        const subscription = await subscribed(registration, applicationServerKey);
        const note = { worker: registration.scope, user: userRecordName, endpoint: subscription.endpoint, key: applicationServerKey };
        try {
            let device;
            do {
                if (session.epoch !== epoch) throw new CKError({ ckErrorCode: "AUTHENTICATION_REQUIRED", reason: "the session has ended" });
                device = await session.device();
                // The note is there before a push can come.
                keepPushNotes({ ...pushNotes(), [this.#id]: { ...note, device } });
                await this.#transport.askDevice("tokens/web-push", { clientId: device, subscription: subscription.toJSON() }, { signal });
                // Another tab of the session may have noted a name at the same moment.
            } while (session.notes.device !== device);
        } catch (error) {
            await this.#drop();
            await subscription.unsubscribe();
            throw error;
        }
        this.#hear(workers, userRecordName);
    }

    /**
     * Ends the subscription.
     * @param {{ signal?: AbortSignal }} options
     */
    async unregister({ signal }) {
        const { device } = this.#transport.session.notes;
        const note = this.#note;
        this.stop();
        await this.#drop();
        // The device of an earlier session is unknown to this one: the push service tells the server of its end.
        if (note && note.device === device) await this.#transport.askDevice("tokens/web-push", { clientId: device, subscription: null }, { signal });
    }

    /** Hears the service worker no longer. */
    stop() {
        this.#hearing?.abort();
    }

    /**
     * Ends the subscription of a session that has ended, and takes away what it has shown.
     * @param {import("./session.js").Notes} notes
     * @param {string | undefined} user
     */
    end({ device }, user) {
        const note = this.#note;
        if (!note || (note.device !== device && note.user !== user)) return;
        this.#drop().catch((error) => this.#transport.services.log("warn", `Web Push: ${error?.name}`));
    }

    /**
     * Tells listeners what the service worker hands over, if it is this user's: all tabs of the origin are handed all.
     * @param {ServiceWorkerContainer} workers
     * @param {string} userRecordName
     */
    #hear(workers, userRecordName) {
        this.stop();
        const { signal } = this.#hearing = new AbortController();
        const { containerIdentifier } = this.#transport.config;
        workers.addEventListener("message", ({ data }) => {
            const { cid, ckuserid } = data?.cloudKit?.ck ?? {};
            if (cid === containerIdentifier && ckuserid === userRecordName) this.#listening.tell(data.cloudKit);
        }, { signal });
        workers.startMessages();
    }
}

/**
 * Waits until a service worker is active: one that is not has no subscription.
 * @param {ServiceWorkerRegistration} registration
 */
async function activated(registration) {
    const worker = registration.active ?? registration.waiting ?? registration.installing;
    while (worker && !registration.active) {
        if (worker.state === "redundant") throw localError("CONFIGURATION_ERROR", "the service worker was not installed");
        await new Promise((resolve) => { worker.addEventListener("statechange", resolve, { once: true }); });
    }
}

/**
 * The key of the server to which a subscription belongs, as `applicationServerKey` is written.
 * @param {PushSubscription} subscription
 */
function keyOf({ options }) {
    const key = options?.applicationServerKey;
    if (!key) return undefined;
    return btoa(String.fromCharCode(...new Uint8Array(key))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * Subscribes. A registration has one subscription: one of the app's own stays, one of the library's to another server's
 * key gives way, and so does one to this key of which there is no note, because it may be another user's.
 * @param {ServiceWorkerRegistration} registration
 * @param {string} applicationServerKey
 * @returns {Promise<PushSubscription>}
 */
async function subscribed({ pushManager }, applicationServerKey) {
    const before = await pushManager.getSubscription();
    if (before) {
        const isNoted = Object.values(pushNotes()).some(({ endpoint }) => endpoint === before.endpoint);
        const hasKey = keyOf(before) === applicationServerKey;
        if (!isNoted && !hasKey) {
            const reason = "the service worker has a subscription of another sender: register one of its own scope for CloudKit JS";
            throw localError("CONFIGURATION_ERROR", reason);
        }
        if (!isNoted || !hasKey) await before.unsubscribe();
    }
    try {
        return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
    } catch (error) {
        throw localError("SERVICE_UNAVAILABLE", "the browser's push service takes no subscription", { cause: error });
    }
}

/**
 * Ends a subscription, and takes away what it has shown. One of the app's own stays. A browser may have given the
 * subscription another address since the note was made; its key is the same.
 * @param {PushNote} note
 */
async function unsubscribe({ worker, endpoint, key }) {
    const registration = await navigator.serviceWorker?.getRegistration(worker);
    if (!registration) return;
    for (const shown of await registration.getNotifications()) if (shown.data?.cloudKit) shown.close();
    const subscription = await registration.pushManager.getSubscription();
    if (subscription && (subscription.endpoint === endpoint || keyOf(subscription) === key)) await subscription.unsubscribe();
}
