import Foundation
import NacreCloudTorture

/// A command line of the user's, run by the shell. Its output goes to standard error, as standard output is ours.
struct ShellCommand: Sendable {
    let option: Option
    let text: String
    /// Whether its standard output is discarded. Its standard error is still shown.
    var isSilent = false

    /// Runs it to its end.
    /// - Throws: `TortureFault.restart` where it fails.
    func run() async throws { try await run(process) }

    /// Runs it to its end.
    /// - Returns: The line that it prints, which must not be longer than a pipe holds.
    func line() async throws -> String {
        let (process, pipe) = (process, Pipe())
        process.standardOutput = pipe
        try await run(process)
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func run(_ process: Process) async throws {
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: failure(error))
            }
        }
        guard status == 0 else { throw TortureFault.restart("the command of --\(option.name) ended with status \(status)") }
    }

    /// Starts it and does not wait: it may run as long as the server does.
    func begin() throws {
        let process = process
        let name = option.name
        process.terminationHandler = { process in
            if process.terminationReason == .exit, process.terminationStatus != 0 {
                Output.message("the command of --\(name) ended with status \(process.terminationStatus)")
            }
        }
        do {
            try process.run()
        } catch {
            throw failure(error)
        }
    }

    private var process: Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", text]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = isSilent ? FileHandle.nullDevice : FileHandle.standardError
        return process
    }

    private func failure(_ error: any Error) -> TortureFault {
        .restart("the command of --\(option.name) does not start: \((error as NSError).localizedDescription)")
    }
}
