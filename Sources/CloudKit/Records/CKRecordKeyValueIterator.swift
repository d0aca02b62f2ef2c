/// Iterates over the fields that a record had when the iterator was made. Apple: iOS 8.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    /// A key and its value.
    public typealias Element = (CKRecord.FieldKey, any CKRecordValueProtocol)

    private var rest: ArraySlice<CKRecord.FieldKey>
    private let state: RecordState

    init(_ state: RecordState) {
        self.state = state
        rest = state.readableKeys[...]
    }

    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        while let key = rest.popFirst() {
            if let value = gettable(state.object(forKey: key)) as? any CKRecordValueProtocol { return (key, value) }
        }
        return nil
    }
}

@available(*, unavailable)
extension CKRecordKeyValueIterator: Sendable {}

extension CKRecord: Sequence {
    /// Returns an iterator over the fields and their values, in the order of the keys' bytes.
    public func makeIterator() -> CKRecordKeyValueIterator {
        CKRecordKeyValueIterator(snapshot)
    }
}
