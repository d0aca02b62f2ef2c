import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// Tests with four random users at one zone with shares of records: the owner makes, moves, deletes and shares
/// records, invites and removes; the others accept, leave and write. An oracle that climbs from each record to its
/// root checks each answer, and each follower's copy.
@Suite(.timeLimit(.minutes(10))) struct RecordShareHistoryTests {
    private static let steps = LongSearch.rounds("NACRE_OPERATIONS", part: 500, whole: 800)

    @Test(arguments: Engine.ofHistories) func `what anybody sees, may do and hears is what the shares of records say`(engine: Engine) async throws {
        var run = try await ForestRun(engine)
        // The history goes on until it has met everything.
        func isVaried() -> Bool {
            run.allowed > Self.steps / 20 && run.refused > Self.steps / 20 && run.heard > Self.steps / 40
        }
        for step in 0..<Self.steps * 10 where step < Self.steps || !isVaried() {
            try await run.step()
            if !run.faults.isEmpty {
                run.faults.append("at step \(step)")
                break
            }
        }
        #expect(run.faults == [], "\(run.random) \(engine)")
        #expect(isVaried(), "\(run.random) \(run.heard)")
        try await run.scene.world.runAllTasks()
        let findings = try await run.scene.world.check()
        #expect(findings == [], "\(run.random)")
    }
}

/// A naive model of a zone with shares of records.
private struct ForestOracle {
    struct Guest {
        var permission: SharePermission
        var isAccepted = false
    }

    /// shares[rootName]; the share's record name is an S before the root's.
    var shares: [String: [String: Guest]] = [:]
    var parents: [String: String] = [:]
    var texts: [String: String] = [:]

    /// Returns the root of the share that a record is in; nil: it is in none.
    func root(of name: String) -> String? {
        var next: String? = name
        while let here = next {
            if shares[here] != nil { return here }
            next = parents[here]
        }
        return nil
    }

    func isBelow(_ name: String, _ other: String) -> Bool {
        var next: String? = name
        while let here = next {
            if here == other { return true }
            next = parents[here]
        }
        return false
    }

    func children(of name: String) -> [String] { parents.filter { $0.value == name }.map(\.key) }

    func hasRoot(below name: String) -> Bool { shares.keys.contains { $0 != name && isBelow($0, name) } }

    func permission(of user: String, on name: String?) -> SharePermission {
        guard let name, texts[name] != nil, let root = root(of: name), let guest = shares[root]?[user], guest.isAccepted else { return .none }
        return guest.permission
    }

    func takesPart(_ user: String) -> Bool {
        shares.values.contains { share in share[user].map { $0.isAccepted && $0.permission != .none } ?? false }
    }

    func sees(_ user: String) -> [String: String] {
        var seen = texts.filter { permission(of: user, on: $0.key) != .none }
        for root in shares.keys where permission(of: user, on: root) != .none { seen["S" + root] = "share" }
        return seen
    }

    func mayWriteSomewhere(_ user: String) -> Bool { texts.keys.contains { permission(of: user, on: $0) == .readWrite } }
}

private struct ForestFollower {
    var token: String?
    var zoneToken: String?
    var isThere = false
    var texts: [String: String] = [:]
}

private struct ForestRun {
    let scene: ShareScene
    var random = SeededRandom()
    var oracle = ForestOracle()
    var faults: [String] = []
    var allowed = 0
    var refused = 0
    var heard = 0
    private let guests = ["_ben", "_cleo", "_dan"]
    private let names = (0..<9).map { "r\($0)" }
    private var followers: [String: ForestFollower] = [:]
    private var guids: [String: String] = [:]
    private var count = 0

    init(_ engine: Engine) async throws {
        scene = try await ShareScene(engine)
        for guest in guests { followers[guest] = ForestFollower() }
        for (index, name) in names.enumerated() {
            let parent = index == 0 ? nil : names[(index - 1) / 2]
            try await scene.ada.modify([.create(name, ["text": .string(name)], parent: parent)], zone: ShareScene.zone)
            (oracle.texts[name], oracle.parents[name]) = (name, parent)
        }
    }

