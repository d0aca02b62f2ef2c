package import NacreCloudStorage
package import NacreCloudWire

/// The figures that a server can say of itself, for alert rules.
package protocol AlertReadings: Sendable {
    /// The measures that it can read.
    var measures: Set<AlertMeasure> { get }
    /// The room on the disk of the data folder in bytes; nil: the system does not say.
    func disk() async -> (free: Double, all: Double)?
    /// The time of the newest scheduled backup, if there is one, and whether the last one failed.
    func backups() async -> (newest: Timestamp?, isFailing: Bool)
    /// The number of parked tasks, up to a bound, and the time at which the oldest other one was due.
    func tasks(at now: Timestamp) async throws -> (parked: Int, oldestDue: Timestamp?)
    /// The seconds since the oldest change that a webhook's receiver has not acknowledged; 0: all have all.
    func webhookLag() async throws -> Double
    /// The size of a container's public database.
    func publicUsage(of container: String, _ environment: DatabaseKey.Environment) async throws -> Usage
    /// The requests of a scope in a span of time; nil: there were none. A scope that is a part of the server has those
    /// that telemetry shows.
    func traffic(of scope: AlertScope, from: Timestamp, to: Timestamp) async throws -> AlertTraffic?
}

/// Sums over requests.
package struct AlertTraffic: Hashable, Sendable {
    package var requests: Int64
    package var clientErrors: Int64
    package var serverErrors: Int64
    /// errors[code]: errors that clients were told, by their code.
    package var errors: [String: Int64]
    /// milliseconds[percentile]
    package var milliseconds: [Int: Double]

    package init(requests: Int64, clientErrors: Int64 = 0, serverErrors: Int64 = 0, errors: [String: Int64] = [:], milliseconds: [Int: Double] = [:])
    {
        (self.requests, self.clientErrors, self.serverErrors) = (requests, clientErrors, serverErrors)
        (self.errors, self.milliseconds) = (errors, milliseconds)
    }

    package init(_ sums: TelemetrySums) {
        self.init(requests: sums.requests, clientErrors: sums.clientErrors, serverErrors: sums.serverErrors)
        for (part, partSums) in sums.parts where part.kind == .code { errors[part.name] = partSums.errors }
        for percentile in AlertRule.percentiles {
            milliseconds[percentile] = sums.latency.percentile(Double(percentile) / 100).map { $0 / 1000 }
        }
    }

    /// The figure of a rule about traffic other than `unlike`.
    package func reading(of rule: AlertRule) -> AlertReading {
        guard let span = rule.spanSeconds, let least = rule.least else { return .unknown }
        if rule.measure == .requests { return .figure(Double(requests) * 60 / span) }
        guard requests >= Int64(least) else { return .tooLittle }
        if let percentile = rule.percentile { return milliseconds[percentile].map(AlertReading.figure) ?? .tooLittle }
        let failed: Int64 =
            switch rule.errors {
            case "client": clientErrors
            case "server": serverErrors
            case let code: code.flatMap { errors[$0] } ?? 0
            }
        return .figure(100 * Double(failed) / Double(requests))
    }
}

extension AlertRule {
    /// Reads the rule's figure now.
    package func reading(from readings: some AlertReadings, at now: Timestamp) async throws -> AlertReading {
        switch measure {
        case .diskFree: return await readings.disk().map { .figure(100 * $0.free / max($0.all, 1)) } ?? .unknown
        case .diskFreeBytes: return await readings.disk().map { .figure($0.free) } ?? .unknown
        case .backupAge: return await readings.backups().newest.map { .figure(max(now.secondsSince2001 - $0.secondsSince2001, 0)) } ?? .unknown
        case .backupFailed: return .figure(await readings.backups().isFailing ? 1 : 0)
        case .tasksParked: return .figure(Double(try await readings.tasks(at: now).parked))
        case .taskOverdue:
            let due = try await readings.tasks(at: now).oldestDue
            return .figure(due.map { max(now.secondsSince2001 - $0.secondsSince2001, 0) } ?? 0)
        case .webhookLag: return .figure(try await readings.webhookLag())
        case .quotaUsed:
            guard let container = scope.container, let environment = scope.environment else { return .unknown }
            let usage = try await readings.publicUsage(of: container, environment)
            return usage.limit.map { .figure(100 * Double(usage.bytes) / Double(max($0, 1))) } ?? .tooLittle
        case .requests, .errors, .latency:
            let span = spanSeconds ?? 0
            // Telemetry is summed in slots of ten seconds, which are kept for an hour, and of a minute.
            let end = now.floor(to: span < 3600 ? 10 : 60)
            return try await readings.traffic(of: scope, from: end + -span, to: end).map { $0.reading(of: self) } ?? .tooLittle
        case .unlike: return try await comparison(readings, at: now)
        }
    }

    /// Compares the last whole hour with the same hour of the weeks before.
    private func comparison(_ readings: some AlertReadings, at now: Timestamp) async throws -> AlertReading {
        let (hour, week): (Double, Double) = (3600, 7 * 86_400)
        let end = now.floor(to: hour)
        func requests(_ end: Timestamp) async throws -> Int64? { try await readings.traffic(of: scope, from: end + -hour, to: end)?.requests }
        var before: [Int64?] = []
        for past in 1...HourComparison.weeks { before.append(try await requests(end + -Double(past) * week)) }
        return HourComparison.reading(try await requests(end) ?? 0, before: before, least: least ?? Self.usualLeast)
    }
}

extension Timestamp {
    /// The end of the last whole slot of a length in seconds, by UTC.
    fileprivate func floor(to seconds: Double) -> Timestamp {
        Timestamp(secondsSince2001: (secondsSince2001 / seconds).rounded(.down) * seconds)
    }
}
