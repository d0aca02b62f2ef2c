import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of a shared zone, from its share to the last participant who leaves, over every engine. CloudKit: `CKShare`;
/// docs/decisions/shares.md.
@Suite struct ZoneShareTests {
    private static let zone = ShareScene.zone
    private static let trip = ZoneID(zoneName: ShareScene.zone, ownerRecordName: ShareScene.ada)

    // MARK: Making

    @Test(arguments: Engine.ofRules) func `a share has a URL nobody can guess, and the same one when the zone is shared again`(engine: Engine)
        async throws
    {
        let scene = try await ShareScene(engine)
        let saved = try #require(try await scene.share(fields: ["cloudkit.title": .string("Our trip")])?.record)
        let details = try #require(saved.sharing?.value)
        #expect(saved.recordType == ShareNames.recordType && saved.fields["cloudkit.title"] == .string("Our trip"))
        #expect(Base64URL.decode(details.shortGUID)?.count == 16)
        #expect(details.publicPermission == .none && details.owner.identity.userRecordName == ShareScene.ada)
        #expect(details.participants == [details.owner] && details.currentUserParticipant == details.owner)
        #expect(try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: Self.zone).first?.tombstone != nil)
        try await scene.world.runAllTasks()
        #expect(try await scene.share(.readOnly)?.record?.sharing?.value.shortGUID == details.shortGUID)
        // A zone that is made again is another one.
        try await scene.ada.deleteZone(Self.zone)
        try await scene.ada.makeZone(Self.zone)
        try await scene.world.runAllTasks()
        let other = try #require(try await scene.share(.readOnly)?.record?.sharing?.value.shortGUID)
        #expect(other != details.shortGUID)
        #expect(try await scene.resolve(details.shortGUID, by: "_ben").error == .notInvited)
        #expect(try await scene.resolve(other, by: "_ben").share != nil)
    }

    @Test func `a share is saved as if unchanged on the server, whatever the policy`() async throws {
        let scene = try await ShareScene(.memory)
        let first = try #require(try await scene.share(.readOnly)?.record)
        let again = try await scene.ada.modify([.share(.create, ShareChange())], zone: Self.zone).first?.error
        #expect(again?.code == .conflict && again?.serverRecord?.value.sharing?.value.publicPermission == .readOnly)
        let forced = RecordOperation.share(.forceUpdate, ShareChange(publicPermission: .readWrite))
        #expect(try await scene.ada.modify([forced], zone: Self.zone).first?.error?.code == .conflict)
        let tagged = RecordOperation.share(.forceUpdate, ShareChange(publicPermission: .readWrite), tag: first.recordChangeTag)
        #expect(try await scene.ada.modify([tagged], zone: Self.zone).first?.record?.sharing?.value.publicPermission == .readWrite)
    }

