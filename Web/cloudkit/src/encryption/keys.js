/** The keys of the user's account as the user looks after them: `container.keys`. */

import { accountHasNone, enrolmentRemedy, joinRecovered, toRemove } from "./account.js";
import { Fault, unhex } from "./bytes.js";
import { makeKeys } from "./crypto.js";
import { approve, enrol, waitingDevices } from "./enrolment.js";
import { retried } from "./accountexchange.js";
import { logBeforeRemoval } from "./log.js";
import { secretOf, wordsOf } from "./words.js";

/** @typedef {{ signal?: AbortSignal }} Options */

/** @param {string} hash */
const groups = (hash) => (hash.match(/.{4}/g) ?? []).join(" ");

const nextSteps = Object.freeze({
    none: "The first save of an encrypted value makes keys",
    ended: "The next save of an encrypted value begins the account's keys anew",
    elsewhere: enrolmentRemedy,
    removed: enrolmentRemedy,
    here: "To add a device, enrol it there and approve it here",
});

export class AccountKeys {
    #exchange;
    #promise;

    /**
     * @param {import("./exchange.js").Exchange} exchange
     * @param {<T>(options: any, work: (options: any) => Promise<T>) => Promise<T>} promise works with checked options
     */
    constructor(exchange, promise) {
        this.#exchange = exchange;
        this.#promise = promise;
    }

