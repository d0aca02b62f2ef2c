import FoundationEssentials
package import Glibc

/// A program that a test starts.
///
/// Not Foundation's `Process`, which detects an end when a socket closes: a child started at the same moment may keep
/// the socket open as long as it lives. The program's input and output are files, so that no pipe can fill either.
package struct Program: Sendable {
    /// Its path and its arguments.
    private let command: [String]
    private let environment: [String: String]

    /// Makes a program.
    /// - Parameters:
    ///   - folder: Its working folder; nil: the test's own.
    ///   - environment: All of its variables; nil: the test's own.
    package init(_ path: String, _ arguments: [String], in folder: String? = nil, environment: [String: String]? = nil) {
        // `env` changes to the folder, and becomes the program.
        command = (folder.map { ["/usr/bin/env", "--chdir=\($0)"] } ?? []) + [path] + arguments
        self.environment = environment ?? ProcessInfo.processInfo.environment
    }

    /// Starts it, in a process group of its own, without other open files. The caller must wait for it.
    /// - Parameters:
    ///   - input: The file that it reads.
    ///   - output: The file that it writes to, emptied first; nil: none.
    ///   - errors: The same for standard error; it may be the same file.
    package func start(input: String = "/dev/null", output: String? = nil, errors: String? = nil) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let flags = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", flags, 0o600)
        if let errors, errors == output {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, errors ?? "/dev/null", flags, 0o600)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            if let descriptor = Int32(name), descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var words = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0.key + "=" + $0.value) } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, command[0], &actions, &attributes, &words, &variables)
        guard code == 0 else { throw POSIXFault(call: "posix_spawn(\(command[0]))", code: code) }
        return pid
    }

    /// Blocks until a started program has ended; its process ID stays valid until `reap`.
    package static func awaitEnd(of pid: pid_t) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Blocks until it has ended.
    /// - Returns: Its exit code, or minus the number of the signal that ended it.
    @discardableResult
    package static func reap(_ pid: pid_t) -> Int32 {
        var status = Int32(-1)
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : -signal
    }

    /// Runs it to its end, and blocks meanwhile.
    /// - Returns: Its exit code, or minus the number of the signal that ended it.
    package func run() throws -> Int32 { Self.reap(try start()) }

    /// Runs it to its end on a thread of its own.
    /// - Parameters:
    ///   - input: The bytes of its standard input.
    ///   - keepsErrors: Whether the output contains standard error, too.
    /// - Returns: Its exit code, or minus the number of the signal that ended it; and its output.
    package func run(input: [UInt8] = [], keepsErrors: Bool = false) async throws -> (status: Int32, output: [UInt8]) {
        try await onThread {
            let files = try TemporaryFolder()
            let (read, printed) = (files.path + "/in", files.path + "/out")
            try Data(input).write(to: URL(filePath: read))
            let status = Self.reap(try start(input: read, output: printed, errors: keepsErrors ? printed : nil))
            return (status, [UInt8](try Data(contentsOf: URL(filePath: printed))))
        }
    }
}
