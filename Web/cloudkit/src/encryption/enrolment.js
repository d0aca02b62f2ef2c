/** Both sides of an enrolment, over the server's mailbox: `docs/encryption.md`, "Enrolment". */

import { accountHasNone, joinCompared, toAdd } from "./account.js";
import { base64, Fault, hex, joined, Reader, signatureBytes, unbase64, unhex } from "./bytes.js";
import { context, deviceID, digest, makeKeys, random } from "./crypto.js";
import { agreementToJoin, bothBytes, headBytes, readHead, readKeys } from "./log.js";

/** @typedef {import("./exchange.js").Exchange} Exchange */
/** @typedef {import("./log.js").Head} Head */
/** @typedef {{ signal?: AbortSignal }} Options */
/** @typedef {(code: string) => string | null | undefined | Promise<string | null | undefined>} Comparing */

const [commitmentKind, answerKind, openingKind] = [11, 12, 13];
/** Milliseconds of a conversation, and between two looks for a message of the other device. */
const [conversationMilliseconds, pollMilliseconds] = [600_000, 2000];

const unexpected = () => new Fault("the message does not belong to this enrolment: begin again");
const notEnrolled = () => new Fault("the account's log does not have this device: begin again");
const expired = () => new Fault("the enrolment took more than ten minutes: begin again", "SERVICE_UNAVAILABLE");

/**
 * The first message.
 * @param {import("./crypto.js").PublicKeys} keys
 * @param {Uint8Array} number 32 random bytes
 */
export const commitmentOf = async ({ signing, agreement }, number) =>
    joined([1, commitmentKind], await context("nacre enrolment commitment", unhex(signing), unhex(agreement), number));

/** @param {Uint8Array} bytes */
export function isCommitment(bytes) {
    return bytes.length === 34 && bytes[0] === 1 && bytes[1] === commitmentKind;
}

/**
 * @param {Uint8Array} commitment the form
 * @param {{ fingerprint: string, head: Head, device: string }} log
 * @param {Uint8Array} number 32 random bytes
 */
export const answerOf = async (commitment, { fingerprint, head, device }, number) =>
    joined([1, answerKind], await digest(commitment), unhex(fingerprint), headBytes(head), unhex(device), number);

/** @param {Uint8Array} bytes */
export function readAnswer(bytes) {
    const reader = new Reader(bytes, "the answer of an enrolment");
    reader.kind(answerKind);
    const [commitment, fingerprint, head] = [reader.hex(32), reader.hex(32), readHead(reader)];
    reader.take(16 + 32);
    reader.end();
    return { commitment, fingerprint, head };
}

/**
 * @param {import("./crypto.js").Keys} keys
 * @param {Uint8Array} number
 * @param {Head} head
 */
export const openingOf = async (keys, number, head) => joined([1, openingKind], bothBytes(keys), number, await agreementToJoin(keys, head));

/** @param {Uint8Array} bytes */
export function readOpening(bytes) {
    const reader = new Reader(bytes, "the opening of an enrolment");
    reader.kind(openingKind);
    const opening = { keys: readKeys(reader), number: reader.take(32), agreement: reader.take(signatureBytes) };
    reader.end();
    return opening;
}

/**
 * The code that both devices show.
 * @param {Uint8Array} commitment
 * @param {Uint8Array} answer
 * @param {import("./crypto.js").PublicKeys} keys
 * @param {Uint8Array} number
 */
export async function codeOf(commitment, answer, { signing, agreement }, number) {
    const seen = await context("nacre enrolment code", commitment, answer, unhex(signing), unhex(agreement), number);
    const digits = String(BigInt(`0x${hex(seen.slice(0, 8))}`) % 10_000_000n).padStart(7, "0");
    return `${digits.slice(0, 3)} ${digits.slice(3)}`;
}

/**
 * Eight digits by which people tell devices apart that wait at once. They prove nothing.
 * @param {Uint8Array} commitment
 */
export const nameOf = async (commitment) => hex(await digest(commitment)).slice(0, 8);

/** One conversation, which has ten minutes by this device's clock. */
class Conversation {
    #exchange;
    #options;
    #began;

    /**
     * @param {Exchange} exchange
     * @param {Options} options
     */
    constructor(exchange, options) {
        this.#exchange = exchange;
        this.#options = options;
        this.#began = exchange.services.now();
    }

    check() {
        const { signal } = this.#options;
        signal?.throwIfAborted();
        const passed = this.#exchange.services.now() - this.#began;
        if (passed < 0 || passed > conversationMilliseconds) throw expired();
    }

    /**
     * Looks again and again until something is there.
     * @template T
     * @param {() => Promise<T | undefined>} look
     * @returns {Promise<T>}
     */
    async poll(look) {
        while (true) {
            this.check();
            const found = await look();
            if (found !== undefined) return found;
            await this.#exchange.services.pause(pollMilliseconds, this.#options.signal);
        }
    }

