import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of everything made from the table of commands and options: pages of the documentation, the manual page,
/// completions of three shells; and of the table itself.
struct CommandReferenceTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let bash = "/bin/bash"
    private static let zsh = "/usr/bin/zsh"
    private static let fish = "/usr/bin/fish"

    /// Every verb with its names from the program down.
    static let verbs: [(path: [String], command: Command)] = {
        func below(_ command: Command, _ path: [String]) -> [(path: [String], command: Command)] {
            let own = command.action == nil ? [] : [(path: path, command: command)]
            return own + command.subcommands.flatMap { below($0, path + [$0.name]) }
        }
        return below(NacreCloudCLI.Nacre.root, [])
    }()

    @Test(arguments: [("commands", "docs/commands.md"), ("configuration", "docs/configuration.md")])
    func `a page of the reference is what the command prints`(format: String, page: String) async throws {
        let folder = try TemporaryFolder()
        let printed = try await Nacre.run(["manual", "--format", format], in: folder.path)
        #expect(printed.status == 0)
        #expect(
            try String(contentsOf: Self.root.appending(path: page), encoding: .utf8) == printed.output, "nacre manual --format \(format) > \(page)")
    }

    @Test func `the manual has every command, option and exit code, and reads without a warning`() async throws {
        let folder = try TemporaryFolder()
        let text = try await Nacre.run(["manual"], in: folder.path).output
        #expect(text.hasPrefix(".\\\""))
        for (path, command) in Self.verbs {
            #expect(text.contains("\n.SS nacre \(path.joined(separator: " ").replacing("-", with: "\\-"))\n"))
            for option in command.options { #expect(text.contains("\n.B \\-\\-\(option.name.replacing("-", with: "\\-"))"), "\(option.name)") }
        }
        for code in ExitCode.allCases { #expect(text.contains("\n.B \(code.rawValue)\n")) }
    }

    @Test func `every option of every command parses, and what it cannot be is refused by its name`() throws {
        #expect(Self.verbs.count > 80)
        let parser = Parser(root: NacreCloudCLI.Nacre.root)
        for (path, command) in Self.verbs {
            let arguments = command.arguments.map { "a-\($0.name)" }
            let needed = command.options.filter(\.isRequired)
            let all = try parser.parse(path + needed.flatMap(Self.words) + arguments)
            guard case .run(let found, _) = all else {
                Issue.record("\(path) does not run")
                continue
            }
            #expect(found.name == command.name)
            for option in command.options {
                guard case .run(_, let call) = try parser.parse(path + needed.flatMap(Self.words) + Self.words(option) + arguments) else { continue }
                #expect(call.isGiven(option), "\(path) \(option.name)")
                if case .value(_, let values) = option.kind {
                    #expect(refusal(parser, path + ["--\(option.name)"])?.contains("--\(option.name)") == true)
                    if !values.isEmpty { #expect(refusal(parser, path + ["--\(option.name)", "no-such"])?.contains("--\(option.name)") == true) }
                } else {
                    #expect(refusal(parser, path + ["--\(option.name)=x"])?.contains("--\(option.name)") == true)
                }
            }
            for option in needed {
                let others = needed.filter { $0.name != option.name }.flatMap(Self.words)
                #expect(refusal(parser, path + arguments + others)?.contains("--\(option.name)") == true)
            }
            for (index, argument) in command.arguments.enumerated() where argument.isRequired {
                #expect(refusal(parser, path + arguments.prefix(index))?.contains("<\(argument.name)>") == true)
            }
            #expect(refusal(parser, path + ["--no-such-option"])?.contains("--no-such-option") == true)
            guard command.arguments.last?.takesRest != true else { continue }
            #expect(refusal(parser, path + arguments + ["surplus"])?.contains("surplus") == true)
        }
    }

    static func words(_ option: NacreCloudCLI.Option) -> [String] {
        if case .value(_, let values) = option.kind { ["--\(option.name)", values.first ?? "1"] } else { ["--\(option.name)"] }
    }

    /// Returns the parser's error for a command line; nil: it is accepted.
    private func refusal(_ parser: Parser, _ words: [String]) -> String? {
        do throws(UsageError) {
            if case .run(let command, let call) = try parser.parse(words) { try Parser.checkSettings(of: command, call) }
            return nil
        } catch {
            return error.message
        }
    }

    /// The completions that a shell proposes for the last of the words.
    private static let questions: [(words: [String], has: [String], lacks: [String])] = [
        (["nacre", ""], ["serve", "container"], ["create"]), (["nacre", "--ver"], ["--version"], ["serve"]),
        (["nacre", "contai"], ["container"], ["serve"]),
        (["nacre", "container", ""], ["create", "list"], ["serve"]), (["nacre", "serve", "--adm"], ["--admin-listen"], ["--listen"]),
        (["nacre", "token", "create", "--environment", ""], ["development", "production"], ["--kind"]),
        (["nacre", "schema", "index", "--q"], ["--queryable", "--quiet"], ["--container"]),
    ]

    @Test(arguments: questions)
    func `bash completes commands, options and values`(words: [String], has: [String], lacks: [String]) async throws {
        let script = """
            eval "$(\(Launched.executable) completions bash)"
            COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count - 1)
            _nacre; printf '%s\\n' "${COMPREPLY[@]}"
            """
        try await expect(has, lacks, Self.bash, ["-c", script])
    }

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: fish)), "fish is not installed"), arguments: questions)
    func `fish completes commands, options and values`(words: [String], has: [String], lacks: [String]) async throws {
        let script = "\(Launched.executable) completions fish | source; complete -C '\(words.joined(separator: " "))'"
        let home = try TemporaryFolder()
        try await expect(has, lacks, Self.fish, ["--no-config", "-c", script], ["HOME": home.path])
    }

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: zsh)), "zsh is not installed"), arguments: questions)
    func `zsh completes commands, options and values`(words: [String], has: [String], lacks: [String]) async throws {
        // Completion runs in an editor's widget; here its functions print their proposals.
        let script = """
            propose() { for name in "$@"; do [[ ${name%%:*} == ${~words[CURRENT]}* ]] && print -r -- "${name%%:*}"; done; true }
            compdef() { :; }; _files() { :; }; compadd() { shift; propose "$@"; }; _describe() { propose "${(@P)2}"; }
            eval "$(\(Launched.executable) completions zsh)"
            words=(\(words.map { "'\($0)'" }.joined(separator: " "))); CURRENT=\(words.count)
            _nacre
            """
        try await expect(has, lacks, Self.zsh, ["-fc", script])
    }

    private func expect(_ has: [String], _ lacks: [String], _ shell: String, _ arguments: [String], _ variables: [String: String] = [:]) async throws
    {
        let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let (status, output) = try await Program(shell, arguments, environment: environment).run()
        // fish writes an explanation behind a tab.
        let found = String(decoding: output, as: UTF8.self).split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(status == 0)
        for word in has { #expect(found.contains(word), "\(word) of \(found)") }
        for word in lacks { #expect(!found.contains(word), "\(word)") }
    }
}
