import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// Tests of permissions in a shared zone: a line is a request, a column a user. Written from CloudKit's `CKShare`.
/// Participants who may write change or delete any record but the share. All participants may leave. The owner and
/// administrators change the participants. A stranger finds nothing.
///
/// `stolen`: a download by the owner's URL, which the server distinguishes by its credential. `reref`: for another
/// field. `yes`; `no`: ACCESS_DENIED; `none`: NOT_FOUND; `gone`: ZONE_NOT_FOUND; `leave`: done, and the user takes
/// part no more; `stop`: done, and the share ends.
@Suite struct ShareMatrixTests {
    static let columns = [
        "owner", "adminRW", "adminRO", "adminNO", "writer", "reader", "nothing", "openRW", "openRO", "invited", "invitedAd",
        "left", "removed", "stranger",
    ]

    static let text = """
        lookup       yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        lookupShare  yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        query        yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        changes      yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        zones        yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        token        yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        create       yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        child        yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        update       yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        replace      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        delete       yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        retitle      yes    yes      yes      gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        invite       yes    yes      yes      gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        open         yes    yes      yes      gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        endShare     stop   leave    leave    gone     leave   leave   gone     leave   leave   gone     gone       gone  gone     gone
        upload       yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        download     yes    yes      yes      none     yes     yes     none    yes     yes     none     none       none  none     none
        stolen       yes    yes      yes      none     yes     yes     none    yes     yes     none     none       none  none     none
        reref        yes    yes      no       gone     yes     no      gone    yes     no      gone     gone       gone  gone     gone
        records      yes    yes      yes      gone     yes     yes     gone    yes     yes     gone     gone       gone  gone     gone
        deleteZone   yes    bad      bad      bad      bad     bad     bad      bad     bad     bad      bad        bad   bad      bad
        zone         yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        database     yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        resolve      yes    yes      yes      yes      yes     yes     yes      yes     yes     yes      yes        no    no       no
        accept       yes    yes      yes      yes      yes     yes     yes      yes     yes     yes      yes        no    no       no
        """

    /// Makes a fresh zone with the user's place.
    private func seat(_ column: String) async throws -> (scene: ShareScene, asker: TestCloudUser) {
        let scene = try await ShareScene(TestCloud(try await Engine.memory.makeStore(), assets: MemoryAssets()))
        guard column != "owner" else {
            _ = try await scene.share(SharePermission.none, [.invite("_other", .readWrite)])
            return (scene, scene.ada)
        }
        let asked: [String: (SharePermission, ParticipantRole)] = [
            "adminRW": (.readWrite, .administrator), "adminRO": (.readOnly, .administrator), "adminNO": (SharePermission.none, .administrator),
            "writer": (.readWrite, .privateUser), "invitedAd": (.readWrite, .administrator),
            "reader": (.readOnly, .privateUser), "nothing": (SharePermission.none, .privateUser), "invited": (.readWrite, .privateUser),
            "left": (.readWrite, .privateUser), "removed": (.readWrite, .privateUser),
        ]
        if let (permission, role) = asked[column] {
            try await scene.share(SharePermission.none, [.invite("_other", .readWrite), .invite("_asker", permission, role: role)])
        } else {
            try await scene.share(column == "openRW" ? .readWrite : column == "openRO" ? .readOnly : SharePermission.none)
        }
        let guid = try await scene.guid()
        if !["invited", "invitedAd", "stranger"].contains(column) { _ = try await scene.accept(guid, by: "_asker") }
        if column == "left" { try await scene.guest("_asker").modify([.delete(ShareNames.ofZone)], zone: ShareScene.zone) }
        if column == "removed" { try await scene.share(nil, [.invite("_other", .readWrite)]) }
        // Admission does not depend on tasks that have run.
        if column.utf8.count % 2 == 0 { try await scene.world.runAllTasks() }
        return (scene, scene.guest("_asker"))
    }

