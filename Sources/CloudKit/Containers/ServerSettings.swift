import Foundation

/// A setting that requests need.
enum ServerSetting: Sendable {
    case url
    case container
    case environment
    case apiToken
    case accountToken
    case file

    var problem: String {
        switch self {
        case .url: "No CloudKit server is configured"
        case .container: "No CloudKit container is configured"
        case .environment: "The CloudKit environment is neither development nor production"
        case .apiToken: "No API token is configured"
        case .accountToken: "No account token is configured"
        case .file: "The configuration file is not readable as JSON"
        }
    }

    var remedy: String {
        switch self {
        case .url: "Set CLOUDKIT_SERVER_URL, or call CloudKitServer.configure"
        case .container: "Set CLOUDKIT_CONTAINER, or use CKContainer(identifier:)"
        case .environment: "Set CLOUDKIT_ENVIRONMENT to development or production"
        case .apiToken: "Set CLOUDKIT_API_TOKEN, or call CloudKitServer.configure"
        case .accountToken: "Set CLOUDKIT_ACCOUNT_TOKEN, or call CloudKitServer.configure"
        case .file: "Correct $XDG_CONFIG_HOME/nacre/config.json"
        }
    }
}

/// The settings of one source; nil values are not set there.
struct SettingsLayer: Equatable, Sendable {
    var url: String?
    var container: String?
    var environment: String?
    var apiToken: String?
    var accountToken: String?

    init(url: String? = nil, container: String? = nil, environment: String? = nil, apiToken: String? = nil, accountToken: String? = nil) {
        self.url = url
        self.container = container
        self.environment = environment
        self.apiToken = apiToken
        self.accountToken = accountToken
    }

    init(_ server: CloudKitServer) {
        self.init(
            url: server.url.absoluteString, environment: server.environment?.rawValue, apiToken: server.apiToken, accountToken: server.accountToken)
    }

    /// Reads the process's environment; an empty variable counts as not set.
    init(environment variables: [String: String]) {
        func variable(_ name: String) -> String? {
            variables[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        self.init(
            url: variable("CLOUDKIT_SERVER_URL"), container: variable("CLOUDKIT_CONTAINER"), environment: variable("CLOUDKIT_ENVIRONMENT"),
            apiToken: variable("CLOUDKIT_API_TOKEN"), accountToken: variable("CLOUDKIT_ACCOUNT_TOKEN"))
    }
}

/// The content of the configuration file.
struct SettingsFile: Decodable, Equatable, Sendable {
    struct Entry: Decodable, Equatable, Sendable {
        var server: String?
        var environment: String?
        var apiToken: String?
        var accountToken: String?
    }

    var server: String?
    var container: String?
    var environment: String?
    var apiToken: String?
    var accountToken: String?
    var containers: [String: Entry]?

    /// Returns the file's path under `XDG_CONFIG_HOME`, which must be absolute to count, otherwise under `~/.config`.
    static func path(environment variables: [String: String]) -> String {
        let folder = variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? (variables["HOME"] ?? "") + "/.config"
        return folder + "/nacre/config.json"
    }

    /// Returns the settings for a container: first its own entry, then those of the whole file.
    func layers(for identifier: String?) -> [SettingsLayer] {
        let own = identifier.flatMap { containers?[$0] }.map { entry in
            SettingsLayer(
                url: entry.server ?? server, environment: entry.environment, apiToken: entry.apiToken, accountToken: entry.accountToken)
        }
        let whole = SettingsLayer(
            url: server, container: container, environment: environment, apiToken: apiToken, accountToken: accountToken)
        return [own, whole].compactMap { $0 }
    }
}

/// The settings that the process was started with. Read once.
struct AmbientSettings: Sendable {
    static let process = AmbientSettings(environment: ProcessInfo.processInfo.environment) { FileManager.default.contents(atPath: $0) }

    var environment: SettingsLayer
    /// The configuration file; nil if there is none.
    var file: Result<SettingsFile, CKError>?

    init(environment variables: [String: String], read: (String) -> Data?) {
        environment = SettingsLayer(environment: variables)
        file = read(SettingsFile.path(environment: variables)).map { data in
            do {
                return .success(try JSONDecoder().decode(SettingsFile.self, from: data))
            } catch {
                return .failure(.missing(.file))
            }
        }
    }

    /// The default container's identifier. A file that cannot be read counts as one without it.
    var container: String? {
        environment.container ?? (try? file?.get())?.container
    }

    /// Returns the settings of the environment and the file, highest precedence first.
    func layers(for identifier: String?) throws(CKError) -> [SettingsLayer] {
        [environment] + (try file?.get().layers(for: identifier) ?? [])
    }
}

/// The settings of a container, combined from all sources.
struct ServerSettings: Equatable, Sendable {
    var url: URL
    var container: String
    var environment: CloudKitServer.Environment
    var apiToken: String?
    var accountToken: String?

    /// - Parameter layers: the settings of each source, highest precedence first.
    init(container identifier: String?, layers: [SettingsLayer]) throws(CKError) {
        guard let first = layers.lazy.compactMap(\.url).first else { throw .missing(.url) }
        guard let url = URL(string: first), url.scheme == "http" || url.scheme == "https", url.host != nil else { throw .badServerURL(first) }
        guard let container = identifier ?? layers.lazy.compactMap(\.container).first, !container.isEmpty else { throw .missing(.container) }
        let trusted = layers.filter { $0.url == nil || $0.url == first }
        guard let environment = CloudKitServer.Environment(rawValue: trusted.lazy.compactMap(\.environment).first ?? "development") else {
            throw .missing(.environment)
        }
        self.url = url
        self.container = container
        self.environment = environment
        apiToken = trusted.lazy.compactMap(\.apiToken).first
        accountToken = trusted.lazy.compactMap(\.accountToken).first
    }
}
