/** The state of sync engines in IndexedDB: it survives reloads, and all tabs of an origin have it. */

import { uuid } from "../values.js";

/** @typedef {import("../../cloudkit").SyncStore} SyncStore */

/**
 * Waits for a request of IndexedDB.
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
});

/**
 * @param {string} prefix of the databases' names: one for each engine
 * @returns {SyncStore}
 */
export function indexedDBStore(prefix) {
    /** @type {Map<string, Promise<IDBDatabase>>} */
    const databases = new Map();
    const opened = (/** @type {string} */ name) => {
        const opening = indexedDB.open(`${prefix}.${name}`, 1);
        opening.onupgradeneeded = () => {
            // A database that the page has deleted counts its edits anew, which its generation tells.
            opening.result.createObjectStore("state").put(uuid(), 1);
            opening.result.createObjectStore("edits", { autoIncrement: true });
        };
        return done(opening).then((database) => {
            // The page may delete the database; the next use makes it again.
            database.onversionchange = () => { database.close(); databases.delete(name); };
            database.onclose = () => { databases.delete(name); };
            return database;
        });
    };
    /**
     * @template T
     * @param {string} name
     * @param {IDBTransactionMode} mode
     * @param {(state: IDBObjectStore, edits: IDBObjectStore) => T} work begins all requests of the transaction
     * @returns {Promise<T>} once the transaction is over
     */
    const transaction = async (name, mode, work) => {
        const opening = databases.get(name) ?? opened(name);
        databases.set(name, opening);
        opening.catch(() => databases.delete(name));
        const all = (await opening).transaction(["state", "edits"], mode);
        const over = new Promise((resolve, reject) => {
            all.oncomplete = resolve;
            all.onabort = () => reject(all.error);
        });
        const begun = work(all.objectStore("state"), all.objectStore("edits"));
        await over;
        return begun;
    };
    return {
        async load(name) {
            const [state, generation, numbers, texts] = await transaction(name, "readonly", (states, edits) => (
                [states.get(0), states.get(1), edits.getAllKeys(), edits.getAll()]));
            const known = numbers.result.map((number, index) => ({ number: Number(number), text: texts.result[index] }));
            return { state: state.result, generation: generation.result ?? "", edits: known };
        },
        async keep(name, state, last, generation) {
            await transaction(name, "readwrite", (states, edits) => {
                const known = states.get(1);
                known.onsuccess = () => {
                    states.put(state, 0);
                    if ((known.result ?? "") === generation) edits.delete(IDBKeyRange.upperBound(last));
                };
            });
        },
        async add(name, text) {
            await transaction(name, "readwrite", (_, edits) => { edits.add(text); });
        },
    };
}
