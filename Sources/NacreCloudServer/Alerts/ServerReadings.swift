import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire

/// The readings of a running server, for alert rules.
struct ServerReadings: AlertReadings {
    let cloud: Cloud
    /// The data folder; nil: the data are in memory.
    let folder: String?
    /// nil: the server makes no backups by itself.
    let scheduled: ScheduledBackups?
    let recorder: TelemetryRecorder

    var measures: Set<AlertMeasure> {
        var measures: Set<AlertMeasure> = [.tasksParked, .taskOverdue, .webhookLag, .quotaUsed, .requests, .errors, .latency, .unlike]
        if folder != nil { measures.formUnion([.diskFree, .diskFreeBytes]) }
        if scheduled != nil { measures.formUnion([.backupAge, .backupFailed]) }
        return measures
    }

    func disk() async -> (free: Double, all: Double)? {
        var disk = statvfs()
        guard let folder, statvfs(folder, &disk) == 0 else { return nil }
        // Blocks that this user may take. Blocks kept for root are no part of the whole either.
        let usable = Double(disk.f_blocks) - Double(disk.f_bfree) + Double(disk.f_bavail)
        return (Double(disk.f_bavail) * Double(disk.f_frsize), usable * Double(disk.f_frsize))
    }

    func backups() async -> (newest: Timestamp?, isFailing: Bool) { scheduled?.health ?? (nil, false) }

    /// Parked tasks that are counted at most.
    private static let parkedMax = 1000

    func tasks(at now: Timestamp) async throws -> (parked: Int, oldestDue: Timestamp?) {
        try await cloud.store.read { transaction in
            let kinds = Set(TaskKind.allCases)
            let parked = try transaction.tasks(of: kinds, dueAfter: TaskRow.parked + -1, through: TaskRow.parked, limit: Self.parkedMax)
            return (parked.count, try transaction.tasks(of: kinds, dueThrough: now, limit: 1).first?.due)
        }
    }

    func webhookLag() async throws -> Double { try await cloud.webhookLags().values.max() ?? 0 }

    func publicUsage(of container: String, _ environment: DatabaseKey.Environment) async throws -> Usage {
        try await cloud.publicUsage(of: container, environment)
    }

    func traffic(of scope: AlertScope, from: Timestamp, to: Timestamp) async throws -> AlertTraffic? {
        let databases: TelemetrySeries.Databases? = scope.databases.map { $0 == .public ? .public : .personal }
        let filter = TelemetryFilter(
            operation: scope.operation, databases: databases, container: scope.container, environment: scope.environment?.rawValue)
        let sums = try await recorder.sums(of: filter, from: from, to: to, shownOnly: !scope.isServer)
        return sums.requests > 0 ? AlertTraffic(sums) : nil
    }
}
