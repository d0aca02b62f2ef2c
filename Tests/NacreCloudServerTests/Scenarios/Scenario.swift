import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import Testing

/// Requests with their expected answers, as data for a server's router or socket.
struct Scenario: Sendable, CustomTestStringConvertible {
    var name: String
    var opensSignUp = false
    /// Rows that one page of a query may scan.
    var queryScanRows = Limits.queryScanRows
    /// Whether records of web clients have types and fields in development, as if an app of the framework had saved
    /// them before.
    var preparesTypes = true
    var steps: [Step]

    init(
        _ name: String, opensSignUp: Bool = false, queryScanRows: Int = Limits.queryScanRows, preparesTypes: Bool = true, _ steps: Step...
    ) {
        self.preparesTypes = preparesTypes
        self.name = name
        self.queryScanRows = queryScanRows
        self.opensSignUp = opensSignUp
        self.steps = steps
    }

    init(_ name: String, steps: [Step]) {
        self.name = name
        self.steps = steps
    }

    var testDescription: String { name }
}

/// The sender of a request.
enum Sender: Sendable {
    /// No credential.
    case nobody
    /// The API token alone.
    case world
    /// API token and web auth token of `ada` or `bob`.
    case web(String)
    /// The account token of `ada` or `bob`.
    case device(String)

    static let ada = Sender.web("ada")
    static let bob = Sender.web("bob")
}

enum Step: Sendable {
    case ask(Ask)
    /// Moves the clock by seconds.
    case later(Double)
    case store(FaultyStore.Fault?)
    /// Another process of the same cloud revokes the user's account token.
    case revokeElsewhere(String)
    /// A device of `ada` makes a scope in a zone: its key is that of `Body.sealed` and `Body.manifest`.
    case makeScope(in: String = ZoneID.defaultZoneName)
    /// An administrator sets these index options of a type's fields; their rows are built, or wait to be.
    case setIndexes(type: String, fields: [String], IndexOptions, builds: Bool)
    /// An administrator sets whose saves may add types and fields.
    case justInTime(JustInTime)
    /// An administrator deploys the development schema.
    case deploy
    /// An administrator imports a whole development schema; its indexes are built.
    case importSchema(String)
    /// An administrator gives `ada` or `bob` a role, or revokes it.
    case assign(String, to: String)
    case revoke(String, from: String)
}

/// A request and the expected parts of its answer. `<<name>>` in any text stands for a token of the fixture or a
/// value kept from an earlier answer.
struct Ask: Sendable {
    var method: String
    /// The path behind `/database/1/CONTAINER/development/`, unless it begins with a slash.
    var path: String
    var sender: Sender
    var query: [String: String] = [:]
    var headers: [String: String] = [:]
    var body: String

    var status = 200
    /// values[path]: the expected value in the answer.
    var values: [String: Expected] = [:]
    var contains: [String] = []
    var lacks: [String] = []
    /// nil: the header must be absent; empty: it must be present with any value.
    var answerHeaders: [String: String?] = [:]
    /// Values kept for later steps: their names by their paths; `header:NAME` keeps a header.
    var kept: [String: String] = [:]
    /// Whether the answer may have our extension, or a secret.
    var showsDetails = false
    var showsSecrets = false
}

/// An expected value of an answer.
enum Expected: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral {
    case equals(JSON)
    case absent
    case some
    case count(Int)
    /// Any value except this text.
    case not(String)
    case prefix(String)

    init(stringLiteral value: String) { self = .equals(.string(value)) }
    init(integerLiteral value: Int) { self = .equals(.number(Double(value))) }
    init(floatLiteral value: Double) { self = .equals(.number(value)) }
    init(booleanLiteral value: Bool) { self = .equals(.bool(value)) }
}

extension Step {
    static func post(_ path: String, _ sender: Sender, _ body: String = "{}") -> Step {
        .ask(Ask(method: "POST", path: path, sender: sender, body: body))
    }

    static func get(_ path: String, _ sender: Sender) -> Step {
        .ask(Ask(method: "GET", path: path, sender: sender, body: ""))
    }

    static func send(_ method: String, _ path: String, _ sender: Sender) -> Step {
        .ask(Ask(method: method, path: path, sender: sender, body: ""))
    }

    /// Lets queries filter and sort by these fields of a type, or use them as the given options allow.
    static func index(_ type: String, _ fields: String..., options: IndexOptions = [.queryable, .sortable], builds: Bool = true) -> Step {
        .setIndexes(type: type, fields: fields, options, builds: builds)
    }

    private func with(_ change: (inout Ask) -> Void) -> Step {
        guard case .ask(var ask) = self else { return self }
        change(&ask)
        return .ask(ask)
    }

    func query(_ query: [String: String]) -> Step { with { $0.query = query } }
    func header(_ name: String, _ value: String) -> Step { with { $0.headers[name] = value } }

    /// Expects the answer's status and values.
    func gives(_ status: Int = 200, _ values: [String: Expected] = [:]) -> Step {
        with { ask in
            ask.status = status
            ask.values.merge(values) { $1 }
        }
    }

    /// Expects an error as a whole answer: CloudKit's dictionary, without additions.
    func refuses(_ status: Int, _ code: String, _ reason: String) -> Step {
        gives(status, ["serverErrorCode": .equals(.string(code)), "reason": .equals(.string(reason)), "uuid": .some])
    }

    func contains(_ texts: String...) -> Step { with { $0.contains += texts } }
    func lacks(_ texts: String...) -> Step { with { $0.lacks += texts } }
    func answers(header name: String, _ value: String?) -> Step { with { $0.answerHeaders[name] = .some(value) } }
    func keeps(_ name: String, _ path: String) -> Step { with { $0.kept[name] = path } }
    var detailed: Step { with { $0.showsDetails = true } }
    var secret: Step { with { $0.showsSecrets = true } }
}
