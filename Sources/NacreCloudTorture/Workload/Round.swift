import NacreCloudWire
import NacreRandom

/// A round: new zones for each account, with all clients at once until it is over; then their results, zone by zone.
struct Round: Sendable {
    let arenas: [Arena]
    let writers: Int
    let readers: Int
    let seed: UInt64
    let deadline: ContinuousClock.Instant
    let restarts: TortureRestarts?

    struct Outcome: Sendable {
        var testimonies: [Testimony]
        var restarts: Int
    }

    /// Runs the round.
    /// - Throws: `TortureFault.restart`, once all clients have stopped.
    func run() async throws(TortureFault) -> Outcome {
        let deadline = deadline
        let arenas = arenas
        let bell = Task {
            // Cancelled when the round is over earlier.
            try? await Task.sleep(until: deadline)
            for arena in arenas { arena.board.end() }
        }
        async let testimonies = testimonies()
        let (count, fault) = await restart()
        if fault != nil { for arena in arenas { arena.board.end() } }
        let all = await testimonies
        bell.cancel()
        if let fault { throw fault }
        return Outcome(testimonies: all, restarts: count)
    }

    private func testimonies() async -> [Testimony] {
        await withTaskGroup(of: (Int, Testimony).self) { group in
            for (index, arena) in arenas.enumerated() { group.addTask { (index, await play(in: arena, index)) } }
            return await group.reduce(into: [(Int, Testimony)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static let familyWriters = 2
    private static let fileKeepers = 1
    /// Clients of an arena besides writers, readers and askers: the closing reader, family writers and followers, the
    /// file keeper, notifying and listening devices, sharing users, and the askers' others.
    static let others = 1 + familyWriters + 1 + fileKeepers + 8 + 5 + QueryTroupe.others

    /// Runs the clients of an arena. Readers stop after the writers: one that stopped before would seem to miss later
    /// changes.
    private func play(in arena: Arena, _ index: Int) async -> Testimony {
        async let read = all(readers) { number in
            var reader = Reader(number: number, arena: arena, random: random(for: index, 1 << 16 | number))
            await reader.run()
            return reader.testimony
        }
        async let seen = all(1) { number in
            var follower = FamilyFollower(number: number, arena: arena, random: random(for: index, 4 << 16 | number))
            await follower.run()
            return follower.testimony
        }
        async let families = all(Self.familyWriters) { number in
            var writer = FamilyWriter(number: number, arena: arena, random: random(for: index, 5 << 16 | number))
            await writer.run()
            return writer.testimony
        }
        async let files = all(Self.fileKeepers) { number in
            var keeper = FileKeeper(number: number, arena: arena, random: random(for: index, 6 << 16 | number))
            await keeper.run()
            return keeper.testimony
        }
        async let secrets = all(arena.startApp == nil ? 0 : 1) { number in
            var keeper = SecretKeeper(arena: arena, random: random(for: index, 11 << 16 | number))
            await keeper.run()
            return keeper.testimony
        }
        // An account with one device and no guests has no device to notify.
        async let told = all(arena.devices.count > 1 || !arena.guests.isEmpty || arena.signIn != nil ? 1 : 0) { number in
            var teller = Notifier(number: number, arena: arena, random: random(for: index, 7 << 16 | number))
            await teller.run()
            return teller.testimony
        }
        async let heard = all(arena.sharing == .telling ? 1 : 0) { _ in
            var teller = ShareNotifier(arena: arena, random: random(for: index, 10 << 16))
            await teller.run()
            return teller.testimony
        }
        async let shared = all(arena.sharing == .allAtOnce ? 1 : 0) { number in
            var troupe = ShareTroupe(number: number, arena: arena, random: random(for: index, 8 << 16 | number))
            await troupe.run()
            return troupe.testimony
        }
        async let asked = all(arena.askers > 0 ? 1 : 0) { _ in
            var troupe = QueryTroupe(arena: arena, random: random(for: index, 9 << 16))
            await troupe.run()
            return troupe.testimony
        }
        let written = await all(writers) { number in
            var writer = BatchWriter(number: number, arena: arena, random: random(for: index, number))
            await writer.run()
            return writer.testimony
        }
        let founded = await families
        arena.board.endOfWriting()
        let followed = await read
        var all = await written + founded + followed + seen + files + secrets + told + heard + shared + asked
        // After a client gave up, no more requests are sent.
        if all.allSatisfy({ $0.silence == nil }) {
            var closing = Reader(number: readers, arena: arena, random: random(for: index, 2 << 16))
            await closing.runOnce()
            all.append(closing.testimony)
        }
        return all.reduce(into: Testimony()) { whole, part in
            whole.history.append(part.history)
            whole.counts.add(part.counts)
            whole.silence = whole.silence ?? part.silence
        }
    }

    private func all(_ count: Int, _ body: @escaping @Sendable (Int) async -> Testimony) async -> [Testimony] {
        await withTaskGroup(of: Testimony.self) { group in
            for number in 0..<count { group.addTask { await body(number) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func random(for place: Int, _ number: Int) -> SeededRandom {
        var random = SeededRandom(seed: seed &+ UInt64(place) << 32 &+ UInt64(number))
        return SeededRandom(seed: random.next())
    }

    // MARK: Restarts

    /// Milliseconds between a start and the next kill.
    private static let upTime: ClosedRange<Int64> = 300...3000
    /// Milliseconds between a kill and the start.
    private static let downTime: ClosedRange<Int64> = 0...700

    /// Kills and starts the server until the round is over, or that was done often enough; the server is up then.
    private func restart() async -> (count: Int, fault: TortureFault?) {
        guard let restarts else { return (0, nil) }
        var random = random(for: 0, 3 << 16)
        var count = 0
        do {
            while true {
                let kill = ContinuousClock.now + .milliseconds(Int64.random(in: Self.upTime, using: &random))
                guard kill < deadline, !arenas.allSatisfy({ $0.board.isOver || $0.board.hasDiedEnough }) else { return (count, nil) }
                try await Task.sleep(until: kill)
                try await restarts.kill()
                try await Task.sleep(for: .milliseconds(Int64.random(in: Self.downTime, using: &random)))
                try await restarts.start()
                count += 1
                try await restarts.isUp()
                for arena in arenas { arena.board.did { $0.restarts += 1 } }
            }
        } catch {
            return (count, error as? TortureFault ?? .restart("\(error)"))
        }
    }
}
