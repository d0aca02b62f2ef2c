import NacreCloudWire
import NacreLocks
import NacreRandom

/// Three users at one zone: its owner shares it or its records, revokes, moves, changes and deletes; two guests
/// accept, leave and write, all at once and over restarts. After each burst all stop, and each guest's changes and
/// lookups are checked against the shares.
struct ShareTroupe {
    private static let stepsPerBurst = 8
    /// One round in so many moves more records than a server must move at once, so that they may be late.
    private static let boughOnceIn: UInt64 = 3
    private static let zoneWideOnceIn: UInt64 = 4
    /// The pause between two checks of changes that may be late.
    private static let pause: Duration = .milliseconds(30)

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private var host: ShareFollower
    private var guests: [ShareFollower]
    private let stage: ShareStage

    init(number: Int, arena: Arena, random: SeededRandom) {
        var random = random
        self.number = number
        self.arena = arena
        let isZoneWide = random.happens(onceIn: Self.zoneWideOnceIn)
        stage = ShareStage(roots: isZoneWide ? [nil] : ShareForm.roots, hasBough: random.happens(onceIn: Self.boughOnceIn))
        let zone = arena.sharedZoneID
        host = ShareFollower(arena.device(0), zone)
        let seen = ZoneID(zoneName: zone.zoneName, ownerRecordName: arena.user)
        guests = arena.guests.map { ShareFollower($0.asker.at("shared"), seen) }
        self.random = random
    }

