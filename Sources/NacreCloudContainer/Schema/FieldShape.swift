package import NacreCloudWire

/// The values that a field takes: one type, plain or encrypted. A field keeps its shape for ever.
package struct FieldShape: Hashable, Sendable {
    package var type: FieldType
    package var isEncrypted: Bool

    package init(_ type: FieldType, isEncrypted: Bool = false) {
        self.type = type
        self.isEncrypted = isEncrypted
    }

    /// Takes the shape of a new field from its first value; nil for an empty list, which does not tell its type.
    package init?(of value: FieldValue) {
        if value.type == .unknownList { return nil }
        if case .sealed = value { self.init(value.type, isEncrypted: true) } else { self.init(value.type) }
    }

    /// The shape as CloudKit's error texts write it.
    package var name: String { isEncrypted ? "ENCRYPTED_\(type.rawValue)" : type.rawValue }
}

extension FieldDefinition {
    package var shape: FieldShape { FieldShape(type, isEncrypted: isEncrypted) }
}

extension FieldValue {
    /// Returns the value in this shape, nil if it has another shape.
    ///
    /// A number of the framework does not tell whether it is an integer, and an empty list does not tell its type: the
    /// schema decides both.
    func fitted(to shape: FieldShape) -> FieldValue? {
        if case .sealed(let value) = self { return shape.isEncrypted && value.type == shape.type ? self : nil }
        if shape.isEncrypted { return nil }
        if type == shape.type { return self }
        switch (self, shape.type) {
        case (.int64(let value), .double): return .double(Double(value))
        case (.double(let value), .int64): return Int64(exactly: value).map(FieldValue.int64)
        case (.int64List(let values), .doubleList): return .doubleList(values.map(Double.init))
        case (.doubleList(let values), .int64List):
            let whole = values.compactMap { Int64(exactly: $0) }
            return whole.count == values.count ? .int64List(whole) : nil
        case (.emptyList, let type): return FieldValue(emptyListOf: type)
        default: return nil
        }
    }

    private init?(emptyListOf type: FieldType) {
        switch type {
        case .stringList: self = .stringList([])
        case .int64List: self = .int64List([])
        case .doubleList: self = .doubleList([])
        case .timestampList: self = .timestampList([])
        case .bytesList: self = .bytesList([])
        case .locationList: self = .locationList([])
        case .referenceList: self = .referenceList([])
        case .assetList: self = .assetList([])
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset, .unknownList: return nil
        }
    }
}
