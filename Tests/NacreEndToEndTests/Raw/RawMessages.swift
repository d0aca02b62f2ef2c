import Foundation

// Messages of the wire, independent of the server's own codecs, so that mistakes in those show.

/// One value of a record's field, of the three types that these tests write.
enum RawValue: Codable, Hashable, Sendable {
    case text(String)
    case number(Int64)
    case texts([String])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            self = .texts(try container.decode([String].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .texts(let texts): try container.encode(texts)
        }
    }
}

struct RawField: Codable, Hashable, Sendable {
    var value: RawValue
}

struct RawZoneID: Codable, Hashable, Sendable {
    var zoneName: String
}

/// A record of a request or an answer, the remains of one, or the error in its place.
struct RawRecord: Codable, Hashable, Sendable {
    var recordName: String?
    var recordType: String?
    var recordChangeTag: String?
    var fields: [String: RawField]?
    var deleted: Bool?
    var serverErrorCode: String?
    var reason: String?

    func text(_ field: String) -> String? {
        if case .text(let text) = fields?[field]?.value { text } else { nil }
    }

    func number(_ field: String) -> Int64? {
        if case .number(let number) = fields?[field]?.value { number } else { nil }
    }

    func texts(_ field: String) -> [String]? {
        if case .texts(let texts) = fields?[field]?.value { texts } else { nil }
    }
}

struct RawOperation: Codable, Hashable, Sendable {
    var operationType: String
    var record: RawRecord
}

struct RawExtension: Codable, Hashable, Sendable {
    var operationID: String?
    var waitSeconds: Double?
}

struct RawModify: Codable, Sendable {
    var operations: [RawOperation]
    var zoneID: RawZoneID
    var atomic: Bool?
    var nacre: RawExtension?
}

struct RawLookup: Codable, Sendable {
    struct Item: Codable, Sendable {
        var recordName: String
    }

    var records: [Item]
    var zoneID: RawZoneID

    init(_ names: [String], in zone: String) {
        records = names.map(Item.init)
        zoneID = RawZoneID(zoneName: zone)
    }
}

struct RawRecords: Codable, Sendable {
    var records: [RawRecord]
}

/// One zone of a request for changes, and of its answer.
struct RawZoneChanges: Codable, Sendable {
    var zoneID: RawZoneID
    var syncToken: String?
    var resultsLimit: Int?
    var moreComing: Bool?
    var records: [RawRecord]?
    var serverErrorCode: String?
    var reason: String?
}

struct RawZones: Codable, Sendable {
    var zones: [RawZoneChanges]
}

struct RawZoneOperation: Codable, Sendable {
    struct Zone: Codable, Sendable {
        var zoneID: RawZoneID
    }

    var operationType: String
    var zone: Zone

    init(_ type: String, _ name: String) {
        operationType = type
        zone = Zone(zoneID: RawZoneID(zoneName: name))
    }
}

struct RawZonesModify: Codable, Sendable {
    var operations: [RawZoneOperation]
}

struct RawDatabaseChangesRequest: Codable, Sendable {
    var syncToken: String?
    var nacre: RawExtension?
}

struct RawDatabaseChanges: Codable, Sendable {
    var zones: [RawZoneChanges]
    var syncToken: String
    var moreComing: Bool
}

/// The error dictionary of an answer as a whole.
struct RawError: Codable, Error {
    var serverErrorCode: String
    var reason: String?
    var retryAfter: Int?
}
