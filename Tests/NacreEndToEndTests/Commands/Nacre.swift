import Foundation
import Testing

/// One run of the `nacre` executable from start to end.
struct Nacre: Sendable {
    var status: Launched.Ending
    /// Standard output: data.
    var output: String
    /// Standard error: messages.
    var messages: String

    /// Runs a command in a folder, which also takes its output, and waits for its end.
    static func run(
        _ arguments: [String], in folder: String, input: String? = nil, environment: [String: String] = [:]
    ) async throws -> Nacre {
        let process = try Launched(arguments, in: folder, input: input, environment: environment)
        let status = await process.ended()
        return Nacre(status: status, output: process.outputText, messages: process.errorText)
    }

    /// The single line that a command prints without `--json`.
    var line: String { output.trimmingCharacters(in: .newlines) }

    /// Returns the members of the single object that `--json` prints.
    func object() throws -> [String: any Sendable] {
        let parsed = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        return try #require(parsed).compactMapValues { value in
            (value as? String) ?? (value as? NSNumber).map { $0.doubleValue }
        }
    }
}

/// A running server and the commands that find it by its data folder.
struct Administrator: Sendable {
    let server: RunningServer

    static let container = "iCloud.com.example.Notes"
    static let email = "ada@example.com"
    static let password = "correct horse battery"

    func run(_ arguments: [String], input: String? = nil) async throws -> Nacre {
        try await Nacre.run(arguments + ["--data", server.data], in: server.scratch, input: input)
    }

    static let tokenCreate = ["token", "create", "--container", container, "--environment", "development", "--kind", "api"]
    static let userCreate = ["user", "create", email, "--password-stdin"]

    static func signIn(_ apiToken: String) -> [String] {
        ["user", "sign-in", email, "--password-stdin", "--container", container, "--environment", "development", "--api-token", apiToken]
    }

    /// Makes a container, and returns an API token for it.
    func prepared() async throws -> String {
        try #require(try await run(["container", "create", Self.container]).status == 0)
        let token = try await run(Self.tokenCreate)
        try #require(token.status == 0)
        return token.line
    }

    /// Makes a user too.
    func preparedWithUser() async throws -> String {
        let token = try await prepared()
        try #require(try await run(Self.userCreate, input: Self.password).status == 0)
        return token
    }
}
