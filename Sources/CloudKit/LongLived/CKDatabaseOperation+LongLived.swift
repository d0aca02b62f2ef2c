import Foundation
import NacreLocks

/// The relation of an operation to its folder.
enum Outliving: Sendable {
    /// The operation is not kept, or not yet.
    case no
    /// An app has fetched the operation, which has not begun.
    case found(OperationFolder, KeptOperation)
    /// This process runs the operation.
    case held(HeldOperation)
}

extension CKDatabaseOperation {
    /// Keeps a long-lived operation, or takes over a kept one, before anything of it is sent.
    ///
    /// If it cannot be kept, it runs like any other operation, and the log says that once.
    final func outlive() async throws(CKError) {
        switch outliving.withLock({ $0 }) {
        case .held: return
        case .found(let folder, let kept):
            let held = try await takeBack(folder, kept)
            outliving.withLock { $0 = .held(held) }
        case .no:
            guard resolvedConfiguration.isLongLived == true else { return }
            let line = effectiveDatabase.line
            guard let operations = line.longLived else {
                LongLivedOperations.ambient.say("their container has a transport of its own", by: line.log)
                return
            }
            let began = operations.now()
            guard let kept = KeptOperation(self, began: began, settings: try line.settings()) else {
                operations.say("\(type(of: self)) cannot be handed to an agent", by: line.log)
                return
            }
            switch await FileWork.run({ operations.begin(kept) }) {
            case .success(let held):
                outliving.withLock { $0 = .held(held) }
                report { self.longLivedOperationWasPersistedBlock?() }
            case .failure(let reason): operations.say(reason.text, by: line.log)
            }
        }
    }

    /// Takes an operation back for its app. An agent that runs it gives it back when it next looks for work.
    private func takeBack(_ folder: OperationFolder, _ kept: KeptOperation) async throws(CKError) -> HeldOperation {
        let line = effectiveDatabase.line
        let now = (line.longLived ?? .ambient).now
        let request = try await FileWork.run { () throws(CKError) in try KeptFile.found(folder.request) }
        while true {
            if isCancelled { throw .cancelled }
            let held = try await FileWork.run { () throws(CKError) -> HeldOperation? in
                guard request.isAt(folder.request) else { throw .notKeptAnyMore }
                return request.lock() ? folder.hold(kept, by: request, now: now()) : nil
            }
            if let held { return held }
            guard (try? await line.timekeeper.pause(LongLivedOperations.lockPause)) != nil else { throw .cancelled }
        }
    }

    /// Connects an operation that an app fetched to its folder.
    final func find(_ folder: OperationFolder, _ kept: KeptOperation) {
        set(operationID: kept.operationID)
        outliving.withLock { $0 = .found(folder, kept) }
    }

    /// Connects an operation to its folder for an agent.
    final func take(_ held: HeldOperation) {
        outliving.withLock { $0 = .held(held) }
    }

    /// Removes the operation's folder, because the operation is over for its app.
    final func forget() {
        switch outliving.withLock({ $0 }) {
        case .no: return
        case .found(let folder, _): folder.remove()
        case .held(let held) where held.isApps:
            held.folder.remove()
            held.release()
        case .held: return
        }
    }

    /// The journal of the operation's steps; nil for one that ends with its process.
    final var journal: OperationJournal? {
        if case .held(let held) = outliving.withLock({ $0 }) { held.journal } else { nil }
    }
}

extension LongLivedOperations {
    /// The reason why an operation is not kept.
    struct Refusal: Error {
        var text: String
    }

    /// Keeps an operation and ensures that an agent runs, which can finish it. Blocks meanwhile.
    func begin(_ kept: KeptOperation) -> Result<HeldOperation, Refusal> {
        do throws(CKError) {
            let held = try keep(kept)
            guard let reason = startAgent() else { return .success(held) }
            held.folder.remove()
            held.release()
            return .failure(Refusal(text: reason))
        } catch {
            let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
            return .failure(Refusal(text: "\(folder) cannot take them: \(cause.map { String(cString: strerror(Int32($0.code))) } ?? "\(error)")"))
        }
    }
}

extension KeptFile {
    fileprivate static func found(_ path: String) throws(CKError) -> KeptFile {
        do throws(CKError) {
            return try KeptFile(path)
        } catch {
            throw .notKeptAnyMore
        }
    }
}

extension CKError {
    /// The operation has ended, or was cancelled, since it was fetched.
    static var notKeptAnyMore: CKError { CKError(.unknownItem, text: "The long-lived operation is not kept any more") }
}
