import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the meaning of values that a client sends back as it was shown them.
@Suite struct ShownRecordTests {
    private static let whole = Timestamp(millisecondsSince1970: 1_678_307_200_123)
    private static let exact = whole + 0.000_25
    private static let later = whole + 0.001
    private static let key = SealedValue(type: .string, keyID: "k", bytes: [1, 2])

    private static func place(_ timestamp: Timestamp?, latitude: Double = 48) -> Location {
        Location(latitude: latitude, longitude: 11, timestamp: timestamp)
    }

    /// The stored value, the one that a client without details sends, and the meaning.
    private static let rows: [(there: FieldValue?, sent: FieldValue, meant: FieldValue)] = [
        (.timestamp(exact), .timestamp(whole), .timestamp(exact)),
        (.timestamp(exact), .timestamp(later), .timestamp(later)),
        (.timestampList([exact, later]), .timestampList([whole, later]), .timestampList([exact, later])),
        (.timestampList([exact, later]), .timestampList([whole]), .timestampList([whole])),
        (.timestampList([exact, later]), .timestampList([later, whole]), .timestampList([later, whole])),
        (.location(place(exact)), .location(place(whole)), .location(place(exact))),
        (.location(place(exact)), .location(place(whole, latitude: 49)), .location(place(whole, latitude: 49))),
        (.location(place(exact)), .location(place(nil)), .location(place(nil))),
        (.location(place(nil)), .location(place(nil)), .location(place(nil))),
        (.locationList([place(exact), place(nil)]), .locationList([place(whole), place(nil)]), .locationList([place(exact), place(nil)])),
        (.sealed(key), .sealed(SealedValue(type: .string, keyID: nil, bytes: [1, 2])), .sealed(key)),
        (
            .sealed(key), .sealed(SealedValue(type: .string, keyID: nil, bytes: [1, 3])),
            .sealed(SealedValue(type: .string, keyID: nil, bytes: [1, 3]))
        ),
        (
            .sealed(key), .sealed(SealedValue(type: .string, keyID: "other", bytes: [1, 2])),
            .sealed(SealedValue(type: .string, keyID: "other", bytes: [1, 2]))
        ),
        (.double(1.5), .timestamp(whole), .timestamp(whole)), (.double(0.1 + 0.2), .double(0.3), .double(0.3)),
        (nil, .timestamp(whole), .timestamp(whole)),
    ]

    @Test func `a value that shows as the one that is there is that one`() {
        for (there, sent, meant) in Self.rows {
            var fields: RecordFields = ["f": sent, "other": .int64(1)]
            var known: RecordFields = [:]
            known["f"] = there
            fields.restore(from: known)
            #expect(fields == ["f": meant, "other": .int64(1)])
        }
    }

    @Test func `who is shown everything means what it sends`() {
        func saved(_ seesDetails: Bool) -> FieldValue? {
            let stamp = Record.Stamp(timestamp: Self.whole, userRecordName: "_ann")
            let number = ChangeNumber(run: 1, seq: 1)
            let live = StoredRecord(
                row: RecordRow(name: "r", type: "T", number: number, isTombstone: false, parent: nil, body: []),
                content: RecordContent(created: stamp, modified: stamp, entered: number, fields: ["f": .timestamp(Self.exact)]))
            var setting = RecordSetting(scope: .private, environment: .development, caller: Caller(.user("_ann"), client: .framework))
            setting.seesDetails = seesDetails
            let verdict = RecordVerdict(.make(.forceUpdate, "r", type: "T", ["f": .timestamp(Self.whole)]), over: live, in: setting)
            guard case .save(let save) = verdict else { return nil }
            return save.fields["f"]
        }
        #expect(saved(true) == .timestamp(Self.whole))
        #expect(saved(false) == .timestamp(Self.exact))
    }

    @Test func `a record is shown with its zone, and so is all that it refers to`() throws {
        let stamp = Record.Stamp(timestamp: Self.whole, userRecordName: "_ann")
        let link = Reference(recordName: "a", action: .validate)
        let fields: RecordFields = ["l": .referenceList([link, link]), "n": .int64(1), "r": .reference(link)]
        let stored = StoredRecord(
            row: RecordRow(name: "r", type: "T", number: ChangeNumber(run: 1, seq: 1), isTombstone: false, parent: "p", body: []),
            content: RecordContent(created: stamp, modified: stamp, entered: ChangeNumber(run: 1, seq: 1), fields: fields))
        let zone = ZoneID(zoneName: "Z", ownerRecordName: "_ann")
        let showing = ShownRecords(
            zoneID: zone, database: DatabaseKey(container: "c", environment: .development, scope: .private, owner: "_ann"),
            caller: Caller(.user("_ann")), rule: .everything, databaseID: DatabaseID(rawValue: 1),
            links: AssetLinks(tokens: AssetTokens(seals: PlainTokens()), clock: { Timestamp(secondsSince2001: 0) }))
        var zoned = link
        zoned.zoneID = zone
        let shown = try #require(showing.record(stored, keys: nil))
        #expect(shown.fields == ["l": .referenceList([zoned, zoned]), "n": .int64(1), "r": .reference(zoned)])
        #expect(shown.parent?.zoneID == nil && shown.zoneID == zone && shown.share == nil)
        #expect(showing.error(.recordChanged, on: stored).serverRecord?.value == shown)
        #expect(showing.error(.recordNotFound, on: stored).serverRecord == nil, "only a conflict carries the server's record")
    }

    @Test(arguments: Engine.ofRules) func `what is kept of a reference knows no spelling of its zone`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        func save(_ name: String, _ zone: ZoneID?) async throws {
            let link = Reference(recordName: "a", action: .none, zoneID: zone)
            try await ann.modify([.create(name, ["l": .referenceList([link]), "r": .reference(link)])], zone: "Z")
        }
        let spellings: [ZoneID?] = [nil, ZoneID(zoneName: "Z"), ZoneID(zoneName: "Z", ownerRecordName: "_ann")]
        for (index, zone) in spellings.enumerated() { try await save("r\(index)", zone) }
        let id = try await ann.cloud.databaseID(databaseVerdict(ann.target, for: .read, by: ann.caller).get())
        let fields = try await ann.cloud.store.read { transaction in
            let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
            return try transaction.records(in: zone.address, named: ["r0", "r1", "r2"]).map { StoredRecord($0, in: zone.address).content.fields }
        }
        let bare = Reference(recordName: "a", action: .none)
        #expect(fields == Array(repeating: ["l": .referenceList([bare]), "r": .reference(bare)], count: 3))
    }
}
