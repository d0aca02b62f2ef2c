import Foundation
import NacreCloudTestSupport
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// Tests of random records, here and with an independent implementation, which `make encryption` installs.
struct RandomRecordTests {
    /// `NACRE_ENCRYPTION_RECORDS` sets another number of records.
    private static let count = ProcessInfo.processInfo.environment["NACRE_ENCRYPTION_RECORDS"].flatMap { Int($0) } ?? 200

    /// Returns random records of some zones.
    private func records(using random: inout SeededRandom) throws -> [RandomRecord] {
        let zones = try ["a", "b", "c", "d"].map { try RandomZone($0, using: &random) }
        var salts = SeededBytes("\(random)'s salts")
        return try (0..<Self.count).map { index in try RandomRecord(in: zones[index % zones.count], salts: &salts, using: &random) }
    }

    @Test func `what any saves have left opens and verifies`() throws {
        var random = SeededRandom()
        let seed = "\(random)"
        for (index, record) in try records(using: &random).enumerated() {
            try record.expect(record.sealed, record.manifest, "\(seed), record \(index)")
        }
    }

    @Test(.enabled(if: OthersPython.path != nil, "NACRE_ENCRYPTION_PYTHON names no Python; see `make encryption`"))
    func `another implementation opens and verifies random records, and what it seals opens and verifies here`() async throws {
        var random = SeededRandom()
        let seed = "\(random)"
        let records = try records(using: &random)
        let encoder = JSONEncoder()
        let lines = try records.map { [UInt8](try encoder.encode(GivenRecord($0))) + [UInt8(ascii: "\n")] }
        let script = OthersPython.scripts.appendingPathComponent("records").path
        let (status, output) = try await Program(try #require(OthersPython.path), [script]).run(input: Array(lines.joined()), keepsErrors: true)
        try #require(status == 0, "\(seed): \(String(decoding: output.suffix(4_000), as: UTF8.self))")
        let answers = try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(MadeRecord.self, from: Data($0)) }
        try #require(answers.count == records.count, "\(seed)")
        for (index, (record, answer)) in zip(records, answers).enumerated() {
            let place = "\(seed), record \(index)"
            #expect(answer.opened == record.values.mapValues(NeutralValue.init) && answer.stamp == record.manifest.parts.stamp, "\(place)")
            let manifest = try RecordManifest(Hex.decode(answer.manifest))
            #expect(manifest.parts.stamp == answer.stamp + 1, "\(place)")
            try record.expect(answer.values.mapValues { try SealedValue(Hex.decode($0)) }, manifest, place)
        }
        print("\(records.count) records are the same in both implementations, \(seed)")
    }
}

extension RandomRecord {
    /// Checks that sealed values open as the record's, and that a manifest is theirs.
    fileprivate func expect(_ sealed: [String: SealedValue], _ manifest: RecordManifest, _ comment: String) throws {
        let parts = manifest.parts
        let key = try #require(zone.keys.first { $0.id == parts.keyID }, "\(comment)")
        try key.check(manifest, of: place, values: sealed, files: files, parent: self.manifest.parts.parent, asked: nil)
        #expect(try manifest.isSigned(by: Ed25519.PublicKey(zone.writer.publicKeys.signing.bytes)), "\(comment)")
        #expect((parts.admission == nil) == (self.manifest.parts.admission == nil), "\(comment)")
        if let admission = parts.admission {
            let signed = try RecordManifest.Admission.signedBytes(of: place, to: zone.scope, number: admission.number, stamp: admission.stamp)
            let owner = try Ed25519.PublicKey(zone.owner.publicKeys.signing.bytes)
            #expect(admission.stamp == parts.stamp && owner.isValid(admission.signature.bytes, for: signed), "\(comment)")
        }
        let opened = try sealed.map { field, value in
            let key = try #require(zone.keys.first { $0.id == value.keyID }, "\(comment)")
            return (field, NeutralValue(try key.open(value, of: place, field: field)))
        }
        #expect(Dictionary(uniqueKeysWithValues: opened) == values.mapValues(NeutralValue.init), "\(comment)")
    }
}

/// A line that the other implementation reads. Bytes are hexadecimal.
private struct GivenRecord: Encodable {
    let container, environment, user, zone, recordType, name, scope, parent: String
    let number: UInt64
    /// The keys by their versions.
    let keys: [String: String]
    let files: [String: [String]]
    /// The seeds and the IDs of the devices.
    let owner, ownerID, writer, writerID: String
    let values: [String: String]
    let manifest: String

    init(_ record: RandomRecord) {
        let (place, zone, parts) = (record.place.place, record.zone, record.manifest.parts)
        (container, environment, user) = (place.owner.container, place.owner.environment, place.owner.user)
        (self.zone, recordType, name, scope) = (place.zone, record.place.type, record.place.name, Hex.encode(zone.scope.bytes))
        (parent, number) = (parts.parent, parts.number)
        keys = Dictionary(uniqueKeysWithValues: zone.secrets.enumerated().map { ("\($0 + 1)", Hex.encode($1)) })
        files = record.files.mapValues { $0.map { Hex.encode($0.bytes) } }
        (owner, ownerID) = (Hex.encode(zone.owner.kept.signing.exposed), Hex.encode(zone.owner.id.bytes))
        (writer, writerID) = (Hex.encode(zone.writer.kept.signing.exposed), Hex.encode(zone.writer.id.bytes))
        values = record.sealed.mapValues { Hex.encode($0.bytes) }
        manifest = Hex.encode(record.manifest.bytes)
    }
}

/// A line that the other implementation prints.
private struct MadeRecord: Decodable {
    /// The values that it has opened.
    let opened: [String: NeutralValue]
    /// The values that it has sealed, and their manifest.
    let values: [String: String]
    let manifest: String
    /// The stamp that it has read.
    let stamp: UInt64
}
