/// `nacre manual`: the whole reference of commands and options, made from the table that parses them.
enum Manual {
    private enum Form: String, CaseIterable {
        case man, commands, configuration
    }

    private static let form = Option.value(
        "format", "format", oneOf: Form.allCases.map(\.rawValue), fallback: Form.man.rawValue,
        "A manual page, or a page of documentation of the commands or of the settings.")

    static let command: Command = Command(
        "manual", "Print the manual page, with every command and option.",
        discussion: "  nacre manual > nacre.1 && man ./nacre.1", options: [form]
    ) { call in
        let text =
            switch Form(rawValue: try call.require(form)) {
            case .commands: page(of: Nacre.root)
            case .configuration: configurationPage
            case .man, nil: roff(of: Nacre.root)
            }
        try Output.text(text)
    }

    /// The exit codes and their meanings.
    static let exitCodes: [(code: ExitCode, meaning: String)] = [
        (.success, "It did what it says."),
        (.failure, "It could not; the message says why and what to do."),
        (.damaged, "What was looked at is not sound or differs: backups, files, a schema that is not valid."),
        (.usage, "The command line or a setting does not read."),
        (.unreachable, "No server answers, or it is too busy to."),
        (.authentication, "A token or password is wrong or missing, or does not allow it."),
        (.interrupted, "It was interrupted."),
    ]

    private struct Entry {
        var path: [Command]
        var command: Command
        var name: String { path.map(\.name).joined(separator: " ") }
        var usage: String { HelpText(path: path).usage }
    }

    /// Returns every verb, in the order of the help.
    private static func entries(_ path: [Command]) -> [Entry] {
        guard let command = path.last else { return [] }
        let own = command.action == nil ? [] : [Entry(path: path, command: command)]
        return own + command.subcommands.flatMap { entries(path + [$0]) }
    }

    /// `a`, `b` and `c`.
    private static func joined(_ options: [Option]) -> String {
        let names = options.map { "`--\($0.name)`" }
        return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }

    // MARK: Markdown

    /// The page `docs/commands.md`.
    static func page(of root: Command) -> String {
        let entries = entries([root])
        let list = entries.map { "| [`\($0.name)`](#\($0.name.replacing(" ", with: "-"))) | \($0.command.overview) |" }
        let codes = exitCodes.map { "| \($0.code.rawValue) | \($0.meaning) |" }
        return """
            # Commands

            Every command of `nacre` and what it takes: printed by `nacre manual --format commands` from the table that parses command lines. `nacre help COMMAND` shows the same in a terminal, and `nacre manual` makes a manual page.

            Data goes to standard output, messages to standard error; `--json` also makes errors one object a line. Every command takes `--quiet` (`-q`), which leaves out all messages but errors, and `--help` (`-h`). `NO_COLOR` takes colours away.
            An option of `nacre serve` may also be set by an environment variable or in a file, and so may \(joined(Settings.ofEveryCommand)) of the others: [configuration](configuration.md).

            | status | meaning |
            | --- | --- |
            \(codes.joined(separator: "\n"))

            | command | what it does |
            | --- | --- |
            \(list.joined(separator: "\n"))

            \(entries.map(section).joined(separator: "\n\n"))

            """
    }

    /// The page `docs/configuration.md`.
    static var configurationPage: String {
        let rows = Serve.settings.map { option in
            "| `\(option.name)` | `\(Settings.variable(of: option))` | \(option.fallback.map { "`\($0)`" } ?? "") | \(cell(option.help)) |"
        }
        let common = Settings.ofEveryCommand.map { "| `\($0.name)` | `\(Settings.variable(of: $0))` | \(cell($0.help)) |" }
        return """
            # Configuration

            Every setting of `nacre serve`: printed by `nacre manual --format configuration` from the table that parses command lines. A setting has one name in three places:

            - on the command line, `--admin-listen 127.0.0.1:9000`, or `--open-sign-up` alone;
            - in the environment, `NACRE_ADMIN_LISTEN=127.0.0.1:9000`, `NACRE_OPEN_SIGN_UP=true`; what may be given several times stands with commas between, `NACRE_HOST=a.example,b.example`;
            - in a file, a line each: `admin-listen = 127.0.0.1:9000`, `open-sign-up = true`; `#` begins a line that says nothing. The file is that of `--config`, or of `NACRE_CONFIG`, or `nacre.conf` in the folder where the command runs, if it is yours or root's and nobody else may write it.

            The command line counts before the environment, and that before the file. A name that no setting has is an error that says which was probably meant. Paths are relative to the folder where the command runs.

            Other commands take these from the environment and the file: the data folder, by which they find the server, and container and environment where they have to be told them. What one call does, and how it prints, is on the
            command line alone ([why](decisions/commands-settings.md#a-lasting-option-is-a-setting)).

            | setting | variable | what it does |
            | --- | --- | --- |
            \(common.joined(separator: "\n"))

            ```sh
            nacre config show --origin
            ```

            prints every setting as the server would have it here, and where each comes from; what it prints is such a file. Secrets stand in files of their own, which settings name.

            | setting | variable | usual | what it does |
            | --- | --- | --- | --- |
            \(rows.joined(separator: "\n"))

            Variables of other programs' standards have no setting: those of [OpenTelemetry](operations.md#opentelemetry), and the keys of a bucket of `assets`.

            """
    }

