import Foundation
import Glibc
import NacreLocks

/// A child process with its output in files, so that no pipe can fill and no reader can be late.
final class Launched: Sendable {
    /// How a process ended: an exit code, or minus the number of the signal that ended it.
    typealias Ending = Int32

    let pid: pid_t
    private let output: String
    private let errors: String
    private let ending = Locked(Waiting.running([]))

    private enum Waiting {
        case running([CheckedContinuation<Ending, Never>])
        case ended(Ending)
    }

    /// Starts the executable `nacre` of this build.
    /// - Parameters:
    ///   - folder: takes its output: `NAME.out` and `NAME.err`.
    ///   - input: what it reads; nothing when nil.
    ///   - environment: added to the test's own, without any setting of CloudKit.
    init(
        _ arguments: [String], named name: String = UUID().uuidString, in folder: String, input: String? = nil, environment: [String: String] = [:]
    ) throws {
        output = folder + "/" + name + ".out"
        errors = folder + "/" + name + ".err"
        let process = Process()
        // A library that goes before the C library may set variables of its process, and then Swift, which looks for its arguments beside
        // them, finds none. `env` takes that upon itself, and becomes `nacre`.
        let isDirect = environment["LD_PRELOAD"] == nil
        process.executableURL = URL(filePath: isDirect ? Self.executable : "/usr/bin/env")
        process.arguments = isDirect ? arguments : [Self.executable] + arguments
        process.currentDirectoryURL = URL(filePath: folder)
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CLOUDKIT_") }
            .merging(environment) { _, given in given }
        process.standardInput = try Self.input(input, folder + "/" + name + ".in")
        process.standardOutput = try Self.newFile(output)
        process.standardError = try Self.newFile(errors)
        process.terminationHandler = { [ending] process in
            let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
            let waiting = ending.withLock { state -> [CheckedContinuation<Ending, Never>] in
                guard case .running(let waiting) = state else { return [] }
                state = .ended(status)
                return waiting
            }
            for continuation in waiting { continuation.resume(returning: status) }
        }
        try process.run()
        pid = process.processIdentifier
    }

    /// `nacre` beside the test bundle.
    static let executable: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: "nacre").path
    }()

    /// A file of its own, also for nothing: with `FileHandle.nullDevice` a child was seen to read what another test had open.
    private static func input(_ text: String?, _ path: String) throws -> FileHandle {
        try Data((text ?? "").utf8).write(to: URL(filePath: path))
        return try FileHandle(forReadingFrom: URL(filePath: path))
    }

    private static func newFile(_ path: String) throws -> FileHandle {
        try Data().write(to: URL(filePath: path))
        return try FileHandle(forWritingTo: URL(filePath: path))
    }

    var isRunning: Bool {
        ending.withLock { if case .running = $0 { true } else { false } }
    }

    /// Does nothing once the process has ended.
    func signal(_ signal: Int32) {
        if isRunning { kill(pid, signal) }
    }

    /// Waits for the end. Safe from any number of tasks.
    func ended() async -> Ending {
        await withCheckedContinuation { continuation in
            let known: Ending? = ending.withLock { state in
                switch state {
                case .ended(let status): return status
                case .running(let waiting):
                    state = .running(waiting + [continuation])
                    return nil
                }
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    var outputText: String { (try? String(contentsOf: URL(filePath: output), encoding: .utf8)) ?? "" }
    var errorText: String { (try? String(contentsOf: URL(filePath: errors), encoding: .utf8)) ?? "" }
}
