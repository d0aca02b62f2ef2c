/** Notes and the engine: what the server has comes into the store, and what the store has goes to the server. */

import * as notes from "./store.js";

const zoneID = "Notes";

/** A pending change of a note. */
export const pending = (name, type = "saveRecord") => ({ pendingRecordZoneChanges: [{ type, recordID: { recordName: name, zoneID } }] });

/** Tells the engine of all notes that the server has not taken: a page that was closed at once has not done so. */
export async function addUnsent(state) {
    for (const { name, isDirty, isDeleted } of await notes.all()) {
        if (isDirty) state.add(pending(name, isDeleted ? "deleteRecord" : "saveRecord"));
    }
}

/** Takes the server's version of a note. What was written here since stays, and is sent. */
const merge = ({ recordName, recordChangeTag: tag, fields }) => notes.change(recordName, (own) => {
    const text = fields.text?.value ?? "";
    // The engine tells of this browser's own changes, too.
    if (own?.isDeleted || own?.tag === tag) return undefined;
    return own?.isDirty ? { ...own, tag, text: notes.merged(text, own.text) } : { tag, text, at: fields.at?.value ?? 0 };
});

/** Notes that the server has a version. What was written while it was on its way is sent still. */
const sent = ({ recordName, recordChangeTag: tag, fields }) => notes.change(recordName, (own) => (
    own && { ...own, tag, isDirty: own.isDeleted || own.text !== fields.text?.value }));

/** Mends what the server has refused. */
async function mend({ recordName }, { ckErrorCode, serverRecord }, state) {
    if (ckErrorCode === "CONFLICT") {
        await merge(serverRecord);
    } else if (ckErrorCode === "ZONE_NOT_FOUND") {
        await notes.change(recordName, (own) => own && { ...own, tag: undefined });
        state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID }] });
    } else {
        // Another device has deleted it.
        if (ckErrorCode === "NOT_FOUND") await notes.remove(recordName);
        return;
    }
    state.add(pending(recordName));
}

export const delegate = {
    async handleEvent(event, { state }) {
        switch (event.type) {
            case "accountChange":
                if (event.changeType !== "signIn") await notes.clear();
                if (!event.currentUser) break;
                state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID }] });
                await addUnsent(state);
                break;
            case "fetchedDatabaseChanges":
                if (event.deletions.some((one) => one.zoneID.zoneName === zoneID)) await notes.clear();
                break;
            case "fetchedRecordZoneChanges":
                for (const { record } of event.modifications) await merge(record);
                for (const { recordID } of event.deletions) await notes.remove(recordID.recordName);
                break;
            case "sentRecordZoneChanges":
                for (const record of event.savedRecords) await sent(record);
                for (const { recordName } of event.deletedRecordIDs) await notes.remove(recordName);
                for (const { record, error } of event.failedRecordSaves) await mend(record, error, state);
        }
    },

    nextRecordZoneChangeBatch: ({ options: { scope } }, { state }) => CloudKit.SyncEngine.batch(
        state.pendingRecordZoneChanges.filter((change) => scope.contains(change)),
        async ({ recordName }) => {
            const note = await notes.get(recordName);
            if (!note || note.isDeleted) {
                state.remove(pending(recordName));
                return null;
            }
            const fields = { text: note.text, at: { value: note.at, type: "INT64" } };
            return { recordName, zoneID, recordType: "Note", recordChangeTag: note.tag, fields };
        },
    ),
};
