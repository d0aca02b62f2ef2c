/// A command of the program: a verb with its arguments and its action, or a noun with its verbs. A plain value; the
/// parser and the help read it.
struct Command: Sendable {
    typealias Action = @Sendable (Call) async throws -> Void

    let name: String
    /// One line, for lists and for the head of the command's own help.
    let overview: String
    /// The longer text of the command's own help.
    let discussion: String?
    let arguments: [Argument]
    let options: [Option]
    let subcommands: [Command]
    /// The options that can also be set by environment variables and the settings file.
    let settings: [Option]
    /// The action of a verb; nil for a noun.
    let action: Action?

    /// Makes a verb. Only the last of its arguments may be optional.
    /// - Parameter settings: Options that can be set elsewhere; nil: those that `Settings.isOfEveryCommand` names.
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

    /// Makes a noun.
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

    /// The option that every command takes.
    static let help = Option.flag("help", short: "h", "Show help information.")

    /// The option that every verb takes.
    static let quiet = Option.flag("quiet", short: "q", "Print data and errors, and nothing else.")
}

/// The values with which a command was called.
struct Call: Sendable {
    /// The command's names from the program down: `["nacre", "container", "create"]`.
    let path: [String]
    private(set) var arguments: [String] = []
    private(set) var values: [String: String] = [:]
    /// Every value of each option, in the order given.
    private var allValues: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    /// settings[optionName]: what environment variables and the settings file set.
    var settings: [String: Setting] = [:]

    init(path: [String]) {
        self.path = path
    }

    func has(_ flag: Option) -> Bool { flags.contains(flag.name) || settings[flag.name]?.values.last == Setting.yes }

    /// Returns the value from the command line, the settings, or the option's default, in this order; nil: none.
    func value(_ option: Option) -> String? { values[option.name] ?? settings[option.name]?.values.last ?? option.fallback }

    /// Returns all values of an option that may be given several times.
    func all(_ option: Option) -> [String] { allValues[option.name] ?? settings[option.name]?.values ?? [] }

    /// Returns whether the option itself stands on the command line.
    func isGiven(_ option: Option) -> Bool { values[option.name] != nil || flags.contains(option.name) }

    /// Returns whether the option is on the command line or in the settings.
    func isSet(_ option: Option) -> Bool { isGiven(option) || settings[option.name].map { $0.values.last != Setting.no } ?? false }

    /// Returns the value of a required option, which the parser has already checked.
    func require(_ option: Option) throws -> String {
        guard let value = value(option) else { throw UsageError(.missingOption(option.spelling), path: path) }
        return value
    }

    /// Returns the `index`-th argument, which is required.
    func require(_ argument: Argument, at index: Int = 0) throws -> String {
        guard index < arguments.count else { throw UsageError(.missingArgument(argument.name), path: path) }
        return arguments[index]
    }

    mutating func add(argument: String) { arguments.append(argument) }

    /// Sets the value of an option. If it is given twice, the last one wins, so a script may append an override.
    mutating func set(_ option: Option, _ value: String) {
        values[option.name] = value
        allValues[option.name, default: []].append(value)
    }

    mutating func raise(_ flag: Option) { flags.insert(flag.name) }
}
