/** The log of an account: statements, each verified from the first on. */

import { Fault, hex, joined, name, number, Reader, signatureBytes, sized, unhex } from "./bytes.js";
import { checkAgreement, checkKeys, context, deviceID, digest, expand, extract, keysOf, none, sign, signed, verifies } from "./crypto.js";

/** @typedef {import("./crypto.js").Keys} Keys */
/** @typedef {import("./crypto.js").PublicKeys} PublicKeys */
/** @typedef {{ container: string, environment: string, user: string }} Account */
/** @typedef {{ number: number, hash: string }} Head */

const statementKind = 3;
export const actions = Object.freeze({ begin: 1, add: 2, remove: 3, recovery: 4, reset: 5 });
const zeros = "00".repeat(32);
/** The signer, and the recipient of a wrap, that is the recovery key. */
export const noDevice = "00".repeat(16);
const statementsMax = 1000;
const devicesMax = 100;

/** @param {Account} account */
const accountBytes = ({ container, environment, user }) => joined(name(container, "the container"), name(environment, "the environment"),
    name(user, "the user"));

/**
 * The bytes of a zone of an account; those of the account itself without a zone.
 * @param {Account} account
 * @param {string} [zone]
 */
export const placeOf = (account, zone = "") => joined(accountBytes(account), name(zone, "the zone"));

/** @param {PublicKeys} keys */
export const bothBytes = ({ signing, agreement }) => unhex(signing + agreement);

/**
 * @param {PublicKeys} one
 * @param {PublicKeys} other
 */
export const isSame = (one, other) => one.signing === other.signing && one.agreement === other.agreement;

/** @param {Reader} reader */
export const readKeys = (reader) => ({ signing: reader.hex(32), agreement: reader.hex(32) });

/** @param {Reader} reader */
export const readHead = (reader) => ({ number: reader.integer(8), hash: reader.hex(32) });

/** @param {Head} head */
export const headBytes = (head) => joined(number(head.number, 8), unhex(head.hash));

/**
 * What a statement says, by its kind.
 * @param {Reader} reader of its body
 * @param {number} what
 */
function readBody(reader, what) {
    switch (what) {
        case actions.begin: return {
            account: { container: reader.name(), environment: reader.name(), user: reader.name() },
            device: readKeys(reader), recovery: readKeys(reader), accountKey: reader.hex(32), follows: reader.hex(32),
            consent: reader.take(signatureBytes),
        };
        case actions.add: return { device: readKeys(reader), agreement: reader.take(signatureBytes) };
        case actions.remove: return { id: reader.hex(16), accountKey: reader.hex(32) };
        case actions.recovery: return { recovery: readKeys(reader), accountKey: reader.hex(32), consent: reader.take(signatureBytes) };
        case actions.reset: return { device: readKeys(reader) };
        default: throw reader.fault;
    }
}

/** @param {Uint8Array} bytes */
export async function readStatement(bytes) {
    const reader = new Reader(bytes, "a statement");
    reader.kind(statementKind);
    const at = reader.integer(8);
    const before = reader.hex(32);
    const [what] = reader.take(1);
    const bodyBytes = reader.sized();
    const inside = new Reader(bodyBytes, "a statement");
    const body = /** @type {any} */ (readBody(inside, what));
    inside.end();
    const signer = reader.hex(16);
    const signature = reader.take(signatureBytes);
    reader.end();
    return { bytes, number: at, before, what, body, bodyBytes, signer, signature, isSignedBy: isSigned(bytes), hash: hex(await digest(bytes)) };
}

/**
 * Whether a form that ends with its signature is signed by a public key.
 * @param {Uint8Array} bytes
 */
export const isSigned = (bytes) => (/** @type {string} */ key) =>
    verifies(key, bytes.slice(-signatureBytes), bytes.slice(0, -signatureBytes));

/** @typedef {Awaited<ReturnType<typeof readStatement>>} Statement */

/**
 * The bytes with which a new device agrees to join a log behind a statement.
 * @param {PublicKeys} keys
 * @param {string} before
 */
const enrolment = (keys, before) => context("nacre enrolment", unhex(before), unhex(keys.signing), unhex(keys.agreement));

/**
 * The bytes with which a recovery key agrees to be that of a log. Only a holder of the 24 words can sign them, so that
 * the words tell the account.
 * @param {Uint8Array} body of the statement, without the signature
 * @param {string} before
 */
const recovery = (body, before) => context("nacre recovery", unhex(before), body);

/**
 * Checks that the recovery key of a statement has signed for it.
 * @param {Statement} statement
 */
async function checkConsent(statement) {
    const { body, bodyBytes, before } = statement;
    const message = await recovery(bodyBytes.slice(0, -signatureBytes), before);
    if (!await verifies(body.recovery.signing, body.consent, message)) throw notSigned(statement);
}

/**
 * The signature of a new device for a log.
 * @param {Keys} keys
 * @param {Head} head
 */
export const agreementToJoin = async (keys, head) => sign(keys, await enrolment(keys, head.hash));

