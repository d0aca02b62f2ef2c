import Foundation
import NacreCloudServer
import NacreCloudWire

/// A database that is accessed as a user: over the public API, with an account token.
struct CktoolDatabase {
    private let client: PublicClient
    private let token: String
    private let path: String
    let zoneID: ZoneID

    /// Returns the database that the options name.
    /// - Throws: `CommandFailure` 77 where there is no token.
    static func named(by call: Call) async throws -> CktoolDatabase {
        CktoolOptions.noteTeam(call)
        if call.isGiven(CktoolOptions.server), call.isGiven(SharedOptions.data) {
            throw UsageError(.exclusive("--server", "--data"), path: call.path)
        }
        let environment = try CktoolOptions.environment(call)
        guard let token = try CktoolTokens.token(.user, for: call) else {
            throw CommandFailure(
                .authentication, "there is no user token",
                remedy: "Make one with nacre user sign-in --account, and give it as --token, as CLOUDKIT_USER_TOKEN, or to nacre cktool save-token.")
        }
        let url: String
        if let given = call.value(CktoolOptions.server) {
            url = try AdminServer.checked(given, of: CktoolOptions.server, call)
        } else if !call.isGiven(SharedOptions.data), let set = CktoolTokens.variable("CLOUDKIT_SERVER_URL") {
            url = try AdminServer.checked(set, of: CktoolOptions.server, call)
        } else {
            url = try await AdminClient.connect(call).appURL()
        }
        let names = [try call.require(CktoolOptions.containerID), environment, try call.require(CktoolOptions.databaseType)]
        let parts = names.map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: ".-_"))) ?? "" }
        return CktoolDatabase(
            client: PublicClient(url: url), token: token, path: "/database/1/\(parts.joined(separator: "/"))/",
            zoneID: ZoneID(zoneName: try call.require(CktoolOptions.zoneName)))
    }

    func query(_ request: RecordsQueryRequest) async throws -> RecordsQueryResponse {
        try await client.ask(RecordsQueryResponse.self, path + "records/query", request, token: token)
    }

    /// Uploads files for fields of a new record.
    /// - Returns: The assets to save, in the order of the files.
    func upload(_ files: [(field: String, path: String)], of recordName: String, _ recordType: String) async throws -> [Asset] {
        try await client.upload(files, of: recordName, recordType, in: zoneID, path, token: token)
    }

    /// Runs the operations, not atomically, and returns one result for each, in their order.
    func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let request = RecordsModifyRequest(operations: operations, zoneID: zoneID, atomic: false)
        return try await client.ask(RecordsResponse.self, path + "records/modify", request, token: token).records
    }
}

/// `nacre cktool create-record`
enum CktoolCreateRecord {
    private static let json = Option.value("fields-json", "json", "The fields as JSON.")
    private static let file = Option.value("fields-file", "file", "A file with that JSON.")
    private static let stdin = Option.flag("fields-stdin", "Read that JSON from standard input.")
    private static let assets = Option.values("asset-files", "key=path", "Files of fields of type assetType, whose values are the keys.")

    static let command = Command(
        "create-record", "Make a record, and print it as JSON.",
        discussion: """
            Fields are JSON such as {"title": {"type": "stringType", "value": "Olives"}}; types are stringType, int64Type, doubleType, timestampType, \
            bytesType, locationType, referenceType, and lists such as stringListType. {"photo": {"type": "assetType", "value": "p"}} with --asset-files \
            p=photo.jpg makes a field of a file, assetListType one of several.
            """,
        options: CktoolOptions.records + [CktoolOptions.recordType, json, file, stdin, assets]
    ) { call in
        let type = try call.require(CktoolOptions.recordType)
        let fields = try CktoolRecord.fields(from: try fields(call)).sorted { $0.key < $1.key }
        let files = try files(of: fields, call)
        let database = try await CktoolDatabase.named(by: call)
        // An upload needs the record's name.
        let name = files.isEmpty ? nil : UUID().uuidString
        var sent = try await database.upload(files, of: name ?? "", type)[...]
        let set = fields.map { name, field in
            switch field {
            case .value(let value): return RecordFields.Field(name, value)
            case .file: return RecordFields.Field(name, .asset(sent.removeFirst()))
            case .files(let keys):
                defer { sent = sent.dropFirst(keys.count) }
                return RecordFields.Field(name, keys.isEmpty ? .emptyList : .assetList(Array(sent.prefix(keys.count))))
            }
        }
        let change = RecordChange(recordName: name, recordType: type, set: RecordFields(set))
        let results = try await database.modify([RecordOperation(.create, change)])
        switch results.first {
        case .record(let record): try Output.json(CktoolRecord(record))
        case .failure(_, let error): throw CommandFailure(error)
        case .deleted, nil: throw CommandFailure(.failure, "the server did not say what became of the record")
        }
    }

