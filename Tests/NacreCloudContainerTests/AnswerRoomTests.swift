import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that an answer has a limited size, and that no more bytes of records are in memory.
@Suite struct AnswerRoomTests {
    private static let text = FieldValue.string(String(repeating: "x", count: 950_000))
    private static let names = (0..<12).map { "r\($0)" }

    private func large(_ engine: Engine, zones: [String] = ["Z"]) async throws -> TestCloudUser {
        let ann = try await TestCloud(engine).user("_ann")
        for zone in zones {
            try await ann.makeZone(zone)
            for name in Self.names { try await ann.modify([.make(.create, name, ["text": Self.text])], zone: zone) }
        }
        return ann
    }

    private func error(_ body: () async throws -> Void) async -> ServerError? {
        do {
            try await body()
            return nil
        } catch { return error as? ServerError }
    }

    @Test(arguments: Engine.ofRules)
    func `a lookup of more than one answer holds is refused whole, and its halves are answered`(engine: Engine) async throws {
        let ann = try await large(engine)
        let refusal = await error { _ = try await ann.lookup(Self.names, zone: "Z") }
        #expect(refusal == .answerTooLarge)
        #expect(refusal?.nativeCode == NativeErrorCode.limitExceeded.rawValue && refusal?.reason.contains("8000000") == true)
        for half in [Self.names.prefix(6), Self.names.suffix(6)] {
            #expect(try await ann.lookup(Array(half), zone: "Z").allSatisfy { $0.record?.fields["text"] == Self.text })
        }
    }

    @Test(arguments: Engine.ofRules)
    func `a modify of more than one answer holds is refused whole, nothing of it is done, and deletions do not count`(engine: Engine) async throws {
        let ann = try await large(engine)
        func stale(_ names: some Sequence<String>) -> [RecordOperation] {
            names.map { .make(.update, $0, tag: "stale", ["note": .int64(1)]) }
        }
        #expect(await error { try await ann.modify(stale(Self.names), zone: "Z", atomic: false) } == .answerTooLarge)
        let forced = Self.names.map { RecordOperation.make(.forceUpdate, $0, ["note": .int64(1)]) }
        #expect(await error { try await ann.modify(forced, zone: "Z") } == .answerTooLarge)
        #expect(try await ann.lookup(["r0"], zone: "Z").first?.record?.fields["note"] == nil)
        let half = try await ann.modify(stale(Self.names.prefix(6)), zone: "Z", atomic: false)
        #expect(half.allSatisfy { $0.error?.code == .conflict && $0.error?.serverRecord?.value.fields["text"] == Self.text })
        let deleted = try await ann.modify(Self.names.map { .delete($0) }, zone: "Z")
        #expect(deleted.allSatisfy { $0.tombstone != nil })
    }

    @Test(arguments: Engine.ofRules)
    func `a lookup of some fields has room for them, however large the records are`(engine: Engine) async throws {
        let ann = try await large(engine)
        for name in Self.names { try await ann.modify([.make(.forceUpdate, name, ["note": .int64(1)])], zone: "Z") }
        func lookup(_ items: [RecordsLookupRequest.Item], keys: [String]? = nil) async throws -> [RecordResult] {
            let request = RecordsLookupRequest(records: items, zoneID: ZoneID(zoneName: "Z"), desiredKeys: keys)
            return try await ann.cloud.lookupRecords(request, in: ann.target, by: ann.caller).records
        }
        let plain = Self.names.map { RecordsLookupRequest.Item(recordName: $0) }
        let notes = try await lookup(plain + [.init(recordName: "absent")], keys: ["note"])
        #expect(notes.dropLast().map { $0.record?.fields } == Self.names.map { _ in ["note": .int64(1)] })
        #expect(notes.map(\.recordName) == Self.names + ["absent"] && notes.last?.error == .recordNotFound)
        #expect(try await lookup(plain, keys: []).allSatisfy { $0.record?.fields.count == 0 })
        #expect(await error { _ = try await lookup(plain, keys: ["note", "text"]) } == .answerTooLarge)
        let mixed = Self.names.map { RecordsLookupRequest.Item(recordName: $0, desiredKeys: $0 == "r3" ? ["text"] : ["note"]) }
        #expect(try await lookup(mixed).map { $0.record?.fields["text"] != nil } == Self.names.map { $0 == "r3" })
        let meter = WorkMeter()
        _ = try await WorkMeter.$current.withValue(meter) { try await lookup(plain, keys: ["note"]) }
        #expect(meter.cost > 10_000, "what is looked at is paid for")
    }

