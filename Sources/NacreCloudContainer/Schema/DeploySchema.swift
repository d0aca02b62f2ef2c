import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// One thing that a schema gains in a deployment.
package struct SchemaGain: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        case role
        case recordType
        /// All grants of a type. Grants that production had and development lacks are removed.
        case grants
        case field
        case index
        /// An index that development has made, and that production makes too. The declaration tells its kind and its
        /// cost for a save.
        case madeIndex
        /// A kind of query subscriptions, named by the changes that they fire on.
        case subscription
    }

    package var kind: Kind
    /// nil for a role.
    package var recordType: String?
    package var field: String?
    package var role: String?
    /// In CloudKit's schema language: a field's type and options, its new options, or a type's grants; empty for a type
    /// and a role. For subscriptions the changes that they fire on, such as `create,delete`.
    package var declaration: String
}

/// The gains of production from the development schema, and the refused parts. One refusal stops all of it.
package struct SchemaDeployment: Equatable, Sendable {
    /// The gains, in the order of roles, types and fields.
    package var gains: [SchemaGain] = []
    package var refusals: [ServerError] = []
    /// Queries that production has answered, and that the new schema would refuse or answer differently.
    package var broken: [BrokenQuery] = []
}

extension Schemas {
    /// Adds everything that the development schema has to production. CloudKit: types, fields and indexes are promoted,
    /// records are not; what is deployed stays. A second deployment changes nothing.
    ///
    /// - Parameter isDryRun: only returns what would be added, and everything that would be refused.
    /// - Throws: the first refusal, unless it is a dry run.
    package func deploySchema(of container: String, isDryRun: Bool, by author: String? = nil) async throws -> SchemaDeployment {
        try await registry.requireContainer(container)
        let development = try await schema(of: container, .development)
        let queries = try await recordedQueries(of: container, .production)
        return try await changeSchema(of: container, .production, noting: SchemaNote(kind: .deploy, author: author)) { production in
            let before = production
            if isDryRun {
                var (deployment, next) = before.deployment(of: development)
                deployment.broken = queries.broken(by: next, after: before, of: container)
                return deployment
            }
            let gains = try production.deploy(development)
            return SchemaDeployment(gains: gains, broken: queries.broken(by: production, after: before, of: container))
        }
    }
}

extension Schema {
    /// Adds everything that `source` has and this schema lacks. Types and fields stay as they are. Options and roles
    /// that `source` lacks stay too. Types of `source` get its grants and no others. Indexes that are made in `source`
    /// are made here too, because queries needed them.
    ///
    /// A deployment is complete or does nothing: one refused field stops all of it.
    /// - Returns: the gains, in the order of types and fields.
    package mutating func deploy(_ source: Schema) throws(ServerError) -> [SchemaGain] {
        let (deployment, next) = deployment(of: source)
        if let refusal = deployment.refusals.first { throw refusal }
        self = next
        return deployment.gains
    }

    /// Returns the gains and refusals of a deployment of `source`, and the schema after it, without the refused parts.
    package func deployment(of source: Schema) -> (deployment: SchemaDeployment, schema: Schema) {
        var next = self
        var deployment = SchemaDeployment()
        next.take(source, noting: &deployment)
        return (deployment, next)
    }

    private mutating func take(_ source: Schema, noting deployment: inout SchemaDeployment) {
        for role in source.rolesInOrder where roles[role] == nil {
            guard roles.count < Limits.rolesPerSchema else {
                deployment.refusals.append(.tooManyRoles)
                break
            }
            declare(role: role)
            deployment.gains.append(SchemaGain(kind: .role, role: role, declaration: ""))
        }
        for (type, wanted) in source.types.sorted(by: { $0.key < $1.key }) {
            let known = definition(of: type)
            if known == nil { deployment.gains.append(SchemaGain(kind: .recordType, recordType: type, declaration: "")) }
            var definition = known ?? RecordTypeDefinition(name: type)
            if definition.grants != wanted.grants {
                definition.grants = wanted.grants
                let declared = SchemaText.declarations(of: wanted.grants).joined(separator: ", ")
                deployment.gains.append(SchemaGain(kind: .grants, recordType: type, declaration: declared))
            }
            for (name, field) in wanted.fields.sorted(by: { $0.key < $1.key }) {
                let known = definition.fields[name]
                if let known, known.shape != field.shape {
                    deployment.refusals.append(.cannotRetype(name, of: type, known: known.shape, wanted: field.shape))
                    continue
                }
                var next = known ?? FieldDefinition(type: field.type, isEncrypted: field.isEncrypted)
                let options = field.options.subtracting(next.options)
                next.setOptions(next.options.union(options), nextIndex: &nextIndex)
                for kind in IndexKind.allCases where field[kind] != nil { next.makeIndex(kind, for: field[kind]?.query, nextIndex: &nextIndex) }
                definition.fields[name] = next
                if known == nil, SystemField(rawValue: name) == nil {
                    deployment.gains.append(SchemaGain(kind: .field, recordType: type, field: name, declaration: SchemaText.declaration(of: field)))
                } else if !options.isEmpty {
                    let names = options.names.joined(separator: " ")
                    deployment.gains.append(SchemaGain(kind: .index, recordType: type, field: name, declaration: names))
                }
            }
            definition.refusedPairs = wanted.refusedPairs
            for pair in wanted.pairs { definition.makePair(pair.first, pair.second, for: pair.definition.query, nextIndex: &nextIndex) }
            let had = Set((known?.indexes ?? []).map(\.index))
            for (id, index) in definition.madeIndexes where !had.contains(id) {
                deployment.gains.append(
                    SchemaGain(kind: .madeIndex, recordType: type, field: index.field, declaration: "\(index.kind.rawValue), \(index.cost)"))
            }
            for kind in wanted.subscribed.subtracting(definition.subscribed).sorted() {
                deployment.gains.append(SchemaGain(kind: .subscription, recordType: type, declaration: kind))
            }
            definition.subscribed.formUnion(wanted.subscribed)
            types[type] = definition
        }
    }
}

extension ServerError {
    fileprivate static func cannotRetype(_ field: String, of type: String, known: FieldShape, wanted: FieldShape) -> ServerError {
        ServerError(
            .badRequest, "field '\(field)' of type '\(type)' is \(known.name) in production and \(wanted.name) in development",
            field: "\(type).\(field)", remedy: "A deployed field keeps its type: use another name in development.")
    }
}
