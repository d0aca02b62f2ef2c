/** The registration of a page for notifications. One tab of a session has the connection, and tells the others. */

import { Connection } from "./connection.js";

/** Milliseconds within which the tab that has the connection answers. A browser may have put it to sleep. */
const answerMilliseconds = 3000;

/** @param {string} device */
const nameOf = (device) => `cloudkit.notifications.${device}`;

/**
 * Tells all tabs of a session that it has ended.
 * @param {string} device
 */
export function tellEnd(device) {
    const channel = new BroadcastChannel(nameOf(device));
    channel.postMessage({ isOver: true });
    channel.close();
}

/**
 * One page's registration. Tabs say `{ payload }`, `{ isOver }`, and `{ asks }` to find the tab with the connection, which
 * answers `{ isHere, isKnown }`.
 */
export class Registration {
    #services;
    #device;
    #connection;
    #on;
    #ending = new AbortController();
    /** @type {(value?: undefined) => void} */
    #resolve = () => {};
    /** @type {(error: unknown) => void} */
    #reject = () => {};
    /** @type {BroadcastChannel | undefined} */
    #channel;
    /** @type {AbortController | undefined} of the lock that the tab has or waits for */
    #holding;
    /** @type {AbortController | undefined} of the question whether another tab has the connection */
    #asking;
    #hasConnection = false;
    /** Whether the server knows the device, which is told of changes from then on. */
    #isKnown = false;

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {string} apnsEnvironment
     * @param {string} device its name at the server
     * @param {{ tell: (payload: any) => void, end: (error?: unknown) => void }} on `end` says that the user is not
     *     signed in any more, or why the device could not be registered
     */
    constructor(transport, apnsEnvironment, device, on) {
        this.#services = transport.services;
        this.#device = device;
        this.#on = on;
        this.#connection = new Connection(transport, apnsEnvironment, device, (payload) => {
            this.#channel?.postMessage({ payload });
            on.tell(payload);
        });
        /** @type {Promise<undefined>} settled when the server knows the device, or it failed */
        this.ready = new Promise((resolve, reject) => {
            this.#resolve = resolve;
            this.#reject = reject;
        });
        this.ready.catch(() => {});
        this.#listen();
        if (transport.session.isShared) this.#join(); else this.#connect(this.#ending.signal);
    }

    /** @param {unknown} [error] */
    end(error) {
        this.#ending.abort();
        this.#holding?.abort();
        this.#asking?.abort();
        this.#channel?.close();
        this.#channel = undefined;
        this.#reject(error ?? this.#ending.signal.reason);
    }

    /** Goes on at once when the browser is back at a network, or its user at the page. */
    #listen() {
        const { signal } = this.#ending;
        const wake = () => { if (this.#hasConnection) this.#connection.wake(); else this.#ask(); };
        globalThis.addEventListener?.("online", wake, { signal });
        globalThis.document?.addEventListener?.("visibilitychange", () => { if (!document.hidden) wake(); }, { signal });
    }

    /**
     * Has the connection as long as the signal lets it.
     * @param {AbortSignal} signal
     */
    async #connect(signal) {
        this.#hasConnection = true;
        this.#asking?.abort();
        try {
            if (!this.#isKnown) await this.#connection.open(signal);
            this.#know();
            this.#channel?.postMessage({ isHere: true, isKnown: true });
            await this.#connection.follow(signal);
            if (!signal.aborted) this.#on.end();
        } catch (error) {
            if (!signal.aborted) this.#on.end(error);
        } finally {
            this.#hasConnection = false;
        }
    }

    #know() {
        this.#isKnown = true;
        this.#resolve();
    }

    // Tabs

    #join() {
        this.#channel = new BroadcastChannel(nameOf(this.#device));
        this.#channel.onmessage = ({ data }) => this.#hear(data);
        this.#hold();
        this.#ask();
    }

    /** @param {any} said */
    #hear(said) {
        if (said.payload) this.#on.tell(said.payload);
        if (said.isOver) this.#on.end();
        if (said.asks && this.#hasConnection) this.#channel?.postMessage({ isHere: true, isKnown: this.#isKnown });
        if (said.isHere) this.#asking?.abort();
        if (said.isKnown) this.#know();
    }

    /**
     * Waits for the lock, and has the connection as long as the tab has it. Waits again when another tab takes it.
     * @param {boolean} [steal] whether to take it from the tab that has it
     */
    async #hold(steal = false) {
        const before = this.#holding;
        const holding = this.#holding = new AbortController();
        const { signal } = holding;
        before?.abort();
        try {
            await navigator.locks.request(nameOf(this.#device), steal ? { steal } : { signal }, () => this.#connect(signal));
        } catch (error) {
            if (this.#ending.signal.aborted || this.#holding !== holding) return;
            holding.abort();
            if (/** @type {any} */ (error)?.name === "AbortError") this.#hold(); else this.#on.end(error);
        }
    }

    /** Asks for the tab that has the connection. If none answers, this one takes it. */
    async #ask() {
        if (!this.#channel || this.#hasConnection) return;
        this.#asking?.abort();
        const { signal } = this.#asking = new AbortController();
        this.#channel.postMessage({ asks: true });
        await this.#services.pause(answerMilliseconds, signal);
        if (!signal.aborted) this.#hold(true);
    }
}
