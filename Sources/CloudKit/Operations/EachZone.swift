extension Conversation {
    /// Asks for one zone after the other.
    ///
    /// What the server says of a zone as a whole is the error of its items, and the next zone follows. What would fail every request (no
    /// network, no account) is thrown if no zone has been answered; otherwise it is the error of all items left, and nothing more is sent.
    func eachZone<Batch>(
        _ batches: [Batch], ask: (Batch) async throws(CKError) -> Void, failed: (Batch, CKError) -> Void
    ) async throws(CKError) {
        var isAnswered = false
        var end: CKError?
        for batch in batches {
            if let end {
                failed(batch, end)
                continue
            }
            do throws(CKError) {
                try await ask(batch)
                isAnswered = true
            } catch {
                guard error.code != .operationCancelled else { throw error }
                if error.code.endsOperation {
                    guard isAnswered else { throw error }
                    end = error
                } else {
                    isAnswered = true
                }
                failed(batch, error)
            }
        }
    }
}

extension CKError.Code {
    /// Says something of the app, its account or the way to the server, and not of what was asked for.
    var endsOperation: Bool {
        switch self {
        case .internalError, .networkUnavailable, .networkFailure, .badContainer, .serviceUnavailable, .requestRateLimited, .missingEntitlement,
            .notAuthenticated, .incompatibleVersion, .operationCancelled, .managedAccountRestricted, .serverResponseLost,
            .accountTemporarilyUnavailable:
            true
        default: false
        }
    }
}

extension CKError {
    /// nil when nothing failed. Old completion blocks alone get it.
    static func partial<ItemID: Hashable>(_ text: String, of errors: [ItemID: any Error]) -> CKError? {
        guard !errors.isEmpty else { return nil }
        return .partial(text, Dictionary(uniqueKeysWithValues: errors.map { (AnyHashable($0.key), $0.value) }))
    }
}

extension Result where Failure == any Error {
    var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
    var value: Success? { if case .success(let value) = self { value } else { nil } }
}

extension Result where Success == Void, Failure == any Error {
    init(_ error: CKError?) {
        self = error.map { .failure($0) } ?? .success(())
    }
}
