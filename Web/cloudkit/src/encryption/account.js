/** The rules by which a device takes the keys of its account from a server, and makes them. */

import { entry, Fault, hex, unhex, withEntry } from "./bytes.js";
import { makeKeys, random } from "./crypto.js";
import { addition, agreementToJoin, beginning, isSame, noDevice, otherFingerprint, readLogs, recoveryKey, removal } from "./log.js";
import { settleWishes } from "./participants.js";
import { headOf, readChain, ZoneKeys } from "./scope.js";
import { accountKeyOf, accountWraps, openAccountKey, openOlderAccountKeys, sealOlderAccountKey } from "./wraps.js";

/** @typedef {import("./crypto.js").Keys} Keys */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {import("./log.js").Account} Account */
/** @typedef {import("./wraps.js").AccountKey} AccountKey */

/** @typedef {{ fingerprint: string, number: number, hash: string }} Pin the newest statement that was seen of a log */
/**
 * The newest manifest of a zone, and the scopes that its name had before.
 * @typedef {{ scope: string, number: number, hash: string, before: string[] }} SeenScope
 */
/**
 * What a device keeps of its account: its own keys, the secret of the recovery key until its user has seen it, the log
 * that it has seen, the newest manifests of zones and of zones of others (by the owner, a line's end and the zone), the
 * tree of logs, the logs of other users, and the wishes for shares of the user's zones.
 * @typedef {{
 *     device?: Keys, recovery?: string, own?: Pin, scopes: { [zone: string]: SeenScope },
 *     sharedScopes?: { [zone: string]: SeenScope }, tree?: import("./tree.js").SeenTree,
 *     accounts?: { [user: string]: Pin }, wishes?: { [zone: string]: import("./participants.js").Wish[] },
 * }} Kept
 */

/** @typedef {{ statements: Uint8Array[], wraps: Uint8Array[], olderKeys: Uint8Array[] }} ShownAccount */
/** @typedef {{ device: Keys, log: KeyLog, accountKeys: AccountKey[] }} OwnKeys account keys are the newest first */
/**
 * An account as a device meets it: without a log; ended by a reset that names this device; open; or with keys that this
 * device does not have.
 * @typedef {{ state: "none" } | { state: "ended", log: KeyLog } | { state: "here", log: KeyLog, own: OwnKeys }
 *     | { state: "elsewhere" | "removed", log: KeyLog }} AccountState
 */

/** The most zones whose manifests are kept, the most scopes that a zone's name had before, and the most other users. */
const [zonesMax, scopesBeforeMax, accountsMax] = [10_000, 20, 5000];

export const enrolmentRemedy = "Enrol this device: with another one that has keys, or with the 24 recovery words";

/**
 * Throws for an account that has keys, where this device has none.
 * @param {AccountState} account
 */
export function checkEnrolled({ state }) {
    if (state !== "elsewhere" && state !== "removed") return;
    const reason = state === "removed" ? "this device was removed from those that open the account's encrypted values"
        : "this device has no keys for the account's encrypted values";
    throw Object.assign(new Fault(reason, "ENCRYPTION_KEYS_REQUIRED"), { remedy: enrolmentRemedy });
}

export const accountHasNone = () => new Fault(
    "the account has no keys: the first save of an encrypted value makes them", "ENCRYPTION_KEYS_REQUIRED");

/**
 * Verifies the account that a server shows, opens its keys, and keeps the log's head.
 * @param {Kept} kept which is changed
 * @param {ShownAccount} shown
 * @param {Account} account
 * @returns {Promise<AccountState>}
 */
export async function takeAccount(kept, shown, account) {
    const logs = await readLogs(shown.statements, account);
    const newest = logs[logs.length - 1];
    const { own, device } = kept;
    if (!newest) {
        if (own) throw new Fault(`the server shows no log of keys, and this device has seen statement ${own.number} of one`);
        return { state: "none" };
    }
    if (own) {
        const log = logs.find(({ fingerprint }) => fingerprint === own.fingerprint);
        if (!log) throw otherFingerprint(own.fingerprint, newest.fingerprint);
        log.check(own);
    }
    const enrolled = device && newest.device(device.id) ? device : undefined;
    // Another device has replaced the recovery key. Only a log that has this device may end the secret that it keeps.
    if (enrolled && kept.recovery && !newest.isReset) {
        if (!isSame(await recoveryKey(unhex(kept.recovery), account), newest.recovery)) delete kept.recovery;
    }
    // The scopes of a log that was reset went with it.
    if (enrolled && own && own.fingerprint !== newest.fingerprint) kept.scopes = {};
    // Nobody else can make a log that has this device: it has the device's signature.
    if (enrolled || own?.fingerprint === newest.fingerprint) kept.own = { fingerprint: newest.fingerprint, ...newest.head };
    if (device && newest.successor && isSame(newest.successor, device)) return { state: "ended", log: newest };
    if (!enrolled) {
        const wasRemoved = device !== undefined && newest.anyDevice(device.id)?.removed !== undefined;
        return { state: wasRemoved ? "removed" : "elsewhere", log: newest };
    }
    const key = await openAccountKey(shown.wraps, enrolled, enrolled.id, newest);
    const accountKeys = [key, ...await openOlderAccountKeys(key, shown.olderKeys, newest)];
    return { state: "here", log: newest, own: { device: enrolled, log: newest, accountKeys } };
}

