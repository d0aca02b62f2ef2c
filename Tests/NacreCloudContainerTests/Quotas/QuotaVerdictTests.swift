import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of which saves a database has no room for, without a database.
@Suite struct QuotaVerdictTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var claims: [QuotaClaim]
        var used: Int64
        var refused: [Int]
        var testDescription: String { what }
    }

    private static func larger(_ growth: Int64) -> QuotaClaim { QuotaClaim(growth: growth, isLarger: true) }
    private static func notLarger(_ growth: Int64) -> QuotaClaim { QuotaClaim(growth: growth, isLarger: false) }

    /// The limit is 100.
    static let table = [
        Row(what: "what fits to the last byte is saved", claims: [larger(100)], used: 0, refused: []),
        Row(what: "one byte more is refused", claims: [larger(101)], used: 0, refused: [0]),
        Row(what: "each in its turn", claims: [larger(60), larger(60), larger(40)], used: 0, refused: [1]),
        Row(what: "one that is too large keeps no smaller one out", claims: [larger(200), larger(1)], used: 99, refused: [0]),
        Row(what: "a full database takes nothing larger", claims: [larger(1), larger(2)], used: 100, refused: [0, 1]),
        Row(what: "what is not larger is always saved", claims: [notLarger(3), notLarger(0), notLarger(-9)], used: 100, refused: []),
        Row(what: "also where the limit came later", claims: [notLarger(3), larger(1)], used: 500, refused: [1]),
        Row(what: "a body that shrinks needs no room, whatever its fields", claims: [larger(0), larger(-1)], used: 500, refused: []),
        Row(what: "what shrinks makes room for what stands before it", claims: [larger(10), notLarger(-10)], used: 100, refused: []),
        Row(what: "and what grows a little takes it first", claims: [larger(10), notLarger(1)], used: 90, refused: [0]),
        Row(what: "freeing less than is missing is not enough", claims: [larger(10), notLarger(-50)], used: 200, refused: [0]),
        Row(what: "nothing is refused of nothing", claims: [], used: 500, refused: []),
    ]

    @Test(arguments: table) func `a save is refused that has no room`(row: Row) {
        #expect(QuotaVerdict.refused(row.claims, used: row.used, limit: 100) == row.refused)
    }

    @Test(arguments: 0..<200) func `what is let in fits, and nothing that is refused would have fitted beside it`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let claims = (0..<Int.random(in: 0...12, using: &random)).map { _ in
            QuotaClaim(growth: .random(in: -30...60, using: &random), isLarger: Bool.random(using: &random))
        }
        let used = Int64.random(in: 0...120, using: &random)
        let refused = QuotaVerdict.refused(claims, used: used, limit: 100)
        #expect(refused.allSatisfy { claims[$0].needsRoom })
        let sum = claims.indices.filter { !refused.contains($0) }.reduce(used) { $0 + claims[$1].growth }
        let letsAnyIn = claims.indices.contains { claims[$0].needsRoom && !refused.contains($0) }
        #expect(sum <= 100 || !letsAnyIn)
        #expect(refused.allSatisfy { sum + claims[$0].growth > 100 })
    }

    @Test func `a container's own quotas go before the server's, and 0 is none`() {
        let server = Quotas(userBytes: 10, publicBytes: 20)
        for (entry, user, ofPublic) in [
            (nil, 10, 20), (QuotaEntry(), 10, 20), (QuotaEntry(userBytes: 5), 5, 20), (QuotaEntry(publicBytes: 7), 10, 7),
            (QuotaEntry(userBytes: 0, publicBytes: 0), nil, nil),
        ] as [(QuotaEntry?, Int64?, Int64?)] {
            #expect(server.with(entry).limit(of: .private) == user && server.with(entry).limit(of: .public) == ofPublic)
        }
        #expect(Quotas.none.limit(of: .private) == nil && Quotas.none.limit(of: .public) == nil)
        #expect(server.limit(of: .registry) == nil && server.limit(of: .shared) == nil)
    }

    // MARK: In a batch

    enum Fate: Hashable { case saved, deleted, nothing, full, missingParent, held, other }

    private func fates(_ operations: [RecordOperation], over stored: [StoredRecord] = [], claims: [Int: Int64], limit: Int64) -> [Fate] {
        var batch = ModifyBatch(operations, over: stored)
        batch.settle(within: CascadeReach())
        let used = stored.reduce(0) { $0 + Int64($1.countedBytes) }
        _ = batch.settleQuota(claims.mapValues { QuotaClaim(growth: $0, isLarger: true) }, used: used, limit: used + limit)
        return batch.verdicts.map { verdict in
            switch verdict {
            case .save: .saved
            case .delete: .deleted
            case .nothing: .nothing
            case .refuse(let error):
                switch error.code {
                case .quotaExceeded: .full
                case .validatingReferenceError where error.reason.hasPrefix("Record delete"): .held
                case .validatingReferenceError: .missingParent
                default: error == .parentNotFound("p") ? .missingParent : .other
                }
            }
        }
    }

    @Test func `over quota, parent and child of one batch both hear of the quota, whatever the child takes`() {
        let family: [RecordOperation] = [.create("p"), .create("c", parent: "p"), .create("g", parent: "c"), .create("x")]
        #expect(fates(family, claims: [0: 100, 1: 1, 2: 1, 3: 1], limit: 10) == [.full, .full, .full, .saved])
        #expect(fates(family, claims: [0: 5, 1: 100, 2: 1, 3: 1], limit: 10) == [.saved, .full, .full, .saved])
    }

    @Test func `a child with a missing parent hears of the parent even over quota`() {
        #expect(fates([.create("c", parent: "p")], claims: [0: 100], limit: 10) == [.missingParent])
    }

    @Test func `what a batch deletes makes room in it`() {
        let old = StoredRecord.sample("old", seq: 1, fields: ["text": .string(String(repeating: "x", count: 500))])
        let growth = Int64(old.countedBytes)
        #expect(fates([.create("new"), .delete("old")], over: [old], claims: [0: growth], limit: 0) == [.saved, .deleted])
        #expect(fates([.create("new"), .delete("old")], over: [old], claims: [0: growth + 1], limit: 0) == [.full, .deleted])
        #expect(fates([.create("new")], over: [old], claims: [0: growth], limit: 0) == [.full])
    }

    @Test func `a deletion that falls with a save makes no room`() {
        // The child would leave its parent; as it has no room for that, the parent stays, and its bytes too.
        let parent = StoredRecord.sample("p", seq: 1, fields: ["text": .string(String(repeating: "x", count: 500))])
        let child = StoredRecord.sample("c", seq: 1, parent: "p")
        let leaves = RecordOperation.make(.forceUpdate, "c", parent: .clear)
        let room = Int64(parent.countedBytes)
        #expect(
            fates([leaves, .delete("p"), .create("n")], over: [parent, child], claims: [0: room + 1, 2: room], limit: 0) == [.full, .held, .full])
        #expect(
            fates([leaves, .delete("p"), .create("n")], over: [parent, child], claims: [0: 1, 2: room - 1], limit: 0) == [.saved, .deleted, .saved])
    }

    @Test func `a batch in which one refusal leads to the next comes to its end, and lets nothing in that has no room`() {
        // Each save releases a parent, whose bytes the next one needs.
        let count = 40
        let parents = (0..<count).map { StoredRecord.sample("p\($0)", seq: 1, fields: ["t": .string(String(repeating: "x", count: 200))]) }
        let children = (0..<count).map { StoredRecord.sample("c\($0)", seq: 1, parent: "p\($0)") }
        let room = Int64(parents[0].countedBytes)
        let operations = (0..<count).flatMap { [RecordOperation.make(.forceUpdate, "c\($0)", parent: .clear), .delete("p\($0)")] }
        var claims: [Int: Int64] = [:]
        for index in 0..<count { claims[index * 2] = index == 0 ? room * 100 : room * Int64(count) / Int64(count - 1) }
        let found = fates(operations, over: parents + children, claims: claims, limit: 0)
        #expect(found == (0..<count).flatMap { _ in [Fate.full, .held] })
    }
}
