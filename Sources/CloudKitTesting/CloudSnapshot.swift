import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// Text of a cloud that is the same for the same data: it leaves out random values and times.
struct CloudSnapshot {
    /// The names by which tests know users, keyed by the names of their user records.
    private let users: [String: String]
    /// The labels, such as `#1`, that replace record names drawn at random.
    private var labels: [String: String] = [:]
    private var lines: [String] = []

    private init(users: [String: String]) {
        self.users = users
    }

    static func text(of databases: [KeptDatabase], users: [String: String]) -> String {
        var snapshot = CloudSnapshot(users: users)
        snapshot.lines.append("users: " + (users.isEmpty ? "none" : users.values.sorted().joined(separator: ", ")))
        for database in databases where database.key.scope == .public { snapshot.add(database, "public") }
        let own = databases.filter { $0.key.scope == .private }.map { (name: snapshot.shown($0.key.owner), database: $0) }
        for (name, database) in own.sorted(by: { $0.name < $1.name }) { snapshot.add(database, "private of \(name)") }
        return snapshot.lines.joined(separator: "\n") + "\n"
    }

    private mutating func add(_ database: KeptDatabase, _ title: String) {
        let zones = database.zones.map { (name: $0.name, records: $0.records.filter(Self.isShown)) }
            .filter { !$0.records.isEmpty || $0.name != ZoneID.defaultZoneName }
        guard !zones.isEmpty else { return }
        for zone in zones { label(zone.records) }
        lines.append(title)
        for zone in zones.sorted(by: { $0.name < $1.name }) {
            lines.append("  \(zone.name)")
            for record in zone.records.sorted(by: { place(of: $0) < place(of: $1) }) { add(record, of: database.key.owner) }
        }
    }

    /// Returns false for a user record to which no app has added a field: every user has one.
    private static func isShown(_ record: KeptRecord) -> Bool {
        record.type != UserRecord.type || record.fields.entries.contains { $0.name != "roles" }
    }

    private mutating func add(_ record: KeptRecord, of owner: String) {
        let creator = record.creator == owner ? "" : " by \(shown(record.creator))"
        lines.append("    \(record.type) \(shown(record.name))\(creator)")
        if let parent = record.parent { lines.append("      parent -> \(shown(parent))") }
        for field in record.fields.entries { lines.append("      \(field.name) = \(text(field.value))") }
    }

    // MARK: Names

    /// Numbers the random names of a zone in the order in which their records were made. Records made at once are
    /// ordered by their contents.
    private mutating func label(_ records: [KeptRecord]) {
        let drawn = records.filter { UUID(uuidString: $0.name) != nil }
            .map { (record: $0, contents: "\($0.type) \($0.fields.entries.map { "\($0.name) \(text($0.value))" })") }
            .sorted { ($0.record.entered, $0.contents) < ($1.record.entered, $1.contents) }
        for (index, item) in drawn.enumerated() { labels[item.record.name] = "#\(index + 1)" }
    }

    private func shown(_ name: String) -> String { users[name] ?? labels[name] ?? name }

    /// The sort key of a record: records with names of their own come first, then the numbered ones.
    private func place(of record: KeptRecord) -> (Int, Int, String) {
        guard let label = labels[record.name] else { return (0, 0, shown(record.name)) }
        return (1, Int(label.dropFirst()) ?? 0, label)
    }

    // MARK: Values

    private func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let value): value.debugDescription
        case .int64(let value): String(value)
        case .double(let value): String(value)
        case .timestamp(let value): text(value)
        case .bytes(let value): text(value)
        case .location(let value): text(value)
        case .reference(let value): text(value)
        case .asset(let value): text(value)
        case .stringList(let values): list(values) { $0.debugDescription }
        case .int64List(let values): list(values) { String($0) }
        case .doubleList(let values): list(values) { String($0) }
        case .timestampList(let values): list(values) { text($0) }
        case .bytesList(let values): list(values) { text($0) }
        case .locationList(let values): list(values) { text($0) }
        case .referenceList(let values): list(values) { text($0) }
        case .assetList(let values): list(values) { text($0) }
        case .emptyList: "[]"
        case .sealed(let value): "encrypted \(value.type.rawValue)"
        }
    }

    private func list<Value>(_ values: [Value], _ text: (Value) -> String) -> String { "[\(values.map(text).joined(separator: ", "))]" }

    private func text(_ value: Timestamp) -> String { Date(timeIntervalSinceReferenceDate: value.secondsSince2001).formatted(.iso8601) }

    private func text(_ value: [UInt8]) -> String { "bytes \(Data(value).base64EncodedString())" }

    private func text(_ value: Location) -> String { "(\(value.latitude), \(value.longitude))" }

    private func text(_ value: Asset) -> String { "asset of \(value.size) bytes" }

    private func text(_ value: Reference) -> String {
        let zone = value.zoneID.map { " in \($0.zoneName)" } ?? ""
        return "-> \(shown(value.recordName))\(zone)\(value.action == .deleteSelf ? ", deletes" : "")"
    }
}
