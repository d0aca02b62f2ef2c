/** The session of a user: the web auth token, its store, and the promises that wait for its beginning and end. */

import { localError } from "./error.js";

/** @typedef {{ getToken(id: string): unknown, putToken(id: string, token: string | null): unknown }} TokenStore */

/**
 * A token that lives as long as the page or program.
 * @returns {TokenStore}
 */
function memoryStore() {
    /** @type {string | null} */
    let kept = null;
    return { getToken: () => kept, putToken(id, token) { kept = token; } };
}

/**
 * A token in the browser's storage: of this tab, or with `persist` of all tabs and later visits.
 * @param {boolean} persist
 * @returns {TokenStore | undefined} nothing where the browser has no storage for this page
 */
function browserStore(persist) {
    if (typeof globalThis.document === "undefined") return undefined;
    try {
        // A browser that keeps nothing for the page throws here.
        const storage = persist ? globalThis.localStorage : globalThis.sessionStorage;
        if (!storage) return undefined;
        return {
            getToken: (id) => storage.getItem(storageKey(id)),
            putToken: (id, token) => { if (token) storage.setItem(storageKey(id), token); else storage.removeItem(storageKey(id)); },
        };
    } catch {
        return undefined;
    }
}

/**
 * The name of a token in the browser's storage.
 * @param {string} id
 */
export const storageKey = (id) => `cloudkit.token.${id}`;

/**
 * Promises that wait for a moment: each is told once.
 * @template T
 */
class Waiters {
    /** @type {{ resolve: (value: T) => void, reject: (error: unknown) => void }[]} */
    #waiting = [];

    /** @returns {Promise<T>} */
    next() {
        return new Promise((resolve, reject) => { this.#waiting.push({ resolve, reject }); });
    }

    /** @param {T} value */
    resolve(value) {
        for (const { resolve } of this.#waiting.splice(0)) resolve(value);
    }

    /** @param {unknown} error */
    reject(error) {
        for (const { reject } of this.#waiting.splice(0)) reject(error);
    }
}

export class Session {
    #store;
    #id;
    /** @type {Waiters<any>} */
    signIns = new Waiters();
    /** @type {Waiters<undefined>} */
    signOuts = new Waiters();
    /** Called when the session has ended. */
    onEnd = () => {};

    /**
     * @param {import("../cloudkit").ContainerConfig} container
     * @param {TokenStore} [authTokenStore]
     */
    constructor({ containerIdentifier, environment, apiTokenAuth }, authTokenStore) {
        // An app's own store knows containers alone; a browser's storage may hold tokens for both environments of one.
        this.#id = authTokenStore ? containerIdentifier : `${containerIdentifier}.${environment}`;
        this.#store = authTokenStore ?? browserStore(apiTokenAuth?.persist ?? false) ?? memoryStore();
    }

    /** The name of the token in the browser's storage. */
    get storageKey() {
        return storageKey(this.#id);
    }

    /** @returns {Promise<string | null>} the token that the next request sends */
    async token() {
        return /** @type {string | null} */ (await this.#store.getToken(this.#id)) || null;
    }

    /**
     * Keeps the token of a user who has signed in.
     * @param {string} token
     */
    async begin(token) {
        try {
            await this.#store.putToken(this.#id, token);
        } catch (cause) {
            throw localError("AUTH_PERSIST_ERROR", "the session could not be kept", { cause });
        }
    }

    /**
     * Takes the newer token of an answer. A token that was replaced or given up meanwhile has no successor: the answer
     * may be to another user's request.
     * @param {string} token
     * @param {string} sent the token of the request
     */
    async renew(token, sent) {
        if (token !== sent && await this.token() === sent) await this.begin(token);
    }

    /**
     * Gives the token up.
     * @param {string} [sent] the token that was refused; another one stays
     */
    async end(sent) {
        const token = await this.token();
        if (token === null || (sent !== undefined && token !== sent)) return;
        await this.#store.putToken(this.#id, null);
        this.signOuts.resolve(undefined);
        this.onEnd();
    }
}
