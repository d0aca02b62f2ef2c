import NacreCloudWire
import NacreLocks
import NacreRandom

/// An owner who shares a zone, or a record in it, with two listening guests, takes it back from one or both, and
/// shares it again. A guest is notified of each change while it is shared with them, and of none later.
///
/// No other zone may be shared with the guests meanwhile: one subscription notifies of all of them, without saying
/// what changed.
struct ShareNotifier {
    private static let recordType = "Shared"
    private static let field = "text"
    private static let (root, leaf) = ("root", "leaf")
    private static let savesWhileShared = 2
    /// Saves beyond the notifications that may have another cause.
    private static let savesAfterwards = 4
    /// The pause between saves that no guest may hear of, so that no notification covers two of them.
    private static let pause: Duration = .milliseconds(40)
    private static let zoneWideOnceIn: UInt64 = 3

    /// One of the two guests.
    private struct Guest {
        let user: String
        let asker: Asker
        let log: Locked<GuestLog>
        var follower: ShareFollower
        let ear: Ear

        var count: Int { log.withLock { $0.count } }
        func expect(_ count: Int = 1) { log.withLock { $0.expect(count) } }
    }

    /// The ways to take a share back.
    private enum Way: CaseIterable {
        case removal
        case noPermission
        case end
        /// The record leaves the shared hierarchy; not possible with a shared zone.
        case departure
    }

    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private var guests: [Guest]
    /// The shared record; nil: the whole zone.
    private let shared: String?
    private var saves = 0
    private let fault = Locked<Violation?>(nil)

    init(arena: Arena, random: SeededRandom) {
        var random = random
        self.arena = arena
        shared = random.happens(onceIn: Self.zoneWideOnceIn) ? nil : Self.root
        let zoneID = ZoneID(zoneName: arena.heardZoneID.zoneName, ownerRecordName: arena.user)
        let fault = fault
        let prefix = Self.prefix(arena)
        guests = arena.guests.map { guest in
            let log = Locked(GuestLog())
            let ear = Ear(guest.asker, clientID: "torture-guest", isMalformed: { violation in fault.withLock { $0 = violation } }) { news in
                guard let subscription = news.subscription, subscription.hasPrefix(prefix) else { return }
                log.withLock { $0.heard(news.id) }
            }
            return Guest(user: guest.user, asker: guest.asker, log: log, follower: ShareFollower(guest.asker.at("shared"), zoneID), ear: ear)
        }
        self.random = random
    }

    private static func prefix(_ arena: Arena) -> String { "\(arena.run)-heard" }

