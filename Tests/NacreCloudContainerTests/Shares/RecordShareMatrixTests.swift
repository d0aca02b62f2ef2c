import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// Tests of permissions in a shared hierarchy: a line is a request and its record, a column a user. Written from
/// CloudKit's `CKShare`. Users who may write change or delete any record of the share except the root, which only the
/// owner can delete. All may leave. The rest of the zone is invisible.
///
/// `stolen`: a download by the owner's URL, which the server distinguishes by its credential. `reref`: for another
/// field. `yes`; `no`: ACCESS_DENIED; `none`: NOT_FOUND; `bad`: invalid, also for the owner; `gone`: ZONE_NOT_FOUND;
/// `leave`, `stop`: of the share.
@Suite struct RecordShareMatrixTests {
    static let columns = [
        "owner", "adminRW", "adminRO", "adminNO", "writer", "reader", "nothing", "openRW", "openRO", "invited", "invitedAd",
        "left", "removed", "stranger",
    ]

    static let text = """
        lookup trip     yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        lookup day      yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        lookup stop     yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        lookup S        yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        lookup other    yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        lookup above    yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        lookup note     yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        lookup nosuch   none   none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        lookup O        yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        query -         7      4        4        gone     4       4       gone     4       4       gone     gone       gone  gone     gone
        changes -       9      5        5        gone     5       5       gone     5       5       gone     gone       gone  gone     gone
        zones -         yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        token -         yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        update trip     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        update stop     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        update other    yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        update nosuch   yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        update day      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        update above    yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        update note     yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        replace stop    yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        replace other   yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        replace nosuch  none   none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        replace trip    yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        replace day     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        replace above   yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        replace note    yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        child trip      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        child stop      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        child other     yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        child nosuch    bad    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        child day       yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        child above     yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        child note      yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        child S         bad    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        free -          yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        delete trip     bad    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        delete stop     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        delete other    yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        delete nosuch   none   none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        delete day      bad    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        delete above    bad    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        delete note     yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        delete O        yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        raise stop      yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        raise day       yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        moveTo note     yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        moveTo night    yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        moveTo other    yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        moveTo above    yes    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        moveTo S        bad    bad      no       gone     bad     no      gone     bad     no      gone     gone       gone  gone     gone
        moveRoot day    bad    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        moveRoot note   yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        retitle S       yes    yes      yes      gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        invite S        yes    yes      yes      gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        share stop      bad    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        share trip      bad    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        share above     bad    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        share note      yes    no       no       gone     no      no      gone     no      no      gone     gone       gone  gone     gone
        endShare S      stop   leave    leave    gone     leave   leave   gone     leave   leave   gone     gone       gone  gone     gone
        upload stop     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        upload trip     yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        download trip   yes    yes      yes      none     yes     yes     none     yes     yes     none     none       none  none     none
        download stop   yes    yes      yes      none     yes     yes     none     yes     yes     none     none       none  none     none
        download other  yes    none     none     none     none    none    none     none    none    none     none       none  none     none
        download above  yes    none     none     none     none    none    none     none    none    none     none       none  none     none
        download note   yes    none     none     none     none    none    none     none    none    none     none       none  none     none
        stolen stop     yes    yes      yes      none     yes     yes     none     yes     yes     none     none       none  none     none
        stolen other    yes    none     none     none     none    none    none     none    none    none     none       none  none     none
        stolen note     yes    none     none     none     none    none    none     none    none    none     none       none  none     none
        reref trip      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        reref stop      yes    yes      no       gone     yes     no      gone     yes     no      gone     gone       gone  gone     gone
        reref other     yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        reref note      yes    none     no       gone     none    no      gone     none    no      gone     gone       gone  gone     gone
        feed trip       yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        feed stop       yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        feed S          yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        feed other      yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        feed above      yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        feed note       yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        feed O          yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        records trip    yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        records stop    yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        records S       yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        records other   yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        records above   yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        records note    yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        records O       yes    none     none     gone     none    none    gone     none    none    gone     gone       gone  gone     gone
        zone -          yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        database -      yes    yes      yes      gone     yes     yes     gone     yes     yes     gone     gone       gone  gone     gone
        resolve S       yes    yes      yes      yes      yes     yes     yes      yes     yes     yes      yes        no    no       no
        accept S        yes    yes      yes      yes      yes     yes     yes      yes     yes     yes      yes        no    no       no
        """

    private func seat(_ column: String) async throws -> (tree: TreeScene, asker: TestCloudUser) {
        let tree = try await TreeScene(.memory, assets: true)
        // The record beside it is shared too, with another user.
        try await tree.join("other", as: "O", ["_dan": .readWrite])
        let asked: [String: (SharePermission, ParticipantRole)] = [
            "adminRW": (.readWrite, .administrator), "adminRO": (.readOnly, .administrator), "adminNO": (SharePermission.none, .administrator),
            "writer": (.readWrite, .privateUser), "invitedAd": (.readWrite, .administrator),
            "reader": (.readOnly, .privateUser), "nothing": (SharePermission.none, .privateUser), "invited": (.readWrite, .privateUser),
            "left": (.readWrite, .privateUser), "removed": (.readWrite, .privateUser),
        ]
        if let (permission, role) = asked[column] {
            try await tree.share("trip", as: "S", SharePermission.none, [.invite("_other", .readWrite), .invite("_asker", permission, role: role)])
        } else {
            try await tree.share("trip", as: "S", column == "openRW" ? .readWrite : column == "openRO" ? .readOnly : SharePermission.none)
        }
        if column == "owner" { return (tree, tree.ada) }
        if !["invited", "invitedAd", "stranger"].contains(column) { _ = try await tree.scene.accept(try await tree.guid("S"), by: "_asker") }
        if column == "left" { try await tree.guest("_asker").modify([.delete("S")], zone: TreeScene.zone) }
        if column == "removed" { try await tree.share("trip", as: "S", nil, [.invite("_other", .readWrite)]) }
        if column.utf8.count % 2 == 0 { try await tree.scene.world.runAllTasks() }
        return (tree, tree.guest("_asker"))
    }

