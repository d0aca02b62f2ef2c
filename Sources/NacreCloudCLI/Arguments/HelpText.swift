/// Help and usage, laid out as swift-argument-parser does.
struct HelpText {
    /// Columns of a line; terminals have at least these.
    private static let width = 80
    /// The column where explanations begin.
    private static let column = 26

    /// The commands from the program down to the one whose help this is.
    let path: [Command]

    var text: String {
        guard let command = path.last else { return "" }
        var parts = ["OVERVIEW: \(command.overview)"]
        if let discussion = command.discussion { parts.append(Self.wrap(discussion, indent: 0)) }
        parts.append(Self.wrap("USAGE: \(usage)", indent: 0, hanging: 7))
        parts += sections(of: command)
        if !command.subcommands.isEmpty {
            let noun = path.dropFirst().map { "\($0.name) " }.joined()
            parts.append("  See '\(path[0].name) help \(noun)<subcommand>' for detailed help.")
        }
        return parts.joined(separator: "\n\n")
    }

    /// The command with all its options and arguments, in one line.
    var usage: String {
        guard let command = path.last else { return "" }
        var words = path.map(\.name)
        words += command.options.map(\.usage)
        words += command.arguments.map(\.usage)
        if !command.subcommands.isEmpty { words.append("<subcommand>") }
        return words.joined(separator: " ")
    }

    private func sections(of command: Command) -> [String] {
        var options = command.options.map { (label: Self.label($0), help: Self.explanation($0)) }
        if command.action != nil { options.append((label: Self.label(Command.quiet), help: Command.quiet.help)) }
        if path.count == 1 { options.append((label: "--version", help: Parser.version.help)) }
        options.append((label: "-h, --help", help: Command.help.help))
        return [
            Self.section("ARGUMENTS", command.arguments.map { (label: "<\($0.name)>", help: $0.help) }),
            Self.section("OPTIONS", options),
            Self.section("SUBCOMMANDS", command.subcommands.map { (label: $0.name, help: $0.overview) }),
        ].compactMap(\.self)
    }

    private static func label(_ option: Option) -> String {
        option.short.map { "-\($0), \(option.spelling)" } ?? option.spelling
    }

    static func explanation(_ option: Option) -> String {
        var notes: [String] = []
        if case .value(_, let values) = option.kind, !values.isEmpty { notes.append("values: \(values.joined(separator: ", "))") }
        if let fallback = option.fallback { notes.append("default: \(fallback)") }
        return notes.isEmpty ? option.help : "\(option.help) (\(notes.joined(separator: "; ")))"
    }

    private static func section(_ title: String, _ rows: [(label: String, help: String)]) -> String? {
        guard !rows.isEmpty else { return nil }
        return "\(title):\n" + rows.map(row).joined(separator: "\n")
    }

    private static func row(_ label: String, _ help: String) -> String {
        let head = "  \(label)"
        let body = wrap(help, indent: column)
        // A label that leaves no room gets a line of its own.
        guard head.count < column else { return "\(head)\n\(body)" }
        return head + String(repeating: " ", count: column - head.count) + body.dropFirst(column)
    }

    /// Wraps a text at `width` columns. Line feeds stay, and a line that begins with a blank is unchanged.
    private static func wrap(_ text: String, indent: Int, hanging: Int = 0) -> String {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard paragraph.first != " " else {
                lines.append(String(paragraph))
                continue
            }
            var line = String(repeating: " ", count: indent)
            var isFresh = true
            for word in pieces(paragraph) {
                if !isFresh, line.count + 1 + word.count > width {
                    lines.append(line)
                    line = String(repeating: " ", count: indent + hanging)
                    isFresh = true
                }
                line += isFresh ? word : " \(word)"
                isFresh = false
            }
            lines.append(isFresh ? "" : line)
        }
        return lines.joined(separator: "\n")
    }

    /// Splits a text into words, but keeps an option with its value: `[--data <dir>]`, `--container <name>`.
    private static func pieces(_ text: Substring) -> [String] {
        var pieces: [String] = []
        var open = 0
        for word in text.split(separator: " ") {
            if let last = pieces.last, open > 0 || (word.hasPrefix("<") && last.hasPrefix("--")) {
                pieces[pieces.count - 1] = "\(last) \(word)"
            } else {
                pieces.append(String(word))
            }
            open += word.filter { $0 == "[" }.count - word.filter { $0 == "]" }.count
        }
        return pieces
    }
}
