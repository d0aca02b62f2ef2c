/// The quantity that an alert rule compares with its limit.
package enum AlertMeasure: String, Codable, Hashable, Sendable, CaseIterable {
    /// Free room on the disk of the data folder.
    case diskFree = "disk-free"
    case diskFreeBytes = "disk-free-bytes"
    /// Age of the newest scheduled backup.
    case backupAge = "backup-age"
    /// Whether the last scheduled backup failed.
    case backupFailed = "backup-failed"
    case tasksParked = "tasks-parked"
    /// Time since the oldest waiting task was due.
    case taskOverdue = "task-overdue"
    /// Time since the oldest change that a webhook's receiver has not acknowledged.
    case webhookLag = "webhook-lag"
    /// Part of its quota that a container's public database takes. A private database is its user's, and no alert
    /// looks at one.
    case quotaUsed = "quota-used"
    case requests
    /// Part of the requests that failed.
    case errors
    /// A percentile of the time until the answer.
    case latency
    /// Deviation of an hour's requests from those of the same hour in the weeks before. See `HourComparison`.
    case unlike

    /// The unit of a measure's figures and limits.
    package enum Unit: String, Codable, Hashable, Sendable {
        case percent, bytes, seconds, count, perMinute, milliseconds
        /// A multiple of the deviation that is usual.
        case deviations
    }

    package var unit: Unit {
        switch self {
        case .diskFree, .quotaUsed, .errors: .percent
        case .diskFreeBytes: .bytes
        case .backupAge, .taskOverdue, .webhookLag: .seconds
        case .backupFailed, .tasksParked: .count
        case .requests: .perMinute
        case .latency: .milliseconds
        case .unlike: .deviations
        }
    }

    /// The side of the limit on which a figure is bad.
    package var badSide: Side { self == .diskFree || self == .diskFreeBytes ? .below : .above }

    package enum Side: Sendable { case below, above }

    /// Whether it is read from requests, over a span of time.
    package var isOfTraffic: Bool {
        switch self {
        case .requests, .errors, .latency, .unlike: true
        case .diskFree, .diskFreeBytes, .backupAge, .backupFailed, .tasksParked, .taskOverdue, .webhookLag, .quotaUsed: false
        }
    }

    /// Whether data or their backups are in danger; such an alert is logged as an error, others as warnings.
    package var isGrave: Bool { [.diskFree, .diskFreeBytes, .backupAge, .backupFailed].contains(self) }

    /// The advice that an alert gives.
    package var remedy: String {
        switch self {
        case .diskFree, .diskFreeBytes:
            "Make room on the disk of the data folder: old backups and replaced-… folders can go; nacre usage tells which container grows."
        case .backupAge, .backupFailed: "See why in the log (nacre logs), mend it, and make one at once: nacre backup create."
        case .tasksParked: "Look: nacre task list --parked. Mend the cause (nacre check --repair), then: nacre task retry --all."
        case .taskOverdue: "Look at what waits (nacre task list) and whether the disk or a mail or push service is slow: nacre logs."
        case .webhookLag: "See which receiver does not acknowledge: nacre webhook list. Once it does: nacre webhook resume."
        case .quotaUsed: "Delete records, or give the container more: nacre quota set --public."
        case .requests: "See who asks in the log: nacre logs -f. Bound it: nacre rate set."
        case .errors: "See which requests fail and why: nacre logs -f."
        case .latency: "See what is slow: nacre logs -f, and the disk and processor of this machine."
        case .unlike: "See what changed: a new version of the app, an outage on the way here, or a client that asks in a loop (nacre logs -f)."
        }
    }
}

extension AlertMeasure.Unit {
    /// A figure as people read it: `9.5 %`, `1.5 G`, `2.5 h`.
    package func text(_ figure: Double) -> String {
        switch self {
        case .percent: Self.short(figure) + " %"
        case .bytes: Self.scaled(figure, [("G", 1_073_741_824), ("M", 1_048_576), ("K", 1024)], "bytes")
        case .seconds: Self.scaled(figure, [("d", 86_400), ("h", 3600), ("min", 60)], "s")
        case .count: Self.short(figure)
        case .perMinute: Self.short(figure) + " a minute"
        case .milliseconds: Self.short(figure) + " ms"
        case .deviations: Self.short(figure) + " times the usual deviation"
        }
    }

    private static func scaled(_ figure: Double, _ scales: [(name: String, size: Double)], _ least: String) -> String {
        guard let scale = scales.first(where: { figure >= $0.size }) else { return short(figure) + " " + least }
        return short(figure / scale.size) + " " + scale.name
    }

    /// The number with one digit after the point, if it is not 0.
    private static func short(_ number: Double) -> String {
        let text = "\((number * 10).rounded() / 10)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
