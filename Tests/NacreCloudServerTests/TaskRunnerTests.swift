import NacreCloudContainer
import NacreCloudStore
import NacreCloudWire
import Testing

@testable import NacreCloudServer

@Suite(.timeLimit(.minutes(5))) struct TaskRunnerTests {
    private func runner(_ server: TestServer) -> TaskRunner {
        TaskRunner(cloud: server.cloud, clock: server.clock.serverClock, logger: server.log.logger)
    }

    private func taskCount(_ server: TestServer) async throws -> Int {
        let later = server.clock.now + 1_000_000
        return try await server.store.write { .rollback(try $0.leaseTasks(dueAt: later, until: later, limit: 10).count) }
    }

    /// Ada's zone Work, with a record in it, and deleted: that leaves a task.
    private func leaveTask(_ server: TestServer) async throws {
        let caller = Caller(.user(server.names["ada.name"] ?? ""))
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)
        let work = ZoneID(zoneName: "Work")
        for type in [ZoneOperation.OperationType.create, .delete] {
            _ = try await server.cloud.modifyZones(ZonesModifyRequest(operations: [ZoneOperation(type, work)]), in: target, by: caller)
        }
    }

    @Test func `what is due is done, at the start and after each rest`() async throws {
        let server = try await TestServer()
        try await leaveTask(server)
        #expect(try await taskCount(server) == 1)
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(1)
        #expect(try await taskCount(server) == 0)
        try await leaveTask(server)
        server.clock.advance(2)
        await server.clock.sleeps(2)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `a store that fails is tried again, and said in the log`() async throws {
        let server = try await TestServer()
        try await leaveTask(server)
        server.store.fail(.unavailable)
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(1)
        let lines = server.log.objects("Background work failed and will be tried again")
        #expect(lines.count == 1)
        #expect(lines.first?["level"] == .string("warning"))
        server.store.fail(nil)
        server.clock.advance(2)
        await server.clock.sleeps(2)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `sessions that have expired are swept, once in thirty rests`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(1)
        server.clock.advance(Cloud.keptSessionSeconds + 1)
        for rest in 2...30 {
            await server.clock.sleeps(rest)
            server.clock.advance(2)
        }
        await server.clock.sleeps(31)
        // Nothing is left for another sweep to find.
        #expect(try await server.cloud.removeExpired() == 0)
        await runner.stop()
    }

    @Test func `stopping ends its rest at once, twice does no harm, and it never sleeps again`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        await runner.stop()
        runner.start()
        runner.start()
        await server.clock.sleeps(1)
        #expect(server.clock.sleeperCount == 1)
        await runner.stop()
        await runner.stop()
        #expect(server.clock.sleeperCount == 0)
    }
}
