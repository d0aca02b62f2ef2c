import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with three random users at one zone. The owner invites by name, address and one-time URL, makes
/// administrators, opens, closes, answers requests, blocks, stops and deletes. The others accept by any earlier URL,
/// request access and leave; all write. An oracle recomputes permissions from lists, and checks answers and copies.
@Suite(.timeLimit(.minutes(10))) struct ShareHistoryTests {
    private static let steps = LongSearch.rounds("NACRE_OPERATIONS", part: 800, whole: 1500)

    @Test(arguments: Engine.ofHistories) func `what anybody sees, may do and hears is what the share says`(engine: Engine) async throws {
        var run = try await ShareRun(engine)
        // The history goes on until it has met everything.
        func isVaried() -> Bool {
            let rare = [run.claimed, run.late, run.asked, run.joined]
            return run.allowed > Self.steps / 20 && run.refused > Self.steps / 20 && rare.allSatisfy { $0 > 0 }
        }
        for step in 0..<Self.steps * 10 where step < Self.steps || !isVaried() {
            try await run.step()
            if !run.faults.isEmpty {
                run.faults.append("at step \(step)")
                break
            }
        }
        #expect(run.faults == [], "\(run.random) \(engine)")
        #expect(isVaried(), "\(run.random)")
        let findings = try await run.scene.world.check()
        #expect(findings == [], "\(run.random)")
    }
}

/// A naive model of a shared zone.
private struct ShareOracle {
    enum Invitation {
        case name, mail
    }

    struct Guest: Comparable {
        var permission: SharePermission
        var isPublic = false
        var isAccepted = false
        var isAdministrator = false
        /// The kind of invitation; nil: they came by a URL.
        var invitation: Invitation?

        private var rank: Int {
            (isAdministrator ? 10 : 0) + (permission == .readWrite ? 2 : permission == .readOnly ? 1 : 0)
        }
        static func < (one: Guest, other: Guest) -> Bool { one.rank < other.rank }
    }

    /// nil: not shared.
    var open: SharePermission?
    var guests: [String: Guest] = [:]
    /// mailed[address]: the permission of an invited address.
    var mailed: [String: SharePermission] = [:]
    /// seats[secret]: the permission of an unclaimed one-time URL.
    var seats: [String: SharePermission] = [:]
    var takesRequests = false
    var requesters: Set<String> = []
    var blocked: Set<String> = []

    /// Users who can read secrets.
    var readers: Set<String> { Set(guests.filter { $0.value.isAdministrator && permission(of: $0.key) != .none }.keys) }

    mutating func end() { self = ShareOracle(texts: texts) }

    /// Applies the side effects of a save of the owner.
    mutating func settle() {
        requesters.subtract(guests.keys)
        if (open ?? .none) != .none { requesters = [] }
    }

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
    /// One-time URLs that were claimed, and tried too late; access requests, and joined places.
    var (claimed, late, asked, joined) = (0, 0, 0, 0)
    private var guests: [String] = []
    private var callers: [String: Caller] = [:]
    private var addresses: [String: String] = [:]
    /// Secrets that are no longer valid.
    private var spent: Set<String> = []
    private var followers: [String: Follower] = [:]
    private var guid = "unknown"
    private var count = 0

    init(_ engine: Engine) async throws {
        scene = try await ShareScene(engine)
        oracle.texts = ["note": "first"]
        let registry = scene.world.cloud.registry
        _ = try await registry.createContainer(TestCloud.container)
        for address in ["ben@example.com", "cleo@example.com"] {
            let account = try await registry.createAccount(email: address, passwordHash: "h")
            _ = try await registry.verifyEmail(address, of: account.id)
            let name = try await scene.world.cloud.admit(account: account.id, to: TestCloud.container, .development)
            guests.append(name)
            (callers[name], addresses[name], followers[name]) = (Caller(.user(name), account: account.id), address, Follower())
        }
    }

