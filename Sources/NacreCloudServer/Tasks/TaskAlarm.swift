import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// Wakes a lane of the task runner when a commit has left a task that is due before the lane looks again.
final class TaskAlarm: Sendable {
    private struct Rest {
        var until: Timestamp
        var watch: Watch
    }

    private let rests = Locked<[TaskLane: Rest]>([:])

    /// Listens for a lane that will look again at `until`. Call it before the lane looks for tasks, so that no hint is
    /// missed.
    func listen(in lane: TaskLane, until: Timestamp) -> Watch {
        let watch = Watch()
        rests.withLock { $0[lane] = Rest(until: until, watch: watch) }
        return watch
    }

    /// Wakes the lanes that rest too long. Never blocks.
    /// - Parameter due: the time of the earliest task of each kind.
    func ring(due: [TaskKind: Timestamp]) {
        let woken = rests.withLock { rests in
            due.compactMap { kind, due in rests[kind.lane].flatMap { due < $0.until ? $0.watch : nil } }
        }
        for watch in woken { watch.fire() }
    }
}

/// Passes the cloud's hints on to waiting requests and lanes of this process.
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