    private func outcome(_ asked: String, _ name: String, _ tree: TreeScene, _ asker: TestCloudUser) async throws -> String {
        let zone = TreeScene.zone
        let share = try await tree.ada.lookup(["S"], zone: zone).first?.record
        func modified(_ operation: RecordOperation) async throws -> String { word(try await asker.modify([operation], zone: zone).first?.error) }
        func saved(_ change: ShareChange, _ fields: RecordFields = [:]) async throws -> String {
            try await modified(.share(.update, change, tag: share?.recordChangeTag, fields, name: "S"))
        }
        func below(_ parent: String) -> RecordChange.ParentChange { .set(Reference(recordName: parent, action: .none)) }
        let there = try await tree.ada.lookup([name], zone: zone).first?.record
        switch asked {
        case "lookup": return word(try await asker.lookup([name], zone: zone).first?.error)
        case "query": return "\(try await asker.query("Note", zone: zone).records.count)"
        case "changes": return "\(try await asker.changes(zone).records.count)"
        case "feed": return try await asker.changes(zone).records.contains { $0.recordName == name } ? "yes" : "none"
        case "records": return try await tree.scene.recordChanges(by: asker).contains(name) ? "yes" : "none"
        case "download", "stolen", "reref": return try await tree.scene.outcome(ofFile: asked, of: name, by: asker)
        case "zones":
            let zones = try await tree.scene.world.cloud.listZones(in: asker.target, by: asker.caller).zones.compactMap { $0.zone?.zoneID.zoneName }
            return zones.contains(zone) ? "yes" : "gone"
        case "zone":
            let request = ZonesLookupRequest(zones: [ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)])
            return word(try await tree.scene.world.cloud.lookupZones(request, in: asker.target, by: asker.caller).zones.first?.error)
        case "database":
            try await tree.scene.world.runAllTasks()
            return try await asker.databaseChanges().zones.contains { $0.zoneID.zoneName == zone && $0.deletion == nil } ? "yes" : "gone"
        case "resolve": return word(try await tree.scene.resolve(try await tree.guid("S"), by: asker.caller).error)
        case "accept": return word(try await tree.scene.accept(try await tree.guid("S"), by: asker.caller).error)
        case "token":
            let zoneID = ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)
            return try await tree.scene.world.cloud.currentSyncToken(of: zoneID, in: asker.target, by: asker.caller) == nil ? "gone" : "yes"
        case "update": return try await modified(.update(name, TreeScene.text("x")))
        case "replace": return try await modified(.make(.replace, name, tag: there?.recordChangeTag ?? "1", TreeScene.text("x")))
        case "child": return try await modified(.create("new", TreeScene.text("x"), parent: name))
        case "free": return try await modified(.create("new", TreeScene.text("x")))
        case "delete": return try await modified(.make(.delete, name, type: nil, tag: there?.recordChangeTag))
        case "raise": return try await modified(.make(.forceUpdate, name, parent: .clear))
        case "moveTo": return try await modified(.make(.forceUpdate, "stop", parent: below(name)))
        case "moveRoot": return try await modified(.make(.forceUpdate, "trip", parent: below(name)))
        case "retitle": return try await saved(ShareChange(), ["cloudkit.title": .string("new")])
        case "invite":
            if share?.sharing?.value.publicPermission != SharePermission.none { return try await saved(ShareChange(participants: [])) }
            return try await saved(ShareChange(participants: (share?.sharing?.value.participants ?? []) + [.invite("_new")]))
        case "share": return try await modified(.share(.create, ShareChange(forRecord: name), name: "D"))
        case "endShare":
            let word = try await modified(.delete("S"))
            guard word == "yes" else { return word }
            return try await tree.ada.lookup(["S"], zone: zone).first?.record == nil ? "stop" : "leave"
        case "upload":
            var caller = asker.caller
            caller.credential = .device(id: "d", account: "a")
            let zoneID = ZoneID(zoneName: zone, ownerRecordName: asker.zoneOwner)
            let request = AssetsUploadRequest(tokens: [.init(recordName: name, recordType: "Note", fieldName: "f")], zoneID: zoneID)
            _ = try await tree.scene.world.cloud.requestUploads(request, in: asker.target, by: caller)
            return "yes"
        default: return "unknown"
        }
    }

    private func word(_ error: ServerError?) -> String {
        switch error?.code {
        case nil: "yes"
        case .accessDenied?: "no"
        case .notFound?: "none"
        case .zoneNotFound?: "gone"
        case .badRequest?, .validatingReferenceError?: "bad"
        case let code?: code.rawValue
        }
    }

    @Test(arguments: text.split(separator: "\n").map(String.init)) func `a shared record lets in whom its line says`(line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        #expect(words.count == Self.columns.count + 2)
        var given: [String] = []
        for column in Self.columns {
            let (tree, asker) = try await seat(column)
            do {
                given.append(try await outcome(words[0], words[1], tree, asker))
            } catch let error as ServerError {
                given.append(word(error))
            }
            // Unshared records never change.
            if column != "owner" {
                for name in ["above", "other", "note"] {
                    let text = try await tree.ada.lookup([name], zone: TreeScene.zone).first?.record?.fields["text"]
                    #expect(text == .string(name == "note" ? "first" : name))
                }
            }
        }
        #expect(given == Array(words.dropFirst(2)), "the line would be\n\((words.prefix(2) + given).joined(separator: "  "))")
    }
}
