import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Three users at one zone, at random: the owner invites, opens, closes, stops and deletes, the others accept and leave, all of them write. Each answer is
/// held against an oracle that keeps lists and recomputes who may do what; and what each follower has heard against what it may see.
@Suite(.timeLimit(.minutes(10))) struct ShareHistoryTests {
    private static let steps = ProcessInfo.processInfo.environment["NACRE_OPERATIONS"].flatMap { Int($0) } ?? 250

    @Test(arguments: Engine.allCases) func `what anybody sees, may do and hears is what the share says`(engine: Engine) async throws {
        var run = try await ShareRun(engine)
        for step in 0..<Self.steps {
            try await run.step()
            if !run.faults.isEmpty {
                run.faults.append("at step \(step)")
                break
            }
        }
        #expect(run.faults == [], "\(run.random) \(engine)")
        // A run in which nobody takes part, or everybody always does, finds nothing.
        #expect(run.allowed > Self.steps / 20 && run.refused > Self.steps / 20, "\(run.random)")
        let findings = try await run.scene.world.check()
        #expect(findings == [], "\(run.random)")
    }
}

/// The naive account of a shared zone.
private struct ShareOracle {
    struct Guest {
        var permission: SharePermission
        var isPublic: Bool
        var isAccepted: Bool
    }

    /// nil: not shared.
    var open: SharePermission?
    var guests: [String: Guest] = [:]
    var texts: [String: String] = [:]

    func permission(of user: String) -> SharePermission {
        if user == ShareScene.ada { return .readWrite }
        guard let open, let guest = guests[user], guest.isAccepted else { return .none }
        return guest.isPublic ? open : guest.permission
    }

    func sees(_ user: String) -> [String: String] {
        guard permission(of: user) != .none else { return [:] }
        return open == nil ? texts : texts.merging([ShareNames.ofZone: "share"]) { first, _ in first }
    }
}

/// A device that follows the shared database.
private struct Follower {
    var token: String?
    var zoneToken: String?
    var isThere = false
    var texts: [String: String] = [:]
}

private struct ShareRun {
    let scene: ShareScene
    var random = SeededRandom()
    var oracle = ShareOracle()
    var faults: [String] = []
    var allowed = 0
    var refused = 0
    private let guests = ["_ben", "_cleo"]
    private var followers: [String: Follower] = [:]
    private var guid = "unknown"
    private var count = 0

    init(_ engine: Engine) async throws {
        scene = try await ShareScene(engine)
        oracle.texts = ["note": "first"]
        for guest in guests { followers[guest] = Follower() }
    }

    mutating func step() async throws {
        count += 1
        switch Int.random(in: 0..<16, using: &random) {
        case 0: try await open()
        case 1, 2: try await invite()
        case 3: try await remove()
        case 4, 5, 6: try await accept()
        case 7: try await leave()
        case 8: if random.chance(3) { try await stop() }
        case 9, 10, 11: try await save()
        case 12: try await delete()
        case 13: if random.chance(6) { try await remakeZone() }
        case 14: try await scene.world.runAllTasks()
        default: for guest in guests { try await follow(guest) }
        }
        for guest in guests { try await look(guest) }
    }