/**
 * Makes what is missing of a device's keys, and the request that begins an account with it.
 * @param {Kept} kept which is changed
 * @param {Account} account
 * @param {boolean} extractable
 * @param {KeyLog} [ended] the log that a reset has ended
 */
export async function toBegin(kept, account, extractable, ended) {
    kept.device ??= await makeKeys(extractable);
    kept.recovery ??= hex(random(32));
    const key = await accountKeyOf(1);
    const recovery = await recoveryKey(unhex(kept.recovery), account);
    const statement = await beginning(account, kept.device, recovery, key.agreement, ended?.head.hash);
    const [log] = await readLogs([statement], account);
    return { statement, wraps: await accountWraps(key, log, kept.device) };
}

/**
 * Keeps the head of a zone's scope. A zone that was made again has another scope; one that it had before is refused.
 * @param {Kept} kept which is changed
 * @param {import("./scope.js").ScopeManifest[]} chain
 * @param {string} zone
 * @param {"scopes" | "sharedScopes"} where
 */
function seeScope(kept, chain, zone, where) {
    const scopes = kept[where] ?? {};
    const newest = chain[chain.length - 1];
    const seen = entry(scopes, zone);
    let before = seen?.before ?? [];
    if (seen && seen.scope === newest.scope) {
        const then = chain[seen.number];
        if (!then) throw new Fault(`the scope ends at manifest ${newest.number}, and had manifest ${seen.number}`);
        if (then.hash !== seen.hash) throw new Fault(`manifest ${seen.number} has another hash than before: the server has shown two scopes`);
    } else if (seen) {
        if (before.includes(newest.scope)) throw new Fault(`the server shows keys of an earlier zone '${zone}', and this device has seen later ones`);
        before = [...before, seen.scope].slice(-scopesBeforeMax);
    }
    kept[where] = withEntry(scopes, zone, { scope: newest.scope, ...headOf(newest), before }, zonesMax);
}

/**
 * Verifies the scope that a server shows for a zone, opens its keys, and keeps its head.
 * @param {Kept} kept which is changed
 * @param {{ manifests: Uint8Array[], wraps: Uint8Array[], olderKeys: Uint8Array[] }} shown
 * @param {{ place: Uint8Array, owner: string, zone: string, key: string }} at the zone, and its name among the kept
 * @param {OwnKeys} own
 * @param {Map<string, KeyLog[]>} accounts the verified logs of the other users whom the manifests name
 */
export async function takeScope(kept, shown, { place, owner, zone, key }, own, accounts) {
    const { user } = own.log.account;
    const isOwn = owner === user;
    const owners = isOwn ? own.log : accounts.get(owner)?.at(-1);
    if (!owners) throw new Fault(`the server shows no log of keys of '${owner}', who owns the zone`);
    const chain = await readChain(shown.manifests, place, owners, [own.log, ...[...accounts.values()].flat()]);
    const newest = chain[chain.length - 1];
    seeScope(kept, chain, key, isOwn ? "scopes" : "sharedScopes");
    for (const one of newest.participants) {
        const logs = one.user === user ? [] : accounts.get(one.user) ?? [];
        if (logs.some(({ fingerprint }) => fingerprint === one.fingerprint)) keepAccount(kept, logs[logs.length - 1]);
    }
    if (isOwn) settleWishes(kept, newest, zone);
    return ZoneKeys.open(shown, place, chain, own, { owner: owners, accounts });
}

// Other users

/**
 * Verifies the logs of another user's account, and keeps the head of the newest. Any account is taken the first time.
 * @param {Kept} kept which is changed
 * @param {Uint8Array[]} statements
 * @param {Account} account
 * @param {boolean} isNamed whether the page, or a verified manifest, has named the user. Otherwise an account that was
 *     not seen is not kept: a server can name any.
 * @returns {Promise<KeyLog[]>} the newest last; none for an account without keys
 */
