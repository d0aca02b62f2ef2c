/** The conversation of a device with the server about the keys of the account that is signed in, and of other users. */

import { accountHasNone, checkEnrolled, takeAccount, takeOther, toBegin } from "./account.js";
import { base64, entry, Fault, unbase64 } from "./bytes.js";
import { refusedTree, sizeOf, takeTree } from "./tree.js";

/** @typedef {import("./account.js").OwnKeys} OwnKeys */
/** @typedef {import("../transport.js").Cancelling} Cancelling */
/** @typedef {{ statement: Uint8Array, wraps: Uint8Array[], olderKey?: Uint8Array }} Request */
/**
 * What this page knows of one account. `asked` is the time at which the account was asked for, `waiting` has the user's
 * own zones in which somebody is to take part who has no keys yet.
 * @typedef {{
 *     account: import("./log.js").Account, name: string, own?: OwnKeys, asked: number,
 *     zones: Map<string, import("./scope.js").ZoneKeys>, waiting: Set<string>,
 * }} Opened
 */

/** The most statements that are taken from a server. */
const statementsMax = 10_000;
/** Times that a request is made anew because other devices were quicker. */
const triesMax = 4;
/** The words of the server for a request that names a larger tree of logs than it has. */
const treeIsSmaller = "the tree of logs is smaller than the one that this client has seen";

export const busy = () => new Fault("other devices are changing the keys: try again", "SERVICE_UNAVAILABLE");

/**
 * Does what is done anew while other devices are quicker.
 * @template T
 * @param {(tries: number) => Promise<T | undefined>} work returns nothing if another device was quicker
 * @returns {Promise<T>}
 */
export async function retried(work) {
    for (let tries = 0; tries < triesMax; tries += 1) {
        const result = await work(tries);
        if (result !== undefined) return result;
    }
    throw busy();
}

/** @param {unknown} list */
export const bytesOf = (list) => (Array.isArray(list) ? list : []).map((text) => unbase64(text, "a form of the server"));

/** @param {Promise<any>} change */
export async function unlessConflict(change) {
    try {
        await change;
        return true;
    } catch (error) {
        if (/** @type {any} */ (error)?.ckErrorCode !== "CONFLICT") throw error;
        return false;
    }
}

export class AccountExchange {
    #transport;
    #store;
    /** @type {Promise<Opened> | undefined} */
    #opened;

    /**
     * @param {import("../transport.js").Transport} transport
     * @param {import("./store.js").Keys} store
     */
    constructor(transport, store) {
        this.#transport = transport;
        this.#store = store;
    }

    get store() {
        return this.#store;
    }

    get services() {
        return this.#transport.services;
    }

    /** Forgets all that was opened: another user may sign in. */
    forget() {
        this.#opened = undefined;
    }

    /** What was opened of the account; nothing before the first question. */
    get known() {
        return this.#opened;
    }

