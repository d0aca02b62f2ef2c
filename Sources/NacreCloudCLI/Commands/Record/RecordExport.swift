import Foundation
import NacreCloudWire
import NacreEncryptionForms

/// Options of `nacre record export` and `nacre record import`.
enum RecordFileOptions {
    static let csv = Option.flag("csv", "CSV, with a first line of the fields' names and types.")
    static let json = Option.flag("json", "JSON, a line for each record.")
    static let place = [UserDatabase.container, UserDatabase.environment, UserDatabase.database, UserDatabase.zone, UserDatabase.owner]

    /// Whether the form is CSV.
    /// - Throws: `UsageError` unless one form is given.
    static func isCSV(_ call: Call) throws -> Bool {
        if call.has(csv), call.has(json) { throw UsageError(.exclusive("--csv", "--json"), path: call.path) }
        guard call.has(csv) || call.has(json) else { throw UsageError(.missingOption("--csv or --json"), path: call.path) }
        return call.has(csv)
    }
}

/// `nacre record export`
enum RecordExport {
    private static let fields = Option.value("fields", "name", "Write these fields alone; may be given several times.")
    private static let files = Option.value("files", "dir", "A folder for the files of the records, made if it is not there.")

    static let command = Command(
        "export", "Write all records of a type that pass all filters, for nacre record import.",
        discussion: """
            \(UserDatabase.credentials) A filter is FIELD OPERATOR VALUE, as for nacre query explain. Values have their types, and come back equal. Encrypted values \
            stay where they are, and so do files without --files: what is left out is named at the end, and CSV leaves it out of every record, because \
            an empty cell removes. A text that begins with =, +, - or @ stands in CSV as it is, and a spreadsheet may run it as a formula: open a file with \
            values of other people as text. The records are read page by page, and a change meanwhile may be in it or not.
            """,
        arguments: [RecordCommands.type],
        options: [RecordFileOptions.csv, RecordFileOptions.json, RecordCommands.filter, RecordCommands.sort, fields, files] + RecordFileOptions.place
    ) { call in
        let isCSV = try RecordFileOptions.isCSV(call)
        let query = try RecordCommands.query(of: call)
        var export = Export(database: try UserDatabase(call), folder: call.value(files))
        let keys = call.isGiven(fields) ? call.all(fields) : nil
        if isCSV { try await export.csv(query, keys) } else { try await export.run(query, keys) { try Output.data($0.json) } }
        try export.report()
    }

    /// An export under way.
    private struct Export {
        let database: UserDatabase
        /// The folder of files; nil: files are left out.
        let folder: String?
        var count = 0
        /// The types of the fields that were written.
        var types: [String: FieldType] = [:]
        var sealed: Set<String> = []
        var withoutFiles: Set<String> = []
        /// Fields with files whose names are no names of folders.
        var misnamed: Set<String> = []
        var failures: [(name: String, reason: String)] = []
        /// The fields that some record has and its row has not.
        var leftOut: Set<String> { sealed.union(withoutFiles).union(misnamed) }

        init(database: UserDatabase, folder: String?) {
            (self.database, self.folder) = (database, folder)
        }

        /// Passes each record on, page by page.
        mutating func run(_ query: Query, _ keys: [String]?, _ take: (RecordRow) throws -> Void) async throws {
            var marker: String?
            repeat {
                let page = try await database.ask(
                    RecordsQueryResponse.self, "records/query",
                    RecordsQueryRequest(query: query, zoneID: database.zoneID, continuationMarker: marker, desiredKeys: keys))
                for record in page.records { try take(try await row(of: record)) }
                failures += page.failures.map { ($0.recordName, $0.error.reason) }
                marker = page.continuationMarker
            } while marker != nil
        }

        /// The first line names all fields, which are known at the end: the rows wait in a file of the system's.
        mutating func csv(_ query: Query, _ keys: [String]?) async throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "nacre-export-\(UUID().uuidString)").path
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
                let file = FileHandle(forWritingAtPath: path)
            else { throw CommandFailure(.failure, "\(path) cannot be written") }
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await run(query, keys) { try file.write(contentsOf: Data(($0.json + "\n").utf8)) }
            try file.close()
            let columns = RecordColumns(types, without: leftOut)
            try Output.data(columns.header)
            var rows = try RowFile(path, hasQuotes: false)
            while let row = try rows.next() {
                guard let text = row.text, let record = try? RecordRow(json: text) else { throw CommandFailure(.failure, "\(path) was changed") }
                try Output.data(columns.line(of: record))
            }
        }

        private mutating func row(of record: Record) async throws -> RecordRow {
            count += 1
            var row = RecordRow(name: record.recordName, type: record.recordType, parent: record.parent?.recordName, fields: RecordFields())
            // A manifest lists the fields of encrypted files. One that cannot be read may list any.
            let manifest = record.manifest.map { try? RecordManifest($0) }
            for entry in record.fields.entries {
                let name = entry.name
                switch entry.value {
                case .sealed: sealed.insert(name)
                case .asset, .assetList:
                    if let manifest, manifest?.parts.files.contains(where: { $0.name == name }) ?? true {
                        sealed.insert(name)
                    } else {
                        try await add(entry.value, of: name, to: &row)
                    }
                case .reference(let reference): row.fields[name] = .reference(local(reference))
                case .referenceList(let references): row.fields[name] = .referenceList(references.map(local))
                default: row.fields[name] = entry.value
                }
                // An empty list has no type of its own.
                if let value = row.fields[name], types[name] == nil || value.type != .unknownList { types[name] = value.type }
            }
            return row
        }

        /// A reference into its own zone follows it into any zone.
        private func local(_ reference: Reference) -> Reference {
            var reference = reference
            if reference.zoneID?.zoneName == database.zoneID.zoneName { reference.zoneID = nil }
            return reference
        }

        private mutating func add(_ value: FieldValue, of field: String, to row: inout RecordRow) async throws {
            let (assets, isList): ([Asset], Bool)
            switch value {
            case .asset(let asset): (assets, isList) = ([asset], false)
            case .assetList(let list): (assets, isList) = (list, true)
            default: return
            }
            guard let folder else {
                withoutFiles.insert(field)
                return
            }
            let stem: String
            do {
                stem = try RecordRow.checked("\(field)/\(count)")
            } catch {
                failures.append((row.name, error.text))
                misnamed.insert(field)
                return
            }
            var paths: [String] = []
            try FileManager.default.createDirectory(atPath: "\(folder)/\(field)", withIntermediateDirectories: true)
            for (index, asset) in assets.enumerated() {
                let path = isList ? "\(stem)-\(index)" : stem
                try await database.download(asset, of: row.name, into: "\(folder)/\(path)")
                paths.append(path)
            }
            row.files.append(.init(field: field, paths: paths, isList: isList))
            types[field] = isList ? .assetList : .asset
        }

        /// Prints what was written, and what was left out.
        /// - Throws: `CommandFailure` where the server could not answer records, or a field of one has no name for a
        ///   folder.
        func report() throws {
            Output.message("Exported \(count) records.")
            if !sealed.isEmpty { Output.message("Left out, since they are encrypted: \(sealed.sorted().joined(separator: ", ")).") }
            if !withoutFiles.isEmpty {
                Output.message("Left out, since they are files: \(withoutFiles.sorted().joined(separator: ", ")). Give --files.")
            }
            for failure in failures { Output.error("\(failure.name): \(failure.reason)") }
            if !failures.isEmpty { throw CommandFailure(.failure, "\(failures.count) records or files of theirs could not be exported") }
        }
    }
}
