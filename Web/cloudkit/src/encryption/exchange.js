/** The conversation of a device with the server about the keys of zones, and who has them. */

import { checkEnrolled, takeScope } from "./account.js";
import { AccountExchange, bytesOf, retried, unlessConflict } from "./accountexchange.js";
import { base64, entry, Fault, withEntry } from "./bytes.js";
import { placeOf } from "./log.js";
import {
    isInvited, keepWishes, meetList, nextManifest, nextParticipants, participantsTakenOver, takeBack, userOf, wishesIn, withoutKeys,
} from "./participants.js";
import { noKeysOfShare, participantOf, permissions, readScopeManifest } from "./scope.js";

/** @typedef {import("./account.js").OwnKeys} OwnKeys */
/** @typedef {import("./accountexchange.js").Opened} Opened */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {import("./participants.js").Wish} Wish */
/** @typedef {import("./scope.js").ZoneKeys} ZoneKeys */
/** @typedef {import("../transport.js").Cancelling} Cancelling */
/**
 * The scope of a zone as a server shows it, manifest 0 first.
 * @typedef {{ manifests: Uint8Array[], wraps: Uint8Array[], olderKeys: Uint8Array[] }} ShownScope
 */
/**
 * A zone. `key` is its name, behind the name of another owner and a line's end. `zoneID` and `scope` are for requests.
 * @typedef {{
 *     key: string, zone: string, owner: string, place: Uint8Array, isOwn: boolean,
 *     zoneID: { zoneName: string, ownerRecordName?: string }, scope: "PRIVATE" | "SHARED",
 * }} Zone
 */

/** The most manifests of a scope, and the most users whom they name, that are taken from a server. */
const [manifestsMax, usersMax] = [1000, 1000];
/** Milliseconds for which accounts are taken as they were. A removed device may read what is saved meanwhile. */
const accountMilliseconds = 60_000;
const zonesMax = 1000;
/** The name of the share of a whole zone. */
export const zoneShare = "cloudkit.zoneshare";

/**
 * The text by which a zone is known here. No name has a line's end.
 * @param {{ zoneName?: string, ownerRecordName?: string } | undefined} zoneID
 * @param {string} scope the zone's database
 */
export function keyOf(zoneID, scope) {
    const { zoneName = "_defaultZone", ownerRecordName = "" } = zoneID ?? {};
    if (/\n/.test(zoneName + ownerRecordName)) throw new Fault("the name of a zone or its owner is not valid", "INVALID_ARGUMENTS");
    return scope === "SHARED" ? `${ownerRecordName}\n${zoneName}` : zoneName;
}

export class Exchange extends AccountExchange {
    /** @type {Set<string>} zones of which the log has told that participants have no keys */
    #told = new Set();

    /**
     * Has the keys of a zone asked for again.
     * @param {string} key
     */
    async forgetZone(key) {
        const opened = await this.known;
        if (!opened) return;
        opened.zones.delete(key);
        opened.own = undefined;
    }

    /**
     * The keys of a zone for opening values; nothing if the zone has none.
     * @param {string} key
     * @param {Cancelling} options
     */
    async zoneKeys(key, options) {
        const opened = await this.opened(options);
        const known = opened.zones.get(key);
        if (known) return known;
        const zone = zoneOf(key, opened);
        const found = await this.#currentScope(zone, options);
        if (found) return found.keys;
        const seen = async () => {
            const { scopes, sharedScopes = {} } = await this.store.read(opened.name);
            return Object.hasOwn(zone.isOwn ? scopes : sharedScopes, key);
        };
        if (!await seen()) return undefined;
        if (zone.isOwn) {
            const state = await this.accountState(options);
            if (state.state === "ended") return undefined;
            checkEnrolled(state);
            // A log that follows a reset has this device forget the scopes before it.
            if (!await seen()) return undefined;
        }
        throw new Fault(`the server shows no keys of zone '${zone.zone}', and this device has seen some`);
    }

