/** The session of a user: the web auth token, its store, and the promises that wait for its beginning and end. */

import { localError } from "./error.js";
import { uuid } from "./values.js";

/** @typedef {{ getToken(id: string): unknown, putToken(id: string, token: string | null): unknown }} TokenStore */

/**
 * What is kept beside a token, and goes with it. `device` is the device's name at the server, `heard` the number of the
 * last event that it was told.
 * @typedef {{ device?: string, heard?: number }} Notes
 */

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
 * The browser's storage: of this tab, or with `persist` of all tabs and later visits.
 * @param {boolean} persist
 * @returns {Storage | undefined} nothing where the browser has no storage for this page
 */
export function browserStorage(persist) {
    if (typeof globalThis.document === "undefined") return undefined;
    try {
        // A browser that keeps nothing for the page throws here.
        return (persist ? globalThis.localStorage : globalThis.sessionStorage) ?? undefined;
    } catch {
        return undefined;
    }
}

/**
 * A token in the browser's storage.
 * @param {Storage} storage
 * @returns {TokenStore}
 */
const browserStore = (storage) => ({
    getToken: (id) => storage.getItem(storageKey(id)),
    putToken: (id, token) => { if (token) storage.setItem(storageKey(id), token); else storage.removeItem(storageKey(id)); },
});

/** A storage that lives as long as the page or program. */
class Memory {
    /** @type {Map<string, string>} */
    #values = new Map();

    /** @param {string} key */
    getItem(key) {
        return this.#values.get(key) ?? null;
    }

    /**
     * @param {string} key
     * @param {string} value
     */
    setItem(key, value) {
        this.#values.set(key, value);
    }

    /** @param {string} key */
    removeItem(key) {
        this.#values.delete(key);
    }
}

/** @type {WeakMap<TokenStore, Memory>} what stands beside the tokens of apps' own stores */
const besideStores = new WeakMap();