    /// Returns the file of each key, in the order in which the fields name them.
    private static func files(of fields: [(key: String, value: CktoolNewField)], _ call: Call) throws -> [(field: String, path: String)] {
        func fault(_ text: String) -> UsageError { UsageError(.invalid("--\(assets.name)", text), path: call.path) }
        var paths: [String: String] = [:]
        for text in call.all(assets) {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw fault("give KEY=PATH") }
            guard paths.updateValue(parts[1], forKey: parts[0]) == nil else { throw fault("\(parts[0]) stands for two files") }
        }
        let keys = fields.flatMap { name, field in
            switch field {
            case .value: [(field: String, key: String)]()
            case .file(let key): [(field: name, key: key)]
            case .files(let keys): keys.map { (field: name, key: $0) }
            }
        }
        if let unused = paths.keys.sorted().first(where: { key in !keys.contains { $0.key == key } }) {
            throw fault("no field has the value \(unused)")
        }
        return try keys.map { field, key in
            guard let path = paths[key] else { throw fault("nothing says which file \(key) is, which the field \(field) names") }
            return (field: field, path: path)
        }
    }

    private static func fields(_ call: Call) throws -> String {
        let given = [json, file, stdin].filter(call.isGiven)
        if given.count > 1 { throw UsageError(.exclusive("--\(given[0].name)", "--\(given[1].name)"), path: call.path) }
        if call.has(stdin) { return try TextFile.read("-") }
        if let path = call.value(file) { return try TextFile.read(path) }
        return try call.require(json)
    }
}

/// `nacre cktool query-records`
enum CktoolQueryRecords {
    private static let sorts = Option.values("sort-by", "sort", "Keys of the order, such as 'title DESC'; the first counts most.")
    private static let fields = Option.values("requested-fields", "field", "Answer these fields alone.")
    private static let limit = Option.value("limit", "number", fallback: "200", "Records answered at most: 1 to 200.")
    private static let continuation = Option.value("continuation-token", "token", "Where the page before ended.")

    static let command = Command(
        "query-records", "Print records that pass all filters, as JSON.",
        discussion: """
            One object: records, and continuationToken while there may be more. A filter is FIELD OPERATOR VALUE; a value is a number, a day such as \
            2024-02-29, LATITUDE,LONGITUDE or text, or says its type, as in stringType:2024-02-29. NEAR takes LATITUDE,LONGITUDE,METRES. A value of \
            another type than its field's is an error here. A query without filters wants the index of the record's name: nacre schema index TYPE \
            ___recordID --queryable.
            """,
        options: CktoolOptions.records + [CktoolOptions.recordType, CktoolOptions.filters, sorts, fields, limit, continuation]
    ) { call in
        guard let count = Int(try call.require(limit)), (1...Limits.resultsPerPage).contains(count) else {
            throw UsageError(.invalid("--limit", "give a number from 1 to \(Limits.resultsPerPage)"), path: call.path)
        }
        let query = Query(
            recordType: try call.require(CktoolOptions.recordType), filters: try call.all(CktoolOptions.filters).map(CktoolFilter.filter),
            sorts: try call.all(sorts).map(CktoolFilter.sort))
        let database = try await CktoolDatabase.named(by: call)
        let page = try await database.query(
            RecordsQueryRequest(
                query: query, zoneID: database.zoneID, resultsLimit: count, continuationMarker: call.value(continuation),
                desiredKeys: call.isGiven(fields) ? call.all(fields) : nil))
        try Output.json(CktoolRecord.Page(records: page.records.map(CktoolRecord.init), continuationToken: page.continuationMarker))
        if let failure = page.failures.first { throw CommandFailure(failure.error, of: failure.recordName) }
    }
}