    /// Runs until the round is over, or a violation is found.
    mutating func run() async {
        let listening = guests.map { guest in Task { await guest.ear.listen() } }
        defer { for task in listening { task.cancel() } }
        do {
            try await begin()
            repeat {
                try await take(guests.indices.randomElement(using: &random) ?? 0)
                arena.board.did { $0.guestTellings += 1 }
            } while !arena.board.isOver
            for guest in guests { try await subscribe(guest, .delete(Self.prefix(arena))) }
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "one who shares and tells"))
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        testimony.counts.guestsTold = guests.reduce(0) { $0 + $1.count }
        arena.board.end()
    }

    private mutating func begin() async throws {
        for guest in guests {
            try await guest.ear.hasBegun()
            var info = NotificationInfo()
            info.alertBody = "told"
            try await subscribe(
                guest, .create(Subscription(subscriptionID: Self.prefix(arena), kind: .database(recordType: nil), notificationInfo: info)))
            // Notifications about the end of the last round's shared zones may still come.
            guest.expect(guests.count)
        }
        _ = try await modify([ShareForm.creation(Self.root, below: nil), ShareForm.creation(Self.leaf, below: Self.root)])
        try await share(isNew: true)
    }

    private func subscribe(_ guest: Guest, _ operation: SubscriptionOperation) async throws {
        let request = SubscriptionsModifyRequest(operations: [operation], extension: RequestExtension(wantsDetails: true))
        let asked = try await guest.asker.at("shared").ask("subscriptions/modify", request.json(), as: SubscriptionsResponse.self)
        if case .failure(_, let error)? = asked.answer.subscriptions.first, error.code != .notFound { throw AskFault.refused(error) }
    }

    // MARK: A turn

    private mutating func take(_ index: Int) async throws {
        let ways = Way.allCases.filter { shared != nil || $0 != .departure }
        let way = ways.randomElement(using: &random) ?? .removal
        for _ in 0..<Self.savesWhileShared { try await save(toldTo: Array(guests.indices)) }
        let former = way == .end || way == .departure ? Array(guests.indices) : [index]
        let others = guests.indices.filter { !former.contains($0) }
        try await takeBack(way, index)
        testimony.counts.guestsExcluded += former.count
        var count = 0
        while count < Self.savesAfterwards || former.contains(where: { hides($0, count) }) {
            try await save(toldTo: others)
            if others.isEmpty { try? await Task.sleep(for: Self.pause) }
            count += 1
        }
        try await check()
        try await giveBack(way, index)
    }

    /// Returns whether `count` notifications too many could have another cause.
    private func hides(_ index: Int, _ count: Int) -> Bool {
        guests[index].log.withLock { $0.most(deaths: deaths) - $0.count } + Self.savesAfterwards > count
    }

    /// Restarts of the server; one more may be under way.
    private var deaths: Int { arena.mayDie ? arena.board.restarts + 1 : 0 }

    private func check() async throws {
        if let fault = fault.withLock({ $0 }) { throw fault }
        for guest in guests {
            if let violation = guest.log.withLock({ [deaths] log in log.violation(guest.user, deaths: deaths) }) { throw violation }
        }
    }

    /// Saves a record that is, or was, shared.
    private mutating func save(toldTo places: [Int]) async throws {
        saves += 1
        try await told(places) { [saves] teller in _ = try await teller.modify([ShareForm.save(Self.leaf, "\(saves)")]) }
    }

    /// Makes a change and waits for its notifications.
    /// - Parameter places: The guests who must get another notification.
    private mutating func told(_ places: [Int], of change: (inout ShareNotifier) async throws -> Void) async throws {
        let before = places.map { guests[$0].count }
        for index in places { guests[index].expect() }
        try await change(&self)
        let listeners = guests
        func deaf() -> [String] { zip(places, before).filter { listeners[$0.0].count == $0.1 }.map { listeners[$0.0].user } }
        if try await Patience(limit: arena.tellingPatience).until({ deaf().isEmpty }) { return }
        throw Violation(.notTold, "\(deaf().joined(separator: ", ")) heard nothing of a change of what is shared with them")
    }

    // MARK: The share

    private mutating func takeBack(_ way: Way, _ index: Int) async throws {
        let user = guests[index].user
        switch way {
        case .removal: try await change { $0.removeAll { $0.identity.userRecordName == user } }
        case .noPermission: try await change { Self.permit(.none, user, &$0) }
        case .end:
            for guest in guests { guest.expect() }
            _ = try await modify([ShareForm.deletion(ShareForm.share(of: shared))])
        case .departure: return try await told(Array(guests.indices)) { _ = try await $0.modify([ShareForm.move(Self.leaf, below: nil)]) }
        }
        for index in way == .end ? Array(guests.indices) : [index] { try await follow(index, until: false) }
    }

    private mutating func giveBack(_ way: Way, _ index: Int) async throws {
        let user = guests[index].user
        switch way {
        case .removal:
            try await change { $0.append(ShareForm.invitation(user, .readOnly)) }
            try await accept(index)
        case .noPermission:
            try await change { Self.permit(.readOnly, user, &$0) }
            try await follow(index, until: true)
        case .end: try await share(isNew: false)
        case .departure: try await told(Array(guests.indices)) { _ = try await $0.modify([ShareForm.move(Self.leaf, below: Self.root)]) }
        }
    }

    private static func permit(_ permission: SharePermission, _ user: String, _ participants: inout [ShareParticipant]) {
        for index in participants.indices where participants[index].identity.userRecordName == user { participants[index].permission = permission }
    }

    /// Changes the participants. Each guest may be notified of the change, or of the share's end.
    private mutating func change(_ body: (inout [ShareParticipant]) -> Void) async throws {
        for guest in guests { guest.expect() }
        let name = ShareForm.share(of: shared)
        let request = RecordsLookupRequest(
            records: [.init(recordName: name)], zoneID: arena.heardZoneID, extension: RequestExtension(wantsDetails: true))
        let answer = try await arena.device(0).ask("records/lookup", request.json(), as: RecordsResponse.self).answer
        guard case .record(let record)? = answer.records.first, var participants = record.sharing?.value.participants else {
            throw Violation(.unexpectedAnswer, "the owner does not find \(name)")
        }
        body(&participants)
        _ = try await modify([ShareForm.share(of: shared, over: record, participants)])
    }

    private mutating func share(isNew: Bool) async throws {
        let invitations = guests.map { ShareForm.invitation($0.user, .readOnly) }
        let made = try await modify([ShareForm.share(of: shared, invitations)])
        guard case .record(let record)? = made.first, let guid = record.sharing?.value.shortGUID else {
            throw Violation(.unexpectedAnswer, "a share that was saved does not come back")
        }
        self.guid = guid
        for index in guests.indices { try await accept(index) }
    }

    private var guid = ""

    private mutating func accept(_ index: Int) async throws {
        // The other guest may be notified of the new participant.
        for other in guests.indices where other != index { guests[other].expect() }
        let request = SharesRequest(shortGUIDs: [.init(value: guid)], extension: RequestExtension(wantsDetails: true))
        let answer = try await guests[index].asker.at("public").ask("records/accept", request.json(), as: SharesResponse.self).answer
        if case .failure(_, let error)? = answer.results.first { throw AskFault.refused(error) }
        try await follow(index, until: true)
    }

    /// Waits until a guest's database has the zone, or has it no longer.
    private mutating func follow(_ index: Int, until isThere: Bool) async throws {
        var follower = guests[index].follower
        let isSo = try await Patience(limit: arena.tellingPatience).until {
            try await follower.followDatabase()
            return follower.isThere == isThere
        }
        guests[index].follower = follower
        if !isSo { throw Violation(.notTold, "\(guests[index].user) was not told by their database that the zone \(isThere ? "came" : "went")") }
    }

    private mutating func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let request = RecordsModifyRequest(
            operations: operations, zoneID: arena.heardZoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-h\(random.next())"))
        let asked = try await arena.device(0).ask("records/modify", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        for case .failure(_, let error) in asked.answer.records { throw Violation.unexpected(error, asked: "one who shares and tells") }
        return asked.answer.records
    }
}
