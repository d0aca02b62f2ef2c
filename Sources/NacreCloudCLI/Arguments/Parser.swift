/// The outcome of reading a command line.
enum Request: Sendable {
    case run(Command, Call)
    /// Show the help of the command at the end of the path.
    case help([Command])
    case version
}

/// Reads command lines. Pure: no input, no output, no environment.
struct Parser: Sendable {
    let root: Command

    /// The option that the root takes besides commands.
    static let version = Option.flag("version", "Show the version.")

    /// Options of other programs that people try here, each with the option that is meant.
    private static let meant = [
        "-v": "--version", "-V": "--version", "--port": "--listen", "-p": "--listen", "--bind": "--listen", "--address": "--listen",
        "--verbose": "--log-level", "--dir": "--data", "--data-dir": "--data", "--configuration": "--config", "-c": "--config",
    ]

    /// Reads a command line.
    /// - Parameter words: The command line behind the program's name.
    /// - Throws: `UsageError`.
    func parse(_ words: [String]) throws(UsageError) -> Request {
        var path = [root]
        var rest = words[...]
        while let command = path.last, !command.subcommands.isEmpty {
            guard let word = rest.first else { return .help(path) }
            rest = rest.dropFirst()
            switch word {
            case "-h", "--help": return .help(path)
            case "--version" where path.count == 1: return .version
            case "help" where path.count == 1: return .help(try commands(named: rest))
            default: path.append(try subcommand(word, of: path))
            }
        }
        return try parse(rest, path)
    }

    private func names(_ path: [Command]) -> [String] { path.map(\.name) }

    /// Returns the path of commands that `help container create` names.
    private func commands(named words: ArraySlice<String>) throws(UsageError) -> [Command] {
        // `nacre help help` shows the help of the program.
        if words.first == "help" { return [root] }
        var path = [root]
        for word in words where !word.hasPrefix("-") { path.append(try subcommand(word, of: path)) }
        return path
    }

    private func subcommand(_ word: String, of path: [Command]) throws(UsageError) -> Command {
        let known = path.last?.subcommands ?? []
        if let command = known.first(where: { $0.name == word }) { return command }
        if word.hasPrefix("-") {
            let options = (path.count == 1 ? ["--version"] : []) + ["--help"]
            throw UsageError(.unknownOption(word, nearest: Self.nearest(word, among: options)), path: names(path))
        }
        guard !known.isEmpty else { throw UsageError(.unexpectedArgument(word), path: names(path)) }
        let candidates = known.map(\.name) + (path.count == 1 ? ["help"] : [])
        throw UsageError(.unknownCommand(word, nearest: Nearest.match(word, among: candidates)), path: names(path))
    }

    private func parse(_ words: ArraySlice<String>, _ path: [Command]) throws(UsageError) -> Request {
        guard let command = path.last else { return .help(path) }
        // Help wins over faulty arguments: its user may not know them yet. A `--help` behind a
        // command that this one runs belongs to that command.
        let own = command.arguments.contains(where: \.takesRest) ? words.prefix { $0.hasPrefix("-") && $0 != "--" } : words.prefix { $0 != "--" }
        if own.contains(where: { $0 == "-h" || $0 == "--help" }) { return .help(path) }
        var call = Call(path: names(path))
        var rest = words
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word.hasPrefix("-"), word != "-" {
                try read(word, &rest, of: command, into: &call)
            } else if call.arguments.count < command.arguments.count || command.arguments.last?.takesRest == true {
                call.add(argument: word)
                if command.arguments[call.arguments.count - 1].takesRest {
                    for word in rest { call.add(argument: word) }
                    break
                }
            } else {
                throw UsageError(.unexpectedArgument(word), path: call.path)
            }
        }
        try checkRequired(command, call)
        return .run(command, call)
    }

    private func read(_ word: String, _ rest: inout ArraySlice<String>, of command: Command, into call: inout Call) throws(UsageError) {
        let equals = word.hasPrefix("--") ? word.firstIndex(of: "=") : nil
        let name = String(word[..<(equals ?? word.endIndex)])
        let options = command.options + [Command.quiet]
        guard let option = options.first(where: { "--\($0.name)" == name || $0.short.map { "-\($0)" } == name }) else {
            let known = options.map { "--\($0.name)" } + ["--help"]
            throw UsageError(.unknownOption(name, nearest: Self.nearest(name, among: known)), path: call.path)
        }
        switch option.kind {
        case .flag:
            guard equals == nil else { throw UsageError(.unexpectedValue(option.name), path: call.path) }
            call.raise(option)
        case .value(_, let allowed):
            let value: String
            if let equals {
                value = String(word[word.index(after: equals)...])
            } else if let next = rest.first, !next.hasPrefix("-") || next == "-" {
                value = next
                rest = rest.dropFirst()
            } else {
                throw UsageError(.missingValue(option.spelling), path: call.path)
            }
            guard !value.isEmpty else { throw UsageError(.missingValue(option.spelling), path: call.path) }
            guard allowed.isEmpty || allowed.contains(value) else {
                let nearest = Nearest.match(value, among: allowed)
                throw UsageError(.notOneOf(option: option.name, values: allowed, nearest: nearest), path: call.path)
            }
            call.set(option, value)
            guard option.takesSeveral, equals == nil else { return }
            while let next = rest.first, !next.hasPrefix("-"), !next.isEmpty {
                call.set(option, next)
                rest = rest.dropFirst()
            }
        }
    }

    private static func nearest(_ word: String, among options: [String]) -> String? {
        if let meant = meant[word], options.contains(meant) { return meant }
        return Nearest.match(word, among: options)
    }

    private func checkRequired(_ command: Command, _ call: Call) throws(UsageError) {
        let needed = command.arguments.filter(\.isRequired)
        if call.arguments.count < needed.count {
            throw UsageError(.missingArgument(needed[call.arguments.count].name), path: call.path)
        }
        let settings = command.settings.map(\.name)
        if let missing = command.options.first(where: { $0.isRequired && !settings.contains($0.name) && !call.isGiven($0) }) {
            throw UsageError(.missingOption(missing.spelling), path: call.path)
        }
    }

    /// Checks that every required option that settings may supply has a value, once the call has its settings.
    static func checkSettings(of command: Command, _ call: Call) throws(UsageError) {
        if let missing = command.settings.first(where: { $0.isRequired && !call.isSet($0) }) {
            throw UsageError(.missingOption(missing.spelling), path: call.path)
        }
    }
}
