import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that decisions over many bytes are made beside the writer, for which others wait, and are right whatever
/// others do meanwhile.
@Suite struct LongDecisionTests {
    private static let text = FieldValue.string(String(repeating: "x", count: 950_000))
    private static let names = (0..<7).map { "r\($0)" }
    /// Bytes of records that a write transaction may read before it gives up: the last one is read whole.
    private static let mostOfOneWrite = Limits.decidedAtWriterBytes + 960_000

    /// Runs other work once, before or after a large read.
    private final class Meanwhile: LayeredStore {
        enum Moment { case before, after }
        typealias Deed = @Sendable () async throws -> Void

        let below: any Store
        private let deed = Locked<(moment: Moment, deed: Deed)?>(nil)

        init(_ below: any Store) {
            self.below = below
        }

        func next(_ moment: Moment, _ deed: @escaping Deed) {
            self.deed.withLock { $0 = (moment, deed) }
        }

        var isDone: Bool { deed.withLock { $0 == nil } }

        private func happen(_ moment: Moment) async throws {
            let deed = deed.withLock { next -> Deed? in
                guard let now = next, now.moment == moment else { return nil }
                next = nil
                return now.deed
            }
            try await Turn.$current.withValue(Turn(asker: "")) { try await deed?() }
        }

        func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
            guard Turn.current.kind == .bulk else { return try await below.read(body) }
            try await happen(.before)
            let value = try await below.read(body)
            try await happen(.after)
            return value
        }
    }

    private func make(_ names: [String], _ ann: TestCloudUser) async throws -> [String: String] {
        var tags: [String: String] = [:]
        for name in names { tags[name] = try await ann.modify([.make(.create, name, ["text": Self.text])], zone: "Z").first?.record?.recordChangeTag }
        return tags
    }

    private func scene(_ store: any Store, _ names: [String] = names) async throws -> (ann: TestCloudUser, tags: [String: String]) {
        let ann = TestCloud(store).user("_ann")
        try await ann.makeZone("Z")
        return (ann, try await make(names, ann))
    }

    private static func notes(_ tags: [String: String], _ names: [String] = names) -> [RecordOperation] {
        names.map { .make(.update, $0, tag: tags[$0], ["note": .int64(1)]) }
    }

    // MARK: Reads in a write

    @Test(arguments: Engine.ofRules, [false, true])
    func `conflicts with large records carry the server's, and no write has read them`(engine: Engine, atomic: Bool) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let (ann, tags) = try await scene(tally)
        var stale = tags
        stale["r0"] = "stale"
        if !atomic { stale = stale.mapValues { _ in "stale" } }
        tally.reset()
        let results = try await ann.modify(Self.notes(stale), zone: "Z", atomic: atomic)
        #expect(tally.mostOfOneWrite <= Self.mostOfOneWrite, "\(tally.mostOfOneWrite)")
        for (index, result) in results.enumerated() {
            let server = result.error?.serverRecord?.value
            if atomic, index > 0 {
                #expect(result.error?.code == .atomicError && server == nil)
            } else {
                #expect(result.error?.code == .conflict && server?.fields["text"] == Self.text && server?.recordChangeTag == tags["r\(index)"])
            }
        }
    }

    @Test(arguments: Engine.ofRules)
    func `what is more than an answer may have is refused, and no write has read it`(engine: Engine) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let (ann, tags) = try await scene(tally, (0..<12).map { "r\($0)" })
        tally.reset()
        for tags in [tags, [:]] {
            await #expect(throws: ServerError.answerTooLarge) {
                try await ann.modify(Self.notes(tags, (0..<12).map { "r\($0)" }), zone: "Z", atomic: false)
            }
        }
        #expect(tally.mostOfOneWrite <= Self.mostOfOneWrite, "\(tally.mostOfOneWrite)")
    }

    @Test(arguments: Engine.ofRules)
    func `deletions and cascades of large records that fall with their batch are read by no write`(engine: Engine) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let (ann, _) = try await scene(tally)
        try await ann.modify([.create("root"), .create("other")], zone: "Z")
        for name in Self.names {
            var holder = RecordOperation.holder("h\(name)", of: ["root"])
            holder.change.set["text"] = Self.text
            try await ann.modify([holder], zone: "Z")
        }
        tally.reset()
        for deleted in [Self.names, ["root"]] {
            let refused = try await ann.modify(deleted.map { .delete($0) } + [.make(.update, "other", tag: "stale")], zone: "Z")
            #expect(refused.map(\.error?.code) == deleted.map { _ in .atomicError } + [.conflict])
        }
        #expect(tally.mostOfOneWrite <= Self.mostOfOneWrite, "\(tally.mostOfOneWrite)")
        let all = Self.names + ["root"]
        #expect(try await ann.modify(all.map { .delete($0) }, zone: "Z").allSatisfy { $0.tombstone != nil })
        while try await ann.cloud.runDueTasks().taken > 0 {}
        #expect(try await ann.living(all + Self.names.map { "h\($0)" }, zone: "Z").isEmpty, "what is not refused is done as ever")
    }

    @Test(arguments: Engine.ofRules)
    func `an operation that is repeated is answered what it did, and no write has read its records`(engine: Engine) async throws {
        let tally = BodyTally(try await engine.makeStore())
        let (ann, tags) = try await scene(tally)
        let first = try await ann.modify(Self.notes(tags), zone: "Z", id: "op")
        #expect(first.allSatisfy { $0.record?.fields["note"] == .int64(1) })
        tally.reset()
        let again = try await ann.modify(Self.notes(tags), zone: "Z", id: "op")
        #expect(again.map(\.record?.recordChangeTag) == first.map(\.record?.recordChangeTag))
        #expect(tally.mostOfOneWrite <= Self.mostOfOneWrite, "\(tally.mostOfOneWrite)")
    }

    @Test func `what reads as much as one record may have is decided in one write, and more than that in a read before it`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let (ann, tags) = try await scene(store)
        // The field is in the schema before transactions are counted.
        try await ann.modify([.create("other", ["note": .int64(1)])], zone: "Z")
        store.reset()
        try await ann.modify(Self.notes(tags, ["r0"]), zone: "Z")
        #expect(store.transactions.map(\.kind) == [.write])
        store.reset()
        try await ann.modify(Self.notes(tags, ["r1", "r2"]), zone: "Z")
        #expect(store.transactions.map(\.kind) == [.write, .read, .write])
        store.reset()
        try await ann.modify(Self.notes(tags, ["r1", "r2"]), zone: "Z")
        #expect(store.transactions.map(\.kind) == [.write, .read])
    }

    // MARK: Concurrent changes

    @Test(arguments: Engine.ofRules)
    func `who is overtaken before the snapshot hears of the newer versions, each with its own tag`(engine: Engine) async throws {
        let store = Meanwhile(try await engine.makeStore())
        let (ann, tags) = try await scene(store)
        store.next(.before) { try await ann.modify([.make(.forceUpdate, "r1", ["note": .int64(7)]), .delete("r2")], zone: "Z") }
        let results = try await ann.modify(Self.notes(tags), zone: "Z", atomic: false)
        #expect(store.isDone)
        let newer = try await ann.lookup(["r1"], zone: "Z").first?.record
        #expect(results[1].error?.serverRecord?.value == newer && newer?.fields["note"] == .int64(7))
        #expect(results[2].error?.code == .notFound)
        #expect(results[0].record != nil && results.dropFirst(3).allSatisfy { $0.record?.fields["note"] == .int64(1) }, "others are saved")
    }

    @Test(arguments: Engine.ofRules)
    func `who is overtaken after a snapshot that had no objection overwrites nothing`(engine: Engine) async throws {
        let store = Meanwhile(try await engine.makeStore())
        let (ann, tags) = try await scene(store)
        store.next(.after) { try await ann.modify([.make(.forceUpdate, "r1", ["note": .int64(7)])], zone: "Z") }
        let results = try await ann.modify(Self.notes(tags), zone: "Z")
        #expect(store.isDone)
        #expect(results.map(\.error?.code) == Self.names.map { $0 == "r1" ? .conflict : .atomicError })
        let notes = try await ann.lookup(Self.names, zone: "Z").map { $0.record?.fields["note"] }
        #expect(notes == Self.names.map { $0 == "r1" ? .int64(7) : nil })
    }

    @Test(arguments: Engine.ofRules)
    func `a twin of the request that is done before the snapshot is found in it, and not met as a conflict`(engine: Engine) async throws {
        let store = Meanwhile(try await engine.makeStore())
        let (ann, tags) = try await scene(store)
        let twin = Locked<[RecordResult]>([])
        store.next(.before) {
            let done = try await ann.modify(Self.notes(tags), zone: "Z", id: "op")
            twin.withLock { $0 = done }
        }
        let results = try await ann.modify(Self.notes(tags), zone: "Z", id: "op")
        #expect(store.isDone)
        #expect(results.allSatisfy { $0.record != nil } && results == twin.withLock { $0 })
    }

    @Test(arguments: Engine.ofRules)
    func `a zone that goes before the snapshot is not found`(engine: Engine) async throws {
        let store = Meanwhile(try await engine.makeStore())
        let (ann, _) = try await scene(store)
        store.next(.before) { try await ann.deleteZone("Z") }
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) { try await ann.modify(Self.notes([:]), zone: "Z") }
        #expect(store.isDone)
    }
}
