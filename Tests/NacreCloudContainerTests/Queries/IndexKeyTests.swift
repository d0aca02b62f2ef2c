import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that keys have the order of their values, and identify a record's position.
struct IndexKeyTests {
    @Test(arguments: [FieldType.string, .int64, .double, .timestamp, .bytes, .reference])
    func `keys are ordered as their values are`(type: FieldType) throws {
        var data = QueryData(seed: HistorySeed.value)
        for _ in 0..<2000 {
            let (left, right) = (data.scalar(type), data.scalar(type))
            let (one, other) = try (#require(IndexKey.bound(of: left, as: type)), #require(IndexKey.bound(of: right, as: type)))
            let order = ValueOrder(bytes: one.key, other.key)
            // A truncated key tells only part of the order.
            guard order != .equal || (one.isExact && other.isExact) else { continue }
            #expect(order == ValueOrder(left, right), "\(left) \(right) NACRE_SEED=\(HistorySeed.value)")
        }
    }

    @Test func `every number has its place among the other kind of numbers`() throws {
        let integers: [Int64] = [.min, -3, 0, 1, 9_007_199_254_740_992, 9_007_199_254_740_993, .max]
        let doubles = [-1e300, -3.5, -3, -0.0, 0.5, 1, 9_007_199_254_740_992, 9.3e18, 1e300]
        for integer in integers {
            for double in doubles {
                let wanted = ValueOrder(.int64(integer), .double(double))
                let asIntegers = try #require(IndexKey.bound(of: .double(double), as: .int64))
                let asDoubles = try #require(IndexKey.bound(of: .int64(integer), as: .double))
                let integerKey = try #require(IndexKey.key(of: .int64(integer), as: .int64))
                let doubleKey = try #require(IndexKey.key(of: .double(double), as: .double))
                if asIntegers.isExact { #expect(ValueOrder(bytes: integerKey, asIntegers.key) == wanted, "\(integer) \(double)") }
                if asDoubles.isExact { #expect(ValueOrder(bytes: asDoubles.key, doubleKey) == wanted, "\(integer) \(double)") }
                // An inexact key may equal its neighbour's, but never be on its other side.
                if wanted == .below { #expect(ValueOrder(bytes: asDoubles.key, doubleKey) != .above, "\(integer) \(double)") }
                if wanted == .above { #expect(ValueOrder(bytes: asDoubles.key, doubleKey) != .below, "\(integer) \(double)") }
            }
        }
    }

    @Test func `no value, an empty list and an empty text are three keys, in this order`() {
        let text = IndexKey.text("".utf8).key
        #expect(IndexKey.none.lexicographicallyPrecedes(IndexKey.emptyList))
        #expect(IndexKey.emptyList.lexicographicallyPrecedes(text))
    }

    @Test func `a distance comes back out of its key`() {
        for distance in [0, 0.5, 1, 20_015_114.4, -0.0, -1.5] { #expect(IndexKey.number(of: IndexKey.number(distance)) == distance) }
        #expect(IndexKey.number(of: SortTerm.farthest) == nil)
    }

    @Test func `a record has a row for each value, element and word, and one that says no value where orders look`() {
        var type = RecordTypeDefinition(name: "Thing")
        type.fields["text"] = FieldDefinition(
            type: .string, isQueryable: true, isSortable: true, values: .init(id: 1, state: .usable), tokens: .init(id: 2, state: .usable))
        type.fields["missing"] = FieldDefinition(type: .int64, isQueryable: true, isSortable: true, values: .init(id: 3, state: .building))
        type.fields["absent"] = FieldDefinition(type: .int64, isQueryable: true, values: .init(id: 4, state: .usable))
        type.fields["tags"] = FieldDefinition(type: .stringList, isQueryable: true, values: .init(id: 5, state: .usable))
        type.fields["none"] = FieldDefinition(type: .stringList, isQueryable: true, values: .init(id: 6, state: .usable))
        type.fields["___recordID"] = FieldDefinition(type: .reference, isQueryable: true, values: .init(id: 7, state: .usable))
        type.fields["plain"] = FieldDefinition(type: .string)
        let fields: RecordFields = [
            "text": .string("Red red fox"), "tags": .stringList(["a", "b", "a"]), "none": .stringList([]), "plain": .string("x"),
        ]
        let record = Self.record("n1", fields)
        let keys = IndexRows(type).keys(of: record)
        let rows = Set(keys.flatMap(\.entries))
        func row(_ index: Int64, _ key: [UInt8]) -> IndexEntry { IndexEntry(index: IndexID(rawValue: index), key: key) }
        func text(_ text: String) -> [UInt8] { IndexKey.text(text.utf8).key }
        #expect(
            rows == [
                row(1, text("Red red fox")), row(2, text("red")), row(2, text("fox")), row(3, IndexKey.none), row(5, text("a")), row(5, text("b")),
                row(6, IndexKey.emptyList), row(7, text("n1")),
            ])
        #expect(keys.rowCount == rows.count && Set(keys.map(\.index)).count == keys.count)
        let tombstone = Self.record("n1", fields, isTombstone: true)
        #expect(IndexRows(type).keys(of: tombstone).isEmpty)
    }

    @Test func `a record has the rows that are made of it, and no others`() {
        var data = QueryData(seed: HistorySeed.value)
        var type = RecordTypeDefinition(name: "Thing")
        for (index, field) in QueryData.fields.enumerated() {
            let hasWords = [.string, .stringList].contains(field.type)
            type.fields[field.name] = FieldDefinition(
                type: field.type, isQueryable: true, isSortable: !field.type.isList, values: .init(id: Int64(index), state: .usable),
                tokens: hasWords ? .init(id: Int64(100 + index), state: .usable) : nil)
        }
        type.pairs = [PairIndex(first: "tags", second: "count", definition: .init(id: 200, state: .usable))]
        let records = (0..<60).map { Self.record("n\($0)", data.recordFields()) }
        let rows = records.map { type.indexEntries(of: $0) }
        let all = rows.reduce(into: Set<IndexEntry>()) { $0.formUnion($1) }
        let index = IndexRows(type)
        for (record, own) in zip(records, rows) {
            for row in all { #expect(index.has(row, of: record) == own.contains(row), "\(row) of \(record) NACRE_SEED=\(HistorySeed.value)") }
        }
        let long = String(repeating: "x", count: Limits.indexKeyBytes + 3)
        #expect(SearchWords.has(IndexKey.text(long.utf8).key, in: .string("a \(long)y b")), "as far as an index looks it is the same word")
    }

    @Test func `a value's words are in the order of their keys, each once, and so are those without another's`() {
        var data = QueryData(seed: HistorySeed.value)
        for _ in 0..<500 {
            let (left, right) = (data.value(.stringList), Bool.random(using: &data.random) ? data.value(.string) : .stringList(["Red fox", "red"]))
            let (words, others) = (Self.list(SearchWords.keys(of: left)), Self.list(SearchWords.keys(of: right)))
            #expect(Set(words) == Set(SearchWords.of(left).map { IndexKey.text($0.utf8).key }), "\(left) NACRE_SEED=\(HistorySeed.value)")
            let rest = Self.list(SearchWords.keys(of: left).subtracting(SearchWords.keys(of: right)))
            #expect(Set(rest) == Set(words).subtracting(others), "\(left) \(right) NACRE_SEED=\(HistorySeed.value)")
            for keys in [words, rest] { #expect(zip(keys, keys.dropFirst()).allSatisfy { ByteOrder.compare($0, $1) < 0 }) }
        }
        // Words that are equal within the length of an index key.
        let long = String(repeating: "a", count: Limits.indexKeyBytes)
        #expect(SearchWords.keys(of: .string("\(long)b \(long)c")).count == 1)
    }

    @Test func `a change takes the rows that only the state before had, and brings those that only the state after has`() async {
        var data = QueryData(seed: HistorySeed.value)
        // Equal in Swift and two texts in an index: composed and decomposed letters; and zero with a sign, which is
        // one number.
        let twins: [(FieldValue, FieldValue)] = [
            (.string("caf\u{e9}"), .string("cafe\u{301}")), (.stringList(["\u{212b}"]), .stringList(["\u{c5}"])), (.double(0), .double(-0.0)),
        ]
        let types = FieldType.allCases.filter { !IndexOptions.possible(for: FieldShape($0)).isEmpty }
        for turn in 0..<2000 {
            let twin = twins[turn % twins.count]
            let type = turn % 2 == 0 ? twin.0.type : types.randomElement(using: &data.random) ?? .string
            var definition = RecordTypeDefinition(name: "Thing")
            var next: Int64 = 1
            definition.fields["f"] = FieldDefinition(type: type)
            definition.fields["f"]?.setOptions(IndexOptions.possible(for: FieldShape(type)), nextIndex: &next)
            for kind in IndexKind.allCases { definition.fields["f"]?.makeIndex(kind, nextIndex: &next) }
            func state(_ value: FieldValue) -> StoredRecord? {
                switch Int.random(in: 0..<8, using: &data.random) {
                case 0: nil
                case 1: Self.record("n", [:])
                default: Self.record("n", ["f": value])
                }
            }
            let left = turn % 2 == 0 ? twin.0 : data.value(type)
            let right = turn % 2 == 0 ? twin.1 : Bool.random(using: &data.random) ? left : data.value(type)
            let (before, after) = (state(left), state(right))
            let rows = IndexRows(definition)
            func all(_ record: StoredRecord?) -> Set<IndexEntry> { record.map(definition.indexEntries) ?? [] }
            let (old, new) = (all(before), all(after))
            // Words that were found before: of either text, of a twin, of both, or of none.
            let found = [left, right].filter { _ in Bool.random(using: &data.random) }
            let schema = Schema(types: ["Thing": definition])
            let words = await SearchedTexts(of: found.map { Self.record("n", ["f": $0]) }, by: schema).words()
            let changes = rows.changes(from: before, to: after, words)
            #expect(Set(changes.gone.flatMap(\.entries)) == old.subtracting(new), "\(left) \(right) NACRE_SEED=\(HistorySeed.value)")
            #expect(Set(changes.come.flatMap(\.entries)) == new.subtracting(old), "\(left) \(right) NACRE_SEED=\(HistorySeed.value)")
        }
    }

    private static func list(_ keys: SortedKeys) -> [[UInt8]] {
        var list: [[UInt8]] = []
        keys.each { list.append(Array($0)) }
        return list
    }

    static func record(_ name: String, _ fields: RecordFields, parent: String? = nil, isTombstone: Bool = false) -> StoredRecord {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 100), userRecordName: "_ann")
        let number = ChangeNumber(run: 1, seq: 1)
        return StoredRecord(
            row: RecordRow(name: name, type: "Thing", number: number, isTombstone: isTombstone, parent: parent, body: []),
            content: RecordContent(created: stamp, modified: stamp, entered: number, fields: fields))
    }
}

@Suite struct WordRoomTests {
    @Test func `words are found ahead of so much text at the same time, and of as much again when that is written`() {
        let room = WordRoom()
        #expect(room.take(12_000_000))
        #expect(!room.take(8_000_000))
        #expect(room.take(4_000_000))
        room.giveBack(12_000_000)
        #expect(room.take(8_000_000))
        #expect(!room.take(.max / 2))
    }
}
