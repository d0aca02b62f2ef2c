/** The faults for which a request of records is refused, and the errors that are made of them. */

import { Fault } from "./bytes.js";

/** The faults for which records cannot be sealed. Nothing of a request is sent if it has one. */
export class Faults {
    /** @type {Fault[]} */
    #all = [];

    /**
     * Does what may refuse a record.
     * @template T
     * @param {any} record
     * @param {() => Promise<T>} work
     * @returns {Promise<T | undefined>} nothing if the record is refused
     */
    async noting({ recordName }, work) {
        try {
            return await work();
        } catch (error) {
            if (!(error instanceof Fault)) throw error;
            this.#all.push(Object.assign(error, { recordName }));
            return undefined;
        }
    }

    /**
     * @template T
     * @param {T} value
     */
    unlessAny(value) {
        if (this.#all.length > 0) throw Object.assign(this.#all[0], { all: this.#all });
        return value;
    }
}

/**
 * What refuses records for one reason.
 * @param {any} error is handed back if it is no fault
 * @param {any[]} records
 */
export function refusal(error, records) {
    if (!(error instanceof Fault)) return error;
    const { message, code, cause, remedy } = error;
    return Object.assign(error, { all: records.map(({ recordName }) => Object.assign(new Fault(message, code, cause), { remedy, recordName })) });
}

/**
 * Makes an error of the library of what is refused, with those of the records that a request was refused for.
 * @param {Fault} fault
 * @param {import("./encryption.js").Core} core
 * @param {object} [more]
 */
export function errorOf(fault, { CKError }, more = {}) {
    const made = (/** @type {Fault} */ { code, message, recordName, remedy, cause }, /** @type {object} */ rest) => (
        new CKError({ ckErrorCode: code, reason: message, recordName, remedy, ...rest }, cause));
    return made(fault, { errors: fault.all?.map((one) => made(one, {})), ...more });
}
