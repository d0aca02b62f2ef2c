import Foundation
import NacreLocks

/// The long-lived operations of this user: a folder for each in `$XDG_STATE_HOME/nacre/operations`, otherwise under
/// `~/.local/state`.
///
/// An app keeps an operation here before its first request, and runs it. The agent takes over when the app has died and
/// released its lock. See docs/decisions/operations.md.
package final class LongLivedOperations: Sendable {
    /// The most operations that are kept at a time. Own choice: a user's apps have fewer under way.
    static let operationsMax = 1000
    /// Seconds for which an ended operation is kept for its app. Source: CloudKit, 24 hours.
    static let endedSeconds = 24 * 3600.0
    /// Seconds after which an operation that has not ended is removed. By then no server's log of operations has its
    /// changes. On this server: 8 days.
    static let unendedSeconds = 8 * 24 * 3600.0
    /// Seconds between two tries to take a lock.
    static let lockPause = 0.1

    static let ended = "ended"

    static let ambient = LongLivedOperations(environment: ProcessInfo.processInfo.environment)

    package let folder: String
    private let agent: AgentProgram
    let now: @Sendable () -> Date
    private let hasSaid = Locked(false)

    /// - Parameters:
    ///   - agent: the executable that finishes operations of ended apps.
    ///   - now: the current time, by the clock of the file system.
    init(folder: String, agent: AgentProgram, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.agent = agent
        self.now = now
    }

    /// Uses the folder under `XDG_STATE_HOME`, which must be absolute to count, otherwise under `~/.local/state`.
    package convenience init(environment variables: [String: String]) {
        let state = variables["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.init(
            folder: (state ?? (variables["HOME"] ?? NSHomeDirectory()) + "/.local/state") + "/nacre", agent: AgentProgram(environment: variables))
    }

    private var operations: String { folder + "/operations" }

    package var agentLock: String { folder + "/agent.lock" }

    // MARK: Keeping

    /// Stores an operation on the disk, before anything of it is sent. Blocks the thread.
    ///
    /// - Returns: the hold of this process, which runs the operation.
    func keep(_ kept: KeptOperation) throws(CKError) -> HeldOperation {
        try prepare()
        guard ids().count < Self.operationsMax else { throw .stateNotKept(EDQUOT) }
        // The draft has a hidden name until it is complete and locked.
        let draft = OperationFolder("\(operations)/.\(kept.operationID)")
        let place = OperationFolder("\(operations)/\(kept.operationID)")
        do throws(CKError) {
            try Self.make(draft.path)
            try Self.make(draft.files)
            let journal = try KeptFile(making: draft.journal)
            let request = try KeptFile(making: draft.request)
            guard let bytes = try? PropertyListEncoder().encode(kept), journal.lock(), request.lock() else { throw .stateNotKept(EIO) }
            try request.write([UInt8](bytes), at: 0)
            try request.sync()
            try KeptFile.sync(folder: draft.path)
            guard rename(draft.path, place.path) == 0 else { throw .stateNotKept(errno) }
            try KeptFile.sync(folder: operations)
            return HeldOperation(
                folder: place, request: request,
                journal: OperationJournal(journal, operationID: kept.operationID, files: place.files, began: kept.began, takenOverAfter: nil))
        } catch {
            draft.remove()
            place.remove()
            throw error
        }
    }

    private func prepare() throws(CKError) {
        for path in [folder, operations] where mkdirs(path) { _ = chmod(path, 0o700) }
        guard access(operations, W_OK | X_OK) == 0 else { throw .stateNotKept(errno) }
    }

    private func mkdirs(_ path: String) -> Bool {
        (try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])) != nil
    }

    private static func make(_ path: String) throws(CKError) {
        guard mkdir(path, 0o700) == 0 else { throw .stateNotKept(errno) }
    }

    /// Starts an agent if none runs, and blocks until it runs. Returns the reason if that fails.
    func startAgent() -> String? {
        if let lock = try? KeptFile(agentLock), lock.isLocked { return nil }
        return agent.start()
    }

    /// Logs once the reason why operations end with their process.
    func say(_ reason: String, by log: (String) -> Void) {
        let isFirst = hasSaid.withLock { hasSaid in
            defer { hasSaid = true }
            return !hasSaid
        }
        if isFirst { log("notice: CloudKit: long-lived operations run in this process, and end with it: \(reason)") }
    }

    /// Takes the lock of the only agent; nil if another process has it.
    func lockAgent() throws(CKError) -> KeptFile? {
        try prepare()
        let file = try KeptFile(making: agentLock, mayBeThere: true)
        return file.lock() ? file : nil
    }

    // MARK: Finding

    private func ids() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: operations)) ?? []
        return names.filter { !$0.hasPrefix(".") }
    }

    /// Returns all kept operations, in the order in which they were added.
    func all() -> [(folder: OperationFolder, kept: KeptOperation)] {
        ids().compactMap { id in
            let folder = OperationFolder("\(operations)/\(id)")
            return folder.read().map { (folder, $0) }
        }.sorted { ($0.1.began, $0.1.operationID) < ($1.1.began, $1.1.operationID) }
    }

    /// Returns a kept operation; nil if it is not kept, or not any more.
    func find(_ operationID: String) -> (folder: OperationFolder, kept: KeptOperation)? {
        guard UUID(uuidString: operationID) != nil else { return nil }
        let folder = OperationFolder("\(operations)/\(operationID)")
        return folder.read().map { (folder, $0) }
    }

    /// Removes expired operations, unreadable folders, and drafts of killed processes.
    func sweep() {
        let time = now()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: operations)) ?? [] {
            let folder = OperationFolder("\(operations)/\(name)")
            let kept = name.hasPrefix(".") ? nil : folder.read()
            guard time.timeIntervalSince(kept?.began ?? folder.made ?? time) > Self.endedSeconds else { continue }
            guard let kept else {
                folder.remove()
                continue
            }
            guard let held = folder.hold(kept, now: time) else { continue }
            let end = try? held.journal.outcome(Self.ended, as: Date.self)?.get()
            if Self.isOver(began: kept.began, ended: end, now: time) { folder.remove() }
            held.release()
        }
    }

    /// Returns whether an operation that no process runs has been kept long enough.
    static func isOver(began: Date, ended: Date?, now: Date) -> Bool {
        if let ended { return now.timeIntervalSince(ended) > endedSeconds }
        return now.timeIntervalSince(began) > unendedSeconds
    }
}

