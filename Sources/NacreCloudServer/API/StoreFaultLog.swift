import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreTelemetry

/// Logs each failure of the store and each damaged record that a request met: the database, zone and record, the fault,
/// and the request.
struct StoreFaultLog: Sendable {
    let logger: Logger
    let telemetry: Telemetry

    init(logger: Logger, _ telemetry: Telemetry) {
        (self.logger, self.telemetry) = (logger, telemetry)
        for code in StoreError.Code.allCases { _ = telemetry.counter(.storeErrors, code.rawValue) }
    }

    /// Logs and counts a failure. Unknown values are empty; background work has no request ID.
    func log(_ error: StoreError) {
        telemetry.counter(.storeErrors, error.code.rawValue).add()
        logger.log(
            .error, "The store failed",
            [
                .requestID: .string(WorkMeter.current?.requestID ?? ""), .database: .string(error.values["database"] ?? ""),
                .zone: .string(error.values["zone"] ?? ""), .record: .string(error.values["recordName"] ?? ""),
                .code: .string(error.code.rawValue), .error: .string(Self.text(of: error)),
            ])
    }

    /// The error's text with its values, except those that name its database, zone or record.
    static func text(of error: StoreError) -> String {
        let places: Set = ["database", "zone", "recordName"]
        let rest = error.values.filter { !places.contains($0.key) }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return ([error.text] + rest).joined(separator: ", ")
    }
}
