extension FieldValue {
    /// Whether all numbers in the value are finite: neither NaN nor infinite.
    package var hasFiniteNumbers: Bool {
        switch self {
        case .double(let value): value.isFinite
        case .doubleList(let values): values.allSatisfy(\.isFinite)
        case .timestamp(let value): value.secondsSince2001.isFinite
        case .timestampList(let values): values.allSatisfy(\.secondsSince2001.isFinite)
        case .location(let value): value.hasFiniteNumbers
        case .locationList(let values): values.allSatisfy(\.hasFiniteNumbers)
        case .string, .int64, .bytes, .reference, .asset, .stringList, .int64List, .bytesList, .referenceList, .assetList, .emptyList, .sealed:
            true
        }
    }
}

extension Location {
    fileprivate var hasFiniteNumbers: Bool {
        let optional = [horizontalAccuracy, verticalAccuracy, altitude, speed, course, timestamp?.secondsSince2001]
        return latitude.isFinite && longitude.isFinite && optional.allSatisfy { $0?.isFinite ?? true }
    }
}
