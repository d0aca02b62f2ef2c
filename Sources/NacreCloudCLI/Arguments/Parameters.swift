/// A value that a command takes by its position.
struct Argument: Sendable {
    /// The name as the help shows it, without brackets: `name`.
    let name: String
    let help: String
    let isRequired: Bool
    /// Whether it takes all words from here on, options included. Only the last argument of a command may.
    let takesRest: Bool

    init(_ name: String, _ help: String, isRequired: Bool = true, takesRest: Bool = false) {
        self.name = name
        self.help = help
        self.isRequired = isRequired
        self.takesRest = takesRest
    }

    var usage: String { takesRest ? "-- <\(name)> ..." : isRequired ? "<\(name)>" : "[<\(name)>]" }
}

/// An option that a command takes by name: `--name value`, `--name=value`, or a flag, which has no value.
struct Option: Sendable {
    enum Kind: Sendable {
        case flag
        /// The word for the value in the help, and the values allowed; empty: any.
        case value(String, oneOf: [String])
    }

    /// The name without its dashes.
    let name: String
    let short: Character?
    let kind: Kind
    let help: String
    let isRequired: Bool
    /// The value where the option is not given; the help shows it.
    let fallback: String?
    /// Whether all words up to the next option are values.
    let takesSeveral: Bool
    /// Whether the option may be given several times, and every value counts.
    let repeats: Bool

    private init(
        _ name: String, _ short: Character?, _ kind: Kind, _ help: String, isRequired: Bool, fallback: String?, takesSeveral: Bool = false,
        repeats: Bool = false
    ) {
        self.name = name
        self.short = short
        self.kind = kind
        self.help = help
        self.isRequired = isRequired
        self.fallback = fallback
        self.takesSeveral = takesSeveral
        self.repeats = repeats
    }

    static func flag(_ name: String, short: Character? = nil, isRequired: Bool = false, _ help: String) -> Option {
        Option(name, short, .flag, help, isRequired: isRequired, fallback: nil)
    }

    static func value(
        _ name: String, short: Character? = nil, _ placeholder: String, oneOf values: [String] = [], fallback: String? = nil, _ help: String
    ) -> Option {
        Option(name, short, .value(placeholder, oneOf: values), help, isRequired: false, fallback: fallback)
    }

    static func required(_ name: String, _ placeholder: String, oneOf values: [String] = [], _ help: String) -> Option {
        Option(name, nil, .value(placeholder, oneOf: values), help, isRequired: true, fallback: nil)
    }

    /// Makes an option of which every value counts: `--name value --name value`.
    static func repeated(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name, nil, .value(placeholder, oneOf: []), help, isRequired: false, fallback: nil, repeats: true)
    }

    /// Makes an option with several values behind one name: `--name value value`.
    static func values(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name, nil, .value(placeholder, oneOf: []), help, isRequired: false, fallback: nil, takesSeveral: true)
    }

    /// The option as the user writes it: `--name <value>`.
    var spelling: String {
        switch kind {
        case .flag: "--\(name)"
        case .value(let placeholder, _): "--\(name) <\(placeholder)>\(takesSeveral ? " ..." : "")"
        }
    }

    var usage: String { isRequired ? spelling : "[\(spelling)]" }
}
