import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests in which the store fails at its first call, then at its second, and so on through a whole history: a retry
/// gets the right answer.
@Suite struct EveryStoreCall {
    /// The most calls of the history as it is meant.
    private static let callsMax = 2000

    @Test(arguments: Engine.embedded)
    func `every verb may fail at any place of a random history, and the rest of it does not change`(engine: Engine) async throws {
        let seed = HistorySeed.value
        let oracle = MemoryStore()
        var maker = HistoryMaker(seed: seed)
        var played: [(step: HistoryStep, answers: [HistoryStep.Answer])] = []
        for _ in 0..<40 {
            let earlier = maker
            let step = maker.step()
            let answers = try await step.run(on: oracle)
            if answers == [.contradiction] {
                maker.undo(to: earlier)
            } else if let zone = step.reclaimed {
                maker.keep(try await oracle.read { try $0.records(in: zone, named: HistoryMaker.names) }.map(\.name), in: zone)
            }
            played.append((step, answers))
        }
        for call in LongSearch.calls(upTo: Self.callsMax, every: 12) {
            let store = FailingStore(try await engine.makeStore(on: .memory), failingAtCall: call)
            for (index, (step, answers)) in played.enumerated() {
                let found = try await Self.answers(to: step, on: store)
                try #require(found == answers, "NACRE_SEED=\(seed) call \(call) step \(index): \(step)")
            }
            let calls = store.callsMade
            store.fail(atCall: nil)
            // Each time another part of all questions.
            for (index, question) in Question.everything.enumerated() where (index + call) % 16 == 0 {
                let (wanted, read) = (try await question.ask(oracle), try await question.ask(store))
                try #require(difference(read, wanted) == nil, "NACRE_SEED=\(seed) call \(call)")
            }
            if calls < call { return }
        }
        Issue.record("a history of more than \(Self.callsMax) calls")
    }

    /// Returns the answers to a step. The failure comes once; the retry is answered.
    private static func answers(to step: HistoryStep, on store: FailingStore) async throws -> [HistoryStep.Answer] {
        do {
            return try await step.run(on: store)
        } catch let error as StoreError where error.text == FailingStore.failure.text {
            return try await step.run(on: store)
        }
    }

    // MARK: The operations of the cloud

    private static let story: [@Sendable (TestCloudUser) async throws -> Void] = [
        { try await $0.makeZone("Notes", "Ideas") },
        { try await $0.modify([.create("a", ["text": .string("one")]), .create("b", parent: "a")], zone: "Notes", id: "1", token: [1]) },
        { try await $0.modify([.create("x"), .create("y")], id: "2") },
        { try await $0.modify([.update("a", ["text": .string("two")]), .delete("b"), .create("c")], zone: "Notes", id: "3") },
        { try await $0.modify([.create("i"), .create("j", parent: "i")], zone: "Ideas", id: "4") },
        { _ = try await $0.lookup(["a", "b", "c"], zone: "Notes") },
        { _ = try await $0.databaseChanges() },
        { try await $0.deleteZone("Ideas") },
        { _ = try await $0.changes("Notes", limit: 1) },
        { try await $0.makeZone("Ideas") },
        { user in while try await user.cloud.runDueTasks().taken > 0 {} },
        { _ = try await $0.cloud.removeExpired() },
        { try await $0.modify([.create("i", ["text": .string("anew")])], zone: "Ideas", id: "5") },
        { try await $0.modify([.update("y"), .delete("x")], id: "6") },
    ]

    /// Everything that a device reads, without random parts.
    private struct View: Equatable {
        var zones: [ZoneID]
        var records: [[RecordResult]]
        var changed: [ZoneID]
    }

    private static func view(_ user: TestCloudUser) async throws -> View {
        let zones = try await user.cloud.listZones(in: user.target, by: user.caller).zones.compactMap(\.zone?.zoneID)
        let feeds = [try await user.changes("Notes").records, try await user.changes("Ideas").records]
        let found = [try await user.lookup(["a", "b", "c"], zone: "Notes"), try await user.lookup(["x", "y"])]
        return View(zones: zones, records: feeds + found, changed: try await user.databaseChanges().zones.map(\.zoneID))
    }

    @Test(arguments: Engine.embedded)
    func `every operation of the cloud may fail at any call, says to try again, and ends as if nothing had been`(engine: Engine) async throws {
        let whole = TestCloud(try await engine.makeStore(on: .memory)).user("_ann")
        for operation in Self.story { try await operation(whole) }
        let expected = try await Self.view(whole)
        for call in LongSearch.calls(upTo: Self.callsMax, every: 12) {
            let store = FailingStore(try await engine.makeStore(on: .memory), failingAtCall: call)
            let ann = TestCloud(store).user("_ann")
            for operation in Self.story {
                do {
                    try await operation(ann)
                } catch let error as ServerError {
                    #expect(error.code == .tryAgainLater && error.retryAfter != nil, "call \(call)")
                    try await operation(ann)
                } catch let error as StoreError {
                    // Work beside requests gets the store's own error, and retries by itself.
                    #expect(error.text == FailingStore.failure.text, "call \(call)")
                    try await operation(ann)
                }
            }
            let calls = store.callsMade
            store.fail(atCall: nil)
            // A failed task waits until its lease ends, as after a crash; no client sees a difference.
            #expect(try await Self.view(ann) == expected, "call \(call)")
            if calls < call { return }
        }
        Issue.record("a history of more than \(Self.callsMax) calls")
    }
}