export class KeyLog {
    /** @type {Map<string, PublicKeys & { added: number, removed?: number }>} all that were ever enrolled, by ID */
    #devices = new Map();
    /** @type {number[]} the numbers of the statements that made the account keys */
    #began = [0];
    /** @type {string[]} the hashes of the statements */
    #hashes = [];
    /** @type {PublicKeys | undefined} the keys that begin the next log, if the last statement is a reset */
    successor;

    /** @param {Statement} first its beginning, which `begin` verifies */
    constructor({ body }) {
        /** @type {Account} */
        this.account = body.account;
        /** @type {string} */
        this.follows = body.follows;
        /** @type {PublicKeys} */
        this.beginner = body.device;
        /** @type {PublicKeys} */
        this.recovery = body.recovery;
        /** @type {string[]} generation 1 first */
        this.accountKeys = [body.accountKey];
    }

    /** @param {Statement} first */
    static async begin(first) {
        if (first.what !== actions.begin || first.number !== 0 || first.before !== zeros) {
            throw new Fault("the log of keys does not start with the beginning of an account");
        }
        const log = new KeyLog(first);
        await checkKeys(log.beginner);
        await checkKeys(log.recovery);
        await checkAgreement(log.accountKeys[0]);
        const id = await deviceID(log.beginner);
        if (first.signer !== id || !await first.isSignedBy(log.beginner.signing)) throw notSigned(first);
        await checkConsent(first);
        log.#devices.set(id, { ...log.beginner, added: 0 });
        log.#hashes.push(first.hash);
        return log;
    }

    /**
     * The log with one more statement, which is verified.
     * @param {Uint8Array} statement
     */
    async grown(statement) {
        const { account, beginner: device, recovery, follows } = this;
        const log = new KeyLog(/** @type {any} */ ({ body: { account, device, recovery, follows } }));
        log.accountKeys = [...this.accountKeys];
        log.#devices = new Map([...this.#devices].map(([id, known]) => [id, { ...known }]));
        log.#began = [...this.#began];
        log.#hashes = [...this.#hashes];
        log.successor = this.successor;
        await log.append(await readStatement(statement));
        return log;
    }

    /** The hash of the first statement, by which people know the account. */
    get fingerprint() {
        return this.#hashes[0];
    }