    @Test(arguments: Engine.ofRules)
    func `records that a lookup answers as they are kept are written as those that it reads`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let other = FieldValue.reference(Reference(recordName: "large", action: .none))
        try await ann.modify([.make(.create, "large", ["text": .string(String(repeating: "x", count: 9_000))])], zone: "Z")
        try await ann.modify([.make(.create, "small", ["number": .double(0.1), "other": other]), .make(.create, "gone")], zone: "Z")
        try await ann.modify([.delete("gone")], zone: "Z")
        let items = ["small", "absent", "large", "gone"].map { RecordsLookupRequest.Item(recordName: $0) }
        let request = RecordsLookupRequest(records: items, zoneID: ZoneID(zoneName: "Z"))
        let answer = try await ann.cloud.lookupAnswer(request, in: ann.target, by: ann.caller)
        #expect(answer.whole.records.map { $0.record != nil } == [true, false, true, false])
        for details in [true, false] {
            let form = AnswerForm(details: details, zoneID: request.zoneID)
            #expect(answer.json(form) == answer.whole.json(form))
        }
    }

    /// Makes so many records that a search through them would delay others: each is one more than a request may
    /// search.
    private func crowd(_ engine: Engine) async throws -> (user: TestCloudUser, names: [String]) {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let names = (0...(Limits.unansweredBytes / 950_000)).map { "r\($0)" }
        for name in names { try await ann.modify([.make(.create, name, ["text": Self.text])], zone: "Z") }
        return (ann, names)
    }

    @Test(arguments: Engine.ofRules)
    func `what a request looks through and does not answer is bounded, and its halves are done`(engine: Engine) async throws {
        let (ann, names) = try await crowd(engine)
        #expect(ServerError.looksAtTooMuch.nativeCode == NativeErrorCode.limitExceeded.rawValue)
        func keyed(_ names: some Sequence<String>) async throws -> [RecordResult] {
            let request = RecordsLookupRequest(records: names.map { .init(recordName: $0) }, zoneID: ZoneID(zoneName: "Z"), desiredKeys: ["note"])
            return try await ann.cloud.lookupRecords(request, in: ann.target, by: ann.caller).records
        }
        #expect(await error { _ = try await keyed(names) } == .looksAtTooMuch)
        #expect(try await keyed(names.dropLast()).allSatisfy { $0.record != nil })

        let one = RecordOperation.holder("one", validates: names)
        #expect(try await ann.modify([one], zone: "Z").first?.record != nil, "nothing of its targets is read")
        try await ann.modify([.delete("one")], zone: "Z")

        #expect(await error { try await ann.modify(names.map { .delete($0) }, zone: "Z") } == .looksAtTooMuch)
        #expect(try await ann.modify(names.dropLast().map { .delete($0) }, zone: "Z").allSatisfy { $0.tombstone != nil })
    }

    /// The request does not name them: the name of a record's share implies its root.
    @Test(arguments: Engine.ofRules)
    func `the roots of shares that are deleted by their names count as what a request looks through`(engine: Engine) async throws {
        let (ann, names) = try await crowd(engine)
        for name in names {
            let share = RecordOperation.share(.create, ShareChange(publicPermission: SharePermission.none, forRecord: name), name: "s\(name)")
            #expect(try await ann.modify([share], zone: "Z").first?.record != nil)
        }
        let shares = names.map { "s\($0)" }
        #expect(await error { try await ann.modify(shares.map { .delete($0) }, zone: "Z") } == .looksAtTooMuch)
        #expect(try await ann.modify(shares.prefix(10).map { .delete($0) }, zone: "Z").allSatisfy { $0.tombstone != nil })
        #expect(try await ann.living(shares, zone: "Z") == Array(shares.dropFirst(10)))
    }

    @Test(arguments: Engine.ofRules)
    func `a cascade of large records goes as far as one transaction has room, and its rest by tasks`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("root")], zone: "Z")
        let names = (0...(Limits.cascadeBytes / 950_000 + 3)).map { "h\($0)" }
        for name in names {
            var holder = RecordOperation.holder(name, of: ["root"])
            holder.change.set["text"] = Self.text
            try await ann.modify([holder], zone: "Z")
        }
        #expect(try await ann.modify([.delete("root")], zone: "Z").first?.tombstone != nil)
        let left = try await ann.living(names, zone: "Z").count
        #expect(left > 0 && left < names.count, "\(left)")
        while try await test.cloud.runDueTasks().counts.taken > 0 {}
        #expect(try await ann.living(names, zone: "Z").isEmpty)
    }

    @Test(arguments: Engine.ofRules)
    func `what one record refers to is asked for by its name, and no body of it is read`(engine: Engine) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let ann = TestCloud(tally).user("_ann")
        try await ann.makeZone("Z")
        for name in Self.names { try await ann.modify([.make(.create, name, ["text": Self.text])], zone: "Z") }
        try await ann.modify([.delete("r0")], zone: "Z")
        tally.reset()
        let holders = Self.names.map { RecordOperation.holder("h\($0)", validates: [$0]) }
        let results = try await ann.modify(holders, zone: "Z", atomic: false)
        #expect(results.map(\.error?.code) == [.validatingReferenceError] + Self.names.dropFirst().map { _ in nil })
        #expect(tally.mostOfOneWrite < 10_000, "\(tally.mostOfOneWrite)")
    }

    /// The target's owner is only in its body there.
    @Test(arguments: Engine.ofRules)
    func `in a public database one record refers to so many bytes at a time, and keeps what it has`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann", in: .public)
        let names = (0...(Limits.unansweredBytes / 950_000)).map { "r\($0)" }
        for name in names { try await ann.modify([.make(.create, name, ["text": Self.text])]) }
        let refusal = await error { try await ann.modify([.holder("one", validates: names)]) }
        #expect(refusal == .refersToTooMuch("\(Limits.unansweredBytes) bytes", isOne: true))
        #expect(refusal?.nativeCode == NativeErrorCode.limitExceeded.rawValue && refusal?.remedy?.contains("fewer references") == true)
        #expect(try await ann.modify([.holder("one", validates: Array(names.prefix(20)))]).first?.record != nil)
        #expect(try await ann.modify([.holder("one", validates: names)]).first?.record != nil, "20 of them it has already")
        #expect(try await ann.modify([.delete(names[0])]).first?.error != nil, "and holds them all")
    }

    @Test func `a request refers to so many records, however it is cut into operations`() async throws {
        let test = try await TestCloud(.memory)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let names = (0...Limits.targetsPerRequest).map { "t\($0)" }
        let one = await error { try await ann.modify([.holder("one", validates: names)], zone: "Z") }
        #expect(one == .refersToTooMuch("\(Limits.targetsPerRequest)", isOne: true))
        let two = [RecordOperation.holder("a", validates: Array(names.prefix(6000))), .holder("b", of: Array(names.suffix(6000)))]
        #expect(await error { try await ann.modify(two, zone: "Z") } == .refersToTooMuch("\(Limits.targetsPerRequest)", isOne: false))
        #expect(try await ann.modify([.holder("one", validates: Array(names.dropLast()))], zone: "Z").first?.error?.code == .validatingReferenceError)
        let meter = WorkMeter()
        _ = try await WorkMeter.$current.withValue(meter) {
            try await ann.modify([.holder("one", validates: Array(names.dropLast()))], zone: "Z")
        }
        #expect(meter.cost > Limits.targetsPerRequest, "what is looked for is paid for")
    }

    /// 60 records of a megabyte refer to a deleted one, and half of them are spared, as records outside hold them.
    @Test(arguments: Engine.ofRules)
    func `the rest of a cascade reads as many bytes in a transaction as the cascade did, and meets nobody twice`(engine: Engine) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let test = TestCloud(tally, cascadePerTransaction: 1)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("root")], zone: "Z")
        let names = (0..<60).map { "h\(100 + $0)" }
        for name in names {
            var holder = RecordOperation.holder(name, of: ["root"])
            holder.change.set["text"] = Self.text
            try await ann.modify([holder], zone: "Z")
        }
        let spared = Array(names.prefix(40))
        #expect(try await ann.modify([.delete("root")], zone: "Z").first?.tombstone != nil)
        try await ann.modify([.holder("keeper", validates: spared)], zone: "Z")
        tally.reset()
        try await test.runAllTasks()
        let (written, read) = (tally.mostOfOneWrite, tally.bytes)
        var living: [String] = []
        for name in names { living += try await ann.living([name], zone: "Z") }
        #expect(living == spared)
        #expect(written <= Limits.cascadeBytes + Limits.recordBytes, "\(written)")
        #expect(read <= (engine == .sideBySide ? 2 : 1) * 60 * Limits.recordBytes, "\(read): each was read once")
        #expect(try await test.cloud.runDueTasks().counts == (0, 0))
    }

    /// Otherwise its client would split it, and repeat finished parts.
    @Test func `a repetition whose records grew beyond one answer is told that its answer is lost`() async throws {
        let ann = try await TestCloud(.memory).user("_ann")
        try await ann.makeZone("Z")
        let names = (0..<20).map { "r\($0)" }
        let operations = names.map { RecordOperation.make(.create, $0, ["note": .int64(1)]) }
        try await ann.modify(operations, zone: "Z", id: "op")
        for name in names { try await ann.modify([.make(.forceUpdate, name, ["text": Self.text])], zone: "Z") }
        #expect(await error { try await ann.modify(operations, zone: "Z", id: "op") } == .responseLost)
        try await ann.modify(names.suffix(10).map { .delete($0) }, zone: "Z")
        #expect(try await ann.modify(operations, zone: "Z", id: "op").prefix(10).allSatisfy { $0.record?.fields["text"] == Self.text })
    }

    /// Control characters take six bytes each as JSON.
    @Test(arguments: Engine.ofRules)
    func `text that is far longer as JSON counts as that`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let text = FieldValue.string(String(repeating: "\u{1}", count: 950_000))
        for name in Self.names.prefix(4) { try await ann.modify([.make(.create, name, ["text": text])], zone: "Z") }
        #expect(await error { _ = try await ann.lookup(Array(Self.names.prefix(3)), zone: "Z") } == .answerTooLarge)
        #expect(try await ann.lookup(Array(Self.names.prefix(2)), zone: "Z").allSatisfy { $0.record?.fields["text"] == text })
        let stale = Self.names.prefix(3).map { RecordOperation.make(.update, $0, tag: "stale", ["note": .int64(1)]) }
        #expect(await error { try await ann.modify(stale, zone: "Z", atomic: false) } == .answerTooLarge)
        let first = try await ann.changes("Z")
        #expect(first.records.count == 2 && first.moreComing)
        let rest = try await ann.changes("Z", after: first.syncToken)
        #expect(rest.records.count == 2 && !rest.moreComing)
    }

    @Test(arguments: Engine.ofRules)
    func `zones behind those that fill an answer are told to have more, and come with the next`(engine: Engine) async throws {
        let zones = ["a", "b", "c"]
        let ann = try await large(engine, zones: zones)
        try await ann.makeZone("empty")
        var tokens: [String: String] = [:]
        var found: [String: Set<String>] = [:]
        var rounds = 0
        var left = zones + ["empty"]
        while !left.isEmpty, rounds < 20 {
            rounds += 1
            let items = left.map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0), syncToken: tokens[$0]) }
            var bytes = 0
            for result in try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: items), in: ann.target, by: ann.caller).zones {
                guard case .page(let page) = result else { throw StoreError.closed }
                bytes += page.records.count * 950_000
                found[page.zoneID.zoneName, default: []].formUnion(page.records.compactMap { $0.record?.recordName })
                tokens[page.zoneID.zoneName] = page.syncToken
                if page.zoneID.zoneName == "empty" { #expect(page.records.isEmpty) }
                if !page.moreComing { left.removeAll { $0 == page.zoneID.zoneName } }
            }
            #expect(bytes < 2 * Limits.pageBytes)
        }
        #expect(left.isEmpty)
        #expect(zones.allSatisfy { found[$0] == Set(Self.names) })
        // Nothing was repeated or left out: the tokens are caught up.
        for zone in zones { #expect(try await ann.changes(zone, after: tokens[zone]).records.isEmpty) }
        // A zone without changes has none behind a full answer either.
        let items = ["a", "empty", "b"].map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0), syncToken: $0 == "empty" ? tokens[$0] : nil) }
        let last = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: items), in: ann.target, by: ann.caller).zones
        guard case .page(let empty) = last[1] else { throw StoreError.closed }
        #expect(!empty.moreComing && empty.syncToken == tokens["empty"])
    }
}
