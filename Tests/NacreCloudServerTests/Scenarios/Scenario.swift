import NacreCloudContainer
import NacreCloudWire
import Testing

/// A story of requests and what each must be answered with: data, told to a server at any height.
struct Scenario: Sendable, CustomTestStringConvertible {
    var name: String
    var opensSignUp = false
    /// That one page of a query may look at.
    var queryScanRows = Limits.queryScanRows
    /// What web clients save has types and fields in development, as if an app of the framework had been there before them.
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

/// Who sends a request.
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
    /// Time passes: seconds.
    case later(Double)
    case store(FaultyStore.Fault?)
    /// Another process of the same cloud revokes the user's account token.
    case revokeElsewhere(String)
    /// An administrator gives fields of a type these index options and no others; their rows are built, or wait to be.
    case setIndexes(type: String, fields: [String], IndexOptions, builds: Bool)
    /// An administrator says whose saves bring types and fields.
    case justInTime(JustInTime)
    /// An administrator deploys the development schema.
    case deploy
    /// An administrator imports a development schema, whole; its indexes are built.
    case importSchema(String)
    /// An administrator gives `ada` or `bob` a role, or takes it.
    case assign(String, to: String)
    case revoke(String, from: String)
    /// Keeps a sealed value in the text that earlier versions gave it, by the name `older.` and its own.
    case keepOlderText(String)
}

/// A request and what must be in its answer. `<<name>>` in any text stands for a token of the fixture or something kept from an earlier answer.
struct Ask: Sendable {
    var method: String
    /// Behind `/database/1/CONTAINER/development/` unless it begins with a slash.
    var path: String
    var sender: Sender
    var query: [String: String] = [:]
    var headers: [String: String] = [:]
    var body: String

    var status = 200
    /// By the path of a value in the answer.
    var values: [String: Expected] = [:]
    var contains: [String] = []
    var lacks: [String] = []
    /// nil: the header must not be there; empty: it must, whatever it says.
    var answerHeaders: [String: String?] = [:]
    /// Kept for later steps: the value at a path, by the name to keep it under; `header:NAME` keeps a header.
    var kept: [String: String] = [:]
    /// The answer may have our extension, or a secret, and must not be refused for it.
    var showsDetails = false
    var showsSecrets = false
}

/// What a value of an answer must be.
enum Expected: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral {
    case equals(JSON)
    case absent
    case some
    case count(Int)
    /// Anything but this text.
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

    /// Queries may filter and sort by these fields of a type, or do what else the options allow.
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

    /// The answer's status and values.
    func gives(_ status: Int = 200, _ values: [String: Expected] = [:]) -> Step {
        with { ask in
            ask.status = status
            ask.values.merge(values) { $1 }
        }
    }

    /// The answer is an error as a whole: CloudKit's dictionary, with no more in it than CloudKit has.
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
