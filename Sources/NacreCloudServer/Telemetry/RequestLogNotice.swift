import NacreCloudStorage
import NacreTelemetry

/// Tells the operator of the request log's troubles, in the server's own log.
struct RequestLogNotice: Sendable {
    let logger: Logger

    func log(_ event: RequestLogEvent) {
        switch event {
        case .failed(let error):
            logger.log(
                .warning, "The request log cannot be written: requests are answered, and their rows are lost",
                [.code: .string(error.code.rawValue), .error: .string(StoreFaultLog.text(of: error))])
        case .overrun: logger.log(.warning, "Requests come faster than the request log is written, and rows are lost", [:])
        case .recovered(let lost): logger.log(.notice, "The request log is written again", [.count: .int(lost)])
        case .setAside(let path, let reason):
            logger.log(
                .warning, "A part of the request log was put aside, and another is begun", [.path: .string(path), .reason: .string(reason)])
        }
    }
}