    private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { faults.append("\(what()); \(oracle)") }
    }

    private mutating func any() -> String { guests.randomElement(using: &random) ?? "" }

    // MARK: The owner

    private mutating func open() async throws {
        let permission = [SharePermission.none, .readOnly, .readWrite].randomElement(using: &random) ?? SharePermission.none
        let saved = try await scene.share(permission)?.record
        expect(saved != nil, "the owner cannot open")
        let was = oracle.open ?? SharePermission.none
        if was == .none, permission != .none { oracle.guests = oracle.guests.filter { $0.value.isAccepted } }
        if was != .none, permission == .none { oracle.guests = [:] }
        oracle.open = permission
        guid = saved?.sharing?.value.shortGUID ?? guid
    }

    private func listed() async throws -> [ShareParticipant] {
        try await scene.ada.lookup([ShareNames.ofZone], zone: ShareScene.zone).first?.record?.sharing?.value.participants ?? []
    }

    /// Invites somebody, or gives a participant another permission.
    private mutating func invite() async throws {
        let guest = any()
        let permission = [SharePermission.readOnly, .readWrite, .none].randomElement(using: &random) ?? SharePermission.none
        var list = try await listed()
        if let place = list.firstIndex(where: { $0.identity.userRecordName == guest }) {
            list[place].permission = permission
        } else {
            list.append(.invite(guest, permission))
        }
        let saved = try await scene.share(nil, list)
        let isKnown = oracle.guests[guest] != nil
        let mayInvite = isKnown || (oracle.open ?? SharePermission.none) == .none
        expect((saved?.record != nil) == mayInvite, "invited \(guest): \(String(describing: saved?.error))")
        guard mayInvite else { return }
        oracle.open = oracle.open ?? SharePermission.none
        if isKnown {
            oracle.guests[guest]?.permission = permission
        } else {
            oracle.guests[guest] = .init(permission: permission, isPublic: false, isAccepted: false)
        }
        guid = saved?.record?.sharing?.value.shortGUID ?? guid
    }

    private mutating func remove() async throws {
        guard oracle.open != nil else { return }
        let guest = any()
        let saved = try await scene.share(nil, try await listed().filter { $0.identity.userRecordName != guest })
        expect(saved?.record != nil, "the owner cannot remove")
        oracle.guests[guest] = nil
    }

    private mutating func stop() async throws {
        try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: ShareScene.zone)
        (oracle.open, oracle.guests) = (nil, [:])
    }

    private mutating func remakeZone() async throws {
        try await scene.ada.deleteZone(ShareScene.zone)
        try await scene.ada.makeZone(ShareScene.zone)
        (oracle.open, oracle.guests, oracle.texts) = (nil, [:], [:])
    }

    // MARK: Participants

    private mutating func accept() async throws {
        let guest = any()
        let answer = try await scene.accept(guid, by: guest)
        let isInvited = oracle.open != nil && oracle.guests[guest] != nil
        let isOpen = (oracle.open ?? SharePermission.none) != .none
        expect((answer.share != nil) == (isInvited || isOpen), "\(guest) accepts: \(String(describing: answer.error))")
        if let error = answer.error { expect(error == .notInvited, "told \(error.reason)") }
        if isInvited {
            oracle.guests[guest]?.isAccepted = true
        } else if isOpen {
            oracle.guests[guest] = .init(permission: .none, isPublic: true, isAccepted: true)
        }
    }

    private mutating func leave() async throws {
        let guest = any()
        do {
            try await scene.guest(guest).modify([.delete(ShareNames.ofZone)], zone: ShareScene.zone)
            expect(oracle.permission(of: guest) != .none, "\(guest) left what is not shared")
            oracle.guests[guest] = nil
        } catch let error as ServerError {
            expect(error.code == .zoneNotFound && oracle.permission(of: guest) == .none, "\(guest) cannot leave: \(error.reason)")
        }
    }

    /// - Returns: nil: the zone is not there.
    private func modify(_ operation: RecordOperation, by user: String) async throws -> RecordResult? {
        do {
            let asker = user == ShareScene.ada ? scene.ada : scene.guest(user)
            return try await asker.modify([operation], zone: ShareScene.zone).first
        } catch let error as ServerError where error.code == .zoneNotFound {
            return nil
        }
    }

    private mutating func judge(_ result: RecordResult?, by user: String) -> Bool {
        let permission = oracle.permission(of: user)
        expect((result == nil) == (permission == .none), "\(user) with \(permission) hears \(String(describing: result?.error))")
        let done = result != nil && result?.error == nil
        expect(done == (permission == .readWrite), "\(user) with \(permission): \(String(describing: result?.error))")
        if let error = result?.error { expect(error.code == .accessDenied, "\(error)") }
        allowed += done ? 1 : 0
        refused += done ? 0 : 1
        return done
    }

    private mutating func save() async throws {
        let user = random.chance(3) ? ShareScene.ada : any()
        let (name, text) = ("r\(Int.random(in: 0..<8, using: &random))", "\(user) \(count)")
        let result = try await modify(.update(name, ["text": .string(text)]), by: user)
        if judge(result, by: user) { oracle.texts[name] = text }
    }

    private mutating func delete() async throws {
        let user = random.chance(3) ? ShareScene.ada : any()
        let name = "r\(Int.random(in: 0..<8, using: &random))"
        let result = try await modify(.delete(name), by: user)
        if judge(result, by: user) { oracle.texts[name] = nil }
    }

    // MARK: Looking

    private mutating func look(_ guest: String) async throws {
        let user = scene.guest(guest)
        let expected = oracle.sees(guest)
        let names = (0..<8).map { "r\($0)" } + ["note", ShareNames.ofZone]
        var seen: [String: String] = [:]
        do {
            for record in try await user.lookup(names, zone: ShareScene.zone).compactMap(\.record) { seen[record.recordName] = Self.text(of: record) }
            expect(oracle.permission(of: guest) != .none, "\(guest) finds the zone")
        } catch let error as ServerError {
            expect(error == .zoneNotFound(ZoneID(zoneName: ShareScene.zone, ownerRecordName: ShareScene.ada)), "\(error)")
            expect(oracle.permission(of: guest) == .none, "\(guest) does not find the zone")
        }
        expect(seen == expected, "\(guest) sees \(seen)")
        let zones = try await scene.zones(of: guest)
        if zones.isEmpty == false { expect(oracle.permission(of: guest) != .none, "\(guest) lists the zone") }
    }

    private static func text(of record: Record) -> String {
        if record.sharing != nil { return "share" }
        guard case .string(let text)? = record.fields["text"] else { return "" }
        return text
    }

    /// Follows the shared database, once its tasks are done: the zones, then what changed in the one that is there. Each record is told once.
    private mutating func follow(_ guest: String) async throws {
        try await scene.world.runAllTasks()
        let user = scene.guest(guest)
        var follower = followers[guest] ?? Follower()
        var more = true
        while more {
            let page = try await user.databaseChanges(after: follower.token, limit: 1)
            for zone in page.zones {
                follower.isThere = zone.deletion == nil
                if zone.deletion != nil { (follower.texts, follower.zoneToken) = ([:], nil) }
            }
            (follower.token, more) = (page.syncToken, page.moreComing)
        }
        let sees = oracle.permission(of: guest) != .none
        expect(follower.isThere == sees, "\(guest) heard that the zone is there: \(follower.isThere)")
        if follower.isThere {
            var told: Set<String> = []
            more = true
            while more {
                do {
                    let page = try await user.changes(ShareScene.zone, after: follower.zoneToken, limit: 3)
                    for result in page.records {
                        let name = result.recordName ?? ""
                        expect(told.insert(name).inserted, "\(guest) hears of \(name) twice")
                        follower.texts[name] = result.record.map(Self.text)
                    }
                    (follower.zoneToken, more) = (page.syncToken, page.moreComing)
                } catch let error as ServerError where error.code == .badRequest && follower.zoneToken != nil {
                    // The zone was made again.
                    (follower.texts, follower.zoneToken, told) = ([:], nil, [])
                }
            }
        }
        expect(follower.texts == oracle.sees(guest), "\(guest) has heard \(follower.texts)")
        followers[guest] = follower
    }
}