    /**
     * The keys of a zone for sealing values. Makes what is missing: the account's log on its first device, the zone's
     * first key, and its next one after somebody left or a device was removed. In another user's zone it makes none.
     * @param {string} key
     * @param {Cancelling} options
     */
    async zoneKeysForSaving(key, options) {
        const opened = await this.opened(options);
        // Another device may have removed one since, and that one has the zone's key.
        if (opened.own && this.services.now() - opened.asked >= accountMilliseconds) {
            await this.accountState(options);
            for (const [name, keys] of opened.zones) if (keys.isOwn && (keys.isShared || opened.waiting.has(name))) opened.zones.delete(name);
        }
        const zone = zoneOf(key, opened);
        if (!zone.isOwn) {
            const keys = await this.zoneKeys(key, options);
            if (!keys) throw new Fault("the zone's owner has made no keys for encrypted values of its participants", "INVALID_ARGUMENTS");
            if (!keys.mayWrite) throw new Fault("the zone's owner has not signed that this user may write encrypted values", "ACCESS_DENIED");
            return keys;
        }
        const known = opened.zones.get(key);
        if (known && opened.own && !known.mustRenew(opened.own.log)) return known;
        return retried(async () => {
            const keys = await this.#settled(zone, options);
            if (keys) return keys;
            const own = await this.ownForSaving(options);
            await this.#send(await nextManifest(zone.place, own, this.services.now()), zone, options);
            return undefined;
        });
    }

