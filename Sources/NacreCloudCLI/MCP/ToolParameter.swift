/// A value that a tool takes by name.
struct ToolParameter: Sendable {
    enum Kind: Sendable {
        /// A text of 1 to so many characters (Unicode scalars), one of these if any are listed.
        case text(characters: Int, oneOf: [String])
        case integer(ClosedRange<Int64>)
        case flag
        /// A list of so many texts of so many characters at most.
        case texts(count: Int, characters: Int)
    }

    let name: String
    let help: String
    let kind: Kind
    var isRequired = false
    /// The value if none is given.
    var fallback: JSONValue?

    static func text(
        _ name: String, _ help: String, characters: Int = 255, oneOf: [String] = [], isRequired: Bool = false, fallback: String? = nil
    ) -> ToolParameter {
        ToolParameter(
            name: name, help: help, kind: .text(characters: characters, oneOf: oneOf), isRequired: isRequired,
            fallback: fallback.map(JSONValue.string))
    }

    static func integer(_ name: String, _ help: String, _ range: ClosedRange<Int64>, fallback: Int64? = nil) -> ToolParameter {
        ToolParameter(name: name, help: help, kind: .integer(range), fallback: fallback.map(JSONValue.integer))
    }

    static func flag(_ name: String, _ help: String) -> ToolParameter {
        ToolParameter(name: name, help: help, kind: .flag, fallback: .boolean(false))
    }

    static func texts(_ name: String, _ help: String, count: Int, characters: Int = 255, isRequired: Bool = false) -> ToolParameter {
        ToolParameter(name: name, help: help, kind: .texts(count: count, characters: characters), isRequired: isRequired)
    }

    // MARK: Parameters of several tools

    static let container = text("container", "The container, such as iCloud.com.example.Notes; list_containers lists them.", isRequired: true)
    static let environment = text("environment", "The environment.", oneOf: ["development", "production"], isRequired: true)
    static let user = text("user", "A user record name, as log lines have it. An e-mail address only if private data is allowed.")
    static let database = text(
        "database", "The database. private needs user, and an operator who allows private data.", oneOf: ["public", "private"], fallback: "public")
    static let zone = text("zone", "The zone; by default the default zone.")
    static let after = text("after", "The value of next in the last answer, to go on behind it.", characters: 40)

    static func limit(_ range: ClosedRange<Int64>, fallback: Int64) -> ToolParameter {
        integer("limit", "Rows at most.", range, fallback: fallback)
    }

    // MARK: Schema and check

    /// The parameter in JSON Schema.
    var schema: JSONValue {
        let bounds: [String: JSONValue] =
            switch kind {
            case .text(let characters, let values):
                values.isEmpty
                    ? ["type": .string("string"), "minLength": .integer(1), "maxLength": .number(characters)]
                    : ["type": .string("string"), "enum": .texts(values)]
            case .integer(let range): ["type": .string("integer"), "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
            case .flag: ["type": .string("boolean")]
            case .texts(let count, let characters):
                [
                    "type": .string("array"), "minItems": .integer(1), "maxItems": .number(count),
                    "items": .object(["type": .string("string"), "minLength": .integer(1), "maxLength": .number(characters)]),
                ]
            }
        let words: [String: JSONValue] = ["description": .string(help)].merging(fallback.map { ["default": $0] } ?? [:]) { $1 }
        return .object(bounds.merging(words) { $1 })
    }

    /// Checks a value.
    /// - Throws: A fault that says what the parameter takes.
    func check(_ value: JSONValue) throws(ToolFault) {
        let remedy: String
        switch (kind, value) {
        case (.text(let characters, let values), let value):
            if let text = value.string, values.isEmpty ? (1...characters).contains(text.unicodeScalars.count) : values.contains(text) { return }
            remedy = values.isEmpty ? "Give a string of 1 to \(characters) characters." : "Give one of \(values.joined(separator: ", "))."
        case (.integer(let range), let value):
            if let number = value.integer, range.contains(number) { return }
            remedy = "Give a whole number from \(range.lowerBound) to \(range.upperBound)."
        case (.flag, .boolean): return
        case (.flag, _): remedy = "Give true or false."
        case (.texts(let count, let characters), let value):
            let texts = value.items?.map { $0.string?.unicodeScalars.count ?? 0 } ?? []
            if (1...count).contains(texts.count), texts.allSatisfy((1...characters).contains) { return }
            remedy = "Give an array of 1 to \(count) strings of 1 to \(characters) characters each."
        }
        throw ToolFault("\(name) has a value that it cannot have", field: name, remedy: remedy)
    }
}

/// The arguments of a call, checked.
struct ToolArguments: Sendable {
    private let values: [String: JSONValue]

    /// Checks the arguments of a call to a tool. Null counts as absent.
    init(_ given: [String: JSONValue], of tool: Tool) throws(ToolFault) {
        let given = given.filter { $0.value != .null }
        let names = tool.parameters.map(\.name)
        if let stranger = given.keys.sorted().first(where: { !names.contains($0) }) {
            let meant = Nearest.match(String(stranger.prefix(100)), among: names).map { "Did you mean \($0)? " } ?? ""
            throw ToolFault(
                "\(tool.name) takes no such argument", field: String(stranger.prefix(100)),
                remedy: "\(meant)It takes \(names.isEmpty ? "none" : names.joined(separator: ", ")).")
        }
        var values: [String: JSONValue] = [:]
        for parameter in tool.parameters {
            if let value = given[parameter.name] {
                try parameter.check(value)
                values[parameter.name] = value
            } else if parameter.isRequired {
                throw ToolFault("\(parameter.name) is missing", field: parameter.name, remedy: parameter.help)
            } else {
                values[parameter.name] = parameter.fallback
            }
        }
        self.values = values
    }

    func text(_ parameter: ToolParameter) -> String? { values[parameter.name]?.string }

    func texts(_ parameter: ToolParameter) -> [String] { values[parameter.name]?.items?.compactMap(\.string) ?? [] }

    func integer(_ parameter: ToolParameter) -> Int? { values[parameter.name]?.integer.flatMap { Int(exactly: $0) } }

    func has(_ flag: ToolParameter) -> Bool { values[flag.name] == .boolean(true) }

    /// Returns the value of a required parameter, or of one with a fallback.
    func require(_ parameter: ToolParameter) throws(ToolFault) -> String {
        guard let text = text(parameter) else {
            throw ToolFault("\(parameter.name) is missing", field: parameter.name, remedy: parameter.help)
        }
        return text
    }
}
