import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// The outbox: tasks that wait to run outside requests, and tasks that failed too often.
extension AdminAPI {
    /// `GET /admin/1/tasks?after=…`
    @Sendable func listTasks(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let after = try request.query("after").map { try Self.task($0, field: "after") }
        let page = try await cloud.listTasks(after: after)
        return try answer(AdminMessages.TaskPage(tasks: page.tasks.map(AdminMessages.ListedTask.init), next: page.next?.text))
    }

    /// `POST /admin/1/tasks/retry`
    @Sendable func retryTask(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewRetry.self, of: request)
        guard try await cloud.retryTask(Self.task(asked.id, field: "id")) else {
            throw ServerError(
                .notFound, "no parked task has this id", field: "id",
                remedy: "See what is parked: nacre task list --parked. Others are tried again by themselves.")
        }
        return try answer(AdminMessages.Retries(ids: [asked.id]))
    }

    private static func task(_ text: String, field: String) throws -> TaskKey {
        guard let key = TaskKey(text: text) else {
            throw ServerError(.badRequest, "not the id of a task", field: field, remedy: "Take it from nacre task list: kind:database:name.")
        }
        return key
    }
}

extension AdminMessages.ListedTask {
    init(_ listed: ListedTask) {
        let task = listed.task
        let due = Date(timeIntervalSinceReferenceDate: task.due.secondsSince2001)
        self.init(
            id: task.key.text, kind: "\(task.key.kind)", database: listed.database?.text, isParked: task.isParked,
            due: task.isParked ? nil : due.formatted(.iso8601), attempts: task.attempts, recordsDone: listed.recordsDone)
    }
}
