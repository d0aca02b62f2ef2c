import NacreCloudServer

/// `nacre task`
enum TaskCommands {
    static let command = Command("task", "Look at the work that a server does beside requests.", subcommands: [TaskList.command, TaskRetry.command])
}

/// `nacre task list`
enum TaskList {
    private static let parked = Option.flag("parked", "Only tasks that failed too often.")

    static let command = Command(
        "list", "List the tasks that wait, and those that are parked.",
        discussion: """
            A task goes on with what a request began: cascades, index builds, the rows of deleted zones, old tombstones. Each line has the task's id, \
            its state, its attempts since it last got on, and its database. One that fails is tried again after growing pauses, and parked after 16 \
            attempts; the server's log has the cause of each failure.
            """,
        options: [parked] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var list = AdminMessages.TaskList(tasks: [])
        try await admin.eachTask { task in
            guard task.isParked || !call.has(parked) else { return }
            if isJSON { list.tasks.append(task) } else { try Output.data(task.line) }
        }
        if isJSON { try Output.json(list) }
    }
}

/// `nacre task retry`
enum TaskRetry {
    private static let id = Argument("id", "The task, as nacre task list prints it.", isRequired: false)
    private static let all = Option.flag("all", "All parked tasks.")

    static let command = Command(
        "retry", "Put parked tasks back: they are done at once, and have all their attempts again.",
        discussion: "Mend the cause first: the server's log names it, and nacre check --repair makes a task that cannot be read anew.",
        arguments: [id],
        options: [all] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        var retried = AdminMessages.Retries(ids: [])
        if !call.has(all) {
            retried = try await admin.retry(AdminMessages.NewRetry(id: try call.require(id)))
        } else if !call.arguments.isEmpty {
            throw UsageError(.exclusive(all.spelling, id.usage), path: call.path)
        } else {
            try await admin.eachTask { task in
                if task.isParked { retried.ids += try await admin.retry(AdminMessages.NewRetry(id: task.id)).ids }
            }
        }
        if call.has(SharedOptions.json) { return try Output.json(retried) }
        for id in retried.ids { try Output.data(id) }
        Output.message("Tasks put back: \(retried.ids.count)")
    }
}

extension AdminMessages.ListedTask {
    fileprivate var line: String {
        let state = due.map { "due \($0)" } ?? "parked"
        let progress = recordsDone.map { ", \($0) records done" } ?? ""
        return "\(id)  \(state), \(attempts) attempts\(progress), \(database ?? "a database that is gone")"
    }
}
