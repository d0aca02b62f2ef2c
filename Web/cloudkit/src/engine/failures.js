/** Errors as the sync engine looks at them: what may pass, what ends a run, and what leaves a change pending. */

import { CKError, localError } from "../error.js";

/** Codes of `CKError.Code` for errors without a code of their own. */
const codes = /** @type {Record<string, number>} */ ({
    UNKNOWN_ERROR: 1, INTERNAL_ERROR: 1, UNEXPECTED_SERVER_RESPONSE: 1, PARTIAL_FAILURE: 2, NETWORK_ERROR: 4, AUTHENTICATION_FAILED: 5,
    SERVICE_UNAVAILABLE: 6, TRY_AGAIN_LATER: 6, THROTTLED: 7, AUTHENTICATION_REQUIRED: 9, ACCESS_DENIED: 10, NOT_FOUND: 11, INVALID_ARGUMENTS: 12,
    CONFLICT: 14, BAD_REQUEST: 15, EXISTS: 15, OPERATION_CANCELLED: 20, ATOMIC_ERROR: 22, QUOTA_EXCEEDED: 25, ZONE_NOT_FOUND: 26,
    VALIDATING_REFERENCE_ERROR: 31, ENCRYPTION_KEYS_REQUIRED: 36,
});

export const code = Object.freeze({
    notAuthenticated: 9, operationCancelled: 20, changeTokenExpired: 21, zoneNotFound: 26,
    limitExceeded: 27, userDeletedZone: 28, accountTemporarilyUnavailable: 36,
});

/** The finer code of `changeTokenExpired` that says that the token's zone is gone. */
export const zoneIsAnother = 2036;

/** The code of what a delegate or store has thrown: no error of CloudKit. */
const foreign = 0;

/** The pairs of the network, and then those of the account and of a busy server. */
const network = new Set([3, 4, 34]);
const passing = new Set([foreign, ...network, 6, 7, 9, 23, 32, 36]);
const ending = new Set([foreign, ...network, 1, 5, 6, 7, 8, 9, 18, 20, 32, 36]);

/**
 * The code of `CKError.Code`, as the server says it, or as it follows from the web's code.
 * @param {any} error
 * @returns {number}
 */
export const codeOf = (error) => (error instanceof CKError ? error.nativeCode ?? codes[error.ckErrorCode] ?? 1 : foreign);

/** @param {any} error */
export const mayPass = (error) => passing.has(codeOf(error));

/** @param {any} error */
export const isOfNetwork = (error) => network.has(codeOf(error));

/**
 * Tells an error of the app, its account or the network from one of what a request is about.
 * @param {any} error
 */
export const endsRun = (error) => ending.has(codeOf(error));

/**
 * Tells whether a change stays pending that failed so.
 * @param {any} error
 * @param {boolean} endedAll whether it ended the request as a whole
 */
export const leavesPending = (error, endedAll) => (
    mayPass(error) || codeOf(error) === code.operationCancelled || (endedAll && endsRun(error)));

/**
 * The errors of the items of a partial failure; otherwise the error alone.
 * @param {any} error
 * @returns {any[]}
 */
export const each = (error) => error?.errors ?? [error];

/**
 * @param {string} reason
 * @param {any[]} errors of items
 * @returns {CKError | undefined} nothing if there are none
 */
export const partial = (reason, errors) => (errors.length > 0 ? new CKError({ ckErrorCode: "PARTIAL_FAILURE", reason, errors }) : undefined);

export const cancelled = () => localError("OPERATION_CANCELLED", "the fetch or send was cancelled");

export const unexpected = () => localError("UNEXPECTED_SERVER_RESPONSE", "the server answered something that does not fit the request");
