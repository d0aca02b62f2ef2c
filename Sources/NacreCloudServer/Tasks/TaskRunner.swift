import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreTelemetry

/// Runs the outbox's tasks for as long as the server runs: one after the other in each lane, the lanes side by side.
final class TaskRunner: Sendable {
    /// Seconds that a lane rests at most, after which it finds tasks that other processes left.
    static let restSeconds: Double = 60
    /// Seconds that a lane rests at least, also when a due task cannot run yet or the store has failed.
    static let shortestRestSeconds: Double = 2
    /// Time between two rounds of upkeep: memory, and log lines that were folded.
    static let upkeepRest: Duration = .seconds(2)
    /// Rounds of upkeep between two sweeps of expired entries.
    static let restsPerSweep = 30

    private let cloud: Cloud
    private let alarm: TaskAlarm
    private let clock: ServerClock
    private let logger: Logger
    private let work = BackgroundWork()

    /// - Parameter alarm: rings when the cloud hints at new tasks.
    init(cloud: Cloud, alarm: TaskAlarm, clock: ServerClock, logger: Logger) {
        self.cloud = cloud
        self.alarm = alarm
        self.clock = clock
        self.logger = logger
    }

    func start() {
        work.start { [self] in
            await withTaskGroup(of: Void.self) { group in
                for lane in TaskLane.allCases { group.addTask { await Turn.$current.withValue(lane.turn) { await self.run(lane) } } }
                group.addTask { await self.runUpkeep() }
            }
        }
    }

    /// Stops the runner, and returns when the chunks under way have ended.
    func stop() async {
        await work.stop()
    }

    private func run(_ lane: TaskLane) async {
        while !Task.isCancelled {
            let until = clock.now() + Self.restSeconds
            let watch = alarm.listen(in: lane, until: until)
            let next = await failingTo(clock.now() + Self.shortestRestSeconds) {
                var round: WorkerRound
                repeat {
                    round = try await cloud.runDueTasks(in: [lane], lookingThrough: until)
                    log(round.failures)
                } while round.areMore && !Task.isCancelled
                return round.next ?? until
            }
            await rest(until: next, watch)
        }
    }

    /// Rests until `next`, or until the alarm rings.
    private func rest(until next: Timestamp, _ watch: Watch) async {
        let seconds = max(next.secondsSince2001 - clock.now().secondsSince2001, Self.shortestRestSeconds)
        let timer = Task { [clock] in
            try? await clock.sleep(.seconds(seconds))
            watch.expire()
        }
        _ = await watch.fired()
        timer.cancel()
    }

    private func runUpkeep() async {
        var rests = 0
        var spareMemory = SpareMemory()
        while !Task.isCancelled {
            if rests % Self.restsPerSweep == 0 {
                await failingTo(()) { while try await cloud.removeExpired() > 0, !Task.isCancelled {} }
            }
            rests += 1
            spareMemory.returnAfterBurst()
            logger.writeFolded()
            try? await clock.sleep(Self.upkeepRest)
        }
    }

    private func failingTo<Value>(_ fallback: Value, _ body: () async throws -> Value) async -> Value {
        do {
            return try await body()
        } catch {
            logger.log(.warning, "Background work failed and will be tried again", [.error: .string(String(describing: error))])
            return fallback
        }
    }

    private func log(_ failures: [TaskFailure]) {
        for failure in failures {
            let (task, isParked) = (failure.task, failure.task.isParked)
            logger.log(
                isParked ? .error : .warning, isParked ? "A task failed and is parked" : "A task failed and will be tried again",
                [
                    .kind: .string("\(task.key.kind)"), .database: .string(failure.database?.text ?? String(task.key.database.rawValue)),
                    .task: .string(task.key.text), .attempt: .int(Int(task.attempts)),
                    .error: .string((failure.cause as? StoreError).map(StoreFaultLog.text) ?? String(describing: failure.cause)),
                    .remedy: .string(isParked ? "Mend the cause (nacre check --repair), then: nacre task retry \(task.key.text)" : "none needed"),
                ])
        }
    }
}