    @Test(arguments: Engine.ofRules) func `a share keeps fields of the app, and is told anew with each change of its participants`(engine: Engine)
        async throws
    {
        let scene = try await ShareScene(engine)
        let fields: RecordFields = ["cloudkit.title": .string("Our trip"), "cloudkit.type": .string("trip"), "color": .string("red")]
        #expect(try await scene.share(SharePermission.none, fields: fields)?.record?.fields == fields)
        var token = try await scene.ada.changes(Self.zone).syncToken
        /// Returns the names that come with a share in the feed, after each step.
        func told() async throws -> [Set<String>] {
            let page = try await scene.ada.changes(Self.zone, after: token)
            token = page.syncToken
            return page.records.compactMap(\.record).map { record in
                #expect(record.recordName == ShareNames.ofZone && record.fields == fields)
                return Set(record.sharing?.value.participants.compactMap { $0.identity.userRecordName } ?? [])
            }
        }
        try await scene.share(nil, [.invite("_ben")])
        #expect(try await told() == [[ShareScene.ada, "_ben"]])
        _ = try await scene.accept(try await scene.guid(), by: "_ben")
        #expect(try await told() == [[ShareScene.ada, "_ben"]])
        #expect(try await scene.guest("_ben").changes(Self.zone).records.compactMap(\.record).contains { $0.fields == fields })
        try await scene.guest("_ben").modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        #expect(try await told() == [[ShareScene.ada]])
        try await scene.ada.modify([.update("note")], zone: Self.zone)
        #expect(
            try await scene.ada.changes(Self.zone, after: token).records.compactMap(\.recordName) == ["note"], "a record's change is not the share's")
    }

    @Test func `what cannot be shared is refused, and says why`() async throws {
        let scene = try await ShareScene(.memory)
        func error(_ operation: RecordOperation, zone: String = Self.zone, _ user: TestCloudUser? = nil) async throws -> ServerError? {
            try await (user ?? scene.ada).modify([operation], zone: zone).first?.error
        }
        #expect(try await error(.share(.create, ShareChange()), zone: ZoneID.defaultZoneName) == .zoneCannotBeShared)
        #expect(
            try await error(.share(.create, ShareChange()), zone: ZoneID.defaultZoneName, scene.world.user("_ada", in: .public))
                == .cannotShareInPublic)
        #expect(try await error(.share(.create, ShareChange(), name: "mine")) == .shareNeedsZoneName)
        #expect(try await error(.share(.create, ShareChange(forRecord: "note"))) == .shareNeedsZoneName)
        #expect(try await error(.create(ShareNames.ofZone)) == .nameIsForShare)
        let decorated = RecordOperation(.create, RecordChange(recordName: "x", recordType: "Note", sharing: ShareChange(publicPermission: .readOnly)))
        #expect(try await error(decorated) == .onlySharesHaveParticipants)
        #expect(try await error(.create("x", ["cloudkit.title": .string("t")]))?.field == "cloudkit.title")
        let refers = RecordOperation.share(.create, ShareChange(), ["to": .reference(Reference(recordName: "note", action: .deleteSelf))])
        #expect(try await error(refers) == .shareRefersToNothing)
        #expect(try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.error == .recordNotFound)
    }

    // MARK: Coming

    @Test(arguments: Engine.ofRules) func `who is invited sees nothing before accepting, and the zone afterwards`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.share(SharePermission.none, [.invite("_ben", .readWrite)])
        let guid = try await scene.guid()
        let ben = scene.guest("_ben")
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.changes(Self.zone) }
        #expect(try await scene.zones(of: "_ben") == [])
        let before = try #require(try await scene.resolve(guid, by: "_ben").share)
        #expect(before.participantStatus == .invited && before.participantType == .privateUser && before.participantPermission == .readWrite)
        #expect(before.databaseScope == "SHARED" && before.zoneID == Self.trip && before.ownerIdentity.userRecordName == ShareScene.ada)
        let after = try #require(try await scene.accept(guid, by: "_ben").share)
        #expect(after.participantStatus == .accepted && after.share.sharing?.value.currentUserParticipant?.acceptance == .accepted)
        #expect(try await scene.zones(of: "_ben") == [Self.trip])
        #expect(try await ben.databaseChanges().zones.map(\.zoneID) == [Self.trip])
        #expect(Set(try await ben.changes(Self.zone).records.compactMap(\.recordName)) == ["note", ShareNames.ofZone])
        let again = try #require(try await scene.accept(guid, by: "_ben").share)
        #expect(again.share.recordChangeTag == after.share.recordChangeTag, "accepting once more changes nothing")
        #expect(try await scene.accept(guid, by: ShareScene.ada).share?.databaseScope == "PRIVATE")
    }

    @Test(arguments: Engine.ofRules) func `whoever has the URL of an open share may join by it`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.share(.readOnly)
        let guid = try await scene.guid()
        let visitor = try #require(try await scene.resolve(guid, by: "_eve").share)
        #expect(visitor.participantType == .publicUser && visitor.participantStatus == .invited)
        #expect(visitor.share.sharing?.value.participants.count == 1, "the owner alone")
        #expect(try await scene.accept(guid, by: "_eve").share?.participantPermission == .readOnly)
        #expect(try await scene.guest("_eve").modify([.update("note")], zone: Self.zone).first?.error == .writeNotPermitted)
        try await scene.share(.readWrite)
        #expect(try await scene.guest("_eve").modify([.update("note")], zone: Self.zone).first?.error == nil, "with the share's permission of now")
        try await scene.share(SharePermission.none)
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await scene.guest("_eve").lookup(["note"], zone: Self.zone) }
        #expect(try await scene.accept(guid, by: "_eve").error == .notInvited)
    }

    @Test func `an invited address is claimed by the account that has verified it, and by no other`() async throws {
        let scene = try await ShareScene(.memory)
        let registry = scene.world.cloud.registry
        try await scene.share(SharePermission.none, [.mail("Ben@Example.com", .readWrite)])
        let guid = try await scene.guid()
        func caller(_ name: String, _ email: String) async throws -> Caller {
            let account = try await registry.createAccount(email: email, passwordHash: "h")
            return Caller(.user(name), account: account.id)
        }
        let ben = try await caller("_ben", "ben@example.com")
        let eve = try await caller("_eve", "eve@example.com")
        #expect(try await scene.accept(guid, by: ben).error == .participantMayNeedVerification)
        #expect(try await scene.resolve(guid, by: ben).error == .participantMayNeedVerification)
        #expect(try await registry.verifyEmail("eve@example.com", of: #require(eve.account)))
        #expect(try await scene.accept(guid, by: eve).error == .notInvited)
        #expect(try await registry.verifyEmail("ben@example.com", of: #require(ben.account)))
        #expect(try await scene.accept(guid, by: ben).share?.participantPermission == .readWrite)
        let shown = try await scene.guest("_ben").lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value
        #expect(shown?.currentUserParticipant?.identity.userRecordName == "_ben")
        #expect(try await scene.accept(guid, by: eve).error == .notInvited, "an invitation is claimed once")
    }

    @Test func `unknown, malformed and ended URLs, and shares that are not for the caller, are one answer and as many reads`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await ShareScene(TestCloud(store))
        try await scene.share(SharePermission.none, [.invite("_ben")])
        let guid = try await scene.guid()
        let unknown = Base64URL.encode([UInt8](repeating: 7, count: 16))
        _ = try await scene.resolve(guid, by: "_stranger")
        var answers: [ServerError?] = []
        var reads: [Int] = []
        for text in [guid, unknown, "", "not a guid at all", String(guid.dropLast()), guid + "A"] {
            store.reset()
            answers.append(try await scene.resolve(text, by: "_stranger").error)
            reads.append(store.transactions.count)
            store.reset()
            #expect(try await scene.accept(text, by: "_stranger").error == .notInvited)
            reads.append(store.transactions.count)
        }
        #expect(answers.allSatisfy { $0 == .notInvited })
        try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        store.reset()
        #expect(try await scene.resolve(guid, by: "_ben").error == .notInvited)
        reads.append(store.transactions.count)
        // A database that does not exist is searched each time.
        #expect(Set(reads).count <= 2 && (reads.max() ?? 0) - (reads.min() ?? 0) <= 1, "\(reads)")
    }

    // MARK: Using

    @Test(arguments: Engine.ofRules) func `a participant's save is the owner's record, under the participant's name`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite, "_cleo": .readOnly])
        let (ben, cleo) = (scene.guest("_ben"), scene.guest("_cleo"))
        let token = try await scene.ada.changes(Self.zone).syncToken
        let seen = try await cleo.databaseChanges().syncToken
        let saved = try #require(try await ben.modify([.create("his", ["text": .string("x")], parent: "note")], zone: Self.zone).first?.record)
        #expect(saved.created.userRecordName == "_ben" && saved.zoneID == Self.trip)
        #expect(saved.parent == Reference(recordName: "note", action: .none), "a parent is in its record's zone")
        #expect(try await scene.ada.lookup(["his"], zone: Self.zone).first?.record == saved)
        #expect(Set(try await scene.ada.changes(Self.zone, after: token).records.compactMap(\.recordName)) == ["his", "note"])
        try await scene.world.runAllTasks()
        let heard = try await cleo.databaseChanges(after: seen)
        #expect(heard.zones.map(\.zoneID) == [Self.trip])
        #expect(try await cleo.lookup(["his"], zone: Self.zone).first?.record == saved)
        #expect(try await cleo.query("Note", zone: Self.zone).records.isEmpty == false)
        for operation in [RecordOperation.update("note"), .delete("note"), .create("hers")] {
            #expect(try await cleo.modify([operation], zone: Self.zone).first?.error?.code == .accessDenied)
        }
        #expect(try await ben.modify([.delete("his")], zone: Self.zone).first?.tombstone != nil)
        #expect(try await scene.ada.lookup(["his"], zone: Self.zone).first?.error == .recordNotFound)
        await #expect(throws: ServerError.missing("zoneID")) {
            try await scene.world.cloud.queryRecords(RecordsQueryRequest(query: Query(recordType: "Note")), in: cleo.target, by: cleo.caller)
        }
    }

    @Test func `what participants save counts against the owner`() async throws {
        let scene = try await ShareScene(.memory, quotas: Quotas(userBytes: 2000))
        try await scene.join(["_ben": .readWrite])
        let large = RecordOperation.create("large", ["text": .string(String(repeating: "x", count: 2000))])
        #expect(try await scene.guest("_ben").modify([large], zone: Self.zone).first?.error?.code == .quotaExceeded)
        #expect(try await scene.user("_ben").modify([.create("small", ["text": .string("x")])]).first?.error == nil, "his own database is empty")
        let before = try await scene.world.cloud.usage(of: ShareScene.ada, in: TestCloud.container, .development).bytes
        try await scene.guest("_ben").modify([.create("small", ["text": .string("x")])], zone: Self.zone)
        #expect(try await scene.world.cloud.usage(of: ShareScene.ada, in: TestCloud.container, .development).bytes > before)
    }

    @Test func `zones of several owners are one database, and one answer`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.join(["_ben": .readOnly])
        let cleo = scene.user("_cleo")
        try await cleo.makeZone("Trip", "Private")
        try await cleo.modify([.create("hers")], zone: "Trip")
        _ = try await scene.share(.readOnly, by: cleo)
        let guid = try await cleo.lookup([ShareNames.ofZone], zone: "Trip").first?.record?.sharing?.value.shortGUID ?? ""
        _ = try await scene.accept(guid, by: "_ben")
        let other = ZoneID(zoneName: "Trip", ownerRecordName: "_cleo")
        #expect(try await scene.zones(of: "_ben") == [Self.trip, other])
        let ben = scene.guest("_ben")
        let hidden = ZoneID(zoneName: "Private", ownerRecordName: "_cleo")
        let asked = ChangesZoneRequest(zones: [other, hidden, Self.trip].map { .init(zoneID: $0) })
        let pages = try await scene.world.cloud.zoneChanges(asked, in: ben.target, by: ben.caller).zones
        guard case .page(let first) = pages[0], case .failure(hidden, let error) = pages[1], case .page(let third) = pages[2] else {
            Issue.record("\(pages)")
            return
        }
        #expect(first.zoneID == other && first.records.contains { $0.recordName == "hers" })
        #expect(error == .zoneNotFound(hidden))
        #expect(third.zoneID == Self.trip && third.records.contains { $0.recordName == "note" })
        // A token of one zone is not valid for the other.
        let swapped = ChangesZoneRequest(zones: [.init(zoneID: Self.trip, syncToken: first.syncToken)])
        guard case .failure(_, .tokenOfAnotherZone)? = try await scene.world.cloud.zoneChanges(swapped, in: ben.target, by: ben.caller).zones.first
        else {
            Issue.record("the token of another zone was taken")
            return
        }
        await #expect(throws: ServerError.notInSharedDatabase) { try await ben.makeZone("Mine") }
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Trip"))) {
            try await scene.world.user("_ben", in: .shared).lookup(["x"], zone: "Trip")
        }
    }

    // MARK: Going

    @Test(arguments: Engine.ofRules) func `a participant who deletes the share leaves it, and the others stay`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readOnly, "_cleo": .readWrite])
        let ben = scene.guest("_ben")
        let token = try await ben.databaseChanges().syncToken
        #expect(try await ben.modify([.delete(ShareNames.ofZone)], zone: Self.zone).first?.tombstone?.recordName == ShareNames.ofZone)
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.lookup(["note"], zone: Self.zone) }
        #expect(try await scene.zones(of: "_ben") == [], "before any task has run")
        try await scene.world.runAllTasks()
        let heard = try await ben.databaseChanges(after: token).zones
        #expect(heard.map(\.zoneID) == [Self.trip] && heard.first?.deletion == .deleted)
        let kept = try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value
        #expect(kept?.participants.map(\.identity.userRecordName) == [ShareScene.ada, "_cleo"])
        #expect(try await scene.guest("_cleo").modify([.update("note")], zone: Self.zone).first?.error == nil)
        #expect(try await scene.accept(scene.guid(), by: "_ben").error == .notInvited, "who left is invited again, or not")
    }

    @Test(arguments: Engine.ofRules) func `an owner who deletes the share ends it at once`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite])
        let guid = try await scene.guid()
        let ben = scene.guest("_ben")
        let (token, page) = (try await ben.databaseChanges().syncToken, try await ben.changes(Self.zone))
        try await ben.modify([.update("note")], zone: Self.zone, id: "once")
        try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.lookup(["note"], zone: Self.zone) }
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.changes(Self.zone, after: page.syncToken) }
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.modify([.update("note")], zone: Self.zone, id: "once") }
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await ben.query("Note", zone: Self.zone) }
        #expect(try await scene.accept(guid, by: "_ben").error == .notInvited)
        try await scene.world.runAllTasks()
        #expect(try await ben.databaseChanges(after: token).zones.first?.deletion == .deleted)
        #expect(try await scene.ada.lookup(["note"], zone: Self.zone).first?.record != nil)
        // Shared again, all users are invited anew.
        try await scene.join(["_ben": .readOnly])
        #expect(try await ben.databaseChanges(after: token).zones.map(\.deletion) == [nil])
        #expect(try await ben.changes(Self.zone, after: page.syncToken).records.isEmpty == false)
    }

    @Test(arguments: Engine.ofRules) func `a shared zone that is deleted goes from its participants`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite])
        let (guid, token) = (try await scene.guid(), try await scene.guest("_ben").databaseChanges().syncToken)
        try await scene.ada.deleteZone(Self.zone)
        try await scene.ada.makeZone(Self.zone)
        #expect(try await scene.zones(of: "_ben") == [])
        try await scene.world.runAllTasks()
        #expect(try await scene.guest("_ben").databaseChanges(after: token).zones.first?.deletion == .deleted)
        #expect(try await scene.resolve(guid, by: "_ben").error == .notInvited)
        let findings = try await scene.world.check()
        #expect(findings == [])
    }

    @Test func `an administrator changes participants, and leaves like any other`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.share(SharePermission.none, [.invite("_eve", .readOnly, role: .administrator), .invite("_ben")])
        let guid = try await scene.guid()
        _ = try await scene.accept(guid, by: "_eve")
        _ = try await scene.accept(guid, by: "_ben")
        let eve = scene.guest("_eve")
        let seen = try #require(try await eve.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value)
        #expect(seen.participants.count == 3)
        let kept = seen.participants.filter { $0.identity.userRecordName != "_ben" }
        #expect(try await scene.share(nil, kept + [.invite("_cleo", .readWrite)], by: eve)?.error == nil)
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await scene.guest("_ben").lookup(["note"], zone: Self.zone) }
        #expect(try await scene.accept(guid, by: "_cleo").share?.participantPermission == .readWrite)
        #expect(try await eve.modify([.update("note")], zone: Self.zone).first?.error == .writeNotPermitted, "an administrator writes by permission")
        #expect(try await scene.share(.readOnly, by: scene.guest("_cleo"))?.error == .shareIsItsOwners)
        #expect(try await eve.modify([.delete(ShareNames.ofZone)], zone: Self.zone).first?.tombstone != nil)
        #expect(try await scene.guest("_cleo").lookup(["note"], zone: Self.zone).first?.record != nil)
    }

    @Test func `a damaged share lets nobody in, and nobody's data go`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.join(["_ben": .readOnly])
        let database = try await scene.world.cloud.databaseID(
            DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: ShareScene.ada))
        try await scene.world.store.write { transaction -> Ending<Void> in
            let zone = try #require(try transaction.advance(zoneNamed: Self.zone, in: database).zone)
            var row = try #require(try transaction.records(in: zone.address, named: [ShareNames.ofZone]).first)
            let before = row.number
            row.body[row.body.count - 6] ^= 1
            var plan = WritePlan()
            plan.records = [
                RecordPut(
                    zone: zone.address, row: row, leaves: [ViewNumber(view: .owner, number: before)],
                    enters: [
                        FeedRow(position: ViewNumber(view: .owner, number: before), entered: before, isDeparture: false)
                    ], isNew: false)
            ]
            try transaction.apply(plan)
            return .commit(())
        }
        await #expect(throws: ServerError.recordDamaged) { try await scene.guest("_ben").lookup(["note"], zone: Self.zone) }
    }
}