export async function takeOther(kept, statements, account, isNamed) {
    const logs = await readLogs(statements, account);
    const newest = logs[logs.length - 1];
    if (!newest) return logs;
    const pin = entry(kept.accounts ?? {}, account.user);
    if (pin) {
        const log = logs.find(({ fingerprint }) => fingerprint === pin.fingerprint);
        if (!log) throw otherFingerprint(pin.fingerprint, newest.fingerprint);
        log.check(pin);
    }
    if (isNamed || pin) keepAccount(kept, newest);
    return logs;
}

/**
 * Keeps the head of a verified log. None that was kept goes for it: the server could put another account in its place.
 * @param {Kept} kept which is changed
 * @param {KeyLog} newest
 */
function keepAccount(kept, { account: { user }, fingerprint, head }) {
    const accounts = kept.accounts ?? {};
    if (entry(accounts, user) === undefined && Object.keys(accounts).length >= accountsMax) {
        throw new Fault(`this device has seen keys of ${accountsMax} other users, which are the most, and takes none of '${user}'`);
    }
    kept.accounts = withEntry(accounts, user, { fingerprint, ...head }, accountsMax + 1);
}

// Devices that join and leave

/**
 * @param {Kept} kept which is changed
 * @param {Keys} device
 * @param {KeyLog} log
 */
function keep(kept, device, log) {
    kept.device = device;
    delete kept.recovery;
    kept.own = { fingerprint: log.fingerprint, ...log.head };
}

/**
 * Takes the account that the user has compared on both devices. From now on only a log that extends the shown one
 * counts. The keys count when it has them.
 * @param {Kept} kept which is changed
 * @param {Keys} device whose code was compared; it is not kept before
 * @param {ShownAccount} shown
 * @param {Account} account
 * @param {{ fingerprint: string, head: import("./log.js").Head }} answer that the code was of
 * @returns {Promise<boolean>} false if the server shows another account now
 */
export async function joinCompared(kept, device, shown, account, answer) {
    const taken = await takeAccount(kept, shown, account);
    if (taken.state === "none" || taken.log.isReset || taken.log.fingerprint !== answer.fingerprint) return false;
    if (taken.log.hashAt(answer.head.number) !== answer.head.hash) return false;
    keep(kept, device, taken.log);
    return true;
}

/**
 * Takes the account, and makes the request by which the recovery key adds a device to it.
 * @param {Kept} kept which is changed
 * @param {Keys} device
 * @param {ShownAccount} shown
 * @param {Account} account
 * @param {Uint8Array} secret of the recovery key. It tells the account: a log has only recovery keys that signed for it.
 */
export async function joinRecovered(kept, device, shown, account, secret) {
    const taken = await takeAccount(kept, shown, account);
    if (taken.state === "here") throw new Fault("this device has the account's keys", "INVALID_ARGUMENTS");
    if (taken.state === "none" || taken.log.isReset) throw accountHasNone();
    const { log } = taken;
    const recovery = await recoveryKey(secret, account);
    if (!isSame(recovery, log.recovery)) {
        throw new Fault("the 24 words are not those of the account now", "INVALID_ARGUMENTS");
    }
    const key = await openAccountKey(shown.wraps, recovery, noDevice, log);
    const statement = await addition(log.head, device, await agreementToJoin(device, log.head), recovery, noDevice);
    keep(kept, device, log);
    return { statement, wraps: await accountWraps(key, await log.grown(statement), device, device.id) };
}

/**
 * Makes the request for a statement that adds a device whose user compared the code.
 * @param {OwnKeys} own
 * @param {import("./crypto.js").PublicKeys & { id: string }} added
 * @param {Uint8Array} agreement
 */
export async function toAdd({ device, log, accountKeys }, added, agreement) {
    const statement = await addition(log.head, added, agreement, device, device.id);
    return { statement, wraps: await accountWraps(accountKeys[0], await log.grown(statement), device, added.id) };
}

/**
 * Makes the request that removes a device. Those that stay get the next account key.
 * @param {OwnKeys} own
 * @param {string} id
 */
export async function toRemove({ device, log, accountKeys }, id) {
    const key = await accountKeyOf(log.generation + 1);
    const statement = await removal(log.head, id, key.agreement, device);
    const grown = await log.grown(statement);
    return { statement, wraps: await accountWraps(key, grown, device), olderKey: await sealOlderAccountKey(accountKeys[0], key, grown) };
}
