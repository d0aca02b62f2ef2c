import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The description of a route: its request, answers and credentials. The tables are next to the routes; a test compares
/// them with the routers.
struct EndpointDescription: Sendable {
    /// A value in the query of the URL.
    struct QueryValue: Sendable {
        var name: String
        var schema: Schema
        var isRequired: Bool

        static func required(_ name: String, _ schema: Schema = .string) -> QueryValue { QueryValue(name: name, schema: schema, isRequired: true) }
        static func optional(_ name: String, _ schema: Schema = .string) -> QueryValue { QueryValue(name: name, schema: schema, isRequired: false) }
    }

    struct Answer: Sendable {
        var status: Int
        var type = "application/json; charset=utf-8"
        /// The schema of a JSON body; nil for other bodies, or none.
        var schema: Schema?
    }

    var method: HTTPMethod
    /// The path as in the router.
    var pattern: String
    var summary: String
    /// The document's group for the endpoint.
    var group: String
    /// Alternative sets of credentials, each of which is sufficient; empty: none is needed.
    var credentials: [[AskingCredential]] = []
    var query: [QueryValue] = []
    var body: Schema?
    /// A JSON body that does something small.
    var example: StaticString?
    var answers: [Answer]
    /// Statuses of errors of the whole request, besides the listener's own.
    var errors: [Int]

    /// Statuses of the listener's own errors: for an unreadable path or body, and when the server is full.
    private static let ofTheListener = [400, 404, 405, 408, 413, 415, 429, 431, 500, 503]

    var errorStatuses: [Int] { Set(errors + Self.ofTheListener).sorted() }
}

/// A credential of a request, by the name of its scheme in the document.
enum AskingCredential: String, CaseIterable, Sendable {
    case apiToken
    case webAuthToken
    case accountToken
    case keyID
    case signedDate
    case signature
    case adminToken
    case managementToken

    /// The credential's place: `Authorization: Bearer`, or a value of the query or of a header.
    enum Place: Sendable {
        case bearer
        case query(String)
        case header(String)
    }

    var place: Place {
        switch self {
        case .apiToken: .query("ckAPIToken")
        case .webAuthToken: .query("ckWebAuthToken")
        case .accountToken, .adminToken, .managementToken: .bearer
        case .keyID: .header(SignedRequest.keyIDHeader)
        case .signedDate: .header(SignedRequest.dateHeader)
        case .signature: .header(SignedRequest.signatureHeader)
        }
    }

    var summary: String {
        switch self {
        case .apiToken: "Of an app: nacre token create --kind api. Alone it reads the public database."
        case .webAuthToken: "Of a user, beside the API token that it was got with: the sign-in page or /account/1/sign-in gives it."
        case .accountToken: "Of a user's device: /account/1/sign-in with kind account gives it."
        case .keyID: "Of a server-to-server key: nacre token create --kind server. It uses the public database alone."
        case .signedDate: "The date that is signed, such as 2026-01-31T12:00:00Z, within ten minutes of the server's clock."
        case .signature: "ECDSA with SHA-256 of DATE:BASE64(SHA256(BODY)):PATH, in DER, as base64."
        case .adminToken: "token of the data folder's admin.json: another one after each start."
        case .managementToken: "Of a container's schema: nacre token create --kind management."
        }
    }

    /// Credentials of a user: a session on the web, or a device.
    static let user: [[AskingCredential]] = [[.apiToken, .webAuthToken], [.accountToken]]
    /// Credentials for a public database.
    static let anyone: [[AskingCredential]] = [[.apiToken]] + user + [[.keyID, .signedDate, .signature]]
}

extension EndpointDescription {
    /// Schemas of the variable parts of paths, by their names in patterns.
    static let partsOfPaths: [String: Schema] = ["environment": environment, "database": .word(["public", "private", "shared"])]

    static let environment = Schema.words(of: DatabaseKey.Environment.self)
}
