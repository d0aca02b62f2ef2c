import Foundation
import Glibc
import NacreLocks

/// A command that is run for the user, beside a server.
final class ChildCommand: Sendable {
    private let pid: pid_t
    /// Whether the command has not been waited for yet, which keeps its process ID valid.
    private let isRunning = Locked(true)

    /// Starts the command with the default signal actions, whatever this process ignores.
    /// - Parameters:
    ///   - variables: Set beside those of this process.
    ///   - ownGroup: true: a process group of its own, which a terminal's signals do not reach; the caller passes
    ///     them on. false: this process's group, in which a terminal's Ctrl-C ends the command.
    init(_ words: [String], _ variables: [String: String], ownGroup: Bool) throws {
        var arguments = words.map { strdup($0) } + [nil]
        let all = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        var environment = all.map { strdup("\($0)=\($1)") } + [nil]
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer {
            for text in arguments + environment { free(text) }
            posix_spawnattr_destroy(&attributes)
        }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (ownGroup ? POSIX_SPAWN_SETPGROUP : 0)))
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, words.first ?? "", nil, &attributes, &arguments, &environment)
        guard code == 0 else {
            throw CommandFailure(.failure, "\(words.first ?? "the command") cannot be run: \(String(cString: strerror(code)))")
        }
        self.pid = pid
    }

    func interrupt() {
        isRunning.withLock { if $0 { _ = kill(pid, SIGINT) } }
    }

    /// Waits for the command's end. Call it once.
    /// - Returns: Its exit status; or 128 plus the number of the signal that ended it, as shells count.
    func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            // Blocks a thread of its own. The process ID stays valid until waitpid runs under the lock.
            Thread.detachNewThread { [self] in
                var info = siginfo_t()
                while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
                var status: Int32 = 0
                isRunning.withLock { isRunning in
                    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
                    isRunning = false
                }
                continuation.resume(returning: status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f)
            }
        }
    }
}
