import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of the files in record manifests: `docs/encryption.md`, "Record manifest".
@Suite struct SentFilesTests {
    /// A save over a record with the files 1 and 2 in the list `photos`.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The roots that the stored manifest has for the list; nil: the files are plain.
        var stored: [UInt8]?
        /// The files that the save leaves in the list; nil: it does not touch it.
        var files: [UInt8]?
        /// The roots in the manifest that the save brings; nil: it brings none.
        var sent: [String: [UInt8]]?
        var fault: ServerError?

        init(_ name: String, stored: [UInt8]? = [1, 2], files: [UInt8]? = nil, sent: [String: [UInt8]]? = nil, _ fault: ServerError? = nil) {
            (testDescription, self.stored, self.files, self.sent, self.fault) = (name, stored, files, sent, fault)
        }
    }

    static let rows: [Row] = [
        Row("another field, and the files stay"),
        Row("the same files, set again", files: [1, 2]),
        Row("a file less", files: [1], .manifestMissing("photos")),
        Row("the files in another order", files: [2, 1], .manifestMissing("photos")),
        Row("no file any more", files: [], .manifestMissing("photos")),
        Row("a file less, with its manifest", files: [1], sent: ["photos": [1]]),
        Row("a file less, and too many roots", files: [1], sent: ["photos": [1, 2]], .manifestDiffers("photos")),
        Row("other files, and no root of them: they are plain", files: [1], sent: [:]),
        Row("no file any more, with its manifest", files: [], sent: [:]),
        Row("no file any more, and a root", files: [], sent: ["photos": [1]], .manifestDiffers("photos")),
        Row("other roots of the same files", sent: ["photos": [2, 1]], .manifestDiffers("photos")),
        Row("no roots of the same files", sent: [:], .manifestDiffers("photos")),
        Row("a root of a field without files", sent: ["photos": [1, 2], "n": [3]], .manifestDiffers("n")),
        Row("roots of files that were plain", stored: nil, sent: ["photos": [1, 2]], .recordChanged),
        Row("a plain file less", stored: nil, files: [1]),
        Row("a plain file less, and roots of the rest", stored: nil, files: [1], sent: ["photos": [1]]),
    ]

    private static let setting: RecordSetting = {
        var setting = RecordSetting(scope: .private, environment: .development, caller: Caller(.user("_ann"), client: .framework))
        if let scope = ScopeID([UInt8](repeating: 7, count: 16)) { setting.newestKeys[scope] = 1 }
        return setting
    }()

    private func manifest(_ roots: [String: [UInt8]], stamp: UInt64) throws -> [UInt8] {
        let scope = try #require(ScopeID([UInt8](repeating: 7, count: 16)))
        let writer = try #require(DeviceID([UInt8](repeating: 5, count: 16)))
        let parts = RecordManifest.Parts(
            keyID: try #require(KeyID(scope: scope, version: 1)), number: 1, stamp: stamp, writer: writer, parent: "", fields: [],
            files: roots.map { .init(name: $0.key, roots: $0.value.map { Digest(of: [$0]) }) })
        let signature = try #require(Signature(Signature.zeros))
        return RecordManifest(parts: try #require(parts), code: Digest.none) { _ in signature }.bytes
    }

    private func list(_ files: [UInt8], isStored: Bool = false) -> FieldValue {
        .assetList(files.map { Asset(fileChecksum: "sum\($0)", size: Int64($0), receipt: isStored ? "\($0)" : nil) })
    }

    @Test(arguments: rows) func `a manifest lists the files that the record has, and other roots come with other files`(row: Row) throws {
        let before = try row.stored.map { try manifest(["photos": $0], stamp: 10) }
        var record = StoredRecord.sample("r", seq: 7, fields: ["photos": list([1, 2], isStored: true), "n": .int64(1)])
        record.content.manifest = before
        var fields: RecordFields = ["n": .int64(2)]
        if let files = row.files, !files.isEmpty { fields["photos"] = list(files) }
        var operation = RecordOperation.make(
            .forceUpdate, "r", tag: "1", fields, cleared: row.files?.isEmpty == true ? ["photos"] : [], parent: .keep)
        operation.change.manifest = try row.sent.map {
            RecordChange.Manifest(bytes: try manifest($0, stamp: 11), base: before.map { Digest(of: $0).bytes })
        }
        switch RecordVerdict(operation, try SentManifest(operation, in: .private), over: record, in: Self.setting) {
        case .save(let save): #expect(row.fault == nil && save.manifest == operation.change.manifest?.bytes ?? before)
        case .refuse(let error): #expect(error == row.fault)
        case .delete, .nothing: Issue.record("a save deletes nothing")
        }
    }
}
