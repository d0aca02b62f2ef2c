/**
 * The rules by which the owner's device decides who takes part in a zone's scope. The server's list of participants
 * gives nobody a key: the page says whom it adds, changes and removes, and the device keeps that as a wish until a
 * manifest says the same.
 */

import { byBytes, entry, Fault, hex, joined, listed as listOf, name, number, sized, unhex, withEntry } from "./bytes.js";
import { context, random, signed } from "./crypto.js";
import { headBytes } from "./log.js";
import { manifestsForOthers, ownerOf, participantOf, permissions, proofOf, readersOf, roles, scopeKind, takesAway, zeros } from "./scope.js";
import { keyIDOf, kinds, seal } from "./sealing.js";
import { wrap } from "./wraps.js";

/** @typedef {import("./account.js").Kept} Kept */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {import("./scope.js").ScopeManifest} ScopeManifest */
/** @typedef {import("./scope.js").Participant} Participant */
/** @typedef {any} Listed a participant of a share, as answers and saves have one */
/**
 * A participant whom the page has added, changed or removed. `participant` is the ID in the share, or the name of the
 * user's record. A permission of none removes. `isPending` says that the server has not answered the save of the share;
 * `since` is the time at which this device has met an invitation by an address, whose user the server names. `shown` is
 * the highest permission and role that answers have shown of a participant whom the page has changed or removed, and did
 * not add: it adds nobody.
 * @typedef {{
 *     participant: string, user?: string, permission: number, role: number, isPending?: true, since?: number,
 *     isNamedByServer?: true, shown?: Rights,
 * }} Wish
 */
/** @typedef {{ permission: number, role: number }} Rights */

/** Milliseconds after which a wish for an address ends: the server says whose the address is. */
const addressMilliseconds = 90 * 24 * 3600 * 1000;
/** The most wishes of a zone: two for each participant of a share; and the most zones with wishes. */
const [wishesMax, zonesMax] = [200, 1000];

/**
 * The name of the user's record, also if the user was invited by it.
 * @param {Listed} listed
 * @returns {string | undefined}
 */
export function userOf(listed) {
    const { userRecordName, lookupInfo } = listed?.userIdentity ?? {};
    const name = userRecordName ?? lookupInfo?.userRecordName;
    return typeof name === "string" ? name : undefined;
}

/** @param {Listed} listed */
export function permissionOf({ permission = "READ_ONLY", acceptanceStatus }) {
    if (acceptanceStatus === "REMOVED") return permissions.none;
    return permission === "READ_WRITE" ? permissions.readWrite : permission === "READ_ONLY" ? permissions.readOnly : permissions.none;
}

/** @param {Listed} listed */
export const roleOf = ({ type }) => (type === "ADMINISTRATOR" ? roles.administrator : roles.privateUser);

/**
 * Whether a participant is neither the owner, nor came by the share's link, nor stands for whoever comes first by a
 * one-time URL: the server alone says who that is.
 * @param {Listed} listed
 */
export const isInvited = (listed) => typeof listed === "object" && listed !== null && listed.type !== "OWNER" && listed.type !== "PUBLIC_USER"
    && listed.nacre?.oneTime !== true;

/**
 * Refuses a list of an answer in which a participant has no ID: only those whom the page adds have none.
 * @param {Listed[]} participants
 */
export function checkIDs(participants) {
    if (participants.every((one) => !isInvited(one) || (typeof one.participantId === "string" && one.participantId !== ""))) return;
    throw new Fault("the server shows a participant of a share without an ID");
}

/**
 * @param {Listed} listed
 * @param {string | undefined} user
 */
const isUser = (listed, user) => user !== undefined && userOf(listed) === user && listed.acceptanceStatus !== "REMOVED";

/**
 * The participants of a save, each with an ID, and the wishes that the page has said with it: participants without an
 * ID, whom it adds; those that have another permission or role than every answer has shown; and those who are missing.
 * @param {Listed[]} participants
 * @param {Map<string, { permission: number, role: number, user?: string }>} shown
 * @returns {{ participants: Listed[], wishes: Wish[] }}
 */
