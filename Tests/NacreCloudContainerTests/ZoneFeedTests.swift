import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `changes/zone` over every engine: each record once, no commit torn, no change lost.
@Suite struct ZoneFeedTests {
    /// Follows a zone from a token to its end.
    private func follow(_ user: TestCloudUser, _ zone: String = "Z", after token: String? = nil, limit: Int? = nil) async throws
        -> [ChangesZoneResponse.Page]
    {
        var pages: [ChangesZoneResponse.Page] = []
        var token = token
        repeat {
            pages.append(try await user.changes(zone, after: token, limit: limit))
            token = pages.last?.syncToken
        } while pages.last?.moreComing == true
        return pages
    }

    @Test(arguments: Engine.ofRules) func `each record shows once, where it changed last, in its newest state`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for name in ["a", "b", "c"] { try await ann.modify([.create(name, ["n": .int64(1)])], zone: "Z") }
        try await ann.modify([.update("a", ["n": .int64(2)])], zone: "Z")
        try await ann.modify([.delete("b")], zone: "Z")
        let first = try await ann.changes("Z")
        #expect(first.records.map(\.recordName) == ["c", "a"], "who never saw b is not told that it is gone")
        #expect(first.records.last?.record?.fields == ["n": .int64(2)] && !first.moreComing && !first.isMidCommit)
        try await ann.modify([.create("b")], zone: "Z")
        try await ann.modify([.delete("c")], zone: "Z")
        let next = try await ann.changes("Z", after: first.syncToken)
        #expect(next.records.map(\.recordName) == ["b", "c"])
        #expect(next.records.last?.tombstone == Tombstone(recordName: "c", recordType: "Note"))
        let end = try await ann.changes("Z", after: next.syncToken)
        #expect(end.records.isEmpty && end.syncToken == next.syncToken)
    }

    @Test(arguments: Engine.ofRules) func `who wants the token alone gets where the zone begins, and is told from there what is deleted since`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for name in ["a", "b", "c"] { try await ann.modify([.create(name)], zone: "Z") }
        try await ann.modify([.delete("a")], zone: "Z")
        let begin = try await ann.changes("Z", wantsTokenOnly: true)
        #expect(begin.records.isEmpty && begin.moreComing && !begin.isMidCommit)
        let again = try await ann.changes("Z", after: begin.syncToken, wantsTokenOnly: true)
        #expect(again.records.isEmpty && again.moreComing && again.syncToken == begin.syncToken, "asking moves nothing")
        try await ann.modify([.delete("b")], zone: "Z")
        try await ann.modify([.create("d")], zone: "Z")
        let first = try await ann.changes("Z", after: begin.syncToken)
        #expect(first.records.map(\.recordName) == ["c", "b", "d"], "a was gone before, and b was not")
        #expect(first.records[1].tombstone == Tombstone(recordName: "b", recordType: "Note") && !first.moreComing)
        let end = try await ann.changes("Z", after: first.syncToken, wantsTokenOnly: true)
        #expect(end.records.isEmpty && !end.moreComing && end.syncToken == first.syncToken)
        // An empty zone begins where it ends.
        try await ann.makeZone("Empty")
        let empty = try await ann.changes("Empty", wantsTokenOnly: true)
        try await ann.modify([.create("e")], zone: "Empty")
        try await ann.modify([.delete("e")], zone: "Empty")
        #expect(!empty.moreComing && empty.records.isEmpty)
        #expect(try await ann.changes("Empty", after: empty.syncToken).records.compactMap(\.tombstone?.recordName) == ["e"])
    }

    @Test(arguments: Engine.ofRules) func `a feed's row says since when the record is there, over changes and touches and not over a deletion`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        func row(of name: String) async throws -> FeedRow? {
            try await test.store.read { transaction in
                let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
                return try transaction.feed(of: zone.address, view: .owner, after: .start, through: nil, baseline: .zero, limit: 10)
                    .first { $0.record.name == name }?.feed
            }
        }
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        let first = try #require(try await row(of: "r"))
        #expect(first.entered == first.position.number && !first.isDeparture)
        try await ann.modify([.update("r")], zone: "Z")
        try await ann.modify([.create("c", parent: "r")], zone: "Z")
        let touched = try #require(try await row(of: "r"))
        #expect(touched.entered == first.entered && touched.position.number > first.position.number)
        try await ann.modify([.delete("r"), .delete("c")], zone: "Z")
        let gone = try #require(try await row(of: "r"))
        #expect(gone.entered == first.entered && gone.isDeparture)
        try await ann.modify([.create("r")], zone: "Z")
        let again = try #require(try await row(of: "r"))
        #expect(again.entered == again.position.number && !again.isDeparture)
    }

    @Test(arguments: Engine.ofRules) func `pages of every limit give the same records in the same order`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for commit in 0..<12 {
            try await ann.modify((0...commit % 4).map { .create("r\(commit).\($0)") }, zone: "Z")
        }
        let commits = Dictionary(grouping: try await ann.changes("Z").records.compactMap(\.record), by: \.recordChangeTag)
        let all = try await ann.changes("Z").records
        #expect(all.count == 30 && commits.count == 12)
        for limit in 1...31 {
            let pages = try await follow(ann, limit: limit)
            #expect(pages.flatMap(\.records) == all, "limit \(limit)")
            #expect(pages.allSatisfy { !$0.isMidCommit })
            #expect(pages.last?.syncToken == pages.first { !$0.moreComing }?.syncToken)
            for page in pages {
                let whole = Dictionary(grouping: page.records.compactMap(\.record), by: \.recordChangeTag)
                #expect(whole.allSatisfy { commits[$0.key]?.count == $0.value.count }, "limit \(limit) tore a commit")
            }
        }
    }

    /// Makes a user with a zone Z, and a type that an app of the framework made.
    private func webUser(_ engine: Engine) async throws -> TestCloudUser {
        let test = try await TestCloud(engine)
        try await test.user("_ann").modify([.create("first")])
        let ann = test.user("_ann", client: .web)
        try await ann.makeZone("Z")
        return ann
    }

    @Test(arguments: Engine.ofRules) func `for web clients a limit is a limit, and pages of every limit give the same records`(engine: Engine)
        async throws
    {
        let ann = try await webUser(engine)
        for commit in 0..<12 { try await ann.modify((0...commit % 4).map { .create("r\(commit).\($0)") }, zone: "Z") }
        let all = try await ann.changes("Z").records
        #expect(all.count == 30)
        for limit in 1...31 {
            let pages = try await follow(ann, limit: limit)
            #expect(pages.flatMap(\.records) == all, "limit \(limit)")
            #expect(pages.dropLast().allSatisfy { $0.records.count == limit && $0.moreComing })
            let ends = pages.map { page in all.firstIndex { $0.recordName == page.records.last?.recordName } }
            for (page, end) in zip(pages, ends) {
                let place = try #require(end)
                let isMiddle = place + 1 < all.count && all[place].record?.recordChangeTag == all[place + 1].record?.recordChangeTag
                #expect(page.isMidCommit == isMiddle, "limit \(limit)")
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `what changes while a web client is in the middle of a commit is not lost`(engine: Engine) async throws {
        let ann = try await webUser(engine)
        try await ann.modify(["a", "b", "c", "d"].map { .create($0) }, zone: "Z")
        let first = try await ann.changes("Z", limit: 2)
        #expect(first.records.map(\.recordName) == ["a", "b"] && first.isMidCommit)
        try await ann.modify([.update("a"), .delete("c")], zone: "Z")
        try await ann.modify([.create("aa")], zone: "Z")
        var rest = try await follow(ann, after: first.syncToken, limit: 2)
        #expect(rest.flatMap(\.records).map(\.recordName) == ["d", "a", "c", "aa"])
        #expect(rest.flatMap(\.records).compactMap(\.tombstone?.recordName) == ["c"], "it went after the client began")
        let known = try await ann.changes("Z", limit: 3)
        try await ann.modify([.delete("d")], zone: "Z")
        rest = try await follow(ann, after: known.syncToken, limit: 1)
        #expect(rest.flatMap(\.records).compactMap(\.tombstone?.recordName) == ["d"])
    }

    @Test(arguments: Engine.ofRules, [1, 3, 200]) func `who wants one type hears that its record went, however far its name has moved since`(
        engine: Engine, limit: Int
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("n")], zone: "Z")
        var token = try await ann.changes("Z").syncToken
        try await ann.modify([.delete("n")], zone: "Z")
        try await ann.modify([.make(.create, "n", type: "Other")], zone: "Z")
        for index in 0..<7 { try await ann.modify([.create("r\(index)")], zone: "Z") }
        try await ann.modify([.make(.forceUpdate, "n", type: "Other")], zone: "Z")
        var gone: [String] = []
        while true {
            let page = try await ann.changes("Z", after: token, limit: limit, types: ["Note"])
            gone += page.records.compactMap(\.tombstone?.recordName)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(gone == ["n"])
        // A client that begins now never had it.
        #expect(try await ann.changes("Z", types: ["Note"]).records.compactMap(\.tombstone).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a commit of 400 comes whole on a page of 200 and on a page of one`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("before")], zone: "Z")
        try await ann.modify((0..<400).map { .create("r\($0)") }, zone: "Z")
        try await ann.modify([.create("after")], zone: "Z")
        #expect(try await follow(ann).map(\.records.count) == [401, 1])
        #expect(try await follow(ann, limit: 1).map(\.records.count) == [1, 400, 1])
        #expect(try await ann.changes("Z", limit: 5000).records.count == 401, "a larger limit than the largest is the largest")
        await #expect(throws: ServerError.self) { try await ann.changes("Z", limit: -1) }
        #expect(try await ann.changes("Z", limit: 0).records.count == 401)
    }

    @Test(arguments: Engine.ofRules, [1, 7, 200]) func `a commit of more than 1000 is split, says so, and is resumed where it was left`(
        engine: Engine, limit: Int
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("before")], zone: "Z")
        try await commitCascade(of: 2500, test, ann)
        try await ann.modify([.create("zafter")], zone: "Z")
        let pages = try await follow(ann, limit: limit)
        let names = pages.flatMap(\.records).compactMap(\.recordName)
        #expect(names == ["before"] + (0..<2500).map { "r\(10_000 + $0)" } + ["zafter"])
        let middles = pages.filter(\.isMidCommit)
        #expect(middles.count >= 2 && middles.allSatisfy(\.moreComing))
        for page in pages where !page.isMidCommit {
            let last = page.records.last?.recordName
            #expect(["before", "r12499", "zafter"].contains(last), "\(last ?? "-") ends a page that claims to end a commit")
        }
    }

    @Test(arguments: Engine.ofRules) func `a page of large records ends before it is too large, in the middle of a commit if need be`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let web = test.user("_ann", client: .web)
        // The framework adds the type.
        try await test.user("_ann").modify([.create("first", ["b": .bytes([1])])])
        try await web.makeZone("Z")
        func large(_ name: String) -> RecordOperation { .update(name, ["b": .bytes([UInt8](repeating: 7, count: 900_000))]) }
        try await web.modify([.create("a0")] + (0..<20).map { large("c\(10 + $0)") }, zone: "Z")
        for index in 0..<10 { try await web.modify([large("d\(index)")], zone: "Z") }
        try await web.modify([.create("e0")], zone: "Z")
        let names = ["a0"] + (0..<20).map { "c\(10 + $0)" } + (0..<10).map { "d\($0)" } + ["e0"]
        for limit in [1, 5, 200] {
            let pages = try await follow(web, limit: limit)
            #expect(pages.flatMap(\.records).compactMap(\.recordName) == names, "limit \(limit)")
            for page in pages {
                #expect(page.records.compactMap(\.record).reduce(0) { $0 + $1.fields.byteCount } <= Limits.pageBytes)
                let last = try #require(page.records.last?.recordName)
                #expect(page.isMidCommit == (last == "a0" || last.hasPrefix("c") && last != "c29"))
                #expect(page.records.count <= limit)
            }
            #expect(pages.count(where: \.isMidCommit) >= 2)
        }
    }

    @Test(arguments: Engine.ofRules) func `one request asks for many zones, each with a token, a limit and a choice of its own`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let zones = (0..<20).map { "z\($0)" }
        for zone in zones {
            try await ann.makeZone(zone)
            try await ann.save([.create("\(zone).a", ["n": .int64(1)]), .make(.create, "\(zone).o", type: "Other")], zone: zone)
        }
        var tokens: [String: String] = [:]
        for zone in zones.prefix(5) { tokens[zone] = try await ann.changes(zone).syncToken }
        try await ann.modify([.delete("z0.a")], zone: "z0")
        try await ann.deleteZone("z3")
        let items = zones.map { zone in
            ChangesZoneRequest.Item(
                zoneID: ZoneID(zoneName: zone), syncToken: tokens[zone], resultsLimit: zone == "z7" ? 1 : nil,
                desiredKeys: zone == "z8" ? [] : nil, desiredRecordTypes: zone == "z9" ? ["Other"] : zone == "z10" ? ["None"] : nil)
        }
        let absent = ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: "absent"))
        let answer = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: items + [absent]), in: ann.target, by: ann.caller)
        var pages: [String: ChangesZoneResponse.Page] = [:]
        var failures: [String: ServerErrorCode] = [:]
        for result in answer.zones {
            switch result {
            case .page(let page): pages[page.zoneID.zoneName] = page
            case .failure(let zoneID, let error): failures[zoneID.zoneName] = error.code
            }
        }
        #expect(failures == ["z3": .zoneNotFound, "absent": .zoneNotFound] && pages.count == 19)
        #expect(pages["z0"]?.records.map(\.tombstone?.recordName) == ["z0.a"])
        #expect(pages["z1"]?.records == [] && pages["z6"]?.records.count == 2)
        #expect(pages["z7"]?.records.count == 2, "a commit is not split")
        #expect(pages["z8"]?.records.first?.record?.fields.isEmpty == true)
        #expect(pages["z9"]?.records.map(\.recordName) == ["z9.o"])
        let passed = try #require(pages["z10"])
        #expect(passed.records.isEmpty)
        #expect(try await ann.changes("z10", after: passed.syncToken).records.isEmpty)
    }

    /// Makes one commit larger than any request.
    private func commitCascade(of count: Int, _ test: TestCloud, _ user: TestCloudUser) async throws {
        let id = try await test.cloud.databaseID(databaseVerdict(user.target, for: .write, by: user.caller).get())
        try await test.store.write { transaction in
            let zone = try #require(try transaction.advance(zoneNamed: "Z", in: id, operation: nil).zone)
            var plan = WritePlan()
            plan.records = (0..<count).map { index in
                let record = StoredRecord.sample("r\(10_000 + index)", seq: zone.lastSeq, in: zone.address)
                let index = ViewNumber(view: .owner, number: zone.number)
                return RecordPut(
                    zone: zone.address, row: record.row, leaves: [], enters: [FeedRow(position: index, entered: zone.number, isDeparture: false)],
                    isNew: true)
            }
            plan.zonesChanged = [zone.address]
            try transaction.apply(plan)
            return .commit(())
        }
    }

    @Test(arguments: Engine.ofRules) func `every token ever given leads to the same end`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        var random = SeededRandom(seed: 11)
        var copies: [(token: String?, records: [String: Record])] = [(nil, [:])]
        for _ in 0..<60 {
            let operations = Set((0..<3).map { _ in "r\(Int.random(in: 0..<12, using: &random))" }).map { name in
                Bool.random(using: &random) ? RecordOperation.delete(name) : .update(name, ["n": .int64(.random(in: 0..<9, using: &random))])
            }
            try await ann.modify(operations, zone: "Z")
            var copy = copies.randomElement(using: &random) ?? (nil, [:])
            for page in try await follow(ann, after: copy.token, limit: .random(in: 1...8, using: &random)) {
                Self.apply(page, to: &copy.records)
                copy.token = page.syncToken
                copies.append(copy)
            }
        }
        var end: [String: Record] = [:]
        for page in try await follow(ann) { Self.apply(page, to: &end) }
        for copy in copies {
            var records = copy.records
            for page in try await follow(ann, after: copy.token) { Self.apply(page, to: &records) }
            #expect(records == end)
        }
        #expect(try await ann.lookup(end.keys.sorted(), zone: "Z").allSatisfy { $0.record != nil })
    }

    private static func apply(_ page: ChangesZoneResponse.Page, to records: inout [String: Record]) {
        for result in page.records {
            if let name = result.recordName { records[name] = result.record }
        }
    }

    @Test(arguments: Engine.ofRules) func `a new reader hears of what goes while it reads, and not of what was gone before`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for index in 0..<9 { try await ann.modify([.create("r\(index)")], zone: "Z") }
        try await ann.modify([.delete("r2"), .delete("r5")], zone: "Z")
        let first = try await ann.changes("Z", limit: 3)
        #expect(first.records.map(\.recordName) == ["r0", "r1", "r3"] && first.moreComing)
        try await ann.modify([.delete("r1"), .delete("r7")], zone: "Z")
        let rest = try await follow(ann, after: first.syncToken, limit: 3).flatMap(\.records)
        #expect(rest.compactMap { $0.record?.recordName } == ["r4", "r6", "r8"])
        #expect(rest.compactMap { $0.tombstone?.recordName } == ["r1", "r7"])
    }

    @Test(arguments: Engine.ofRules) func `a page shows the types and fields asked for, and its token passes over the others`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("n", ["a": .int64(1), "b": .int64(2)]), .make(.create, "o", type: "Other")], zone: "Z")
        let page = try await ann.changes("Z", types: ["Note"], keys: ["b"])
        #expect(page.records.map(\.recordName) == ["n"] && page.records.first?.record?.fields == ["b": .int64(2)])
        #expect(try await ann.changes("Z", after: page.syncToken).records.isEmpty)
        let none = try await ann.changes("Z", limit: 1, types: ["Nothing"])
        #expect(none.records.isEmpty)
        #expect(try await ann.changes("Z", after: none.syncToken).records.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `pages without a record of the types asked for lead on to those that have some`(engine: Engine)
        async throws
    {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for index in 0..<6 { try await ann.modify([.make(.create, "o\(index)", type: "Other")], zone: "Z") }
        try await ann.modify([.create("n")], zone: "Z")
        var (pages, token) = ([ChangesZoneResponse.Page](), nil as String?)
        repeat {
            pages.append(try await ann.changes("Z", after: token, limit: 2, types: ["Note"]))
            token = pages.last?.syncToken
        } while pages.last?.moreComing == true
        #expect(pages.map(\.records.count) == [0, 0, 0, 1])
        #expect(Set(pages.map(\.syncToken)).count == 4)
    }

    @Test(arguments: Engine.ofRules) func `an app's own token comes back with the zone's changes until another takes its place`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        #expect(try await ann.changes("Z").clientChangeToken == nil)
        try await ann.modify([.create("a")], zone: "Z", token: [1, 2])
        #expect(try await ann.changes("Z").clientChangeToken == [1, 2])
        try await ann.modify([.create("b")], zone: "Z")
        #expect(try await ann.changes("Z").clientChangeToken == [1, 2])
        try await ann.modify([.create("c")], zone: "Z", token: [3])
        let page = try await ann.changes("Z")
        #expect(page.clientChangeToken == [3])
        #expect(try await ann.changes("Z", after: page.syncToken).clientChangeToken == [3])
    }
}
