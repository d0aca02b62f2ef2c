import NacreCloudContainer
import NacreLocks
import NacreTelemetry

/// Does the outbox's tasks, one after the other, for as long as the server runs.
final class TaskRunner: Sendable {
    /// How long it rests when nothing was due. A task can wait this long, and nobody waits for a task.
    static let rest: Duration = .seconds(2)
    /// After how many rests it drops what has expired.
    static let restsPerSweep = 30

    private let cloud: Cloud
    private let clock: ServerClock
    private let logger: Logger
    private let running = Locked<Task<Void, Never>?>(nil)

    init(cloud: Cloud, clock: ServerClock, logger: Logger) {
        self.cloud = cloud
        self.clock = clock
        self.logger = logger
    }

    func start() {
        running.withLock { running in
            guard running == nil else { return }
            running = Task { await run() }
        }
    }

    /// Returns when the task under way has ended.
    func stop() async {
        let task = running.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    private func run() async {
        var rests = 0
        var spareMemory = SpareMemory()
        while !Task.isCancelled {
            do {
                while try await cloud.runDueTasks().taken > 0, !Task.isCancelled {}
                if rests % Self.restsPerSweep == 0 {
                    while try await cloud.removeExpired() > 0, !Task.isCancelled {}
                }
            } catch {
                logger.log(.warning, "Background work failed and will be tried again", [.error: .string(String(describing: error))])
            }
            rests += 1
            spareMemory.returnAfterBurst()
            logger.tellFolded()
            try? await clock.sleep(Self.rest)
        }
    }
}