    mutating func step() async throws {
        count += 1
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1: try await share()
        case 2, 3: try await invite()
        case 4: try await remove()
        case 5, 6: try await accept()
        case 7: try await leave()
        case 8: if random.chance(3) { try await stop() }
        case 9, 10: try await make()
        case 11: try await accept()
        case 12, 13, 14: try await move()
        case 15: try await save()
        case 16: if random.chance(3) { try await delete() }
        case 17: try await scene.world.runAllTasks()
        default: for guest in guests { try await follow(guest) }
        }
        for guest in guests { try await look(guest) }
    }

    private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { faults.append("\(what()); \(oracle)") }
    }

    private mutating func anyGuest() -> String { guests.randomElement(using: &random) ?? "" }
    private mutating func anyName() -> String { names.randomElement(using: &random) ?? "" }
    private mutating func anyRoot() -> String? { oracle.shares.keys.sorted().randomElement(using: &random) }
    private mutating func anyUser() -> String { random.chance(2) ? ShareScene.ada : anyGuest() }

    // MARK: The owner's shares

    private mutating func share() async throws {
        let root = anyName()
        let saved = try await scene.ada.modify(
            [.share(.create, ShareChange(publicPermission: SharePermission.none, forRecord: root), name: "S" + root)], zone: ShareScene.zone
        ).first
        let may = oracle.texts[root] != nil && oracle.root(of: root) == nil && !oracle.hasRoot(below: root)
        expect((saved?.record != nil) == may, "shared \(root): \(String(describing: saved?.error))")
        guard may else { return }
        oracle.shares[root] = [:]
        let guid = saved?.record?.sharing?.value.shortGUID ?? ""
        expect(guids[root] == nil || guids[root] == guid, "\(root) has another URL")
        guids[root] = guid
    }

    private func save(_ list: [ShareParticipant], of root: String) async throws -> RecordResult? {
        let there = try await scene.ada.lookup(["S" + root], zone: ShareScene.zone).first?.record
        return try await scene.ada.modify(
            [.share(.update, ShareChange(participants: list), tag: there?.recordChangeTag, name: "S" + root)], zone: ShareScene.zone
        ).first
    }

    private func listed(_ root: String) async throws -> [ShareParticipant] {
        try await scene.ada.lookup(["S" + root], zone: ShareScene.zone).first?.record?.sharing?.value.participants ?? []
    }

    private mutating func invite() async throws {
        guard let root = anyRoot() else { return }
        let guest = anyGuest()
        let permission = [SharePermission.readOnly, .readWrite, .readWrite, .none].randomElement(using: &random) ?? SharePermission.none
        var list = try await listed(root)
        if let index = list.firstIndex(where: { $0.identity.userRecordName == guest }) {
            list[index].permission = permission
            oracle.shares[root]?[guest]?.permission = permission
        } else {
            list.append(.invite(guest, permission))
            oracle.shares[root]?[guest] = .init(permission: permission)
        }
        expect(try await save(list, of: root)?.record != nil, "cannot invite to \(root)")
        if !random.chance(3) { try await accept(root, by: guest) }
    }

    private mutating func remove() async throws {
        guard let root = anyRoot() else { return }
        let guest = anyGuest()
        expect(try await save(try await listed(root).filter { $0.identity.userRecordName != guest }, of: root)?.record != nil, "cannot remove")
        oracle.shares[root]?[guest] = nil
    }

    private mutating func stop() async throws {
        guard let root = anyRoot() else { return }
        try await scene.ada.modify([.delete("S" + root)], zone: ShareScene.zone)
        oracle.shares[root] = nil
    }

    // MARK: Guests

    private mutating func accept() async throws {
        try await accept(random.chance(3) ? anyName() : anyRoot() ?? anyName(), by: anyGuest())
    }

    private mutating func accept(_ root: String, by guest: String) async throws {
        let answer = try await scene.accept(guids[root] ?? "unknown", by: guest)
        let isInvited = oracle.shares[root]?[guest] != nil
        expect((answer.share != nil) == isInvited, "\(guest) accepts \(root): \(String(describing: answer.error))")
        if let error = answer.error { expect(error == .notInvited, "told \(error.reason)") }
        if isInvited { oracle.shares[root]?[guest]?.isAccepted = true }
    }

    private mutating func leave() async throws {
        guard let root = anyRoot() else { return }
        let guest = anyGuest()
        let sees = oracle.permission(of: guest, on: root) != .none
        let result = try await modify(.delete("S" + root), by: guest)
        expect((result == nil) == !oracle.takesPart(guest), "\(guest) leaves \(root): \(String(describing: result?.error))")
        if sees { oracle.shares[root]?[guest] = nil }
    }

    /// Returns the result; nil: the zone does not exist for the user.
    private func modify(_ operation: RecordOperation, by user: String) async throws -> RecordResult? {
        do {
            let asker = user == ShareScene.ada ? scene.ada : scene.guest(user)
            return try await asker.modify([operation], zone: ShareScene.zone).first
        } catch let error as ServerError where error.code == .zoneNotFound {
            return nil
        }
    }

    private mutating func judge(_ result: RecordResult?, _ may: Bool, by user: String, _ what: String) {
        let isThere = user == ShareScene.ada || oracle.takesPart(user)
        expect((result == nil) == !isThere, "\(user) at the zone, \(what)")
        let done = result != nil && result?.error == nil
        expect(done == (may && isThere), "\(user) \(what): \(String(describing: result?.error))")
        allowed += done ? 1 : 0
        refused += done ? 0 : 1
    }

    private mutating func make() async throws {
        let (user, name, parent) = (anyUser(), anyName(), random.chance(4) ? nil : anyName())
        // Circles are tested elsewhere.
        if parent == name { return }
        let isOwner = user == ShareScene.ada
        let text = "\(user) \(count)"
        let result = try await modify(.create(name, ["text": .string(text)], parent: parent), by: user)
        let hasParent = parent.map { oracle.texts[$0] != nil } ?? isOwner
        let may = oracle.texts[name] == nil && hasParent && (isOwner || oracle.permission(of: user, on: parent) == .readWrite)
        judge(result, may, by: user, "makes \(name) below \(parent ?? "nothing")")
        if result?.record != nil { (oracle.texts[name], oracle.parents[name]) = (text, parent) }
    }

    private mutating func save() async throws {
        let (user, name) = (anyUser(), anyName())
        guard oracle.texts[name] != nil else { return }
        let text = "\(user) \(count)"
        let result = try await modify(.update(name, ["text": .string(text)]), by: user)
        judge(result, user == ShareScene.ada || oracle.permission(of: user, on: name) == .readWrite, by: user, "saves \(name)")
        if result?.record != nil { oracle.texts[name] = text }
    }

    private mutating func move() async throws {
        let (user, name, parent) = (anyUser(), anyName(), random.chance(4) ? nil : anyName())
        // Circles are tested elsewhere.
        guard oracle.texts[name] != nil, parent.map({ oracle.texts[$0] != nil && !oracle.isBelow($0, name) }) ?? true else { return }
        let change: RecordChange.ParentChange = parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .clear
        let result = try await modify(.make(.forceUpdate, name, parent: change), by: user)
        let isRoot = oracle.shares[name] != nil
        let (before, after) = (oracle.root(of: name), parent.flatMap(oracle.root))
        var may = isRoot ? after == nil : after == nil || before != nil || !oracle.hasRoot(below: name)
        var keeps = false
        if user != ShareScene.ada {
            let writes = oracle.permission(of: user, on: name) == .readWrite
            keeps = isRoot && parent == nil
            may = writes && (keeps || !isRoot && oracle.permission(of: user, on: parent) == .readWrite)
        }
        judge(result, may, by: user, "moves \(name) below \(parent ?? "nothing")")
        if result?.record != nil, !keeps { oracle.parents[name] = parent }
    }

    private mutating func delete() async throws {
        let (user, name) = (anyUser(), anyName())
        guard oracle.texts[name] != nil else { return }
        let result = try await modify(.delete(name), by: user)
        let isOwner = user == ShareScene.ada
        let permission = oracle.permission(of: user, on: name)
        // A record that a guest does not see does not exist for guests who may write: its deletion is no error.
        let isNothing = !isOwner && permission == .none && oracle.mayWriteSomewhere(user)
        let may = oracle.children(of: name).isEmpty && (isOwner || permission == .readWrite && oracle.shares[name] == nil)
        judge(result, may || isNothing, by: user, "deletes \(name)")
        guard may, result?.error == nil, result != nil else { return }
        (oracle.texts[name], oracle.parents[name], oracle.shares[name]) = (nil, nil, nil)
    }

    // MARK: Looking

    private static func text(of record: Record) -> String {
        if record.sharing != nil { return "share" }
        guard case .string(let text)? = record.fields["text"] else { return "" }
        return text
    }

    private mutating func look(_ guest: String) async throws {
        let user = scene.guest(guest)
        var seen: [String: String] = [:]
        do {
            for record in try await user.lookup(names + names.map { "S" + $0 } + ["note"], zone: ShareScene.zone).compactMap(\.record) {
                seen[record.recordName] = Self.text(of: record)
                if let parent = record.parent?.recordName { expect(oracle.sees(guest)[parent] != nil, "\(guest) is told of \(parent)") }
            }
            expect(oracle.takesPart(guest), "\(guest) finds the zone")
            let found = try await user.query("Note", zone: ShareScene.zone).records.compactMap(\.recordName)
            expect(Set(found) == Set(oracle.sees(guest).keys.filter { !$0.hasPrefix("S") }), "\(guest) is answered \(found)")
        } catch let error as ServerError {
            expect(error == .zoneNotFound(ZoneID(zoneName: ShareScene.zone, ownerRecordName: ShareScene.ada)), "\(error)")
            expect(!oracle.takesPart(guest), "\(guest) does not find the zone")
        }
        expect(seen == oracle.sees(guest), "\(guest) sees \(seen)")
    }

    /// Follows the shared database, once its tasks are done. Each record is reported once.
    private mutating func follow(_ guest: String) async throws {
        try await scene.world.runAllTasks()
        let user = scene.guest(guest)
        var follower = followers[guest] ?? ForestFollower()
        var more = true
        while more {
            let page = try await user.databaseChanges(after: follower.token, limit: 1)
            for zone in page.zones {
                follower.isThere = zone.deletion == nil
                if zone.deletion != nil { (follower.texts, follower.zoneToken) = ([:], nil) }
            }
            (follower.token, more) = (page.syncToken, page.moreComing)
        }
        expect(follower.isThere == oracle.takesPart(guest), "\(guest) heard that the zone is there: \(follower.isThere)")
        var (told, pages): (Set<String>, Int) = ([], 0)
        more = follower.isThere && faults.isEmpty
        while more {
            pages += 1
            guard pages < 100 else { return expect(false, "\(guest) never comes to the end") }
            do {
                let page = try await user.changes(ShareScene.zone, after: follower.zoneToken, limit: 2)
                for result in page.records {
                    let name = result.recordName ?? ""
                    expect(told.insert(name).inserted, "\(guest) hears of \(name) twice")
                    if result.record == nil { expect(oracle.sees(guest)[name] == nil, "\(guest) hears that \(name) is gone") }
                    follower.texts[name] = result.record.map(Self.text)
                    heard += 1
                }
                (follower.zoneToken, more) = (page.syncToken, page.moreComing)
            } catch let error as ServerError where error == .tokenExpired && follower.zoneToken != nil {
                // The guest left one of several shares.
                (follower.texts, follower.zoneToken, told) = ([:], nil, [])
            }
        }
        expect(follower.texts == oracle.sees(guest), "\(guest) has heard \(follower.texts)")
        followers[guest] = follower
    }
}
