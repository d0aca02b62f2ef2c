import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests that tags and times only go forward, whatever happens to records, zones and clocks.
@Suite struct TimeTests {
    @Test(arguments: Engine.ofRules) func `a record's modification time rises with a clock that stands, creeps or jumps back`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        var last = try #require(try await ann.modify([.create("r")]).first?.record?.modified.timestamp)
        var random = SeededRandom(seed: 5)
        for step in 0..<300 {
            let jumps = [0, -86_400, 0.000_4, 0.000_5, 0.000_999_9, -0.000_3, 3600, Double.random(in: -0.002...0.002, using: &random)]
            test.clock.move(bySeconds: jumps[step % jumps.count])
            if step % 17 == 0 { try await ann.modify([.delete("r")]) }
            let record = try #require(try await ann.modify([.update("r")]).first?.record)
            #expect(record.modified.timestamp > last)
            #expect(record.modified.timestamp.millisecondsSince1970 > last.millisecondsSince1970, "the web sees whole milliseconds")
            #expect(record.created.timestamp <= record.modified.timestamp)
            last = record.modified.timestamp
        }
    }

    @Test(arguments: Engine.ofRules) func `a clock that stands half-way between two milliseconds is no exception`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        // This time plus a millisecond rounds to the same millisecond.
        test.clock.move(bySeconds: 855.642_499_9)
        let first = try #require(try await ann.modify([.create("r")]).first?.record?.modified.timestamp)
        let next = try #require(try await ann.modify([.update("r")]).first?.record?.modified.timestamp)
        #expect(next > first && next.millisecondsSince1970 > first.millisecondsSince1970)
    }

    @Test(arguments: Engine.ofRules) func `a record made again has a new creation`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let first = try #require(try await ann.modify([.create("r")]).first?.record)
        try await ann.modify([.delete("r")])
        let second = try #require(try await ann.modify([.create("r")]).first?.record)
        #expect(second.created.timestamp > first.created.timestamp)
        let third = try #require(try await ann.modify([.update("r")]).first?.record)
        #expect(third.created == second.created)
    }

    @Test(arguments: Engine.ofRules, [1, 2, 3] as [UInt64]) func `no tag comes back, over any deletion of records and zones`(
        engine: Engine, seed: UInt64
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        var random = SeededRandom(seed: seed)
        var tags: [String: Set<String>] = [:]
        try await ann.makeZone("A", "B")
        for _ in 0..<300 {
            let zone = ["A", "B"].randomElement(using: &random) ?? "A"
            let name = "r\(Int.random(in: 0..<4, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                try await ann.deleteZone(zone)
                try await ann.makeZone(zone)
            case 1...3: try await ann.modify([.delete(name)], zone: zone)
            default:
                let record = try #require(try await ann.modify([.update(name)], zone: zone).first?.record)
                #expect(tags["\(zone)/\(name)", default: []].insert(record.recordChangeTag).inserted, "\(record.recordChangeTag) came back")
            }
        }
    }
}
