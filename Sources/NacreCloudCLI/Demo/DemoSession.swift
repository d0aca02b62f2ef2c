import CloudKit
import Foundation
import NacreCloudServer
import NacreCloudWire

/// The demo's preparations on the server: a container, three users, and tokens for their devices.
struct DemoSession: Sendable {
    static let container = "iCloud.dev.nacre.demo"
    static let environment = CloudKitServer.Environment.development
    static let zoneID = CKRecordZone.ID(zoneName: "Atlas")

    let address: String
    private let url: URL
    private let apiToken: String
    let user: String
    /// Account tokens of the devices A and B, and of the devices of Ben and Cleo.
    private let tokens: [String]
    /// The folder of the keys of Cleo's devices; nil: they are in memory.
    private let keys: String?

    /// Begins a session.
    /// - Parameter folder: The folder with the credentials of the last run; nil: none, and every run makes new users.
    static func begin(_ call: Call, folder: String?) async throws -> DemoSession {
        let admin = try await AdminClient.connect(call)
        _ = try await admin.create(AdminMessages.NewContainer(name: container))
        let text = try await admin.appURL()
        guard let url = URL(string: text) else { throw DemoFailure("\(text) is not a URL") }
        let keys = folder.map { "\($0)/demo-keys" }
        if let folder, let known = try DemoCredentials.load(folder: folder) {
            do {
                return try await signIn(known, text, url, keys: keys)
            } catch let failure as CommandFailure where failure.code == .authentication {
                // The credentials are of a server whose data is gone, such as one in memory: make new users.
            }
        }
        let credentials = try await DemoCredentials.make(by: admin, container: container, environment: environment.rawValue)
        let session = try await signIn(credentials, text, url, keys: keys)
        if let folder { try credentials.save(folder: folder) }
        return session
    }

    private static func signIn(_ credentials: DemoCredentials, _ address: String, _ url: URL, keys: String?) async throws -> DemoSession {
        let client = PublicClient(url: address)
        var tokens: [String] = []
        var user = ""
        let devices = [("A", credentials.email), ("B", credentials.email), ("Ben", credentials.bensEmail), ("Cleo", credentials.cleosEmail)]
        for (device, email) in devices {
            let request = AccountMessages.SignIn(
                email: email, password: credentials.password, apiToken: credentials.apiToken, container: container,
                environment: environment.rawValue, kind: .account, device: "demo \(device)")
            let signedIn = try await client.signIn(request)
            tokens.append(signedIn.token)
            if email == credentials.email { user = signedIn.userRecordName }
        }
        return DemoSession(address: address, url: url, apiToken: credentials.apiToken, user: user, tokens: tokens, keys: keys)
    }

    /// The two devices of the user.
    func devices() -> (a: Device, b: Device) {
        (device("A", tokens[0], .private, Self.zoneID), device("B", tokens[1], .private, Self.zoneID))
    }

    /// Returns the device of another user, at a zone of the user.
    func ben(at zoneName: String) -> Device { device("Ben", tokens[2], .shared, CKRecordZone.ID(zoneName: zoneName, ownerName: user)) }

    /// Returns the device of a third user, at a zone of the user.
    func cleo(at zoneName: String) -> Device { device("Cleo", tokens[3], .shared, CKRecordZone.ID(zoneName: zoneName, ownerName: user)) }

    /// Starts an app on a device of the third user, which has keys of its own.
    func cleosApp(on device: String) -> CKContainer {
        let server = CloudKitServer(url: url, environment: Self.environment, apiToken: apiToken, accountToken: tokens[3])
        return CKContainer(identifier: Self.container, server: server, keyStore: KeyStore(folder: keys.map { "\($0)/\(device)" }))
    }

    /// Returns what the server keeps of an encrypted field in the third user's default zone; nothing: no such field.
    func sealedBytes(of field: String, inCleos record: String) async throws -> [UInt8] {
        let request = RecordsLookupRequest(records: [.init(recordName: record)], zoneID: ZoneID(zoneName: ZoneID.defaultZoneName))
        let path = "/database/1/\(Self.container)/\(Self.environment.rawValue)/private/records/lookup"
        let found = try await PublicClient(url: address).ask(RecordsResponse.self, path, request, token: tokens[3]).records.first
        guard case .record(let record)? = found else { return [] }
        return record.fields.sealed.first { $0.name == field }?.value.bytes ?? []
    }

    private func device(_ name: String, _ token: String, _ scope: CKDatabase.Scope, _ zoneID: CKRecordZone.ID) -> Device {
        let server = CloudKitServer(url: url, environment: Self.environment, apiToken: apiToken, accountToken: token)
        return Device(name: name, container: CKContainer(identifier: Self.container, server: server), scope: scope, zoneID: zoneID)
    }

    /// Returns a device that no user is signed in on.
    func signedOut() -> CKContainer {
        CKContainer(identifier: Self.container, server: CloudKitServer(url: url, environment: Self.environment, apiToken: apiToken))
    }

    /// Signs all devices out, so that runs leave no tokens behind.
    func end() async throws {
        let client = PublicClient(url: address)
        for token in tokens { try await client.signOut(accountToken: token) }
    }
}
