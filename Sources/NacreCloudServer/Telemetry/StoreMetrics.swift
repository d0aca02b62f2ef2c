import NacreCloudStorage
import NacreTelemetry

extension MetricKey {
    static let commitDuration = MetricKey(
        "nacre_store_commit_duration_seconds", help: "Commits of the database, each of one or more writes, with the sync of the disk.",
        unit: .seconds)
    static let storeEvents = MetricKey("nacre_store_events_total", help: "Work of the database since the start, by kind.", label: "event")
    static let writesWaiting = MetricKey("nacre_store_writes_waiting", help: "Writes that wait for the database.")
    static let storeErrors = MetricKey("nacre_store_errors_total", help: "Failures of the store that requests and tasks met, by code.", label: "code")
}

/// The counts of the database, as it tells them.
struct StoreFigures: Sendable {
    /// Counts since the start by the kind of event, in camel case.
    var events: [(kind: String, count: Int)]
    var writesWaiting: Int

    func publish(to telemetry: Telemetry) {
        telemetry.gauge(.writesWaiting).set(writesWaiting)
        for event in events { telemetry.counter(.storeEvents, Self.snake(event.kind)).follow(UInt64(event.count)) }
    }

    private static func snake(_ camel: String) -> String {
        camel.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