    /**
     * What keys there are, and what to do next.
     * @param {any} [options]
     */
    status(options) {
        return this.#promise(options, async (given) => {
            const state = await this.#exchange.accountState(given);
            const log = state.state === "none" || state.log.isReset ? undefined : state.log;
            const { recovery, tree } = await this.#exchange.kept(given);
            const hasUnseenWords = state.state === "here" && recovery !== undefined;
            const next = hasUnseenWords ? "Have the user write the recovery words down" : nextSteps[state.state];
            return {
                keys: state.state, generation: log?.generation, devices: log?.enrolled.length ?? 0, hasUnseenWords, next,
                ...tree?.doubt && { treesInDoubt: tree.doubt },
            };
        });
    }

    /**
     * The enrolled devices, the oldest first.
     * @param {any} [options]
     */
    devices(options) {
        return this.#promise(options, async (given) => {
            const state = await this.#exchange.accountState(given);
            if (state.state === "none") throw accountHasNone();
            const own = state.state === "here" ? state.own.device.id : undefined;
            return state.log.enrolled.map(({ id, added }) => ({ id, statement: added, isThis: id === own }));
        });
    }

    /**
     * The hash by which people know an account, and the newest statement of its log.
     * @param {any} [options] `userRecordName` names another user
     */
    fingerprint(options) {
        return this.#promise(options, async ({ userRecordName, ...given }) => {
            const { account } = await this.#exchange.opened(given);
            const isOwn = userRecordName === undefined || userRecordName === account.user;
            const state = isOwn ? await this.#exchange.accountState(given) : undefined;
            const log = state ? (state.state === "none" ? undefined : state.log) : (await this.#exchange.logsOf(userRecordName, given, false)).pop();
            if (!log) throw accountHasNone();
            return {
                userRecordName: log.account.user, fingerprint: groups(log.fingerprint), statement: log.head.number, head: groups(log.head.hash),
                isEnrolled: state?.state === "here",
            };
        });
    }

    /**
     * Makes the account's keys on its first device, as the first save of an encrypted value does.
     * @param {any} [options]
     */
    begin(options) {
        return this.#promise(options, async (given) => { await this.#exchange.ownForSaving(given); });
    }

    /**
     * Enrols this device with the help of one that is enrolled.
     * @param {any} options
     */
    enrol(options) {
        return this.#promise(options, async (given) => {
            if (typeof given.compare !== "function") throw new Fault("compare is a function that shows a code and asks for one", "INVALID_ARGUMENTS");
            await enrol(this.#exchange, given);
        });
    }

    /**
     * Enrols this device with the recovery key.
     * @param {string} words the 24 words, which tell the account: their key has signed its log
     * @param {any} [options]
     */
    enrolWithRecoveryWords(words, options) {
        return this.#promise(options, async (given) => {
            if (typeof words !== "string") throw new Fault("the words are a text", "INVALID_ARGUMENTS");
            const secret = await secretOf(words);
            const exchange = this.#exchange;
            const { name, account } = await exchange.opened(given);
            const device = await makeKeys(exchange.store.extractable);
            await this.#append(given, async () => {
                const shown = await exchange.shownAccount(given);
                return exchange.store.update(name, (kept) => joinRecovered(kept, device, shown, account, secret));
            });
        });
    }

    /**
     * The devices that wait to be let in.
     * @param {any} [options]
     */
    waiting(options) {
        return this.#promise(options, (given) => waitingDevices(this.#exchange, given));
    }

    /**
     * Lets a device in that waits, after the user has said that it is theirs.
     * @param {any} device one of `waiting`
     * @param {any} options
     */
    approve(device, options) {
        return this.#promise(options, async (given) => {
            if (typeof given.compare !== "function") throw new Fault("compare is a function that shows a code and asks for one", "INVALID_ARGUMENTS");
            return approve(this.#exchange, device?.commitment, given);
        });
    }

    /**
     * Removes a device. Those that stay have the next account key, and zones get another key at their next save. Zones
     * whose newest key or manifest is the device's get one at once, before and, where it makes one in between,
     * afterwards: no key counts that comes from a device which is not enrolled. If that fails, another call with the
     * removed device does it.
     * @param {string} id
     * @param {any} [options]
     */
    remove(id, options) {
        return this.#promise(options, async (given) => {
            const exchange = this.#exchange;
            const { device, log } = await exchange.own(given);
            if (id === device.id) throw new Fault("a device does not remove itself: another one does", "INVALID_ARGUMENTS");
            // Neither the device nor a server prevents the removal: what fails here is done after it.
            if (log.device(id)) await exchange.takeOverZones(id, given);
            const wasRemoved = !await this.#append(given, async () => {
                const own = await exchange.own(given);
                return own.log.device(id) && toRemove(own, id);
            });
            const before = await logBeforeRemoval((await exchange.shownAccount(given)).statements, log.account, id);
            const { isAny, left } = before ? await exchange.takeOverZones(id, given, before) : { isAny: false, left: [] };
            if (wasRemoved && !isAny && left.length === 0) throw new Fault(`'${id}' is not the ID of an enrolled device`, "INVALID_ARGUMENTS");
            if (left.length === 0) return;
            throw Object.assign(new Fault(`the device was removed, and the keys of these zones do not count any more: ${left.join(", ")}`), {
                remedy: "Remove the device again. The log tells why each was not taken over",
            });
        });
    }

    /**
     * Adds a statement, made anew while other devices are quicker.
     * @param {import("../transport.js").Cancelling} options
     * @param {() => Promise<import("./accountexchange.js").Request | undefined>} make
     * @returns {Promise<boolean>} false if there is none to add
     */
    #append(options, make) {
        return retried(async () => {
            const request = await make();
            if (!request) return false;
            if (!await this.#exchange.append(request, options)) return undefined;
            await this.#exchange.own(options);
            return true;
        });
    }

    /**
     * The recovery key that this device made with the account, for its user to write down. Call `forgetRecoveryWords`
     * once the user has.
     * @param {any} [options]
     */
    recoveryWords(options) {
        return this.#promise(options, async (given) => {
            const { log } = await this.#exchange.own(given);
            const { recovery } = await this.#exchange.kept(given);
            if (!recovery) {
                throw new Fault("this device has no recovery words to show: they were shown, or another device has made them", "INVALID_ARGUMENTS");
            }
            return { words: await wordsOf(unhex(recovery)), fingerprint: groups(log.fingerprint) };
        });
    }

    /** @param {any} [options] */
    forgetRecoveryWords(options) {
        return this.#promise(options, (given) => this.#exchange.change(given, (kept) => { delete kept.recovery; }));
    }

    /**
     * Takes the tree of logs that the server shows now, and forgets what this device has seen of logs and zones' keys.
     * It is for a server that was put back from a backup: compare fingerprints again.
     * @param {any} [options]
     */
    trustTree(options) {
        return this.#promise(options, (given) => this.#exchange.trustTree(given));
    }
}
