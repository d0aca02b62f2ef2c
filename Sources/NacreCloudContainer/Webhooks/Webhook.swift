import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A webhook: a URL that is told of changes in a container and environment. See `docs/decisions/webhooks.md`.
///
/// An entry of a webhook stands beside the schema, whose version rises with it: each commit has the schema at hand.
package struct Webhook: RegistryEntry {
    package static let kind = EntryKind.webhook

    package var id: String
    package var url: String
    /// The key of its signatures, sealed by the server.
    package var sealedSecret: String
    /// Seconds since 2001.
    package var created: Double
    /// The name of the zone that is watched; nil: every zone.
    package var zone: String?
    /// The type of the records that are watched; nil: every type.
    package var recordType: String?
    /// The body of a `records/query`, whose filters choose among changes; nil: there are no filters.
    package var query: String?
    /// The fields that the filters compare. A change keeps their values.
    package var compared: [String]
    /// The fields whose values are sent.
    package var fields: [String]
    /// Whether private databases are watched too. An administrator granted it, as the audit log says.
    package var isPrivate: Bool

    /// Whether it is told of changes in a zone. Private databases need the grant; shared ones hold no records.
    package func watches(_ database: DatabaseKey, zoneNamed name: String) -> Bool {
        guard zone ?? name == name else { return false }
        switch database.scope {
        case .public: return true
        case .private: return isPrivate
        case .shared, .registry: return false
        }
    }

    /// Returns a change as it is kept for this webhook, with the values that it is sent or compares; nil: it is not
    /// told of records of the type.
    ///
    /// Assets, encrypted values and values larger than `Limits.webhookValueBytes` are left out.
    func kept(_ transition: RecordTransition, in zone: ZoneAddress) -> RecordTransition? {
        guard recordType ?? transition.record.row.type == transition.record.row.type else { return nil }
        let wanted = Set(transition.reason == .deleted ? compared : compared + fields)
        let sent = transition.record.content.fields.entries.filter { wanted.contains($0.name) && $0.value.isForWebhooks }
        return transition.only(Set(sent.map(\.name)), in: zone)
    }

    /// Returns the values of a kept change that are sent.
    func sent(of transition: RecordTransition) -> RecordFields {
        transition.reason == .deleted ? RecordFields() : transition.record.content.fields.only(fields)
    }
}

extension FieldValue {
    fileprivate var isForWebhooks: Bool {
        if case .sealed = self { return false }
        return !holdsAssets && byteCount <= Limits.webhookValueBytes
    }
}

extension Schema {
    /// Returns the webhooks that are told of changes in a zone, in the order of their IDs.
    package func webhooks(watching database: DatabaseKey, zoneNamed name: String) -> [Webhook] {
        if webhooks.isEmpty { return [] }
        return webhooks.values.filter { $0.watches(database, zoneNamed: name) }.sorted { $0.id < $1.id }
    }
}

/// A webhook as an administrator asks for it.
package struct NewWebhook: Hashable, Sendable {
    package var url: String
    package var zone: String?
    /// The body of a `records/query`: a type, and filters if there are any.
    package var query: String?
    package var fields: [String]
    package var isPrivate: Bool

    package init(url: String, zone: String? = nil, query: String? = nil, fields: [String] = [], isPrivate: Bool = false) {
        (self.url, self.zone, self.query, self.fields, self.isPrivate) = (url, zone, query, fields, isPrivate)
    }

    /// Returns the webhook, or throws what is wrong with it, whatever its URL.
    /// - Parameter schema: the schema of its environment.
    package func webhook(
        id: String, sealedSecret: String, at now: Timestamp, in schema: Schema, of container: String, _ environment: DatabaseKey.Environment
    ) throws(ServerError) -> Webhook {
        if schema.webhooks.count >= Limits.webhooksPerEnvironment { throw .tooManyWebhooks }
        if fields.count > Limits.fieldsPerWebhook {
            throw .badValue("fields", "too many fields", remedy: "A webhook is sent \(Limits.fieldsPerWebhook) fields at most.")
        }
        for name in fields { if let fault = Names.fieldNameFault(name) { throw fault } }
        if let zone {
            guard isPrivate || zone == ZoneID.defaultZoneName else { throw .zoneNeedsGrant(zone) }
            guard Names.isName(zone) else { throw .badValue("zone", "invalid zone name", remedy: "Give the name of a zone.") }
        }
        var webhook = Webhook(
            id: id, url: url, sealedSecret: sealedSecret, created: now.secondsSince2001, zone: zone, compared: [], fields: fields,
            isPrivate: isPrivate)
        guard let query else { return webhook }
        if query.utf8.count > Limits.webhookQueryBytes {
            throw .badValue("query", "query is too long", remedy: "It may take \(Limits.webhookQueryBytes) bytes.")
        }
        let asked = try RecordsQueryRequest(json: Array(query.utf8)).query
        if asked.filters.contains(where: { $0.fieldName == nil }) {
            throw .badValue("query", "a filter names no field", remedy: "A webhook compares fields by name; it does not search all texts.")
        }
        let database = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
        let shape = try SubscriptionRule(database: database, schema: schema, caller: .administrator).shape(of: asked)
        webhook.recordType = shape.type.name
        if !asked.filters.isEmpty {
            webhook.query = query
            webhook.compared = Set(shape.filters.flatMap(\.fields).map(\.name)).filter { SystemField(schemaName: $0) == nil }.sorted()
        }
        return webhook
    }
}

extension ServerError {
    fileprivate static let tooManyWebhooks = ServerError(
        .badRequest, "the environment has as many webhooks as there may be (\(Limits.webhooksPerEnvironment))", field: "container",
        remedy: "Delete one that is not needed any more: nacre webhook delete.")

    fileprivate static func zoneNeedsGrant(_ zone: String) -> ServerError {
        .badValue(
            "zone", "the public database has no such zone",
            remedy: "It has \(ZoneID.defaultZoneName) alone. Zones of private databases need the grant: --private.")
    }

    package static let noWebhook = ServerError(
        .notFound, "no such webhook", field: "id", remedy: "Take an ID that nacre webhook list prints, and name its container and environment.")
}
