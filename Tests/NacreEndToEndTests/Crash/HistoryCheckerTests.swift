import Testing

/// The checker has teeth: each kind of wrong history is called by its name, and a right one is not.
struct HistoryCheckerTests {
    /// Two batches: the first makes `a`, `b` and `c`, the second replaces `b` and deletes `c`. A reader followed, and all tokens replay.
    private static func soundHistory() -> History {
        let a1 = History.Sighting(record: "a", version: "1a", tag: "1")
        let b1 = History.Sighting(record: "b", version: "1b", tag: "1")
        let c1 = History.Sighting(record: "c", version: "1c", tag: "1")
        let b2 = History.Sighting(record: "b", version: "2b", tag: "2")
        let c2 = History.Sighting(record: "c", version: nil, tag: nil)
        var history = History(zone: "Z")
        history.batches = [
            .init(
                id: "1", writes: [.init(record: "a", version: "1a"), .init(record: "b", version: "1b"), .init(record: "c", version: "1c")],
                begun: 1, ended: 2, outcome: .acknowledged([a1, b1, c1])),
            .init(
                id: "2",
                writes: [
                    .init(record: "b", version: "2b", follows: "1b"), .init(record: "c", version: "2c", follows: "1c", isDeletion: true),
                ], begun: 3, ended: 4, outcome: .acknowledged([b2, c2])),
        ]
        history.readings = [
            [
                .init(after: nil, token: "t1", sightings: [a1, b1, c1], moreComing: false),
                .init(after: "t1", token: "t2", sightings: [b2, c2], moreComing: false),
            ]
        ]
        history.looks = [.init(batch: "2", sightings: [b1, c1]), .init(batch: "2", sightings: [b2, c2])]
        history.final = [a1, b2, c2]
        history.replays = [
            "t1": .init(after: "t1", token: "t2", sightings: [b2, c2], moreComing: false),
            "t2": .init(after: "t2", token: "t2", sightings: [], moreComing: false),
        ]
        return history
    }

    private func faults(_ change: (inout History) -> Void) -> Set<HistoryFault> {
        var history = Self.soundHistory()
        change(&history)
        return HistoryChecker(history).faults()
    }

    @Test func `a sound history has no fault`() {
        #expect(faults { _ in } == [])
    }

    @Test func `a lost acknowledged save is reported`() {
        #expect(faults { $0.final[1].version = "1b" }.contains(.lost(record: "b", version: "2b")))
        #expect(faults { _ = $0.final.removeFirst() }.contains(.lost(record: "a", version: "1a")))
    }

    @Test func `a lost acknowledged deletion is reported`() {
        let faults = faults { $0.final[2] = .init(record: "c", version: "1c", tag: "1") }
        #expect(faults.contains(.lost(record: "c", version: "2c")))
    }

    @Test func `what was refused and is there all the same is reported`() {
        let faults = faults { history in
            history.batches.append(.init(id: "3", writes: [.init(record: "d", version: "3d")], begun: 5, ended: 6, outcome: .refused))
            history.final.append(.init(record: "d", version: "3d", tag: "3"))
        }
        #expect(faults == [.phantom(record: "d", version: "3d")])
    }

    @Test func `two writes over one version are reported`() {
        let faults = faults { history in
            let sighting = History.Sighting(record: "b", version: "3b", tag: "3")
            history.batches.append(
                .init(
                    id: "3", writes: [.init(record: "b", version: "3b", follows: "1b")], begun: 5, ended: 6, outcome: .acknowledged([sighting])))
        }
        #expect(faults.contains(.forked(record: "b", version: "1b")))
    }

    @Test func `a batch that was looked up in part is reported`() {
        #expect(faults { $0.looks[1].sightings[1] = $0.looks[0].sightings[1] } == [.split(batch: "2")])
        #expect(faults { _ = $0.looks[1].sightings.removeLast() } == [])
    }

    @Test func `a batch over two pages is reported`() {
        let faults = faults { history in
            let whole = history.readings[0][0]
            history.readings[0][0].sightings = Array(whole.sightings[..<2])
            history.readings[0].insert(.init(after: "t1", token: "t1", sightings: [whole.sightings[2]], moreComing: true), at: 1)
        }
        #expect(faults.contains(.split(batch: "1")))
    }

    @Test func `a change that comes twice is reported`() {
        #expect(faults { $0.readings[0][1].sightings.append($0.readings[0][0].sightings[0]) }.contains(.repeated(record: "a")))
        #expect(faults { $0.readings[0][1].sightings.append($0.final[2]) }.contains(.repeated(record: "c")))
        #expect(faults { $0.replay("t2", shows: [$0.final[1]]) } == [.repeated(record: "b")])
    }

    @Test func `a change that does not come is reported`() {
        #expect(faults { $0.replay("t1", shows: [$0.final[2]]) } == [.skipped(record: "b")])
        #expect(faults { $0.replay("t1", shows: [$0.final[1]]) } == [.skipped(record: "c")])
        #expect(faults { _ = $0.readings[0][0].sightings.removeFirst() }.contains(.skipped(record: "a")))
    }

    @Test func `an older change after a newer one is reported`() {
        #expect(faults { $0.readings[0].swapAt(0, 1) }.contains(.repeated(record: "b")))
        let faults = faults { history in
            let early = history.readings[0][0].sightings[0]
            history.readings[0][0].sightings.removeFirst()
            history.readings[0][1].sightings.append(early)
            history.replay("t1", shows: [history.final[1], history.final[2], early])
        }
        #expect(faults.contains(.disordered(record: "a")))
    }

    @Test func `a change tag on two versions is reported`() {
        #expect(faults { $0.final[1].tag = "1" }.contains(.tagReused(record: "b", tag: "1")))
    }

    @Test func `one write with two change tags was done twice and is reported`() {
        #expect(faults { $0.final[1].tag = "9" } == [.tagReused(record: "b", tag: "9")])
    }

    @Test func `a token that leads nowhere is reported`() {
        #expect(faults { $0.replays["t2"] = nil } == [.deadToken("t2")])
        #expect(faults { $0.replay("t2", shows: [], moreComing: true) }.contains(.deadToken("t2")))
    }
}

extension History {
    fileprivate mutating func replay(_ token: String, shows sightings: [Sighting], moreComing: Bool = false) {
        replays[token]?.sightings = sightings
        replays[token]?.moreComing = moreComing
    }
}