    private static func section(_ entry: Entry) -> String {
        var parts = ["## \(entry.name)", entry.command.overview]
        if let discussion = entry.command.discussion { parts.append(paragraphs(discussion)) }
        parts.append("```text\n\(entry.usage)\n```")
        let rows =
            entry.command.arguments.map { "| `<\($0.name)>` | \(cell($0.help)) |" }
            + entry.command.options.map { "| `\($0.spelling)` | \(cell(HelpText.explanation($0))) |" }
        if !rows.isEmpty { parts.append("| takes | |\n| --- | --- |\n\(rows.joined(separator: "\n"))") }
        return parts.joined(separator: "\n\n")
    }

    /// Converts a help text to Markdown: lines that begin with blanks are code.
    private static func paragraphs(_ text: String) -> String {
        var lines: [String] = []
        var isCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(" ") != isCode {
                if isCode { lines += ["```", ""] } else { lines += (lines.isEmpty ? [] : [""]) + ["```text"] }
                isCode.toggle()
            }
            lines.append(isCode ? String(line.drop { $0 == " " }) : String(line))
        }
        return (lines + (isCode ? ["```"] : [])).joined(separator: "\n")
    }

    private static func cell(_ text: String) -> String {
        text.replacing("|", with: "\\|").replacing("<", with: "\\<").replacing("\n", with: " ")
    }

    // MARK: roff

    static func roff(of root: Command) -> String {
        var lines = [
            ".\\\" Made by `nacre manual`.",
            ".TH NACRE 1 \"\" \"nacre \(ShowVersion.text)\" \"Nacre\"",
            ".SH NAME", "nacre \\- \(escaped(root.overview))",
            ".SH SYNOPSIS", ".B nacre", "command [options]",
        ]
        if let discussion = root.discussion { lines += [".SH DESCRIPTION"] + paragraphsOfRoff(discussion) }
        lines += [
            ".SH OPTIONS OF EVERY COMMAND", ".TP", ".B \\-h, \\-\\-help", escaped(Command.help.help), ".TP", ".B \\-q, \\-\\-quiet",
            escaped(Command.quiet.help), ".SH COMMANDS",
        ]
        for entry in entries([root]) {
            lines += [".SS \(escaped(entry.name))", escaped(entry.command.overview)]
            if let discussion = entry.command.discussion { lines += [".PP"] + paragraphsOfRoff(discussion) }
            for argument in entry.command.arguments { lines += [".TP", ".I \(escaped(argument.name))", escaped(argument.help)] }
            for option in entry.command.options { lines += [".TP", ".B \(escaped(option.spelling))", escaped(HelpText.explanation(option))] }
        }
        lines.append(".SH EXIT STATUS")
        for (code, meaning) in exitCodes { lines += [".TP", ".B \(code.rawValue)", escaped(meaning)] }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func paragraphsOfRoff(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            line.hasPrefix(" ") ? [".nf", escaped(String(line)), ".fi"] : line.isEmpty ? [".PP"] : [escaped(String(line))]
        }
    }

    /// Escapes a text that roff is to print as it is.
    private static func escaped(_ text: String) -> String {
        var text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\n", with: " ")
        // At the beginning of a line these characters would start a request.
        if text.hasPrefix(".") || text.hasPrefix("'") { text = "\\&" + text }
        return text
    }
}
