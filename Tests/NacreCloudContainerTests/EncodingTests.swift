import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of forms kept on disk or in clients for years, by known bytes, not only round trips.
@Suite struct EncodingTests {
    @Test(arguments: 1...100 as ClosedRange<UInt64>) func `a checksum over what a writer would write is that of what it writes`(seed: UInt64) {
        var values = RandomValues(seed: seed)
        let (text, signed, fixed, byte) = (values.string(), values.integer(), UInt64(bitPattern: values.integer()), UInt8(seed))
        var writer = ByteWriter()
        writer.string(text)
        writer.signed(signed)
        writer.number(fixed)
        writer.fixed(fixed)
        writer.byte(byte)
        var sum = ChecksumWriter(seed: 7)
        sum.string(text)
        sum.signed(signed)
        sum.number(fixed)
        sum.fixed(fixed)
        sum.byte(byte)
        #expect(sum.sum == Checksum.crc32c(writer.bytes, seed: 7))
    }

    @Test(arguments: [0, 1, 35, 36, 1_295, 1_296, .max, .min, -1] as [Int64]) func `a change tag is its numbers to the base 36`(number: Int64) {
        #expect(ChangeTag.text(ChangeNumber(run: 0, seq: number)) == String(number, radix: 36))
        #expect(ChangeTag.text(ChangeNumber(run: .max, seq: number)) == "1y2p0ij32e8e7-" + String(number, radix: 36))
    }

    @Test func `the checksum is CRC-32C`() {
        #expect(Checksum.crc32c(Array("123456789".utf8)) == 0xe306_9283)
        #expect(Checksum.crc32c([]) == 0)
        // RFC 3720, B.4.
        #expect(Checksum.crc32c([UInt8](repeating: 0, count: 32)) == 0x8a91_36aa)
        #expect(Checksum.crc32c([UInt8](repeating: 0xff, count: 32)) == 0x62a8_ab43)
        #expect(Checksum.crc32c(Array(0...31)) == 0x46dd_794e)
    }

    @Test func `a checksum goes on where another ended, wherever the bytes are cut`() {
        let bytes = Array("The quick brown fox jumps over the lazy dog".utf8)
        for cut in 0...bytes.count {
            #expect(Checksum.crc32c(bytes[cut...], seed: Checksum.crc32c(bytes[..<cut])) == Checksum.crc32c(bytes))
        }
    }

    @Test func `the tables and the processor's instruction make the same checksum, wherever the bytes begin and end`() {
        let bytes = (0..<80).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }
        for start in 0...9 {
            for end in start...bytes.count {
                let tables = bytes[start..<end].withUnsafeBytes { Checksum.updateByTables(77, $0) }
                #expect(tables == Checksum.crc32c(bytes[start..<end], seed: 77), "\(start) to \(end)")
            }
        }
    }

    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, UInt64(Int64.max), .max]) func `numbers come back from varints`(value: UInt64) throws {
        var writer = ByteWriter()
        writer.number(value)
        writer.signed(Int64(bitPattern: value))
        writer.fixed(value)
        var reader = ByteReader(writer.bytes)
        #expect(try reader.number() == value)
        #expect(try reader.signed() == Int64(bitPattern: value))
        #expect(try reader.fixed() == value)
        #expect(reader.isAtEnd)
    }

    @Test func `a reader trusts no count, no end and no number of more than 64 bits`() {
        func fails<Value>(_ bytes: [UInt8], _ read: (inout ByteReader) throws -> Value) -> Bool {
            var reader = ByteReader(bytes)
            do {
                _ = try read(&reader)
                return false
            } catch {
                return true
            }
        }
        let ones = [UInt8](repeating: 0xff, count: 9)
        #expect(fails([]) { try $0.byte() })
        #expect(fails([0x80]) { try $0.number() })
        #expect(fails(ones + [2]) { try $0.number() })
        #expect(fails(ones + [0x81, 0]) { try $0.number() })
        #expect(!fails(ones + [1]) { try $0.number() })
        #expect(fails(ones + [1]) { try $0.block() })
        #expect(fails([3, 1, 2]) { try $0.string() })
        #expect(fails([1, 2, 3, 4, 5, 6, 7]) { try $0.fixed() })
    }

    private static let zoneToken = ChangeToken.zone(
        .init(
            zone: ZoneAddress(database: DatabaseID(rawValue: -3), zone: 9), view: FeedView(rawValue: 2),
            position: FeedPosition(ChangeNumber(run: 4, seq: 1 << 40), name: "name"), baseline: ChangeNumber(run: 1, seq: 7),
            seen: ChangeNumber(run: .max, seq: 1 << 41)))
    private static let databaseToken = ChangeToken.database(
        .init(database: DatabaseID(rawValue: .min), position: ZoneFeedPosition(12, name: ""), baseline: 3, seen: ChangeNumber(run: .max, seq: 12)))

    @Test(arguments: [zoneToken, databaseToken]) func `a token comes back from its bytes, and from none that are cut or longer`(token: ChangeToken)
        throws
    {
        #expect(ChangeToken(token.bytes) == token)
        for length in 0..<token.bytes.count {
            #expect(ChangeToken(Array(token.bytes.prefix(length))) == nil, "cut to \(length)")
        }
        #expect(ChangeToken(token.bytes + [0]) == nil)
        #expect(ChangeToken([3] + token.bytes.dropFirst()) == nil, "a later version")
        #expect(ChangeToken([1] + token.bytes.dropFirst()) == nil, "an unknown version")
        #expect(ChangeToken([2, 3] + token.bytes.dropFirst(2)) == nil, "another kind")
    }

    @Test func `a token without a name is not one with an empty name`() throws {
        var token = ChangeToken.OfDatabase(
            database: DatabaseID(rawValue: 1), position: ZoneFeedPosition(1), baseline: 0, seen: ChangeNumber(run: 1, seq: 1))
        let bytes = ChangeToken.database(token).bytes
        token.position.name = ""
        #expect(ChangeToken.database(token).bytes != bytes)
        #expect(ChangeToken(bytes) != .database(token))
    }

    @Test func `a logged operation comes back from its bytes, and from none that are cut or longer`() throws {
        let error = ServerError(
            .conflict, "client oplock error", native: .serverRecordChanged, internalCode: 2004, field: "f", remedy: "r")
        let result = OperationResult(
            number: ChangeNumber(run: 1, seq: 99), madeNames: [.init(index: 0, name: "A"), .init(index: 399, name: "B")],
            failures: [
                .init(index: 1, error: error), .init(index: 2, error: .recordNotFound),
                .init(index: 3, error: .tooManyItems(3, limit: 2, field: "x")),
            ])
        #expect(try OperationResult(result.bytes) == result)
        for length in 0..<result.bytes.count {
            #expect(throws: StoreError.self, "cut to \(length)") { try OperationResult(Array(result.bytes.prefix(length))) }
        }
        #expect(throws: StoreError.self) { try OperationResult(result.bytes + [0]) }
        #expect(throws: StoreError.self) { try OperationResult([3] + result.bytes.dropFirst()) }
        // A position that is in no list.
        let beyond: [UInt8] = [2, 1, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1, 65, 0]
        #expect(throws: StoreError.self) { try OperationResult(beyond) }
    }

    @Test func `failures of one kind are kept once, and texts beyond their bound not at all`() throws {
        func kept(_ error: (Int) -> ServerError) throws -> (bytes: Int, read: [ServerError], places: [Int]) {
            let failures = (1..<400).map { OperationResult.Failure(index: $0, error: error($0)) }
            let bytes = OperationResult(number: ChangeNumber(run: 1, seq: 1), madeNames: [], failures: failures).bytes
            let read = try OperationResult(bytes).failures
            return (bytes.count, read.map(\.error), read.map(\.index))
        }
        let wrong = ServerError(.badRequest, "not so", internalCode: 2006, field: "f", remedy: "Otherwise.")
        let alike = try kept { _ in wrong }
        #expect(alike.bytes < 1500 && alike.read.allSatisfy { $0 == wrong } && alike.places == Array(1..<400))
        let long = String(repeating: "x", count: 60)
        let different = try kept { ServerError(.badRequest, "not so", internalCode: 2006, field: "f\($0)", remedy: long) }
        #expect(different.bytes < 2500, "\(different.bytes)")
        #expect(different.read.first?.field == "f1" && different.read.last?.field == nil)
        #expect(different.read.allSatisfy { $0.code == .badRequest && $0.internalCode == 2006 })
    }

    @Test func `a logged operation of 400 saved records is small`() {
        #expect(OperationResult(number: ChangeNumber(run: 1, seq: 1 << 30), madeNames: [], failures: []).bytes.count <= 20)
    }
}