    /**
     * Adds a manifest to the scope of a zone, unless another device is quicker.
     * @param {Awaited<ReturnType<typeof nextManifest>>} request
     * @param {Zone} zone
     * @param {Cancelling} options
     */
    async #send(request, { key, zone: zoneName }, options) {
        if (!request) return;
        const { manifest, wraps, olderKey } = request;
        const body = { zoneID: { zoneName }, manifest: base64(manifest), wraps: wraps.map(base64), olderKey: olderKey && base64(olderKey) };
        // Another device may have been quicker with a statement of the account.
        if (!await unlessConflict(this.ask("keys/scopes/modify", body, options))) await this.forgetZone(key);
    }

    /**
     * Asks for the scope of a zone, verifies and opens it; nothing if the zone has none.
     * @param {Zone} zone
     * @param {Cancelling} options
     */
    #currentScope(zone, options) {
        const seen = (/** @type {import("./account.js").Kept} */ kept) => entry(zone.isOwn ? kept.scopes : kept.sharedScopes ?? {}, zone.key);
        return this.untilCurrent(seen, options, async () => {
            const shown = await this.#scope(zone, options);
            return shown && this.#open(shown, zone, options);
        });
    }

    /**
     * Verifies and opens a scope. Asks for the account if it does not open with what is known of it. A user who was
     * invited to another user's zone gets an account at the first use.
     * @param {ShownScope} shown
     * @param {Zone} zone
     * @param {Cancelling} options
     */
    async #open(shown, zone, options) {
        const opened = await this.opened(options);
        const accounts = await this.#accountsOf(shown, opened, options);
        const openWith = async (/** @type {OwnKeys} */ own) => {
            const keys = await this.store.update(opened.name, (kept) => takeScope(kept, shown, zone, own, accounts));
            const [oldest] = opened.zones.keys();
            if (opened.zones.size >= zonesMax && oldest !== undefined) opened.zones.delete(oldest);
            opened.zones.set(zone.key, keys);
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
        checkEnrolled(state);
        if (zone.isOwn) throw new Fault("the server shows keys of a zone without a log of the account's keys");
        if (isInvited((await this.share(zone.zoneID, zone.scope, options))?.currentUserParticipant)) await this.ownForSaving(options);
        throw noKeysOfShare();
    }

    // Devices that are removed

    /**
     * Makes another key of each zone of the user's whose newest key or manifest is a device's: no key counts that comes
     * from a device which is not enrolled.
     * @param {string} device
     * @param {Cancelling} options
     * @param {KeyLog} [before] the account's log as it was before the device's removal; without it, the device is
     *     enrolled
     * @returns {Promise<{ isAny: boolean, left: string[] }>} whether there are any, and those where that failed
     */
    async takeOverZones(device, options, before) {
        const opened = await this.opened(options);
        const { zones = [] } = await this.ask("zones/list", undefined, options);
        const result = { isAny: false, left: /** @type {string[]} */ ([]) };
        for (const { zoneID: { zoneName } } of zones) {
            try {
                if (await this.#takeOver(zoneOf(zoneName, opened), device, before, options)) result.isAny = true;
            } catch (error) {
                if (!before && !(error instanceof Fault)) throw error;
                result.left.push(zoneName);
                const { message } = /** @type {any} */ (error);
                this.services.log("warn", `The keys of the zone '${zoneName}' were not taken over from a device: ${message}`);
            }
        }
        return result;
    }

    /**
     * @param {Zone} zone
     * @param {string} device
     * @param {KeyLog | undefined} before
     * @param {Cancelling} options
     * @returns {Promise<boolean>} whether the zone has another key now
     */
    #takeOver(zone, device, before, options) {
        return retried(async (tries) => {
            const shown = await this.#scope(zone, options);
            const request = shown && await this.#takingOver(shown, zone, device, before, options);
            if (!request) return tries > 0;
            await this.#send(request, zone, options);
            return undefined;
        });
    }

    /**
     * The request that takes a scope over; nothing if it is not needed.
     * @param {ShownScope} shown
     * @param {Zone} zone
     * @param {string} device
     * @param {KeyLog | undefined} before
     * @param {Cancelling} options
     */
    async #takingOver(shown, zone, device, before, options) {
        const made = (/** @type {ZoneKeys} */ last, /** @type {OwnKeys} */ own, /** @type {import("./scope.js").Participant[]} */ participants) => (
            nextManifest(zone.place, own, this.services.now(), { last, participants, logs: last.newestLogs, mustRenew: true }));
        try {
            const { keys, own } = await this.#open(shown, zone, options);
            if (!keys.isFrom(device)) return undefined;
            return await made(keys, own, nextParticipants(keys.manifest, own.log, [], undefined, keys.newestLogs));
        } catch (error) {
            if (!before || !(error instanceof Fault) || error.code !== "ENCRYPTION_REFUSED") throw error;
            const own = await this.own(options);
            if (before.fingerprint !== own.log.fingerprint || own.log.hashAt(before.head.number) !== before.head.hash) throw error;
            const opened = await this.opened(options);
            const accounts = await this.#accountsOf(shown, opened, options);
            // The keys are read for this alone: nothing is opened or sealed with them.
            const keys = await this.store.update(opened.name, (kept) => takeScope(kept, shown, zone, { ...own, log: before }, accounts));
            if (!keys.isFrom(device)) throw error;
            const signed = [...keys.chain].reverse().find(({ signer, device: id }) => signer === own.log.fingerprint && own.log.device(id));
            return made(keys, own, participantsTakenOver(keys.manifest, signed, own.log, keys.newestLogs));
        }
    }

    /**
     * The verified logs of the other users whom the manifests of a scope name, by user.
     * @param {ShownScope} shown
     * @param {Opened} opened
     * @param {Cancelling} options
     */
    async #accountsOf({ manifests }, { account }, options) {
        const read = await Promise.all(manifests.map(readScopeManifest));
        const users = new Set(read.flatMap(({ participants }) => participants.map(({ user }) => user)));
        users.delete(account.user);
        if (users.size > usersMax) throw new Fault("the manifests of the scope name too many users");
        /** @type {Map<string, KeyLog[]>} */
        const accounts = new Map();
        for (const user of [...users].sort()) accounts.set(user, await this.logsOf(user, options, false));
        return accounts;
    }

    /**
     * The scope of a zone as the server shows it; nothing if it has none.
     * @param {Zone} zone
     * @param {Cancelling} options
     * @returns {Promise<ShownScope | undefined>}
     */
    async #scope({ zoneID, scope }, options) {
        /** @type {Uint8Array[]} */
        const manifests = [];
        /** @type {{ wraps: Uint8Array[], olderKeys: Uint8Array[] } | undefined} */
        let keys;
        /** @type {number | undefined} */
        let before;
        while (true) {
            const page = await this.ask("keys/scopes/list", { zoneID, before }, options, scope);
            keys ??= { wraps: bytesOf(page.wraps), olderKeys: bytesOf(page.olderKeys) };
            const more = bytesOf(page.manifests);
            manifests.push(...more);
            if (manifests.length > manifestsMax || (page.moreComing && more.length === 0)) throw new Fault("the server's scope has no end");
            if (manifests.length === 0) return undefined;
            if (!page.moreComing) return { manifests: manifests.reverse(), ...keys };
            before = (await readScopeManifest(manifests[manifests.length - 1])).number;
        }
    }

    // Participants

    /**
     * The share of a zone as a whole, as the server has it; nothing if there is none.
     * @param {{ zoneName?: string, ownerRecordName?: string }} zoneID
     * @param {"PRIVATE" | "SHARED"} scope the zone's database
     * @param {Cancelling} options
     */
    async share(zoneID, scope, options) {
        const body = { zoneID, records: [{ recordName: zoneShare }], nacre: { details: true } };
        const { records: [item] = [] } = await this.ask("records/lookup", body, options, scope);
        if (item?.serverErrorCode === "NOT_FOUND") return undefined;
        if (!item || item.serverErrorCode !== undefined) throw new Fault(`the zone's share cannot be read: ${item?.reason}`, "SERVICE_UNAVAILABLE");
        return item;
    }

    /**
     * Keeps what the page wishes for the share of a zone of the user's, before the share is saved. On a device without
     * keys nothing stops the share.
     * @param {Wish[]} wishes
     * @param {string} key
     * @param {Cancelling} options
     */
    async wish(wishes, key, options) {
        const { name } = await this.opened(options);
        const hasKeys = (await this.store.read(name).catch(() => undefined))?.device !== undefined;
        try {
            await this.store.update(name, (kept) => keepWishes(kept, wishes, key, true));
        } catch (error) {
            if (hasKeys || !(error instanceof Fault)) throw error;
            this.services.log("warn", `This device cannot keep who is to have the keys of the zone '${key}': ${error.message}`);
        }
        await this.forgetZone(key);
        for (const { user, permission, shown } of hasKeys ? wishes : []) {
            if (user === undefined || shown || permission === permissions.none) continue;
            try {
                await this.logsOf(user, options, true);
            } catch (error) {
                // A server that cannot be asked is the share's own error, or asked again before a key is sealed.
                if (!(error instanceof Fault) || error.code !== "ENCRYPTION_REFUSED") continue;
                await this.takeBack(wishes, key, options);
                throw error;
            }
        }
    }

    /**
     * Notes that the server has saved the share with these wishes.
     * @param {Wish[]} wishes
     * @param {string} key
     * @param {Cancelling} options
     */
    async confirm(wishes, key, options) {
        await this.change(options, (kept) => keepWishes(kept, wishes, key));
        await this.forgetZone(key);
    }

    /**
     * Takes wishes back whose share the server has not saved.
     * @param {Wish[]} wishes
     * @param {string} key
     * @param {Cancelling} options
     */
    takeBack(wishes, key, options) {
        return this.change(options, (kept) => takeBack(kept, wishes, key));
    }

    /**
     * Forgets the wishes for a zone that was deleted.
     * @param {string} key
     * @param {Cancelling} options
     */
    forgetWishes(key, options) {
        return this.change(options, (kept) => {
            if (wishesIn(kept, key).length > 0) kept.wishes = withEntry(kept.wishes ?? {}, key, undefined, 0);
        });
    }

    /**
     * Brings the manifest of a zone of the user's up to date with its share, if this device has keys and has seen the
     * zone's or wishes something.
     * @param {any[]} list the participants as the server has shown them; none if the share has ended. The answer may be
     *     older than a save of the share: who takes part is asked for anew.
     * @param {string} key
     * @param {Cancelling} options
     */
    async meet(list, key, options) {
        const opened = await this.opened(options);
        const kept = await this.store.read(opened.name);
        const isWished = wishesIn(kept, key).length > 0;
        if (!kept.device || !(isWished || Object.hasOwn(kept.scopes, key))) return;
        const zone = zoneOf(key, opened);
        const known = opened.zones.get(key);
        if (!isWished && known && opened.own) {
            const participants = nextParticipants(known.manifest, opened.own.log, [], list, known.newestLogs);
            const request = await nextManifest(zone.place, opened.own, this.services.now(), { last: known, participants, logs: known.newestLogs });
            if (!request) return this.#tellWithoutKeys(list, known, key);
        }
        const keys = await this.#settled(zone, options, true);
        if (keys) this.#tellWithoutKeys(list, keys, key);
    }

    /**
     * The keys of a zone of the user's, whose newest manifest says who takes part now; nothing if the zone has no
     * scope.
     * @param {Zone} zone
     * @param {Cancelling} options
     * @param {boolean} [asksForList] whether the server is asked for the share's participants also if nobody is wished
     */
    async #settled(zone, options, asksForList = false) {
        const { keys } = await retried(async () => {
            const found = await this.#currentScope(zone, options);
            const request = found && await this.#next(found, zone, asksForList, options);
            if (!request) return { keys: found?.keys };
            await this.#send(request, zone, options);
            return undefined;
        });
        return keys;
    }

    /**
     * The request for the next manifest of a scope; nothing if the newest says what is to be said.
     * @param {{ keys: ZoneKeys, own: OwnKeys }} found
     * @param {Zone} zone
     * @param {boolean} asksForList
     * @param {Cancelling} options
     */
    async #next({ keys, own }, zone, asksForList, options) {
        const opened = await this.opened(options);
        const logs = keys.newestLogs;
        const lost = withoutKeys(keys.manifest, logs);
        let wishes = await this.store.update(opened.name, (kept) => {
            keepWishes(kept, lost.filter(({ user }) => !wishesIn(kept, zone.key).some((wish) => wish.user === user)), zone.key);
            return wishesIn(kept, zone.key);
        });
        let list;
        if (asksForList || wishes.length > 0) {
            const found = (await this.share(zone.zoneID, zone.scope, options))?.participants ?? [];
            const asked = wishes;
            list = found;
            wishes = await this.store.update(opened.name, (kept) => {
                meetList(kept, found, zone.key, asked, this.services.now());
                return wishesIn(kept, zone.key);
            });
            for (const { user } of wishes) {
                if (user === undefined || user === own.log.account.user || logs.has(user)) continue;
                const log = (await this.logsOf(user, options, true)).pop();
                if (log) logs.set(user, log);
            }
        }
        if (wishes.length > 0) opened.waiting.add(zone.key); else opened.waiting.delete(zone.key);
        // The list takes a participant away once a removal is saved.
        const said = wishes.filter(({ isPending, permission }) => !isPending || permission !== permissions.none);
        const participants = nextParticipants(keys.manifest, own.log, said, list, logs);
        const request = await nextManifest(zone.place, own, this.services.now(), { last: keys, participants, logs });
        for (const { user, isNamedByServer } of request ? said : []) {
            const one = participantOf({ participants }, user);
            if (!one || !isNamedByServer || participantOf(keys.manifest, user)) continue;
            this.services.log("warn", `The keys of the zone '${zone.zone}' go to the user ${user}, whom the server names for an invited address. `
                + `Compare the fingerprint with theirs: ${one.fingerprint}`);
        }
        return request;
    }

    /**
     * Has the log say once how many participants of a share have no keys.
     * @param {any[]} list
     * @param {ZoneKeys} keys
     * @param {string} key
     */
    #tellWithoutKeys(list, keys, key) {
        const others = list.filter((one) => one?.type !== "OWNER" && one?.acceptanceStatus !== "REMOVED");
        const count = others.filter((one) => !participantOf(keys.manifest, userOf(one))).length;
        if (count === 0 || this.#told.has(key) || this.#told.size >= zonesMax) return;
        this.#told.add(key);
        this.services.log("warn", `${count} of the share of the zone '${key}' have no keys of its encrypted values. Invited ones get them `
            + "when they have used the zone and this device fetches the share, if a page has added them here");
    }
}

/**
 * @param {string} key
 * @param {Opened} opened
 * @returns {Zone}
 */
function zoneOf(key, { account }) {
    const [owner, zone] = key.includes("\n") ? key.split("\n") : [account.user, key];
    if (owner === "" || (owner === account.user && key !== zone)) {
        throw new Fault("a zone of the shared database is another user's, whom its zoneID names as ownerRecordName", "INVALID_ARGUMENTS");
    }
    const place = placeOf({ ...account, user: owner }, zone);
    if (owner === account.user) return { key, zone, owner, place, isOwn: true, zoneID: { zoneName: zone }, scope: "PRIVATE" };
    return { key, zone, owner, place, isOwn: false, zoneID: { zoneName: zone, ownerRecordName: owner }, scope: "SHARED" };
}
