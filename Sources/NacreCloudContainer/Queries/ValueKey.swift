import NacreCloudStorage
package import NacreCloudWire

/// The key for looking up a value. Two values have the same key if `ValueOrder` calls them equal.
package enum ValueKey: Hashable, Sendable {
    case integer(Int64)
    /// A number that equals no integer.
    case double(Double)
    case timestamp(Double)
    case text(ExactText)
    case reference(ExactText)
    case bytes([UInt8])
    case place(GeoPoint)

    /// Makes the key of a value; nil if it equals no value, not even itself.
    package init?(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .text(ExactText(text))
        case .reference(let reference): self = .reference(ExactText(reference.recordName))
        case .bytes(let bytes): self = .bytes(bytes)
        case .int64(let number): self = .integer(number)
        case .double(let number):
            guard !number.isNaN else { return nil }
            self = Int64(exactly: number).map(ValueKey.integer) ?? .double(number)
        case .timestamp(let time):
            guard !time.secondsSince2001.isNaN else { return nil }
            self = .timestamp(time.secondsSince2001)
        case .location(let location): self = .place(GeoPoint(location))
        case .asset, .stringList, .int64List, .doubleList, .timestampList, .bytesList, .locationList, .referenceList, .assetList, .emptyList, .sealed:
            return nil
        }
    }
}

/// A text that equals only a text of the same bytes.
package struct ExactText: Hashable, Sendable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    package var bytes: [UInt8] { Array(text.utf8) }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        ByteOrder.compare(left.text, right.text) == 0
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
