import Foundation
import NacreLocks

/// The long-lived operations of this user: a folder for each in `$XDG_STATE_HOME/nacre/operations`, else under `~/.local/state`.
///
/// The app that adds an operation keeps it here before its first request, and runs it; the agent takes over what a dead app has let go of.
/// See docs/decisions/the-agent-takes-over-where-a-lock-is-let-go.md.
package final class LongLivedOperations: Sendable {
    /// Operations that are kept at a time. Ours: more are more than one user's apps have on their way.
    static let operationsMax = 1000
    /// Seconds for which an operation that has ended is kept for its app. Source: CloudKit, 24 hours.
    static let endedSeconds = 24 * 3600.0
    /// Seconds after which one that has not ended goes: nobody has run it, and its changes are in no server's log of operations any more. On this server: 8 days.
    static let unendedSeconds = 8 * 24 * 3600.0
    /// Seconds between two looks whether a lock is free.
    static let lockPause = 0.1

    static let ended = "ended"

    static let ambient = LongLivedOperations(environment: ProcessInfo.processInfo.environment)

    package let folder: String
    private let agent: AgentProgram
    let now: @Sendable () -> Date
    private let hasSaid = Locked(false)

    /// - Parameters:
    ///   - agent: what finishes operations of apps that are gone.
    ///   - now: the time as files have it.
    init(folder: String, agent: AgentProgram, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.agent = agent
        self.now = now
    }

    /// Under XDG_STATE_HOME, which must be absolute to count, or else ~/.local/state.
    package convenience init(environment variables: [String: String]) {
        let state = variables["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.init(
            folder: (state ?? (variables["HOME"] ?? NSHomeDirectory()) + "/.local/state") + "/nacre", agent: AgentProgram(environment: variables))
    }

    private var operations: String { folder + "/operations" }

    package var agentLock: String { folder + "/agent.lock" }

    // MARK: Keeping

    /// Keeps an operation, on the disk, before anything of it is sent; blocks while the system does.
    ///
    /// - Returns: the hold of the process that runs it.
    func keep(_ kept: KeptOperation) throws(CKError) -> HeldOperation {
        try prepare()
        guard ids().count < Self.operationsMax else { throw .stateNotKept(EDQUOT) }
        // Under a name that nobody looks at, until it is whole and its locks are taken.
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

    /// Sees to it that there is an agent; nil, or why there is none. Blocks until it runs.
    func startAgent() -> String? {
        if let lock = try? KeptFile(agentLock), lock.isLocked { return nil }
        return agent.start()
    }

    /// Says once why operations end with their process.
    func say(_ reason: String, by log: (String) -> Void) {
        let isFirst = hasSaid.withLock { hasSaid in
            defer { hasSaid = true }
            return !hasSaid
        }
        if isFirst { log("notice: CloudKit: long-lived operations run in this process, and end with it: \(reason)") }
    }

    /// The lock of the one agent; nil while another has it.
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

    /// All that are kept, in the order in which they were.
    func all() -> [(folder: OperationFolder, kept: KeptOperation)] {
        ids().compactMap { id in
            let folder = OperationFolder("\(operations)/\(id)")
            return folder.read().map { (folder, $0) }
        }.sorted { ($0.1.began, $0.1.operationID) < ($1.1.began, $1.1.operationID) }
    }

    /// One of them; nil where it is not kept, or not any more.
    func find(_ operationID: String) -> (folder: OperationFolder, kept: KeptOperation)? {
        guard UUID(uuidString: operationID) != nil else { return nil }
        let folder = OperationFolder("\(operations)/\(operationID)")
        return folder.read().map { (folder, $0) }
    }

    /// Removes what has been kept long enough, what does not read, and what a killed process left half made.
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

    /// Whether an operation that nobody runs has been kept long enough.
    static func isOver(began: Date, ended: Date?, now: Date) -> Bool {
        if let ended { return now.timeIntervalSince(ended) > endedSeconds }
        return now.timeIntervalSince(began) > unendedSeconds
    }
}

/// Where one long-lived operation is kept.
struct OperationFolder: Hashable, Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// What the operation asks for. Its app has the lock as long as it lives, from when it wants the operation.
    var request: String { path + "/operation" }
    /// What its steps came to. Who runs the operation has the lock.
    var journal: String { path + "/journal" }
    var files: String { path + "/files" }

    var made: Date? { (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date }

    func read() -> KeptOperation? {
        FileManager.default.contents(atPath: request).flatMap { try? PropertyListDecoder().decode(KeptOperation.self, from: $0) }
    }

    /// The hold of the one process that runs the operation; nil where another one has it, or where the operation is gone.
    ///
    /// - Parameter request: the app's own lock, which keeps agents away; nil: this is an agent.
    func hold(_ kept: KeptOperation, by request: KeptFile? = nil, now: Date) -> HeldOperation? {
        guard let file = try? KeptFile(journal), file.lock(), file.isAt(journal) else { return nil }
        let age = now.timeIntervalSince(kept.began)
        let journal = OperationJournal(
            file, operationID: kept.operationID, files: files, began: kept.began,
            // A clock that was set back does not say how old the first sending is.
            takenOverAfter: age < 0 ? LongLivedOperations.unendedSeconds : age)
        return HeldOperation(folder: self, request: request, journal: journal)
    }

    /// Whether its app lives and wants it.
    var isWanted: Bool { (try? KeptFile(request))?.isLocked ?? true }

    /// Who runs it finds it gone.
    func remove() {
        // First what it is found by.
        unlink(request)
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A long-lived operation that this process runs: others keep away from it until this is gone.
final class HeldOperation: Sendable {
    let folder: OperationFolder
    let journal: OperationJournal
    /// The app's own lock.
    private let request: KeptFile?

    init(folder: OperationFolder, request: KeptFile?, journal: OperationJournal) {
        (self.folder, self.request, self.journal) = (folder, request, journal)
    }

    /// Whether the operation's app runs it, and not an agent.
    var isApps: Bool { request != nil }

    /// Lets others have it.
    func release() {
        journal.release()
        request?.unlock()
    }
}