    /**
     * The user who is signed in, and what is known of the account.
     * @param {Cancelling} options
     * @returns {Promise<Opened>}
     */
    opened(options) {
        if (this.#opened) return this.#opened;
        const opening = this.#transport.ask("PUBLIC", "users/caller", undefined, options).then((answer) => {
            const { userRecordName: user } = answer.users?.[0] ?? answer;
            if (typeof user !== "string" || user === "") throw new Fault("the server tells no user");
            const { config: { containerIdentifier: container, environment }, serverURL } = this.#transport;
            const name = JSON.stringify([serverURL, container, environment, user]);
            return { account: { container, environment, user }, name, asked: 0, zones: new Map(), waiting: new Set() };
        });
        this.#opened = opening;
        opening.catch(() => { if (this.#opened === opening) this.#opened = undefined; });
        return opening;
    }

    /**
     * @param {string} endpoint
     * @param {object | undefined} body
     * @param {Cancelling} options
     * @param {"PRIVATE" | "SHARED"} [scope] the database's
     */
    ask(endpoint, body, options, scope = "PRIVATE") {
        return this.#transport.ask(scope, endpoint, body, options);
    }

    /**
     * Asks the server and takes its answer. Does both again if the answer is refused while another tab has kept
     * something newer: an answer from before cannot extend it, and the server has done nothing wrong.
     * @template T
     * @param {(kept: import("./account.js").Kept) => unknown} seen what is kept, which the answer must extend
     * @param {Cancelling} options
     * @param {() => Promise<T>} ask
     * @returns {Promise<T>}
     */
    async untilCurrent(seen, options, ask) {
        const { name } = await this.opened(options);
        const now = async () => JSON.stringify(seen(await this.#store.read(name)));
        for (let tries = 0; tries < triesMax; tries += 1) {
            const before = await now();
            try {
                return await ask();
            } catch (error) {
                if (!(error instanceof Fault) || error.code !== "ENCRYPTION_REFUSED" || before === await now()) throw error;
            }
        }
        throw busy();
    }

    /**
     * What the device keeps of the account.
     * @param {Cancelling} options
     */
    async kept(options) {
        return this.#store.read((await this.opened(options)).name);
    }

    /**
     * Changes what the device keeps of the account.
     * @param {Cancelling} options
     * @param {(kept: import("./account.js").Kept) => void} change
     */
    async change(options, change) {
        await this.#store.update((await this.opened(options)).name, change);
    }

    // The account

    /**
     * The statements and keys that the server shows, once the log is in a tree of logs that this device takes.
     * @param {Cancelling} options
     * @param {string} [user] another one; without it the caller
     * @returns {Promise<import("./account.js").ShownAccount>}
     */
    async shownAccount(options, user) {
        const { name, account } = await this.opened(options);
        return retried(async () => {
            const { tree: seen } = await this.#store.read(name);
            const { shown, tree } = await this.#pages(options, user, seen);
            const verdict = await this.#store.update(name, (kept) => takeTree(kept, tree, shown.statements, account, seen));
            if (verdict instanceof Fault) throw verdict;
            return verdict === "taken" ? shown : undefined;
        });
    }

    /**
     * @param {Cancelling} options
     * @param {string} [user]
     * @param {import("./tree.js").SeenTree} [seen] the tree that the one of the last page is to extend, by a proof
     */
    async #pages(options, user, seen) {
        /** @type {Uint8Array[]} */
        const statements = [];
        while (true) {
            const body = { user, after: statements.length > 0 ? statements.length - 1 : undefined, treeSize: seen && sizeOf(seen) };
            const page = await this.ask("keys/log", body, options).catch((error) => {
                if (error?.reason !== treeIsSmaller) throw error;
                throw refusedTree("the server's tree of logs is smaller than the one that this device has seen");
            });
            const more = bytesOf(page.statements);
            statements.push(...more);
            if (statements.length > statementsMax || (page.moreComing && more.length === 0)) throw new Fault("the server's log of keys has no end");
            if (page.moreComing) continue;
            return { shown: { statements, wraps: bytesOf(page.wraps), olderKeys: bytesOf(page.olderKeys) }, tree: page.tree };
        }
    }

    /**
     * The account as the server shows it now, verified.
     * @param {Cancelling} options
     */
    accountState(options) {
        return this.untilCurrent(({ own }) => own, options, async () => {
            const opened = await this.opened(options);
            const shown = await this.shownAccount(options);
            const state = await this.#store.update(opened.name, (kept) => takeAccount(kept, shown, opened.account));
            opened.own = state.state === "here" ? state.own : undefined;
            opened.asked = this.services.now();
            if (state.state === "elsewhere" || state.state === "removed") opened.zones.clear();
            return state;
        });
    }

    /**
     * The verified logs of another user's account, the newest last; none if it has no keys.
     * @param {string} user
     * @param {Cancelling} options
     * @param {boolean} isNamed whether the page, or a verified manifest, has named the user. Only then a first look is
     *     kept.
     */
    logsOf(user, options, isNamed) {
        return this.untilCurrent(({ accounts = {} }) => entry(accounts, user), options, async () => {
            const { account, name } = await this.opened(options);
            const { statements } = await this.shownAccount(options, user);
            return this.#store.update(name, (kept) => takeOther(kept, statements, { ...account, user }, isNamed));
        });
    }

    /**
     * Takes the tree of logs that the server shows now in the place of the one that this device has seen, and forgets
     * what it has seen of logs and zones' keys: they may all be older now. Nothing is forgotten if that does not verify.
     * @param {Cancelling} options
     */
    async trustTree(options) {
        const { name, account } = await this.opened(options);
        const { shown, tree } = await this.#pages(options);
        await this.#store.update(name, async (kept) => {
            kept.scopes = {};
            for (const seen of /** @type {const} */ (["tree", "own", "sharedScopes", "accounts"])) delete kept[seen];
            const verdict = await takeTree(kept, tree, shown.statements, account, undefined);
            if (verdict instanceof Fault) throw verdict;
            await takeAccount(kept, shown, account);
        });
        this.forget();
    }

    /**
     * The account's keys, if this device has them.
     * @param {Cancelling} options
     */
    async own(options) {
        const state = await this.accountState(options);
        if (state.state === "here") return state.own;
        checkEnrolled(state);
        throw accountHasNone();
    }

    /**
     * The account's keys. Begins the account on its first device.
     * @param {Cancelling} options
     */
    async ownForSaving(options) {
        const { name, account } = await this.opened(options);
        return retried(async () => {
            const state = await this.accountState(options);
            if (state.state === "here") return state.own;
            checkEnrolled(state);
            const ended = state.state === "ended" ? state.log : undefined;
            // The keys are kept before the server has the statement: a device that the server knows is never lost.
            await this.append(await this.#store.update(name, (kept) => toBegin(kept, account, this.#store.extractable, ended)), options);
            return undefined;
        });
    }

    /**
     * Adds a statement to the account's log.
     * @param {Request} request
     * @param {Cancelling} options
     * @returns {Promise<boolean>} false if another device was quicker
     */
    append({ statement, wraps, olderKey }, options) {
        const body = { statement: base64(statement), wraps: wraps.map(base64), olderKey: olderKey && base64(olderKey) };
        return unlessConflict(this.ask("keys/append", body, options));
    }

    // Enrolments

    /**
     * @param {Uint8Array} message
     * @param {Cancelling} options
     * @returns {Promise<boolean>} false if the conversation has another message in its place
     */
    post(message, options) {
        return unlessConflict(this.ask("keys/enrolment/post", { message: base64(message) }, options));
    }

    /**
     * @param {Cancelling} options
     * @returns {Promise<{ commitment: string, answer?: string, opening?: string }[]>}
     */
    async enrolments(options) {
        return (await this.ask("keys/enrolment/list", {}, options)).conversations ?? [];
    }
}
