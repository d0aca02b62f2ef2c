import Testing

@testable import NacreCloudTorture

/// Tests of histories written by hand: correct ones must pass, and those with a single fault must give its violation.
struct HistoryTests {
    typealias Kinds = Set<Violation.Kind>

    private func kinds(_ script: Script) -> Kinds {
        Set(HistoryCheck.violations(of: script.history).map(\.kind))
    }

    // MARK: Correct histories

    @Test func `an honest history has no violation`() {
        #expect(HistoryCheck.violations(of: Script.honest().history) == [])
    }

    @Test func `what is asked at once may be answered in any order`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...100)
        // Not seen by a read during the write, but seen by another one that began a little earlier.
        script.page([], at: 20...30)
        script.lookup([("a", 1)], at: 10...25)
        script.page([("a", 1)], at: 110...120)
        #expect(kinds(script) == [])
    }

    @Test func `a batch that was never answered may be there or not`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30, .unknown)
        #expect(kinds(script) == [])
        script.page([("a", 2)], at: 40...50)
        #expect(kinds(script) == [])
        script.write(3, [.update("a", over: 2)], at: 60...70)
        script.page([("a", 3)], at: 80...90)
        script.end([("a", 3)])
        #expect(kinds(script) == [])
    }

    @Test func `a record that is deleted before a follower comes need not be shown to it`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.delete("a", over: 1)], at: 20...30)
        script.page([], at: 40...50)
        script.end([("a", nil)])
        #expect(kinds(script) == [])
    }

    @Test func `a record that was gone when a follower began may be made again later, whether the follower heard that it was gone or not`() {
        for told: [(Character, Int?)] in [[], [("a", nil)]] {
            var script = Script()
            script.write(1, [.create("a")], at: 0...10)
            script.write(2, [.delete("a", over: 1)], at: 20...30)
            script.page(told, at: 40...50)
            script.write(3, [.update("a", over: 2)], at: 60...70)
            #expect(kinds(script) == [])
            script.page([("a", 3)], at: 80...90)
            script.end([("a", 3)])
            #expect(kinds(script) == [])
        }
    }

    @Test func `a deletion that was never answered may be done, though no follower that began later heard of it`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.delete("a", over: 1)], at: 20...30, .unknown)
        script.page([], at: 40...50)
        #expect(kinds(script) == [])
    }

    @Test func `of two deletions that were never answered either may be the one that a follower hears of`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.page([("a", 1)], at: 11...15)
        script.write(2, [.update("a", over: 1)], at: 20...30)
        script.write(3, [.delete("a", over: 2)], at: 40...50, .unknown)
        script.write(4, [.delete("a", over: 2)], at: 40...50, .unknown)
        script.page([("a", nil)], at: 60...70)
        #expect(kinds(script) == [])
    }

    @Test func `of several deletions at once any may be the one that a follower hears of`() {
        let pages: [[(Character, Int?)]] = [[], [("a", 3)], [("a", nil)]]
        for shown in pages {
            var script = Script()
            script.write(1, [.create("a")], at: 0...10)
            script.page([("a", 1)], at: 11...20)
            script.write(2, [.delete("a", over: 1)], at: 30...100)
            script.write(3, [.update("a", over: 2)], at: 30...100)
            script.write(4, [.delete("a", over: 3)], at: 30...100)
            script.page([("a", nil)], at: 40...50)
            script.page(shown, at: 60...70)
            #expect(kinds(script) == [])
            script.write(5, [.update("a", over: 4)], at: 110...120)
            #expect(kinds(script) == [])
            script.page([], at: 130...140)
            #expect(kinds(script) == [.skippedChange])
        }
    }

    @Test func `a creation that was on its way while its record was made and deleted may come after`() {
        for outcome in [History.Outcome.applied, .unknown] {
            var script = Script()
            script.write(1, [.create("a"), .create("b")], at: 0...10)
            script.write(2, [.create("a"), .create("c")], at: 5...60)
            script.write(3, [.delete("a", over: 1)], at: 20...30, outcome)
            script.page([("b", 1), ("a", 2), ("c", 2)], at: 70...80)
            script.end([("a", 2), ("b", 1), ("c", 2)])
            #expect(kinds(script) == [])
        }
    }

    @Test func `a creation that is over before its record was deleted, and a second one that nobody deleted, are found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.create("a")], at: 5...15)
        script.write(3, [.delete("a", over: 1)], at: 20...30)
        #expect(kinds(script) == [.doubleSuccess])
        var other = Script()
        other.write(1, [.create("a")], at: 0...10)
        other.write(2, [.create("a")], at: 5...60)
        other.write(3, [.delete("a", over: 1)], at: 20...30)
        other.write(4, [.create("a")], at: 5...60)
        #expect(kinds(other) == [.doubleSuccess])
    }

    @Test func `a lookup need not find what is made, or deleted, meanwhile`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...20)
        script.lookup([("a", nil)], at: 10...30, missing: .absent)
        script.write(2, [.delete("a", over: 1)], at: 40...60)
        script.lookup([("a", nil)], at: 30...50, missing: .absent)
        script.write(3, [.update("a", over: 2)], at: 80...100)
        script.lookup([("a", nil)], at: 70...90, missing: .absent)
        #expect(kinds(script) == [])
    }

    // MARK: Batches

    @Test func `two batches that replaced one version are found`() {
        var script = Script.honest()
        script.write(20, [.update("a", over: 1)], at: 5000...5010)
        #expect(kinds(script) == [.doubleSuccess])
    }

    @Test func `two creations of one record are found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.create("a")], at: 5...15)
        #expect(kinds(script) == [.doubleSuccess])
    }

    @Test func `an acknowledged batch that is gone at the end is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30)
        script.end([("a", 1)])
        #expect(kinds(script) == [.lostWrite])
    }

    @Test func `a record that nobody deleted and that is gone is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.lookup([("a", nil)], at: 20...30)
        #expect(kinds(script) == [.lostWrite])
    }

    @Test func `a refused batch that is there is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30, .refused)
        script.page([("a", 2)], at: 40...50)
        #expect(kinds(script) == [.refusedApplied])
    }

    @Test func `a request that was carried out twice is found by its two tags`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10, tag: 1)
        script.lookup([("a", 1)], at: 20...30, tag: 2)
        #expect(kinds(script) == [.appliedTwice])
    }

    @Test func `a tag that comes again is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10, tag: 1)
        script.write(2, [.update("a", over: 1)], at: 20...30, tag: 1)
        #expect(kinds(script) == [.reusedTag])
    }

    @Test func `a version that nobody wrote is found`() {
        var script = Script.honest()
        script.page([("a", 77)], at: 5000...5010)
        #expect(kinds(script) == [.wrongContent])
    }

    // MARK: Reads

    @Test func `a lookup behind what was acknowledged is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30)
        script.lookup([("a", 1)], at: 31...40)
        #expect(kinds(script) == [.staleRead])
    }

    @Test func `a lookup behind what somebody else saw is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...90)
        script.lookup([("a", 2)], at: 30...40)
        script.lookup([("a", 1)], at: 50...60)
        #expect(kinds(script) == [.staleRead])
    }

    @Test func `a lookup that does not find what is there is found`() {
        for time in [20...30, 75...80] {
            var script = Script()
            script.write(1, [.create("a")], at: 0...10)
            script.write(2, [.delete("a", over: 1)], at: 40...50)
            script.write(3, [.update("a", over: 2)], at: 60...70)
            script.lookup([("a", nil)], at: time, missing: .absent)
            #expect(kinds(script) == [.staleRead])
        }
    }

    @Test func `half a batch in a lookup is found`() {
        var script = Script()
        script.write(1, [.create("a"), .create("b")], at: 0...10)
        script.write(2, [.update("a", over: 1), .update("b", over: 1)], at: 20...60)
        script.lookup([("a", 2), ("b", 1)], at: 30...40)
        #expect(kinds(script) == [.splitBatch])
    }

    // MARK: Feeds

    @Test func `half a batch on a page that has everything is found`() {
        var script = Script()
        script.write(1, [.create("a"), .create("b")], at: 0...10)
        script.page([("a", 1), ("b", 1)], at: 12...15)
        script.write(2, [.update("a", over: 1), .update("b", over: 1)], at: 20...60)
        script.page([("a", 2)], at: 30...40)
        script.page([("b", 2)], at: 50...55)
        #expect(kinds(script) == [.splitBatch])
    }

    @Test func `a page that ends inside a batch is found, and one that says so is not`() {
        for saysSo in [false, true] {
            var script = Script()
            script.write(1, [.create("a"), .create("b")], at: 0...10)
            script.page([("a", 1)], at: 20...30, isCaughtUp: false, isMidCommit: saysSo)
            script.page([("b", 1)], at: 40...50)
            #expect(kinds(script) == (saysSo ? [] : [.splitBatch]))
        }
    }

    @Test func `batches that the feed shows in the wrong order are found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.create("b")], at: 20...30)
        script.page([("b", 2), ("a", 1)], at: 40...50)
        #expect(kinds(script) == [.orderInversion])
    }

    @Test func `two followers who see two orders are found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...100)
        script.write(2, [.create("b")], at: 0...100)
        script.page([("a", 1), ("b", 2)], at: 110...120)
        script.page([("b", 2), ("a", 1)], at: 110...120, of: script.follow())
        #expect(kinds(script) == [.orderInversion])
    }

    @Test func `a feed that goes back to an older version is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30)
        script.page([("a", 2)], at: 40...50)
        script.page([("a", 1)], at: 60...70)
        #expect(kinds(script).contains(.orderInversion))
    }

    @Test func `a change that comes again is found`() {
        var script = Script.honest()
        script.page([("b", 1)], at: 5000...5010)
        #expect(kinds(script) == [.repeatedChange])
    }

    @Test func `a change that a follower never gets is found`() {
        var script = Script()
        script.write(1, [.create("a"), .create("b")], at: 0...10)
        script.page([("a", 1), ("b", 1)], at: 20...30)
        script.write(2, [.update("a", over: 1)], at: 40...50)
        script.write(3, [.update("b", over: 1)], at: 60...70)
        script.page([("b", 3)], at: 80...90)
        #expect(kinds(script) == [.skippedChange])
        script.end([("a", 2), ("b", 3)])
        #expect(kinds(script) == [.skippedChange, .wrongFinalState])
    }

    @Test func `a change that comes late is found even when the end is right`() {
        var script = Script()
        script.write(1, [.create("a"), .create("b")], at: 0...10)
        script.page([("a", 1), ("b", 1)], at: 20...30)
        script.write(2, [.update("a", over: 1)], at: 40...50)
        script.page([], at: 60...70)
        script.page([("a", 2)], at: 80...90)
        script.end([("a", 2), ("b", 1)])
        #expect(kinds(script) == [.skippedChange])
    }

    @Test func `a record that a follower never hears of is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.page([], at: 20...30)
        #expect(kinds(script) == [.skippedChange])
    }

    @Test func `a record that is made again before a follower comes, and that it never hears of, is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.delete("a", over: 1)], at: 20...30)
        script.write(3, [.update("a", over: 2)], at: 40...50)
        script.page([], at: 60...70)
        #expect(kinds(script) == [.skippedChange])
    }

    @Test func `a record that is made again, and of which a follower hears too late, is found`() {
        for told: [(Character, Int?)] in [[], [("a", nil)]] {
            var script = Script()
            script.write(1, [.create("a")], at: 0...10)
            script.write(2, [.delete("a", over: 1)], at: 20...30)
            script.page(told, at: 40...50)
            script.write(3, [.update("a", over: 2)], at: 60...70)
            script.page([], at: 80...90)
            script.page([("a", 3)], at: 100...110)
            #expect(kinds(script) == [.skippedChange])
        }
    }

    @Test func `a record that was made and deleted since a follower began, and of which it never hears, is found`() {
        var script = Script()
        script.page([], at: 0...10)
        script.write(1, [.create("a")], at: 20...30)
        script.write(2, [.delete("a", over: 1)], at: 40...50)
        script.page([], at: 60...70)
        #expect(kinds(script) == [.skippedChange])
        script.write(3, [.update("a", over: 2)], at: 80...90)
        script.page([("a", 3)], at: 100...110)
        #expect(kinds(script) == [.skippedChange])
    }

    @Test func `a token that skips what was made since is found`() {
        var script = Script()
        script.write(1, [.create("b")], at: 0...10)
        script.page([("b", 1)], at: 20...30)
        script.write(2, [.create("a")], at: 40...50)
        script.page([("a", 2)], at: 60...70)
        script.page([], at: 80...90, of: script.follow(from: .token(stream: 0, page: 0)))
        #expect(kinds(script) == [.tokenSkips])
    }

    @Test func `a token that skips when it is used again is found`() {
        let pages: [[(Character, Int?)]] = [[("a", 2), ("b", 3)], [("b", 3)]]
        for shown in pages {
            var script = Script()
            script.write(1, [.create("a"), .create("b")], at: 0...10)
            script.page([("a", 1), ("b", 1)], at: 20...30)
            script.write(2, [.update("a", over: 1)], at: 40...50)
            script.write(3, [.update("b", over: 1)], at: 60...70)
            script.page([("a", 2), ("b", 3)], at: 80...90)
            script.page(shown, at: 100...110, of: script.follow(from: .token(stream: 0, page: 0)))
            #expect(kinds(script) == (shown.count == 2 ? [] : [.tokenSkips]))
        }
    }

    @Test func `a token that goes back to what came before it is found`() {
        var script = Script.honest()
        script.page([("b", 1), ("a", 4)], at: 5000...5010, of: script.follow(from: .token(stream: 0, page: 0)))
        #expect(kinds(script).contains(.repeatedChange))
    }

    @Test func `a follower whose end is not what a lookup shows is found`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.delete("a", over: 1)], at: 20...30)
        script.page([("a", 1)], at: 15...35)
        script.page([], at: 40...50)
        script.end([("a", nil)])
        #expect(kinds(script) == [.skippedChange, .wrongFinalState])
    }

    // MARK: Evidence

    @Test func `the evidence names who is accused`() {
        var script = Script()
        script.write(1, [.create("a")], at: 0...10)
        script.write(2, [.update("a", over: 1)], at: 20...30)
        script.lookup([("a", 1)], at: 31...40)
        let evidence = HistoryCheck.violations(of: script.history).map(\.evidence)
        #expect(evidence.count == 1 && evidence[0].contains("a lookup (0.031–0.040 s: s0g0 by w0#1) does not show w0#2"), "\(evidence)")
    }

    @Test func `a long history is judged in time that grows with it`() {
        var script = Script()
        var before: Int?
        for number in 1...20_000 {
            script.write(number, [before.map { .update("a", over: $0) } ?? .create("a")], at: number * 10...number * 10 + 5)
            script.page([("a", number)], at: number * 10 + 6...number * 10 + 8)
            before = number
        }
        #expect(kinds(script) == [])
    }

    // MARK: Names

    @Test func `names and keys are one to one`() {
        for key in [RecordKey(slot: 0), RecordKey(slot: 47, generation: 65_535), RecordKey(slot: 247)] {
            #expect(RecordKey(name: key.name) == key)
        }
        for name in ["", "s", "s1", "s1g", "s01g0", "s1g65536", "x1g1", "s1g1g1", "s-1g1"] { #expect(RecordKey(name: name) == nil) }
    }
}
