import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The schemas of containers: shown, changed, deployed, indexed.
extension AdminAPI {
    /// `GET /admin/1/schema?container=…&environment=…`
    @Sendable func schema(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        let schema = try await cloud.schemas.administeredSchema(of: container, environment)
        func fields(_ isWanted: (FieldDefinition) -> Bool, _ isWantedPair: (PairIndex) -> Bool) -> [String] {
            schema.types.values.flatMap { type in
                let names = type.fields.filter { isWanted($0.value) }.map(\.key) + type.pairs.filter(isWantedPair).map(\.name)
                return names.map { "\(type.name).\($0)" }
            }.sorted()
        }
        return try answer(
            AdminMessages.Schema(
                version: schema.version, text: SchemaText(schema).text, building: fields(\.isBuilding) { $0.definition.state == .building },
                indexed: fields {
                    !$0.isBuilding && $0.hasIndex
                } _: {
                    $0.definition.state == .usable
                }))
    }

    /// The container and the environment that a request's query names.
    private static func place(_ request: HTTPRequest) throws -> (container: String, DatabaseKey.Environment) {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        guard let environment = request.query("environment") else { throw ServerError.missingQuery("environment") }
        return (container, try Self.environment(environment))
    }

    /// `GET /admin/1/schema/history?container=…&environment=…`
    @Sendable func schemaHistory(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        let changes = try await cloud.schemas.schemaHistory(of: container, environment)
        return try answer(AdminMessages.SchemaHistory(changes: changes.map(AdminMessages.Change.init)))
    }

    /// `POST /admin/1/schema/undo`
    @Sendable func undoSchemaChange(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewUndo.self, of: request)
        let undo = try await cloud.schemas.undoSchemaChange(
            of: asked.container, isDryRun: asked.isDryRun, by: Self.author)
        return try answer(
            AdminMessages.Undo(number: undo.number, kind: undo.kind.rawValue, differences: undo.differences.map(AdminMessages.Difference.init)))
    }

    /// `POST /admin/1/schema/deploy`
    @Sendable func deploySchema(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewDeployment.self, of: request)
        let deployment = try await cloud.schemas.deploySchema(
            of: asked.container, isDryRun: asked.isDryRun, by: Self.author)
        return try answer(
            AdminMessages.Deployment(
                isDryRun: asked.isDryRun, gains: deployment.gains.map(AdminMessages.Gain.init),
                refusals: deployment.refusals.map(AdminMessages.Refusal.init),
                broken: deployment.broken.map(AdminMessages.BrokenQuery.init)))
    }

    /// `POST /admin/1/schema/import`
    @Sendable func importSchema(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewImport.self, of: request, bytesMax: Limits.schemaBodyBytes)
        let done = try await cloud.schemas.importSchema(
            asked.text, to: asked.container, isDryRun: asked.isDryRun, by: Self.author)
        return try answer(
            AdminMessages.Differences(
                done.differences.map(AdminMessages.Difference.init), broken: done.broken.map(AdminMessages.BrokenQuery.init)))
    }

    /// `POST /admin/1/schema/diff`
    @Sendable func diffSchema(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewDiff.self, of: request, bytesMax: Limits.schemaBodyBytes)
        let differences = try await cloud.schemas.differences(
            from: asked.container, Self.environment(asked.environment), to: asked.text)
        return try answer(AdminMessages.Differences(differences.map(AdminMessages.Difference.init)))
    }

    /// `POST /admin/1/schema/indexes`
    @Sendable func setIndexes(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewIndexes.self, of: request)
        let options = try asked.options.map { names throws(ServerError) in
            guard let options = IndexOptions(names: names) else {
                throw ServerError(
                    .badRequest, "unknown index option", field: "options", remedy: "Take QUERYABLE, SEARCHABLE and SORTABLE.")
            }
            return options
        }
        let fieldType = try asked.fieldType.map { name throws(ServerError) in
            guard let type = SchemaText.fieldType(named: name) else {
                throw ServerError(
                    .badRequest, "unknown field type", field: "fieldType",
                    remedy: "Take STRING, INT64, DOUBLE, TIMESTAMP, BYTES, LOCATION, REFERENCE or ASSET, or a list of one such as LIST<STRING>.")
            }
            return type
        }
        if asked.field.contains("+") {
            guard fieldType == nil, options?.isEmpty != false else {
                throw ServerError(
                    .badRequest, "an index of two fields has no options and no type", field: "options",
                    remedy: "--now makes it, --pin keeps it, --none refuses it.")
            }
            try await cloud.schemas.setPairIndex(
                named: asked.field, of: asked.recordType, isRefused: options != nil, isNow: asked.isNow ?? false, isPinned: asked.isPinned,
                in: asked.container, by: Self.author)
            let made = try await madeIndexes(of: asked.container) { $0.recordType == asked.recordType && $0.field == asked.field }
            return try answer(
                AdminMessages.Indexes(recordType: asked.recordType, field: asked.field, fieldType: nil, before: [], options: [], made: made))
        }
        let change = try await cloud.schemas.setIndexes(
            options, of: asked.recordType, field: asked.field, as: fieldType, isNow: asked.isNow ?? false, isPinned: asked.isPinned,
            in: asked.container, by: Self.author)
        let made = try await madeIndexes(of: asked.container) { $0.recordType == asked.recordType && $0.field == change.field }
        return try answer(
            AdminMessages.Indexes(
                recordType: asked.recordType, field: change.field, fieldType: SchemaText.name(of: change.fieldType),
                before: change.isNewField ? nil : change.before.names, options: change.after.names, made: made))
    }

    /// `GET /admin/1/schema/indexes?container=…&environment=…`
    @Sendable func indexes(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        let schema = try await cloud.schemas.administeredSchema(of: container, environment)
        let refused = schema.types.values.flatMap { type in type.refusedPairs.map { "\(type.name).\($0)" } }
        return try answer(
            AdminMessages.MadeIndexes(indexes: try await madeIndexes(of: container, environment) { _ in true }, refused: refused.sorted()))
    }

    private func madeIndexes(
        of container: String, _ environment: DatabaseKey.Environment = .development, where isWanted: (MadeIndex) -> Bool
    ) async throws -> [AdminMessages.MadeIndex] {
        try await cloud.schemas.madeIndexes(of: container, environment).filter(isWanted).map(AdminMessages.MadeIndex.init)
    }

    /// `GET /admin/1/schema/counts?container=…&environment=…`
    @Sendable func recordCounts(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        let counts = try await cloud.recordCounts(of: container, environment)
        let types = counts.records.map { AdminMessages.TypeCount(recordType: $0, records: $1) }
        return try answer(AdminMessages.RecordCounts(types: types.sorted { $0.recordType < $1.recordType }, isWhole: counts.isWhole))
    }

    /// `POST /admin/1/schema/reset`
    @Sendable func resetSchema(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewReset.self, of: request)
        // The reset runs to its end even if the caller hangs up: half a reset is useless.
        let author = Self.author
        let work = Task { [cloud] in try await cloud.resetSchema(of: asked.container, isDryRun: asked.isDryRun, by: author) }
        let reset = try await work.value
        return try answer(
            AdminMessages.Reset(
                isDryRun: asked.isDryRun, roles: reset.roles, types: reset.types, fields: reset.fields, databases: reset.databases))
    }
}

