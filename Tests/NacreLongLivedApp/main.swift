import CloudKit
import NacreCrypto

// An app that a test kills: `save` adds one long-lived operation with notes of three zones and a photo in each zone's
// first, and `resume` is its next launch. `leave` ends while its threads use OpenSSL. It prints a line for each block
// that is called. Its settings come from its environment, as for any app.

let database = CKContainer.default().privateCloudDatabase

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func word(_ result: Result<some Any, any Error>) -> String {
    switch result {
    case .success: "ok"
    case .failure(let error): (error as? CKError).map { "\($0.code)" } ?? "\(error)"
    }
}

func hear(_ operation: CKModifyRecordsOperation) {
    operation.perRecordSaveBlock = { recordID, result in say("saved \(recordID.zoneID.zoneName)/\(recordID.recordName) \(word(result))") }
    operation.modifyRecordsResultBlock = { result in say("end \(word(result))") }
}

func finish(_ operation: CKModifyRecordsOperation) async {
    await withCheckedContinuation { continuation in
        operation.completionBlock = { continuation.resume() }
        CKContainer.default().add(operation)
    }
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "save" where arguments.count == 4:
    let (folder, count) = (arguments[2], Int(arguments[3]) ?? 0)
    var notes: [CKRecord] = []
    for zone in ["A", "B", "C"] {
        for number in 0..<count {
            let recordID = CKRecord.ID(recordName: "note\(number)", zoneID: CKRecordZone.ID(zoneName: zone))
            let note = CKRecord(recordType: "Note", recordID: recordID)
            note["text"] = "\(zone) \(number)"
            if number == 0 { note["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "\(folder)/\(zone)")) }
            notes.append(note)
        }
    }
    let operation = CKModifyRecordsOperation(recordsToSave: notes)
    operation.configuration.isLongLived = true
    operation.configuration.qualityOfService = .utility
    operation.longLivedOperationWasPersistedBlock = { say("kept") }
    hear(operation)
    await finish(operation)
case "resume":
    for id in try await CKContainer.default().allLongLivedOperationIDs() {
        guard let operation = try await CKContainer.default().longLivedOperation(for: id) as? CKModifyRecordsOperation else { continue }
        say("found")
        hear(operation)
        await finish(operation)
    }
    say("left \(try await CKContainer.default().allLongLivedOperationIDs().count)")
case "leave":
    for _ in 0..<4 {
        Thread.detachNewThread {
            while true { _ = try? SecureRandom.bytes(32) }
        }
    }
    try await Task.sleep(for: .milliseconds(5))
default:
    say("usage: save FOLDER COUNT | resume | leave")
}