export function wishesOf(participants, shown) {
    /** @type {Wish[]} */
    const wishes = [];
    const named = participants.map((one) => {
        if (!isInvited(one)) return one;
        const [permission, role] = [permissionOf(one), roleOf(one)];
        const before = shown.get(one.participantId);
        const participantId = one.participantId ?? crypto.randomUUID().toUpperCase();
        const isChanged = before && (before.permission !== permission || before.role !== role);
        if (one.participantId === undefined) wishes.push({ participant: participantId, user: userOf(one), permission, role });
        if (isChanged) {
            const { user = userOf(one), ...rights } = before;
            wishes.push({ participant: participantId, user, permission, role, shown: rights });
        }
        return { ...one, participantId };
    });
    for (const [participant, { user, ...rights }] of shown) {
        if (named.some(({ participantId }) => participantId === participant)) continue;
        wishes.push({ participant, user, permission: permissions.none, role: rights.role, shown: rights });
    }
    return { participants: named, wishes };
}

/**
 * The permission and role that a wish gives. A change raises what the page has raised above all that was shown, and
 * nothing else: the page saves the rest as the server has shown it.
 * @param {Wish} wish
 * @param {Rights | undefined} before those in the manifest, or of an earlier wish
 * @returns {Rights | undefined} nothing for a change of somebody who has none
 */
function rightsOf({ permission, role, shown }, before) {
    if (!shown) return { permission, role };
    return before && {
        permission: permission > shown.permission ? permission : Math.min(permission, before.permission),
        role: role < shown.role ? role : Math.max(role, before.role),
    };
}

/**
 * @param {Kept} kept
 * @param {string} zone
 * @returns {Wish[]}
 */
export const wishesIn = ({ wishes = {} }, zone) => entry(wishes, zone) ?? [];

/**
 * @param {Kept} kept which is changed
 * @param {string} zone
 * @param {Wish[]} some
 */
function setWishes(kept, zone, some) {
    kept.wishes = withEntry(kept.wishes ?? {}, zone, some.length > 0 ? some.slice(-wishesMax) : undefined, zonesMax);
}

/**
 * Keeps wishes for a zone, in the place of earlier ones for the same participants. A change of somebody whom the page
 * has added before is of the user whom it added.
 * @param {Kept} kept which is changed
 * @param {Wish[]} some
 * @param {string} zone
 * @param {boolean} [isPending] whether the share is not saved yet: earlier wishes that are saved stay until it is
 */
export function keepWishes(kept, some, zone, isPending = false) {
    if (some.length === 0) return;
    const isOfSame = (/** @type {Wish} */ one, /** @type {Wish} */ other) =>
        one.participant === other.participant || (one.user !== undefined && one.user === other.user);
    const known = wishesIn(kept, zone);
    const left = known.filter((old) => (isPending && !old.isPending) || !some.some((one) => isOfSame(one, old)));
    const added = some.map((one) => {
        const old = one.shown && known.find((wish) => !wish.shown && isOfSame(one, wish));
        return old ? { ...old, participant: one.participant, ...rightsOf(one, old) } : one;
    }).filter(({ user, permission, shown }) => user !== undefined || (permission !== permissions.none && !shown))
        .map(({ isPending: _, ...wish }) => ({ ...wish, ...isPending && { isPending } }));
    setWishes(kept, zone, [...left, ...added]);
}

/**
 * Takes pending wishes back whose share was not saved.
 * @param {Kept} kept which is changed
 * @param {Wish[]} some
 * @param {string} zone
 */
export function takeBack(kept, some, zone) {
    setWishes(kept, zone, wishesIn(kept, zone).filter((old) => !old.isPending || !some.some(({ participant }) => participant === old.participant)));
}

/**
 * Takes from the server's list the names of users who were invited by an address. Forgets wishes for participants who
 * are not in the list any more, and those for addresses that are too old.
 * @param {Kept} kept which is changed
 * @param {Listed[]} list
 * @param {string} zone
 * @param {Wish[]} asked the wishes when the list was asked for: it says nothing of later and of pending ones
 * @param {number} now
 */
