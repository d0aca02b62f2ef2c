import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Ada's zone Trip, and other users to share it with.
struct ShareScene: Sendable {
    static let zone = "Trip"
    static let ada = "_ada"

    let world: TestCloud

    init(_ engine: Engine, seed: UInt64 = 1, quotas: Quotas = .none) async throws {
        world = try await TestCloud(engine, seed: seed, quotas: quotas)
        try await prepare()
    }

    init(_ world: TestCloud) async throws {
        self.world = world
        try await prepare()
    }

    private func prepare() async throws {
        try await ada.makeZone(Self.zone)
        try await ada.modify([.create("note", ["text": .string("first")])], zone: Self.zone)
    }

    var ada: TestCloudUser { world.user(Self.ada) }

    func user(_ name: String) -> TestCloudUser { world.user(name) }

    /// Returns a user at Ada's zones.
    func guest(_ name: String) -> TestCloudUser { world.user(name).at(Self.ada) }

    /// Saves the share of Ada's zone.
    @discardableResult
    func share(
        _ permission: SharePermission? = nil, _ participants: [ShareParticipant]? = nil, by user: TestCloudUser? = nil, zone: String = zone,
        fields: RecordFields = [:]
    ) async throws -> RecordResult? {
        let user = user ?? ada
        let there = try await user.lookup([ShareNames.ofZone], zone: zone).first?.record
        return try await user.modify(
            [
                .share(
                    there == nil ? .create : .update, ShareChange(publicPermission: permission, participants: participants),
                    tag: there?.recordChangeTag, fields)
            ], zone: zone
        ).first
    }

    /// Returns the short GUID of Ada's share.
    func guid(zone: String = zone) async throws -> String {
        try await ada.lookup([ShareNames.ofZone], zone: zone).first?.record?.sharing?.value.shortGUID ?? ""
    }

    func accept(_ guid: String, by caller: Caller) async throws -> SharesResponse.Result {
        try await world.cloud.acceptShares(SharesRequest(shortGUIDs: [.init(value: guid)]), in: target, by: caller).results[0]
    }

    func accept(_ guid: String, by name: String) async throws -> SharesResponse.Result { try await accept(guid, by: Caller(.user(name))) }

    func resolve(_ guid: String, by caller: Caller) async throws -> SharesResponse.Result {
        try await world.cloud.resolveShares(SharesRequest(shortGUIDs: [.init(value: guid)]), in: target, by: caller).results[0]
    }

    func resolve(_ guid: String, by name: String) async throws -> SharesResponse.Result { try await resolve(guid, by: Caller(.user(name))) }

    var target: DatabaseTarget { DatabaseTarget(container: TestCloud.container, environment: .development, scope: .public) }

    /// Invites these users, and each accepts.
    func join(_ permissions: KeyValuePairs<String, SharePermission>) async throws {
        try await share(SharePermission.none, permissions.map { .invite($0, $1) })
        let guid = try await guid()
        for (name, _) in permissions { _ = try await accept(guid, by: name) }
        try await world.runAllTasks()
    }

    /// Returns the zones that a user's shared database lists.
    func zones(of name: String) async throws -> [ZoneID] {
        let user = guest(name)
        return try await world.cloud.listZones(in: user.target, by: user.caller).zones.compactMap { $0.zone?.zoneID }
    }
}

extension ShareParticipant {
    static func invite(_ name: String, _ permission: SharePermission = .readOnly, role: ParticipantRole = .privateUser) -> ShareParticipant {
        ShareParticipant(identity: ParticipantIdentity(lookupInfo: .userRecordName(name)), role: role, permission: permission)
    }

    static func mail(_ address: String, _ permission: SharePermission = .readOnly) -> ShareParticipant {
        ShareParticipant(identity: ParticipantIdentity(lookupInfo: .emailAddress(address)), permission: permission)
    }
}

extension RecordOperation {
    static func share(
        _ type: NacreCloudWire.OperationType, _ change: ShareChange, tag: String? = nil, _ fields: RecordFields = [:],
        name: String = ShareNames.ofZone
    ) -> RecordOperation {
        RecordOperation(
            type, RecordChange(recordName: name, recordType: ShareNames.recordType, recordChangeTag: tag, set: fields, sharing: change))
    }
}

extension SharesResponse.Result {
    var share: ShareMetadata? {
        if case .share(let share) = self { share } else { nil }
    }

    var error: ServerError? {
        if case .failure(_, let error) = self { error } else { nil }
    }
}
