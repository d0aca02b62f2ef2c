import Foundation
import NacreCloudWire

/// A record as `nacre record export` writes it and `nacre record import` reads it.
struct RecordRow: Equatable {
    /// The files of a field, by their paths below the folder of files.
    struct Files: Equatable {
        var field: String
        var paths: [String]
        /// Whether the field is a list of files.
        var isList: Bool
    }

    /// The reason why a line is no record, in a few words.
    struct Fault: Error, Equatable {
        var text: String
    }

    var name: String
    var type: String
    /// The name of the record's parent, which is in the same zone.
    var parent: String?
    /// Its fields but those with files.
    var fields: RecordFields
    var files: [Files] = []
    /// Fields that the record is to lose.
    var cleared: [String] = []

    /// Its line of JSON: the members `recordName`, `recordType` and `parent`, `fields` as CloudKit's web API has them,
    /// and `files`.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.write("recordName", name)
        writer.write("recordType", type)
        writer.write(ifPresent: "parent", parent)
        fields.write(to: &writer, form: ValueForm(details: true, numbersAsStrings: false))
        if !files.isEmpty {
            writer.key("files")
            writer.beginObject()
            for files in files {
                writer.key(files.field)
                if files.isList {
                    writer.array(files.paths) { $0.string($1) }
                } else {
                    writer.string(files.paths.first ?? "")
                }
            }
            writer.endObject()
        }
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    init(name: String, type: String, parent: String? = nil, fields: RecordFields, files: [Files] = [], cleared: [String] = []) {
        (self.name, self.type, self.parent, self.fields, self.files, self.cleared) = (name, type, parent, fields, files, cleared)
    }

    /// Reads a line of JSON.
    init(json: String) throws(Fault) {
        let read = Array(json.utf8).withUnsafeBytes { bytes -> Result<RecordRow, Fault> in
            var reader = JSONReader(bytes)
            do {
                let row = try Self.read(&reader)
                try reader.finish()
                return .success(row)
            } catch let fault as Fault {
                return .failure(fault)
            } catch {
                return .failure(Fault(text: "no record in JSON: \((error as? JSONError)?.problem.text ?? "unreadable")"))
            }
        }
        self = try read.get()
    }

    private static func read(_ reader: inout JSONReader) throws -> RecordRow {
        var (name, type, parent) = (String?.none, String?.none, String?.none)
        var (fields, files) = ([RecordFields.Field](), [Files]())
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": name = try reader.optionalString()
            case "recordType": type = try reader.optionalString()
            case "parent": parent = try reader.optionalString()
            case "fields":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    let field = key.string
                    guard let value = try FieldValue.read(from: &reader) else { continue }
                    fields.append(RecordFields.Field(field, try unsealed(value, of: field)))
                }
            case "files":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    let field = key.string
                    let isList = try reader.kind() == .array
                    let paths = try isList ? reader.optionalNames() ?? [] : [reader.string()]
                    files.append(Files(field: field, paths: try paths.map(checked), isList: isList))
                }
            default: throw Fault(text: "\(key.string) is no member of a record")
            }
        }
        guard let name, let type else { throw Fault(text: "a record has a recordName and a recordType") }
        return RecordRow(name: name, type: type, parent: parent, fields: RecordFields(fields), files: files)
    }

    /// - Throws: `Fault` for a value that is sealed, or stands for a file.
    static func unsealed(_ value: FieldValue, of field: String) throws(Fault) -> FieldValue {
        switch value {
        case .sealed: throw Fault(text: "\(field) is encrypted: only a device with the key can save it")
        case .asset, .assetList: throw Fault(text: "\(field) has a file, which is named by its path")
        default: return value
        }
    }

    /// - Throws: `Fault` for a path that leads out of the folder of files.
    static func checked(_ path: String) throws(Fault) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { ["", ".", ".."].contains($0) }), !path.contains("\0") else {
            throw Fault(text: "\(path) leads out of the folder of files")
        }
        return path
    }
}