export function meetList(kept, list, zone, asked, now) {
    /** @type {Wish[]} */
    const left = [];
    for (const wish of wishesIn(kept, zone)) {
        const listed = list.find((one) => one.participantId === wish.participant || isUser(one, wish.user));
        if (!listed) {
            const mayBeLate = wish.isPending || !asked.some((one) => JSON.stringify(one) === JSON.stringify(wish));
            if (wish.permission === permissions.none || mayBeLate) left.push(wish);
            continue;
        }
        if (wish.user !== undefined && !wish.isNamedByServer) {
            left.push(wish);
            continue;
        }
        const since = wish.since ?? now;
        if (now - since >= addressMilliseconds) continue;
        const user = userOf(listed);
        left.push({ ...wish, since, ...wish.user === undefined && user !== undefined && { user, isNamedByServer: true } });
    }
    setWishes(kept, zone, left);
}

/**
 * Forgets the wishes that a manifest fulfils, and changes of people whom it does not have.
 * @param {Kept} kept which is changed
 * @param {ScopeManifest} manifest
 * @param {string} zone
 */
export function settleWishes(kept, manifest, zone) {
    const wishes = wishesIn(kept, zone);
    if (wishes.length === 0) return;
    setWishes(kept, zone, wishes.filter((wish) => {
        const one = participantOf(manifest, wish.user);
        const rights = rightsOf(wish, one);
        if (!rights) return false;
        return one ? one.permission !== rights.permission || one.role !== rights.role : rights.permission !== permissions.none;
    }));
}

/**
 * The owner as manifests have it.
 * @param {KeyLog} own
 * @returns {Participant}
 */
const ownerAs = ({ account: { user }, fingerprint, head }) => ({ user, fingerprint, head, permission: permissions.readWrite, role: roles.owner });

/**
 * The participants of the next manifest: those of the newest as far as the server's list has them still and their
 * accounts have keys, changed as the page wishes, and those whom it has added. The list takes permissions away and
 * gives none.
 * @param {ScopeManifest} newest
 * @param {KeyLog} own the owner's
 * @param {Wish[]} wishes the newest last
 * @param {Listed[] | undefined} list the share's participants as the server has them; nothing if they are not known
 * @param {Map<string, KeyLog>} logs the newest of accounts, by user
 * @returns {Participant[]}
 */
export function nextParticipants(newest, own, wishes, list, logs) {
    const last = (/** @type {string} */ user) => [...wishes].reverse().find((wish) => wish.user === user);
    const known = newest.participants.filter(({ role }) => role !== roles.owner);
    const users = new Set([...known.map(({ user }) => user), ...wishes.map(({ user }) => user)]);
    const next = [ownerAs(own)];
    for (const user of users) {
        if (user === undefined || user === own.account.user) continue;
        const before = participantOf(newest, user);
        const wish = last(user);
        const said = wish ? rightsOf(wish, before) : before;
        const log = logs.get(user);
        if (!said || !log || log.isReset) continue;
        let { permission, role } = said;
        if (list) {
            const listed = list.find((one) => isUser(one, user));
            if (!listed) continue;
            permission = Math.min(permission, permissionOf(listed));
            if (listed.type !== "ADMINISTRATOR" && role === roles.administrator) role = roles.privateUser;
        }
        if (permission === permissions.none) continue;
        // One that begins its account anew and anew would use up the manifests.
        const isOther = before !== undefined && before.fingerprint !== log.fingerprint;
        if (isOther && !wish && newest.number >= manifestsForOthers) continue;
        next.push({ user, fingerprint: log.fingerprint, head: log.head, permission, role });
    }
    return next.sort((one, other) => byBytes(one.user, other.user));
}

/**
 * The participants of the manifest that takes a scope over from a removed device: those whom an enrolled device has
 * signed, as far as the newest manifest has them still. The removed device adds nobody.
 * @param {ScopeManifest} newest by the removed device
 * @param {ScopeManifest | undefined} signed the newest one by a device that is enrolled
 * @param {KeyLog} own the owner's
 * @param {Map<string, KeyLog>} logs the newest of accounts, by user
 * @returns {Participant[]}
 */
export function participantsTakenOver(newest, signed, own, logs) {
    if (!signed) return [ownerAs(own)];
    return nextParticipants(signed, own, [], undefined, logs).flatMap((one) => {
        const now = newest.participants.find(({ fingerprint }) => fingerprint === one.fingerprint);
        if (!now || now.permission === permissions.none) return [];
        return { ...one, permission: Math.min(now.permission, one.permission), role: now.role === one.role ? one.role : roles.privateUser };
    });
}

