import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of shares of a record and its descendants. CloudKit: `CKShare`, "shared hierarchies".
@Suite struct RecordShareTests {
    private static let zone = TreeScene.zone

    @Test(arguments: Engine.ofRules)
    func `a participant sees the share, its root and what hangs on it, and nothing else`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        let saved = try #require(try await tree.share("trip", as: "S", SharePermission.none, [.invite("_ben", .readWrite)])?.record)
        #expect(try await tree.ada.lookup(["trip"], zone: Self.zone).first?.record?.share?.recordName == "S")
        let ben = tree.guest("_ben")
        await #expect(throws: ServerError.self, "not before it is accepted") { try await ben.lookup(["trip"], zone: Self.zone) }
        let metadata = try #require(try await tree.scene.accept(saved.sharing?.value.shortGUID ?? "", by: "_ben").share)
        #expect(metadata.rootRecordName == "trip" && metadata.rootRecord == nil && metadata.share.recordName == "S")
        try await tree.scene.world.runAllTasks()

        #expect(try await tree.found(TreeScene.names, by: ben) == ["S", "trip", "day", "night", "stop"])
        let hidden = try await ben.lookup(["note", "nosuch"], zone: Self.zone).map(\.error)
        #expect(hidden[0] == hidden[1] && hidden[0] == .recordNotFound)
        #expect(Set(try await ben.query("Note", zone: Self.zone).records.compactMap(\.recordName)) == ["trip", "day", "night", "stop"])
        var follower = TreeFollower(ben)
        #expect(try await follower.follow().sorted() == ["S", "day", "night", "stop", "trip"])
        let root = try #require(try await ben.lookup(["trip"], zone: Self.zone).first?.record)
        #expect(root.parent == nil && root.share?.recordName == "S", "what the root hangs on is not told")
        #expect(try await ben.lookup(["stop"], zone: Self.zone).first?.record?.parent?.recordName == "day")
        #expect(try await tree.scene.zones(of: "_ben").map(\.zoneName) == [Self.zone])
        #expect(try await ben.databaseChanges().zones.count == 1)
        await #expect(throws: ServerError.self) { try await tree.guest("_cleo").lookup(["trip"], zone: Self.zone) }
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules)
    func `what moves into a share, between shares and out of them comes and goes once with all that hangs on it`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readWrite, "_cleo": .readOnly])
        try await tree.join("other", as: "O", ["_cleo": .readOnly, "_dan": .readOnly])
        var (ben, cleo, dan) = (TreeFollower(tree.guest("_ben")), TreeFollower(tree.guest("_cleo")), TreeFollower(tree.guest("_dan")))
        var ada = TreeFollower(tree.ada)
        _ = (try await ben.follow(), try await cleo.follow(), try await dan.follow(), try await ada.follow())
        #expect(ben.names == ["S", "trip", "day", "night", "stop"] && dan.names == ["O", "other"] && cleo.names == ben.names.union(dan.names))

        #expect(try await tree.move("day", below: "other") == nil)
        #expect(try await ben.follow().sorted() == ["-day", "-stop", "trip"].filter { $0 != "trip" })
        #expect(Set(try await dan.follow()) == ["day", "stop", "other"])
        // A user who sees both shares keeps the records.
        #expect(Set(try await cleo.follow()) == ["day", "stop", "other"])
        #expect(Set(try await ada.follow()) == ["day", "other"], "nobody touches what hangs on it")
        #expect(try await tree.found(["day", "stop"], by: ben.user) == [])

        #expect(try await tree.move("day", below: nil) == nil)
        #expect(try await dan.follow().sorted() == ["-day", "-stop"])
        #expect(try await cleo.follow().sorted() == ["-day", "-stop"])
        #expect(try await ben.follow() == [])

        #expect(try await tree.move("note", below: "stop") == nil)
        #expect(try await tree.move("day", below: "night") == nil)
        #expect(Set(try await ben.follow()) == ["day", "stop", "note", "night"])
        #expect(try await dan.follow() == [])
        #expect(try await ben.follow() == [] && ben.names == ["S", "trip", "day", "night", "stop", "note"])

        try await tree.ada.modify([.delete("note")], zone: Self.zone)
        #expect(try await ben.follow() == ["-note"])
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules)
    func `a subtree larger than a transaction comes and goes in portions, each record once`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        let count = Limits.subtreePerTransaction * 2 + 50
        for start in stride(from: 0, to: count, by: 200) {
            let some = (start..<min(start + 200, count)).map {
                RecordOperation.create("r\($0)", TreeScene.text("r"), parent: $0 % 2 == 0 ? "day" : "stop")
            }
            try await tree.ada.modify(some, zone: Self.zone)
        }
        try await tree.join("trip", as: "S", ["_ben": .readOnly])
        var ben = TreeFollower(tree.guest("_ben"))
        let first = try await ben.follow(limit: 200)
        #expect(first.count < count && Set(first).count == first.count)
        try await tree.scene.world.runAllTasks()
        let rest = try await ben.follow(limit: 200)
        #expect(first.count + rest.count == count + 5 && Set(first + rest).count == count + 5)

        #expect(try await tree.move("day", below: "other") == nil)
        var gone = try await ben.follow(limit: 200)
        #expect(gone.count < count)
        try await tree.scene.world.runAllTasks()
        gone += try await ben.follow(limit: 200)
        #expect(gone.count == count + 2 && Set(gone).count == gone.count && ben.names == ["S", "trip", "night"])
        // Moved back, and away again before its task ran.
        #expect(try await tree.move("day", below: "trip") == nil)
        #expect(try await tree.move("day", below: "other") == nil)
        try await tree.scene.world.runAllTasks()
        _ = try await ben.follow(limit: 200)
        #expect(ben.names == ["S", "trip", "night"])
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules) func `a share goes with its root, and a root forgets a share that went`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        let guid = try await tree.guid("S")
        let ben = tree.guest("_ben")
        try await tree.ada.modify([.delete("S")], zone: Self.zone)
        await #expect(throws: ServerError.self) { try await ben.lookup(["trip"], zone: Self.zone) }
        #expect(try await tree.ada.lookup(["trip"], zone: Self.zone).first?.record?.share == nil)
        #expect(try await tree.scene.accept(guid, by: "_ben").error == .notInvited)
        try await tree.scene.world.runAllTasks()
        #expect(try await ben.databaseChanges().zones.allSatisfy { $0.deletion != nil })

        // Shared again, it has its old URL, even under another record name.
        try await tree.join("trip", as: "S2", ["_ben": .readWrite])
        #expect(try await tree.guid("S2") == guid)
        #expect(try await tree.found(["trip", "stop"], by: ben) == ["trip", "stop"])
        #expect(try await ben.modify([.delete("trip")], zone: Self.zone).first?.error == .rootIsItsOwners)
        try await tree.ada.modify(["stop", "day", "night", "trip"].map { .delete($0) }, zone: Self.zone)
        #expect(try await tree.found(TreeScene.names + ["S2"], by: tree.ada) == ["above", "other", "note"])
        await #expect(throws: ServerError.self) { try await ben.lookup(["trip"], zone: Self.zone) }
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.scene.zones(of: "_ben") == [])
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules)
    func `a guest takes nothing along of a subtree that its owner is taking away`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        let count = Limits.subtreePerTransaction
        for start in stride(from: 0, to: count, by: 200) {
            let some = (start..<min(start + 200, count)).map { RecordOperation.create("r\($0)", TreeScene.text("r"), parent: "day") }
            try await tree.ada.modify(some, zone: Self.zone)
        }
        for number in 0..<count / 20 {
            try await tree.ada.modify([.create("s\(number)", TreeScene.text("s"), parent: "r\(number)")], zone: Self.zone)
        }
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        try await tree.join("other", as: "O", ["_ben": .readWrite])
        let ben = tree.guest("_ben")
        try await tree.scene.world.runAllTasks()
        for parent in ["other", "day"] { #expect(try await tree.move("r0", below: parent, by: ben) == nil, "what hangs on its view's root may move") }

        #expect(try await tree.move("day", below: "note") == nil)
        let names = (count - 100..<count).map { "r\($0)" } + (0..<count / 20).map { "s\($0)" }
        let left = try await tree.found(names, by: ben).sorted()
        try #require(!left.isEmpty)
        for name in left { #expect(try await tree.move(name, below: "other", by: ben) == .recordIsLeaving) }
        for name in left { #expect(try await ben.modify([.delete(name)], zone: Self.zone).first?.error == .recordIsLeaving) }
        #expect(try await tree.move("night", below: "other", by: ben) == nil, "what stays may move")
        #expect(try await ben.modify([.delete("night")], zone: Self.zone).first?.error == nil, "what stays may be deleted")
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.found(names, by: ben) == [])
        #expect(try await tree.scene.world.check() == [])
    }

    @Test func `nothing hangs on a share, so that its owner can end it`() async throws {
        let tree = try await TreeScene(.memory)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        let ben = tree.guest("_ben")
        #expect(try await tree.move("stop", below: "S", by: ben) == .nothingHangsOnShare("parent"))
        for action in [Reference.Action.validate, .deleteSelf, .none] {
            let field: RecordFields = ["with": .reference(Reference(recordName: "S", action: action))]
            let error = try await ben.modify([.create("\(action)", field, parent: "day")], zone: Self.zone).first?.error
            #expect(error == (action == .none ? nil : .nothingHangsOnShare("with")), "\(action)")
        }
        #expect(try await tree.ada.modify([.delete("S")], zone: Self.zone).first?.error == nil)
        #expect(try await tree.scene.world.check() == [])
    }

    @Test func `what hangs on a record that a guest deletes goes with it, seen or not`() async throws {
        let tree = try await TreeScene(.memory)
        let reference: RecordFields = ["with": .reference(Reference(recordName: "stop", action: .deleteSelf))]
        try await tree.ada.modify([.create("hidden", reference)], zone: Self.zone)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        #expect(try await tree.found(["hidden"], by: tree.guest("_ben")) == [])
        #expect(try await tree.guest("_ben").modify([.delete("stop")], zone: Self.zone).first?.error == nil)
        #expect(try await tree.found(["hidden", "stop"], by: tree.ada) == [])
    }

    @Test func `a circle that is longer than what is looked at is refused, and shows nobody anything`() async throws {
        let tree = try await TreeScene(.memory)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        let ben = tree.guest("_ben")
        var parent = "stop"
        for number in 0..<(Limits.parentLevels + 5) {
            let made = try await ben.modify([.create("z\(number)", TreeScene.text("z"), parent: parent)], zone: Self.zone).first?.error
            try #require(made == nil)
            parent = "z\(number)"
        }
        #expect(try await tree.move("day", below: parent, by: ben) == .parentTooDeep)
        #expect(try await tree.move("day", below: "z3", by: ben) == .parentRing)
        #expect(try await tree.move("day", below: "night", by: ben) == nil)
        try await tree.ada.modify([.delete("S")], zone: Self.zone)
        try await tree.scene.world.runAllTasks()
        try await tree.join("above", as: "S2", ["_cleo": .readOnly])
        #expect(try await tree.found(["stop", "z0"], by: tree.guest("_cleo")) == ["stop", "z0"])
        #expect(try await tree.move("day", below: nil) == nil)
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.found(["stop", "z0", "day"], by: tree.guest("_cleo")) == [])
    }

    @Test(arguments: Engine.ofRules) func `a refused share leaves no link, and a share that ends takes its link along`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        let test = tree.scene.world
        let part = Registry.Part.shares(container: tree.ada.target.container, tree.ada.target.environment)
        func links() async throws -> [String] {
            let database = try await test.cloud.registry.databaseID(part.key)
            return try await test.store.read { try $0.entries(in: database, .shareLink, after: nil, limit: 10).map(\.key.key) }
        }
        let refused = try await tree.ada.modify(
            (0..<3).map { .share(.create, ShareChange(forRecord: "nosuch\($0)"), name: "N\($0)") }, zone: Self.zone, atomic: false)
        #expect(refused.map(\.error) == Array(repeating: .rootNotFound, count: 3))
        #expect(try await links() == [])
        let guid = try #require(try await tree.share("trip", as: "S")?.record?.sharing?.value.shortGUID)
        #expect(try await links() == [guid])
        try await tree.ada.modify([.delete("S")], zone: Self.zone)
        #expect(try await tree.share("trip", as: "S2")?.error == nil)
        try await test.runAllTasks()
        #expect(try await links() == [guid], "the record is shared again")
        try await tree.ada.modify([.delete("S2")], zone: Self.zone)
        try await test.runAllTasks()
        #expect(try await links() == [])
    }

    @Test func `a record is in one share only, counting what it inherits`() async throws {
        let tree = try await TreeScene(.memory)
        #expect(try await tree.share("nosuch", as: "S")?.error == .rootNotFound)
        #expect(try await tree.share("trip", as: "S")?.error == nil)
        #expect(try await tree.share("trip", as: "D")?.error == .alreadyShared)
        #expect(try await tree.share("stop", as: "D")?.error == .alreadyShared, "it inherits a share")
        #expect(try await tree.share("above", as: "D")?.error == .alreadyShared, "a shared record hangs on it")
        #expect(try await tree.share("S", as: "D")?.error == .rootNotFound, "a share is not shared")
        #expect(try await tree.share("other", as: "O")?.error == nil)
        #expect(try await tree.move("other", below: "night") == .alreadyShared)
        #expect(try await tree.move("above", below: "night") == .parentRing)
        #expect(try await tree.move("day", below: "stop") == .parentRing)
        #expect(try await tree.scene.share(SharePermission.none)?.error == .zoneHasShares)
        let root = try await tree.ada.lookup(["S"], zone: Self.zone).first?.record
        let moved = RecordOperation.share(.update, ShareChange(forRecord: "other"), tag: root?.recordChangeTag, name: "S")
        #expect(try await tree.ada.modify([moved], zone: Self.zone).first?.error == .rootStays)
        // The owner may move a root within unshared records.
        #expect(try await tree.move("trip", below: "note") == nil)
        let zoneWide = try await ShareScene(.memory)
        try await zoneWide.share(SharePermission.none)
        let refused = try await zoneWide.ada.modify([.share(.create, ShareChange(forRecord: "note"), name: "S")], zone: Self.zone).first
        #expect(refused?.error == .zoneIsShared && refused?.error?.nativeCode == NativeErrorCode.serverRejectedRequest.rawValue)
        #expect(ServerError.zoneHasShares.nativeCode == NativeErrorCode.invalidArguments.rawValue)
    }

    @Test func `a root and its share are saved together, and a child with them`() async throws {
        let tree = try await TreeScene(.memory)
        let saved = try await tree.ada.modify(
            [
                .share(.create, ShareChange(publicPermission: .readOnly, forRecord: "new"), name: "N"), .create("new", TreeScene.text("n")),
                .create("leaf", TreeScene.text("l"), parent: "new"),
            ], zone: Self.zone)
        #expect(saved.compactMap(\.error) == [] && saved[1].record?.share?.recordName == "N")
        _ = try await tree.scene.accept(try await tree.guid("N"), by: "_ben")
        #expect(try await tree.found(TreeScene.names + ["N", "new", "leaf"], by: tree.guest("_ben")) == ["N", "new", "leaf"])
        // The share and its root may be deleted together.
        let gone = try await tree.ada.modify(["leaf", "new", "N"].map { .delete($0) }, zone: Self.zone)
        #expect(gone.compactMap(\.error) == [])
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules)
    func `who joins a second share of a zone hears of it, and who leaves one of two begins the zone again`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly])
        var ben = TreeFollower(tree.guest("_ben"))
        _ = try await ben.follow()
        try await tree.join("other", as: "O", ["_ben": .readWrite])
        #expect(try await ben.follow().sorted() == ["O", "other"])
        let token = ben.token
        try await tree.guest("_ben").modify([.delete("O")], zone: Self.zone)
        #expect(try await tree.ada.lookup(["O"], zone: Self.zone).first?.record?.sharing?.value.participants.count == 1)
        await #expect(throws: ServerError.tokenExpired) { try await ben.user.changes(Self.zone, after: token) }
        (ben.token, ben.names) = (nil, [])
        _ = try await ben.follow()
        #expect(ben.names == ["S", "trip", "day", "night", "stop"])
        // A token of the owner is not valid for a guest.
        let adas = try await tree.ada.changes(Self.zone).syncToken
        await #expect(throws: ServerError.tokenExpired) { try await ben.user.changes(Self.zone, after: adas) }
    }

    @Test(arguments: Engine.ofRules)
    func `what left two shares is told once, and also to who joined the second when it had left that too`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly, "_cleo": .readOnly])
        try await tree.join("other", as: "O", ["_cleo": .readOnly])
        var (ben, cleo) = (TreeFollower(tree.guest("_ben")), TreeFollower(tree.guest("_cleo")))
        _ = (try await ben.follow(), try await cleo.follow())
        try await tree.move("stop", below: "other")
        try await tree.move("stop", below: nil)
        try await tree.share("other", as: "O", nil, [.invite("_cleo"), .invite("_ben")])
        _ = try await tree.scene.accept(try await tree.guid("O"), by: "_ben")
        #expect(try await ben.follow(limit: 1).filter { $0.hasPrefix("-") } == ["-stop"])
        #expect(ben.names == ["S", "O", "trip", "day", "night", "other"])
        #expect(try await cleo.follow(limit: 1).filter { $0.hasPrefix("-") } == ["-stop"])
        #expect(cleo.names == ben.names)
    }

    @Test func `a writer makes records below what is shared with them, and learns nothing of the rest`() async throws {
        let tree = try await TreeScene(.memory)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        try await tree.join("other", as: "O", ["_ben": .readOnly])
        let ben = tree.guest("_ben")
        func error(_ operation: RecordOperation) async throws -> ServerError? { try await ben.modify([operation], zone: Self.zone).first?.error }
        #expect(try await error(.create("mine", TreeScene.text("m"), parent: "stop")) == nil)
        #expect(try await tree.ada.lookup(["mine"], zone: Self.zone).first?.record?.created.userRecordName == "_ben")
        #expect(try await error(.create("free", TreeScene.text("m"))) == .createNotPermitted)
        #expect(try await error(.create("note", TreeScene.text("m"))) == .createNotPermitted, "a name that is taken is as one that is not")
        #expect(try await error(.create("free", TreeScene.text("m"), parent: "other")) == .createNotPermitted)
        let unknown = try await error(.create("free", TreeScene.text("m"), parent: "nosuch"))
        let hidden = try await error(.create("free", TreeScene.text("m"), parent: "note"))
        #expect(unknown?.code == hidden?.code && unknown?.reason == hidden?.reason)
        for target in ["note", "nosuch"] {
            let refers = RecordOperation.create("free", ["to": .reference(Reference(recordName: target, action: .validate))], parent: "stop")
            #expect(try await error(refers)?.reason == ServerError.targetNotFound("to").reason)
        }
        #expect(try await tree.move("mine", below: nil, by: ben) == .parentIsNotShared)
        #expect(try await tree.move("mine", below: "other", by: ben) == .parentIsNotShared)
        #expect(try await tree.move("mine", below: "night", by: ben) == nil)
        #expect(try await tree.move("trip", below: "night", by: ben) == .rootIsItsOwners)
        #expect(try await error(.make(.update, "note", tag: "1", TreeScene.text("x"))) == .recordNotFound)
        let answer = try await ben.modify([.delete("note")], zone: Self.zone).first
        #expect(answer?.tombstone == Tombstone(recordName: "note", recordType: nil, zoneID: answer?.tombstone?.zoneID))
        #expect(try await tree.found(["note"], by: tree.ada) == ["note"])
        // The root, saved whole, keeps the parent that Ben does not see.
        #expect(try await error(.make(.forceReplace, "trip", TreeScene.text("x"), parent: .clear)) == nil)
        #expect(try await tree.ada.lookup(["trip"], zone: Self.zone).first?.record?.parent?.recordName == "above")
    }

    @Test(arguments: Engine.ofRules) func `a change of what is not shared is told to nobody`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly])
        try await tree.join("other", as: "O", ["_cleo": .readOnly])
        try await tree.scene.world.runAllTasks()
        let (ben, cleo) = (tree.guest("_ben"), tree.guest("_cleo"))
        let (bens, cleos) = (try await ben.databaseChanges().syncToken, try await cleo.databaseChanges().syncToken)
        try await tree.ada.modify([.update("note", TreeScene.text("x")), .update("stop", TreeScene.text("y"))], zone: Self.zone)
        try await tree.scene.world.runAllTasks()
        #expect(try await ben.databaseChanges(after: bens).zones.count == 1)
        #expect(try await cleo.databaseChanges(after: cleos).zones.isEmpty)
        let token = try await cleo.changes(Self.zone).syncToken
        try await tree.ada.modify([.delete("stop")], zone: Self.zone)
        #expect(try await cleo.changes(Self.zone, after: token).records.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a zone that goes takes its shares along, and a user who goes leaves them`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly, "_cleo": .readOnly])
        try await tree.join("other", as: "O", ["_ben": .readOnly])
        try await tree.scene.world.runAllTasks()
        try await tree.scene.world.cloud.leaveSharedZones(
            at: AppUser(container: TestCloud.container, environment: .development, userRecordName: "_ben"))
        for share in ["S", "O"] {
            let users = try await tree.ada.lookup([share], zone: Self.zone).first?.record?.sharing?.value.participants.map(\.identity.userRecordName)
            #expect(users?.contains("_ben") == false)
        }
        let guid = try await tree.guid("S")
        let token = try await tree.guest("_cleo").databaseChanges().syncToken
        try await tree.ada.deleteZone(Self.zone)
        try await tree.ada.makeZone(Self.zone)
        await #expect(throws: ServerError.self) { try await tree.guest("_cleo").lookup(["trip"], zone: Self.zone) }
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.guest("_cleo").databaseChanges(after: token).zones.map { $0.deletion != nil } == [true])
        #expect(try await tree.scene.accept(guid, by: "_cleo").error == .notInvited)
        let database = DatabaseID(
            DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: ShareScene.ada))
        for kind in [EntryKind.recordShare, .shareMembership] {
            let left = try await tree.scene.world.store.read { try $0.entries(in: database, kind, after: nil, limit: 10) }
            #expect(left == [])
        }
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules) func `tombstones take their places in all views along when they are purged`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly])
        try await tree.join("other", as: "O", ["_ben": .readOnly])
        let token = try await tree.guest("_ben").changes(Self.zone).syncToken
        try await tree.move("stop", below: "other")
        try await tree.ada.modify([.delete("stop")], zone: Self.zone)
        #expect(try await tree.guest("_ben").changes(Self.zone, after: token).records.filter { $0.tombstone != nil }.map(\.recordName) == ["stop"])
        tree.scene.world.clock.move(bySeconds: Limits.tombstoneSeconds + 2 * 24 * 3600)
        try await tree.scene.world.runAllTasks()
        await #expect(throws: ServerError.tokenExpired) { try await tree.guest("_ben").changes(Self.zone, after: token) }
        #expect(try await tree.scene.world.check() == [])
    }

    @Test func `a record remembers so many views that it left, and says from where on it forgot`() throws {
        var places = RecordViews.none
        let count = Limits.sharedPlacesPerRecord + 3
        for step in 1...count {
            let position = ViewAssignment(view: FeedView(rawValue: Int64(step)))
            places = places.moved(to: position, at: ChangeNumber(run: 1, seq: Int64(step)), from: "Note", forgotten: .zero)
            let forgot = places.trim()
            #expect(
                forgot == (step > Limits.sharedPlacesPerRecord ? ChangeNumber(run: 1, seq: Int64(step - Limits.sharedPlacesPerRecord) + 1) : .zero))
            #expect(places.view == position.view && places.places.count <= Limits.sharedPlacesPerRecord)
        }
        // A return to a view ends its departure; forgotten departures are removed too.
        let back = places.moved(
            to: ViewAssignment(view: FeedView(rawValue: Int64(count - 1))), at: ChangeNumber(run: 1, seq: 99), from: "Note",
            forgotten: ChangeNumber(run: 1, seq: 10))
        #expect(back.place(in: FeedView(rawValue: Int64(count - 1)))?.entered == ChangeNumber(run: 1, seq: 99))
        #expect(back.place(in: FeedView(rawValue: Int64(count)))?.typeLeft == "Note")
        #expect(back.places.allSatisfy { $0.number > ChangeNumber(run: 1, seq: 10) })
        var writer = ByteWriter()
        back.write(to: &writer)
        var reader = ByteReader(writer.bytes)
        #expect(try RecordViews(&reader) == back)
        #expect(reader.isAtEnd)
    }
}
