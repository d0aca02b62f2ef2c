/** Errors: those that a server answers, and those that this library finds. */

import { localErrorCodes, serverErrorCodes } from "./constants.js";

/** An error of a request, or of one item of its answer. */
export class CKError extends Error {
    /**
     * @param {Partial<import("../cloudkit").CKErrorFields> & { ckErrorCode: string }} fields
     * @param {unknown} [cause] the error beneath
     */
    constructor(fields, cause) {
        super(fields.reason ?? fields.ckErrorCode, cause === undefined ? undefined : { cause });
        this.name = "CKError";
        this.isError = true;
        this.isCKError = true;
        this.ckErrorCode = fields.ckErrorCode;
        this.reason = fields.reason;
        this.serverErrorCode = fields.serverErrorCode;
        this.isServerError = fields.serverErrorCode !== undefined;
        this.extensionErrorCode = fields.extensionErrorCode;
        this.isServerExtensionError = fields.extensionErrorCode !== undefined;
        this.uuid = fields.uuid;
        this.recordName = fields.recordName;
        this.subscriptionID = fields.subscriptionID;
        this.zoneID = fields.zoneID;
        this.shortGUID = fields.shortGUID;
        this.redirectURL = fields.redirectURL;
        this.retryAfter = fields.retryAfter;
        this.serverRecord = fields.serverRecord;
        this.remedy = fields.remedy;
        this.nativeCode = fields.nativeCode;
        this.internalCode = fields.internalCode;
        this.errors = fields.errors;
    }

    /** The members that have a value, as an object. */
    toJSON() {
        const { name, cause, ...fields } = /** @type {any} */ (this);
        const known = Object.entries(fields).filter(([, value]) => value !== undefined);
        return /** @type {import("../cloudkit").CKErrorFields} */ (Object.fromEntries(known));
    }

    toString() {
        return `CKError ${this.ckErrorCode}${this.reason ? `: ${this.reason}` : ""}`;
    }
}

for (const code of [...serverErrorCodes, ...localErrorCodes]) {
    Object.defineProperty(CKError, code, { value: code, enumerable: true });
}

/**
 * An error that this library finds by itself.
 * @param {import("../cloudkit").ErrorCode} code
 * @param {string} reason
 * @param {{ cause?: unknown, retryAfter?: number }} [more]
 */
export function localError(code, reason, more = {}) {
    const { cause, ...fields } = more;
    return new CKError({ ckErrorCode: code, reason, ...fields }, cause);
}

/** @param {string} reason */
export const invalid = (reason) => localError("INVALID_ARGUMENTS", reason);

/**
 * An error that a server answers.
 * @param {any} answer the error's dictionary: of the whole answer, or of an item
 * @param {{ remedy?: string | null, retryAfter?: number }} [headers] what the answer's headers say
 */
export function serverError(answer, headers = {}) {
    const { nacre = {}, shortGUID } = answer;
    return new CKError({
        ...answer, ckErrorCode: answer.serverErrorCode, serverRecord: nacre.serverRecord && plainRecord(nacre.serverRecord),
        nativeCode: nacre.code, internalCode: nacre.internalCode, remedy: nacre.remedy ?? headers.remedy ?? undefined, retryAfter: answer.retryAfter ?? headers.retryAfter,
        shortGUID: shortGUID?.value ?? shortGUID,
    });
}

/**
 * A record of an answer as pages know it. The exact moments that stand beside its dates would win over a date that a
 * page sets, so they go. A share keeps its object, which tells of requests for access and of one-time URLs.
 * @param {any} record
 */
export function plainRecord(record) {
    const { nacre, ...plain } = record;
    if (record.fields) plain.fields = Object.fromEntries(Object.entries(record.fields).map(([name, { nacre, ...field }]) => [name, field]));
    return record.recordType === "cloudkit.share" && nacre ? { ...plain, nacre } : plain;
}
