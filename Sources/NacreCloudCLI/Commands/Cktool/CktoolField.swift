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

    /// Reads a value alone, of a known type; nil where it does not have that type.
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
            case .location: .location(try read(CktoolLocation.self).location)
            case .reference: .reference(try read(CktoolLink.self).reference)
            case .stringList: .stringList(try read([String].self))
            case .int64List: .int64List(try read([Int64].self))
            case .doubleList: .doubleList(try read([Double].self))
            case .timestampList: .timestampList(try read([CktoolMoment].self).map(\.timestamp))
            case .bytesList: .bytesList(try read([Data].self).map { [UInt8]($0) })
            case .locationList: .locationList(try read([CktoolLocation].self).map(\.location))
            case .referenceList: .referenceList(try read([CktoolLink].self).map(\.reference))
            case .unknownList: .emptyList
            case .asset, .assetList: throw refusal("\(name) stands for a file, and nothing is compared with one")
            }
    }

    func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: Key.self)
        let name = Self.name(of: value.type)
        // Only the framework can decrypt it: the value stays out.
        if case .sealed = value { return try keys.encode("encrypted" + name.prefix(1).uppercased() + name.dropFirst(), forKey: .type) }
        try keys.encode(name, forKey: .type)
        switch value {
        case .string(let value): try keys.encode(value, forKey: .value)
        case .int64(let value): try keys.encode(value, forKey: .value)
        case .double(let value): try keys.encode(value, forKey: .value)
        case .timestamp(let value): try keys.encode(CktoolMoment(value), forKey: .value)
        case .bytes(let value): try keys.encode(Data(value), forKey: .value)
        case .location(let value): try keys.encode(CktoolLocation(value), forKey: .value)
        case .reference(let value): try keys.encode(CktoolLink(value), forKey: .value)
        case .stringList(let values): try keys.encode(values, forKey: .value)
        case .int64List(let values): try keys.encode(values, forKey: .value)
        case .doubleList(let values): try keys.encode(values, forKey: .value)
        case .timestampList(let values): try keys.encode(values.map(CktoolMoment.init), forKey: .value)
        case .bytesList(let values): try keys.encode(values.map { Data($0) }, forKey: .value)
        case .locationList(let values): try keys.encode(values.map(CktoolLocation.init), forKey: .value)
        case .referenceList(let values): try keys.encode(values.map(CktoolLink.init), forKey: .value)
        case .emptyList: try keys.encode([String](), forKey: .value)
        case .asset(let value): try keys.encode(CktoolFile(value), forKey: .value)
        case .assetList(let values): try keys.encode(values.map(CktoolFile.init), forKey: .value)
        case .sealed: break
        }
    }
}

/// A field of a new record: its value, or the keys of `--asset-files` that name its files.
enum CktoolNewField: Decodable {
    case value(FieldValue)
    case file(String)
    case files([String])

    private enum Key: String, CodingKey {
        case type
        case value
    }

    init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: Key.self)
        self =
            switch CktoolField.type(named: try keys.decode(String.self, forKey: .type)) {
            case .asset: .file(try keys.decode(String.self, forKey: .value))
            case .assetList: .files(try keys.decode([String].self, forKey: .value))
            default: .value(try CktoolField(from: decoder).value)
            }
    }
}

/// A time as cktool reads it: `2024-02-29T12:30:00Z`, or a day, a minute or a second in the machine's time zone.
struct CktoolMoment: Codable {
    let timestamp: Timestamp

    init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    /// Reads a time; nil for a text of another form.
    init?(_ text: String) {
        let exact = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let plain = (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: exact))
        guard let date = plain ?? Self.local(text) ?? Self.localized(text) else { return nil }
        timestamp = Timestamp(secondsSince2001: date.timeIntervalSinceReferenceDate)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let moment = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription:
                    "a moment is 2024-02-29T12:30:00Z, 2024-02-29, 2024-02-29 12:30:00, or a date as the locale of LC_TIME or LANG has it")
        }
        self = moment
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let date = Date(timeIntervalSinceReferenceDate: timestamp.secondsSince2001)
        try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    /// Reads a numeric day in the machine's locale, alone or with a 24-hour or 12-hour time: `2/29/2024`, `2/29/2024,
    /// 14:30`, `2/29/2024, 2:30 PM`.
    ///
    /// Foundation ignores a shell's locale variables here, so they are read here. Without one that names a locale the
    /// result is nil: day and month would be a guess.
    private static func localized(_ text: String) -> Date? {
        let named = ["LC_ALL", "LC_TIME", "LANG"].lazy.compactMap(CktoolTokens.variable).first.map { String($0.prefix { $0 != "." && $0 != "@" }) }
        guard let named, !["C", "POSIX"].contains(named) else { return nil }
        for template in ["yMd", "yMdHm", "yMdhm"] {
            let format = DateFormatter()
            format.calendar = Calendar(identifier: .gregorian)
            format.locale = Locale(identifier: named)
            format.isLenient = false
            format.setLocalizedDateFormatFromTemplate(template)
            // A locale may use other blanks than a keyboard does, and a comma that people leave out.
            for pattern in [format.dateFormat ?? "", (format.dateFormat ?? "").replacing(",", with: "")] {
                format.dateFormat = String(pattern.map { $0.isWhitespace ? " " : $0 })
                if let date = format.date(from: text) { return date }
            }
        }
        return nil
    }

    /// Reads `yyyy-MM-dd`, or that with ` HH:mm` or ` HH:mm:ss`.
    private static func local(_ text: String) -> Date? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d{2})-(\d{2})(?: (\d{2}):(\d{2})(?::(\d{2}))?)?/) else { return nil }
        let (_, year, month, day, hour, minute, second) = match.output
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (Int(year), Int(month), Int(day))
        (parts.hour, parts.minute) = (hour.flatMap { Int($0) } ?? 0, minute.flatMap { Int($0) } ?? 0)
        parts.second = second.flatMap { $0 }.flatMap { Int($0) } ?? 0
        let calendar = Calendar(identifier: .gregorian)
        return parts.isValidDate(in: calendar) ? calendar.date(from: parts) : nil
    }
}

/// A file as cktool's JSON shows it.
private struct CktoolFile: Encodable {
    var fileChecksum: String
    var size: Int64
    var downloadUrl: String?

    init(_ asset: Asset) {
        (fileChecksum, size, downloadUrl) = (asset.fileChecksum, asset.size, asset.downloadURL)
    }
}

private struct CktoolLocation: Codable {
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
