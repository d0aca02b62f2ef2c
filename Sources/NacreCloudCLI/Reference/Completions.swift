/// `nacre completions`: scripts with which shells complete command lines, made from the table of commands.
enum Completions {
    enum Shell: String, CaseIterable {
        case bash, zsh, fish
    }

    private static let shell = Argument("shell", "bash, zsh or fish.")

    static let command: Command = Command(
        "completions", "Print a script by which a shell completes nacre's commands and options.",
        discussion: """
              bash: eval "$(nacre completions bash)"
              zsh:  nacre completions zsh > "${fpath[1]}/_nacre"
              fish: nacre completions fish > ~/.config/fish/completions/nacre.fish
            """, arguments: [shell]
    ) { call in
        guard let shell = Shell(rawValue: try call.require(shell)) else {
            throw UsageError(.invalid("<shell>", Shell.allCases.map(\.rawValue).joined(separator: ", ")), path: call.path)
        }
        try Output.text(script(for: shell, of: Nacre.root))
    }

    /// Placeholders of values that are paths, which shells complete themselves.
    private static let paths: Set = ["file", "dir", "bundle"]

    /// A command with its names from the program down, and the words that may follow them.
    private struct Place {
        var name: String
        var subcommands: [Command]
        var options: [Option]
        var takesFiles: Bool
    }

    static func script(for shell: Shell, of root: Command) -> String {
        let places = places(of: root, at: root.name)
        return switch shell {
        case .bash: bash(places)
        case .zsh: zsh(places)
        case .fish: fish(places)
        }
    }

    private static func places(of command: Command, at name: String) -> [Place] {
        let common = (command.action == nil ? [] : [Command.quiet]) + (name == command.name ? [Parser.version] : []) + [Command.help]
        let place = Place(
            name: name, subcommands: command.subcommands, options: command.options + common,
            takesFiles: command.arguments.contains { paths.contains($0.name) })
        return [place] + command.subcommands.flatMap { places(of: $0, at: "\(name) \($0.name)") }
    }

    private static func words(_ place: Place) -> String {
        (place.subcommands.map(\.name) + place.options.map { "--\($0.name)" }).joined(separator: " ")
    }

    private static func values(_ option: Option) -> [String]? {
        if case .value(_, let values) = option.kind { values } else { nil }
    }

    private static func isPath(_ option: Option) -> Bool {
        if case .value(let placeholder, _) = option.kind { paths.contains(placeholder) } else { false }
    }

    // MARK: bash

    private static func bash(_ places: [Place]) -> String {
        var lines = [
            "# Completes nacre in bash. Made by `nacre completions bash`.",
            "_nacre() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path=nacre place words=",
            "    COMPREPLY=()",
            "    for ((place = 1; place < COMP_CWORD; place++)); do",
            "        case \"$path ${COMP_WORDS[place]}\" in",
            "            \(places.dropFirst().map { "'\($0.name)'" }.joined(separator: " | "))) path+=\" ${COMP_WORDS[place]}\" ;;",
            "        esac",
            "    done",
            "    case \"$path $before\" in",
        ]
        for place in places {
            for option in place.options {
                guard let values = values(option) else { continue }
                let answer =
                    isPath(option)
                    ? "compopt -o default" : "mapfile -t COMPREPLY < <(compgen -W '\(values.joined(separator: " "))' -- \"$current\")"
                lines.append("        '\(place.name) --\(option.name)') \(answer); return ;;")
            }
        }
        lines += ["    esac", "    case $path in"]
        for place in places {
            lines.append("        '\(place.name)') words='\(words(place))'\(place.takesFiles ? "; compopt -o default" : "") ;;")
        }
        lines += [
            "    esac",
            "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
            "}",
            "complete -F _nacre nacre",
        ]
        return lines.map { $0 + "\n" }.joined()
    }

    // MARK: zsh

    private static func zsh(_ places: [Place]) -> String {
        var lines = [
            "#compdef nacre",
            "# Completes nacre in zsh. Made by `nacre completions zsh`.",
            "_nacre() {",
            "    local at=nacre word",
            "    local -a found",
            "    for word in ${words[2,CURRENT-1]}; do",
            "        case \"$at $word\" in",
            "            (\(places.dropFirst().map { "'\($0.name)'" }.joined(separator: "|"))) at+=\" $word\" ;;",
            "        esac",
            "    done",
            "    case \"$at ${words[CURRENT-1]}\" in",
        ]
        for place in places {
            for option in place.options {
                guard let values = values(option) else { continue }
                let answer = isPath(option) ? "_files" : values.isEmpty ? ":" : "compadd -- \(values.joined(separator: " "))"
                lines.append("        ('\(place.name) --\(option.name)') \(answer); return ;;")
            }
        }
        lines += ["    esac", "    case $at in"]
        for place in places {
            let commands = place.subcommands.map { entry($0.name, $0.overview) }
            let options = place.options.map { entry("--\($0.name)", $0.help) }
            lines.append("        ('\(place.name)') found=(\((commands + options).joined(separator: " ")))\(place.takesFiles ? "; _files" : "") ;;")
        }
        lines += [
            "    esac", "    _describe nacre found", "}",
            "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _nacre \"$@\"; else compdef _nacre nacre; fi",
        ]
        return lines.map { $0 + "\n" }.joined()
    }

    /// `name:explanation`, in quotes.
    private static func entry(_ name: String, _ help: String) -> String {
        quoted("\(name):\(firstSentence(help))")
    }

    // MARK: fish

    private static func fish(_ places: [Place]) -> String {
        var lines = [
            "# Completes nacre in fish. Made by `nacre completions fish`.",
            "function __nacre_at",
            "    set -l at nacre",
            "    for word in (commandline -opc)[2..]",
            "        switch \"$at $word\"",
            "            case \(places.dropFirst().map { "'\($0.name)'" }.joined(separator: " "))",
            "                set at \"$at $word\"",
            "        end",
            "    end",
            "    test \"$at\" = \"$argv[1]\"",
            "end",
            "complete -c nacre -e",
            "complete -c nacre -f",
        ]
        for place in places {
            let condition = "complete -c nacre -n \"__nacre_at '\(place.name)'\""
            if place.takesFiles { lines.append("\(condition) -F") }
            for command in place.subcommands { lines.append("\(condition) -a \(command.name) -d \(quoted(firstSentence(command.overview)))") }
            for option in place.options {
                var line = "\(condition) -l \(option.name)"
                if let short = option.short { line += " -s \(short)" }
                if let values = values(option) {
                    line += isPath(option) ? " -rF" : " -x"
                    if !values.isEmpty { line += " -a '\(values.joined(separator: " "))'" }
                }
                lines.append("\(line) -d \(quoted(firstSentence(option.help)))")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Returns the first sentence, for lists of short lines.
    private static func firstSentence(_ text: String) -> String {
        guard let end = text.firstRange(of: ". ") else { return text }
        return String(text[..<end.upperBound].dropLast())
    }

    /// Puts a text in single quotes for all three shells: each quote in it becomes `'\''`.
    private static func quoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? #"'\''"# : String($0) }.joined() + "'"
    }
}