extension AdminMessages.Refusal {
    init(_ error: ServerError) {
        self.init(reason: error.reason, field: error.field, remedy: error.remedy)
    }
}

extension AdminMessages.BrokenQuery {
    init(_ broken: BrokenQuery) {
        self.init(query: broken.query.words, reason: broken.fault.reason, remedy: broken.fault.remedy)
    }
}

extension AdminMessages.MadeIndex {
    init(_ index: MadeIndex) {
        self.init(
            recordType: index.recordType, field: index.field, kind: index.kind.rawValue, state: index.isUsable ? "usable" : "building",
            isPinned: index.isPinned, cost: index.cost, made: index.made?.iso8601, query: index.query, lastUsed: index.lastUsed?.iso8601)
    }
}

extension Timestamp {
    /// ISO 8601, to the second.
    var iso8601: String { Date(timeIntervalSinceReferenceDate: secondsSince2001).formatted(.iso8601) }
}

extension AdminMessages.Change {
    init(_ change: SchemaChange) {
        self.init(
            number: change.number, kind: change.kind.rawValue, time: change.time.iso8601, author: change.author, isUndone: change.isUndone,
            count: change.count,
            differences: change.differences?.map(AdminMessages.Difference.init))
    }
}

extension AdminMessages.Gain {
    init(_ gain: SchemaGain) {
        self.init(kind: gain.kind, recordType: gain.recordType, field: gain.field, role: gain.role, declaration: gain.declaration)
    }
}

extension AdminMessages.Difference {
    init(_ difference: SchemaDifference) {
        self.init(
            recordType: difference.recordType, field: difference.field, role: difference.role, before: difference.before, after: difference.after)
    }
}

extension ServerError {
    static func missingQuery(_ name: String) -> ServerError {
        ServerError(.badRequest, "missing required field", field: name, remedy: "Give \(name) in the query of the URL.")
    }
}
