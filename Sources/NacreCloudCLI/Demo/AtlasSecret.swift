import CloudKit
import Foundation

/// The demo's note with an encrypted value. It is Cleo's, who saves no pictures: those of a user with keys are
/// encrypted too.
extension AtlasDemo {
    private static let recordID = CKRecord.ID(recordName: "surprise")
    private static let field = "plan"

    /// Saves the note on Cleo's phone. Her tablet, which her recovery words have enrolled, reads it, and the server is
    /// asked for what it has.
    mutating func keepSecret() async throws {
        let (phone, tablet) = (session.cleosApp(on: "phone"), session.cleosApp(on: "tablet"))
        let plan = "run \(report.run): we meet at the old lighthouse"
        let note = CKRecord(recordType: "Surprise", recordID: Self.recordID)
        note["title"] = "For Ada"
        note.encryptedValues[Self.field] = plan
        let saved = try await phone.privateCloudDatabase.modifyRecords(saving: [note], deleting: [], savePolicy: .allKeys)
        guard try saved.saveResults[Self.recordID]?.get() != nil else { throw DemoFailure("Cleo's note was not answered for") }
        // An earlier run may have enrolled the tablet.
        if try await tablet.userKeys().status().keys != .here {
            let words = try await phone.userKeys().recoveryWords().words.joined(separator: " ")
            try await tablet.userKeys().enrol(words: words)
        }
        let read = try await tablet.privateCloudDatabase.record(for: Self.recordID)
        guard read["title"] as? String == "For Ada", read.encryptedValues[Self.field] as? String == plan else {
            throw DemoFailure("Cleo's tablet does not read the note that her phone saved")
        }
        let kept = Data(try await session.sealedBytes(of: Self.field, inCleos: Self.recordID.recordName))
        guard !kept.isEmpty, kept.range(of: Data(plan.utf8)) == nil else { throw DemoFailure("the server keeps Cleo's plan as it is") }
        report.sealedBytes = kept.count
        let end = kept.suffix(8).map { String(format: "%02x", $0) }.joined()
        try timeline.say(
            "Cleo's phone encrypted her plan, and her tablet read it; the server keeps \(kept.count) bytes that end with \(end)")
    }
}
