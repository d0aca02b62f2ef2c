/** The engines of an origin's tabs: one of them runs, and the others hand it what their apps ask for. */

import { CKError } from "../error.js";
import { uuid } from "../values.js";
import { cancelled } from "./failures.js";

/** @typedef {{ method: "fetchChanges" | "sendChanges", options: any }} Call */

/** @typedef {{ call: Call, resolve: (value?: any) => void, reject: (error: unknown) => void }} Waiting */

/**
 * @param {any} fields of an error that another tab has sent
 * @returns {CKError}
 */
const errorOf = ({ errors, ...fields }) => new CKError({ ...fields, errors: errors?.map(errorOf) });

/** @param {unknown} error */
const fieldsOf = (error) => (
    JSON.parse(JSON.stringify(error instanceof CKError ? error : { ckErrorCode: "UNKNOWN_ERROR", reason: String(error) })));

export class Tabs {
    #name;
    #locks;
    #channel;
    #stopped = new AbortController();
    #release = () => {};
    /** @type {Map<string, Waiting>} calls of this tab */
    #calls = new Map();
    /** Called when another tab has written edits. */
    onEdits = () => {};
    /** @type {(call: Call) => Promise<void>} makes a call here */
    perform = () => Promise.resolve();
    isRunning = false;

    /**
     * @param {string} name of the engine
     * @param {LockManager} locks
     */
    constructor(name, locks) {
        this.#name = `cloudkit-sync.${name}`;
        this.#locks = locks;
        this.#channel = new BroadcastChannel(this.#name);
        this.#channel.onmessage = ({ data }) => this.#hear(data);
        // Node's: it keeps no process alive.
        /** @type {any} */ (this.#channel).unref?.();
    }

    /** Waits until no other tab's engine runs. Rejects when this one is stopped. */
    begin() {
        return new Promise((resolve, reject) => {
            this.#locks.request(this.#name, { signal: this.#stopped.signal }, () => {
                resolve(undefined);
                return new Promise((release) => { this.#release = () => release(undefined); });
            }).catch(reject);
        });
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
        this.#release();
        this.#channel.close();
        for (const { reject } of this.#calls.values()) reject(cancelled());
        this.#calls.clear();
    }

    tellOfEdits() {
        if (!this.#stopped.signal.aborted) this.#channel.postMessage({ edits: true });
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
            this.#calls.set(id, { call, resolve, reject });
            this.#channel.postMessage({ id, call });
        });
    }

    /** @param {any} message */
    #hear({ id, call, answer, error, edits, runs }) {
        if (runs) for (const [asked, { call }] of this.#calls) this.#channel.postMessage({ id: asked, call });
        if (edits && this.isRunning) this.onEdits();
        if (call && this.isRunning) {
            const tell = (/** @type {object} */ end) => { if (!this.#stopped.signal.aborted) this.#channel.postMessage({ answer: id, ...end }); };
            this.perform(call).then(() => tell({}), (thrown) => tell({ error: fieldsOf(thrown) }));
        }
        const waiting = this.#calls.get(answer);
        if (!waiting) return;
        this.#calls.delete(answer);
        if (error) waiting.reject(errorOf(error)); else waiting.resolve();
    }
}
