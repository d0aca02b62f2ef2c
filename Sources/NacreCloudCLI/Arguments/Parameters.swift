/// A value that a command takes by its place.
struct Argument: Sendable {
    /// As it stands in the help, without brackets: `name`.
    let name: String
    let help: String
    let isRequired: Bool
    /// It and all that follows it, whatever it looks like. The last one of its command.
    let takesRest: Bool

    init(_ name: String, _ help: String, isRequired: Bool = true, takesRest: Bool = false) {
        self.name = name
        self.help = help
        self.isRequired = isRequired
        self.takesRest = takesRest
    }

    var usage: String { takesRest ? "-- <\(name)> ..." : isRequired ? "<\(name)>" : "[<\(name)>]" }
}

/// What a command takes by name: `--name value`, `--name=value`, or a flag, which has no value.
struct Option: Sendable {
    enum Kind: Sendable {
        case flag
        /// The word for its value in the help, and the values that it may have; empty for any.
        case value(String, oneOf: [String])
    }

    /// Without its dashes.
    let name: String
    let short: Character?
    let kind: Kind
    let help: String
    let isRequired: Bool
    /// What holds where the option is not given; said in the help.
    let fallback: String?
    /// All words up to the next option are its values.
    let takesSeveral: Bool
    /// It may be given several times, and every value counts.
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

    /// `--name value --name value`: every one counts.
    static func repeated(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name, nil, .value(placeholder, oneOf: []), help, isRequired: false, fallback: nil, repeats: true)
    }

    /// `--name value value`: several values behind one name.
    static func values(_ name: String, _ placeholder: String, _ help: String) -> Option {
        Option(name, nil, .value(placeholder, oneOf: []), help, isRequired: false, fallback: nil, takesSeveral: true)
    }

    /// As it is written: `--name <value>`.
    var spelling: String {
        switch kind {
        case .flag: "--\(name)"
        case .value(let placeholder, _): "--\(name) <\(placeholder)>\(takesSeveral ? " ..." : "")"
        }
    }

    var usage: String { isRequired ? spelling : "[\(spelling)]" }
}
