import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of every operation on every state of a record, in every place, against a separate table of the rules.
@Suite struct RecordVerdictTests {
    enum Existing: CaseIterable { case missing, tombstone, live }
    enum Tag: CaseIterable { case none, same, other }
    enum Kind: CaseIterable { case absent, given, other }
    enum Place: CaseIterable { case privately, publicOwn, publicOthers }

    struct Cell: CustomTestStringConvertible {
        var operation: NacreCloudWire.OperationType
        var existing: Existing
        var tag: Tag
        var kind: Kind
        var place: Place
        var environment: DatabaseKey.Environment
        var testDescription: String { "\(operation) over \(existing), tag \(tag), type \(kind), \(place), \(environment)" }
    }

    static let table: [Cell] = NacreCloudWire.OperationType.allCases.flatMap { operation in
        Existing.allCases.flatMap { existing in
            Tag.allCases.flatMap { tag in
                Kind.allCases.flatMap { kind in
                    Place.allCases.flatMap { place in
                        DatabaseKey.Environment.allCases.map { environment in
                            Cell(operation: operation, existing: existing, tag: tag, kind: kind, place: place, environment: environment)
                        }
                    }
                }
            }
        }
    }

    enum Answer: Hashable {
        case makes, changes, clearsAndChanges, deletes, nothing
        case refuses(ServerErrorCode, String)
    }

    /// Returns the verdict by the rules, in the order of the reference.
    private func expected(_ cell: Cell) -> Answer {
        let live = cell.existing == .live
        switch cell.operation {
        case .create where live: return .refuses(.conflict, "record to insert already exists")
        case .update where !live, .replace where !live, .delete where !live: return .refuses(.notFound, "Record not found")
        case .update where cell.tag == .none, .replace where cell.tag == .none: return .refuses(.badRequest, "missing required field")
        case .update where cell.tag == .other, .replace where cell.tag == .other, .delete where cell.tag == .other:
            return .refuses(.conflict, "client oplock error updating record")
        default: break
        }
        if live, cell.place == .publicOthers { return .refuses(.accessDenied, "WRITE operation not permitted") }
        if cell.operation.isDelete { return live ? .deletes : .nothing }
        if live {
            if cell.kind == .other { return .refuses(.badRequest, "record type cannot be changed") }
            return cell.operation == .replace || cell.operation == .forceReplace ? .clearsAndChanges : .changes
        }
        if cell.kind == .absent { return .refuses(.badRequest, "missing required field") }
        let type = cell.kind == .other ? "Other" : "Note"
        let isUnknown = cell.environment == .production && type == "Other"
        return isUnknown ? .refuses(.badRequest, "Cannot create new type Other in production schema") : .makes
    }

    private func existing(_ cell: Cell) -> StoredRecord? {
        guard cell.existing != .missing else { return nil }
        let creator = cell.place == .publicOthers ? "_bob" : "_ann"
        let fields: RecordFields = cell.existing == .live ? ["a": .int64(1), "b": .int64(2), "c": .int64(3)] : [:]
        return .sample("r", seq: 7, by: creator, isTombstone: cell.existing == .tombstone, fields: fields)
    }

    /// A schema with `Note`, and no other type.
    private let schema: Schema = {
        var schema = Schema()
        var additions = SchemaAdditions()
        additions.add(["a", "b", "c", "d"].reduce(into: [:]) { $0[$1] = FieldShape(.int64) }, to: "Note")
        schema.add(additions)
        return schema
    }()

    @Test(arguments: table) func `each operation over each state`(cell: Cell) {
        let tag: String? =
            switch cell.tag {
            case .none: nil
            case .same: ChangeTag.text(ChangeNumber(run: 1, seq: 7))
            case .other: ChangeTag.text(ChangeNumber(run: 1, seq: 6))
            }
        let type: String? =
            switch cell.kind {
            case .absent: nil
            case .given: "Note"
            case .other: "Other"
            }
        let operation = RecordOperation.make(cell.operation, "r", type: type, tag: tag, ["a": .int64(10), "d": .int64(4)], cleared: ["b"])
        let before = existing(cell)
        let setting = RecordSetting(
            scope: cell.place == .privately ? .private : .public, environment: cell.environment, caller: Caller(.user("_ann"), client: .framework),
            schema: schema)
        let verdict = RecordVerdict(operation, over: before, in: setting)
        check(verdict, is: expected(cell), over: before)
    }

    private func check(_ verdict: RecordVerdict, is expected: Answer, over before: StoredRecord?) {
        switch (verdict, expected) {
        case (.save(let save), .makes):
            #expect(save.over == before)
            #expect(save.fields["d"] == .int64(4) && save.fields["a"] == .int64(10) && save.fields.count == 2)
        case (.save(let save), .changes):
            #expect(save.over == before && save.type == "Note")
            #expect(save.fields == ["a": .int64(10), "c": .int64(3), "d": .int64(4)])
        case (.save(let save), .clearsAndChanges):
            #expect(save.over == before && save.type == "Note")
            #expect(save.fields == ["a": .int64(10), "d": .int64(4)])
        case (.delete, .deletes), (.nothing, .nothing): break
        case (.refuse(let error), .refuses(let code, let reason)):
            #expect(error.code == code && error.reason == reason)
            #expect(error.serverRecord == nil, "what of the server's record is shown is another rule's affair")
        default: Issue.record("\(verdict) and not \(expected)")
        }
    }
}

