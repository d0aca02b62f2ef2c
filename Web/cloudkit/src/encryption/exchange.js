/** The conversation of a device with the server about the keys of the account that is signed in. */

import { accountHasNone, hasNoKeys, seeScope, takeAccount, toBegin } from "./account.js";
import { base64, Fault, unbase64 } from "./bytes.js";
import { placeOf, readLogs } from "./log.js";
import { nextScopeKey, readChain, readScopeManifest, ZoneKeys } from "./scope.js";

/** @typedef {import("./account.js").OwnKeys} OwnKeys */
/** @typedef {import("../transport.js").Cancelling} Cancelling */
/** @typedef {{ statement: Uint8Array, wraps: Uint8Array[], olderKey?: Uint8Array }} Request */
/**
 * What this page knows of one account. `asked` is the time at which the account was asked for.
 * @typedef {{
 *     account: import("./log.js").Account, name: string, own?: OwnKeys, asked: number, zones: Map<string, ZoneKeys>,
 * }} Opened
 */

/** The most statements, and the most manifests of a scope, that are taken from a server. */
const [statementsMax, manifestsMax] = [10_000, 1000];
/** Times that a request is made anew because other devices were quicker. */
export const triesMax = 4;
/** Milliseconds for which the account is taken as it was. A removed device may read what is saved meanwhile. */
const accountMilliseconds = 60_000;
const zonesMax = 1000;

export const busy = () => new Fault("other devices are changing the keys: try again", "SERVICE_UNAVAILABLE");

/** @param {unknown} list */
const bytesOf = (list) => (Array.isArray(list) ? list : []).map((text) => unbase64(text, "a form of the server"));

/** @param {Promise<any>} change */
async function unlessConflict(change) {
    try {
        await change;
        return true;
    } catch (error) {
        if (/** @type {any} */ (error)?.ckErrorCode !== "CONFLICT") throw error;
        return false;
    }
}

export class Exchange {
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

