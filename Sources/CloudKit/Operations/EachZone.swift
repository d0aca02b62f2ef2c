extension Conversation {
    /// Makes requests for one zone after the other.
    ///
    /// An error of a zone becomes the error of its items, and the next zone follows. An error that would fail every
    /// request (no network, no account) is thrown if no zone was answered before. Otherwise it becomes the error of all
    /// remaining items, and nothing more is sent.
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
    /// Whether the error concerns the app, its account or the network, and not the content of a request.
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
    /// Returns a `partialFailure` with the items' errors; nil if there are none. Only old completion blocks and
    /// `CKSyncEngine` report it.
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