    /**
     * Waits for a message of the other device.
     * @param {Uint8Array} commitment
     * @param {"answer" | "opening"} part
     */
    message(commitment, part) {
        return this.poll(async () => {
            const found = (await this.#exchange.enrolments(this.#options)).find((one) => one.commitment === base64(commitment));
            if (!found) throw expired();
            return found[part] === undefined ? undefined : unbase64(found[part], "a message of an enrolment");
        });
    }

    /**
     * Shows the code to the user, who types the one of the other device. A wrong one ends the conversation.
     * @param {string} code
     * @param {Comparing} compare
     */
    async compare(code, compare) {
        const typed = await compare(code);
        this.check();
        if (typeof typed !== "string" || typed.replace(/ /g, "") !== code.replace(" ", "")) {
            throw new Fault("the codes differ: nothing was added; somebody may be in between");
        }
    }
}

/**
 * Enrols this device with the help of one that is enrolled.
 * @param {Exchange} exchange
 * @param {{ waiting?: (name: string) => void, compare: Comparing } & Options} options
 */
export async function enrol(exchange, { waiting, compare, signal }) {
    const options = { signal };
    const state = await exchange.accountState(options);
    if (state.state === "here") throw new Fault("this device has the account's keys", "INVALID_ARGUMENTS");
    if (state.state === "none" || state.state === "ended" || state.log.isReset) throw accountHasNone();
    const conversation = new Conversation(exchange, options);
    const { name, account } = await exchange.opened(options);
    const [device, number] = [await makeKeys(exchange.store.extractable), random(32)];
    const commitment = await commitmentOf(device, number);
    await exchange.post(commitment, options);
    waiting?.(await nameOf(commitment));
    const bytes = await conversation.message(commitment, "answer");
    const answer = readAnswer(bytes);
    if (answer.commitment !== hex(await digest(commitment))) throw unexpected();
    if (!await exchange.post(await openingOf(device, number, answer.head), options)) throw unexpected();
    await conversation.compare(await codeOf(commitment, bytes, device, number), compare);
    const shown = await exchange.shownAccount(options);
    // The keys are kept only now: before, a server could show them enrolled in another account.
    if (!await exchange.store.update(name, (kept) => joinCompared(kept, device, shown, account, answer))) throw notEnrolled();
    const log = await conversation.poll(async () => {
        const now = await exchange.accountState(options);
        if (now.state === "here") return now.log;
        if (now.state === "elsewhere" && !now.log.isReset) return undefined;
        throw notEnrolled();
    });
    const isCompared = log.fingerprint === answer.fingerprint && log.hashAt(answer.head.number) === answer.head.hash;
    if (!isCompared || log.device(device.id)?.added !== answer.head.number + 1) throw notEnrolled();
}

/**
 * The devices that wait for an answer, in the order in which they began.
 * @param {Exchange} exchange
 * @param {Options} options
 */
export async function waitingDevices(exchange, options) {
    await exchange.own(options);
    const waiting = [];
    for (const { commitment, answer } of await exchange.enrolments(options)) {
        const bytes = unbase64(commitment, "a message of an enrolment");
        if (answer === undefined && isCommitment(bytes)) waiting.push({ name: await nameOf(bytes), commitment });
    }
    return waiting;
}

/**
 * Adds a device that waits, after its user has said that it is theirs: this is the approval of one commitment.
 * @param {Exchange} exchange
 * @param {string} text the commitment in base64
 * @param {{ compare: Comparing } & Options} options
 * @returns {Promise<string>} the ID of the device
 */
export async function approve(exchange, text, { compare, signal }) {
    const options = { signal };
    const commitment = unbase64(text, "the device that waits");
    if (!isCommitment(commitment)) throw new Fault("the device is one of those that wait", "INVALID_ARGUMENTS");
    const conversation = new Conversation(exchange, options);
    const own = await exchange.own(options);
    const { fingerprint, head } = own.log;
    const answer = await answerOf(commitment, { fingerprint, head, device: own.device.id }, random(32));
    if (!await exchange.post(answer, options)) throw new Fault("another device has answered this one: go on there, or begin again");
    const { keys, number, agreement } = readOpening(await conversation.message(commitment, "opening"));
    if (hex(await commitmentOf(keys, number)) !== hex(commitment)) {
        throw new Fault("the new device shows other keys than it had committed to: begin again, and see who is in between");
    }
    await conversation.compare(await codeOf(commitment, answer, keys, number), compare);
    const id = await deviceID(keys);
    if (!await exchange.append(await toAdd(own, { ...keys, id }, agreement), options)) {
        throw new Fault("another device has changed the keys meanwhile: begin again");
    }
    await exchange.accountState(options);
    return id;
}
