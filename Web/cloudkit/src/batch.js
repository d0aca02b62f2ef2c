/** A batch of operations on records, which is one request. */

import { invalid } from "./error.js";
import { list, namedRecordOf, recordOf } from "./values.js";

export class RecordsBatchBuilder {
    /** @type {{ operationType: string, record: any, desiredKeys?: string[] }[]} */
    #operations = [];
    #modify;

    /** @param {(operations: any[]) => Promise<import("./responses.js").RecordsResponse>} modify saves the operations */
    constructor(modify) {
        this.#modify = modify;
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    create(records, options) {
        return this.#add("create", list(records).map(recordOf), options);
    }

    /**
     * Updates the records that have a change tag, and creates the others.
     * @param {any} records
     * @param {any} [options]
     */
    createOrUpdate(records, options) {
        for (const record of list(records).map(recordOf)) this.#add(record.recordChangeTag ? "update" : "create", [record], options);
        return this;
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    update(records, options) {
        return this.#add("update", list(records).map(namedRecordOf), options);
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    forceUpdate(records, options) {
        return this.#add("forceUpdate", list(records).map(recordOf), options);
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    replace(records, options) {
        return this.#add("replace", list(records).map(namedRecordOf), options);
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    forceReplace(records, options) {
        return this.#add("forceReplace", list(records).map(recordOf), options);
    }

    /** @param {any} records records, or names */
    delete(records) {
        return this.#add("delete", list(records).map(deleted));
    }

    /** @param {any} records records, or names */
    forceDelete(records) {
        return this.#add("forceDelete", list(records).map(deleted));
    }

    /** Sends the operations, in their order. */
    commit() {
        return this.#modify([...this.#operations]);
    }

    /**
     * @param {string} operationType
     * @param {any[]} records
     * @param {any} [options]
     */
    #add(operationType, records, options) {
        const desiredKeys = options?.desiredKeys ?? options?.desiredKey;
        if (desiredKeys !== undefined && !Array.isArray(desiredKeys)) throw invalid("desiredKeys is an array of names");
        for (const record of records) this.#operations.push({ operationType, record, desiredKeys });
        return this;
    }
}

/**
 * Takes the members of a record that a deletion has.
 * @param {any} value
 */
function deleted(value) {
    const { recordName, recordChangeTag, zoneID } = namedRecordOf(value);
    return { recordName, recordChangeTag, zoneID };
}
