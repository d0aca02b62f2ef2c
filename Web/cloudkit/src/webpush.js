/** Web Push: notifications that the browser shows by a service worker, also while no page is open. */

import { CKError, invalid, localError } from "./error.js";

/** The page's service worker, unless the page names another one. */
const workerURL = "/cloudkit-worker.js";

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
        const { device } = this.#listening;
        const { applicationServerKey } = await this.#transport.askDevice("tokens/web-push", undefined, { signal });
        const registration = serviceWorker.pushManager ? serviceWorker : await workers.register(serviceWorker);
        await activated(registration);
        const subscription = await subscribed(registration, applicationServerKey);
        try {
            await this.#transport.askDevice("tokens/web-push", { clientId: device, subscription: subscription.toJSON() }, { signal });
            const { session } = this.#transport;
            if (session.notes.device !== device) throw new CKError({ ckErrorCode: "AUTHENTICATION_REQUIRED", reason: "the session has ended" });
            session.note({ worker: registration.scope });
        } catch (error) {
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
        const { session } = this.#transport;
        const { worker, device } = session.notes;
        this.stop();
        if (!worker) return;
        await unsubscribe(worker);
        session.note({ worker: undefined });
        await this.#transport.askDevice("tokens/web-push", { clientId: device, subscription: null }, { signal });
    }

    /** Hears the service worker no longer. */
    stop() {
        this.#hearing?.abort();
    }

    /**
     * Ends the subscription of a session that has ended, and takes away what it has shown.
     * @param {import("./session.js").Notes} notes
     */
    end({ worker }) {
        if (!worker) return;
        unsubscribe(worker).catch((error) => this.#transport.services.log("warn", `Web Push: ${error?.name}`));
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
 * @param {ServiceWorkerRegistration} registration
 * @param {string} applicationServerKey
 * @returns {Promise<PushSubscription>}
 */
async function subscribed({ pushManager }, applicationServerKey) {
    const options = { userVisibleOnly: true, applicationServerKey };
    try {
        return await pushManager.subscribe(options);
    } catch (error) {
        // A subscription to the key of another server stands in the way.
        const other = /** @type {any} */ (error)?.name === "InvalidStateError" && await pushManager.getSubscription();
        if (!other) throw localError("SERVICE_UNAVAILABLE", "the browser's push service takes no subscription", { cause: error });
        await other.unsubscribe();
        return pushManager.subscribe(options);
    }
}

/** @param {string} scope of the service worker */
async function unsubscribe(scope) {
    const registration = await navigator.serviceWorker?.getRegistration(scope);
    if (!registration) return;
    for (const shown of await registration.getNotifications()) if (shown.data?.cloudKit) shown.close();
    await (await registration.pushManager.getSubscription())?.unsubscribe();
}
