import Foundation
import Glibc

/// `nacre run`
enum Run {
    private static let program = Argument("command", "The command, with its arguments.", takesRest: true)
    private static let memory = Option.flag("memory", "Keep the data of a server that it starts in memory.")
    private static let listen = Option.value(
        "listen", "host:port", fallback: "127.0.0.1:0", "Where a server that it starts is reached; port 0 for any free one.")

    static let command = Command(
        "run", "Run a command with a server, a container and a signed-in user.",
        discussion: """
            Does what nacre up does, runs the command with the variables of an app, and ends with its status. A server that it started ends with the command; \
            one that runs on the data folder already is asked, and stays.

              nacre run iCloud.com.example.Notes -- swift test
              nacre run iCloud.com.example.Notes -- bash
            """,
        arguments: [Up.container, program], options: [Up.environment, Up.email, Up.envFile, listen, memory] + AdminServer.options + [Settings.file]
    ) { call in
        let admin: AdminClient
        do {
            admin = try await AdminClient.connect(call)
        } catch let failure as CommandFailure where failure.code == .unreachable && !call.isGiven(AdminServer.tokenFile) {
            var status: Int32 = 0
            var call = call
            // Of the server its user wants to hear what is wrong, and nothing else.
            for (option, value) in [(listen, try call.require(listen)), (Serve.logLevel, "warning")] { call.set(option, value) }
            try await Serve.run(call) { _ in
                status = try await run(call, by: try await AdminClient.connect(call))
                return .ends
            }
            return try end(with: status)
        }
        try end(with: try await run(call, by: admin))
    }

    /// That a command which was run for the user ended so.
    struct Ended: Error {
        var status: Int32
    }

    private static func end(with status: Int32) throws {
        if status != 0 { throw Ended(status: status) }
    }

    /// - Returns: the status of the command; 128 and the number of a signal that ended it, as shells count.
    private static func run(_ call: Call, by admin: AdminClient) async throws -> Int32 {
        let setup = try await Up.setUp(call, by: admin)
        let variables = ProcessInfo.processInfo.environment.merging(setup.values) { $1 }
        let pid = try start(Array(call.arguments.dropFirst()), variables.map { "\($0)=\($1)" })
        return await withCheckedContinuation { continuation in
            // Blocks a thread of its own, none of Swift's.
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(pid, &status, 0) == -1, errno == EINTR {}
                continuation.resume(returning: status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f)
            }
        }
    }

    /// In this process's group, so that a terminal speaks to it, and a Ctrl-C ends it.
    private static func start(_ words: [String], _ variables: [String]) throws -> pid_t {
        var pid: pid_t = 0
        var arguments = words.map { strdup($0) } + [nil]
        var environment = variables.map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        let code = posix_spawnp(&pid, words.first ?? "", nil, nil, &arguments, &environment)
        guard code == 0 else {
            throw CommandFailure(.failure, "\(words.first ?? "the command") cannot be run: \(String(cString: strerror(code)))")
        }
        return pid
    }
}