    /**
     * Has the keys of a zone asked for again.
     * @param {string} zone
     */
    async forgetZone(zone) {
        const opened = await this.#opened;
        if (!opened) return;
        opened.zones.delete(zone);
        opened.own = undefined;
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
            return { account: { container, environment, user }, name, asked: 0, zones: new Map() };
        });
        this.#opened = opening;
        opening.catch(() => { if (this.#opened === opening) this.#opened = undefined; });
        return opening;
    }

    /**
     * @param {string} endpoint
     * @param {object} body
     * @param {Cancelling} options
     */
    ask(endpoint, body, options) {
        return this.#transport.ask("PRIVATE", endpoint, body, options);
    }

    // The account

    /**
     * The statements and keys that the server shows.
     * @param {Cancelling} options
     * @param {string} [user] another one; without it the caller
     */
    async shownAccount(options, user) {
        /** @type {Uint8Array[]} */
        const statements = [];
        while (true) {
            const page = await this.ask("keys/log", { user, after: statements.length > 0 ? statements.length - 1 : undefined }, options);
            const more = bytesOf(page.statements);
            statements.push(...more);
            if (statements.length > statementsMax || (page.moreComing && more.length === 0)) throw new Fault("the server's log of keys has no end");
            if (!page.moreComing) return { statements, wraps: bytesOf(page.wraps), olderKeys: bytesOf(page.olderKeys) };
        }
    }

    /**
     * The account as the server shows it now, verified.
     * @param {Cancelling} options
     */
    async accountState(options) {
        const opened = await this.opened(options);
        const shown = await this.shownAccount(options);
        const state = await this.#store.update(opened.name, (kept) => takeAccount(kept, shown, opened.account));
        opened.own = state.state === "here" ? state.own : undefined;
        opened.asked = this.services.now();
        if (state.state === "elsewhere" || state.state === "removed") opened.zones.clear();
        return state;
    }

    /**
     * The newest log of another user, as the server shows it.
     * @param {string} user
     * @param {Cancelling} options
     */
    async logOf(user, options) {
        const { account } = await this.opened(options);
        const logs = await readLogs((await this.shownAccount(options, user)).statements, { ...account, user });
        return logs[logs.length - 1];
    }

    /**
     * The account's keys, if this device has them.
     * @param {Cancelling} options
     */
    async own(options) {
        const state = await this.accountState(options);
        if (state.state === "here") return state.own;
        if (state.state === "none" || state.state === "ended") throw accountHasNone();
        throw hasNoKeys(state.state === "removed");
    }

    /**
     * The account's keys. Begins the account on its first device.
     * @param {Cancelling} options
     */
    async ownForSaving(options) {
        const { name, account } = await this.opened(options);
        for (let tries = 0; tries < triesMax; tries += 1) {
            const state = await this.accountState(options);
            if (state.state === "here") return state.own;
            if (state.state === "elsewhere" || state.state === "removed") throw hasNoKeys(state.state === "removed");
            const ended = state.state === "ended" ? state.log : undefined;
            // The keys are kept before the server has the statement: a device that the server knows is never lost.
            await this.append(await this.#store.update(name, (kept) => toBegin(kept, account, this.#store.extractable, ended)), options);
        }
        throw busy();
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

    // Zones

    /**
     * The keys of a zone for opening values; nothing if the zone has none.
     * @param {string} zone
     * @param {Cancelling} options
     */
    async zoneKeys(zone, options) {
        const opened = await this.opened(options);
        const known = opened.zones.get(zone);
        if (known) return known;
        const shown = await this.#scope(zone, options);
        if (shown) return (await this.#open(shown, zone, opened, options)).keys;
        const seen = async () => Object.hasOwn((await this.#store.read(opened.name)).scopes, zone);
        if (!await seen()) return undefined;
        const state = await this.accountState(options);
        if (state.state === "ended") return undefined;
        if (state.state === "elsewhere" || state.state === "removed") throw hasNoKeys(state.state === "removed");
        // A log that follows a reset has this device forget the scopes before it.
        if (!await seen()) return undefined;
        throw new Fault(`the server shows no keys of zone '${zone}', and this device has seen some`);
    }

    /**
     * The keys of a zone for sealing values. Makes what is missing: the account's log on its first device, the zone's
     * first key, and its next one after a device was removed.
     * @param {string} zone
     * @param {Cancelling} options
     */
    async zoneKeysForSaving(zone, options) {
        const opened = await this.opened(options);
        // Another device may have removed one since, and that one has the zone's key.
        if (opened.own && this.services.now() - opened.asked >= accountMilliseconds) await this.accountState(options);
        const known = opened.zones.get(zone);
        if (known && opened.own && !known.mustRenew(opened.own.log)) return known;
        const place = placeOf(opened.account, zone);
        for (let tries = 0; tries < triesMax; tries += 1) {
            const shown = await this.#scope(zone, options);
            const open = shown && await this.#open(shown, zone, opened, options);
            if (open && !open.keys.mustRenew(open.own.log)) return open.keys;
            const own = open?.own ?? await this.ownForSaving(options);
            const { manifest, wraps, olderKey } = await nextScopeKey(place, own, this.services.now(), open?.keys);
            const body = {
                zoneID: { zoneName: zone }, manifest: base64(manifest), wraps: wraps.map(base64), olderKey: olderKey && base64(olderKey),
            };
            // Another device may have been quicker with a statement of the account.
            if (!await unlessConflict(this.ask("keys/scopes/modify", body, options))) await this.forgetZone(zone);
        }
        throw busy();
    }

    /**
     * Verifies and opens a scope. Asks for the account if it does not open with what is known of it.
     * @param {{ manifests: Uint8Array[], wraps: Uint8Array[], olderKeys: Uint8Array[] }} shown
     * @param {string} zone
     * @param {Opened} opened
     * @param {Cancelling} options
     */
    async #open(shown, zone, opened, options) {
        const openWith = async (/** @type {OwnKeys} */ own) => {
            const place = placeOf(opened.account, zone);
            const chain = await readChain(shown.manifests, place, own.log);
            const keys = await ZoneKeys.open(shown, place, chain, own);
            await this.#store.update(opened.name, (kept) => seeScope(kept, chain, zone));
            const [oldest] = opened.zones.keys();
            if (opened.zones.size >= zonesMax && oldest !== undefined) opened.zones.delete(oldest);
            opened.zones.set(zone, keys);
            return { keys, own };
        };
        if (opened.own) {
            try {
                return await openWith(opened.own);
            } catch (error) {
                if (!(error instanceof Fault)) throw error;
            }
        }
        const state = await this.accountState(options);
        if (state.state === "here") return openWith(state.own);
        if (state.state === "elsewhere" || state.state === "removed") throw hasNoKeys(state.state === "removed");
        throw new Fault("the server shows keys of a zone without a log of the account's keys");
    }

    /**
     * The scope of a zone as the server shows it, manifest 0 first; nothing if it has none.
     * @param {string} zone
     * @param {Cancelling} options
     */
    async #scope(zone, options) {
        /** @type {Uint8Array[]} */
        const manifests = [];
        /** @type {{ wraps: Uint8Array[], olderKeys: Uint8Array[] } | undefined} */
        let keys;
        /** @type {number | undefined} */
        let before;
        while (true) {
            const page = await this.ask("keys/scopes/list", { zoneID: { zoneName: zone }, before }, options);
            keys ??= { wraps: bytesOf(page.wraps), olderKeys: bytesOf(page.olderKeys) };
            const more = bytesOf(page.manifests);
            manifests.push(...more);
            if (manifests.length > manifestsMax || (page.moreComing && more.length === 0)) throw new Fault("the server's scope has no end");
            if (manifests.length === 0) return undefined;
            if (!page.moreComing) return { manifests: manifests.reverse(), ...keys };
            before = (await readScopeManifest(manifests[manifests.length - 1])).number;
        }
    }
}