    mutating func step() async throws {
        count += 1
        let readers = oracle.readers
        switch Int.random(in: 0..<25, using: &random) {
        case 0: try await open()
        case 1, 2: try await invite()
        case 3: try await remove()
        case 4, 5, 6: try await accept()
        case 7: try await leave()
        case 8: if random.chance(8) { try await stop() }
        case 9, 10, 11: try await save()
        case 12: try await delete()
        case 13: if random.chance(12) { try await remakeZone() }
        case 14: try await scene.world.runAllTasks()
        case 15: try await offer()
        case 16: try await mail()
        case 17: try await take()
        case 18, 19: try await ask()
        case 20: try await answer()
        case 21: try await offer()
        case 22: try await leave()
        case 23: try await remove()
        default: for guest in guests { try await follow(guest) }
        }
        try await lookAtPlaces(readBefore: readers)
        for guest in guests { try await look(guest) }
    }

    private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { faults.append("\(what()); \(oracle)") }
    }

    private mutating func any() -> String { guests.randomElement(using: &random) ?? "" }

    // MARK: The owner

    private mutating func open() async throws {
        let permission = [SharePermission.none, .none, .none, .readOnly, .readWrite].randomElement(using: &random) ?? SharePermission.none
        let saved = try await scene.share(permission)?.record
        expect(saved != nil, "the owner cannot open")
        let was = oracle.open ?? SharePermission.none
        if was == .none, permission != .none {
            oracle.guests = oracle.guests.filter { $0.value.isAccepted }
            (oracle.mailed, oracle.seats) = ([:], [:])
        }
        if was != .none, permission == .none { oracle.guests = [:] }
        oracle.open = permission
        oracle.settle()
        guid = saved?.sharing?.value.shortGUID ?? guid
    }

    private func listed() async throws -> [ShareParticipant] {
        try await scene.ada.lookup([ShareNames.ofZone], zone: ShareScene.zone).first?.record?.sharing?.value.participants ?? []
    }

    /// Invites a user, or changes a participant's permission.
    private mutating func invite() async throws {
        let guest = any()
        let permission = [SharePermission.readOnly, .readWrite, .none].randomElement(using: &random) ?? SharePermission.none
        let isAdministrator = random.chance(2)
        var list = try await listed()
        if let index = list.firstIndex(where: { $0.identity.userRecordName == guest }) {
            list[index].permission = permission
        } else {
            list.append(.invite(guest, permission, role: isAdministrator ? .administrator : .privateUser))
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
            // A requester is approved, with the address of the request.
            oracle.guests[guest] = .init(
                permission: permission, isAdministrator: isAdministrator, invitation: oracle.requesters.contains(guest) ? .mail : .name)
        }
        oracle.settle()
        guid = saved?.record?.sharing?.value.shortGUID ?? guid
    }

    private mutating func remove() async throws {
        guard oracle.open != nil else { return }
        let guest = any()
        let saved = try await scene.share(nil, try await listed().filter { $0.identity.userRecordName != guest })
        expect(saved?.record != nil, "the owner cannot remove")
        oracle.guests[guest] = nil
        oracle.settle()
    }

    /// Adds a one-time URL, or removes one.
    private mutating func offer() async throws {
        guard oracle.open != nil else { return }
        var list = try await listed()
        let isClosed = oracle.open == SharePermission.none
        if oracle.seats.count > 2 || random.chance(4) {
            guard let index = list.firstIndex(where: { $0.isOneTime && $0.acceptance == .invited }) else { return }
            if let secret = list[index].oneTimeSecret {
                oracle.seats[secret] = nil
                spent.insert(secret)
            }
            list.remove(at: index)
            expect(try await scene.share(nil, list)?.record != nil, "the owner cannot take a URL back")
        } else {
            let permission = [SharePermission.readOnly, .readWrite].randomElement(using: &random) ?? .readOnly
            list.append(ShareParticipant(identity: ParticipantIdentity(), permission: permission, isOneTime: true))
            let saved = try await scene.share(nil, list)?.record
            expect((saved != nil) == isClosed, "a URL was offered")
            let secret = saved?.sharing?.value.participants.last?.oneTimeSecret
            expect(!isClosed || secret.map { oracle.seats[$0] == nil && !spent.contains($0) } == true, "its secret is \(secret ?? "none")")
            if let secret { oracle.seats[secret] = permission }
        }
        oracle.settle()
    }

    /// Invites an address.
    private mutating func mail() async throws {
        guard oracle.open == SharePermission.none else { return }
        let guest = any()
        let permission = [SharePermission.readOnly, .readWrite].randomElement(using: &random) ?? .readOnly
        let item = ShareParticipant.mail(addresses[guest] ?? "", permission)
        var list = try await listed()
        if let index = list.firstIndex(where: { $0.identity.lookupInfo == item.identity.lookupInfo }) {
            list[index].permission = permission
        } else {
            list.append(item)
        }
        expect(try await scene.share(nil, list)?.record != nil, "the owner cannot invite an address")
        if oracle.guests[guest]?.invitation == .mail {
            oracle.guests[guest]?.permission = permission
        } else if oracle.requesters.contains(guest), oracle.guests[guest] == nil {
            oracle.guests[guest] = .init(permission: permission, invitation: .mail)
        } else {
            oracle.mailed[guest] = permission
        }
        oracle.settle()
    }

    private func shareWithout(_ change: ShareChange) async throws -> Record? {
        let tag = try await scene.ada.lookup([ShareNames.ofZone], zone: ShareScene.zone).first?.record?.recordChangeTag
        return try await scene.ada.modify([.share(.update, change, tag: tag)], zone: ShareScene.zone).first?.record
    }

    /// Allows access requests, or stops them.
    private mutating func take() async throws {
        guard oracle.open != nil else { return }
        oracle.takesRequests = !random.chance(4)
        expect(try await shareWithout(ShareChange(allowsAccessRequests: oracle.takesRequests)) != nil, "the owner cannot allow requests")
        oracle.settle()
    }

    /// Denies, blocks or unblocks.
    private mutating func answer() async throws {
        guard oracle.open != nil else { return }
        let change: ShareChange
        if random.chance(2) {
            change = ShareChange(requesters: [])
            oracle.requesters = []
        } else {
            oracle.blocked = oracle.requesters.union(random.chance(2) ? oracle.blocked : [])
            change = ShareChange(blockedIdentities: oracle.blocked.map { ParticipantIdentity(userRecordName: $0) })
            for user in oracle.requesters { (oracle.guests[user], oracle.mailed[user]) = (nil, nil) }
            oracle.requesters.subtract(oracle.blocked)
        }
        expect(try await shareWithout(change) != nil, "the owner cannot answer")
        oracle.settle()
    }

    private mutating func stop() async throws {
        try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: ShareScene.zone)
        oracle.end()
    }

    private mutating func remakeZone() async throws {
        try await scene.ada.deleteZone(ShareScene.zone)
        try await scene.ada.makeZone(ShareScene.zone)
        oracle.end()
        oracle.texts = [:]
    }

    // MARK: Participants

    private mutating func accept() async throws {
        let guest = any()
        guard let caller = callers[guest] else { return }
        let secrets = oracle.seats.keys.sorted() + spent.sorted().prefix(1) + [nil]
        let secret = secrets.randomElement(using: &random) ?? nil
        let answer = try await scene.accept(ShareKey(shortGUID: guid, secret: secret).text, by: caller)
        let isBlocked = oracle.blocked.contains(guest)
        let mailed = oracle.mailed[guest].map { ShareOracle.Guest(permission: $0, invitation: .mail) }
        let own = [oracle.guests[guest], mailed].compactMap(\.self)
        let seat = own.first?.isAccepted == true || isBlocked ? nil : secret.flatMap { oracle.seats[$0] }.map { ShareOracle.Guest(permission: $0) }
        let places = [seat].compactMap(\.self) + own
        let isOpen = (oracle.open ?? SharePermission.none) != .none && !isBlocked
        expect((answer.share != nil) == (!places.isEmpty || isOpen), "\(guest) accepts: \(String(describing: answer.error))")
        if let error = answer.error { expect(error == .notInvited, "told \(error.reason)") }
        if let secret, spent.contains(secret) { late += 1 }
        if var one = places.max() {
            joined += places.count > 1 ? 1 : 0
            claimed += seat == nil ? 0 : 1
            (one.isAccepted, one.invitation) = (true, own.lazy.compactMap(\.invitation).first)
            (oracle.guests[guest], oracle.mailed[guest]) = (one, nil)
            if seat != nil, let secret {
                oracle.seats[secret] = nil
                spent.insert(secret)
            }
        } else if isOpen {
            oracle.guests[guest] = .init(permission: .none, isPublic: true, isAccepted: true)
        }
        if answer.share != nil { oracle.requesters.remove(guest) }
    }

    private mutating func ask() async throws {
        let guest = any()
        guard let caller = callers[guest] else { return }
        let request = SharesRequest(shortGUIDs: [.init(value: guid)])
        let error = try await scene.world.cloud.requestShareAccess(request, in: scene.target, by: caller).results[0].error
        let isBlocked = oracle.blocked.contains(guest)
        let expected: ServerError?
        if oracle.open == nil {
            expected = .notInvited
        } else if oracle.guests[guest] != nil || oracle.mailed[guest] != nil || oracle.open != SharePermission.none && !isBlocked {
            expected = .participantAlreadyInvited
        } else if oracle.takesRequests, oracle.open == SharePermission.none, !isBlocked {
            expected = nil
            oracle.requesters.insert(guest)
            asked += 1
        } else {
            expected = .notInvited
        }
        expect(error == expected, "\(guest) asks: \(String(describing: error))")
    }

    /// Checks that the owner sees each place and each open URL; a URL changes if a user has read it who may not read
    /// it any more.
    private mutating func lookAtPlaces(readBefore: Set<String>) async throws {
        guard oracle.open != nil else { return spent.formUnion(oracle.seats.keys) }
        let share = try await scene.ada.lookup([ShareNames.ofZone], zone: ShareScene.zone).first?.record?.sharing?.value
        let places = share?.participants.dropFirst() ?? []
        var seats: [String: SharePermission] = [:]
        for place in places where place.isOneTime && place.acceptance == .invited { seats[place.oneTimeSecret ?? "none"] = place.permission }
        expect(seats.values.map(\.rawValue).sorted() == oracle.seats.values.map(\.rawValue).sorted(), "URLs wait: \(seats)")
        if readBefore.isSubset(of: oracle.readers) {
            expect(seats == oracle.seats, "URLs changed: \(seats)")
        } else {
            expect(Set(seats.keys).isDisjoint(with: oracle.seats.keys), "URLs that somebody has read stay: \(seats)")
        }
        spent.formUnion(Set(oracle.seats.keys).subtracting(seats.keys))
        oracle.seats = seats
        let users = places.compactMap(\.identity.userRecordName)
        expect(users.sorted() == oracle.guests.keys.sorted(), "places of \(users)")
        expect(places.count == oracle.guests.count + oracle.mailed.count + seats.count, "there are \(places.count) places")
        expect(Set(share?.requesters.compactMap(\.userRecordName) ?? []) == oracle.requesters, "asked have \(share?.requesters ?? [])")
        expect(Set(share?.blockedIdentities.compactMap(\.userRecordName) ?? []) == oracle.blocked, "blocked are \(share?.blockedIdentities ?? [])")
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

    /// Returns the result; nil: the zone does not exist for the user.
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

    /// Follows the shared database, once its tasks are done: the zones, then the changes of an existing one. Each
    /// record is reported once.
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
