import NacreCloudTorture
import Testing

/// Tests of the check of the notes: each kind of wrong history gives its violation, and a correct one none.
struct ZoneNotesTests {
    /// Returns two batches: the first makes `a`, `b` and `c`, the second replaces `b` and deletes `c`. A reader
    /// followed, and all tokens replay.
    private static func soundHistory() -> ZoneNotes {
        let a1 = ZoneNotes.Sighting(record: "a", version: "1a", tag: "1")
        let b1 = ZoneNotes.Sighting(record: "b", version: "1b", tag: "1")
        let c1 = ZoneNotes.Sighting(record: "c", version: "1c", tag: "1")
        let b2 = ZoneNotes.Sighting(record: "b", version: "2b", tag: "2")
        let c2 = ZoneNotes.Sighting(record: "c", version: nil, tag: nil)
        var history = ZoneNotes(zone: "Z")
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
                .init(begun: 2, ended: 3, after: nil, token: "t1", sightings: [a1, b1, c1], moreComing: false),
                .init(begun: 4, ended: 5, after: "t1", token: "t2", sightings: [b2, c2], moreComing: false),
            ]
        ]
        history.looks = [.init(begun: 2, ended: 4, sightings: [b1, c1]), .init(begun: 3, ended: 5, sightings: [b2, c2])]
        history.final = [a1, b2, c2]
        history.replays = [
            "t1": .init(begun: 0, ended: 0, after: "t1", token: "t2", sightings: [b2, c2], moreComing: false),
            "t2": .init(begun: 0, ended: 0, after: "t2", token: "t2", sightings: [], moreComing: false),
        ]
        return history
    }

    private func faults(_ change: (inout ZoneNotes) -> Void) -> Set<Violation.Kind> {
        var history = Self.soundHistory()
        change(&history)
        return Set(history.violations().map(\.kind))
    }

    @Test func `a sound history has no fault`() {
        #expect(faults { _ in } == [])
    }

    @Test func `a lost acknowledged save is reported`() {
        #expect(faults { $0.final[1].version = "1b" }.contains(.lostWrite))
        #expect(faults { _ = $0.final.removeFirst() }.contains(.lostWrite))
    }

    @Test func `a lost acknowledged deletion is reported`() {
        let faults = faults { $0.final[2] = .init(record: "c", version: "1c", tag: "1") }
        #expect(faults.contains(.lostWrite))
    }

    @Test func `what was refused and is there all the same is reported`() {
        let faults = faults { history in
            history.batches.append(.init(id: "3", writes: [.init(record: "d", version: "3d")], begun: 5, ended: 6, outcome: .refused))
            history.final.append(.init(record: "d", version: "3d", tag: "3"))
        }
        #expect(faults == [.refusedApplied])
    }

    @Test func `two writes over one version are reported`() {
        let faults = faults { history in
            let sighting = ZoneNotes.Sighting(record: "b", version: "3b", tag: "3")
            history.batches.append(
                .init(
                    id: "3", writes: [.init(record: "b", version: "3b", follows: "1b")], begun: 5, ended: 6, outcome: .acknowledged([sighting])))
        }
        #expect(faults.contains(.doubleSuccess))
    }

    @Test func `a batch that was looked up in part is reported`() {
        #expect(faults { $0.looks[1].sightings[1] = $0.looks[0].sightings[1] } == [.splitBatch])
        #expect(faults { _ = $0.looks[1].sightings.removeLast() } == [])
    }

    @Test func `a batch over two pages is reported`() {
        let faults = faults { history in
            let whole = history.readings[0][0]
            history.readings[0][0].sightings = Array(whole.sightings[..<2])
            history.readings[0].insert(.init(begun: 3, ended: 4, after: "t1", token: "t1", sightings: [whole.sightings[2]], moreComing: true), at: 1)
        }
        #expect(faults.contains(.splitBatch))
    }

    @Test func `a change that comes twice is reported`() {
        #expect(faults { $0.readings[0][1].sightings.append($0.readings[0][0].sightings[0]) }.contains(.repeatedChange))
        #expect(faults { $0.readings[0][1].sightings.append($0.final[2]) }.contains(.repeatedChange))
        #expect(faults { $0.replay("t2", shows: [$0.final[1]]) } == [.repeatedChange])
    }

    @Test func `a change that does not come is reported`() {
        #expect(faults { $0.replay("t1", shows: [$0.final[2]]) } == [.tokenSkips])
        #expect(faults { $0.replay("t1", shows: [$0.final[1]]) } == [.tokenSkips])
        #expect(faults { _ = $0.readings[0][0].sightings.removeFirst() }.contains(.tokenSkips))
    }

    @Test func `an older change after a newer one is reported`() {
        #expect(faults { $0.readings[0].swapAt(0, 1) }.contains(.orderInversion))
        let faults = faults { history in
            let early = history.readings[0][0].sightings[0]
            history.readings[0][0].sightings.removeFirst()
            history.readings[0][1].sightings.append(early)
            history.replay("t1", shows: [history.final[1], history.final[2], early])
        }
        #expect(faults.contains(.orderInversion))
    }

    @Test func `a change tag on two versions is reported`() {
        #expect(faults { $0.final[1].tag = "1" }.contains(.reusedTag))
    }

    @Test func `one write with two change tags was done twice and is reported`() {
        #expect(faults { $0.final[1].tag = "9" } == [.appliedTwice])
    }

    @Test func `a token that leads nowhere is reported`() {
        #expect(faults { $0.replays["t2"] = nil } == [.deadToken])
        #expect(faults { $0.replay("t2", shows: [], moreComing: true) }.contains(.deadToken))
    }
}

extension ZoneNotes {
    fileprivate mutating func replay(_ token: String, shows sightings: [Sighting], moreComing: Bool = false) {
        replays[token]?.sightings = sightings
        replays[token]?.moreComing = moreComing
    }
}
