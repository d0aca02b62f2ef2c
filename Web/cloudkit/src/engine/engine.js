/** `CKSyncEngine` for the web: keeps an app's local records and a private or shared database in step. */

import { Database, transportOf } from "../database.js";
import { invalid } from "../error.js";
import { optionsOf } from "../transport.js";
import { batchOf } from "./batch.js";
import { Core } from "./core.js";
import { indexedDBStore } from "./store.js";

/** @type {(engine: SyncEngine) => Core} what runs in an engine */
export let coreOf;

export class SyncEngine {
    #core;
    #database;

    static {
        coreOf = (engine) => engine.#core;
    }

    /** @param {any} configuration */
    constructor(configuration) {
        const { database, delegate } = configuration ?? {};
        if (!(database instanceof Database)) throw invalid("the database of a sync engine is a database of a container");
        const isDelegate = ["handleEvent", "nextRecordZoneChangeBatch"].every((name) => typeof delegate?.[name] === "function");
        if (!isDelegate) throw invalid("the delegate of a sync engine has the methods handleEvent and nextRecordZoneChangeBatch");
        this.#database = database;
        this.#core = new Core(this, configuration);
    }

    get database() {
        return this.#database;
    }

    /** The pending changes, and what is known of the server's. */
    get state() {
        return this.#core.appState;
    }

    /** @param {any} [options] */
    fetchChanges(options) {
        return this.#perform("fetchChanges", options);
    }

    /** @param {any} [options] */
    sendChanges(options) {
        return this.#perform("sendChanges", options);
    }

    /** Ends the fetches and sends that run and that wait. Nothing pending is lost. */
    cancelOperations() {
        this.#core.cancel();
    }

    /** Ends the engine: it does nothing more, and another tab's may run. */
    stop() {
        return this.#core.stop();
    }

    /**
     * @param {"fetchChanges" | "sendChanges"} method
     * @param {any} options
     * @returns {Promise<void>}
     */
    #perform(method, options) {
        return transportOf(this.#database).services.promise(async () => this.#core.perform({ method, options: optionsOf(options) }));
    }

    /**
     * A batch of the first pending changes, as many as fit into one request.
     * @param {any} pendingChanges
     * @param {any} recordProvider the record as it is to be saved, or nothing
     */
    static async batch(pendingChanges, recordProvider) {
        if (!Array.isArray(pendingChanges) || typeof recordProvider !== "function") throw invalid("a batch is of pending changes and a function");
        return batchOf(pendingChanges, recordProvider);
    }

    /**
     * A store of states in IndexedDB.
     * @param {string} [name]
     */
    static indexedDBStore(name = "cloudkit-sync") {
        return indexedDBStore(name);
    }
}
