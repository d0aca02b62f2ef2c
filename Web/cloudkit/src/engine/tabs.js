/** The engines of an origin's tabs: one of them runs, and the others hand it what their apps ask for. */

import { CKError, localError } from "../error.js";
import { uuid } from "../values.js";
import { cancelled } from "./failures.js";

/** @typedef {{ method: "fetchChanges" | "sendChanges", options: any }} Call */

/** Milliseconds within which the tab that runs answers. A browser may have put it to sleep. */
const answerMilliseconds = 3000;

/** @typedef {{ call: Call, resolve: (value?: any) => void, reject: (error: unknown) => void }} Waiting */

/**
 * @param {any} fields of an error that another tab has sent
 * @returns {CKError}
 */
const errorOf = ({ errors, ...fields }) => new CKError({ ...fields, errors: errors?.map(errorOf) });

/** @param {unknown} error */
const fieldsOf = (error) => (
    JSON.parse(JSON.stringify(error instanceof CKError ? error : { ckErrorCode: "UNKNOWN_ERROR", reason: String(error) })));

const otherSession = () => localError(
    "CONFIGURATION_ERROR", "another tab has the sync engine's turn with a session of its own: sign in with persist to share it, or close that tab");

export class Tabs {
    #name;
    #locks;
    #channel;
    #stopped = new AbortController();
    #release = () => {};
    #services;
    /** The session of the tab: of the origin's tabs, or one that no other tab has. */
    #session;
    /** Whether this tab has the turn. */
    #hasTurn = false;
    /** @type {AbortController | undefined} of the wait for the turn */
    #waiting;
    /** @type {AbortController | undefined} of the question whether the tab that has the turn is awake */
    #asking;
    /** @type {(value?: undefined) => void} */
    #begun = () => {};
    /** Called when another tab has taken the turn from this one. */
    onLoss = () => {};
    /** @type {Map<string, Waiting>} calls of this tab */
    #calls = new Map();
    /** Called when another tab has written edits. */
    onEdits = () => {};
    /** @type {(call: Call) => Promise<void>} makes a call here */
    perform = () => Promise.resolve();
    isRunning = false;

    /**
     * @param {string} name of the engine
     * @param {import("../transport.js").Transport} transport
     * @param {LockManager} locks
     */
    constructor(name, { services, session }, locks) {
        this.#services = services;
        this.#session = session.isOfOrigin ? "origin" : uuid();
        this.#name = `cloudkit-sync.${name}`;
        this.#locks = locks;
        this.#channel = new BroadcastChannel(this.#name);
        this.#channel.onmessage = ({ data }) => this.#hear(data);
        // Node's: it keeps no process alive.
        /** @type {any} */ (this.#channel).unref?.();
        const look = () => { if (!document.hidden) this.#ask(); };
        globalThis.document?.addEventListener?.("visibilitychange", look, { signal: this.#stopped.signal });
    }

    /** Waits until no other tab's engine runs. Rejects when this one is stopped. */
    begin() {
        return new Promise((resolve, reject) => {
            this.#begun = resolve;
            this.#stopped.signal.addEventListener("abort", () => reject(cancelled()), { once: true });
            this.#hold().catch(reject);
        });
    }

    /**
     * Waits for the lock, and has the turn as long as the tab has it.
     * @param {boolean} [steal] whether to take it from the tab that has it
     */
    async #hold(steal = false) {
        this.#waiting?.abort();
        const { signal } = this.#waiting = new AbortController();
        try {
            await this.#locks.request(this.#name, steal ? { steal } : { signal }, () => {
                // The turn came twice: by waiting, and by taking it.
                if (signal.aborted || this.#stopped.signal.aborted) return undefined;
                this.#hasTurn = true;
                this.#asking?.abort();
                this.#begun();
                return new Promise((release) => { this.#release = () => release(undefined); });
            });
        } catch (error) {
            if (signal.aborted || this.#stopped.signal.aborted) return;
            if (!this.#hasTurn) throw error;
            this.#hasTurn = this.isRunning = false;
            this.onLoss();
        }
    }

    /** Asks whether the tab that has the turn is awake. If it does not answer, this one takes the turn. */
    async #ask() {
        if (this.#hasTurn || !this.#waiting || this.#stopped.signal.aborted) return;
        this.#asking?.abort();
        const { signal } = this.#asking = new AbortController();
        this.#channel.postMessage({ asks: true });
        await this.#services.pause(answerMilliseconds, signal);
        if (signal.aborted || this.#stopped.signal.aborted) return;
        this.#hold(true).catch((error) => this.#services.log("warn", `SyncEngine: ${error}`));
    }

    /**
     * Gives the turn to another tab, and refuses the calls that wait.
     * @param {unknown} error
     */
    leave(error) {
        this.#hasTurn = this.isRunning = false;
        this.#waiting = undefined;
        this.#release();
        this.#refuse(error);
    }

    /** @param {unknown} error */
    #refuse(error) {
        for (const { reject } of this.#calls.values()) reject(error);
        this.#calls.clear();
    }

    /** Notes that the engine of this tab has its state: calls that wait are made here, and those of other tabs too. */
    run() {
        this.isRunning = true;
        for (const [id, { call, resolve, reject }] of this.#calls) {
            this.#calls.delete(id);
            this.perform(call).then(resolve, reject);
        }
        this.#channel.postMessage({ runs: true });
    }

    stop() {
        this.#stopped.abort();
        this.#waiting?.abort();
        this.#asking?.abort();
        this.#release();
        this.#channel.close();
        this.#refuse(cancelled());
    }

    tellOfEdits() {
        if (this.#stopped.signal.aborted) return;
        this.#channel.postMessage({ edits: true });
        this.#ask();
    }

    /**
     * Has the engine that runs make a call.
     * @param {Call} call
     * @param {AbortSignal} [signal] ends the wait
     * @returns {Promise<void>}
     */
    ask(call, signal) {
        const id = uuid();
        return new Promise((resolve, reject) => {
            const give = () => { if (this.#calls.delete(id)) reject(signal?.reason); };
            if (signal?.aborted) return reject(signal.reason);
            signal?.addEventListener("abort", give, { once: true });
            this.#channel.postMessage({ id, call, session: this.#session });
            this.#calls.set(id, { call, resolve, reject });
            this.#ask();
        });
    }

    /** @param {any} message */
    #hear({ id, call, session, answer, error, edits, runs, asks, isHere }) {
        if (asks && this.#hasTurn) this.#channel.postMessage({ isHere: true });
        if (isHere) this.#asking?.abort();
        if (runs) for (const [asked, { call }] of this.#calls) this.#channel.postMessage({ id: asked, call, session: this.#session });
        if (edits && this.isRunning) this.onEdits();
        if (call && this.isRunning) {
            const tell = (/** @type {object} */ end) => { if (!this.#stopped.signal.aborted) this.#channel.postMessage({ answer: id, ...end }); };
            const asked = session === this.#session ? this.perform(call) : Promise.reject(otherSession());
            asked.then(() => tell({}), (thrown) => tell({ error: fieldsOf(thrown) }));
        }
        const waiting = this.#calls.get(answer);
        if (!waiting) return;
        this.#calls.delete(answer);
        if (error) waiting.reject(errorOf(error)); else waiting.resolve();
    }
}