/**
 * Wishes for the participants who leave a scope because their accounts have no keys now. They come again when the
 * accounts have some, but late in a scope.
 * @param {ScopeManifest} manifest
 * @param {Map<string, KeyLog>} logs
 * @returns {Wish[]}
 */
export function withoutKeys(manifest, logs) {
    if (manifest.number >= manifestsForOthers) return [];
    const owner = ownerOf(manifest);
    return manifest.participants.filter((one) => one !== owner && (logs.get(one.user)?.isReset ?? true))
        .map(({ user, permission, role }) => ({
            participant: user, user, permission, role: role === roles.administrator ? role : roles.privateUser,
        }));
}

/**
 * Makes the next manifest of a scope as `keys/scopes/modify` takes it, with another key if somebody may do less than
 * before, or has removed a device.
 * @param {Uint8Array} place
 * @param {import("./account.js").OwnKeys} own the owner's
 * @param {number} now milliseconds since 1970
 * @param {{
 *     last?: import("./scope.js").ZoneKeys, participants?: Participant[], logs?: Map<string, KeyLog>, mustRenew?: boolean,
 * }} next without the last keys this is the first key of a zone; the logs are the newest of the participants, by user;
 *     `mustRenew` makes another key in any case
 * @returns {Promise<{ manifest: Uint8Array, wraps: Uint8Array[], olderKey?: Uint8Array } | undefined>} nothing if the
 *     newest manifest says the same
 */
export async function nextManifest(place, { log, device }, now, { last, participants, logs = new Map(), mustRenew = false } = {}) {
    const before = last?.manifest;
    const list = participants ?? [ownerAs(log)];
    const isLess = before !== undefined && takesAway(/** @type {any} */ ({ participants: list }), before);
    const isSame = before && list.length === before.participants.length && list.every(({ user, fingerprint, permission, role }) => {
        const one = participantOf(before, user);
        return one && one.fingerprint === fingerprint && one.permission === permission && one.role === role;
    });
    if (last && isSame && !mustRenew && !last.mustRenew(log)) return undefined;
    // The manifest has the newest heads, so that the key must be newer than what these have removed.
    const isNewKey = !last || mustRenew || isLess || last.hasOlderKey([log, ...logs.values()]);
    /** @type {import("./scope.js").ScopeKey} */
    const key = last && !isNewKey ? last.newest
        : { scope: before?.scope ?? hex(random(16)), version: (before?.version ?? 0) + 1, secret: random(32) };
    const proofs = [...before?.proofs ?? [], ...isNewKey ? [await proofOf(key)] : []];
    const manifest = await signed(device, joined(
        [1, scopeKind], place, unhex(key.scope), sized(""), number(before ? before.number + 1 : 0, 8),
        number(Math.max(now, (before?.stamp ?? -1) + 1), 8), unhex(before?.hash ?? zeros), number(key.version, 4), number(before?.oldest ?? 1, 4),
        listOf(proofs.map(unhex)), listOf(list.map(participantBytes)), [permissions.none], unhex(log.fingerprint + device.id)));
    const id = keyIDOf(key.scope, key.version);
    const had = before && !isNewKey ? readersOf(before) : [];
    const wraps = [];
    for (const { user, fingerprint, role } of list.filter((one) => !had.includes(one.fingerprint))) {
        const recipient = role === roles.owner ? log : logs.get(user);
        if (!recipient || recipient.fingerprint !== fingerprint) throw new Fault(`the log of '${user}' is missing`);
        const about = {
            secret: key.secret, key: recipient.accountKeys[recipient.generation - 1], fingerprint, generation: recipient.generation, place,
        };
        wraps.push(await wrap("scope", id, about, device));
    }
    if (!last || !isNewKey) return { manifest, wraps };
    const olderKey = await seal(kinds.olderKey, id, key.secret, await context("nacre older key", place), last.newest.secret);
    return { manifest, wraps, olderKey };
}

/** @param {Participant} participant */
const participantBytes = ({ user, fingerprint, head, permission, role }) =>
    joined(name(user, "a participant"), unhex(fingerprint), headBytes(head), [permission, role]);
