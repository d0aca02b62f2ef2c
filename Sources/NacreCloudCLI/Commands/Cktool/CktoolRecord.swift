import Foundation
import NacreCloudWire

/// A record as cktool prints it.
struct CktoolRecord: Encodable {
    struct Stamp: Encodable {
        var timestamp: CktoolMoment
        var userRecordName: String
    }

    var recordName: String
    var recordType: String
    var recordChangeTag: String
    var created: Stamp
    var modified: Stamp
    var fields: [String: CktoolField]

    init(_ record: Record) {
        recordName = record.recordName
        recordType = record.recordType
        recordChangeTag = record.recordChangeTag
        created = Stamp(timestamp: CktoolMoment(record.created.timestamp), userRecordName: record.created.userRecordName)
        modified = Stamp(timestamp: CktoolMoment(record.modified.timestamp), userRecordName: record.modified.userRecordName)
        fields = Dictionary(record.fields.entries.map { ($0.name, CktoolField($0.value)) }, uniquingKeysWith: { first, _ in first })
    }

    /// The output of `query-records`.
    struct Page: Encodable {
        var records: [CktoolRecord]
        var continuationToken: String?
    }

    /// Reads the fields of a new record.
    /// - Throws: `CommandFailure` that names the field at fault.
    static func fields(from json: String) throws -> [String: CktoolNewField] {
        do {
            return try JSONDecoder().decode([String: CktoolNewField].self, from: Data(json.utf8))
        } catch let error as DecodingError {
            throw CommandFailure(
                .usage, "the fields do not read: \(words(error))", remedy: #"Write {"title": {"type": "stringType", "value": "Olives"}}."#)
        }
    }

    private static func words(_ error: DecodingError) -> String {
        let (context, missing): (DecodingError.Context, String?) =
            switch error {
            case .keyNotFound(let key, let context): (context, key.stringValue)
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): (context, nil)
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: "\(error)"), nil)
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        let what = missing.map { "'\($0)' is missing" } ?? context.debugDescription
        return path.isEmpty ? what : "\(path): \(what)"
    }
}
