/** Encrypted values, a module of its own: `services.encryption` of a configuration. */

import { Fault } from "./bytes.js";
import { Exchange } from "./exchange.js";
import { AccountKeys } from "./keys.js";
import { RecordRequests } from "./requests.js";
import { Keys } from "./store.js";

/**
 * The parts of the library that the module uses, so that it brings no second copy of them.
 * @typedef {{
 *     CKError: typeof import("../error.js").CKError, optionsOf: typeof import("../transport.js").optionsOf,
 * }} Core
 */

class Encryption {
    #core;
    #exchange;
    #requests;

    /**
     * @param {import("../transport.js").Transport} transport
     * @param {Core} core
     */
    constructor(transport, core) {
        this.#core = core;
        this.#exchange = new Exchange(transport, new Keys(transport.services.keyStore));
        this.#requests = new RecordRequests(this.#exchange, core);
        this.keys = new AccountKeys(this.#exchange, (options, work) => (
            transport.services.promise(() => this.#guarded(async () => work(core.optionsOf(options))))));
    }

    /**
     * Sends a request of a database: seals what it saves, and opens what is answered.
     * @param {string} scope the database's
     * @param {string} endpoint
     * @param {any} body
     * @param {(body: any) => Promise<any>} send
     * @param {import("../transport.js").Cancelling} options
     */
    ask(scope, endpoint, body, send, options) {
        return this.#guarded(() => this.#requests.ask(scope, endpoint, body, send, options));
    }

    /** Forgets what belongs to the user of a session that has ended. */
    forget() {
        this.#exchange.forget();
        this.#requests.forget();
    }

    /**
     * Makes errors of the library of what is refused.
     * @template T
     * @param {() => Promise<T>} work
     */
    async #guarded(work) {
        try {
            return await work();
        } catch (error) {
            if (!(error instanceof Fault)) throw error;
            const { recordName } = /** @type {any} */ (error);
            throw new this.#core.CKError({ ckErrorCode: error.code, reason: error.message, recordName }, error.cause);
        }
    }
}

/**
 * Opens and seals the encrypted values of a container's records.
 * @param {import("../transport.js").Transport} transport
 * @param {Core} core
 */
export const encryption = (transport, core) => new Encryption(transport, core);
export default encryption;
