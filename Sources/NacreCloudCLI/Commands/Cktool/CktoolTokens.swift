import Foundation
import Glibc
import NacreCloudServer

/// The tokens of cktool's verbs, kept in one file that only its owner can read.
struct CktoolTokens: Codable {
    enum Kind: String, CaseIterable {
        case management
        case user
    }

    private var management: String?
    private var user: String?

    subscript(kind: Kind) -> String? {
        get { kind == .management ? management : user }
        set { if kind == .management { management = newValue } else { user = newValue } }
    }

    /// Returns the token for a command; nil where there is none.
    static func token(_ kind: Kind, for call: Call) throws -> String? {
        let variable = kind == .management ? "CLOUDKIT_MANAGEMENT_TOKEN" : "CLOUDKIT_USER_TOKEN"
        if let given = call.value(CktoolOptions.token) ?? Self.variable(variable) { return given }
        return try load()[kind]
    }

    /// Returns a variable's value; nil where it is not set or is empty.
    static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    static var path: String {
        let folder = variable("XDG_CONFIG_HOME") ?? (variable("HOME") ?? NSHomeDirectory()) + "/.config"
        return folder + "/nacre-cktool"
    }

    /// Reads the file; without a file the result is empty.
    static func load() throws -> CktoolTokens {
        let bytes: [UInt8]
        do {
            bytes = try PrivateFile.read(path)
        } catch {
            guard error.code == .missing else { throw error }
            return CktoolTokens()
        }
        guard let tokens = try? JSONDecoder().decode(CktoolTokens.self, from: Data(bytes)) else { throw PrivateFileError(.malformed, path) }
        return tokens
    }

    func save() throws {
        let folder = URL(filePath: Self.path).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try PrivateFile.write([UInt8](try JSONEncoder().encode(self)), to: Self.path)
    }
}

private enum TokenOptions {
    static let type = Option.required("type", "type", oneOf: CktoolTokens.Kind.allCases.map(\.rawValue), "Which of the two tokens.")
    static let method = Option.value(
        "method", "method", oneOf: ["keychain", "file"], fallback: "file", "Where it is kept. There is no keychain here.")
    static let force = Option.flag("force", "Do it without asking.")

    /// Returns the kind of token that a call names.
    static func kind(_ call: Call) throws -> CktoolTokens.Kind {
        if call.value(method) == "keychain" {
            throw CommandFailure(.failure, "there is no keychain on this system", remedy: "Leave --method out: the token is kept in a file of yours.")
        }
        return try call.require(type) == CktoolTokens.Kind.user.rawValue ? .user : .management
    }
}

/// `nacre cktool save-token`
enum CktoolSaveToken {
    private static let token = Argument("token", "The token; without it, it is read from standard input.", isRequired: false)

    static let command = Command(
        "save-token", "Keep a token for the other verbs.",
        discussion: """
            A user token is an account token: what nacre user sign-in --account prints. A management token is what nacre token \
            create --kind management prints; for a server of this machine none is needed, as --data finds its administrator's.
            """,
        arguments: [token], options: [TokenOptions.type, TokenOptions.method, TokenOptions.force]
    ) { call in
        let kind = try TokenOptions.kind(call)
        var tokens = try CktoolTokens.load()
        guard tokens[kind] == nil || call.has(TokenOptions.force) else {
            throw CommandFailure(.failure, "a \(kind.rawValue) token is kept already", remedy: "Say --force to keep this one in its place.")
        }
        tokens[kind] = try call.arguments.first ?? asked()
        try tokens.save()
        Output.message("The \(kind.rawValue) token is in \(CktoolTokens.path).")
    }

    private static func asked() throws -> String {
        if isatty(STDIN_FILENO) == 1 { Output.message("Paste the token and press return:") }
        guard let line = readLine()?.trimmingCharacters(in: .whitespaces), !line.isEmpty else {
            throw CommandFailure(
                .usage, "Interaction was required while running in non-interactive mode",
                remedy: "Give the token as an argument, or on standard input.")
        }
        return line
    }
}

/// `nacre cktool remove-token`
enum CktoolRemoveToken {
    static let command = Command(
        "remove-token", "Forget a token that save-token kept.",
        options: [TokenOptions.type, TokenOptions.method, TokenOptions.force]
    ) { call in
        let kind = try TokenOptions.kind(call)
        var tokens = try CktoolTokens.load()
        guard tokens[kind] != nil else { throw CommandFailure(.failure, "no \(kind.rawValue) token is kept in \(CktoolTokens.path)") }
        tokens[kind] = nil
        try tokens.save()
        Output.message("The \(kind.rawValue) token is forgotten.")
    }
}

/// `nacre cktool get-teams`
enum CktoolGetTeams {
    static let command = Command(
        "get-teams", "Fails: a server of nacre has no teams.", options: [CktoolOptions.token]
    ) { _ in
        throw CommandFailure(
            .failure, "a server of nacre has no teams", remedy: "Leave --team-id out, or give anything: the other verbs take it and do not use it.")
    }
}
