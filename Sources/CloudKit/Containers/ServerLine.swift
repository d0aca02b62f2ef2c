import Foundation
import NacreCloudWire
import NacreLocks

/// The access to a container's server, shared by the container, its databases and the views that `configuredWith`
/// makes.
final class ServerLine: Sendable {
    enum Source: Sendable {
        /// Swift calls, the environment and the file. They are read at each request, so that calls may come later.
        case ambient
        case explicit(CloudKitServer)
    }

    /// The container's identifier; nil for the default container at the time of a request.
    let identifier: String?
    let source: Source
    let transport: any Transport
    /// The transport for requests that the server holds open.
    let waitingTransport: any Transport
    let timekeeper: Timekeeper
    /// Writes a line to the framework's log: standard error, except in tests.
    let log: @Sendable (String) -> Void
    /// The folder of fetched assets.
    let staging: AssetStaging
    /// The store of long-lived operations; nil for none.
    let longLived: LongLivedOperations?
    /// The store of this device's keys for encrypted values.
    let keyStore: KeyStore
    /// Whether passes that seal old data anew begin by themselves.
    let sealsAnew: Bool
    /// The queue of operations that were added.
    let queue: OperationQueue
    /// The server's last answer to who the user is.
    let knownUser = Locked<KnownUser?>(nil)

    /// The version that the last answer bore; nil: none.
    let serverVersion = Locked<String?>(nil)

    let accountWatch: AccountWatch
    /// Lets discretionary requests wait for others.
    let discretion = Discretion()

    /// The key with which e-mail addresses and phone numbers are hashed for the server.
    let contactKey = Locked<ContactKey?>(nil)

    #if canImport(NacreEncryption)
        /// The keys of zones that were opened.
        let openedKeys = Locked(OpenedKeys())
        /// The versions of records that this process has seen.
        let seenRecords = Locked(SeenRecords())
        /// The passes that this process has begun by itself.
        let passes = Locked(BackgroundPasses())
    #endif

    struct ContactKey: Sendable {
        var settings: ServerSettings
        var bytes: [UInt8]
    }

    struct KnownUser: Sendable {
        var settings: ServerSettings
        var recordName: String
    }

    /// - Parameters:
    ///   - transport: nil for the network.
    ///   - longLived: nil for this user's store, if the transport is the network: an agent uses no other.
    ///   - keyStore: nil for this user's store, if the transport is the network; otherwise for one in memory.
    init(
        identifier: String?, source: Source, transport: (any Transport)? = nil, timekeeper: Timekeeper = .system,
        staging: AssetStaging = .shared, longLived: LongLivedOperations? = nil,
        keyStore: KeyStore? = nil, sealsAnew: Bool = false, accountWatch: AccountWatch = AccountWatch(),
        log: @escaping @Sendable (String) -> Void = { FileHandle.standardError.write(Data(($0 + "\n").utf8)) }
    ) {
        self.identifier = identifier
        self.source = source
        self.transport = transport ?? NetworkTransport.shared
        waitingTransport = transport ?? NetworkTransport.waiting
        self.timekeeper = timekeeper
        self.staging = staging
        self.longLived = longLived ?? (transport == nil ? .ambient : nil)
        self.keyStore = keyStore ?? (transport == nil ? .ambient : KeyStore(folder: nil))
        self.sealsAnew = sealsAnew
        self.accountWatch = accountWatch
        self.log = log
        queue = OperationQueue()
        queue.name = "CloudKit operations"
    }

    static let `default` = ServerLine(identifier: nil, source: .ambient, sealsAnew: true)

    /// The container's identifier, as far as it is known now.
    var containerIdentifier: String? {
        guard identifier == nil else { return identifier }
        if let configured = ConfiguredServers.shared.state.withLock(\.defaultContainer) { return configured }
        return AmbientSettings.process.container
    }

