import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

extension RecordOperation {
    /// Returns the save of a record that is deleted with any of `owners`, and holds `validates`. It replaces an
    /// existing one.
    static func holder(_ name: String, of owners: [String] = [], validates: [String] = [], parent: String? = nil) -> RecordOperation {
        make(
            .forceReplace, name, RecordFields.holding(owners, validates: validates),
            parent: parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .clear)
    }
}

extension RecordFields {
    static func holding(_ owners: [String], validates: [String] = []) -> RecordFields {
        var fields = RecordFields()
        if owners.count == 1 { fields["owner"] = .reference(Reference(recordName: owners[0], action: .deleteSelf)) }
        if owners.count > 1 { fields["owners"] = .referenceList(owners.map { Reference(recordName: $0, action: .deleteSelf) }) }
        if !validates.isEmpty { fields["validates"] = .referenceList(validates.map { Reference(recordName: $0, action: .validate) }) }
        return fields
    }
}

extension ModifyBatch {
    /// Makes a user's batch in a private database, over stored records; its reach is not known yet.
    init(_ operations: [RecordOperation], over stored: [StoredRecord], by caller: Caller = Caller(.user("_ann"), client: .framework)) {
        self.init(
            operations.map { Item(name: $0.change.recordName ?? "", operation: $0) }, faults: [:],
            stored: Dictionary(uniqueKeysWithValues: stored.map { ($0.row.name, $0) }),
            in: RecordSetting(scope: .private, environment: .development, caller: caller))
    }
}

extension TestCloudUser {
    /// Returns which of these records exist, in the order of the request.
    func living(_ names: [String], zone: String = ZoneID.defaultZoneName) async throws -> [String] {
        var found: [String] = []
        for start in stride(from: 0, to: names.count, by: 400) {
            let page = Array(names[start..<min(start + 400, names.count)])
            found += try await lookup(page, zone: zone).compactMap { $0.record?.recordName }
        }
        return found
    }

    /// Saves in batches; every save must succeed.
    func save(_ operations: [RecordOperation], zone: String = ZoneID.defaultZoneName) async throws {
        for start in stride(from: 0, to: operations.count, by: 400) {
            let results = try await modify(Array(operations[start..<min(start + 400, operations.count)]), zone: zone)
            if let error = results.lazy.compactMap(\.error).first { throw error }
        }
    }

    var database: DatabaseID {
        get async throws { try await cloud.databaseID(databaseVerdict(target, for: .write, by: caller).get()) }
    }
}
