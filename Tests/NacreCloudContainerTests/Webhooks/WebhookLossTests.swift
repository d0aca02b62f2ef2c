import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that the kept changes of a webhook are bounded, and that its receiver is told of each loss.
@Suite(.timeLimit(.minutes(1))) struct WebhookLossTests {
    @Test(arguments: Engine.ofRules) func `a full feed drops its oldest changes, and the list, the next delivery and a pull say how many`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore(), keeping: WebhookExtent(changes: 3, bytes: .max))
        let webhook = try await scene.make()
        scene.receiver.beDeaf(true)
        try await scene.everybody.modify([.create("a")])
        #expect(try await scene.delivered().map(\.lost) == [nil])
        let cursor = try await scene.pull(webhook).cursor
        for name in ["b", "c", "d", "e"] { try await scene.everybody.modify([.create(name)]) }
        let listed = try #require(try await scene.listed())
        #expect(listed.state == .behind && listed.lost == 2)
        scene.receiver.beDeaf(false)
        scene.test.clock.move(bySeconds: Limits.taskPauseSeconds)
        let found = try await scene.delivered()
        #expect(found.map(\.told) == [["created c", "created d", "created e"]] && found.map(\.lost) == [2] && found.map(\.reset) == [true])
        let after = try #require(try await scene.listed())
        #expect(after.state == .active && after.lost == 0)

        let pulled = try await scene.pull(webhook, after: cursor)
        #expect(pulled.told == ["created c", "created d", "created e"] && pulled.lost == 1 && pulled.reset == true)
        // The oldest row goes, which the receiver has: nothing is lost.
        try await scene.everybody.modify([.create("f")])
        let next = try await scene.delivered()
        #expect(next.map(\.told) == [["created f"]] && next.map(\.lost) == [nil] && next.map(\.reset) == [nil])
        #expect(try await scene.pull(webhook, after: pulled.cursor).told == ["created f"])
    }

    @Test func `a receiver is told of a loss also where no later change is kept`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let webhook = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        #expect(try await scene.delivered().map(\.told) == [["created a"]])
        let cursor = try await scene.pull(webhook).cursor
        try await scene.everybody.modify([.create("b"), .create("c")])
        try await scene.park()
        _ = try scene.receiver.take()
        scene.test.clock.move(bySeconds: Limits.webhookChangeSeconds)
        #expect(try await scene.cloud.resumeWebhook(webhook.id) == 1)
        let found = try await scene.delivered()
        #expect(found.map(\.told) == [[]] && found.map(\.lost) == [2] && found.map(\.reset) == [true])
        let pulled = try await scene.pull(webhook, after: cursor)
        #expect(pulled.changes.isEmpty && pulled.lost == 2 && pulled.reset == true)
        // A cursor is good for as long as nothing behind it is lost.
        scene.test.clock.move(bySeconds: 2 * Limits.webhookChangeSeconds)
        #expect(try await scene.pull(webhook, after: pulled.cursor).reset == nil)
    }

    @Test func `a commit drops a bounded number of rows, and its request pays for them`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore(), keeping: WebhookExtent(changes: 40, bytes: .max))
        let webhook = try await scene.make()
        for index in 0..<40 { try await scene.everybody.modify([.create("single \(index)")]) }
        func cost(_ operations: [RecordOperation]) async throws -> Int {
            let meter = WorkMeter()
            _ = try await WorkMeter.$current.withValue(meter) { try await scene.everybody.modify(operations) }
            return meter.takeUnpaid()
        }
        _ = try await cost((0..<40).map { .create("together \($0)") })
        #expect(try await scene.pull(webhook).changes.count == 64)
        let dear = try await cost([.create("dear")])
        #expect(try await scene.pull(webhook).changes.count == 49)
        // The rest of the single changes and then the row of the large commit go.
        _ = try await cost([.create("last")])
        #expect(try await scene.pull(webhook).changes.count == 2)
        #expect(try await cost([.create("cheap")]) == dear - 16)
    }

    @Test func `the bytes that are kept are bounded too, and the newest commit is kept whatever its size`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore(), keeping: WebhookExtent(changes: .max, bytes: 1))
        let webhook = try await scene.make()
        for name in ["a", "b"] { try await scene.everybody.modify([.create(name)]) }
        let found = try await scene.delivered()
        #expect(found.map(\.told) == [["created b"]] && found.map(\.lost) == [1])
        #expect(try await scene.pull(webhook).told == ["created b"])
    }
}
