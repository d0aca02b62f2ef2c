/** Shares of zones as a whole, in the requests of their owner's page: the keys follow their participants. */

import { zoneShare } from "./exchange.js";
import { checkIDs, isInvited, permissionOf, roleOf, userOf, wishesOf } from "./participants.js";

/** @typedef {import("./participants.js").Wish} Wish */
/** @typedef {{ signal?: AbortSignal }} Options */
/**
 * The share of a zone in a batch: its place among the operations, and the wishes that come with it.
 * @typedef {{ place: number, wishes: Wish[] }} Saying
 */
/**
 * A batch to send, in which each participant of a share has an ID.
 * @typedef {{ operations: any[], saying?: Saying }} Begun
 */

const zonesMax = 1000;

export class Shares {
    #exchange;
    /**
     * The participants of zones' shares, by ID, with the highest permission and role of all answers since the page has
     * saved the share itself: what the server has once shown is not what the page says.
     * @type {Map<string, Map<string, { permission: number, role: number, user?: string }>>}
     */
    #shown = new Map();

    /** @param {import("./exchange.js").Exchange} exchange */
    constructor(exchange) {
        this.#exchange = exchange;
    }

    /**
     * Keeps whom a batch invites, changes or removes, before it is sent: their keys follow, also if the page is closed.
     * @param {any[]} operations in the private database
     * @param {string} zone
     * @param {import("./requests.js").Options} options a batch that is sent again names the same participants
     * @returns {Promise<Begun>}
     */
    async begin(operations, zone, { unanswered = {}, ...options }) {
        const begun = unanswered.begun ??= this.#named(operations, zone);
        if (begun.saying?.wishes.length) await this.#exchange.wish(begun.saying.wishes, zone, options);
        return begun;
    }

    /**
     * @param {any[]} operations
     * @param {string} zone
     * @returns {Begun}
     */
    #named(operations, zone) {
        const place = operations.findIndex(({ record }) => record?.recordName === zoneShare);
        const participants = operations[place]?.record.participants;
        if (place < 0) return { operations };
        if (isDeletion(operations[place]) || !Array.isArray(participants)) return { operations, saying: { place, wishes: [] } };
        const { participants: named, wishes } = wishesOf(participants, this.#shown.get(zone) ?? new Map());
        const sent = operations.map((one, index) => (index === place ? { ...one, record: { ...one.record, participants: named } } : one));
        return { operations: sent, saying: { place, wishes } };
    }

    /**
     * Takes the server's answer to a batch: what was kept counts now, or is taken back.
     * @param {Saying} saying
     * @param {any[] | undefined} results nothing if the batch has failed as a whole
     * @param {string} zone
     * @param {Options} options
     */
    async end({ place, wishes }, results, zone, options) {
        const item = results?.[place];
        const isSaved = item !== undefined && item.serverErrorCode === undefined;
        if (isSaved) this.#shown.delete(zone);
        await this.#unlessFailed(zone, async () => {
            if (wishes.length > 0) await (isSaved ? this.#exchange.confirm(wishes, zone, options) : this.#exchange.takeBack(wishes, zone, options));
            if (isSaved && item.deleted) await this.#exchange.meet([], zone, options);
        });
    }

    /**
     * Takes a share of an answer: gives keys to those who take part now, and makes others where somebody left.
     * @param {any} record
     * @param {string} zone
     * @param {Options} options
     */
    async see({ participants }, zone, options) {
        if (!Array.isArray(participants)) return;
        checkIDs(participants);
        const shown = this.#shown.get(zone) ?? new Map();
        for (const one of participants.filter(isInvited)) {
            const before = shown.get(one.participantId);
            const [permission, role] = [permissionOf(one), roleOf(one)];
            shown.set(one.participantId, {
                permission: Math.max(permission, before?.permission ?? 0), role: Math.min(role, before?.role ?? role),
                user: before?.user ?? userOf(one),
            });
        }
        if (this.#shown.size >= zonesMax) this.#shown.clear();
        this.#shown.set(zone, shown);
        await this.#unlessFailed(zone, () => this.#exchange.meet(participants, zone, options));
    }

    /**
     * @param {string} zone
     * @param {Options} options
     */
    async forget(zone, options) {
        this.#shown.delete(zone);
        await this.#unlessFailed(zone, () => this.#exchange.forgetWishes(zone, options));
    }

    /**
     * Has the log tell an error: the share is saved or read all the same, and the next save of an encrypted value tries
     * again first.
     * @param {string} zone
     * @param {() => Promise<void>} work
     */
    async #unlessFailed(zone, work) {
        try {
            await work();
        } catch (error) {
            this.#exchange.services.log("warn", `The keys of the zone '${zone}' do not follow its share yet: ${/** @type {any} */ (error)?.message}`);
        }
    }
}

/** @param {any} operation */
const isDeletion = ({ operationType }) => operationType.toLowerCase().endsWith("delete");