/// The folder of one long-lived operation.
struct OperationFolder: Hashable, Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// The file with the operation's request. The app locks it from when it wants the operation until the app ends.
    var request: String { path + "/operation" }
    /// The file with the results of the operation's steps. The process that runs the operation locks it.
    var journal: String { path + "/journal" }
    var files: String { path + "/files" }

    var made: Date? { (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date }

    func read() -> KeptOperation? {
        FileManager.default.contents(atPath: request).flatMap { try? PropertyListDecoder().decode(KeptOperation.self, from: $0) }
    }

    /// Takes the hold of the only process that runs the operation; nil if another process has it, or if the operation
    /// is gone.
    ///
    /// - Parameter request: the app's own lock, which keeps agents away; nil for an agent.
    func hold(_ kept: KeptOperation, by request: KeptFile? = nil, now: Date) -> HeldOperation? {
        guard let file = try? KeptFile(journal), file.lock(), file.isAt(journal) else { return nil }
        let age = now.timeIntervalSince(kept.began)
        let journal = OperationJournal(
            file, operationID: kept.operationID, files: files, began: kept.began,
            // If the clock was set back, the age of the first request is unknown.
            takenOverAfter: age < 0 ? LongLivedOperations.unendedSeconds : age)
        return HeldOperation(folder: self, request: request, journal: journal)
    }

    /// Whether the operation's app lives and wants it.
    var isWanted: Bool { (try? KeptFile(request))?.isLocked ?? true }

    /// Removes the folder. A process that runs the operation notices that.
    func remove() {
        // The file by which the operation is found is removed first.
        unlink(request)
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A long-lived operation that this process runs. Its locks keep other processes away until it is released.
final class HeldOperation: Sendable {
    let folder: OperationFolder
    let journal: OperationJournal
    /// The app's own lock; nil for an agent.
    private let request: KeptFile?

    init(folder: OperationFolder, request: KeptFile?, journal: OperationJournal) {
        (self.folder, self.request, self.journal) = (folder, request, journal)
    }

    /// Whether the operation's app runs it, not an agent.
    var isApps: Bool { request != nil }

    /// Releases the locks, so that other processes can take the operation.
    func release() {
        journal.release()
        request?.unlock()
    }
}
