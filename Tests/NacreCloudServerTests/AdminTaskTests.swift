import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of the outbox for administrators: `GET /admin/1/tasks`, `POST /admin/1/tasks/retry`.
@Suite struct AdminTaskTests {
    private struct Scene {
        private let administered: AdministeredServer
        var server: TestServer { administered.server }

        init() async throws {
            administered = try await AdministeredServer()
        }

        func ask(_ method: String, _ target: String, _ body: String = "") async -> Answer {
            await administered.administrate(method, target, body)
        }

        func put(_ tasks: TaskRow...) async throws {
            try await server.store.write { transaction in
                var plan = WritePlan()
                plan.tasks = tasks
                try transaction.apply(plan)
                return .commit(())
            }
        }

        func page(after id: String? = nil) async throws -> AdminMessages.TaskPage {
            let answer = await ask("GET", "/admin/1/tasks" + (id.map { "?after=\($0)" } ?? ""))
            #expect(answer.status == 200)
            return try JSONDecoder().decode(AdminMessages.TaskPage.self, from: Data(answer.body))
        }
    }

    private static func task(_ name: String, attempts: Int64 = 0, in scene: Scene) -> TaskRow {
        TaskRow(key: TaskKey(DatabaseID(rawValue: 7), .cascade, name), payload: [], due: scene.server.clock.now, attempts: attempts)
    }

    @Test func `tasks are listed with what they are, and a parked one is put back once`() async throws {
        let scene = try await Scene()
        try await scene.put(Self.task("tired", attempts: Limits.taskAttempts - 1, in: scene), Self.task("new", in: scene))
        #expect(try await scene.server.cloud.runDueTasks().failed == 2)
        let due = "2026-05-09T06:13:21Z"
        #expect(
            try await scene.page()
                == AdminMessages.TaskPage(
                    tasks: [
                        AdminMessages.ListedTask(id: "cascade:7:new", kind: "cascade", database: nil, isParked: false, due: due, attempts: 1),
                        AdminMessages.ListedTask(id: "cascade:7:tired", kind: "cascade", database: nil, isParked: true, due: nil, attempts: 16),
                    ], next: nil))
        #expect(try await scene.page(after: "cascade:7:new").tasks.map(\.id) == ["cascade:7:tired"])
        let answer = await scene.ask("POST", "/admin/1/tasks/retry", #"{"id":"cascade:7:tired"}"#)
        #expect(answer.status == 200 && answer.text == #"{"ids":["cascade:7:tired"]}"#)
        #expect(try await scene.page().tasks.map(\.attempts) == [1, 0])
        #expect(try await scene.server.cloud.runDueTasks().failures.map(\.task.key.name) == ["tired"], "it is due at once")
    }

    @Test(arguments: [("cascade:7:new", 404), ("cascade:7:none", 404), ("nothing", 400)])
    func `what is not parked is not put back, and the answer says so`(id: String, status: Int) async throws {
        let scene = try await Scene()
        try await scene.put(Self.task("new", in: scene))
        let answer = await scene.ask("POST", "/admin/1/tasks/retry", #"{"id":"\#(id)"}"#)
        #expect(answer.status == status && answer.text.contains("nacre task list"))
        #expect(try await scene.page().tasks.map(\.attempts) == [0])
    }

    @Test func `a list begins behind a task, and behind nothing else`() async throws {
        let scene = try await Scene()
        #expect(await scene.ask("GET", "/admin/1/tasks?after=x").status == 400)
    }

    @Test func `many tasks come page by page, each once`() async throws {
        let scene = try await Scene()
        for part in 0..<3 {
            let tasks = (0..<400).map { Self.task("\(part * 1000 + $0)", in: scene) }
            try await scene.server.store.write { transaction in
                var plan = WritePlan()
                plan.tasks = tasks
                try transaction.apply(plan)
                return .commit(())
            }
        }
        var (ids, next, pages): ([String], String?, Int) = ([], nil, 0)
        repeat {
            let page = try await scene.page(after: next)
            ids += page.tasks.map(\.id)
            (next, pages) = (page.next, pages + 1)
        } while next != nil
        #expect(ids.count == 1200 && Set(ids).count == 1200 && pages == 3)
    }
}