    /// Runs until the round is over, or a violation is found.
    mutating func run() async {
        do {
            try await build()
            while !arena.board.isOver {
                try await burst()
                try await standStill()
                arena.board.did { $0.shareBursts += 1 }
            }
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "one who shares"))
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        arena.board.end()
    }

    private mutating func build() async throws {
        var operations = (ShareForm.roots + [ShareForm.hidden]).map { ShareForm.creation($0, below: nil) }
        operations += ShareForm.others.prefix(8).enumerated().map { ShareForm.creation($1, below: ShareForm.roots[$0 % 2]) }
        if stage.hasBough { operations.append(ShareForm.creation(ShareForm.bough, below: ShareForm.roots[0])) }
        var actor = actor(nil)
        _ = try await actor.modify(operations)
        guard stage.hasBough else { return }
        for start in stride(from: 0, to: ShareForm.leaves.count, by: 200) {
            _ = try await actor.modify(ShareForm.leaves[start...].prefix(200).map { ShareForm.creation($0, below: ShareForm.bough) })
        }
    }

    /// Returns an actor.
    /// - Parameter guest: nil is the owner.
    private mutating func actor(_ guest: Int?) -> ShareActor {
        ShareActor(arena: arena, stage: stage, guest: guest, random: random.branch())
    }

    private mutating func burst() async throws {
        let actors = [actor(nil)] + arena.guests.indices.map { actor($0) }
        let generators = guests.map { _ in random.branch() }
        let followers = Array(zip(guests, generators))
        async let acted = withThrowingTaskGroup(of: TortureCounts.self) { group in
            for actor in actors {
                group.addTask {
                    var actor = actor
                    for _ in 0..<Self.stepsPerBurst { try await actor.step() }
                    return actor.counts
                }
            }
            return try await group.reduce(into: TortureCounts()) { $0.add($1) }
        }
        async let followed = withThrowingTaskGroup(of: (Int, ShareFollower).self) { group in
            for (index, (guest, generator)) in followers.enumerated() {
                group.addTask {
                    var (guest, random) = (guest, generator)
                    for _ in 0..<Self.stepsPerBurst { _ = try await guest.turn(&random) }
                    return (index, guest)
                }
            }
            return try await group.reduce(into: [(Int, ShareFollower)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        testimony.counts.add(try await acted)
        guests = try await followed
    }

    // MARK: Checks

    /// Waits without changes until every guest's copy matches the shares; small changes must be there at once.
    private mutating func standStill() async throws {
        let deadline = ContinuousClock.now + arena.tellingPatience
        while let violation = try await violation() {
            let mayBeLate = stage.hasBough || violation.kind == .notTold
            guard mayBeLate, ContinuousClock.now < deadline else { throw violation }
            try? await Task.sleep(for: Self.pause)
        }
    }

    private mutating func violation() async throws -> Violation? {
        _ = try await host.follow(&random)
        let check = ShareCheck(host.records)
        for index in guests.indices {
            let (user, before) = (arena.guests[index].user, guests[index].pages)
            let told = try await guests[index].follow(&random)
            if !stage.hasBough, let name = Dictionary(grouping: told, by: { $0 }).first(where: { $0.value.count > 1 })?.key {
                return Violation(.repeatedChange, "\(user) is told of \(name) twice while nobody changes it")
            }
            if let violation = check.violation(of: guests[index].held, by: user, .changes) { return violation }
            if let violation = check.violation(of: try await found(by: guests[index]), by: user, .lookup) { return violation }
            var fresh = ShareFollower(guests[index].asker, guests[index].zoneID)
            _ = try await fresh.follow(&random)
            if let violation = check.violation(of: fresh.held, by: user, .changes) { return violation }
            try await guests[index].followDatabase()
            if guests[index].isThere != check.takesPart(user) {
                return Violation(.notTold, "\(user) was not told by their database that the zone \(check.takesPart(user) ? "came" : "went")")
            }
            testimony.counts.sharePages += guests[index].pages - before + fresh.pages
        }
        return nil
    }

    private func found(by guest: ShareFollower) async throws -> [String: ShareCheck.Held] {
        var names = ShareForm.roots + ShareForm.others + [ShareForm.hidden] + stage.roots.map(ShareForm.share(of:))
        if stage.hasBough { names += [ShareForm.bough] + ShareForm.leaves }
        var found: [String: ShareCheck.Held] = [:]
        for start in stride(from: 0, to: names.count, by: 200) {
            let request = RecordsLookupRequest(
                records: names[start...].prefix(200).map { .init(recordName: $0) }, zoneID: guest.zoneID,
                extension: RequestExtension(wantsDetails: true))
            let asked = try await guest.asker.askUnlessGone("records/lookup", request.json(), as: RecordsResponse.self)
            for case .record(let record) in asked?.answer.records ?? [] { found[record.recordName] = ShareCheck.Held(record) }
        }
        return found
    }
}

/// The shared state of the users at a zone.
private final class ShareStage: Sendable {
    /// The roots that may be shared; nil is the whole zone.
    let roots: [String?]
    let hasBough: Bool
    private let guids = Locked<[String?: String]>([:])

    init(roots: [String?], hasBough: Bool) {
        (self.roots, self.hasBough) = (roots, hasBough)
    }

    func learn(_ guid: String, of root: String?) { guids.withLock { $0[root] = guid } }

    func guid(of root: String?) -> String? { guids.withLock { $0[root] } }
}

/// One user at the zone.
private struct ShareActor {
    /// The permission of each guest; the second may never write.
    private static let permissions: [SharePermission] = [.readWrite, .readOnly]

    let arena: Arena
    let stage: ShareStage
    /// The guest's index; nil is the owner.
    let guest: Int?
    var random: SeededRandom
    private(set) var counts = TortureCounts()

    init(arena: Arena, stage: ShareStage, guest: Int?, random: SeededRandom) {
        (self.arena, self.stage, self.guest, self.random) = (arena, stage, guest, random)
    }

    mutating func step() async throws {
        let choice = random.next() % 12
        if guest == nil {
            switch choice {
            case 0, 1: try await share()
            case 2: try await end()
            case 3: try await change { participants, user in participants.removeAll { $0.identity.userRecordName == user } }
            case 4: try await change { [self] participants, user in invite(user, into: &participants) }
            default: try await write(choice)
            }
        } else {
            switch choice {
            case 0, 1, 2, 3: try await accept()
            case 4: try await leave()
            default: try await write(choice)
            }
        }
    }

    // MARK: The owner

    private mutating func anyRoot() -> String? { stage.roots.randomElement(using: &random) ?? nil }
    private mutating func anyGuest() -> Int { Int(random.next() % UInt64(arena.guests.count)) }

    private func invite(_ user: String, into participants: inout [ShareParticipant]) {
        guard let index = arena.guests.firstIndex(where: { $0.user == user }), !participants.contains(where: { $0.identity.userRecordName == user })
        else { return }
        participants.append(ShareForm.invitation(user, Self.permissions[index % 2]))
    }

    private mutating func share() async throws {
        let root = anyRoot()
        var participants: [ShareParticipant] = []
        for guest in arena.guests where !random.happens(onceIn: 4) { invite(guest.user, into: &participants) }
        guard case .record(let record)? = try await modify([ShareForm.share(of: root, participants)]).first, let share = record.sharing?.value
        else { return }
        if let known = stage.guid(of: root), known != share.shortGUID {
            throw Violation(.wrongContent, "what is shared again has another URL than before")
        }
        stage.learn(share.shortGUID, of: root)
    }

    private mutating func end() async throws {
        guard case .deleted? = try await modify([ShareForm.deletion(ShareForm.share(of: anyRoot()))]).first else { return }
        counts.shareRevocations += 1
    }

    private mutating func change(_ body: @Sendable (inout [ShareParticipant], String) -> Void) async throws {
        let (root, user) = (anyRoot(), arena.guests[anyGuest()].user)
        let request = RecordsLookupRequest(
            records: [.init(recordName: ShareForm.share(of: root))], zoneID: zoneID, extension: RequestExtension(wantsDetails: true))
        let answer = try await asker.ask("records/lookup", request.json(), as: RecordsResponse.self).answer
        guard case .record(let record)? = answer.records.first, var participants = record.sharing?.value.participants else { return }
        let before = participants.count
        body(&participants, user)
        guard participants.count != before, case .record? = try await modify([ShareForm.share(of: root, over: record, participants)]).first
        else { return }
        if participants.count < before { counts.shareRevocations += 1 }
    }

    // MARK: Guests

    private mutating func accept() async throws {
        guard let guest, let guid = stage.guid(of: anyRoot()) else { return }
        let request = SharesRequest(shortGUIDs: [.init(value: guid)], extension: RequestExtension(wantsDetails: true))
        let asker = arena.guests[guest].asker.at("public")
        switch try await asker.ask("records/accept", request.json(), as: SharesResponse.self).answer.results.first {
        case .share?: counts.shareJoins += 1
        case .failure(_, let error)?: try expect(error)
        case nil: throw Violation(.unexpectedAnswer, "one share was accepted, and none answered")
        }
    }

    private mutating func leave() async throws {
        guard case .deleted? = try await modify([ShareForm.deletion(ShareForm.share(of: anyRoot()))]).first else { return }
        counts.shareLeaves += 1
    }

    // MARK: All users

    private mutating func write(_ choice: UInt64) async throws {
        let name = ShareForm.others.randomElement(using: &random) ?? ShareForm.hidden
        let parents = ShareForm.roots + ShareForm.others + [nil]
        let parent = (parents.randomElement(using: &random) ?? nil).flatMap { $0 == name ? nil : $0 }
        let operation: RecordOperation
        switch choice {
        case 5, 6: operation = ShareForm.creation(name, below: parent)
        case 7 where stage.hasBough && guest == nil:
            operation = ShareForm.move(ShareForm.bough, below: (ShareForm.roots + [nil]).randomElement(using: &random) ?? nil)
        case 7, 8, 9: operation = ShareForm.move(name, below: parent)
        case 10: operation = ShareForm.deletion(name)
        default: operation = ShareForm.save(random.happens(onceIn: 4) ? ShareForm.hidden : name, "\(random.next())")
        }
        let result = try await modify([operation]).first
        guard case .record(let record)? = result else { return }
        if case .keep = operation.change.parent {} else { counts.shareMoves += 1 }
        guard let guest else { return }
        if Self.permissions[guest % 2] != .readWrite {
            throw Violation(.leaked, "\(arena.guests[guest].user) may only read, and changed \(record.recordName)")
        }
        if record.recordName == ShareForm.hidden, stage.roots != [nil] {
            throw Violation(.leaked, "\(arena.guests[guest].user) changed \(record.recordName), which nobody shares")
        }
    }

    private var asker: Asker { guest.map { arena.guests[$0].asker.at("shared") } ?? arena.device(0) }

    private var zoneID: ZoneID {
        ZoneID(zoneName: arena.sharedZoneID.zoneName, ownerRecordName: guest == nil ? nil : arena.user)
    }

    private func expect(_ error: ServerError) throws {
        guard ShareForm.expected.contains(error.code) else { throw Violation.unexpected(error, asked: "one who shares") }
    }

    /// Modifies records.
    /// - Returns: Empty where the zone does not exist for a guest.
    mutating func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let request = RecordsModifyRequest(
            operations: operations, zoneID: zoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-s\(random.next())"))
        guard let asked = try await asker.askUnlessGone("records/modify", request.json(), as: RecordsResponse.self) else {
            guard guest == nil else { return [] }
            throw Violation(.unexpectedAnswer, "the owner does not find the zone that they share")
        }
        counts.retries += asked.attempts - 1
        for case .failure(_, let error) in asked.answer.records { try expect(error) }
        return asked.answer.records
    }
}