/** @param {TokenStore} store */
function besideStore(store) {
    const beside = besideStores.get(store) ?? new Memory();
    besideStores.set(store, beside);
    return beside;
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
    /** @type {Error | undefined} an error for the next promise */
    #kept;
    /** Called after those who wait are told. */
    onResolve = () => {};

    /** @returns {Promise<T>} */
    next() {
        const kept = this.#kept;
        this.#kept = undefined;
        if (kept) return Promise.reject(kept);
        return new Promise((resolve, reject) => { this.#waiting.push({ resolve, reject }); });
    }

    /** @param {T} value */
    resolve(value) {
        this.#kept = undefined;
        for (const { resolve } of this.#waiting.splice(0)) resolve(value);
        this.onResolve();
    }

    /** @param {unknown} error */
    reject(error) {
        for (const { reject } of this.#waiting.splice(0)) reject(error);
    }

    /**
     * Tells an error that has come before anybody could wait: the next promise has it, unless the moment comes first.
     * @param {Error} error
     */
    rejectNext(error) {
        if (this.#waiting.length > 0) this.reject(error); else this.#kept = error;
    }
}

export class Session {
    #store;
    #id;
    #isOfOrigin;
    /** @type {Promise<unknown>} the changes of the store that are under way */
    #changes = Promise.resolve();
    /** How many changes are under way. */
    #changing = 0;
    /** @type {Waiters<any>} */
    signIns = new Waiters();
    /** @type {Waiters<undefined>} */
    signOuts = new Waiters();
    /** @type {string | undefined} the user's record name, once the server has told it */
    user;
    /** @type {AbortController | undefined} */
    #over;
    #epoch = 0;
    /** @type {Memory | Storage} of the session's ID, which every tab of the session can read */
    #beside;
    /** @type {string | null} the ID of the session that the epoch counts */
    #sessionID;
    /** @type {Set<() => void>} called when a user has signed in or out, here or in another tab */
    observers = new Set();
    /** Called when the session has ended. */
    onEnd = () => {};
    /** Called before another session takes the place of one, and when another tab has ended it. */
    onReplace = () => {};
    /** @type {(notes: Notes) => void} called with what stood beside a token that this page gives up */
    onForget = () => {};
    /** @type {Storage | undefined} the storage of the notes; without it they are this page's */
    #storage;
    /** @type {Notes} */
    #notes = {};

    /**
     * @param {import("../cloudkit").ContainerConfig} container
     * @param {TokenStore} [authTokenStore]
     */
    constructor({ containerIdentifier, environment, apiTokenAuth }, authTokenStore) {
        // An app's own store knows containers alone; a browser's storage may hold tokens for both environments of one.
        this.#id = authTokenStore ? containerIdentifier : `${containerIdentifier}.${environment}`;
        const storage = authTokenStore ? undefined : browserStorage(apiTokenAuth?.persist ?? false);
        this.#isOfOrigin = authTokenStore !== undefined || (storage !== undefined && apiTokenAuth?.persist === true);
        this.#store = authTokenStore ?? (storage ? browserStore(storage) : memoryStore());
        this.#beside = authTokenStore ? besideStore(authTokenStore) : storage ?? new Memory();
        this.#sessionID = this.#beside.getItem(this.#sessionKey);
        this.signIns.onResolve = () => this.#observe();
        this.signOuts.onResolve = () => this.#observe();
        if (typeof globalThis.BroadcastChannel === "function" && globalThis.navigator?.locks) this.#storage = storage;
    }

    /** Aborted when the session ends or gives way to another one, here or in another tab; the next one has its own. */
    get over() {
        this.#over ??= new AbortController();
        return this.#over.signal;
    }

    /** Aborts what is for the session alone. */
    abort() {
        this.#over?.abort(localError("AUTHENTICATION_REQUIRED", "the session has ended, or another user's has begun"));
        this.#over = undefined;
    }

    /** Whether all tabs of the origin have this session. Of an app's own store the app says so by using it. */
    get isOfOrigin() {
        return this.#isOfOrigin;
    }

    /** Whether other tabs may have the session too, and can hear of each other. */
    get isShared() {
        return this.#storage !== undefined;
    }

    get #sessionKey() {
        return `cloudkit.session.${this.#id}`;
    }

    /** Counts the sessions that this page has seen: their beginnings and ends, here and in other tabs. */
    get epoch() {
        const id = this.#beside.getItem(this.#sessionKey);
        if (id !== this.#sessionID) {
            this.#sessionID = id;
            this.#epoch += 1;
        }
        return this.#epoch;
    }

    /**
     * The session that a call which begins now belongs to.
     * @returns {number | Promise<number>} its epoch; a promise while a session begins or ends
     */
    get current() {
        return this.#changing === 0 ? this.epoch : this.#changes.then(() => this.epoch);
    }

    get #leftKey() {
        return `cloudkit.left.${this.#id}`;
    }

    /** Whether the user has signed out, here or in another tab. A session that ended otherwise is still the user's to go on with. */
    get isLeft() {
        return this.#beside.getItem(this.#leftKey) !== null;
    }

    /** @param {boolean} isLeft */
    #leave(isLeft) {
        try {
            if (isLeft) this.#beside.setItem(this.#leftKey, "1"); else this.#beside.removeItem(this.#leftKey);
        } catch {
            this.#beside = new Memory();
            this.#beside.setItem(this.#leftKey, "1");
        }
    }

    /**
     * Counts a session, before its token is kept or given up: so no tab sends one session's token for another one.
     * @param {string | null} id
     */
    #count(id) {
        this.#sessionID = id;
        this.#epoch += 1;
        try {
            if (id) this.#beside.setItem(this.#sessionKey, id); else this.#beside.removeItem(this.#sessionKey);
        } catch {
            // A full storage leaves this page to itself.
            this.#beside = new Memory();
            this.#sessionID = null;
        }
    }

    get #notesKey() {
        return `cloudkit.device.${this.#id}`;
    }

    /** @returns {Notes} */
    get notes() {
        try {
            return this.#storage ? JSON.parse(this.#storage.getItem(this.#notesKey) ?? "{}") : this.#notes;
        } catch {
            return {};
        }
    }

    /**
     * Adds to the notes.
     * @param {Notes} more
     */
    note(more) {
        this.#notes = { ...this.notes, ...more };
        try {
            this.#storage?.setItem(this.#notesKey, JSON.stringify(this.#notes));
        } catch {
            // A full storage leaves this page to itself.
            this.#storage = undefined;
        }
    }

    /**
     * The name of the device at the server: one for the tabs of a session, or for this page. It is made under a lock,
     * because two tabs may ask for it at the same moment.
     * @returns {Promise<string>}
     */
    async device() {
        const make = () => {
            const device = this.notes.device ?? uuid();
            this.note({ device });
            return device;
        };
        return this.notes.device ?? (this.isShared ? await globalThis.navigator.locks.request(this.#notesKey, {}, make) : make());
    }

    /** Forgets what stood beside a token that was given up. */
    #forget() {
        const { notes } = this;
        this.#notes = {};
        this.#storage?.removeItem(this.#notesKey);
        this.onForget(notes);
    }

    /** The name of the token in the browser's storage. */
    get storageKey() {
        return storageKey(this.#id);
    }

    /** @returns {Promise<string | null>} the token that the next request sends */
    async token() {
        await this.#changes;
        return this.#kept();
    }

    #observe() {
        for (const observer of [...this.observers]) observer();
    }

    async #kept() {
        return /** @type {string | null} */ (await this.#store.getToken(this.#id)) || null;
    }

    /** @param {string | null} token */
    async #keep(token) {
        try {
            await this.#store.putToken(this.#id, token);
        } catch (cause) {
            throw localError("AUTH_PERSIST_ERROR", "the session could not be kept", { cause });
        }
    }

    /**
     * Makes a change of the store after those before, so that it sees the token that they have left.
     * @param {() => Promise<void>} work
     */
    #change(work) {
        this.#changing += 1;
        const change = this.#changes.then(work).finally(() => { this.#changing -= 1; });
        this.#changes = change.catch(() => {});
        return change;
    }

    /**
     * Keeps the token of a user who has signed in. Another session's token goes first: so other tabs tell a new session
     * from a newer token of the same one.
     * @param {string} token
     * @returns {Promise<string | null>} the token in whose place it came
     */
    async begin(token) {
        /** @type {string | null} */
        let before = null;
        await this.#change(async () => {
            before = await this.#kept();
            if (before !== null && before !== token) {
                await this.#keep(null);
                this.#forget();
                this.onReplace();
            }
            if (before !== token) this.#count(uuid());
            this.#leave(false);
            await this.#keep(token);
        });
        return before;
    }

    /**
     * Takes the newer token of an answer. A token that was replaced or given up meanwhile has no successor: the answer
     * may be to another user's request.
     * @param {string} token
     * @param {string} sent the token of the request
     */
    renew(token, sent) {
        return this.#change(async () => {
            if (token !== sent && await this.#kept() === sent) await this.#keep(token);
        });
    }

    /**
     * Gives the token up.
     * @param {string} [sent] the token that was refused; another one stays. Without it the user signs out.
     */
    end(sent) {
        return this.#change(async () => {
            const token = await this.#kept();
            if (sent === undefined) this.#leave(true);
            if (token === null && sent === undefined) this.#observe();
            if (token === null || (sent !== undefined && token !== sent)) return;
            this.#count(null);
            await this.#store.putToken(this.#id, null);
            this.#forget();
            this.signOuts.resolve(undefined);
            this.onEnd();
        });
    }
}
