import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of settings of the server on the command line, in the environment and in a file.
struct SettingsTests {
    private static func found(_ environment: [String: String], _ text: String? = nil) throws -> [String: Setting] {
        try Settings.found(Serve.settings, environment: environment, file: try text.map { try SettingsFile(text: $0, path: "f") })
    }

    @Test func `every setting may stand in the environment and in the file, by its name`() throws {
        for option in Serve.settings {
            let value: String =
                switch option.kind {
                case .flag: "true"
                case .value(_, let values): values.first ?? "x"
                }
            let variable = "NACRE_" + option.name.uppercased().replacing("-", with: "_")
            #expect(try Self.found([variable: value])[option.name] == Setting(values: [value], origin: variable))
            #expect(try Self.found([:], "\n# nothing\n  \(option.name) =  \(value) \n")[option.name] == Setting(values: [value], origin: "f:3"))
            #expect(try Self.found([variable: value], "\(option.name) = \(value)")[option.name]?.origin == variable)
        }
    }

    @Test func `the last line counts, unless an option may be given several times`() throws {
        let settings = try Self.found(["NACRE_WEB_PUSH_HOST": "a.example,b.example"], "listen = 1\nhost = a.example\nlisten = 2\nhost = b.example")
        #expect(settings["listen"] == Setting(values: ["2"], origin: "f:3"))
        #expect(settings["host"] == Setting(values: ["a.example", "b.example"], origin: "f:4"))
        #expect(settings["web-push-host"]?.values == ["a.example", "b.example"])
    }

    private static let wrong: [(environment: [String: String], text: String?, says: [String])] = [
        ([:], "lisen = 1", ["f:1: there is no setting lisen", "Did you mean listen?"]), ([:], "nothing = 1", ["f:1"]),
        ([:], "listen", ["f:1: not a setting"]),
        ([:], "= 1", ["f:1"]), ([:], "listen =", ["f:1", "a value"]), ([:], "memory = yes", ["f:1", "true or false"]),
        ([:], "log-level = loud", ["f:1"]), (["NACRE_LISEN": "1"], nil, ["NACRE_LISEN", "Did you mean NACRE_LISTEN?"]),
        (["NACRE_MEMORY": "1"], nil, ["NACRE_MEMORY", "true or false"]), ([:], "json = true", ["there is no setting json"]),
    ]

