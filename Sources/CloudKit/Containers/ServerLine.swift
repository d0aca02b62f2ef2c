import Foundation
import NacreLocks

/// How a container reaches its server: shared by the container, its databases and the views that `configuredWith` makes.
final class ServerLine: Sendable {
    enum Source: Sendable {
        /// Swift calls, environment, file: looked up at each request, so that calls may come later.
        case ambient
        case explicit(CloudKitServer)
    }

    /// nil: the default container, whichever that is when a request is made.
    let identifier: String?
    let source: Source
    let transport: any Transport
    /// For questions that the server holds open.
    let waitingTransport: any Transport
    let timekeeper: Timekeeper
    /// Takes the lines of the framework's log: standard error, but for tests.
    let log: @Sendable (String) -> Void
    /// Where fetched assets go.
    let staging: AssetStaging
    /// Where long-lived operations are kept; nil: nowhere.
    let longLived: LongLivedOperations?
    /// Runs operations that were added.
    let queue: OperationQueue
    /// What the server answered last when it was asked who the app is.
    let knownUser = Locked<KnownUser?>(nil)

    let accountWatch = AccountWatch()
    /// Which requests stand back for others.
    let discretion = Discretion()

    /// Under which e-mail addresses are hashed for the server.
    let contactKey = Locked<ContactKey?>(nil)

    struct ContactKey: Sendable {
        var settings: ServerSettings
        var bytes: [UInt8]
    }

    struct KnownUser: Sendable {
        var settings: ServerSettings
        var recordName: String
    }

    /// - Parameters:
    ///   - transport: nil: the network.
    ///   - longLived: nil: this user's, over the network; an agent knows no other transport.
    init(
        identifier: String?, source: Source, transport: (any Transport)? = nil, timekeeper: Timekeeper = .system,
        staging: AssetStaging = .shared, longLived: LongLivedOperations? = nil,
        log: @escaping @Sendable (String) -> Void = { FileHandle.standardError.write(Data(($0 + "\n").utf8)) }
    ) {
        self.identifier = identifier
        self.source = source
        self.transport = transport ?? NetworkTransport.shared
        waitingTransport = transport ?? NetworkTransport.waiting
        self.timekeeper = timekeeper
        self.staging = staging
        self.longLived = longLived ?? (transport == nil ? .ambient : nil)
        self.log = log
        queue = OperationQueue()
        queue.name = "CloudKit operations"
    }

    static let `default` = ServerLine(identifier: nil, source: .ambient)

    /// The container's identifier as far as it is known now.
    var containerIdentifier: String? {
        guard identifier == nil else { return identifier }
        if let configured = ConfiguredServers.shared.state.withLock(\.defaultContainer) { return configured }
        return AmbientSettings.process.container
    }

    /// Throws `badContainer`, with what to set, when a setting is missing.
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

    /// - Parameter mayWait: the server may hold the question open.
    func address(mayWait: Bool = false) throws(CKError) -> ServerAddress {
        ServerAddress(settings: try settings(), transport: mayWait ? waitingTransport : transport)
    }
}

/// Where requests go, and with which credentials.
struct ServerAddress: Sendable {
    let settings: ServerSettings
    let transport: any Transport

    var apiToken: String? { settings.apiToken }

    /// `{server}/database/1/{container}/{environment}/{database}/{path}?ckAPIToken=…`, with the account token as bearer.
    func request(
        _ method: TransportRequest.Method, _ path: String, _ body: [UInt8], _ scope: CKDatabase.Scope
    ) throws(CKError) -> TransportRequest {
        if scope != .public && settings.accountToken == nil { throw .needsAccount }
        return try request(method, "database", "\(scope.wire)/\(path)", body)
    }

    /// `{server}/device/1/{container}/{environment}/notifications`, as a stream of events.
    func eventStreamRequest(clientID: String?) throws(CKError) -> TransportRequest {
        if settings.accountToken == nil { throw .needsAccount }
        var request = try request(.get, "device", "notifications", [], query: clientID.map { [("clientId", $0)] } ?? [])
        request.headers["Accept"] = "text/event-stream"
        return request
    }

    /// `POST {server}/device/1/{container}/{environment}/notifications`, which is ours.
    func deviceNoteRequest(_ body: [UInt8]) throws(CKError) -> TransportRequest {
        if settings.accountToken == nil { throw .needsAccount }
        return try request(.post, "device", "notifications", body)
    }

    private func request(
        _ method: TransportRequest.Method, _ root: String, _ path: String, _ body: [UInt8], query: [(String, String)] = []
    ) throws(CKError) -> TransportRequest {
        var base = settings.url.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        let items = (settings.apiToken.map { [("ckAPIToken", $0)] } ?? []) + query
        let question = items.isEmpty ? "" : "?" + items.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
        let text = "\(base)/\(root)/1/\(Self.encoded(settings.container))/\(settings.environment.rawValue)/\(path)\(question)"
        guard let url = URL(string: text) else { throw .missing(.url) }
        var headers = ["Accept": "application/json"]
        if method == .post { headers["Content-Type"] = "application/json; charset=utf-8" }
        if let token = settings.accountToken { headers["Authorization"] = "Bearer \(token)" }
        return TransportRequest(method: method, url: url, headers: headers, body: body, timeout: 0)
    }

    /// A request for the bytes of a file, at a URL that the server gave: it needs no credentials, and gets none, wherever it leads.
    ///
    /// - Throws: where it is no URL of HTTP, or where a server that is reached by TLS would have bytes go without.
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
    /// The path's word.
    var wire: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }
}
