import Foundation
import Glibc
import NacreCloudTestSupport
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

    /// Starts an executable of this build.
    /// - Parameters:
    ///   - program: Its name.
    ///   - folder: The folder for its output: `NAME.out` and `NAME.err`.
    ///   - input: The text of its standard input; nil: empty.
    ///   - environment: Added to the test's own, without any setting of CloudKit.
    ///   - isOnTerminal: Whether it runs on a terminal, whose output goes to the first file; the process is then
    ///     `script`, and the program its child.
    init(
        _ arguments: [String], program: String = "nacre", named name: String = UUID().uuidString, in folder: String, input: String? = nil,
        environment: [String: String] = [:], isOnTerminal: Bool = false
    ) throws {
        output = folder + "/" + name + ".out"
        errors = folder + "/" + name + ".err"
        // A library loaded before the C library may set variables of its process, and then Swift, which expects its
        // arguments beside them, finds none. `env` is started first, and becomes `nacre`.
        let isDirect = environment["LD_PRELOAD"] == nil
        let read = folder + "/" + name + ".in"
        try Data((input ?? "").utf8).write(to: URL(filePath: read))
        let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CLOUDKIT_") }.merging(environment) { _, given in given }
        let words = [Self.path(of: program)] + arguments
        let line = words.map { "'\($0)'" }.joined(separator: " ")
        let command = isOnTerminal ? [Self.script, "-qefc", line, "/dev/null"] : isDirect ? words : ["/usr/bin/env"] + words
        let started = Program(command[0], Array(command.dropFirst()), in: folder, environment: variables)
        pid = try started.start(input: read, output: output, errors: errors)
        Thread.detachNewThread { [pid, ending] in
            Program.awaitEnd(of: pid)
            let (status, waiting) = ending.withLock { state -> (Ending, [CheckedContinuation<Ending, Never>]) in
                // Reaped under the lock, so that `signal` never reaches another process with the same ID.
                let status = Program.reap(pid)
                guard case .running(let waiting) = state else { return (status, []) }
                state = .ended(status)
                return (status, waiting)
            }
            for continuation in waiting { continuation.resume(returning: status) }
        }
    }

    /// Whether a process may run on a terminal here: `script` is installed, and the kernel gives a pseudo-terminal.
    static let hasTerminals: Bool = {
        let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        close(descriptor)
        return descriptor >= 0 && FileManager.default.isExecutableFile(atPath: script)
    }()

    /// The path of util-linux's `script`, which runs a program on a terminal.
    private static let script = "/usr/bin/script"

    /// The path of `nacre` beside the test bundle.
    static let executable = path(of: "nacre")

    private static func path(of program: String) -> String {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: program).path
    }

    var isRunning: Bool {
        ending.withLock { if case .running = $0 { true } else { false } }
    }

    /// Sends a signal. Does nothing once the process has ended.
    func signal(_ signal: Int32) {
        ending.withLock { if case .running = $0 { _ = kill(pid, signal) } }
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
