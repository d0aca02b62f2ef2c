import Glibc
import NacreCloudWire
import NacreLocks
import NacreTelemetry

/// Keeps the admin file in the data folder while the server runs. If the disk is full, the server runs without the file
/// and retries.
final class AdminFilePublisher: Sendable {
    /// Time between two tries.
    static let rest: Duration = .seconds(5)

    private enum State: Sendable {
        case new
        case trying(Task<Void, Never>)
        case published(PublishedAdminFile)
        case withdrawn
    }

    private let file: AdminFile
    private let folder: String
    private let clock: ServerClock
    private let logger: Logger
    private let state = Locked(State.new)

    init(_ file: AdminFile, in folder: String, clock: ServerClock, logger: Logger) {
        self.file = file
        self.folder = folder
        self.clock = clock
        self.logger = logger
    }

    /// Writes the file, or begins to retry.
    /// - Throws: `AdminFileInUse`, and `PrivateFileError` if a retry would not help.
    func publish() throws {
        do {
            keep(try file.publish(in: folder))
        } catch let error as PrivateFileError where Self.mayPass(error) {
            logger.log(
                .error, "The admin file could not be written: commands do not find the server until there is room",
                [.path: .string(error.path), .reason: .string(error.text)])
            let task = Task { await tryAgain() }
            state.withLock { state in
                if case .new = state { state = .trying(task) }
            }
        }
    }

    private func tryAgain() async {
        while !Task.isCancelled {
            try? await clock.sleep(Self.rest)
            guard !Task.isCancelled, let published = try? file.publish(in: folder) else { continue }
            logger.log(.notice, "The admin file is written", [.path: .string(AdminFile.path(in: folder))])
            return keep(published)
        }
    }

    private func keep(_ file: PublishedAdminFile) {
        let isTooLate = state.withLock { state in
            if case .withdrawn = state { return true }
            state = .published(file)
            return false
        }
        if isTooLate { file.withdraw() }
    }

    /// Removes the file and stops retrying. Idempotent.
    func withdraw() {
        let last = state.withLock { state in
            defer { state = .withdrawn }
            return state
        }
        switch last {
        case .trying(let task): task.cancel()
        case .published(let file): file.withdraw()
        case .new, .withdrawn: break
        }
    }

    /// Whether the error may pass: no room, or a disk mounted read-only.
    private static func mayPass(_ error: PrivateFileError) -> Bool {
        guard case .system(let code) = error.code else { return false }
        return [ENOSPC, EDQUOT, EROFS].contains(code)
    }
}
