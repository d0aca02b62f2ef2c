extension FieldValue {
    /// A list with each of its elements once, in its order; any other value as it is. Texts are compared byte for
    /// byte, and references by their record names alone.
    package var withoutRepetitions: FieldValue {
        switch self {
        case .stringList(let values): .stringList(values.distinct { Array($0.utf8) })
        case .int64List(let values): .int64List(values.distinct { $0 })
        case .doubleList(let values): .doubleList(values.distinct { $0 })
        case .timestampList(let values): .timestampList(values.distinct { $0 })
        case .bytesList(let values): .bytesList(values.distinct { $0 })
        case .locationList(let values): .locationList(values.distinct { $0 })
        case .referenceList(let values): .referenceList(values.distinct { Array($0.recordName.utf8) })
        case .assetList, .emptyList, .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset, .sealed: self
        }
    }
}

extension Array {
    fileprivate func distinct<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}
