import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreLocks

/// Work on a backup in the background, once at a time, with its progress and outcome.
final class BackupWork: Sendable {
    typealias Body = @Sendable (BackupControl) async throws -> AdminMessages.Backup

    private struct Job: Sendable {
        var path: String
        var control = BackupControl()
        var result: Result<AdminMessages.Backup, BackupFault>?
    }

    private let job = Locked<Job?>(nil)

    /// Begins work and returns at once.
    /// - Throws: `busy` if such work is under way.
    func start(_ path: String, or busy: ServerError, _ body: @escaping Body) throws(ServerError) -> AdminMessages.BackupStatus {
        guard let control = begin(path) else { throw busy }
        Task { _ = try? await self.finish(path, control, body) }
        return status
    }

    /// Does work and waits for it.
    /// - Throws: `BackupFault`.
    func run(_ path: String, _ body: Body) async throws -> AdminMessages.Backup {
        guard let control = begin(path) else { throw BackupFault(StoreError(.inUse, "A backup is under way")) }
        return try await finish(path, control, body)
    }

    /// The control of new work; nil while other work is under way.
    private func begin(_ path: String) -> BackupControl? {
        job.withLock { job in
            if let job, job.result == nil { return nil }
            let begun = Job(path: path)
            job = begun
            return begun.control
        }
    }

    private func finish(_ path: String, _ control: BackupControl, _ body: Body) async throws -> AdminMessages.Backup {
        let result: Result<AdminMessages.Backup, BackupFault>
        do {
            result = .success(try await body(control))
        } catch {
            result = .failure(BackupFault(error, file: path))
        }
        job.withLock { job in
            // Set before the return, so that a caller that cancels this work can begin other work at once.
            if job?.control === control { job?.result = result }
        }
        return try result.get()
    }

    /// The progress of the work under way, or the outcome of the last one.
    var status: AdminMessages.BackupStatus {
        guard let job = job.withLock({ $0 }) else { return AdminMessages.BackupStatus(state: .none) }
        let progress = job.control.progress
        var status = AdminMessages.BackupStatus(
            state: .running, path: job.path, phase: progress.phase.rawValue, bytes: progress.bytes, bytesInAll: progress.bytesInAll)
        switch job.result {
        case nil: break
        case .success(let backup):
            status.state = .done
            status.backup = backup
        case .failure(let fault):
            status.state = .failed
            status.problem = fault.text
            status.remedy = fault.remedy
        }
        return status
    }

    /// Cancels the work under way.
    func cancel() {
        job.withLock { $0 }?.control.cancel()
    }
}
