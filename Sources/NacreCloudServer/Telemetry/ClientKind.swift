import NacreHTTPServer

/// The kind of program that sent a request, as far as the request tells.
enum ClientKind: Hashable, Sendable {
    /// An app with the framework, of this version; empty if it does not say.
    case framework(version: String)
    /// A command of this project, of this version.
    case command(version: String)
    /// A holder of a server-to-server key.
    case serverKey
    /// A web page or another program with an API token or a session.
    case web
    /// A request without a credential, such as a download by a URL that the server gave.
    case none

    init(_ request: HTTPRequest) {
        let agent = request.header("User-Agent") ?? ""
        if let version = Self.version(agent, of: "nacre/") {
            self = .command(version: version)
        } else if let version = Self.version(agent, of: "CloudKit/") {
            self = .framework(version: version)
        } else if request.header(SignedRequest.keyIDHeader) != nil {
            self = .serverKey
        } else if Authenticator.bearer(request) != nil {
            self = .framework(version: "")
        } else {
            self = request.query("ckAPIToken") != nil || request.header("Origin") != nil ? .web : .none
        }
    }

    /// Returns the version behind a product's name: at most 16 digits, letters and dots. nil for another product.
    private static func version(_ agent: String, of product: String) -> String? {
        guard agent.hasPrefix(product) else { return nil }
        let version = agent.utf8.dropFirst(product.utf8.count).prefix { $0 != 0x20 }
        let isPlain =
            version.count <= 16 && version.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7a || (0x30...0x39).contains($0) || $0 == 0x2e }
        return isPlain ? String(Substring(version)) : ""
    }

    /// The kind, such as `framework`.
    var name: String {
        switch self {
        case .framework: "framework"
        case .command: "command"
        case .serverKey: "serverKey"
        case .web: "web"
        case .none: "none"
        }
    }

    /// The kind with its version, such as `framework 0.1.0`.
    var text: String {
        switch self {
        case .framework(let version) where !version.isEmpty, .command(let version) where !version.isEmpty: "\(name) \(version)"
        default: name
        }
    }
}
