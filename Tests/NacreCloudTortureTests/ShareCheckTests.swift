import NacreCloudWire
import Testing

@testable import NacreCloudTorture

/// Tests of the check of shared zones: what each user may see, and each kind of wrong copy.
@Suite struct ShareCheckTests {
    private static let ben = "_ben"

    private static func record(
        _ name: String, tag: String = "1", below parent: String? = nil, share: String? = nil, sharing: ShareDetails? = nil
    ) -> Record {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 0), userRecordName: "_ann")
        func link(_ name: String) -> Reference { Reference(recordName: name, action: .none) }
        return Record(
            recordName: name, recordType: "T", recordChangeTag: tag, created: stamp, modified: stamp, parent: parent.map(link),
            share: share.map(link), sharing: sharing.map(Box.init), fields: RecordFields())
    }

    private static func share(
        _ name: String, _ permission: SharePermission = .readOnly, _ acceptance: ParticipantAcceptance = .accepted,
        _ role: ParticipantRole = .privateUser, open: SharePermission = .none
    ) -> Record {
        let owner = ShareParticipant(
            identity: ParticipantIdentity(userRecordName: "_ann"), role: .owner, permission: .readWrite, acceptance: .accepted)
        let guest = ShareParticipant(identity: ParticipantIdentity(userRecordName: ben), role: role, permission: permission, acceptance: acceptance)
        return record(
            name,
            sharing: ShareDetails(shortGUID: name, publicPermission: open, participants: [owner, guest], owner: owner, currentUserParticipant: nil))
    }

    private static func check(_ records: [Record]) -> ShareCheck {
        ShareCheck(Dictionary(records.map { ($0.recordName, $0) }) { $1 })
    }

    private static let tree = [
        record("root", below: "above", share: "S"), record("child", below: "root"), record("leaf", below: "child"), record("above"),
        record("free"), record("a", below: "b"), record("b", below: "a"),
    ]

    @Test func `a guest sees what hangs on a shared root, once they have accepted and as long as they may read`() {
        let whole: Set = ["S", "root", "child", "leaf"]
        let rows: [(Record, Set<String>)] = [
            (Self.share("S"), whole), (Self.share("S", .none), []), (Self.share("S", .readWrite, .invited), []),
            (Self.share("S", .none, .accepted, .publicUser, open: .readOnly), whole), (Self.share("S", .readWrite, .accepted, .publicUser), []),
            (Self.share("D"), ["D"]),
        ]
        for (share, seen) in rows {
            let check = Self.check(Self.tree + [share])
            #expect(check.seen(by: Self.ben) == seen)
            #expect(check.takesPart(Self.ben) == !seen.isEmpty)
            #expect(check.seen(by: "_eve") == [])
        }
    }

    @Test func `who takes part in a zone sees all of it`() {
        let records = Self.tree.filter { $0.share == nil } + [Self.share(ShareNames.ofZone)]
        #expect(Self.check(records).seen(by: Self.ben) == Set(records.map(\.recordName)))
    }

    @Test func `each way to be wrong has its name`() {
        let records = Self.tree + [Self.share("S")]
        let check = Self.check(records)
        let right = ["S", "root", "child", "leaf"].reduce(into: [String: ShareCheck.Held]()) { held, name in
            var record = records.first { $0.recordName == name }
            if name == "root" { record?.parent = nil }
            held[name] = record.map(ShareCheck.Held.init)
        }
        func kinds(_ change: (inout [String: ShareCheck.Held]) -> Void) -> [Violation.Kind?] {
            var held = right
            change(&held)
            return [ShareCheck.Way.changes, .lookup].map { check.violation(of: held, by: Self.ben, $0)?.kind }
        }
        #expect(kinds { _ in } == [nil, nil])
        #expect(kinds { $0["free"] = ShareCheck.Held(Self.record("free")) } == [.skippedChange, .leaked])
        #expect(kinds { $0["leaf"] = nil } == [.skippedChange, .wrongFinalState])
        #expect(kinds { $0["leaf"]?.tag = "0" } == [.skippedChange, .staleRead])
        #expect(kinds { $0["root"]?.parent = "above" } == [.leaked, .leaked])
    }
}
