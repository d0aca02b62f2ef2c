public import Foundation
import NacreLocks

/// Where a container's server is, and who the app is to it. This is all that an app needs beyond Apple's names.
///
/// A setting is taken from the first of these that says it:
/// 1. `CKContainer(identifier:server:)`, which asks nowhere else, and then `CloudKitServer.configure`;
/// 2. the environment: `CLOUDKIT_SERVER_URL`, `CLOUDKIT_CONTAINER`, `CLOUDKIT_ENVIRONMENT`, `CLOUDKIT_API_TOKEN`, `CLOUDKIT_ACCOUNT_TOKEN`;
/// 3. the file `$XDG_CONFIG_HOME/nacre/config.json` (else `~/.config/nacre/config.json`): an object with `server`, `container`, `environment`,
///    `apiToken`, `accountToken`, and `containers`, an object from identifiers to such objects, which win for their container.
///
/// `CLOUDKIT_CA_FILE` names a PEM file of authorities that are trusted beside the system's, for every server.
///
/// Tokens and the environment never go to another server than the one that their own source names. Environment and file are read once, at
/// the first request. What is missing is told by the error of the request that needs it; nothing traps.
public struct CloudKitServer: Hashable, Sendable {
    /// Development takes new record types and fields as they come; production only what was deployed.
    public enum Environment: String, Sendable {
        /// New record types and fields come with saves.
        case development
        /// What was deployed.
        case production
    }

    /// "http://127.0.0.1:8787", say; may have a path, under which the API begins.
    public var url: URL
    /// nil: as configured elsewhere for this server, else development.
    public var environment: Environment?
    /// The app's token for the container.
    public var apiToken: String?
    /// The token of a user's device; without one the private and shared databases answer `notAuthenticated`.
    public var accountToken: String?

    /// A server, and who the app is to it.
    public init(url: URL, environment: Environment? = nil, apiToken: String? = nil, accountToken: String? = nil) {
        self.url = url
        self.environment = environment
        self.apiToken = apiToken
        self.accountToken = accountToken
    }

    /// Says where the server is, for requests made from now on.
    ///
    /// - Parameters:
    ///   - server: nil takes back what was said.
    ///   - containerIdentifier: nil: for all containers that have no call of their own.
    public static func configure(_ server: CloudKitServer?, forContainer containerIdentifier: String? = nil) {
        let before = ConfiguredServers.shared.state.withLock { state in
            let before = state.servers[containerIdentifier]
            state.servers[containerIdentifier] = server
            return before
        }
        if before?.accountToken != server?.accountToken { AccountWatch.post() }
    }

    /// Which container `CKContainer.default()` is, for containers made from now on; nil takes it back.
    public static func setDefaultContainer(_ containerIdentifier: String?) {
        ConfiguredServers.shared.state.withLock { $0.defaultContainer = containerIdentifier }
    }

    /// Says what asks the user when the app calls `requestApplicationPermission`: on Apple's platforms the system does.
    ///
    /// - Parameters:
    ///   - ask: shows the user the question and says whether the answer was yes. Called for each user and container as long as no answer is kept.
    ///     nil: nobody is asked, which is how it begins.
    ///   - containerIdentifier: nil: for all containers that have no call of their own.
    public static func setPermissionPrompt(
        _ ask: (@Sendable (_ permission: CKContainer.ApplicationPermissions, _ containerIdentifier: String) async -> Bool)?,
        forContainer containerIdentifier: String? = nil
    ) {
        PermissionPrompt.shared.set(ask, for: containerIdentifier)
    }
}

extension CKContainer {
    /// A container with settings of its own: two of them can be two users, or two devices of one user, in one process.
    public convenience init(identifier containerIdentifier: String, server: CloudKitServer) {
        self.init(line: ServerLine(identifier: containerIdentifier, source: .explicit(server)))
    }
}

/// What Swift calls configured.
final class ConfiguredServers: Sendable {
    struct State {
        var servers: [String?: CloudKitServer] = [:]
        var defaultContainer: String?
    }

    static let shared = ConfiguredServers()

    let state = Locked(State())

    /// The call for this container, or else the one for all.
    func layer(for identifier: String?) -> SettingsLayer? {
        let server = state.withLock { state in state.servers[identifier] ?? state.servers[nil] }
        return server.map(SettingsLayer.init)
    }
}
