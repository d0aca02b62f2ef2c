import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that a run is a fact of the store: servers that share a store write in one.
@Suite struct SharedRunTests {
    /// A device's view of a zone into which two servers save in turn.
    private struct Followed {
        var saved: [String] = []
        var seen: [String] = []
        /// Whether the first token still holds.
        var isFirstTokenGood = false
    }

    private func follow(rounds: Int, fault: SideBySideStore.PlantedFault? = nil) async throws -> Followed {
        let servers = ServerPair(fault: fault)
        let ann = servers.user("_ann")
        try await ann.first.makeZone("Z")
        try await ann.second.modify([.create("start")], zone: "Z")
        let start = try await ann.second.changes("Z").syncToken
        var (followed, token) = (Followed(), start)
        for round in 0..<rounds {
            let (writer, reader) = round.isMultiple(of: 2) ? (ann.first, ann.second) : (ann.second, ann.first)
            try await writer.modify([.create("\(round)")], zone: "Z")
            followed.saved.append("\(round)")
            let page = try await reader.changes("Z", after: token)
            followed.seen += page.records.compactMap(\.recordName)
            token = page.syncToken
        }
        followed.isFirstTokenGood = (try? await ann.first.changes("Z", after: start)) != nil
        return followed
    }

    @Test func `a device sees every change that two servers save in turn, and its oldest token holds`() async throws {
        let followed = try await follow(rounds: 2 * Run.endsKept + 10)
        #expect(followed.seen == followed.saved)
        #expect(followed.isFirstTokenGood)
    }

    @Test func `a device sees every zone that two servers make in turn`() async throws {
        let ann = ServerPair().user("_ann")
        try await ann.second.makeZone("start")
        var token = try await ann.second.databaseChanges().syncToken
        for round in 0..<6 {
            let (writer, reader) = round.isMultiple(of: 2) ? (ann.first, ann.second) : (ann.second, ann.first)
            try await writer.makeZone("\(round)")
            let page = try await reader.databaseChanges(after: token)
            #expect(page.zones.map(\.zoneID.zoneName) == ["\(round)"])
            token = page.syncToken
        }
    }

    @Test func `a change tag that one server gave is good at the other`() async throws {
        let ann = ServerPair().user("_ann")
        let tag = try #require(try await ann.first.modify([.create("a")])[0].record?.recordChangeTag)
        let next = try await ann.second.modify([.make(.update, "a", tag: tag, ["n": .int64(1)])])[0].record?.recordChangeTag
        #expect(next != nil && next != tag)
        #expect(try await ann.first.modify([.make(.update, "a", tag: tag)])[0].error?.code == .conflict)
    }

    @Test func `data stay in their run while their history is the same, and another history begins a new one above it`() {
        let first = KeptRun.current(nil, in: "7 1 16384", random: 5 << 32)
        #expect(first == KeptRun(number: Run.number(after: Run.none, random: 5 << 32), history: "7 1 16384"))
        #expect(KeptRun.current(first, in: "7 1 16384", random: 6 << 32) == first)
        let restored = [6, 7].map { KeptRun.current(first, in: "7 2 16384", random: $0 << 32) }
        #expect(restored.allSatisfy { $0.number > first.number && $0.history == "7 2 16384" })
        #expect(restored[0].number != restored[1].number, "two copies that go on from one state")
    }

    // MARK: Planted faults

    @Test func `where each server writes in a run of its own, the changes of the one that was there first are not seen`() async throws {
        let followed = try await follow(rounds: 6, fault: .runOfEachOpening)
        #expect(followed.seen != followed.saved)
    }
}
