import Foundation
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of attacks of a server on its users' records. The numbers are those of docs/encryption.md.
///
/// A process that is new has seen no version of a record, so that the record itself must tell what was done to it.
struct HostileRecordsTests {
    private static let notes = HostileServer.notes
    private static let other = CKRecord.ID(recordName: "other", zoneID: SealedNote.zoneID)
    private let server: HostileServer
    private var cloud: PretendCloud { server.cloud }

    init() async throws { server = try await HostileServer() }

    /// Returns the error of a record that a new process asks for.
    private func refusal(of id: CKRecord.ID = SealedNote.id) async throws -> CKError {
        let database = try server.database()
        return try #require(await thrown { try await database.record(for: id) })
    }

    // MARK: Another place

    /// A thing that the server puts in another place.
    struct Move: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var asked = SealedNote.id
        let make: @Sendable (HostileServer) async throws -> Void
    }

    private static let moves = [
        Move(testDescription: "a value to another field") { await $0.cloud.alter("note", in: notes) { $0.fields["a"] = $0.fields["b"] } },
        Move(testDescription: "two values in each other's fields") {
            await $0.cloud.alter("note", in: notes) { ($0.fields["a"], $0.fields["b"]) = ($0.fields["b"], $0.fields["a"]) }
        },
        Move(testDescription: "a list in the place of a value") { await $0.cloud.alter("note", in: notes) { $0.fields["a"] = $0.fields["list"] } },
        Move(testDescription: "a value to another record") { server in
            let value = try await server.stored("other").fields["a"]
            await server.cloud.alter("note", in: notes) { $0.fields["a"] = value }
        },
        Move(testDescription: "all that was saved together to another record", asked: other) { server in
            let note = try await server.stored("note")
            await server.cloud.alter("other", in: notes) { ($0.fields, $0.manifest) = (note.fields, note.manifest) }
        },
        Move(testDescription: "a record under another name", asked: other) { server in
            let note = try await server.stored("note")
            await server.cloud.alter("other", in: notes) {
                $0 = note
                $0.recordName = "other"
            }
        },
        Move(testDescription: "a record of another type") { await $0.cloud.alter("note", in: notes) { $0.recordType = "Memo" } },
        Move(testDescription: "a value to another zone") { server in
            let value = try await server.stored("note", in: HostileServer.lists).fields["a"]
            await server.cloud.alter("note", in: notes) { $0.fields["a"] = value }
        },
    ]

    private func saveAll() async throws {
        let database = try server.database()
        let values: [String: any CKRecordValueProtocol] = ["a": "apple", "b": "bread", "list": ["x", "y"]]
        let elsewhere = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: CKRecordZone.ID(zoneName: "Lists")))
        elsewhere.encryptedValues["a"] = "apple"
        for record in [SealedNote.note(values), SealedNote.note(values, named: "other"), elsewhere] { try await database.save(record) }
    }

    @Test(arguments: moves) func `A10: what was moved to another place is refused, and nothing else is`(move: Move) async throws {
        try await saveAll()
        try await move.make(server)
        let error = try await refusal(of: move.asked)
        #expect(error.code == .internalError && error.localizedDescription.contains("'\(move.asked.recordName)'"))
        let rest = move.asked == SealedNote.id ? Self.other : SealedNote.id
        #expect(try await server.database().record(for: rest).encryptedValues["a"] as? String == "apple")
    }

    @Test func `A10: a record of another zone shows no value, and takes the place of none that was seen`() async throws {
        try await saveAll()
        let seen = try server.database()
        _ = try await seen.record(for: SealedNote.id)
        let elsewhere = try await server.stored("note", in: HostileServer.lists)
        await cloud.alter("note", in: Self.notes) { $0 = elsewhere }
        #expect(try await server.database().record(for: SealedNote.id).encryptedValues.allKeys().isEmpty)
        #expect(await thrown { try await seen.record(for: SealedNote.id) }?.code == .internalError)
    }

    @Test func `A10: a record and its keys are refused in another container`() async throws {
        try await saveAll()
        let settings = CloudKitServer(
            url: try #require(URL(string: KeyDevice.url)), environment: .development, apiToken: "app", accountToken: "account")
        let line = ServerLine(
            identifier: "iCloud.other", source: .explicit(settings), transport: cloud, timekeeper: PretendTime().timekeeper,
            keyStore: server.phone)
        let user = ServerLine.KnownUser(settings: try line.settings(), recordName: "_alice")
        line.knownUser.withLock { $0 = user }
        let database = CKContainer(line: line).privateCloudDatabase
        #expect(await thrown { try await database.record(for: SealedNote.id) }?.code == .internalError)
    }

    // MARK: Another share

    /// Two shares of records of Alice's, as one process of her phone has them.
    private struct TwoShares {
        let line: ServerLine
        let first: ScopeID
        let second: ScopeID
        var database: CKDatabase { CKContainer(line: line).privateCloudDatabase }
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: SealedNote.zoneID) }

    /// Puts a plain record into the zone.
    private func put(_ name: String, below parent: String? = nil, share: String? = nil) async {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1000), userRecordName: "_alice")
        var record = Record(recordName: name, recordType: "Note", recordChangeTag: "1", created: stamp, modified: stamp, fields: RecordFields())
        record.parent = parent.map { Reference(recordName: $0, action: .none) }
        record.share = share.map { Reference(recordName: $0, action: .none) }
        await cloud.put(record, in: Self.notes)
    }

    /// Has a process share two records, each with an encrypted value. The server does not show the first share any
    /// more.
    private func shareTwo() async throws -> TwoShares {
        let line = try server.process().line
        let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
        let conversation = Conversation(line: line, scope: .private, patience: patience)
        let (exchange, place) = try #require(try await conversation.keyExchange(for: SealedNote.zoneID))
        var scopes: [ScopeID] = []
        for share in ["first", "second"] {
            try await exchange.makeScope(ofShare: (share, "root of \(share)"), at: place, beginning: true)
            scopes.append(try #require(try await exchange.keys(ofShare: share, at: place)).newest.id.scope)
            await put("root of \(share)", share: share)
        }
        let shares = TwoShares(line: line, first: scopes[0], second: scopes[1])
        let root = try await shares.database.record(for: id("root of first"))
        root.encryptedValues["a"] = "apple"
        try await shares.database.save(root)
        #expect(try await scope(of: "root of first") == scopes[0])
        return shares
    }

    private func scope(of name: String) async throws -> ScopeID {
        try RecordManifest(#require(try await server.stored(name).manifest)).parts.keyID.scope
    }

    @Test func `A10: the root of a share is not sealed for another share below whose root the server shows it`() async throws {
        let shares = try await shareTwo()
        await cloud.alter("root of first", in: Self.notes) { $0.parent = Reference(recordName: "root of second", action: .none) }
        let root = try await shares.database.record(for: id("root of first"))
        root.encryptedValues["a"] = "almond"
        try await shares.database.save(root)
        #expect(try await scope(of: "root of first") == shares.first)
        shares.line.openedKeys.withLock { $0.doubtScopes(inZoneNamed: "Notes") }
        for (name, expected) in [("first", shares.first), ("second", shares.second)] {
            let child = SealedNote.note(named: "below \(name)")
            child.setParent(id("root of \(name)"))
            try await shares.database.save(child)
            #expect(try await scope(of: "below \(name)") == expected, "the app has set the parent")
        }
    }

    @Test func `A10: the first encrypted value of a record goes into no share because the server shows a parent`() async throws {
        let shares = try await shareTwo()
        await put("plain", below: "root of second")
        let record = try await shares.database.record(for: id("plain"))
        record.encryptedValues["a"] = "apple"
        try await shares.database.save(record)
        #expect(try await ![shares.first, shares.second].contains(scope(of: "plain")))
    }

    // MARK: Another version

    @Test func `A11: an old value beside new ones is refused, and so is an old manifest`() async throws {
        let database = try server.database()
        let record = try await database.save(SealedNote.note())
        let old = try await server.stored("note")
        (record.encryptedValues["a"], record.encryptedValues["b"]) = ("almond", "butter")
        try await database.save(record)
        let new = try await server.stored("note")
        let mixes: [@Sendable (inout Record) -> Void] = [
            { $0.fields["a"] = old.fields["a"] }, { $0.fields["b"] = old.fields["b"] }, { $0.manifest = old.manifest },
        ]
        for mix in mixes {
            await cloud.alter("note", in: Self.notes) { $0 = new }
            #expect(try await server.database().record(for: SealedNote.id).encryptedValues["a"] as? String == "almond")
            await cloud.alter("note", in: Self.notes, mix)
            #expect(try await refusal().code == .internalError)
        }
    }

    /// Has the server answer the next request for changes, and the next query, with a record.
    private func show(_ record: Record) async {
        await cloud.answerZoneChanges(
            .page(ChangesZoneResponse.Page(zoneID: Self.notes, records: [.record(record)], syncToken: "1", moreComing: false)))
        var found = record
        found.zoneID = Self.notes
        await cloud.answerQueries(RecordsQueryResponse(records: [found]))
    }

    /// Returns the record of the note in the feed, and in a query.
    /// - Parameter keys: the fields that are asked for; nil: all.
    private func shown(to database: CKDatabase, _ keys: [String]? = nil) async throws -> [Result<CKRecord, any Error>] {
        let changes = try await database.recordZoneChanges(inZoneWith: SealedNote.zoneID, since: nil, desiredKeys: keys)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let found = try await database.records(matching: query, inZoneWith: SealedNote.zoneID, desiredKeys: keys)
        return [
            try #require(changes.modificationResultsByID[SealedNote.id]).map(\.record),
            try #require(found.matchResults.first { $0.0 == SealedNote.id }?.1),
        ]
    }

    @Test func `A12: a record that goes back is refused in the feed and in a query too, by a process that has seen it`() async throws {
        let database = try server.database()
        let record = try await database.save(SealedNote.note())
        let old = try await server.stored("note")
        record.encryptedValues["a"] = "almond"
        try await database.save(record)
        await show(try await server.stored("note"))
        for result in try await shown(to: database) { #expect(try result.get().encryptedValues["a"] as? String == "almond") }
        await show(old)
        for result in try await shown(to: database) { #expect(result.word == "internalError") }
    }

    @Test func `A12: a record that was seen in a share does not go back to the zone as it was before`() async throws {
        let shares = try await shareTwo()
        let database = shares.database
        let record = try await database.save(SealedNote.note())
        let old = try await server.stored("note")
        record.setParent(id("root of second"))
        try await database.save(record)
        #expect(try await scope(of: "note") == shares.second)
        await cloud.alter("note", in: Self.notes) { $0 = old }
        #expect(await thrown { try await database.record(for: SealedNote.id) }?.code == .internalError)
    }

    @Test func `A12: a record that lost its values and its manifest is refused by a process that has seen them`() async throws {
        let database = try server.database()
        try await database.save(SealedNote.note())
        await cloud.alter("note", in: Self.notes) { record in
            record.manifest = nil
            record.fields = ["title": .string("plain")]
        }
        #expect(await thrown { try await database.record(for: SealedNote.id) }?.code == .internalError)
        await show(try await server.stored("note"))
        for result in try await shown(to: database) { #expect(result.word == "internalError") }
    }

    @Test func `A13: a value that was asked for cannot be kept back, by whichever request`() async throws {
        try await server.database().save(SealedNote.note())
        let whole = try await server.stored("note")
        var part = whole
        part.fields["b"] = nil
        for (record, keys, word) in [(whole, nil, "ok"), (part, nil, "internalError"), (part, ["a", "b"], "internalError"), (part, ["a"], "ok")] {
            await cloud.alter("note", in: Self.notes) { $0 = record }
            let database = try server.database()
            #expect(try await database.records(for: [SealedNote.id], desiredKeys: keys)[SealedNote.id]?.word == word)
            await show(record)
            for result in try await shown(to: database, keys) { #expect(result.word == word, "\(keys ?? [])") }
        }
    }

    @Test func `A13: the end of a list cannot be cut off`() async throws {
        try await server.database().save(SealedNote.note(["list": (0..<100).map { "item \($0)" }]))
        await cloud.alter("note", in: Self.notes) { record in
            guard case .sealed(var value)? = record.fields["list"] else { return }
            value.bytes.removeLast(16)
            record.fields["list"] = .sealed(value)
        }
        #expect(try await refusal().code == .internalError)
    }

    @Test(arguments: [false, true]) func `A14: a record below another parent, or below none, is refused`(hasParent: Bool) async throws {
        let record = SealedNote.note()
        record.setParent(CKRecord.ID(recordName: "folder", zoneID: SealedNote.zoneID))
        try await server.database().save(record)
        await cloud.alter("note", in: Self.notes) { $0.parent = hasParent ? Reference(recordName: "other", action: .none) : nil }
        #expect(try await refusal().code == .internalError)
    }

    @Test(arguments: [false, true]) func `A15: a record under a key that has only the name of the zone's is refused`(asPhone: Bool) async throws {
        try await server.database().save(SealedNote.note())
        let phone = try #require(try await server.log().enrolled.keys.first)
        let forged = try await server.forgedRecord(in: server.stored("note"), writer: asPhone ? phone : server.forger.id)
        await cloud.alter("note", in: Self.notes) { $0 = forged }
        #expect(try await refusal().code == .internalError)
    }

    @Test func `A22: a field that an app keeps encrypted is nothing as a plain one, and a plain value in its place is refused`() async throws {
        let database = try server.database()
        let record = try await database.save(SealedNote.note())
        #expect(record["a"] as? String == nil)
        await cloud.alter("note", in: Self.notes) { $0.fields["a"] = .string("apple") }
        #expect(try await refusal().code == .internalError, "the manifest has the field")
        let error = try #require(await thrown { try await database.record(for: SealedNote.id) })
        #expect(error.code == .internalError && error.userInfo["CKErrorField"] as? String == "a")
    }
}