    @Test(arguments: wrong) func `what is no setting is an error that says where it stands`(
        environment: [String: String], text: String?, says: [String]
    ) throws {
        let failure = #expect(throws: CommandFailure.self) { try Self.found(environment, text) }
        #expect(failure?.code == .usage)
        let told = [failure?.message, failure?.remedy].compactMap(\.self).joined(separator: " ")
        for text in says { #expect(told.contains(text), "\(told)") }
    }

    @Test func `variables of others are let be, and empty ones are none`() throws {
        #expect(try Self.found(["NACRE_TESTS": "require", "NACRE_SEED": "1", "NACRE_LISTEN": "", "LISTEN": "1"]) == [:])
    }

    @Test func `the command line counts before the environment, and that before the file, and each is named`() async throws {
        let folder = try TemporaryFolder()
        try "data = from-file\nlisten = 127.0.0.1:1\nadmin-listen = 127.0.0.1:2\nopen-sign-up = true\n"
            .write(toFile: folder.path + "/nacre.conf", atomically: true, encoding: .utf8)
        func show(_ arguments: [String], _ environment: [String: String]) async throws -> Nacre {
            try await Nacre.run(["config", "show"] + arguments, in: folder.path, environment: environment)
        }
        let shown = try await show(["--origin", "--listen", "127.0.0.1:3"], ["NACRE_LISTEN": "127.0.0.1:4", "NACRE_OPEN_SIGN_UP": "false"])
        #expect(shown.status == 0 && shown.messages.isEmpty)
        for text in [
            "# nacre.conf:1\ndata = from-file\n", "# --listen\nlisten = 127.0.0.1:3\n", "# NACRE_OPEN_SIGN_UP\nopen-sign-up = false\n",
            "# nacre.conf:3\nadmin-listen = 127.0.0.1:2\n", "request-rate = ",
        ] { #expect(shown.output.contains(text), "\(text)") }
        // The output is a file of settings with the same values.
        try shown.output.write(toFile: folder.path + "/again.conf", atomically: true, encoding: .utf8)
        let plain = try await show(["--listen", "127.0.0.1:3"], ["NACRE_LISTEN": "127.0.0.1:4", "NACRE_OPEN_SIGN_UP": "false"])
        #expect(try await show([], ["NACRE_CONFIG": "again.conf"]).output == plain.output)
        // The error for a faulty value names its origin.
        let wrong = try await show(["--config", "again.conf"], ["NACRE_LISTEN": "nowhere"])
        #expect(wrong.status == 64 && wrong.messages.contains("HOST:PORT") && wrong.messages.contains("set by NACRE_LISTEN"))
        #expect(try await show(["--config", "missing.conf"], [:]).messages.contains("missing.conf"))
    }

    @Test func `a file of settings that was found, and not named, is obeyed where nobody else can have written it`() async throws {
        for (mode, owner, user, isObeyed) in [
            (0o644, 1000, 1000, true), (0o600, 0, 1000, true), (0o444, 0, 0, true), (0o664, 1000, 1000, false), (0o646, 1000, 1000, false),
            (0o666, 0, 0, false), (0o600, 1001, 1000, false), (0o644, 1000, 0, false),
        ] as [(mode_t, uid_t, uid_t, Bool)] {
            #expect((SettingsFile.fault(mode: mode, owner: owner, user: user, path: "x") == nil) == isObeyed, "\(mode) \(owner) \(user)")
        }
        let folder = try TemporaryFolder()
        let path = folder.path + "/nacre.conf"
        try "open-sign-up = true\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(chmod(path, 0o666) == 0)
        let found = try await Nacre.run(["config", "show"], in: folder.path)
        #expect(found.status == 64 && found.messages.contains("chmod go-w nacre.conf"), "\(found.messages)")
        #expect(try await Nacre.run(["config", "show", "--config", "nacre.conf"], in: folder.path).status == 0)
        #expect(chmod(path, 0o644) == 0)
        #expect(try await Nacre.run(["config", "show"], in: folder.path).status == 0)
    }

    @Test func `container and environment may stand elsewhere for each command that has to be told them, and no other option may`() throws {
        let parser = Parser(root: NacreCloudCLI.Nacre.root)
        let values = ["NACRE_DATA": "folder", "NACRE_CONTAINER": "iCloud.a.b", "NACRE_ENVIRONMENT": "production"]
        var told = 0
        for (path, command) in CommandReferenceTests.verbs where command.name != "serve" && !command.settings.contains(where: { $0.name == "listen" })
        {
            #expect(Set(command.settings.map(\.name)).isSubset(of: ["data", "container", "environment"]), "\(path)")
            let needed = command.options.filter { option in option.isRequired && !command.settings.contains { $0.name == option.name } }
            let words = path + needed.flatMap(CommandReferenceTests.words) + command.arguments.map { "a-\($0.name)" }
            guard case .run(_, var call) = try parser.parse(words) else { continue }
            try Settings.add(to: &call, of: command, all: Settings.all, environment: values)
            try Parser.checkSettings(of: command, call)
            for option in command.settings { #expect(call.value(option) == values[Settings.variable(of: option)], "\(path) \(option.name)") }
            for option in command.options where !command.settings.contains(where: { $0.name == option.name }) {
                #expect(call.settings[option.name] == nil, "\(path) \(option.name)")
            }
            told += command.settings.count { $0.isRequired }
            for option in command.settings where option.isRequired {
                call.settings[option.name] = nil
                #expect(throws: UsageError(.missingOption(option.spelling), path: call.path)) { try Parser.checkSettings(of: command, call) }
                call.set(option, "given")
                try Parser.checkSettings(of: command, call)
            }
        }
        #expect(told > 40)
    }

    @Test func `a container of the environment is worked on, unless the command line names another`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.prepared()
            let variables = ["NACRE_DATA": server.data, "NACRE_CONTAINER": Administrator.container, "NACRE_ENVIRONMENT": "development"]
            let export = ["schema", "export"]
            #expect(try await Nacre.run(export, in: server.scratch, environment: variables).status == 0)
            let other = try await Nacre.run(export + ["--container", "iCloud.no.such"], in: server.scratch, environment: variables)
            #expect(other.status == 1 && other.messages.contains("container does not exist"), "\(other)")
            let missing = try await Nacre.run(export, in: server.scratch, environment: ["NACRE_DATA": server.data])
            #expect(missing.status == 64 && missing.messages.contains("--container <name>"))
            let wrong = try await Nacre.run(export, in: server.scratch, environment: variables.merging(["NACRE_ENVIRONMENT": "staging"]) { $1 })
            #expect(wrong.status == 64 && wrong.messages.contains("NACRE_ENVIRONMENT"))
        }
    }

    @Test func `without settings the server and its administration are on loopback alone`() async throws {
        let folder = try TemporaryFolder()
        let shown = try await Nacre.run(["config", "show"], in: folder.path)
        #expect(shown.output.contains("\nlisten = 127.0.0.1:8787\n") && shown.output.contains("\nadmin-listen = 127.0.0.1:0\n"), "\(shown.output)")
    }

    @Test func `commands find the server by the data folder of the environment and of the file`() async throws {
        try await RunningServer.with { server in
            let folder = try TemporaryFolder()
            let list = ["container", "list"]
            #expect(try await Nacre.run(list, in: folder.path).status == 69)
            #expect(try await Nacre.run(list, in: folder.path, environment: ["NACRE_DATA": server.data]).status == 0)
            try "data = \(server.data)\nlisten = 127.0.0.1:1\n".write(toFile: folder.path + "/nacre.conf", atomically: true, encoding: .utf8)
            #expect(try await Nacre.run(list, in: folder.path).status == 0)
            #expect(try await Nacre.run(list + ["--data", folder.path], in: folder.path).status == 69)
        }
    }
}
