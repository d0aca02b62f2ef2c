/** Answers: the items that were done, and the errors of the others. */

import { CKError, plainRecord, serverError } from "./error.js";

/**
 * Parts the items of an answer.
 * @param {any} items
 * @param {(item: any) => any} [read]
 * @returns {{ found: any[], errors: CKError[] }}
 */
export function parted(items, read = (item) => item) {
    const all = Array.isArray(items) ? items : [];
    // An item may be an error of this library's already: an encrypted value that is refused.
    const isError = (/** @type {any} */ item) => item instanceof CKError || item?.serverErrorCode !== undefined;
    return {
        found: all.filter((item) => !isError(item)).map(read),
        errors: all.filter(isError).map((item) => (item instanceof CKError ? item : serverError(item))),
    };
}

/** The members of every answer. */
export class Response {
    /** @param {CKError[]} [errors] of single items; the error of a whole request rejects its promise */
    constructor(errors = []) {
        this.isResponse = true;
        this.errors = errors;
        this.hasErrors = errors.length > 0;
    }
}

export class RecordsResponse extends Response {
    /**
     * @param {any} answer
     * @param {any} [request]
     */
    constructor(answer, request = {}) {
        // Answers to a save leave out the zone, without which a record could not be saved back into it.
        const zone = request.zoneID ? { zoneID: request.zoneID } : {};
        const { found, errors } = parted(answer.records, (record) => ({ ...zone, ...plainRecord(record) }));
        super(errors);
        this.isRecordsResponse = true;
        this.records = found;
        this.numbersAsStrings = request.numbersAsStrings ?? false;
    }
}

export class QueryResponse extends RecordsResponse {
    /**
     * @param {any} answer
     * @param {any} request
     */
    constructor(answer, request) {
        super(answer, request);
        this.isQueryResponse = true;
        this.query = request.query;
        this.zoneID = request.zoneID;
        this.zoneWide = request.zoneWide;
        this.resultsLimit = request.resultsLimit;
        this.desiredKeys = request.desiredKeys;
        this.continuationMarker = answer.continuationMarker;
        this.moreComing = answer.continuationMarker !== undefined;
    }
}

export class RecordZonesResponse extends Response {
    /** @param {any} answer */
    constructor(answer) {
        const { found, errors } = parted(answer.zones);
        super(errors);
        this.isRecordZonesResponse = true;
        this.zones = found;
    }
}

export class SubscriptionsResponse extends Response {
    /** @param {any} answer */
    constructor(answer) {
        const { found, errors } = parted(answer.subscriptions);
        super(errors);
        this.isSubscriptionsResponse = true;
        this.subscriptions = found;
    }
}

export class UserIdentitiesResponse extends Response {
    /** @param {any} answer */
    constructor(answer) {
        const { found, errors } = parted(answer.users);
        super(errors);
        this.isUserIdentitiesResponse = true;
        this.users = found;
    }
}

export class RecordInfosResponse extends Response {
    /** @param {any} answer */
    constructor(answer) {
        const { found, errors } = parted(answer.results);
        super(errors);
        this.isRecordInfosResponse = true;
        this.results = found;
    }
}

export class DatabaseChangesResponse extends Response {
    /**
     * @param {any} answer
     * @param {any} request
     */
    constructor(answer, request) {
        const { found, errors } = parted(answer.zones);
        super(errors);
        this.isDatabaseChangesResponse = true;
        this.zones = found;
        this.syncToken = answer.syncToken;
        this.moreComing = answer.moreComing ?? false;
        this.resultsLimit = request.resultsLimit;
    }
}

export class RecordZoneChangesResponse extends Response {
    /**
     * @param {any} answer
     * @param {any[]} requested the zones of the request
     */
    constructor(answer, requested) {
        const { found, errors } = parted(answer.zones, (zone) => changesOf(zone, requested));
        super(errors);
        this.isRecordZoneChangesResponse = true;
        this.zones = found;
    }
}

/**
 * The changes of one zone, which can be handed to `fetchRecordZoneChanges` for the next page.
 * @param {any} zone
 * @param {any[]} requested
 */
function changesOf(zone, requested) {
    const { found, errors } = parted(zone.records, plainRecord);
    const { desiredKeys, desiredRecordTypes, resultsLimit, numbersAsStrings } =
        requested.find(({ zoneID }) => zoneID.zoneName === zone.zoneID.zoneName
            && (zoneID.ownerRecordName ?? zone.zoneID.ownerRecordName) === zone.zoneID.ownerRecordName) ?? {};
    return {
        zoneID: zone.zoneID, records: found, errors, syncToken: zone.syncToken, moreComing: zone.moreComing ?? false,
        desiredKeys, desiredRecordTypes, resultsLimit, numbersAsStrings,
    };
}