    private func outcome(_ asked: String, _ scene: ShareScene, _ asker: TestCloudUser) async throws -> String {
        let zone = ShareScene.zone
        let share = try await scene.ada.lookup([ShareNames.ofZone], zone: zone).first?.record
        func modified(_ operation: RecordOperation) async throws -> String { word(try await asker.modify([operation], zone: zone).first?.error) }
        func saved(_ change: ShareChange, _ fields: RecordFields = [:]) async throws -> String {
            try await modified(.share(.update, change, tag: share?.recordChangeTag, fields))
        }
        let note = try await scene.ada.lookup(["note"], zone: zone).first?.record
        switch asked {
        case "lookup": return word(try await asker.lookup(["note"], zone: zone).first?.error)
        case "lookupShare": return word(try await asker.lookup([ShareNames.ofZone], zone: zone).first?.error)
        case "query": return try await asker.query("Note", zone: zone).records.count == 1 ? "yes" : "empty"
        case "changes": return try await asker.changes(zone).records.count == 2 ? "yes" : "empty"
        case "records": return try await scene.recordChanges(by: asker).contains("note") ? "yes" : "empty"
        case "download", "stolen", "reref": return try await scene.outcome(ofFile: asked, of: "note", by: asker)
        case "zones":
            let zones = try await scene.world.cloud.listZones(in: asker.target, by: asker.caller).zones.compactMap { $0.zone?.zoneID.zoneName }
            return zones.contains(zone) ? "yes" : "gone"
        case "zone":
            let request = ZonesLookupRequest(zones: [ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)])
            return word(try await scene.world.cloud.lookupZones(request, in: asker.target, by: asker.caller).zones.first?.error)
        case "database":
            try await scene.world.runAllTasks()
            return try await asker.databaseChanges().zones.contains { $0.zoneID.zoneName == zone && $0.deletion == nil } ? "yes" : "gone"
        case "resolve": return word(try await scene.resolve(try await scene.guid(), by: asker.caller).error)
        case "accept": return word(try await scene.accept(try await scene.guid(), by: asker.caller).error)
        case "token":
            let zoneID = ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)
            return try await scene.world.cloud.currentSyncToken(of: zoneID, in: asker.target, by: asker.caller) == nil ? "gone" : "yes"
        case "create": return try await modified(.create("new", ["text": .string("x")]))
        case "child": return try await modified(.create("new", ["text": .string("x")], parent: "note"))
        case "update": return try await modified(.update("note", ["text": .string("x")]))
        case "replace": return try await modified(.make(.replace, "note", tag: note?.recordChangeTag, ["text": .string("x")]))
        case "delete": return try await modified(.delete("note"))
        case "retitle": return try await saved(ShareChange(), ["cloudkit.title": .string("new")])
        case "invite":
            if share?.sharing?.value.publicPermission != SharePermission.none { return try await saved(ShareChange(participants: [])) }
            return try await saved(ShareChange(participants: (share?.sharing?.value.participants ?? []) + [.invite("_new")]))
        case "open": return try await saved(ShareChange(publicPermission: .readOnly))
        case "endShare":
            let word = try await modified(.delete(ShareNames.ofZone))
            guard word == "yes" else { return word }
            return try await scene.ada.lookup([ShareNames.ofZone], zone: zone).first?.record == nil ? "stop" : "leave"
        case "upload":
            var caller = asker.caller
            caller.credential = .device(id: "d", account: "a")
            let zoneID = ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)
            let request = AssetsUploadRequest(tokens: [.init(recordName: "note", recordType: "Note", fieldName: "f")], zoneID: zoneID)
            _ = try await scene.world.cloud.requestUploads(request, in: asker.target, by: caller)
            return "yes"
        case "deleteZone": return word(try await asker.deleteZone(zone).first?.error)
        default: return "unknown"
        }
    }

    private func word(_ error: ServerError?) -> String {
        switch error?.code {
        case nil: "yes"
        case .accessDenied?: "no"
        case .zoneNotFound?: "gone"
        case .notFound?: "none"
        case .badRequest?: "bad"
        case let code?: code.rawValue
        }
    }

    @Test(arguments: text.split(separator: "\n").map(String.init)) func `a shared zone lets in whom its line says`(line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        #expect(words.count == Self.columns.count + 1)
        var given: [String] = []
        for column in Self.columns {
            let (scene, asker) = try await seat(column)
            do {
                given.append(try await outcome(words[0], scene, asker))
            } catch let error as ServerError {
                given.append(word(error))
            }
            // A refused user has changed nothing, and other participants are unchanged.
            if ["gone", "no", "bad"].contains(given.last) {
                #expect(try await scene.ada.lookup(["note"], zone: ShareScene.zone).first?.record?.fields["text"] == .string("first"))
            }
        }
        #expect(given == Array(words.dropFirst()), "the line would be\n\((words.prefix(1) + given).joined(separator: "  "))")
    }
}
