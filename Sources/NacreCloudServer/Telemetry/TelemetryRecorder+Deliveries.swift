import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreTelemetry

/// Sums up how notifications reach devices, as operations on the databases of their users.
extension TelemetryRecorder: DeliveryObserver {
    func queued(_ count: Int, told: Int, for user: AppUser) {
        add(.of("notifications/queue", user), at: now, by: user.userRecordName) { sums, _ in
            sums.requests += Int64(count)
            sums.answered += Int64(told)
        }
    }

    func pushed(_ report: PushReport, took duration: Duration, for user: AppUser) {
        add(.of("notifications/push", user), at: now, by: user.userRecordName) { sums, users in
            sums.requests += 1
            sums.microseconds += duration.microseconds
            sums.latency.record(microseconds: duration.microseconds)
            guard let fault = report.outcome.fault else { return }
            if fault.isOfService { sums.serverErrors += 1 } else { sums.clientErrors += 1 }
            sums.add(
                TelemetrySums.PartSums(requests: 1, errors: 1, microseconds: duration.microseconds, users: users),
                to: TelemetryPart(.code, "PUSH \(fault.name)"))
        }
    }
}

extension TelemetrySeries {
    fileprivate static func of(_ operation: String, _ user: AppUser) -> TelemetrySeries {
        TelemetrySeries(operation: operation, databases: .personal, container: user.container, environment: user.environment.rawValue)
    }
}

extension PushOutcome {
    /// The reason why a message was not taken, and whether it is the push service's; nil: it was taken.
    fileprivate var fault: (name: String, isOfService: Bool)? {
        switch self {
        case .taken: nil
        case .retry: ("retry", true)
        case .dropAddress: ("addressEnded", false)
        case .giveUp(let reason): (reason.rawValue, false)
        }
    }
}
