/// A verb with what it takes and does, or a noun with its verbs. A value: parsing and help are made from it.
struct Command: Sendable {
    typealias Action = @Sendable (Call) async throws -> Void

    let name: String
    /// One line, for lists and as the head of its own help.
    let overview: String
    /// More, for its own help.
    let discussion: String?
    let arguments: [Argument]
    let options: [Option]
    let subcommands: [Command]
    /// Of its options those that variables and a file set as well.
    let settings: [Option]
    /// nil for a noun.
    let action: Action?

    /// A verb. Of its arguments only the last may be optional.
    /// - Parameter settings: options that are set elsewhere, too; nil: those that `Settings.isOfEveryCommand` names.
    init(
        _ name: String, _ overview: String, discussion: String? = nil, arguments: [Argument] = [], options: [Option] = [], settings: [Option]? = nil,
        action: @escaping Action
    ) {
        self.name = name
        self.overview = overview
        self.discussion = discussion
        self.arguments = arguments
        self.options = options
        self.subcommands = []
        self.settings = settings ?? options.filter(Settings.isOfEveryCommand)
        self.action = action
    }

    /// A noun.
    init(_ name: String, _ overview: String, discussion: String? = nil, options: [Option] = [], subcommands: [Command]) {
        self.name = name
        self.overview = overview
        self.discussion = discussion
        self.arguments = []
        self.options = options
        self.subcommands = subcommands
        self.settings = []
        self.action = nil
    }

    /// What every command takes besides its own.
    static let help = Option.flag("help", short: "h", "Show help information.")

    /// What every verb takes.
    static let quiet = Option.flag("quiet", short: "q", "Print data and errors, and nothing else.")
}

/// The values with which a command was called.
struct Call: Sendable {
    /// Names from the program down: `["nacre", "container", "create"]`.
    let path: [String]
    private(set) var arguments: [String] = []
    private(set) var values: [String: String] = [:]
    /// Every value of each option, in the order given.
    private var allValues: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    /// What variables and a file say of options, by their names.
    var settings: [String: Setting] = [:]

    init(path: [String]) {
        self.path = path
    }

    func has(_ flag: Option) -> Bool { flags.contains(flag.name) || settings[flag.name]?.values.last == Setting.yes }

    /// The value given, or set elsewhere, or the one that holds without; nil where there is none.
    func value(_ option: Option) -> String? { values[option.name] ?? settings[option.name]?.values.last ?? option.fallback }

    /// All values of an option that may be given several times.
    func all(_ option: Option) -> [String] { allValues[option.name] ?? settings[option.name]?.values ?? [] }

    /// Whether the option itself stands on the command line.
    func isGiven(_ option: Option) -> Bool { values[option.name] != nil || flags.contains(option.name) }

    /// Whether it is given, or set elsewhere.
    func isSet(_ option: Option) -> Bool { isGiven(option) || settings[option.name].map { $0.values.last != Setting.no } ?? false }

    /// The value of a required option, which the parser has made sure of.
    func require(_ option: Option) throws -> String {
        guard let value = value(option) else { throw UsageError(.missingOption(option.spelling), path: path) }
        return value
    }

    /// The `index`-th argument, required.
    func require(_ argument: Argument, at index: Int = 0) throws -> String {
        guard index < arguments.count else { throw UsageError(.missingArgument(argument.name), path: path) }
        return arguments[index]
    }

    mutating func add(argument: String) { arguments.append(argument) }

    /// Given twice, the last one counts: a script may append what it wants to override.
    mutating func set(_ option: Option, _ value: String) {
        values[option.name] = value
        allValues[option.name, default: []].append(value)
    }

    mutating func raise(_ flag: Option) { flags.insert(flag.name) }
}
