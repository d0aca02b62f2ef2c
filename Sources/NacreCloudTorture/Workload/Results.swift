import NacreCloudWire

/// The answer to a batch, as a history has it.
struct Results {
    /// The records in the answer, saved or conflicting; `tags` has their tags in the same order.
    private(set) var sights: [History.Sight] = []
    private(set) var tags: [String] = []
    private(set) var failures: [ServerError] = []

    init(_ answer: RecordsResponse, of items: [History.Item]) throws(Violation) {
        for (result, item) in zip(answer.records, items) {
            switch result {
            case .record(let record): try add(record, of: item)
            case .deleted(let tombstone):
                let sight = try RecordForm.sight(tombstone)
                guard sight.record == item.record, item.isDeletion else { throw Self.mismatch(item) }
                sights.append(sight)
                tags.append("")
            case .failure(_, let error):
                failures.append(error)
                if let record = error.serverRecord?.value { try add(record, of: item) }
                if error.code == .notFound { add(deletionOf: item) }
            }
        }
    }

    private mutating func add(_ record: Record, of item: History.Item) throws(Violation) {
        let sight = try RecordForm.sight(record)
        guard sight.record == item.record else { throw Self.mismatch(item) }
        sights.append(sight)
        tags.append(record.recordChangeTag)
    }

    /// Adds that a record is deleted. Names are used once: a record that a batch builds on and that is not there is
    /// deleted.
    private mutating func add(deletionOf item: History.Item) {
        sights.append(History.Sight(item.record, .deleted))
        tags.append("")
    }

    private static func mismatch(_ item: History.Item) -> Violation {
        Violation(.unexpectedAnswer, "what was asked of \(item.record) was answered with something else")
    }

    /// Returns the outcome of a batch, which is atomic.
    ///
    /// Two answers to a retry leave it open. `NOT_FOUND` for every record means either that they were deleted before
    /// the batch, or that it was done and they were deleted since. And the creation of a record may be refused while
    /// the record is there; it is then deleted, and an earlier attempt that comes late creates it again.
    func outcome(isRetry: Bool, of items: [History.Item]) -> History.Outcome {
        guard failures.count == items.count else { return .applied }
        guard isRetry else { return .refused }
        let isOpen = failures.allSatisfy { $0.code == .notFound } || items.contains { $0.before == .absent }
        return isOpen ? .unknown : .refused
    }
}
