import Foundation
import NacreCloudWire

/// `nacre record import`
enum RecordImport {
    private static let file = Argument("file", "The file that nacre record export wrote.")
    private static let files = Option.value("files", "dir", "The folder of the files that the records name.")
    private static let dryRun = Option.flag("dry-run", "Read the file and save nothing: say which lines are no records.")

    static let command = Command(
        "import", "Save the records of a file, and report each line that is refused.",
        discussion: """
            \(UserDatabase.credentials) A record that is there keeps the fields that the file does not name, whoever changed it last; an empty cell of CSV removes \
            the field. Lines that are refused are named by their number with the reason, and the others are saved. A record may come \
            before the one that it refers to. Ends with 1 where a line was refused. Done again, it saves the same.
            """,
        arguments: [file],
        options: [RecordFileOptions.csv, RecordFileOptions.json, files, dryRun] + RecordFileOptions.place
    ) { call in
        let (isCSV, path) = (try RecordFileOptions.isCSV(call), try call.require(file))
        var work = Import(database: try UserDatabase(call), folder: call.value(files), isDryRun: call.has(dryRun))
        // A line whose reference leads to a later line is refused at first; each further pass tries these again.
        var again: Set<Int>?
        repeat {
            let before = again?.count ?? .max
            work.waiting = [:]
            try await pass(path, isCSV: isCSV, only: again, &work)
            again = Set(work.waiting.keys)
            if work.waiting.count >= before { break }
        } while again?.isEmpty == false
        for (line, reason) in work.waiting.sorted(by: { $0.key < $1.key }) { work.refuse(line, reason) }
        Output.message(work.isDryRun ? "\(work.saved) records would be sent." : "Saved \(work.saved) records.")
        if work.refused > 0 { throw CommandFailure(.failure, "\(work.refused) lines were refused") }
    }

    /// - Parameter lines: the lines of rows to save; nil: all.
    private static func pass(_ path: String, isCSV: Bool, only lines: Set<Int>?, _ work: inout Import) async throws {
        var rows = try RowFile(path, hasQuotes: isCSV)
        var columns: RecordColumns?
        while let row = try rows.next() {
            if isCSV, columns == nil {
                do throws(RecordRow.Fault) { columns = try RecordColumns(header: row.text ?? "") } catch {
                    throw CommandFailure(.failure, "\(path): \(error.text)")
                }
                continue
            }
            if let lines, !lines.contains(row.line) { continue }
            guard let text = row.text else {
                work.refuse(row.line, "it is not UTF-8")
                continue
            }
            do {
                let record = if let columns { try columns.row(text) } else { try RecordRow(json: text) }
                try await work.add(record, at: row.line, bytes: text.utf8.count)
            } catch let fault as RecordRow.Fault {
                work.refuse(row.line, fault.text)
            }
            if work.isFull { try await work.send() }
        }
        try await work.send()
    }

    /// An import under way, with the records of its next request.
    private struct Import {
        /// Records of a request, and bytes of their lines, at most.
        private static let (batchCount, batchBytes) = (100, 1 << 20)

        let database: UserDatabase
        let folder: String?
        let isDryRun: Bool
        var saved = 0
        var refused = 0
        /// waiting[line]: why a line was refused that may be saved once others are.
        var waiting: [Int: String] = [:]
        private var batch: [(line: Int, operation: RecordOperation)] = []
        private var bytes = 0

        init(database: UserDatabase, folder: String?, isDryRun: Bool) {
            (self.database, self.folder, self.isDryRun) = (database, folder, isDryRun)
        }

        var isFull: Bool { batch.count >= Self.batchCount || bytes >= Self.batchBytes }

        mutating func refuse(_ line: Int, _ reason: String) {
            refused += 1
            Output.error("line \(line): \(reason)")
        }

        /// Adds a record to the next request, and sends its files.
        /// - Throws: `Fault` where a file is not there or is refused; `CommandFailure` where no server answers.
        mutating func add(_ row: RecordRow, at line: Int, bytes: Int) async throws {
            var (row, assets) = (row, [Asset]()[...])
            var paths: [(field: String, path: String)] = []
            for files in row.files {
                for path in files.paths {
                    guard let folder, FileManager.default.isReadableFile(atPath: "\(folder)/\(path)") else {
                        throw RecordRow.Fault(text: "the file \(path) is not there" + (folder == nil ? ": give --files" : ""))
                    }
                    paths.append((files.field, "\(folder)/\(path)"))
                }
            }
            if isDryRun {
                saved += 1
                return
            }
            do {
                assets = try await database.upload(paths, of: row.name, row.type)[...]
            } catch let failure as CommandFailure where failure.code == .failure {
                throw RecordRow.Fault(text: "a file was not taken: \(failure.message)")
            }
            for files in row.files {
                let sent = Array(assets.prefix(files.paths.count))
                assets = assets.dropFirst(sent.count)
                row.fields[files.field] = files.isList ? .assetList(sent) : sent.first.map(FieldValue.asset)
            }
            let change = RecordChange(
                recordName: row.name, recordType: row.type, set: row.fields, cleared: row.cleared,
                parent: row.parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .keep)
            batch.append((line, RecordOperation(.forceUpdate, change)))
            self.bytes += bytes
        }

        /// Sends the request.
        /// - Throws: `CommandFailure` where no server answers, or the user may not ask it.
        mutating func send() async throws {
            defer { (batch, bytes) = ([], 0) }
            if batch.isEmpty { return }
            do {
                take(try await modify(batch), of: batch)
            } catch let failure as CommandFailure where failure.code == .failure {
                // The request as a whole was refused: its records are sent one by one.
                for item in batch {
                    do {
                        take(try await modify([item]), of: [item])
                    } catch let failure as CommandFailure where failure.code == .failure {
                        refuse(item.line, failure.message)
                    }
                }
            }
        }

        private func modify(_ items: [(line: Int, operation: RecordOperation)]) async throws -> [RecordResult] {
            let request = RecordsModifyRequest(operations: items.map(\.operation), zoneID: database.zoneID, atomic: false)
            let results = try await database.ask(RecordsResponse.self, "records/modify", request).records
            guard results.count == items.count else { throw CommandFailure(.unreachable, "the server did not say what became of each record") }
            return results
        }

        private mutating func take(_ results: [RecordResult], of items: [(line: Int, operation: RecordOperation)]) {
            for (item, result) in zip(items, results) {
                switch result {
                case .record, .deleted: saved += 1
                case .failure(_, let error) where error.code == .validatingReferenceError: waiting[item.line] = error.reason
                case .failure(_, let error): refuse(item.line, error.reason + (error.field.map { " (\($0))" } ?? ""))
                }
            }
        }
    }
}
