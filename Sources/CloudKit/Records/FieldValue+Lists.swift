import NacreCloudWire

extension FieldValue {
    /// Makes a list of its first element's type. A list of integers and doubles becomes one of doubles.
    init(list values: [FieldValue]) throws(ValueFault.Reason) {
        self = try Self.list(values)
    }

    private static func list(_ values: [FieldValue]) throws(ValueFault.Reason) -> FieldValue {
        guard let first = values.first else { return .emptyList }
        return switch first {
        case .string: .stringList(try every(values) { if case .string(let value) = $0 { value } else { nil } })
        case .int64, .double: try numbers(values)
        case .timestamp: .timestampList(try every(values) { if case .timestamp(let value) = $0 { value } else { nil } })
        case .bytes: .bytesList(try every(values) { if case .bytes(let value) = $0 { value } else { nil } })
        case .location: .locationList(try every(values) { if case .location(let value) = $0 { value } else { nil } })
        case .reference: .referenceList(try every(values) { if case .reference(let value) = $0 { value } else { nil } })
        case .asset: .assetList(try every(values) { if case .asset(let value) = $0 { value } else { nil } })
        default: throw .nestedList
        }
    }

    private static func numbers(_ values: [FieldValue]) throws(ValueFault.Reason) -> FieldValue {
        let integers: [Int64] = values.compactMap { if case .int64(let value) = $0 { value } else { nil } }
        if integers.count == values.count { return .int64List(integers) }
        return .doubleList(
            try every(values) {
                switch $0 {
                case .int64(let value): Double(value)
                case .double(let value): value
                default: nil
                }
            })
    }

    private static func every<Element>(
        _ values: [FieldValue], _ element: (FieldValue) -> Element?
    ) throws(ValueFault.Reason) -> [Element] {
        let elements = values.compactMap(element)
        guard elements.count == values.count else { throw .mixedList }
        return elements
    }
}