    get head() {
        return { number: this.#hashes.length - 1, hash: this.#hashes[this.#hashes.length - 1] };
    }

    get isReset() {
        return this.successor !== undefined;
    }

    /** The generation of the account key, from 1. */
    get generation() {
        return this.accountKeys.length;
    }

    /** The devices that are enrolled now, the oldest first. */
    get enrolled() {
        return [...this.#devices].filter(([, { removed }]) => removed === undefined && !this.isReset).map(([id, device]) => ({ id, ...device }));
    }

    /** @param {string} id of a device that was ever enrolled */
    anyDevice(id) {
        return this.#devices.get(id);
    }

    /** @param {string} id of a device that is enrolled now */
    device(id) {
        const device = this.#devices.get(id);
        return this.isReset || device?.removed !== undefined ? undefined : device;
    }

    /**
     * The generation of the account key when the log had a statement as its newest.
     * @param {number} at
     */
    generationAt(at) {
        return this.#began.filter((began) => began <= at).length;
    }

    /** @param {number} at a statement's number */
    hashAt(at) {
        return this.#hashes[at];
    }

    /**
     * Verifies the next statement and takes it.
     * @param {Statement} statement
     */
    async append(statement) {
        const { head } = this;
        if (this.isReset) throw new Fault("the account was reset: its log has ended");
        if (statement.number !== head.number + 1 || statement.before !== head.hash) {
            throw new Fault(`statement ${statement.number} does not follow the newest one`);
        }
        if (this.#hashes.length >= statementsMax && statement.what !== actions.remove && statement.what !== actions.reset) throw tooLong();
        const signing = statement.signer === noDevice ? this.recovery.signing : this.device(statement.signer)?.signing;
        if (!signing || !await statement.isSignedBy(signing)) throw notSigned(statement);
        await this.#take(statement);
        this.#hashes.push(statement.hash);
    }

    /** @param {Statement} statement */
    async #take(statement) {
        const { what, body, number: at, before, signer } = statement;
        switch (what) {
            case actions.add: {
                await checkKeys(body.device);
                const id = await deviceID(body.device);
                if (this.#devices.has(id)) throw new Fault(`device ${id} was enrolled before`);
                if (this.enrolled.length >= devicesMax) throw tooLong();
                const agrees = await verifies(body.device.signing, body.agreement, await enrolment(body.device, before));
                if (!agrees) throw notSigned(statement);
                this.#devices.set(id, { ...body.device, added: at });
                break;
            }
            case actions.remove: {
                const device = this.device(body.id);
                if (!device) throw new Fault(`device ${body.id} is not enrolled`);
                if (signer === body.id) throw new Fault(`device ${body.id} cannot remove itself`);
                await this.#takeAccountKey(body.accountKey, at);
                device.removed = at;
                break;
            }
            case actions.recovery:
                await checkKeys(body.recovery);
                await checkConsent(statement);
                await this.#takeAccountKey(body.accountKey, at);
                this.recovery = body.recovery;
                break;
            case actions.reset:
                await checkKeys(body.device);
                this.successor = body.device;
                break;
            default: throw new Fault(`statement ${at} does not follow the newest one`);
        }
    }

    /**
     * @param {string} key
     * @param {number} at
     */
    async #takeAccountKey(key, at) {
        if (this.accountKeys.includes(key)) throw new Fault("the next account key was one before");
        await checkAgreement(key);
        this.accountKeys.push(key);
        this.#began.push(at);
    }

    /**
     * Checks that the log extends what was kept of it.
     * @param {Head} kept
     */
    check(kept) {
        const hash = this.hashAt(kept.number);
        if (hash === undefined) throw new Fault(`the log ends at statement ${this.head.number}, and had statement ${kept.number}`);
        if (hash !== kept.hash) throw new Fault(`statement ${kept.number} has hash ${hash}, and had ${kept.hash}: the server has shown two logs`);
    }
}

/** @param {{ number: number }} statement */
const notSigned = (statement) => new Fault(`statement ${statement.number} is not signed by a device of the account or its recovery key`);
const tooLong = () => new Fault(`the log has ${statementsMax} statements, or ${devicesMax} devices: remove a device, or reset the account`);

/**
 * Verifies the logs of an account, each of which but the first follows the signed reset of the one before.
 * @param {Uint8Array[]} statements
 * @param {Account} account
 */
export async function readLogs(statements, account) {
    /** @type {KeyLog[]} */
    const logs = [];
    for (const bytes of statements) {
        const statement = await readStatement(bytes);
        const last = logs[logs.length - 1];
        if (statement.what !== actions.begin) {
            if (!last) throw new Fault("the log of keys does not start with the beginning of an account");
            await last.append(statement);
            continue;
        }
        const next = await KeyLog.begin(statement);
        const { container, environment, user } = next.account;
        if (container !== account.container || environment !== account.environment || user !== account.user) {
            throw new Fault("the log of keys is of another account");
        }
        if (last) {
            const isNamed = last.successor && isSame(last.successor, next.beginner);
            if (!isNamed || next.follows !== last.head.hash) throw otherFingerprint(last.fingerprint, next.fingerprint);
        }
        logs.push(next);
    }
    return logs;
}

/**
 * The newest log of an account as it was before a device was removed; nothing if the device was not.
 * @param {Uint8Array[]} statements
 * @param {Account} account
 * @param {string} device
 */
export async function logBeforeRemoval(statements, account, device) {
    const log = (await readLogs(statements, account)).pop();
    const removed = log?.anyDevice(device)?.removed;
    if (!log || removed === undefined) return undefined;
    const first = statements.length - log.head.number - 1;
    return (await readLogs(statements.slice(first, first + removed), account))[0];
}

/**
 * @param {string} kept
 * @param {string} shown
 */
export const otherFingerprint = (kept, shown) => new Fault(
    `the account has fingerprint ${shown}, and not ${kept}, and no signed reset leads to it: compare fingerprints with its user`);

// Statements that this device makes

/**
 * @param {Head | undefined} head the one before; nothing for the first
 * @param {number} what
 * @param {Uint8Array} body
 * @param {{ signs: CryptoKey }} signer
 * @param {string} signerID `noDevice` for the recovery key
 */
function statementOf(head, what, body, signer, signerID) {
    const before = head ? joined(number(head.number + 1, 8), unhex(head.hash)) : joined(number(0, 8), unhex(zeros));
    return signed(signer, joined([1, statementKind], before, [what], sized(body), unhex(signerID)));
}

/**
 * @param {Account} account
 * @param {Keys} device
 * @param {Keys} recoverer the recovery key
 * @param {string} accountKey
 * @param {string} [follows] the hash of the reset before
 */
export async function beginning(account, device, recoverer, accountKey, follows = zeros) {
    const body = joined(accountBytes(account), bothBytes(device), bothBytes(recoverer), unhex(accountKey), unhex(follows));
    return statementOf(undefined, actions.begin, joined(body, await sign(recoverer, await recovery(body, zeros))), device, device.id);
}

/**
 * @param {Head} head
 * @param {PublicKeys} device the new one
 * @param {Uint8Array} agreement
 * @param {{ signs: CryptoKey }} signer
 * @param {string} signerID
 */
export const addition = (head, device, agreement, signer, signerID) =>
    statementOf(head, actions.add, joined(bothBytes(device), agreement), signer, signerID);

/**
 * @param {Head} head
 * @param {string} id
 * @param {string} accountKey the next one
 * @param {{ signs: CryptoKey, id: string }} signer
 */
export const removal = (head, id, accountKey, signer) => statementOf(head, actions.remove, unhex(id + accountKey), signer, signer.id);

/**
 * The recovery key of a secret, which is another one in each account.
 * @param {Uint8Array} secret
 * @param {Account} account
 */
export async function recoveryKey(secret, account) {
    const both = await expand(await extract(none, secret), await context("nacre recovery key", placeOf(account)), 64);
    return keysOf(both.slice(0, 32), both.slice(32));
}