    /// Returns the settings. Throws `badContainer`, with the remedy, if one is missing.
    func settings() throws(CKError) -> ServerSettings {
        switch source {
        case .explicit(let server):
            return try ServerSettings(container: identifier, layers: [SettingsLayer(server)])
        case .ambient:
            let identifier = containerIdentifier
            let configured = ConfiguredServers.shared.layer(for: identifier).map { [$0] } ?? []
            return try ServerSettings(container: identifier, layers: configured + AmbientSettings.process.layers(for: identifier))
        }
    }

    /// - Parameter mayWait: whether the server may hold the request open.
    func address(mayWait: Bool = false) throws(CKError) -> ServerAddress {
        ServerAddress(settings: try settings(), transport: mayWait ? waitingTransport : transport)
    }
}

/// The target of requests, with the credentials.
struct ServerAddress: Sendable {
    let settings: ServerSettings
    let transport: any Transport

    var apiToken: String? { settings.apiToken }

    /// Makes a request to `{server}/database/1/{container}/{environment}/{database}/{path}?ckAPIToken=…`, with the
    /// account token as bearer.
    func request(
        _ method: TransportRequest.Method, _ path: String, _ body: [UInt8], _ scope: CKDatabase.Scope
    ) throws(CKError) -> TransportRequest {
        if scope != .public && settings.accountToken == nil { throw .needsAccount }
        return try request(method, "database", "\(scope.wire)/\(path)", body)
    }

    /// Makes a request for `{server}/device/1/{container}/{environment}/notifications`, as a stream of events.
    func eventStreamRequest(clientID: String?) throws(CKError) -> TransportRequest {
        if settings.accountToken == nil { throw .needsAccount }
        var request = try request(.get, "device", "notifications", [], query: clientID.map { [("clientId", $0)] } ?? [])
        request.headers["Accept"] = "text/event-stream"
        return request
    }

    /// Makes a `POST {server}/device/1/{container}/{environment}/notifications`, which is an addition of this server.
    func deviceNoteRequest(_ body: [UInt8]) throws(CKError) -> TransportRequest {
        if settings.accountToken == nil { throw .needsAccount }
        return try request(.post, "device", "notifications", body)
    }

    /// The framework and its version, by which a server's log tells its requests.
    private static let userAgent = "CloudKit/\(ServerVersion.current)"

    private func request(
        _ method: TransportRequest.Method, _ root: String, _ path: String, _ body: [UInt8], query: [(String, String)] = []
    ) throws(CKError) -> TransportRequest {
        var base = settings.url.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        let items = (settings.apiToken.map { [("ckAPIToken", $0)] } ?? []) + query
        let question = items.isEmpty ? "" : "?" + items.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
        let text = "\(base)/\(root)/1/\(Self.encoded(settings.container))/\(settings.environment.rawValue)/\(path)\(question)"
        guard let url = URL(string: text) else { throw .missing(.url) }
        var headers = ["Accept": "application/json", "User-Agent": Self.userAgent]
        if method == .post { headers["Content-Type"] = "application/json; charset=utf-8" }
        if let token = settings.accountToken { headers["Authorization"] = "Bearer \(token)" }
        return TransportRequest(method: method, url: url, headers: headers, body: body, timeout: 0)
    }

    /// Makes a request for the bytes of a file, at a URL from the server. The URL needs no credentials and gets none,
    /// whatever its host is.
    ///
    /// - Throws: an error if it is no HTTP URL, or if it is without TLS while the server is reached by TLS.
    func fileRequest(_ method: TransportRequest.Method, _ text: String) throws(CKError) -> TransportRequest {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), url.host != nil, scheme == "https" || scheme == "http",
            scheme == "https" || settings.url.scheme?.lowercased() == "http"
        else { throw .unexpectedAnswer }
        let headers =
            switch method {
            case .post: ["Content-Type": "application/octet-stream"]
            case .patch: ["Content-Type": "application/partial-upload"]
            case .get, .head: [String: String]()
            }
        return TransportRequest(method: method, url: url, headers: headers, body: [], timeout: 0)
    }

    /// Percent-encodes all but RFC 3986's unreserved characters.
    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension CKDatabase.Scope {
    /// The word in the path.
    var wire: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }
}
