import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

@Suite(.timeLimit(.minutes(5))) struct TaskRunnerTests {
    /// Sleepers of an idle runner: its lanes, and the server's upkeep.
    private static let sleepers = TaskLane.allCases.count + 1

    private func runner(_ server: TestServer) -> TaskRunner {
        TaskRunner(cloud: server.cloud, alarm: server.alarm, clock: server.clock.serverClock, logger: server.log.logger)
    }

    private func taskCount(_ server: TestServer) async throws -> Int {
        let later = server.clock.now + 1_000_000
        return try await server.store.read { try $0.tasks(of: Set(TaskKind.allCases), dueThrough: later, limit: 10).count }
    }

    /// Puts a task as another process would, without a hint.
    private func putTask(_ kind: TaskKind = .trimOperations, due: Timestamp, in store: any Store) async throws {
        try await store.write { transaction in
            var plan = WritePlan()
            plan.tasks = [TaskRow(key: TaskKey(DatabaseID(rawValue: 7), kind, "1"), payload: [], due: due)]
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Makes Ada's zone Work with a record, and deletes it, which leaves a task.
    private func leaveTask(_ server: TestServer) async throws {
        let caller = Caller(.user(server.names["ada.name"] ?? ""))
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)
        let work = ZoneID(zoneName: "Work")
        for type in [ZoneOperation.OperationType.create, .delete] {
            _ = try await server.cloud.modifyZones(ZonesModifyRequest(operations: [ZoneOperation(type, work)]), in: target, by: caller)
        }
    }

    @Test func `what is due is done at the start, and what a commit leaves at once`() async throws {
        let server = try await TestServer()
        try await leaveTask(server)
        #expect(try await taskCount(server) == 1)
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        #expect(try await taskCount(server) == 0)
        try await leaveTask(server)
        // No time passes: the task's lane has looked, and sleeps again.
        await server.clock.sleeps(Self.sleepers + 1)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `a server does at its start what the one before was doing when it died, and says so`() async throws {
        let folder = try TemporaryFolder()
        let (clock, log) = (TestClock(), LogLines())
        let store = try await SQLiteStore.open(folder: folder.path)
        // Tasks in the state in which a worker has taken them, for the first time or again.
        for (kind, attempts) in [(TaskKind.trimOperations, Int64(1)), (.fireSubscriptions, 4)] {
            try await store.write { [now = clock.now] transaction in
                let task = TaskRow(
                    key: TaskKey(DatabaseID(rawValue: 7), kind, "1"), payload: [], due: now + Limits.taskLeaseSeconds, attempts: attempts)
                var plan = WritePlan()
                plan.tasks = [task]
                try transaction.apply(plan)
                return .commit(())
            }
        }
        await store.close()
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: log.logger)
        configuration.engine = .sqlite
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.clock = clock.serverClock
        let server = Server(configuration)
        _ = try await server.start()
        // Each lane has looked, and sleeps.
        await clock.sleeps(Self.sleepers)
        #expect(log.objects("Takes up the tasks that the server before was doing when it died").first?["count"] == .number(2))
        await server.shutdown()
        let again = try await SQLiteStore.open(folder: folder.path)
        let left = try await again.read { try $0.tasks(of: [.trimOperations, .fireSubscriptions], dueThrough: clock.now + 1000, limit: 9) }
        #expect(left.map(\.key.kind) == [.fireSubscriptions] && left.first?.due == clock.now + 4, "which was taken again and again")
        await again.close()
    }

    @Test func `what is left for later is done when it is due`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        try await putTask(due: server.clock.now + 10, in: server.cloud.store)
        // Its lane gets the hint, and sleeps until the task is due.
        await server.clock.sleeps(Self.sleepers + 1)
        #expect(try await taskCount(server) == 1)
        server.clock.advance(10)
        // That lane, and the upkeep.
        await server.clock.sleeps(Self.sleepers + 1 + 2)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `a task of another process is found within a minute`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        try await putTask(due: server.clock.now, in: server.store)
        server.clock.advance(TaskRunner.restSeconds)
        await server.clock.sleeps(2 * Self.sleepers)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `a task that fails is said with its kind, its database and why, and waits a second`() async throws {
        let server = try await TestServer()
        try await putTask(.cascade, due: server.clock.now, in: server.store)
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        let line = try #require(server.log.objects("A task failed and will be tried again").first)
        #expect(line["level"] == .string("warning") && line["kind"] == .string("cascade") && line["database"] == .string("7"))
        #expect(line["task"] == .string("cascade:7:1") && line["attempt"] == .number(1))
        #expect(line["error"] == .string("A task's payload is malformed, task 1"))
        #expect(try await server.cloud.nextTask(in: .prompt, dueThrough: server.clock.now + 60) == server.clock.now + 1)
        await runner.stop()
    }

    @Test func `a task that is parked is said as an error, with what puts it back`() async throws {
        let server = try await TestServer()
        try await server.store.write { transaction in
            var plan = WritePlan()
            let key = TaskKey(DatabaseID(rawValue: 7), .cascade, "1")
            plan.tasks = [TaskRow(key: key, payload: [], due: server.clock.now, attempts: Limits.taskAttempts - 1)]
            try transaction.apply(plan)
            return .commit(())
        }
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        let line = try #require(server.log.objects("A task failed and is parked").first)
        #expect(line["level"] == .string("error") && "\(line["remedy"] ?? .null)".contains("nacre task retry cascade:7:1"))
        await runner.stop()
    }

    @Test func `a store that fails is tried again, and said in the log`() async throws {
        let server = try await TestServer()
        try await leaveTask(server)
        server.store.fail(.unavailable)
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        let lines = server.log.objects("Background work failed and will be tried again")
        #expect(lines.first?["level"] == .string("warning"))
        server.store.fail(nil)
        server.clock.advance(2)
        await server.clock.sleeps(2 * Self.sleepers)
        #expect(try await taskCount(server) == 0)
        await runner.stop()
    }

    @Test func `sessions that have expired are swept, once in thirty rests`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        server.clock.advance(Limits.keptSessionSeconds + Limits.sessionProlongSeconds + 1)
        // The lanes sleep for a minute, the upkeep for two seconds.
        for rest in 0..<29 {
            await server.clock.sleeps(2 * Self.sleepers + rest)
            server.clock.advance(2)
        }
        await server.clock.sleeps(2 * Self.sleepers + 29)
        // Nothing is left for another sweep.
        #expect(try await server.cloud.removeExpired() == 0)
        await runner.stop()
    }

    @Test func `stopping ends its rest at once, twice does no harm, and it never sleeps again`() async throws {
        let server = try await TestServer()
        let runner = runner(server)
        await runner.stop()
        runner.start()
        runner.start()
        await server.clock.sleeps(Self.sleepers)
        #expect(server.clock.sleeperCount == Self.sleepers)
        await runner.stop()
        await runner.stop()
        #expect(server.clock.sleeperCount == 0)
    }
}
