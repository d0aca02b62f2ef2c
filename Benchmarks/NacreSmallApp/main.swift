import CloudKit

// The README's first save, as an app: `app_size.py` measures the built program.
let database = CKContainer.default().privateCloudDatabase
let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries", zoneID: zone.zoneID))
note["text"] = "bread, olives"
_ = try await database.save(note)
