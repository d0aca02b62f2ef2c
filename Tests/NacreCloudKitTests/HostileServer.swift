import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// A server whose operator attacks its user: `PretendCloud`, and all that can be made of what a server has. Alice's
/// phone uses it, with the zones "Notes" and "Lists".
struct HostileServer: Sendable {
    static let notes = ZoneID(zoneName: "Notes")
    static let lists = ZoneID(zoneName: "Lists")

    let cloud = PretendCloud()
    /// The store of the phone's keys.
    let phone = KeyStore(folder: nil)
    /// A device that the operator made, and that no account has enrolled.
    let forger: DeviceKeys

    init() async throws {
        var random = SystemRandomBytes()
        forger = try DeviceKeys(using: &random)
        await cloud.addZone("Notes")
        await cloud.addZone("Lists")
    }

    // MARK: Honest devices

    /// Returns a new process of a device: the phone, unless another is given.
    func process(of device: KeyStore? = nil) throws -> KeyDevice { try KeyDevice(cloud, device ?? phone) }

    /// Returns the private database in a new process of a device.
    func database(of device: KeyStore? = nil) throws -> CKDatabase { CKContainer(line: try process(of: device).line).privateCloudDatabase }

    /// Has the phone enrol another device, which has seen the log up to there.
    func enrolled() async throws -> (store: KeyStore, id: DeviceID) {
        let users = try await CKContainer(line: try process().line).userKeys()
        let own = try await users.own()
        var (log, random) = (own.log, SystemRandomBytes())
        let device = try DeviceKeys(using: &random)
        let statement = try log.add(device.publicKeys, agreement: device.agreement(toJoin: log.head), by: .device(own.device))
        #expect(try await users.exchange.append(own.addition(statement, of: device.id, in: log, using: KeyRandom(source: nil))))
        let (store, seen) = (KeyStore(folder: nil), KeptKeys.Pin(fingerprint: log.fingerprint, head: log.head))
        try await store.update(#require(KeyDevice.account)) { kept throws(CKError) in (kept.device, kept.own) = (device, seen) }
        return (store, device.id)
    }

    // MARK: What the operator sees

    func log() async throws -> KeyLog {
        let statements = await cloud.keys.statements
        return try KeyLog(statements.map { try KeyStatement($0) })
    }

    /// Returns the newest manifest of a zone's scope.
    func scope(of zone: ZoneID = notes) async throws -> ScopeManifest {
        let manifests = await cloud.keys.scopes[zone.zoneName]?.manifests
        return try ScopeManifest(#require(manifests?.last))
    }

    func stored(_ name: String, in zone: ZoneID = notes) async throws -> Record { try #require(await cloud.stored(name, in: zone)) }

    // MARK: What the operator makes

    /// Signs as the operator's device.
    func sign(_ bytes: [UInt8]) throws -> Signature {
        try #require(Signature(try Ed25519.PrivateKey(seed: forger.kept.signing).sign(bytes)))
    }

    /// Makes the next statement of the user's log.
    /// - Parameter signer: the device in whose name it is.
    func statement(_ action: KeyStatement.Action, inTheNameOf signer: DeviceID) async throws -> KeyStatement {
        let head = try await log().head
        return try KeyStatement(number: head.number + 1, before: head.hash, action: action, signer: signer, sign: sign)
    }

    /// Makes a key for the scope of the notes, wraps it for the user, and makes a manifest in which it counts.
    /// - Parameter isNext: whether it is the next version, and not in the place of the newest.
    func forgedKey(isNext: Bool) async throws -> (id: KeyID, manifest: ScopeManifest, wrap: KeyWrap) {
        var random = SystemRandomBytes()
        let (log, last) = (try await log(), try await scope())
        var parts = last.parts
        if isNext {
            (parts.number, parts.stamp, parts.before) = (parts.number + 1, parts.stamp + 1, last.hash)
            parts.version += 1
        } else {
            parts.keyProofs.removeLast()
        }
        let key = try ScopeKey(#require(KeyID(scope: parts.scope, version: parts.version)), using: &random)
        parts.keyProofs.append(key.proof)
        let manifest = try ScopeManifest(parts: parts, signer: log.fingerprint, device: forger.id, sign: sign)
        let wrap = try key.wrap(for: log.account.user, log: log, manifest: manifest, by: forger, using: &random)
        return (key.id, manifest, wrap)
    }

    /// Makes a record with a value under a key of the operator's, which has the name of the zone's newest.
    /// - Parameter writer: the device in whose name it is.
    func forgedRecord(in place: Record, writer: DeviceID) async throws -> Record {
        var random = SystemRandomBytes()
        let scope = try await scope().parts
        let id = try #require(scope.keyID)
        let key = try ScopeKey(id, using: &random)
        let record = try #require(RecordPlace(place: scope.place, type: place.recordType, name: place.recordName))
        let sealed = try #require(try key.seal(["a": .string("forged")], of: record, using: &random)["a"])
        let parts = try #require(
            RecordManifest.Parts(
                keyID: id, number: scope.number, stamp: RecordManifest.stampMax, writer: writer, parent: "",
                fields: [.init(name: "a", hash: sealed.hash)], files: []))
        var forged = place
        forged.fields = ["a": .sealed(NacreCloudWire.SealedValue(type: .string, keyID: id.text, bytes: sealed.bytes))]
        forged.manifest = try key.manifest(parts, of: record, by: forger).bytes
        return forged
    }
}
