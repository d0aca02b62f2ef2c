import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the stored form of records: everything comes back, and damaged bytes are refused.
@Suite struct RecordBodyTests {
    private func row(_ values: inout RandomValues, fields: Int, hasManifest: Bool = false) -> (RecordRow, RecordContent) {
        let created = values.stamp()
        var modified = [created, created, values.stamp()][Int.random(in: 0..<3, using: &values.random)]
        if values.integer() > 0 { modified.timestamp = Timestamp(secondsSince2001: values.double()) }
        let content = RecordContent(
            created: created, modified: modified, entered: values.number(), fields: values.fields(fields),
            formerTypes: fields % 3 == 0 ? (0...fields).map { "Type\($0)" } : [], manifest: hasManifest ? values.bytes() : nil)
        var row = RecordRow(
            name: values.string(), type: values.string(), number: values.number(), isTombstone: values.integer() > 0,
            parent: values.optional { $0.string() }, body: [])
        row.body = RecordBody.encode(
            content, in: .sample, name: row.name, type: row.type, number: row.number, isTombstone: row.isTombstone, parent: row.parent)
        return (row, content)
    }

    private func isCorrupt(_ row: RecordRow, only names: FieldNames? = nil) -> Bool {
        do {
            if let names {
                _ = try RecordBody.fields(of: row, in: .sample, only: names)
            } else {
                _ = try RecordBody.decode(row, in: .sample)
            }
            return false
        } catch {
            return error.code == .corrupt
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>) func `random values of all types come back as they were`(seed: UInt64) throws {
        var values = RandomValues(seed: seed)
        let (row, content) = row(&values, fields: Int(seed % 24), hasManifest: seed % 4 == 0)
        let decoded = try RecordBody.decode(row, in: .sample)
        #expect(decoded == content)
        let again = RecordBody.encode(
            decoded, in: .sample, name: row.name, type: row.type, number: row.number, isTombstone: row.isTombstone, parent: row.parent)
        #expect(again == row.body, "bytes say more than values do: -0.0, canonical equivalents")
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>) func `of a body only the fields that are asked for are read, wherever they stand`(seed: UInt64)
        throws
    {
        var values = RandomValues(seed: seed)
        let (row, content) = row(&values, fields: Int(seed % 24), hasManifest: seed % 4 == 0)
        let all = content.fields.entries.map(\.name)
        let asked = [all.filter { _ in values.integer() > 0 }, [], Array(all.prefix(1)), all.suffix(1) + ["f", "f99", "é"], all + all]
        for names in asked {
            let part = try RecordBody.read(row, only: FieldNames(names))
            #expect(part.fields == content.fields.only(names))
            #expect(part.created == content.created)
            #expect(part.modified == content.modified && part.manifest == nil)
            #expect(try RecordBody.read(row, only: FieldNames(names, withManifest: true)).manifest == content.manifest)
            #expect(try RecordBody.fields(of: row, in: .sample, only: FieldNames(names)) == part.fields)
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>) func `records that stay unread are written as if they were read`(seed: UInt64) throws {
        var values = RandomValues(seed: seed)
        let (row, content) = row(&values, fields: Int(seed % 6))
        let hasAssets = content.fields.entries.contains { $0.value.holdsAssets }
        let zone = UnreadZone(
            ShownRecords(
                zoneID: ZoneID(zoneName: "Z", ownerRecordName: values.optional { $0.string() }),
                database: DatabaseKey(container: "c", environment: .development, scope: .private, owner: "_ann"), caller: Caller(.user("_ann")),
                rule: .everything, databaseID: DatabaseID(rawValue: 1),
                links: AssetLinks(tokens: AssetTokens(seals: PlainTokens()), clock: { Timestamp(secondsSince2001: 0) })))
        guard let kept = try UnreadRecord(row, of: zone) else {
            #expect(hasAssets)
            return
        }
        #expect(!hasAssets)
        let read = try #require(try zone.showing.record(row, keys: nil, nil))
        for form in [AnswerForm(details: true), AnswerForm(numbersAsStrings: true)] {
            let records = [true, false].map { isKept in
                var page = PagedRecords()
                for _ in 0..<2 { isKept ? page.append(kept) : page.append(read) }
                #expect(page.count == 2 && page.all == [.record(read), .record(read)])
                return QueryAnswer(response: RecordsQueryResponse(records: []), page: page).json(form)
            }
            #expect(records[0] == records[1])
            let whole = RecordsQueryResponse(records: [read, read])
            var writer = JSONWriter()
            whole.write(to: &writer, form: form)
            #expect(writer.finish() == records[0])
        }
    }

    @Test(arguments: [[], ["f0"], ["f7", "f19"], ["none"]]) func `damage is found also where nobody asks for the field in which it is`(
        names: [String]
    ) {
        var values = RandomValues(seed: 44)
        let (row, _) = row(&values, fields: 20)
        let names = FieldNames(names)
        #expect(!isCorrupt(row, only: names))
        for index in row.body.indices {
            var damaged = row
            damaged.body[index] ^= 1 << UInt8(index % 8)
            #expect(isCorrupt(damaged, only: names), "byte \(index)")
            damaged.body = Array(row.body.prefix(index))
            #expect(isCorrupt(damaged, only: names), "cut to \(index)")
        }
    }

    @Test func `a double keeps its bits, a NaN too`() throws {
        let number = ChangeNumber(run: 1, seq: 1)
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 0), userRecordName: "")
        let content = RecordContent(created: stamp, modified: stamp, entered: number, fields: ["n": .double(.nan)])
        let body = RecordBody.encode(content, in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
        let row = RecordRow(name: "r", type: "T", number: number, isTombstone: false, parent: nil, body: body)
        let decoded = try RecordBody.decode(row, in: .sample)
        guard case .double(let value)? = decoded.fields["n"] else {
            Issue.record("another value came back")
            return
        }
        #expect(value.bitPattern == Double.nan.bitPattern)
    }

    @Test func `every flipped bit of a body is found`() {
        var values = RandomValues(seed: 42)
        let (row, _) = row(&values, fields: 20)
        for index in row.body.indices {
            for bit in 0..<8 {
                var damaged = row
                damaged.body[index] ^= 1 << UInt8(bit)
                #expect(isCorrupt(damaged), "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func `every end that a body may be cut to is found, and so is every byte too many`() {
        var values = RandomValues(seed: 43)
        let (row, _) = row(&values, fields: 20)
        for length in 0..<row.body.count {
            var cut = row
            cut.body = Array(row.body.prefix(length))
            #expect(isCorrupt(cut), "cut to \(length)")
        }
        var long = row
        long.body.append(0)
        #expect(isCorrupt(long))
    }

    @Test func `every flipped bit of a column is found`() {
        let row = StoredRecord.sample("name", seq: 77, parent: "parent", fields: ["a": .int64(1)]).row
        #expect(!isCorrupt(row))
        for bit in 0..<63 {
            var damaged = row
            damaged.number.seq ^= 1 << Int64(bit)
            #expect(isCorrupt(damaged), "seq, bit \(bit)")
            damaged = row
            damaged.number.run ^= 1 << Int64(bit)
            #expect(isCorrupt(damaged), "run, bit \(bit)")
        }
        for index in 0..<4 {
            for bit in 0..<7 {
                var damaged = row
                damaged.name = row.name.flipping(bit, at: index)
                #expect(isCorrupt(damaged), "name, byte \(index), bit \(bit)")
                damaged = row
                damaged.type = row.type.flipping(bit, at: index)
                #expect(isCorrupt(damaged), "type, byte \(index), bit \(bit)")
                damaged = row
                damaged.parent = row.parent?.flipping(bit, at: index)
                #expect(isCorrupt(damaged), "parent, byte \(index), bit \(bit)")
            }
        }
        var damaged = row
        damaged.isTombstone.toggle()
        #expect(isCorrupt(damaged))
        damaged = row
        damaged.parent = nil
        #expect(isCorrupt(damaged))
        damaged.parent = ""
        #expect(isCorrupt(damaged))
    }

    @Test func `letters that move from one column to the next are found`() {
        var row = StoredRecord.sample("ab", seq: 1, parent: "p").row
        row.name = "a"
        row.type = "bNote"
        #expect(isCorrupt(row))
    }

    @Test func `the same record of another zone or database is found to be another's`() throws {
        let row = StoredRecord.sample("r", seq: 1).row
        _ = try RecordBody.decode(row, in: .sample)
        for (database, zone) in [(1, 3), (2, 2), (2, 1)] as [(Int64, Int64)] {
            let other = ZoneAddress(database: DatabaseID(rawValue: database), zone: zone)
            let error = #expect(throws: StoreError.self) { try RecordBody.decode(row, in: other) }
            #expect(error?.code == .corrupt)
        }
    }

    @Test func `a body of a later version is said to be one, not damage`() throws {
        var row = StoredRecord.sample("r", seq: 1).row
        row.body = Array(row.body.dropLast(4))
        row.body[0] = RecordBody.versionWithManifest + 1
        let sum = RecordBody.checksum(
            of: row.body[...], in: .sample, name: row.name, type: row.type, number: row.number, isTombstone: row.isTombstone, parent: row.parent)
        row.body.append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * UInt32($0))) })
        let error = #expect(throws: StoreError.self) { try RecordBody.decode(row, in: .sample) }
        #expect(error?.code == .newerVersion)
    }

    /// On disk for good: this test may gain rows and never lose one.
    @Test func `a body has the bytes that are on disk`() throws {
        let number = ChangeNumber(run: 1, seq: 2)
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 0.5), userRecordName: "_u", deviceID: "d")
        let content = RecordContent(created: stamp, modified: stamp, entered: number, fields: ["i": .int64(-3), "s": .string("é")])
        let fieldBytes: [UInt8] = [2, 1, 0x69, 2, 5, 1, 0x73, 1, 2, 0xc3, 0xa9]
        let bytes = [0x11] + [0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 1, 2, 0x5f, 0x75, 1, 1, 0x64, 0, 2, 4] + fieldBytes
        let row = Self.row(bytes, number)
        #expect(try RecordBody.decode(row, in: .sample) == content)
        #expect(try RecordBody.fields(of: row, in: .sample, only: FieldNames(["s"])) == ["s": .string("é")])
        let body = RecordBody.encode(content, in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
        #expect(Array(body.dropLast(4)) == bytes)
    }

    private static func row(_ bytes: [UInt8], _ number: ChangeNumber) -> RecordRow {
        var row = RecordRow(name: "r", type: "T", number: number, isTombstone: false, parent: nil, body: bytes)
        let sum = RecordBody.checksum(of: bytes[...], in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
        row.body += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * UInt32($0))) }
        return row
    }

    /// On disk for good: codes of names and changes.
    @Test func `stamps are kept short, and come back to the byte`() throws {
        let number = ChangeNumber(run: 1, seq: 2)
        let time: [UInt8] = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f]
        let later: [UInt8] = [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]
        func stamp(_ seconds: Double, _ user: String, _ device: String?) -> Record.Stamp {
            Record.Stamp(timestamp: Timestamp(secondsSince2001: seconds), userRecordName: user, deviceID: device)
        }
        let first = stamp(0.5, "_0aff", "c0de")
        let packed: [UInt8] = [3, 2, 0x0a, 0xff, 2, 2, 0xc0, 0xde]
        let rows: [(Record.Stamp, Record.Stamp, [UInt8])] = [
            (first, first, time + packed + [0]),
            (first, stamp(1.5, "_0aff", "c0de"), time + packed + [1] + later),
            (first, stamp(0.5, "_0aff", nil), time + packed + [2] + time + [3, 2, 0x0a, 0xff, 0]),
            // Upper case, an odd number of digits, no digits, and other letters are kept as they are.
            (stamp(0.5, "_0AFF", nil), stamp(0.5, "_0AFF", nil), time + [1, 5, 0x5f, 0x30, 0x41, 0x46, 0x46, 0, 0]),
            // An underscore with an accent is one letter, and two things in bytes.
            (stamp(0.5, "_\u{301}0aff", nil), stamp(0.5, "_\u{301}0aff", nil), time + [1, 7, 0x5f, 0xcc, 0x81, 0x30, 0x61, 0x66, 0x66, 0, 0]),
            (stamp(0.5, "_abc", "_"), stamp(0.5, "_abc", "_"), time + [1, 4, 0x5f, 0x61, 0x62, 0x63, 1, 1, 0x5f, 0]),
            (stamp(0.5, "", "_00"), stamp(0.5, "", "_00"), time + [1, 0, 3, 1, 0, 0]),
            (stamp(0.5, "é", nil), stamp(0.5, "e\u{301}", nil), time + [1, 2, 0xc3, 0xa9, 0, 2] + time + [1, 3, 0x65, 0xcc, 0x81, 0]),
        ]
        for (created, modified, bytes) in rows {
            let content = RecordContent(created: created, modified: modified, entered: number, fields: ["i": .int64(-3)])
            let body = RecordBody.encode(content, in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
            #expect(Array(body.dropLast(4)) == [0x11] + bytes + [2, 4, 1, 1, 0x69, 2, 5])
            let row = RecordRow(name: "r", type: "T", number: number, isTombstone: false, parent: nil, body: body)
            let decoded = try RecordBody.decode(row, in: .sample)
            #expect(decoded == content)
            #expect(decoded.created.userRecordName.utf8.elementsEqual(created.userRecordName.utf8))
            #expect(decoded.modified.userRecordName.utf8.elementsEqual(modified.userRecordName.utf8))
            #expect(try RecordBody.fields(of: row, in: .sample, only: FieldNames(["i"])) == content.fields)
        }
        // Unknown codes, and a stamp without a user.
        for bytes in [time + [4, 0, 0, 0], time + [1, 0, 0, 3], time + [0, 0, 0]] {
            let error = #expect(throws: StoreError.self) {
                try RecordBody.decode(Self.row([0x11] + bytes + [2, 4, 0], number), in: .sample)
            }
            #expect(error?.code == .corrupt)
        }
    }

    /// On disk for good, as the bytes of a body without a share.
    @Test func `a share has the bytes that are on disk`() throws {
        let head: [UInt8] = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 1, 2, 0x5f, 0x75, 0, 0, 2, 4, 0]
        // Short GUID "g", READ_ONLY, one participant "p": the user "_b", invited by "b@c", USER, READ_WRITE,
        // accepted, with the one-time secret "s". Requests are allowed; "_r" has asked, and nobody is blocked.
        let participant: [UInt8] = [1, 0x70, 1, 2, 0x5f, 0x62, 1, 3, 0x62, 0x40, 0x63, 2, 2, 1, 1, 1, 0x73]
        let requests: [UInt8] = [1, 1, 1, 2, 0x5f, 0x72, 0, 0, 0, 0]
        let bytes = [0x15] + head + [0, 0, 1, 1, 0x67, 1, 1] + participant + requests + [1, 0x72, 0]
        let state = ShareState(
            shortGUID: "g", publicPermission: .readOnly,
            participants: [
                .init(
                    id: "p", user: "_b", invitation: .emailAddress("b@c"), role: .privateUser, permission: .readWrite, isAccepted: true,
                    oneTimeSecret: "s")
            ], allowsAccessRequests: true, requesters: [ParticipantIdentity(userRecordName: "_r")], root: "r")
        let number = ChangeNumber(run: 1, seq: 2)
        let content = try RecordBody.decode(Self.row(bytes, number), in: .sample)
        #expect(content.sharing == state && content.shared == .none && content.fields.isEmpty)
        let body = RecordBody.encode(content, in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
        #expect(Array(body.dropLast(4)) == bytes)
        // With a manifest, a share has it behind its root; another record has a zero in the share's place.
        let manifest: [UInt8] = [2, 0xaa, 0xbb]
        for bytes in [[0x16] + bytes[1...].dropLast() + manifest + [0], [0x16] + head + [0, 0, 0] + manifest + [0]] {
            let content = try RecordBody.decode(Self.row(bytes, number), in: .sample)
            #expect(content.manifest == [0xaa, 0xbb] && (content.sharing == nil || content.sharing == state))
            let body = RecordBody.encode(content, in: .sample, name: "r", type: "T", number: number, isTombstone: false, parent: nil)
            #expect(Array(body.dropLast(4)) == bytes)
        }
    }
}

extension String {
    /// Returns the bytes with one bit flipped.
    func flipping(_ bit: Int, at index: Int) -> String {
        var bytes = Array(utf8)
        bytes[index] ^= 1 << UInt8(bit)
        return String(decoding: bytes, as: UTF8.self)
    }
}
