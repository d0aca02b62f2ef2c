import Foundation
import NacreCloudServer
import NacreLocks
import NacreTelemetry

/// `nacre exec`
enum Exec {
    /// The number of requests whose log lines are shown where the command fails. Ours: a screen.
    private static let tailLines = 40
    /// The variable with the emulator's data folder, for `nacre fault add … --data "$NACRE_DATA"`.
    private static let dataVariable = "NACRE_DATA"

    private static let container = Option.value("container", "name", fallback: "iCloud.test.exec", "The container of the command's app.")
    private static let given = Argument("command", "The command and its arguments.", takesRest: true)

    static let command = Command(
        "exec", "Run a command with an emulator of its own: nacre exec -- swift test.",
        discussion: """
            Starts a server in memory on a free port, with a container, an API token and a signed-in user, and runs the command with their variables: \
            CLOUDKIT_SERVER_URL and the others that an app reads, and \(dataVariable), by which nacre fault and all other commands find it \
            (--data "$\(dataVariable)"). Ends with the command's exit status; where that is not 0, it prints the last \(tailLines) requests.
            """,
        arguments: [given], options: [container]
    ) { call in
        let status = try await run(call.arguments, container: try call.require(container))
        if status != 0 { exit(status) }
    }

    /// Runs the command with an emulator.
    /// - Returns: The command's exit status, or 128 plus the number of the signal that ended it, as shells count.
    private static func run(_ words: [String], container: String) async throws -> Int32 {
        let folder = try TemporaryData()
        defer { folder.remove() }
        let log = RequestTail(lines: tailLines)
        var configuration = ServerConfiguration(dataFolder: folder.path, logger: Logger(level: .info, format: .human(colours: false), sink: log))
        configuration.engine = .memory
        configuration.isEmulator = true
        configuration.requestRate = nil
        configuration.listen.port = 0
        let server = Server(configuration)
        _ = try await server.start()
        let status: Int32
        do {
            let admin = try await AdminClient.connect(to: AdminServer(file: try AdminFile.read(folder: folder.path)))
            let setup = try await DeveloperSetup.prepare(container, "development", email: nil, file: folder.path + "/env", by: admin)
            status = try await child(words, setup.values.merging([dataVariable: folder.path]) { $1 })
        } catch {
            await server.shutdown()
            throw error
        }
        if status != 0 {
            Output.message("\(words.first ?? "") ended with status \(status). The last requests:")
            for line in log.tail { Output.message("  \(line)") }
        }
        await server.shutdown()
        return status
    }

    private static func child(_ words: [String], _ variables: [String: String]) async throws -> Int32 {
        // Signals are passed on to the command, which has its own process group. The emulator ends after the command.
        let signals = StopSignals()
        let child = try ChildCommand(words, variables, ownGroup: true)
        let interruption = Task {
            await signals.first()
            child.interrupt()
        }
        defer { interruption.cancel() }
        return await child.status()
    }
}

/// A temporary folder that only this user can read, for a server that keeps nothing.
private struct TemporaryData {
    let path: String

    init() throws {
        var template = Array((FileManager.default.temporaryDirectory.path + "/nacre-exec-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure(.failure, "no temporary folder can be made: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// The last lines of a log.
private final class RequestTail: LogSink {
    private let most: Int
    private let kept = Locked<[String]>([])

    init(lines: Int) { most = lines }

    var tail: [String] { kept.withLock { $0 } }

    func write(_ line: [UInt8]) {
        let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
        kept.withLock { kept in
            kept.append(Output.withoutControls(text))
            if kept.count > most { kept.removeFirst() }
        }
    }
}
