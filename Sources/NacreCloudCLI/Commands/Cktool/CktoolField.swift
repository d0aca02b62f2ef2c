import Foundation
import NacreCloudWire

/// A field's value in cktool's JSON: `{"type": "stringType", "value": "x"}`.
struct CktoolField: Codable {
    let value: FieldValue

    private enum Key: String, CodingKey {
        case type
        case value
    }

    init(_ value: FieldValue) {
        self.value = value
    }

    /// Reads the value alone, of a type that is known. nil where it is not of it.
    init?(json: String, type: FieldType) {
        let text = #"{"type":"\#(Self.name(of: type))","value":\#(json)}"#
        guard let field = try? JSONDecoder().decode(CktoolField.self, from: Data(text.utf8)) else { return nil }
        self = field
    }

    static func name(of type: FieldType) -> String {
        switch type {
        case .string: "stringType"
        case .int64: "int64Type"
        case .double: "doubleType"
        case .timestamp: "timestampType"
        case .bytes: "bytesType"
        case .location: "locationType"
        case .reference: "referenceType"
        case .asset: "assetType"
        case .stringList: "stringListType"
        case .int64List: "int64ListType"
        case .doubleList: "doubleListType"
        case .timestampList: "timestampListType"
        case .bytesList: "bytesListType"
        case .locationList: "locationListType"
        case .referenceList: "referenceListType"
        case .assetList: "assetListType"
        case .unknownList: "emptyListType"
        }
    }

    static func type(named name: String) -> FieldType? {
        FieldType.allCases.first { self.name(of: $0) == name }
    }

    init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        let name = try keys.decode(String.self, forKey: .type)
        func refusal(_ text: String) -> DecodingError { .dataCorruptedError(forKey: .type, in: keys, debugDescription: text) }
        func read<Value: Decodable>(_: Value.Type) throws -> Value { try keys.decode(Value.self, forKey: .value) }
        guard let type = Self.type(named: name) else {
            throw refusal(
                name.hasPrefix("encrypted")
                    ? "\(name) is written by the framework alone, which holds the key"
                    : "\(name) is no type of cktool: take \(FieldType.allCases.map(Self.name(of:)).joined(separator: ", "))")
        }
        value =
            switch type {
            case .string: .string(try read(String.self))
            case .int64: .int64(try read(Int64.self))
            case .double: .double(try read(Double.self))
            case .timestamp: .timestamp(try read(CktoolMoment.self).timestamp)
            case .bytes: .bytes([UInt8](try read(Data.self)))
            case .location: .location(try read(CktoolPlace.self).location)
            case .reference: .reference(try read(CktoolLink.self).reference)
            case .stringList: .stringList(try read([String].self))
            case .int64List: .int64List(try read([Int64].self))
            case .doubleList: .doubleList(try read([Double].self))
            case .timestampList: .timestampList(try read([CktoolMoment].self).map(\.timestamp))
            case .bytesList: .bytesList(try read([Data].self).map { [UInt8]($0) })
            case .locationList: .locationList(try read([CktoolPlace].self).map(\.location))
            case .referenceList: .referenceList(try read([CktoolLink].self).map(\.reference))
            case .unknownList: .emptyList
            case .asset, .assetList: throw refusal("cktool does not send files")
            }
    }

    func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        let name = Self.name(of: value.type)
        // Nobody but the framework can read it: the value stays out.
        if case .sealed = value { return try keys.encode("encrypted" + name.prefix(1).uppercased() + name.dropFirst(), forKey: .type) }
        try keys.encode(name, forKey: .type)
        switch value {
        case .string(let value): try keys.encode(value, forKey: .value)
        case .int64(let value): try keys.encode(value, forKey: .value)
        case .double(let value): try keys.encode(value, forKey: .value)
        case .timestamp(let value): try keys.encode(CktoolMoment(value), forKey: .value)
        case .bytes(let value): try keys.encode(Data(value), forKey: .value)
        case .location(let value): try keys.encode(CktoolPlace(value), forKey: .value)
        case .reference(let value): try keys.encode(CktoolLink(value), forKey: .value)
        case .stringList(let values): try keys.encode(values, forKey: .value)
        case .int64List(let values): try keys.encode(values, forKey: .value)
        case .doubleList(let values): try keys.encode(values, forKey: .value)
        case .timestampList(let values): try keys.encode(values.map(CktoolMoment.init), forKey: .value)
        case .bytesList(let values): try keys.encode(values.map { Data($0) }, forKey: .value)
        case .locationList(let values): try keys.encode(values.map(CktoolPlace.init), forKey: .value)
        case .referenceList(let values): try keys.encode(values.map(CktoolLink.init), forKey: .value)
        case .emptyList: try keys.encode([String](), forKey: .value)
        case .asset, .assetList, .sealed: break
        }
    }
}

/// A moment: `2024-02-29T12:30:00Z`, or a day or a minute of the machine's time zone.
struct CktoolMoment: Codable {
    let timestamp: Timestamp

    init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    /// nil for a text of another form.
    init?(_ text: String) {
        let exact = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: exact)) ?? Self.local(text) else { return nil }
        timestamp = Timestamp(secondsSince2001: date.timeIntervalSinceReferenceDate)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let moment = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a moment is 2024-02-29T12:30:00Z, 2024-02-29 or 2024-02-29 12:30")
        }
        self = moment
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let date = Date(timeIntervalSinceReferenceDate: timestamp.secondsSince2001)
        try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    /// `yyyy-MM-dd`, or that with ` HH:mm`.
    private static func local(_ text: String) -> Date? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d{2})-(\d{2})(?: (\d{2}):(\d{2}))?/) else { return nil }
        let (_, year, month, day, hour, minute) = match.output
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (Int(year), Int(month), Int(day))
        (parts.hour, parts.minute) = (hour.flatMap { Int($0) } ?? 0, minute.flatMap { Int($0) } ?? 0)
        let calendar = Calendar(identifier: .gregorian)
        return parts.isValidDate(in: calendar) ? calendar.date(from: parts) : nil
    }
}

private struct CktoolPlace: Codable {
    var latitude: Double
    var longitude: Double

    init(_ location: Location) {
        (latitude, longitude) = (location.latitude, location.longitude)
    }

    var location: Location { Location(latitude: latitude, longitude: longitude) }
}

private struct CktoolLink: Codable {
    var recordName: String
    var action: String?

    init(_ reference: Reference) {
        (recordName, action) = (reference.recordName, reference.action.rawValue)
    }

    var reference: Reference {
        Reference(recordName: recordName, action: action.flatMap(Reference.Action.init(rawValue:)) ?? .none)
    }
}
