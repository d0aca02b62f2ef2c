import NacreCloudWire
import Testing

@testable import NacreCloudTorture

/// Tests of the check of cascades, page by page.
@Suite struct FamilyCheckTests {
    private enum Change {
        case save(String, on: String? = nil)
        case gone(String)
    }

    private struct Page {
        var changes: [Change]
        var moreComing = false
        var isMidCommit = false
    }

    private func violations(_ pages: Page...) -> Set<Violation.Kind> {
        var check = FamilyCheck()
        do {
            for page in pages {
                let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 0), userRecordName: "_ann")
                let records = page.changes.map { change -> RecordResult in
                    switch change {
                    case .gone(let name): return .deleted(Tombstone(recordName: name, recordType: FamilyForm.recordType))
                    case .save(let name, let owner):
                        return .record(
                            Record(
                                recordName: name, recordType: FamilyForm.recordType, recordChangeTag: "1", created: stamp, modified: stamp,
                                fields: FamilyForm.save(name, on: owner).change.set))
                    }
                }
                try check.take(
                    ChangesZoneResponse.Page(
                        zoneID: ZoneID(zoneName: "Z"), records: records, syncToken: "t", moreComing: page.moreComing, isMidCommit: page.isMidCommit))
            }
            return []
        } catch let violation as Violation {
            return [violation.kind]
        } catch {
            return [.unexpectedAnswer]
        }
    }

    @Test func `a cascade in one page is as it should be`() {
        #expect(
            violations(Page(changes: [.save("r"), .save("a", on: "r"), .save("b", on: "a")]), Page(changes: [.gone("r"), .gone("a"), .gone("b")]))
                == [])
        #expect(violations(Page(changes: [.save("r"), .save("a", on: "r")]), Page(changes: [.gone("a")])) == [])
    }

    @Test func `one that is left behind is an orphan, and so is one that comes without its owner`() {
        #expect(violations(Page(changes: [.save("r"), .save("a", on: "r")]), Page(changes: [.gone("r")])) == [.orphan])
        #expect(
            violations(Page(changes: [.save("r"), .save("a", on: "r"), .save("b", on: "a")]), Page(changes: [.gone("r"), .gone("a")])) == [.orphan])
        #expect(violations(Page(changes: [.save("a", on: "r")])) == [.orphan])
    }

    @Test func `one that goes in a later commit is an orphan until then, even if more is coming`() {
        let start = Page(changes: [.save("r"), .save("a", on: "r")])
        #expect(violations(start, Page(changes: [.gone("r")], moreComing: true), Page(changes: [.gone("a")])) == [.orphan])
        #expect(violations(start, Page(changes: [.gone("r")], moreComing: true, isMidCommit: true), Page(changes: [.gone("a")])) == [])
    }

    @Test func `an owner that changed last comes after those that hang on it`() {
        #expect(violations(Page(changes: [.save("a", on: "r")], moreComing: true), Page(changes: [.save("r")])) == [])
    }
}
