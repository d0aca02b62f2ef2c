import Foundation
import Glibc
import NacreCloudServer
import NacreCloudTestSupport
import NacreLocks
import Testing

/// `nacre serve` as a separate process, on a folder and a port that stay the same over its restarts.
///
/// Use `RunningServer.with`: it ends the process and removes the folder in any case.
final class RunningServer: Sendable {
    /// Seconds that a server may take until it answers, or to end. A debug build on a busy machine needs a second.
    static let patienceSeconds = 30

    let data: String
    let port: Int
    private let folder: TemporaryFolder
    private let arguments: [String]
    private let environment: [String: String]
    private let faults: Faults
    private let state = Locked(State())

    private struct State {
        var process: Launched?
        var admin: AdminFile?
        var isUp = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var starts = 0
        /// Whether it could not be started again, so that waiting is useless.
        var isOver = false
    }

    /// Whether faults around the server give it reason to log errors.
    enum Faults: Sendable {
        case none
        case expected
    }

    private init(_ arguments: [String], _ environment: [String: String], _ faults: Faults) throws {
        folder = try TemporaryFolder()
        data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        port = try QuietPort.any()
        self.arguments = arguments
        self.environment = environment
        self.faults = faults
    }

    /// Starts a server, runs the body, and cleans up.
    /// - Parameter environment: Variables of the process besides the test's own.
    static func with<Value>(
        _ arguments: [String] = [], environment: [String: String] = [:], faults: Faults = .none,
        _ body: (RunningServer) async throws -> Value
    ) async throws -> Value {
        let server = try RunningServer(arguments, environment, faults)
        do {
            try await server.start()
            let value = try await body(server)
            await server.kill()
            if server.faults == .none { server.expectCleanLogs() }
            return value
        } catch {
            await server.kill()
            throw error
        }
    }

    /// Checks that the server logged no error, whatever clients did, and however often it was killed. Slow writes do
    /// not count: a debug build beside other tests is slow.
    private func expectCleanLogs() {
        for number in 1...state.withLock({ $0.starts }) {
            let text = (try? String(contentsOf: URL(filePath: "\(scratch)/serve-\(number).err"), encoding: .utf8)) ?? ""
            let errors = text.split(separator: "\n").filter { line in
                (line.contains("\"level\":\"error\"") || line.contains("\"level\":\"critical\"")) && !line.contains("A write kept others waiting")
            }
            #expect(errors.isEmpty)
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }
    /// The URL in its answers: another one where a proxy stands before it.
    private var publicURL: String { arguments.firstIndex(of: "--public-url").map { arguments[$0 + 1] } ?? url }
    /// A folder for the output of other processes of the test.
    var scratch: String { folder.path }

    var admin: AdminFile {
        get throws { try #require(state.withLock { $0.admin }) }
    }

    var adminURL: String {
        get throws { try admin.url }
    }

    var process: Launched {
        get throws { try #require(state.withLock { $0.process }) }
    }

    /// Starts the process on the same folder and port, and returns when it listens.
    func start() async throws {
        let appearance = try FileAppearance(of: AdminFile.name, in: data)
        let count = state.withLock { state -> Int in
            state.starts += 1
            return state.starts
        }
        let process = try Launched(
            ["serve", "--data", data, "--listen", "127.0.0.1:\(port)", "--log-format", "json"] + arguments, named: "serve-\(count)",
            in: folder.path, environment: environment)
        state.withLock { $0.process = process }
        guard await appearance.wait(while: process, seconds: Self.patienceSeconds) else {
            process.signal(SIGKILL)
            wakeAll { $0.isOver = true }
            throw ServerDidNotStart(status: await process.ended(), errors: process.errorText)
        }
        let admin = try AdminFile.read(folder: data)
        try #require(admin.pid == process.pid)
        try #require(admin.publicURL == publicURL)
        wakeAll { state in
            state.admin = admin
            state.isUp = true
        }
    }

    private func wakeAll(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns at once while the server is up; otherwise when it is up again, or cannot be started any more.
    func whenUp() async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                let isSettled = state.isUp || state.isOver
                if !isSettled { state.waiting.append(continuation) }
                return isSettled
            }
            if isSettled { continuation.resume() }
        }
    }

    /// Returns the paths of asset chunks in the data folder, or in another, in the order of their names; empty before
    /// the first.
    func assetChunks(in folder: String? = nil) throws -> [String] {
        let (manager, root) = (FileManager.default, (folder ?? data) + "/assets")
        let parts = manager.fileExists(atPath: root) ? try manager.contentsOfDirectory(atPath: root) : []
        return try parts.filter { $0.count == 2 }.sorted().flatMap { part in
            try manager.contentsOfDirectory(atPath: "\(root)/\(part)").sorted().map { "\(root)/\(part)/\($0)" }
        }
    }

    /// Sends SIGKILL, and waits until the process is gone. Does nothing when there is none.
    func kill() async {
        _ = await end(by: SIGKILL)
    }

    /// Sends SIGTERM, and waits until the process is gone.
    /// - Returns: The exit code.
    func stop() async throws -> Launched.Ending {
        try #require(await end(by: SIGTERM))
    }

    private func end(by signal: Int32) async -> Launched.Ending? {
        let process = state.withLock { state in
            state.isUp = false
            return state.process
        }
        guard let process else { return nil }
        process.signal(signal)
        return await process.ended()
    }
}

struct ServerDidNotStart: Error, CustomStringConvertible {
    var status: Launched.Ending
    var errors: String

    var description: String { "nacre serve ended with \(status) before it listened: \(errors)" }
}

/// Free ports below those that the kernel gives to outgoing connections, so that none is taken by chance between two
/// starts.
enum QuietPort {
    /// The ports given to this process: a free one may belong to another server that has not started yet, or
    /// restarts.
    private static let given = Locked<Set<Int>>([])

    static func any() throws -> Int {
        while true {
            let port = Int.random(in: 20_000..<32_000)
            let socket = try LoopbackSocket.make()
            defer { close(socket) }
            if (try? LoopbackSocket.bind(socket, port)) != nil, given.withLock({ $0.insert(port).inserted }) { return port }
        }
    }
}
