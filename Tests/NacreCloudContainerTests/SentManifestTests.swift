import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of record manifests: `docs/encryption.md`, "Record manifest".
@Suite struct SentManifestTests {
    /// A save over the record `r`: the encrypted fields `a` = 1 and `b` = 2, the plain field `n`, the parent `p`, and a
    /// manifest with the stamp 10.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var type = NacreCloudWire.OperationType.forceUpdate
        var set: [String: UInt8] = [:]
        var cleared: [String] = []
        var parent = RecordChange.ParentChange.keep
        var hasAllKeys = false
        /// nil: the save brings no manifest.
        var sent: Sent?
        /// nil: the save is taken.
        var fault: ServerError?

        init(
            _ name: String, _ type: NacreCloudWire.OperationType = .forceUpdate, set: [String: UInt8] = [:], cleared: [String] = [],
            parent: RecordChange.ParentChange = .keep, hasAllKeys: Bool = false, _ sent: Sent? = nil, _ fault: ServerError? = nil
        ) {
            testDescription = name
            (self.type, self.set, self.cleared, self.parent) = (type, set, cleared, parent)
            (self.hasAllKeys, self.sent, self.fault) = (hasAllKeys, sent, fault)
        }
    }

    enum Base: Sendable { case none, stored, other }

    struct Sent: Sendable {
        var base = Base.stored
        var number: UInt64 = 1
        var stamp: UInt64 = 11
        /// nil: the scope of the stored manifest; otherwise another, with the stamp of the admission, or with none for
        /// 0.
        var movedAt: UInt64?
        var parent = "p"
        var values: [String: UInt8] = ["a": 1, "b": 2]
    }

    private static let toQ = RecordChange.ParentChange.set(Reference(recordName: "q", action: .none))

    static let rows: [Row] = [
        Row("a plain field keeps the manifest", set: [:]),
        Row("a value that stays is no change", set: ["a": 1]),
        Row("a changed value", set: ["a": 9], nil, .manifestMissing("a")),
        Row("a new value", set: ["c": 3], nil, .manifestMissing("c")),
        Row("a cleared value", cleared: ["b"], nil, .manifestMissing("b")),
        Row("values that are not in a replacement", .forceReplace, set: ["a": 1], nil, .manifestMissing("b")),
        Row("a new parent", parent: toQ, nil, .manifestMissing("parent")),
        Row("a parent that goes", parent: .clear, nil, .manifestMissing("parent")),
        Row("a change over the manifest that was read", set: ["a": 9], Sent(values: ["a": 9, "b": 2])),
        Row("a new value with its manifest", set: ["c": 3], Sent(values: ["a": 1, "b": 2, "c": 3])),
        Row("a cleared value with its manifest", cleared: ["a"], Sent(values: ["b": 2])),
        Row("another parent with its manifest", parent: toQ, Sent(parent: "q")),
        Row("no parent with its manifest", parent: .clear, Sent(parent: "")),
        Row("all values gone", cleared: ["a", "b"], Sent(values: [:])),
        Row("a stamp that does not rise", set: ["a": 9], Sent(stamp: 10, values: ["a": 9, "b": 2]), .recordChanged),
        Row("a number of the scope's manifest that is below", set: ["a": 9], Sent(number: 0, values: ["a": 9, "b": 2]), .recordChanged),
        Row("a later number of the scope's manifest", set: ["a": 9], Sent(number: 2, values: ["a": 9, "b": 2])),
        Row("another scope", set: ["a": 9], Sent(movedAt: 0, values: ["a": 9, "b": 2]), .recordChanged),
        Row("another scope, admitted before", set: ["a": 9], Sent(movedAt: 10, values: ["a": 9, "b": 2]), .recordChanged),
        Row("another scope, admitted since", cleared: ["a", "b"], Sent(movedAt: 11, values: [:])),
        Row(
            "another scope, and a value of the one before", set: ["a": 9], Sent(movedAt: 11, values: ["a": 9, "b": 2]), .valueOfOtherScope("a")),
        Row("another base", set: ["a": 9], Sent(base: .other, values: ["a": 9, "b": 2]), .recordChanged),
        Row("no base in a save of some keys", set: ["a": 9], Sent(base: .none, values: ["a": 9, "b": 2]), .recordChanged),
        Row("no base in a save of all keys", set: ["a": 8, "b": 9], hasAllKeys: true, Sent(base: .none, values: ["a": 8, "b": 9])),
        Row("no base in a replacement", .forceReplace, set: ["a": 8], Sent(base: .none, values: ["a": 8])),
        Row("no base, and a stamp that does not rise", .forceReplace, set: ["a": 8], Sent(base: .none, stamp: 9, values: ["a": 8]), .recordChanged),
        Row("all keys that the writer knew", set: ["a": 8], hasAllKeys: true, Sent(base: .none, values: ["a": 8]), .recordChanged),
        Row(
            "all keys, of a record that was elsewhere", set: ["a": 8, "b": 9], hasAllKeys: true,
            Sent(base: .none, parent: "", values: ["a": 8, "b": 9]), .recordChanged),
        Row("the hash of another value", set: ["a": 9], Sent(values: ["a": 8, "b": 2]), .manifestDiffers("a")),
        Row("a hash of a kept value that is another", set: ["a": 9], Sent(values: ["a": 9, "b": 3]), .manifestDiffers("b")),
        Row("a value that is not listed", set: ["c": 3], Sent(), .manifestDiffers("c")),
        Row("a kept value that is not listed", set: ["a": 9], Sent(values: ["a": 9]), .manifestDiffers("b")),
        Row("a field that is not there", set: ["a": 9], Sent(values: ["a": 9, "b": 2, "c": 3]), .manifestDiffers("c")),
        Row("a listed value that goes", cleared: ["a"], Sent(), .manifestDiffers("a")),
        Row("a name that is equal, and has other bytes", set: ["K": 3], Sent(values: ["a": 1, "b": 2, "\u{212A}": 3]), .manifestDiffers("K")),
        Row("another parent than the kept one", set: ["a": 9], Sent(parent: "q", values: ["a": 9, "b": 2]), .manifestDiffers("parent")),
        Row("another parent than the new one", parent: toQ, Sent(), .manifestDiffers("parent")),
        Row("the same manifest again, for the same values", set: ["a": 1], Sent(base: .other, stamp: 10)),
        Row("the same manifest, for another value", set: ["a": 9], Sent(stamp: 10), .manifestDiffers("a")),
    ]

    /// A zone whose scopes have the keys of these tests.
    private static let setting = {
        var setting = RecordSetting(scope: .private, environment: .development, caller: Caller(.user("_ann"), client: .framework))
        for scope in [7, 8].compactMap({ ScopeID([UInt8](repeating: $0, count: 16)) }) { setting.newestKeys[scope] = 1 }
        return setting
    }()

    private func keyID(_ version: UInt32 = 1, scope: UInt8 = 7) throws -> KeyID {
        let scope = try #require(ScopeID([UInt8](repeating: scope, count: 16)))
        return try #require(KeyID(scope: scope, version: version))
    }

    private func value(_ byte: UInt8, _ version: UInt32 = 1) throws -> FieldValue {
        .sealed(NacreCloudWire.SealedValue(type: .string, keyID: try keyID(version).text, bytes: [byte]))
    }

    private func manifest(_ sent: Sent, _ version: UInt32 = 1) throws -> [UInt8] {
        let writer = try #require(DeviceID([UInt8](repeating: 5, count: 16)))
        let signature = try #require(Signature(Signature.zeros))
        let admission = sent.movedAt.flatMap { stamp in
            stamp == 0 ? nil : RecordManifest.Admission(number: 0, stamp: stamp, device: writer, signature: signature)
        }
        let parts = RecordManifest.Parts(
            keyID: try keyID(version, scope: sent.movedAt == nil ? 7 : 8), number: sent.number, stamp: sent.stamp, writer: writer,
            parent: sent.parent, fields: sent.values.map { .init(name: $0.key, hash: Digest(of: [$0.value])) }, files: [], admission: admission)
        return RecordManifest(parts: try #require(parts), code: Digest.none) { _ in signature }.bytes
    }

    private func stored(_ manifest: [UInt8]?, isShared: Bool = false) throws -> StoredRecord {
        var record = StoredRecord.sample("r", seq: 7, parent: "p", fields: ["a": try value(1), "b": try value(2), "n": .int64(1)])
        record.content.manifest = manifest
        if isShared { record.content.shared.share = "S" }
        return record
    }

    private func operation(
        _ type: NacreCloudWire.OperationType = .forceUpdate, set: [String: UInt8] = [:], cleared: [String] = [],
        parent: RecordChange.ParentChange = .keep, hasAllKeys: Bool = false, _ manifest: RecordChange.Manifest? = nil, version: UInt32 = 1
    ) throws -> RecordOperation {
        var fields: RecordFields = ["n": .int64(2)]
        for (name, byte) in set { fields[name] = try value(byte, version) }
        var operation = RecordOperation.make(type, "r", tag: "1", fields, cleared: cleared, parent: parent)
        operation.change.carriesAllKeys = hasAllKeys
        operation.change.manifest = manifest
        return operation
    }

    private func verdict(_ operation: RecordOperation, over found: StoredRecord?, _ setting: RecordSetting = setting) throws -> RecordVerdict {
        RecordVerdict(operation, try SentManifest(operation, in: .private), over: found, in: setting)
    }

    private func fault(_ operation: RecordOperation, over found: StoredRecord?, _ setting: RecordSetting = setting) throws -> ServerError? {
        if case .refuse(let error) = try verdict(operation, over: found, setting) { error } else { nil }
    }

    @Test(arguments: rows) func `a manifest follows the one that its writer has read, and says what the record has`(row: Row) throws {
        let before = try manifest(Sent(stamp: 10))
        let sent = try row.sent.map { sent in
            let base: [UInt8]? =
                switch sent.base {
                case .none: nil
                case .stored: Digest(of: before).bytes
                case .other: Digest(of: [1]).bytes
                }
            return RecordChange.Manifest(bytes: try manifest(sent), base: base)
        }
        let operation = try operation(row.type, set: row.set, cleared: row.cleared, parent: row.parent, hasAllKeys: row.hasAllKeys, sent)
        switch try verdict(operation, over: try stored(before)) {
        case .save(let save): #expect(row.fault == nil && save.manifest == sent?.bytes ?? before)
        case .refuse(let error): #expect(error == row.fault)
        case .delete, .nothing: Issue.record("a save deletes nothing")
        }
    }

    @Test func `a record begins with any manifest that fits it, and without one it has no encrypted value`() throws {
        let list = Sent(parent: "", values: ["a": 1])
        let first = RecordChange.Manifest(bytes: try manifest(list))
        #expect(try fault(operation(.create, set: ["a": 1], first), over: nil) == nil)
        #expect(try fault(operation(.create, set: ["a": 1]), over: nil) == .manifestNeeded("a"))
        #expect(try fault(operation(), over: nil) == nil)
        #expect(try fault(operation(set: ["a": 9]), over: stored(nil)) == .manifestNeeded("a"))
        #expect(try fault(operation(set: ["a": 1], cleared: ["b"]), over: stored(nil)) == nil, "what was kept before stays, or goes")
        #expect(try fault(operation(.create, first), over: nil) == .manifestDiffers("a"))
        #expect(try fault(operation(set: ["a": 1], parent: Self.toQ, first), over: nil) == .manifestDiffers("parent"))
        let gone = RecordChange.Manifest(bytes: try manifest(list), base: Digest(of: [1]).bytes)
        #expect(try fault(operation(set: ["a": 1], gone), over: nil) == .recordNotFound, "the record that was read is deleted")
        let whole = RecordChange.Manifest(bytes: try manifest(Sent(values: ["a": 9, "b": 2])))
        #expect(try fault(operation(set: ["a": 9], whole), over: stored(nil)) == nil)
        let other = RecordChange.Manifest(bytes: whole.bytes, base: Digest(of: [1]).bytes)
        #expect(try fault(operation(set: ["a": 9], other), over: stored(nil)) == .recordChanged, "it was deleted and made anew")
        let part = RecordChange.Manifest(bytes: try manifest(Sent(values: ["a": 9])))
        #expect(try fault(operation(set: ["a": 9], part), over: stored(nil)) == .recordChanged, "its writer may not have seen b")
        #expect(
            try fault(operation(.update, set: ["a": 9], part), over: .sample("r", seq: 1, parent: "p", fields: ["b": value(2)]))
                == .manifestDiffers("b"))
    }

    @Test func `the manifest of a shared root may leave out the parent that participants do not see`() throws {
        let before = try manifest(Sent(stamp: 10, parent: ""))
        let next = RecordChange.Manifest(bytes: try manifest(Sent(parent: "", values: ["a": 9, "b": 2])), base: Digest(of: before).bytes)
        #expect(try fault(operation(set: ["a": 9], next), over: stored(before, isShared: true)) == nil)
        #expect(try fault(operation(set: ["a": 9], next), over: stored(before)) == .manifestDiffers("parent"))
    }

    @Test func `a value and a manifest under a key that is not the newest of a scope of the zone are refused, and what stays is not`() throws {
        let before = try manifest(Sent(stamp: 10))
        let base = Digest(of: before).bytes
        var later = Self.setting
        later.newestKeys = [try keyID().scope: 2]
        let old = RecordChange.Manifest(bytes: try manifest(Sent(values: ["a": 9, "b": 2])), base: base)
        let new = RecordChange.Manifest(bytes: try manifest(Sent(values: ["a": 9, "b": 2]), 2), base: base)
        #expect(try fault(operation(set: ["a": 9], old, version: 2), over: stored(before), later) == .keyIsNotNewest("nacre.manifest"))
        #expect(try fault(operation(set: ["a": 9], new, version: 1), over: stored(before), later) == .keyIsNotNewest("a"))
        #expect(try fault(operation(set: ["a": 9, "b": 2], new, version: 2), over: stored(before), later) == nil)
        #expect(try fault(operation(), over: stored(before), later) == nil)
        #expect(try fault(operation(set: ["a": 9]), over: stored(nil), later) == .keyIsNotNewest("a"), "without a manifest too")
        var other = Self.setting
        other.newestKeys = [try #require(ScopeID([UInt8](repeating: 8, count: 16))): 2]
        #expect(try fault(operation(set: ["a": 9], old), over: stored(before), other) == .keyIsNotNewest("a"), "of an earlier zone")
        other.newestKeys = [:]
        #expect(try fault(operation(set: ["a": 9], old), over: stored(before), other) == .keyIsNotNewest("a"), "the zone has no scope")
        #expect(try fault(operation(cleared: ["a"], old), over: stored(before), other) == .keyIsNotNewest("nacre.manifest"))
        #expect(try fault(operation(), over: stored(before), other) == nil)
        let unnamed = RecordOperation.make(.create, "s", ["a": .sealed(NacreCloudWire.SealedValue(type: .string, keyID: "k", bytes: [1]))])
        #expect(try fault(unnamed, over: nil) == .keyIsNotNewest("a"), "a name that no key has")
    }

    @Test func `the stamp of a new manifest lies a day ahead of the server's clock at most`() throws {
        var setting = Self.setting
        setting.now = Timestamp(millisecondsSince1970: 1_000_000)
        let day: UInt64 = 24 * 3_600_000
        func fault(stamp: UInt64, over before: [UInt8]? = nil) throws -> ServerError? {
            let sent = RecordChange.Manifest(bytes: try manifest(Sent(stamp: stamp)), base: before.map { Digest(of: $0).bytes })
            return try self.fault(operation(set: ["a": 1, "b": 2], sent), over: stored(before), setting)
        }
        #expect(try fault(stamp: 1_000_000 + day) == nil)
        #expect(try fault(stamp: 1_000_001 + day) == .manifestFromTheFuture)
        #expect(try fault(stamp: RecordManifest.stampMax) == .manifestFromTheFuture)
        // The server's clock was set back.
        #expect(try fault(stamp: 1_000_001 + day, over: manifest(Sent(stamp: 1_000_001 + day))) == nil)
    }

    @Test func `a change that devices and webhooks are told of has no manifest`() throws {
        let told = RecordTransition(deleting: try stored(try manifest(Sent(stamp: 10)))).only(["n"], in: .sample).record
        #expect(told.content.manifest == nil && told.content.fields.count == 1)
        #expect(try RecordBody.decode(told.row, in: .sample) == told.content)
    }

    @Test func `a manifest has a form, a size, and no place in the public database`() throws {
        func fault(_ bytes: [UInt8], base: [UInt8]? = nil, in scope: DatabaseKey.Scope = .private) throws -> ServerError? {
            let asked = try operation(set: [:], RecordChange.Manifest(bytes: bytes, base: base))
            do throws(ServerError) {
                let sent = try SentManifest(asked, in: scope)
                #expect(sent?.bytes == bytes)
                return nil
            } catch {
                return error
            }
        }
        let whole = try manifest(Sent())
        #expect(try fault(whole) == nil)
        #expect(try fault(whole, base: Digest(of: whole).bytes) == nil)
        #expect(try fault(whole, base: Array(Digest(of: whole).bytes.dropLast())) == .manifestBaseUnreadable)
        #expect(try fault(whole, in: .public) == .noEncryptionInPublic("nacre.manifest"))
        #expect(try fault(Array(whole.dropLast())) == .manifestUnreadable)
        #expect(try fault([2] + whole.dropFirst()) == .manifestUnreadable, "a suite that nobody knows")
        #expect(try fault(whole + [UInt8](repeating: 0, count: Limits.recordManifestBytes)) == .manifestTooLarge)
        #expect(try SentManifest(operation(.delete, RecordChange.Manifest(bytes: [1])), in: .private) == nil)
    }
}
