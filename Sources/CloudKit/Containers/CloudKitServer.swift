public import Foundation
import NacreLocks

/// A container's server, and the app's credentials for it. This is all that an app needs beyond Apple's names.
///
/// Each setting is taken from the first of these sources that has it:
/// 1. `CKContainer(identifier:server:)`, which uses no other source, and then `CloudKitServer.configure`;
/// 2. the environment: `CLOUDKIT_SERVER_URL`, `CLOUDKIT_CONTAINER`, `CLOUDKIT_ENVIRONMENT`, `CLOUDKIT_API_TOKEN`,
/// `CLOUDKIT_ACCOUNT_TOKEN`;
/// 3. the file `$XDG_CONFIG_HOME/nacre/config.json` (otherwise `~/.config/nacre/config.json`): an object with `server`,
/// `container`, `environment`, `apiToken`, `accountToken` and `containers`. The latter is an object from identifiers to
/// objects of the same form, which take precedence for their container.
///
/// `CLOUDKIT_CA_FILE` names a PEM file of authorities that are trusted beside the system's, for every server.
///
/// Tokens and the environment are never used with another server than the one that their own source names. Environment
/// and file are read once, at the first request. A missing setting fails the request that needs it; nothing traps.
public struct CloudKitServer: Hashable, Sendable {
    /// The container's environment. Only development accepts new record types and fields with saves.
    public enum Environment: String, Sendable {
        /// A save adds new record types and fields.
        case development
        /// Only deployed record types and fields are accepted.
        case production
    }

    /// The server's URL, for example "http://127.0.0.1:8787". It may have a path, under which the API begins.
    public var url: URL
    /// The environment; nil for the one configured elsewhere for this server, otherwise development.
    public var environment: Environment?
    /// The app's token for the container.
    public var apiToken: String?
    /// The token of a user's device. Without it, requests to the private and shared databases fail with
    /// `notAuthenticated`.
    public var accountToken: String?

    /// Makes the settings of a server, with the app's credentials for it.
    public init(url: URL, environment: Environment? = nil, apiToken: String? = nil, accountToken: String? = nil) {
        self.url = url
        self.environment = environment
        self.apiToken = apiToken
        self.accountToken = accountToken
    }

    /// Configures the server for requests made from now on.
    ///
    /// - Parameters:
    ///   - server: the server; nil removes the configuration.
    ///   - containerIdentifier: the container; nil for all containers without a configuration of their own.
    public static func configure(_ server: CloudKitServer?, forContainer containerIdentifier: String? = nil) {
        let before = ConfiguredServers.shared.state.withLock { state in
            let before = state.servers[containerIdentifier]
            state.servers[containerIdentifier] = server
            return before
        }
        if before?.accountToken != server?.accountToken { AccountWatch.post() }
    }

    /// Sets which container `CKContainer.default()` is, for containers made from now on; nil removes the setting.
    public static func setDefaultContainer(_ containerIdentifier: String?) {
        ConfiguredServers.shared.state.withLock { $0.defaultContainer = containerIdentifier }
    }

    /// Sets the prompt that is shown when the app calls `requestApplicationPermission`. On Apple's platforms the system
    /// shows one.
    ///
    /// - Parameters:
    ///   - ask: shows the question to the user and returns whether the answer was yes. Called for each user and
    ///     container until an answer is stored. nil, the default: the user is not asked.
    ///   - containerIdentifier: the container; nil for all containers without a prompt of their own.
    public static func setPermissionPrompt(
        _ ask: (@Sendable (_ permission: CKContainer.ApplicationPermissions, _ containerIdentifier: String) async -> Bool)?,
        forContainer containerIdentifier: String? = nil
    ) {
        PermissionPrompt.shared.set(ask, for: containerIdentifier)
    }
}

extension CKContainer {
    /// Makes a container with settings of its own. Two of them can be two users, or two devices of one user, in one
    /// process.
    public convenience init(identifier containerIdentifier: String, server: CloudKitServer) {
        self.init(line: ServerLine(identifier: containerIdentifier, source: .explicit(server), sealsAnew: true))
    }

    /// Makes a container with settings and keys of its own.
    package convenience init(identifier containerIdentifier: String, server: CloudKitServer, keyStore: KeyStore) {
        self.init(line: ServerLine(identifier: containerIdentifier, source: .explicit(server), keyStore: keyStore))
    }
}

/// The servers that calls of `CloudKitServer` configured.
final class ConfiguredServers: Sendable {
    struct State {
        var servers: [String?: CloudKitServer] = [:]
        var defaultContainer: String?
    }

    static let shared = ConfiguredServers()

    let state = Locked(State())

    /// Returns the configuration of this container, otherwise the one for all.
    func layer(for identifier: String?) -> SettingsLayer? {
        let server = state.withLock { state in state.servers[identifier] ?? state.servers[nil] }
        return server.map(SettingsLayer.init)
    }
}
