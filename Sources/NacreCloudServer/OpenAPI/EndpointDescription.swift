import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// What one route takes, answers and allows. The tables of them stand beside the routes; a test holds them against the routers.
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
        /// nil: not JSON, or nothing.
        var schema: Schema?
    }

    var method: HTTPMethod
    /// As the router has it.
    var pattern: String
    var summary: String
    /// Under which the endpoint stands in the document.
    var group: String
    /// Any of them is enough; none: everybody may ask.
    var credentials: [[AskingCredential]] = []
    var query: [QueryValue] = []
    var body: Schema?
    /// A body that does something small, as JSON.
    var example: StaticString?
    var answers: [Answer]
    /// The statuses of errors as a whole, beside those that HTTP itself has.
    var errors: [Int]

    /// What the listener answers by itself, whatever is asked: to a path or a body that cannot be read, and when it is full.
    private static let ofTheListener = [400, 404, 405, 408, 413, 415, 429, 431, 500, 503]

    var errorStatuses: [Int] { Set(errors + Self.ofTheListener).sorted() }
}

/// What identifies a request's sender, by the name of its scheme in the document.
enum AskingCredential: String, CaseIterable, Sendable {
    case apiToken
    case webAuthToken
    case accountToken
    case keyID
    case signedDate
    case signature
    case adminToken
    case managementToken

    /// Where it travels: `Authorization: Bearer`, or a value of the query or of a header.
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

    /// A user, by a session on the web or by a device.
    static let user: [[AskingCredential]] = [[.apiToken, .webAuthToken], [.accountToken]]
    /// Whoever may ask a public database.
    static let anyone: [[AskingCredential]] = [[.apiToken]] + user + [[.keyID, .signedDate, .signature]]
}

extension EndpointDescription {
    /// What a part of a path may be, by its name in patterns.
    static let partsOfPaths: [String: Schema] = ["environment": environment, "database": .word(["public", "private", "shared"])]

    static let environment = Schema.words(of: DatabaseKey.Environment.self)
}
