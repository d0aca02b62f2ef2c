import CNacreStart
import Foundation

/// The executable that finishes operations of ended apps, as `nacre agent`: the one that `CLOUDKIT_AGENT` names,
/// otherwise the first `nacre` in PATH.
struct AgentProgram: Sendable {
    /// Seconds that an app waits for a new agent to be ready. Own choice: a start takes some hundredths.
    private static let startSeconds = 10.0
    private static let reaperStackBytes = 64 << 10
    /// The executable's path; nil if there is none.
    let path: String?
    private let named: String?

    init(environment variables: [String: String]) {
        named = variables["CLOUDKIT_AGENT"].flatMap { $0.isEmpty ? nil : $0 }
        let candidates = named.map { [$0] } ?? (variables["PATH"] ?? "").split(separator: ":").map { "\($0)/nacre" }
        path = candidates.first { Self.isExecutable($0) }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return path.hasPrefix("/") && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Starts the agent in a session of its own, so that it outlives the app. Blocks until it runs.
    /// - Returns: the reason why it does not run; nil if it does.
    func start() -> String? {
        guard let path else {
            return named.map { "CLOUDKIT_AGENT names \($0), which is no executable" } ?? "there is no nacre in PATH, and CLOUDKIT_AGENT names none"
        }
        var (process, output) = (Int32(0), Int32(-1))
        let code = nacre_start_agent(path, &process, &output)
        guard code == 0 else { return "\(path) does not start: \(String(cString: strerror(code)))" }
        defer { close(output) }
        // A thread must reap the child if it ends while the app lives.
        let child = process
        let thread = Thread { Self.reap(child) }
        thread.stackSize = Self.reaperStackBytes
        thread.start()
        return Self.isReady(output) ? nil : "\(path) agent ended, or did not say that it runs"
    }

    private static func reap(_ pid: pid_t) {
        var status = Int32(0)
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    }

    private static func isReady(_ descriptor: Int32) -> Bool {
        let end = ProcessInfo.processInfo.systemUptime + startSeconds
        while true {
            let left = end - ProcessInfo.processInfo.systemUptime
            guard left > 0 else { return false }
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&polled, 1, Int32(left * 1000) + 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            var byte = UInt8(0)
            return read(descriptor, &byte, 1) == 1
        }
    }
}
