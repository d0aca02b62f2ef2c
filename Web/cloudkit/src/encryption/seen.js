/** The versions of records that this page has seen, and the fields that it knows as encrypted. */

/** @typedef {import("./records.js").Version} Version */
/** @typedef {{ version: Version, created: number, moment: number }} Note */

/** The most records, and the most fields, that are kept. Older ones are forgotten. */
const entriesMax = 10_000;
/** The most versions of a record. The oldest stays: it holds against answers that were asked for long ago. */
const notesMax = 8;

/**
 * @param {{ size: number, keys(): Iterator<any>, delete(key: any): boolean }} entries
 */
function dropOldest(entries) {
    if (entries.size > entriesMax) entries.delete(entries.keys().next().value);
}

export class SeenRecords {
    /**
     * The number of versions that were noted. An answer is held only against those that were noted before it was asked
     * for: it may be older than what another request has seen meanwhile.
     */
    moment = 1;
    /** @type {Map<string, { zone: string, notes: Note[] }>} the last versions of each record, the newest last */
    #records = new Map();
    /** @type {Set<string>} */
    #fields = new Set();

    /**
     * The newest version that was noted before a moment, and the date at which the record was created.
     * @param {string} zone
     * @param {string} recordName
     * @param {number} moment
     * @returns {Note | undefined}
     */
    note(zone, recordName, moment) {
        const notes = this.#records.get(JSON.stringify([zone, recordName]))?.notes ?? [];
        return [...notes].reverse().find((note) => note.moment < moment);
    }

    /**
     * @param {string} type
     * @param {string} field
     */
    isEncrypted(type, field) {
        return this.#fields.has(JSON.stringify([type, field]));
    }

    /**
     * Notes a version whose manifest was checked, if it is later than the one that is known.
     * @param {string} zone
     * @param {any} record
     * @param {import("./scope.js").RecordManifest} manifest
     * @param {Version} version
     */
    add(zone, { recordName, recordType, created }, manifest, version) {
        const id = JSON.stringify([zone, recordName]);
        const notes = this.#records.get(id)?.notes ?? [];
        const last = notes[notes.length - 1]?.version;
        if (!last || last.scope !== version.scope || last.stamp < version.stamp) {
            const note = { version, created: created?.timestamp ?? 0, moment: this.moment };
            this.#records.delete(id);
            this.#records.set(id, { zone, notes: notes.length < notesMax ? [...notes, note] : [notes[0], ...notes.slice(2), note] });
            this.moment += 1;
            dropOldest(this.#records);
        }
        for (const { name } of manifest.parts.fields) {
            this.#fields.add(JSON.stringify([recordType, name]));
            dropOldest(this.#fields);
        }
    }

    /**
     * Forgets a record that was deleted: one of its name may begin anew.
     * @param {string} zone
     * @param {string} recordName
     */
    forget(zone, recordName) {
        this.#records.delete(JSON.stringify([zone, recordName]));
    }

    /**
     * Forgets the records of a zone that was deleted.
     * @param {string} zone
     */
    forgetZone(zone) {
        for (const [id, entry] of this.#records) if (entry.zone === zone) this.#records.delete(id);
    }
}
