import NacreCloudContainer
import NacreCloudWire
import NacreLocks

/// Wakes the lanes of the task runner when a commit has left tasks that are due before they would look again.
final class TaskAlarm: Sendable {
    private struct Rest {
        var until: Timestamp
        var watch: Watch
    }

    private let rests = Locked<[TaskLane: Rest]>([:])

    /// Listens for a lane that will look again at `until`. To be called before the lane looks for tasks, so that no hint falls between.
    func listen(in lane: TaskLane, until: Timestamp) -> Watch {
        let watch = Watch()
        rests.withLock { $0[lane] = Rest(until: until, watch: watch) }
        return watch
    }

    /// Never blocks.
    /// - Parameter due: when the earliest of each kind is.
    func ring(due: [TaskKind: Timestamp]) {
        let woken = rests.withLock { rests in
            due.compactMap { kind, due in rests[kind.lane].flatMap { due < $0.until ? $0.watch : nil } }
        }
        for watch in woken { watch.fire() }
    }
}

/// Hints within this process.
struct ServerHints: Hints {
    let hub: ChangeHub
    let alarm: TaskAlarm

    func feedMoved(_ database: DatabaseID) {
        hub.signal(database)
    }

    func tasksLeft(due: [TaskKind: Timestamp]) {
        alarm.ring(due: due)
    }
}
