/** Where a device keeps its keys: the browser's database, a store of the app's, or the memory. */

import { Fault, hex, unhex } from "./bytes.js";
import { keysOf, secretsOf } from "./crypto.js";

/** @typedef {import("./account.js").Kept} Kept */
/**
 * A store of what is kept, by the account's name. `extractable` says whether the device's private keys must be such
 * that a script can read them.
 * @typedef {{
 *     extractable: boolean, get(name: string): Promise<Kept | undefined>, put(name: string, kept: Kept): Promise<void>,
 * }} KeyStore
 */

/** @param {unknown} cause */
const notKept = (cause) => new Fault("the keys of this device could not be kept", "AUTH_PERSIST_ERROR", cause);

/** @returns {KeyStore} */
function memoryStore() {
    /** @type {Map<string, Kept>} */
    const all = new Map();
    return { extractable: false, async get(name) { return all.get(name); }, async put(name, kept) { all.set(name, kept); } };
}

/**
 * A store of the app's, which is given texts.
 * @param {import("../../cloudkit").KeyStore} given
 * @returns {KeyStore}
 */
function textStore(given) {
    return {
        extractable: true,
        async get(name) {
            const text = await given.getKeys(name);
            if (!text) return undefined;
            const { device, ...kept } = JSON.parse(text);
            const secrets = device && unhex(device);
            return { ...kept, ...device && { device: await keysOf(secrets.slice(0, 32), secrets.slice(32)) } };
        },
        async put(name, { device, ...kept }) {
            await given.putKeys(name, JSON.stringify({ ...kept, ...device && { device: hex(await secretsOf(device)) } }));
        },
    };
}

/**
 * The browser's database of this origin. It keeps private keys that no script can read.
 * @returns {KeyStore}
 */
function browserStore() {
    /** @type {Promise<IDBDatabase> | undefined} */
    let opening;
    const opened = () => (opening ??= new Promise((resolve, reject) => {
        const request = indexedDB.open("cloudkit.keys", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("keys");
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => {
            opening = undefined;
            reject(request.error);
        };
    }));
    /**
     * @param {IDBTransactionMode} mode
     * @param {(keys: IDBObjectStore) => IDBRequest} work
     * @returns {Promise<any>}
     */
    const transact = async (mode, work) => {
        const database = await opened();
        return new Promise((resolve, reject) => {
            const transaction = database.transaction("keys", mode);
            const request = work(transaction.objectStore("keys"));
            transaction.oncomplete = () => resolve(request.result);
            transaction.onabort = () => reject(transaction.error);
        });
    };
    return {
        extractable: false,
        get: (name) => transact("readonly", (keys) => keys.get(name)),
        put: (name, kept) => transact("readwrite", (keys) => keys.put(kept, name)),
    };
}

/** The store with one change after the other, in all tabs of the origin. */
export class Keys {
    #store;
    #changes = Promise.resolve();

    /** @param {import("../../cloudkit").KeyStore} [given] */
    constructor(given) {
        this.#store = given ? textStore(given) : typeof globalThis.indexedDB === "undefined" ? memoryStore() : browserStore();
    }

    get extractable() {
        return this.#store.extractable;
    }

    /**
     * @param {string} name
     * @returns {Promise<Kept>}
     */
    async read(name) {
        try {
            return await this.#store.get(name) ?? { scopes: {} };
        } catch (cause) {
            throw notKept(cause);
        }
    }

    /**
     * Changes what is kept. Nothing is, if the change throws.
     * @template T
     * @param {string} name
     * @param {(kept: Kept) => Promise<T> | T} change
     * @returns {Promise<T>}
     */
    update(name, change) {
        const work = async () => {
            const before = await this.read(name);
            const kept = { ...before, scopes: { ...before.scopes } };
            const value = await change(kept);
            try {
                if (JSON.stringify(kept) !== JSON.stringify(before)) await this.#store.put(name, kept);
            } catch (cause) {
                throw notKept(cause);
            }
            return value;
        };
        const locks = globalThis.navigator?.locks;
        const locked = async () => (locks ? locks.request(`cloudkit.keys ${name}`, work) : work());
        const done = this.#changes.then(locked);
        this.#changes = done.then(() => {}, () => {});
        return done;
    }
}
