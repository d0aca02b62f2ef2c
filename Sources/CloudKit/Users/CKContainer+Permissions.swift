import Foundation
import NacreCloudWire
import NacreLocks

extension CKContainer {
    /// The permissions that an app may request from its user. Apple: iOS 8.
    public struct ApplicationPermissions: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Lets other users of this container find the user by e-mail address, phone number or user record ID, and see
        /// the user's name. Apple: deprecated in iOS 17.
        public static var userDiscoverability: CKContainer.ApplicationPermissions { CKContainer.ApplicationPermissions(rawValue: 1) }
    }

    /// The user's answer to a request. Apple: iOS 8, deprecated in iOS 17.
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user was not asked yet.
        case initialState = 0
        /// The status is unknown; an error gives the reason.
        case couldNotComplete = 1
        /// The user said no.
        case denied = 2
        /// The user said yes.
        case granted = 3
    }

    /// The handler of a permission's status. Apple: iOS 8, deprecated in iOS 17.
    public typealias ApplicationPermissionBlock = (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// Former names in Swift.
    public enum Application {
        /// Apple: transitional name.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// Apple: transitional name.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// Apple: transitional name.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Calls back with the user's answer, given on any device.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        asking(applicationPermission) { conversation throws(CKError) in
            try await conversation.permission()
        } completion: {
            Self.callBack($0, completionHandler)
        }.start()
    }

    /// Returns the user's answer, given on any device.
    public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        CKContainer.ApplicationPermissionStatus(
            try await SingleCall.result { done in
                self.asking(applicationPermission) { conversation throws(CKError) in
                    try await conversation.permission()
                } completion: {
                    done($0)
                }
            }.get())
    }

    /// Asks the user, once for all devices: a user who has answered is not asked again.
    ///
    /// On this server: the prompt is the app's own, `CloudKitServer.setPermissionPrompt`. Without one the user is not
    /// asked and the permission does not change. The status is then `couldNotComplete`, with an error that says so.
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        requesting(applicationPermission) { Self.callBack($0, completionHandler) }.start()
    }

    /// Asks the user, once for all devices: a user who has answered is not asked again.
    ///
    /// On this server: the prompt is the app's own, `CloudKitServer.setPermissionPrompt`. Without one the user is not
    /// asked, and the call throws.
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        CKContainer.ApplicationPermissionStatus(try await SingleCall.result { self.requesting(applicationPermission, $0) }.get())
    }

    private typealias Done = @Sendable (Result<Discoverability, CKError>) -> Void

    private func requesting(_ permission: ApplicationPermissions, _ done: @escaping Done) -> CKOperation {
        let identifier = line.containerIdentifier ?? ""
        return asking(permission) { conversation throws(CKError) in
            let status = try await conversation.permission()
            guard status == .initialState else { return status }
            guard let prompt = PermissionPrompt.shared.ask(for: identifier) else { throw .nobodyAsks }
            return try await conversation.answerPermission(await prompt(permission, identifier) ? .granted : .denied)
        } completion: {
            done($0)
        }
    }

    private func asking(
        _ permission: ApplicationPermissions, _ ask: @escaping @Sendable (Conversation) async throws(CKError) -> Discoverability,
        completion: @escaping Done
    ) -> CKOperation {
        ContainerCall(
            self,
            ask: { conversation throws(CKError) in
                guard permission == .userDiscoverability else { throw .malformed("There is one permission: userDiscoverability") }
                return try await ask(conversation)
            }, completion: completion)
    }

    private static func callBack(_ result: Result<Discoverability, CKError>, _ handler: ApplicationPermissionBlock) {
        switch result {
        case .success(let status): handler(CKContainer.ApplicationPermissionStatus(status), nil)
        case .failure(let error): handler(.couldNotComplete, error)
        }
    }
}

@available(*, unavailable)
extension CKContainer.Application: Sendable {}

extension CKContainer.ApplicationPermissionStatus {
    fileprivate init(_ status: Discoverability) {
        switch status {
        case .initialState: self = .initialState
        case .denied: self = .denied
        case .granted: self = .granted
        }
    }
}

/// Apple: transitional names of iOS 8.
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// Apple: transitional name.
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// Apple: transitional name.
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

/// The prompts that apps set for permission requests.
final class PermissionPrompt: Sendable {
    typealias Ask = @Sendable (_ permission: CKContainer.ApplicationPermissions, _ containerIdentifier: String) async -> Bool

    static let shared = PermissionPrompt()

    private let asks = Locked<[String?: Ask]>([:])

    /// Returns the prompt of this container, otherwise the one for all.
    func ask(for identifier: String) -> Ask? {
        asks.withLock { $0[identifier] ?? $0[nil] }
    }

    func set(_ ask: Ask?, for identifier: String?) {
        asks.withLock { $0[identifier] = ask }
    }
}
