import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// Numbers of the outbox, for telemetry.
package struct TaskFigures: Hashable, Sendable {
    package struct Lane: Hashable, Sendable {
        /// Tasks that are due.
        package var due = 0
        /// Seconds since the first of them became due.
        package var oldestSeconds = 0.0

        package init() {}
    }

    package var lanes: [TaskLane: Lane] = [:]
    package var parked = 0

    package init() {}
}

extension Cloud {
    /// Counts the tasks that are due now, and those that are parked. Tasks under way are leased, and not due.
    /// - Parameter limit: the most tasks that are counted of each; the oldest come first.
    package func taskFigures(limit: Int = 1000) async throws -> TaskFigures {
        let now = clock()
        let kinds = Set(TaskKind.allCases)
        let (due, parked) = try await store.read { transaction in
            (
                try transaction.tasks(of: kinds, dueThrough: now, limit: limit),
                try transaction.tasks(of: kinds, dueAfter: TaskRow.parked + -1, through: TaskRow.parked, limit: limit).count
            )
        }
        var figures = TaskFigures()
        figures.parked = parked
        for task in due {
            var lane = figures.lanes[task.key.kind.lane] ?? TaskFigures.Lane()
            lane.due += 1
            lane.oldestSeconds = max(lane.oldestSeconds, now.secondsSince2001 - task.due.secondsSince2001)
            figures.lanes[task.key.kind.lane] = lane
        }
        return figures
    }
}