/// `nacre cktool delete-record`
enum CktoolDeleteRecord {
    private static let recordName = Option.required("record-name", "name", "The record's name.")

    static let command = Command(
        "delete-record", "Delete a record.", options: CktoolOptions.records + [recordName, CktoolOptions.yes]
    ) { call in
        let name = try call.require(recordName)
        let database = try await CktoolDatabase.named(by: call)
        try CktoolOptions.confirm("Delete the record \(name)?", call)
        let results = try await database.modify([RecordOperation(.delete, RecordChange(recordName: name))])
        if case .failure(_, let error) = results.first { throw CommandFailure(error, of: name) }
    }
}

/// `nacre cktool delete-records`
enum CktoolDeleteRecords {
    private static let dryRun = Option.value("dry-run", "choice", oneOf: ["true", "false"], fallback: "false", "Say how many, and delete none.")

    /// The command's output.
    private struct Report: Encodable {
        struct Failure: Encodable {
            var recordName: String
            var message: String
        }

        var deletedCount = 0
        /// With `--dry-run true`: the number of records that match.
        var matchedCount: Int?
        /// The first hundred records that could not be deleted.
        var errors: [Failure] = []

        mutating func note(_ failures: [(name: String, error: ServerError)]) {
            for failure in failures.prefix(100 - errors.count) {
                errors.append(Failure(recordName: failure.name, message: failure.error.reason))
            }
        }
    }

    static let command = Command(
        "delete-records", "Delete all records that pass all filters, and print how many as JSON.",
        discussion: "Records are deleted page by page: others' records that come meanwhile may stay. A record that cannot be deleted stops no other.",
        options: CktoolOptions.records + [CktoolOptions.recordType, CktoolOptions.filters, dryRun, CktoolOptions.yes]
    ) { call in
        let isDryRun = call.value(dryRun) == "true"
        let query = Query(
            recordType: try call.require(CktoolOptions.recordType), filters: try call.all(CktoolOptions.filters).map(CktoolFilter.filter))
        let database = try await CktoolDatabase.named(by: call)
        if !isDryRun { try CktoolOptions.confirm("Delete all records of \(query.recordType) that match?", call) }
        var report = Report(matchedCount: isDryRun ? 0 : nil)
        var marker: String?
        repeat {
            let page = try await database.query(
                RecordsQueryRequest(query: query, zoneID: database.zoneID, continuationMarker: marker, desiredKeys: []))
            marker = page.continuationMarker
            report.note(page.failures.map { (name: $0.recordName, error: $0.error) })
            if isDryRun {
                report.matchedCount = (report.matchedCount ?? 0) + page.records.count
            } else if !page.records.isEmpty {
                try await delete(page.records.map(\.recordName), in: database, &report)
            }
        } while marker != nil
        try Output.json(report)
        if let failure = report.errors.first { throw CommandFailure(.failure, "not all were deleted: \(failure.recordName): \(failure.message)") }
    }

    private static func delete(_ names: [String], in database: CktoolDatabase, _ report: inout Report) async throws {
        let results = try await database.modify(names.map { RecordOperation(.forceDelete, RecordChange(recordName: $0)) })
        let failures = zip(names, results).compactMap { name, result -> (name: String, error: ServerError)? in
            if case .failure(_, let error) = result { (name, error) } else { nil }
        }
        report.deletedCount += results.count - failures.count
        report.note(failures)
    }
}
