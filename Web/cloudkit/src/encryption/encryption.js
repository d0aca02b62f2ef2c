/** Encrypted values, a module of its own: `services.encryption` of a configuration. */

import { Fault } from "./bytes.js";
import { Exchange } from "./exchange.js";
import { errorOf } from "./faults.js";
import { openFile } from "./files.js";
import { AccountKeys } from "./keys.js";
import { notHere, RecordRequests } from "./requests.js";
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
     * @param {import("./requests.js").Options} options
     */
    ask(scope, endpoint, body, send, options) {
        return this.#guarded(() => this.#requests.ask(scope, endpoint, body, send, options));
    }

    /**
     * Whether records of a database are sealed.
     * @param {string} scope the database's
     * @returns {scope is import("./requests.js").Scope}
     */
    seals(scope) {
        return scope === "PRIVATE" || scope === "SHARED";
    }

    /**
     * What seals the files of records, or nothing where they stay plain.
     * @param {string} scope the database's
     * @param {any} zoneID
     * @param {any[]} records
     * @param {any[]} withFiles those that have files
     * @param {import("../transport.js").Cancelling} options
     * @returns {Promise<((blob: Blob) => import("../files.js").Source) | undefined>}
     */
    async sealer(scope, zoneID, records, withFiles, options) {
        return this.seals(scope) ? this.#guarded(() => this.#requests.sealer(scope, zoneID, records, withFiles, options)) : undefined;
    }

    /**
     * Has a file fetched, and opens it.
     * @param {string} scope the database's
     * @param {any} zoneID
     * @param {import("../transport.js").Cancelling} options
     * @param {(open: (asset: any, bytes: AsyncIterable<Uint8Array>) => Promise<Blob>) => Promise<Blob>} fetch
     */
    openFile(scope, zoneID, options, fetch) {
        return this.#guarded(async () => {
            if (!this.seals(scope)) throw notHere();
            const keys = await this.#requests.keysOfFile(scope, zoneID, options);
            return fetch((asset, bytes) => openFile(keys, asset, bytes));
        });
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
            throw errorOf(error, this.#core);
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
