import NacreCloudServer
import NacreCloudWire

/// Exit codes of the process. Numbers from 64 on: BSD's sysexits.h; 130: 128 plus SIGINT, as shells count.
enum ExitCode: Int32, CaseIterable {
    case success = 0
    case failure = 1
    /// The data that was checked is damaged or invalid, or differs.
    case damaged = 2
    case usage = 64
    case unreachable = 69
    case authentication = 77
    case interrupted = 130
}

/// The reason why a command failed, in a sentence, and what to do about it.
struct CommandFailure: Error {
    let code: ExitCode
    let message: String
    let remedy: String?

    init(_ code: ExitCode, _ message: String, remedy: String? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    init(_ error: PrivateFileError) {
        let remedy: String? =
            switch error.code {
            case .notPrivate: "chmod 600 \(error.path)"
            default: nil
            }
        self.init(error.code == .notPrivate ? .authentication : .failure, "\(error.path): \(error.text)", remedy: remedy)
    }

    /// Makes a failure of an error of CloudKit's web API.
    /// - Parameter record: The record that the error is about.
    init(_ error: ServerError, of record: String? = nil) {
        let code: ExitCode
        var remedy = error.remedy
        switch error.code {
        case .authenticationFailed, .authenticationRequired:
            code = .authentication
            remedy = "A new user token may be required, for this container and environment: nacre user sign-in --account."
        case .accessDenied: code = .authentication
        case .tryAgainLater, .throttled: code = .unreachable
        default: code = .failure
        }
        let place = error.field.map { " (\($0))" } ?? ""
        self.init(code, "\(record.map { "\($0): " } ?? "")\(error.reason)\(place)", remedy: remedy)
    }

    init(_ fault: BackupFault) {
        let code: ExitCode =
            switch fault.kind {
            case .damaged: .damaged
            case .interrupted: .interrupted
            case .failed, .inUse: .failure
            }
        self.init(code, fault.text, remedy: fault.remedy)
    }

    init(_ fault: StartFault) {
        self.init(.failure, fault.text, remedy: fault.remedy)
    }
}
