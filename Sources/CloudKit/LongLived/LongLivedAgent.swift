import Foundation
import NacreLocks

/// Runs as `nacre agent`: finishes the long-lived operations of ended apps, and keeps their results.
///
/// Each user has one agent, which ends when there is nothing left to finish. If it is killed, the next one continues.
package final class LongLivedAgent: Sendable {
    /// The line that an agent prints once an agent is running: itself or an earlier one. Its app waits for it.
    package static let readyText = "ready\n"

    /// Seconds between two looks for work. Own choice: an app that takes its operation back waits as long.
    private static let lookPause = 0.5
    /// Operations that run at a time; more are queued. Own choice: about as many apps run side by side.
    private static let runningMax = 8

    private let operations: LongLivedOperations
    private let transport: (any Transport)?
    private let timekeeper: Timekeeper
    private let tell: @Sendable (String) -> Void
    private let state = Locked(State())

    private struct State {
        var running: [OperationFolder: CKDatabaseOperation] = [:]
        /// Operations that ended and wait for their app, and those that this version cannot decode.
        var left: Set<OperationFolder> = []
    }

    /// - Parameters:
    ///   - transport: nil for the network. Only tests pass a transport or a clock.
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

    /// Runs until nothing is left to finish.
    ///
    /// - Parameters:
    ///   - pause: waits for a number of seconds. Only tests pass it.
    ///   - ready: called when an agent is running: this one or an earlier one.
    /// - Returns: whether this one was the agent.
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
            // An app that found the lock taken relies on this agent, and may have kept an operation after the last
            // look.
        } while await FileWork.run { self.isSomethingOpen() }
        return true
    }

    private func isSomethingOpen() -> Bool {
        let left = state.withLock { $0.left }
        return operations.all().contains { !left.contains($0.folder) }
    }

    /// Takes over operations that no process runs. Gives back those that their app wants, and cancels removed ones.
    /// - Returns: whether there is an operation that has not ended.
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
