import Foundation
import NacreLocks

/// What `nacre agent` does: finishes the long-lived operations of apps that are gone, and keeps what came of them.
///
/// There is one for a user. It ends when there is nothing left to finish; killed at any time, the next one goes on.
package final class LongLivedAgent: Sendable {
    /// What an agent prints once there is one: it, or one from before. Its app waits for it.
    package static let readyText = "ready\n"

    /// Seconds between two looks at what there is. Ours: an app that wants its operation back waits as long.
    private static let lookPause = 0.5
    /// Operations under way at a time; more wait. Ours: as few apps run beside each other.
    private static let runningMax = 8

    private let operations: LongLivedOperations
    private let transport: (any Transport)?
    private let timekeeper: Timekeeper
    private let tell: @Sendable (String) -> Void
    private let state = Locked(State())

    private struct State {
        var running: [OperationFolder: CKDatabaseOperation] = [:]
        /// Those that wait for their app alone, or that this version does not read.
        var left: Set<OperationFolder> = []
    }

    /// - Parameters:
    ///   - transport: nil: the network. Only tests choose it, and the clock.
    ///   - tell: takes a line for each operation that is taken over, given back or ends.
    package init(
        _ operations: LongLivedOperations, transport: (any Transport)? = nil, timekeeper: Timekeeper = .system,
        tell: @escaping @Sendable (String) -> Void
    ) {
        self.operations = operations
        self.transport = transport
        self.timekeeper = timekeeper
        self.tell = tell
    }

    /// Returns when nothing is left to finish.
    ///
    /// - Parameters:
    ///   - pause: waits so many seconds. Only tests choose it.
    ///   - ready: is called when there is an agent: this one, or one from before.
    /// - Returns: whether it was this one.
    package func run(
        pause: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }, ready: () -> Void
    ) async throws -> Bool {
        var hasRun = false
        repeat {
            let lock = try await FileWork.run { [operations] () throws(CKError) in try operations.lockAgent() }
            if !hasRun { ready() }
            guard let lock else { return hasRun }
            hasRun = true
            while await FileWork.run({ self.look() }) { try await pause(Self.lookPause) }
            lock.unlock()
            // An app that found the lock taken relies on this agent: it may have kept an operation after the last look.
        } while await FileWork.run { self.isSomethingOpen() }
        return true
    }

    private func isSomethingOpen() -> Bool {
        let left = state.withLock { $0.left }
        return operations.all().contains { !left.contains($0.folder) }
    }

    /// Takes over what nobody runs, and gives back what its app wants or nobody wants any more.
    /// - Returns: whether there is something that has not ended.
    private func look() -> Bool {
        operations.sweep()
        let all = operations.all()
        let (running, left) = state.withLock { state in
            state.left.formIntersection(all.map(\.folder))
            return (state.running, state.left)
        }
        let there = Set(all.map(\.folder))
        for (folder, operation) in running where !there.contains(folder) || folder.isWanted { operation.cancel() }
        for (folder, kept) in all where running[folder] == nil && !left.contains(folder) {
            guard state.withLock({ $0.running.count }) < Self.runningMax else { break }
            if !folder.isWanted { takeOver(folder, kept) }
        }
        return !running.isEmpty || isSomethingOpen()
    }

    private func takeOver(_ folder: OperationFolder, _ kept: KeptOperation) {
        guard let held = folder.hold(kept, now: operations.now()) else { return }
        let line = ServerLine(
            identifier: kept.container, source: .explicit(kept.settings),
            transport: transport ?? NetworkTransport.trusting(kept.authorityFile), timekeeper: timekeeper, log: { _ in })
        guard held.journal.outcome(LongLivedOperations.ended, as: Date.self) == nil, let operation = kept.operation(on: CKContainer(line: line))
        else {
            state.withLock { _ = $0.left.insert(folder) }
            held.release()
            return
        }
        operation.take(held)
        tell("\(kept.operationID) \(kept.kind): taken over")
        operation.completionBlock = { [self, weak operation] in
            let isOver = operation.map { !$0.isCancelled } ?? false
            if isOver { held.journal.note(LongLivedOperations.ended, .success(operations.now())) }
            held.release()
            tell("\(kept.operationID) \(kept.kind): \(isOver ? "ended" : "given back")")
            state.withLock { state in
                state.running[folder] = nil
                if isOver { state.left.insert(folder) }
            }
        }
        state.withLock { $0.running[folder] = operation }
        operation.start()
    }
}
