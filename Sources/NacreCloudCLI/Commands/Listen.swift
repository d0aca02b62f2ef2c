import CloudKit
import CloudKitPush
import Foundation
import NacreLocks

/// `nacre listen`
enum Listen {
    private static let container = Option.value("container", "name", "The container; by default that of CLOUDKIT_CONTAINER.")
    private static let device = Option.value(
        "device", "name", fallback: "nacre listen", "Names this listener among the devices of the same account token, so that each is told.")
    private static let count = Option.value("count", "number", "End after so many notifications.")

    static let command = Command(
        "listen", "Print the notifications of a user's subscriptions as they come.",
        discussion: """
            Takes server, environment and account token from the variables of an app: eval "$(nacre env)". Prints a line of JSON for each notification, as \
            CKNotification reads it, until it is interrupted. Changes of this account token's own are not told to it.
            """,
        options: [container, device, count]
    ) { call in
        let most = try call.value(count).map { text in
            guard let number = Int(text), number > 0 else { throw UsageError(.invalid("--\(count.name)", "give a positive number"), path: call.path) }
            return number
        }
        let named = call.value(container).map { CKContainer(identifier: $0) } ?? CKContainer.default()
        let end = Locked<CKError?>(nil)
        let notifications = RemoteNotifications(for: named, clientID: try call.require(device)) { state in
            switch state {
            case .connecting: break
            case .connected: Output.message("Listening; Ctrl-C stops it.")
            case .waiting(let seconds, let error):
                Output.message("Not connected\(error.map { ": \($0.localizedDescription)" } ?? ""); trying again in \(Int(seconds.rounded(.up))) s.")
            case .ended(let error): end.withLock { $0 = error }
            }
        }
        var printed = 0
        for await userInfo in notifications {
            let json = try JSONSerialization.data(withJSONObject: userInfo, options: [.sortedKeys, .withoutEscapingSlashes])
            try Output.data(String(decoding: json, as: UTF8.self))
            printed += 1
            if printed == most { return }
        }
        if let error = end.withLock({ $0 }) { throw CommandFailure(error) }
    }
}

extension CommandFailure {
    /// Makes a failure of an error of the framework, which has its own remedy or is about the variables of an app.
    init(_ error: CKError) {
        let code: ExitCode =
            switch error.code {
            case .notAuthenticated, .permissionFailure: .authentication
            case .networkFailure, .networkUnavailable, .serviceUnavailable, .badContainer: .unreachable
            default: .failure
            }
        self.init(code, error.localizedDescription, remedy: Self.remedy(of: error))
    }

    private static func remedy(of error: CKError) -> String {
        let variables = #"nacre up CONTAINER writes the variables of an app, and eval "$(nacre env)" sets them."#
        guard let own = error.userInfo["CKErrorRemedy"] as? String else { return variables }
        return own.contains("CLOUDKIT_") ? "\(own). \(variables)" : "\(own)."
    }
}
