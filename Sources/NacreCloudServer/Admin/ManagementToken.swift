import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// A credential of the admin API that survives restarts: it reads and changes the schema of one container, and nothing
/// beyond that.
///
/// Its text is an ID, by which it is listed and revoked, and a secret, of which the server keeps only the digest. See
/// `docs/decisions/administration.md`.
package struct ManagementToken: Hashable, Sendable {
    package var id: String
    package var secret: String

    package init(id: String, secret: String) {
        self.id = id
        self.secret = secret
    }

    /// Parses a token; nil for any other text, such as the token of an `admin.json`.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == Self.idDigits, parts[1].utf8.count == Self.secretDigits else { return nil }
        self.init(id: String(parts[0]), secret: String(parts[1]))
    }

    package var text: String { "\(id).\(secret)" }

    /// The key with which a server proves that it knows the token: the digest, which is all that the server has of it.
    package var proofKey: String { Self.digest(secret) }

    private static let idDigits = 32
    private static let secretDigits = 64

    static func newSecret() throws -> String { Hex.encode(try SecureRandom.keyBytes(secretDigits / 2)) }

    static func digest(_ secret: String) -> String { Hex.encode(SHA256.digest(Array(secret.utf8))) }
}

/// The holder of a management token that sent the current admin request.
struct ManagementCaller: Sendable {
    @TaskLocal static var current: ManagementCaller?

    let entry: ManagementTokenEntry

    /// The token's ID and name, for the log and the history of schemas.
    var author: String { entry.name.isEmpty ? entry.id : "\(entry.id) \(entry.name)" }

    /// Routes of schemas. Each request names its container: a `GET` in its query, a `POST` in a message that conforms
    /// to `OfContainer`.
    private static let routes: Set = [
        "/admin/1/schema", "/admin/1/schema/deploy", "/admin/1/schema/import", "/admin/1/schema/diff", "/admin/1/schema/indexes",
        "/admin/1/schema/reset", "/admin/1/schema/history", "/admin/1/schema/undo",
    ]

    /// - Throws: an error for any request but one about the container's schema, whether or not its path exists.
    func require(_ request: HTTPRequest) throws {
        guard let route = request.route, Self.routes.contains(route) else { throw ServerError.notForManagement }
        if request.method == .get || request.method == .head { try require(container: request.query("container")) }
    }

    /// - Throws: an error for a message that names no container, or another one.
    func require(_ message: Any) throws { try require(container: (message as? any OfContainer)?.container) }

    private func require(container: String?) throws {
        guard container == entry.container else { throw ServerError.notForManagement }
    }
}

/// A message about one container.
protocol OfContainer {
    var container: String { get }
}

extension AdminMessages.NewDeployment: OfContainer {}
extension AdminMessages.NewImport: OfContainer {}
extension AdminMessages.NewDiff: OfContainer {}
extension AdminMessages.NewIndexes: OfContainer {}
extension AdminMessages.NewReset: OfContainer {}
extension AdminMessages.NewUndo: OfContainer {}

extension ServerError {
    fileprivate static let notForManagement = ServerError(
        .accessDenied, "a management token reads and changes the schema of its own container, and nothing else",
        remedy: "Name its container (nacre token list tells which), or ask with the token of admin.json.")
}