/// Tests of cases that the table does not vary.
@Suite struct RecordVerdictEdgeTests {
    private let here = RecordSetting(scope: .private, environment: .development, caller: Caller(.user("_ann"), client: .framework))

    private func refusal(_ operation: RecordOperation, over existing: StoredRecord? = nil, in setting: RecordSetting? = nil) -> ServerError? {
        if case .refuse(let error) = RecordVerdict(operation, over: existing, in: setting ?? here) { error } else { nil }
    }

    @Test func `types that CloudKit keeps for itself are not made`() {
        #expect(refusal(.make(.create, "r", type: "Users"))?.code == .accessDenied)
        #expect(refusal(.make(.create, "r", type: "cloudkit.share")) == .shareNeedsZoneName)
        #expect(refusal(.make(.create, "r", type: "No te"))?.field == "recordType")
    }

    @Test(arguments: NacreCloudWire.OperationType.allCases.filter { !$0.isDelete }) func `a record of more than 1 MB is refused`(
        type: NacreCloudWire.OperationType
    ) {
        let needsRecord = type == .update || type == .replace
        let existing = needsRecord ? StoredRecord.sample("r", seq: 1) : nil
        func save(_ bytes: Int) -> ServerError? {
            refusal(.make(type, "r", tag: "1", ["f": .bytes([UInt8](repeating: 0, count: bytes))]), over: existing)
        }
        // The name of the field is a byte.
        #expect(save(999_999) == nil)
        #expect(save(1_000_000) == .recordTooLarge)
    }

    @Test func `what stays of a record counts to its size`() {
        let half = FieldValue.bytes([UInt8](repeating: 0, count: 600_000))
        let existing = StoredRecord.sample("r", seq: 1, fields: ["a": half])
        #expect(refusal(.make(.forceUpdate, "r", ["b": half]), over: existing) == .recordTooLarge)
        #expect(refusal(.make(.forceReplace, "r", ["b": half]), over: existing) == nil)
        #expect(refusal(.make(.forceUpdate, "r", ["b": half], cleared: ["a"]), over: existing) == nil)
    }

    @Test(arguments: ["_a", "1a", "a b", ""]) func `a field of a bad name is refused, set or cleared`(name: String) {
        #expect(refusal(.make(.create, "r", [name: .int64(1)]))?.field == name)
        #expect(refusal(.make(.create, "r", cleared: [name]))?.field == name)
    }

    @Test func `encrypted values are not for the public database`() {
        let sealed = FieldValue.sealed(SealedValue(type: .string, keyID: "k", bytes: [1]))
        let publicly = RecordSetting(scope: .public, environment: .development, caller: Caller(.user("_ann"), client: .framework))
        #expect(refusal(.make(.create, "r", ["s": sealed])) == .keyIsNotNewest("s"), "the zone has no scope")
        let error = refusal(.make(.create, "r", ["s": sealed]), in: publicly)
        #expect(error?.reason == "encrypted fields are not supported in the public database" && error?.field == "s")
    }

    @Test func `a parent is kept, set or cleared, and a record made again has none`() {
        func parent(_ change: RecordChange.ParentChange, over existing: StoredRecord?) -> String?? {
            guard case .save(let save) = RecordVerdict(.make(.forceUpdate, "r", parent: change), over: existing, in: here) else { return .none }
            return .some(save.parent)
        }
        let child = StoredRecord.sample("r", seq: 1, parent: "p")
        #expect(parent(.keep, over: child) == .some("p"))
        #expect(parent(.set(Reference(recordName: "q", action: .none)), over: child) == .some("q"))
        #expect(parent(.clear, over: child) == .some(nil))
        #expect(parent(.keep, over: .sample("r", seq: 1, isTombstone: true)) == .some(nil))
        #expect(parent(.keep, over: nil) == .some(nil))
    }
}

extension ZoneAddress {
    static let sample = ZoneAddress(database: DatabaseID(rawValue: 1), zone: 2)
}

extension StoredRecord {
    static func sample(
        _ name: String, type: String = "Note", seq: Int64, by creator: String = "_ann", in zone: ZoneAddress = .sample, isTombstone: Bool = false,
        parent: String? = nil, fields: RecordFields = [:]
    ) -> StoredRecord {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: creator)
        let number = ChangeNumber(run: 1, seq: seq)
        let content = RecordContent(created: stamp, modified: stamp, entered: number, fields: fields)
        let body = RecordBody.encode(content, in: zone, name: name, type: type, number: number, isTombstone: isTombstone, parent: parent)
        return StoredRecord(
            row: RecordRow(name: name, type: type, number: number, isTombstone: isTombstone, parent: parent, body: body), content: content)
    }
}
