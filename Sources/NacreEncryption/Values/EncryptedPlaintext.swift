import NacreEncryptionForms

/// A value as it is before it is sealed: the types of `CKRecord` but references and assets. Numbers keep their bits.
package enum EncryptedPlaintext: Hashable, Sendable {
    case string(String)
    case bytes([UInt8])
    case integer(Int64)
    case double(Double)
    /// Seconds since 2001-01-01.
    case date(Double)
    case location(Location)
    case strings([String])
    case byteStrings([[UInt8]])
    case integers([Int64])
    case doubles([Double])
    case dates([Double])
    case locations([Location])
    /// A list without elements whose type is not known.
    case emptyList

    package struct Location: Hashable, Sendable {
        package var latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed: Double
        /// Seconds since 2001-01-01.
        package var timestamp: Double

        package init(
            latitude: Double, longitude: Double, altitude: Double, horizontalAccuracy: Double, verticalAccuracy: Double, course: Double,
            speed: Double, timestamp: Double
        ) {
            (self.latitude, self.longitude, self.altitude) = (latitude, longitude, altitude)
            (self.horizontalAccuracy, self.verticalAccuracy) = (horizontalAccuracy, verticalAccuracy)
            (self.course, self.speed, self.timestamp) = (course, speed, timestamp)
        }
    }
}

extension EncryptedPlaintext {
    private static let listType: UInt8 = 128

    /// The type, the value and the padding.
    package var padded: [UInt8] {
        var bytes: [UInt8] = [type]
        switch self {
        case .string(let value): bytes += value.utf8
        case .bytes(let value): bytes += value
        case .integer(let value): bytes += value.bigEndianBytes
        case .double(let value), .date(let value): bytes += value.bigEndianBytes
        case .location(let value): bytes += value.bytes
        case .strings(let values): Self.append(values, to: &bytes) { Array($0.utf8) }
        case .byteStrings(let values): Self.append(values, to: &bytes) { $0 }
        case .integers(let values): Self.append(values, to: &bytes) { $0.bigEndianBytes }
        case .doubles(let values), .dates(let values): Self.append(values, to: &bytes) { $0.bigEndianBytes }
        case .locations(let values): Self.append(values, to: &bytes) { $0.bytes }
        case .emptyList: break
        }
        Padding.pad(&bytes)
        return bytes
    }

    private var type: UInt8 {
        switch self {
        case .string: 1
        case .bytes: 2
        case .integer: 3
        case .double: 4
        case .date: 5
        case .location: 6
        case .strings: Self.listType + 1
        case .byteStrings: Self.listType + 2
        case .integers: Self.listType + 3
        case .doubles: Self.listType + 4
        case .dates: Self.listType + 5
        case .locations: Self.listType + 6
        case .emptyList: Self.listType
        }
    }

    /// Reads what `padded` writes. Returns nil for any other bytes.
    package init?(padded: [UInt8]) {
        guard let end = Padding.unpaddedCount(padded), end > 0 else { return nil }
        let value = padded[1..<end]
        if padded[0] == Self.listType {
            guard value.isEmpty else { return nil }
            self = .emptyList
        } else if padded[0] > Self.listType {
            self.init(type: padded[0] - Self.listType, list: value)
        } else {
            self.init(type: padded[0], value: value)
        }
    }

    private init?(type: UInt8, value: ArraySlice<UInt8>) {
        let plaintext: EncryptedPlaintext? =
            switch type {
            case 1: String(validating: value, as: UTF8.self).map { .string($0) }
            case 2: .bytes(Array(value))
            case 3: UInt64(bigEndianBytes: value).map { .integer(Int64(bitPattern: $0)) }
            case 4: UInt64(bigEndianBytes: value).map { .double(Double(bitPattern: $0)) }
            case 5: UInt64(bigEndianBytes: value).map { .date(Double(bitPattern: $0)) }
            case 6: Location(bytes: value).map { .location($0) }
            default: nil
            }
        guard let plaintext else { return nil }
        self = plaintext
    }

    private init?(type: UInt8, list: ArraySlice<UInt8>) {
        guard let elements = Self.elements(of: list) else { return nil }
        let plaintext: EncryptedPlaintext? =
            switch type {
            case 1: Self.all(elements) { String(validating: $0, as: UTF8.self) }.map { .strings($0) }
            case 2: .byteStrings(elements.map { Array($0) })
            case 3: Self.all(elements) { UInt64(bigEndianBytes: $0).map { Int64(bitPattern: $0) } }.map { .integers($0) }
            case 4: Self.all(elements) { UInt64(bigEndianBytes: $0).map { Double(bitPattern: $0) } }.map { .doubles($0) }
            case 5: Self.all(elements) { UInt64(bigEndianBytes: $0).map { Double(bitPattern: $0) } }.map { .dates($0) }
            case 6: Self.all(elements) { Location(bytes: $0) }.map { .locations($0) }
            default: nil
            }
        guard let plaintext else { return nil }
        self = plaintext
    }

    private static func all<Value>(_ elements: [ArraySlice<UInt8>], _ read: (ArraySlice<UInt8>) -> Value?) -> [Value]? {
        let values = elements.compactMap(read)
        return values.count == elements.count ? values : nil
    }

    private static func append<Value>(_ values: [Value], to bytes: inout [UInt8], _ write: (Value) -> [UInt8]) {
        bytes += UInt32(clamping: values.count).bigEndianBytes
        for value in values {
            let element = write(value)
            bytes += UInt32(clamping: element.count).bigEndianBytes
            bytes += element
        }
    }

    /// Cuts a list into its elements. Nothing is made for a count that the bytes do not have.
    private static func elements(of list: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        guard let count = UInt32(bigEndianBytes: list.prefix(4)) else { return nil }
        var rest = list.dropFirst(4)
        guard Int(count) <= rest.count / 4 else { return nil }
        var elements: [ArraySlice<UInt8>] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let length = UInt32(bigEndianBytes: rest.prefix(4)), Int(length) <= rest.count - 4 else { return nil }
            elements.append(rest.dropFirst(4).prefix(Int(length)))
            rest = rest.dropFirst(4 + Int(length))
        }
        return rest.isEmpty ? elements : nil
    }
}

extension EncryptedPlaintext.Location {
    fileprivate var bytes: [UInt8] {
        [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, timestamp].flatMap(\.bigEndianBytes)
    }

    fileprivate init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 64 else { return nil }
        let parts = (0..<8).compactMap { UInt64(bigEndianBytes: bytes.dropFirst($0 * 8).prefix(8)).map { Double(bitPattern: $0) } }
        self.init(
            latitude: parts[0], longitude: parts[1], altitude: parts[2], horizontalAccuracy: parts[3], verticalAccuracy: parts[4],
            course: parts[5], speed: parts[6], timestamp: parts[7])
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

    /// Returns nil for another number of bytes than the integer has.
    fileprivate init?(bigEndianBytes bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}

extension Double {
    fileprivate var bigEndianBytes: [UInt8] { bitPattern.bigEndianBytes }
}
