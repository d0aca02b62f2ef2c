import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudContainer

/// Ada's zone Trip with a tree: `above`, below it `trip` and `other`, below `trip` the records `day` and `night`,
/// below `day` the record `stop`. `note` stands by itself.
struct TreeScene: Sendable {
    static let zone = ShareScene.zone
    let scene: ShareScene

    init(_ engine: Engine, assets: Bool = false) async throws {
        scene = assets ? try await ShareScene(TestCloud(try await engine.makeStore(), assets: MemoryAssets())) : try await ShareScene(engine)
        try await scene.ada.modify(
            [
                .create("above", Self.text("above")), .create("trip", Self.text("trip"), parent: "above"),
                .create("other", Self.text("other"), parent: "above"), .create("day", Self.text("day"), parent: "trip"),
                .create("night", Self.text("night"), parent: "trip"), .create("stop", Self.text("stop"), parent: "day"),
            ], zone: Self.zone)
    }

    static func text(_ text: String) -> RecordFields { ["text": .string(text)] }

    var ada: TestCloudUser { scene.ada }
    func guest(_ name: String) -> TestCloudUser { scene.guest(name) }

    /// Saves a share of a record.
    @discardableResult
    func share(
        _ root: String, as name: String, _ permission: SharePermission? = nil, _ participants: [ShareParticipant]? = nil,
        by user: TestCloudUser? = nil
    ) async throws -> RecordResult? {
        let user = user ?? ada
        let there = try await user.lookup([name], zone: Self.zone).first?.record
        let change = ShareChange(publicPermission: permission, participants: participants, forRecord: there == nil ? root : nil)
        return try await user.modify(
            [.share(there == nil ? .create : .update, change, tag: there?.recordChangeTag, name: name)], zone: Self.zone
        ).first
    }

    /// Shares a record with these users, who accept.
    func join(_ root: String, as name: String, _ permissions: KeyValuePairs<String, SharePermission>) async throws {
        let saved = try await share(root, as: name, SharePermission.none, permissions.map { .invite($0, $1) })
        let guid = saved?.record?.sharing?.value.shortGUID ?? ""
        for (user, _) in permissions { _ = try await scene.accept(guid, by: user) }
    }

    func guid(_ name: String) async throws -> String {
        try await ada.lookup([name], zone: Self.zone).first?.record?.sharing?.value.shortGUID ?? ""
    }

    /// Moves a record below another; nil: below none.
    @discardableResult
    func move(_ name: String, below parent: String?, by user: TestCloudUser? = nil) async throws -> ServerError? {
        let change: RecordChange.ParentChange = parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .clear
        return try await (user ?? ada).modify([.make(.forceUpdate, name, parent: change)], zone: Self.zone).first?.error
    }

    /// Returns which of these names a user finds.
    func found(_ names: [String], by user: TestCloudUser) async throws -> Set<String> {
        Set(try await user.lookup(names, zone: Self.zone).compactMap { $0.record?.recordName })
    }

    static let names = ["above", "trip", "other", "day", "night", "stop", "note", "S", "D", "O"]
}

/// A device that follows a zone by its feed.
struct TreeFollower {
    let user: TestCloudUser
    var token: String?
    var names: Set<String> = []

    init(_ user: TestCloudUser) { self.user = user }

    /// Reads on to the end.
    /// - Returns: The record names in order; a deletion has a minus.
    mutating func follow(limit: Int = 3) async throws -> [String] {
        var heard: [String] = []
        var more = true
        while more {
            let page = try await user.changes(TreeScene.zone, after: token, limit: limit)
            for result in page.records {
                let name = result.recordName ?? ""
                if result.record != nil { names.insert(name) } else { names.remove(name) }
                heard.append(result.record == nil ? "-" + name : name)
            }
            (token, more) = (page.syncToken, page.moreComing)
        }
        return heard
    }
}
