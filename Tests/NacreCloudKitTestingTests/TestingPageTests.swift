import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Runs the code that `docs/testing.md` shows.
@Suite struct TestingPageTests {
    // begin of the page's code
    @Test func `a note outlives a server that is busy`() async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice").privateCloudDatabase
        let pad = try await cloud.signIn("alice", device: "pad").privateCloudDatabase
        let zone = try await phone.save(CKRecordZone(zoneName: "Notes"))

        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries", zoneID: zone.zoneID))
        note["text"] = "bread, olives"
        cloud.fail(next: 3, .modifyRecords, by: "alice", inZone: "Notes", with: .requestRateLimited(retryAfter: 2))
        var waited = 0.0
        while true {
            do {
                _ = try await phone.save(note)
                break
            } catch let error as CKError where error.code == .requestRateLimited {
                waited += error.retryAfterSeconds ?? 0
                await cloud.advance(by: error.retryAfterSeconds ?? 0)
            }
        }

        #expect(waited == 6)
        #expect(cloud.pendingFaults.isEmpty)
        #expect(try await pad.record(for: note.recordID)["text"] as? String == "bread, olives")
        #expect(
            try await cloud.snapshot() == """
                users: alice
                private of alice
                  Notes
                    Note groceries
                      text = "bread, olives"

                """)
    }
    // end of the page's code

    @Test func `the page shows the test above, word for word`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/testing.md"), encoding: .utf8)
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let start = try #require(source.range(of: "    // begin of the page's code\n"))
        let end = try #require(source.range(of: "    // end of the page's code\n"))
        let code = source[start.upperBound..<end.lowerBound].split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n")
        #expect(page.contains("```swift\nimport CloudKit\nimport CloudKitTesting\nimport Testing\n\n\(code)```\n"))
    }
}