@Suite struct DatabaseIDTests {
    private func key(_ container: String, _ environment: DatabaseKey.Environment, _ scope: DatabaseKey.Scope, _ owner: String) -> DatabaseKey {
        DatabaseKey(container: container, environment: environment, scope: scope, owner: owner)
    }

    /// Known keys: the first column of every row on every disk. Never change one.
    @Test func `the keys of databases stay what they are`() {
        #expect(DatabaseID(key("iCloud.com.example.notes", .development, .private, "_0123")).rawValue == 4_725_827_405_930_592_005)
        #expect(DatabaseID(key("iCloud.com.example.notes", .production, .public, "")).rawValue == -6_391_301_063_042_044_451)
        #expect(DatabaseID(key("", .production, .registry, "server")).rawValue == -749_214_402_493_791_212)
        #expect(DatabaseID(key("", .production, .registry, "server"), salt: 1).rawValue == -2_298_545_555_466_397_314)
    }

    @Test func `parts do not run into each other, and near names have far keys`() {
        let ids = [
            key("ab", .development, .private, "c"), key("a", .development, .private, "bc"), key("ab", .production, .private, "c"),
            key("ab", .development, .shared, "c"), key("ab", .development, .private, "d"), key("ab", .development, .private, ""),
        ].map { DatabaseID($0) }
        #expect(Set(ids).count == ids.count)
        let many = Set((0..<20_000).map { DatabaseID(key("iCloud.com.example.notes", .development, .private, "_\($0)")) })
        #expect(many.count == 20_000)
    }

    @Test(arguments: Engine.ofRules) func `a database whose key is taken by another gets the next one`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let mine = key(TestCloud.container, .development, .private, "_ann")
        let other = key(TestCloud.container, .development, .private, "_bob")
        let taken = DatabaseID(mine)
        try await test.store.write { transaction in
            var plan = WritePlan()
            plan.databases = [DatabaseRow(id: taken, key: other, run: 1, lastSeq: 0)]
            try transaction.apply(plan)
            return .commit(())
        }
        #expect(try await test.cloud.databaseID(mine) == DatabaseID(mine, salt: 1))
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        #expect(try await ann.changes("Z").records.map(\.recordName) == ["r"])
        #expect(try await test.cloud.databaseID(mine) == DatabaseID(mine, salt: 1))
        let rows = try await test.store.read { try $0.databases([taken, DatabaseID(mine, salt: 1)]) }
        #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.key) }) == [taken: other, DatabaseID(mine, salt: 1): mine])
    }
}
