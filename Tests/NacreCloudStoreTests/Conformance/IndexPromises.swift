import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct IndexPromises {
    private static let index = IndexID(rawValue: 5)
    /// Empty keys, prefixes of each other, and the bytes at both ends; in their order.
    private static let keys: [[UInt8]] = [[], [0], [0, 0], [0, 255], [97], [97, 0], [97, 98], [97, 255], [255], [255, 0], [255, 255]]
    private static let names = ["", "B", "a", "a\u{0}", "ab", "e\u{301}", "é", "\u{ffff}", "\u{10000}"]

    /// A place as bytes: `String` treats two canonically equivalent names as one.
    private struct Row: Hashable {
        var key: [UInt8]
        var name: [UInt8]
    }

    /// Every name under every key, in order.
    private static let rows = keys.flatMap { key in names.map { Row(key: key, name: Array($0.utf8)) } }

    private static func put(_ name: String, _ seq: Int64, before: Int64? = nil, _ keys: [[UInt8]], in index: IndexID = index) -> RecordPut {
        var put = Sample.put(name, seq, before: before)
        put.indexed = [IndexKeys(index: index, keys: SortedKeys(sorting: keys))]
        return put
    }

    private func filled(_ engine: Engine) async throws -> any Store {
        let store = try await engine.makeStore()
        var puts = Self.names.map { Self.put($0, 1, Self.keys.shuffled()) }
        // Neighbouring indexes are not part of it.
        for (offset, index) in [-1, 1].enumerated() {
            puts[offset].indexed.append(IndexKeys(index: IndexID(rawValue: Self.index.rawValue + Int64(index)), keys: SortedKeys(sorting: Self.keys)))
        }
        var sibling = Self.put("a", 1, [[97]])
        sibling.zone.zone += 1
        var stranger = Self.put("a", 1, [[97]])
        stranger.zone.database = DatabaseID(rawValue: Sample.database.rawValue + 1)
        try await store.populate(puts.shuffled() + [sibling, stranger])
        return store
    }

    private static func scan(
        _ lower: [UInt8] = [], to upper: [UInt8]? = nil, after: IndexPosition? = nil, includesAfter: Bool = false, isDescending: Bool = false,
        limit: Int = 1000
    ) -> IndexScan {
        IndexScan(
            zone: Sample.zone, index: index, lower: lower, upper: upper, after: after, includesAfter: includesAfter,
            isDescending: isDescending, limit: limit)
    }

    private func rows(_ scan: IndexScan, _ store: any Store) async throws -> [Row] {
        try await store.read { try $0.search(scan) }.map { Row(key: $0.position.key, name: Array($0.position.name.utf8)) }
    }

    @Test(arguments: Engine.allCases)
    func `rows come in the order of their keys' bytes, then of their names', or falling in both`(engine: Engine) async throws {
        let store = try await filled(engine)
        #expect(try await rows(Self.scan(), store) == Self.rows)
        #expect(try await rows(Self.scan(isDescending: true), store) == Self.rows.reversed())
    }

    @Test(arguments: Engine.allCases)
    func `pages follow each other without a gap or a repetition, in both directions`(engine: Engine) async throws {
        let store = try await filled(engine)
        for (isDescending, whole) in [(false, Self.rows), (true, Self.rows.reversed())] {
            for limit in [1, 4, 98, 99, 100] {
                var read: [Row] = []
                var last: IndexPosition?
                repeat {
                    let after = last
                    let scan = Self.scan(after: after, isDescending: isDescending, limit: limit)
                    let page = try await store.read { try $0.search(scan) }
                    #expect(page.count <= limit)
                    read += page.map { Row(key: $0.position.key, name: Array($0.position.name.utf8)) }
                    last = page.last?.position
                } while last != nil
                #expect(read == whole)
            }
        }
        #expect(try await rows(Self.scan(limit: 0), store).isEmpty)
        #expect(try await rows(Self.scan(limit: -1), store).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `a scan begins at its lower key and ends before its upper one, wherever it goes on`(engine: Engine) async throws {
        let store = try await filled(engine)
        let bounds = Self.keys + [[1], [97, 97], [254]]
        let afters = [nil, IndexPosition(key: [97], name: "ab"), IndexPosition(key: [96], name: "z"), IndexPosition(key: [97, 98], name: "é")]
        for lower in bounds {
            for upper in [nil] + bounds.map(Optional.some) {
                for after in afters {
                    let expected = Self.rows.filter { row in
                        !row.key.lexicographicallyPrecedes(lower) && upper.map { row.key.lexicographicallyPrecedes($0) } ?? true
                    }
                    let rising = expected.filter { row in after.map { Self.precedes($0, row) } ?? true }
                    let falling = expected.filter { row in after.map { !Self.precedes($0, row) && !Self.isSame($0, row) } ?? true }
                    #expect(try await rows(Self.scan(lower, to: upper, after: after), store) == rising)
                    #expect(try await rows(Self.scan(lower, to: upper, after: after, isDescending: true), store) == falling.reversed())
                    guard let after, let same = expected.first(where: { Self.isSame(after, $0) }) else { continue }
                    let rises = try await rows(Self.scan(lower, to: upper, after: after, includesAfter: true), store)
                    let falls = try await rows(Self.scan(lower, to: upper, after: after, includesAfter: true, isDescending: true), store)
                    #expect(rises == [same] + rising && falls == [same] + falling.reversed(), "with the row itself")
                }
            }
        }
    }

    private static func precedes(_ place: IndexPosition, _ row: Row) -> Bool {
        place.key == row.key ? Array(place.name.utf8).lexicographicallyPrecedes(row.name) : place.key.lexicographicallyPrecedes(row.key)
    }

    private static func isSame(_ place: IndexPosition, _ row: Row) -> Bool {
        place.key == row.key && Array(place.name.utf8) == row.name
    }

    @Test(arguments: Engine.allCases)
    func `records come along where they are asked for, and a row whose record is gone leads nowhere`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = [Self.put("a", 1, [[1], [2]]), Self.put("b", 2, [[1]]), Self.put("c", 3, [[3]])]
        try await store.populate(puts)
        try await store.apply(WritePlan(\.recordsRemoved, [RecordRemoval(zone: Sample.zone, name: "b", leaves: puts[1].leaves)]))
        for isDescending in [false, true] {
            var scan = Self.scan(isDescending: isDescending, limit: 3)
            let places = ["a1", "b1", "a2", "c3"].map { IndexPosition(key: [UInt8($0.dropFirst()) ?? 0], name: String($0.prefix(1))) }
            let ordered = isDescending ? places.reversed() : places
            let plain = scan
            #expect(try await store.read { try $0.search(plain) } == ordered.prefix(3).map { IndexHit(position: $0, record: nil) })
            scan.includesRecords = true
            let whole = scan
            let rows = ["a": puts[0].row, "c": puts[2].row]
            let expected = ordered.compactMap { position in rows[position.name].map { IndexHit(position: position, record: $0) } }
            #expect(try await store.read { try $0.search(whole) } == expected)
        }
    }

    @Test(arguments: Engine.allCases)
    func `records come along up to so many bytes, and one of them always`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = (0..<5).map { Self.put("r\($0)", Int64($0) + 1, [[UInt8($0)]]) }
        try await store.populate(puts)
        let size = puts[0].row.body.count
        for (bytesMax, count) in [(1, 1), (size, 1), (size + 1, 2), (3 * size, 3), (.max, 5)] {
            var scan = Self.scan()
            let plain = scan
            let rows = try await store.read { try $0.search([plain], bytesMax: bytesMax) }
            #expect(rows.map(\.hits.count) == [5] && rows.map(\.isWhole) == [true], "rows alone have no bodies")
            scan.includesRecords = true
            let whole = scan
            let found = try await store.read { try $0.search([whole], bytesMax: bytesMax) }
            #expect(found.map { $0.hits.map(\.position.name) } == [(0..<count).map { "r\($0)" }])
            #expect(found.map(\.isWhole) == [bytesMax == .max])
        }
    }

    @Test(arguments: Engine.allCases)
    func `records of some names come along, rows of the others alone, and none of what is gone`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = (0..<5).map { Self.put("r\($0)", Int64($0) + 1, [[UInt8($0)]]) }
        try await store.populate(puts)
        for isDescending in [false, true] {
            var scan = Self.scan(isDescending: isDescending, limit: 4)
            scan.among = ["r1", "r3", "r4", "r9"]
            let plain = scan
            #expect(try await store.read { try $0.search(plain) }.compactMap(\.record) == [], "no records were asked for")
            scan.includesRecords = true
            let whole = scan
            let found = try await store.read { try $0.search(whole) }
            #expect(found.map(\.position.name) == (isDescending ? ["r4", "r3", "r2", "r1"] : ["r0", "r1", "r2", "r3"]), "the limit counts rows")
            #expect(found.compactMap(\.record) == (isDescending ? [puts[4], puts[3], puts[1]] : [puts[1], puts[3]]).map(\.row))
            #expect(found.allSatisfy { $0.record.map(\.name) ?? $0.position.name == $0.position.name })
            let size = puts[0].row.body.count
            let portion = try await store.read { try $0.search([whole], bytesMax: size) }.first
            #expect(portion?.hits.compactMap(\.record).count == 1 && portion?.isWhole == false, "bodies are counted")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a scan goes from span to span, and on behind any row that it gave`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate((0..<5).map { Self.put("r\($0)", Int64($0) + 1, [[UInt8($0)]]) })
        for isDescending in [false, true] {
            let spans = [([3], [5]), ([9], nil), ([0], [2])].map { IndexSpan(index: Self.index, lower: $0.0, upper: $0.1) }
            let expected = isDescending ? ["r4", "r3", "r1", "r0"] : ["r3", "r4", "r0", "r1"]
            for limit in 1...5 {
                var scan = IndexScan(zone: Sample.zone, spans: spans, isDescending: isDescending, limit: limit)
                var found: [String] = []
                var isWhole = false
                while !isWhole {
                    let asked = scan
                    let portion = try #require(try await store.read { try $0.search([asked], bytesMax: .max) }.first)
                    found += portion.hits.map(\.position.name)
                    isWhole = portion.isWhole
                    #expect(isWhole == (portion.hits.count < limit))
                    if let last = portion.hits.last { scan.goOn(behind: last) }
                }
                #expect(found == expected, "limit \(limit)")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a row whose record went leads to no other record, and to that of its name when it comes again`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var scan = Self.scan()
        scan.includesRecords = true
        let whole = scan
        let old = Self.put("old", 2, [[1]])
        try await store.populate([Self.put("kept", 1, [[2]]), old])
        try await store.apply(WritePlan(\.recordsRemoved, [RecordRemoval(zone: Sample.zone, name: "old", leaves: old.leaves)]))
        try await store.apply(WritePlan(\.records, [Self.put("next", 3, [[3]])]))
        #expect(try await store.read { try $0.search(whole) }.map(\.record?.name) == ["kept", "next"])

        try await store.apply(WritePlan(\.records, [Self.put("old", 4, [[4]])]))
        let found = try await store.read { try $0.search(whole) }
        #expect(found.map(\.record?.name) == ["old", "kept", "next", "old"] && found.first?.record == found.last?.record)
    }

    @Test(arguments: Engine.allCases)
    func `a row that goes need not be there, one that comes may be, and what goes goes first`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Self.put("a", 1, [[1], [2], [1]]), Self.put("b", 1, [[1]])])
        var again = Self.put("a", 2, before: 1, [[2], [3], [4]])
        again.unindexed = [IndexKeys(index: Self.index, keys: SortedKeys(sorting: [[1], [3], [9]]))]
        try await store.apply(WritePlan(\.records, [again]))
        let rows = try await rows(Self.scan(), store)
        #expect(rows.map { "\($0.key[0])\(String(decoding: $0.name, as: UTF8.self))" } == ["1b", "2a", "3a", "4a"])
    }

    @Test(arguments: Engine.allCases)
    func `who builds an index puts rows beside those that are there`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Self.put("a", 1, [[1]]), Self.put("b", 1, [])])
        let keys = IndexKeys(index: Self.index, keys: SortedKeys(sorting: [[1], [2]]))
        try await store.apply(WritePlan(\.indexed, ["a", "b"].map { IndexPut(zone: Sample.zone, name: $0, indexed: [keys]) }))
        let rows = try await rows(Self.scan(), store)
        #expect(rows.map { "\($0.key[0])\(String(decoding: $0.name, as: UTF8.self))" } == ["1a", "1b", "2a", "2b"])
        #expect(try await store.names() == ["a", "b"])
    }

    @Test(arguments: Engine.allCases)
    func `a key may be as long as a record`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let long = [UInt8](repeating: 7, count: 100_000)
        try await store.populate([Self.put("long", 1, [long]), Self.put("longer", 1, [long + [0]]), Self.put("short", 1, [[7]])])
        let names = try await rows(Self.scan([7, 7], to: long + [1]), store).map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == ["long", "longer"])
    }
}
