import NacreCloudContainer
import NacreTelemetry

/// A line for each failure of the store and each damaged record that a request met: where it was, what is wrong, and for which request.
struct StoreFaultLog: Sendable {
    let logger: Logger

    /// A value that there is not is empty; background work has no request.
    func log(_ error: StoreError) {
        logger.log(
            .error, "The store failed",
            [
                .requestID: .string(WorkMeter.current?.requestID ?? ""), .database: .string(error.values["database"] ?? ""),
                .zone: .string(error.values["zone"] ?? ""), .record: .string(error.values["recordName"] ?? ""),
                .code: .string(error.code.rawValue), .error: .string(Self.text(of: error)),
            ])
    }

    /// What is wrong, with what is known of it besides its place.
    static func text(of error: StoreError) -> String {
        let places: Set = ["database", "zone", "recordName"]
        let rest = error.values.filter { !places.contains($0.key) }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return ([error.text] + rest).joined(separator: ", ")
    }
}
