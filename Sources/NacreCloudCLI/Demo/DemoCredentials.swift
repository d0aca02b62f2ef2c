import Foundation
import NacreCloudServer

/// The demo's credentials: `demo.json` in the data folder, so that each run finds the data of the last one.
struct DemoCredentials: Codable {
    var email: String
    var password: String
    var apiToken: String

    private static let name = "demo.json"

    /// The other users of the demo, with the same password.
    var bensEmail: String { "ben-\(email)" }
    var cleosEmail: String { "cleo-\(email)" }

    /// Reads the file; nil where there is none or its JSON is invalid. Throws other errors of the read.
    static func load(folder: String) throws -> DemoCredentials? {
        let bytes: [UInt8]
        do {
            bytes = try PrivateFile.read("\(folder)/\(name)")
        } catch {
            guard error.code == .missing else { throw error }
            return nil
        }
        return try? JSONDecoder().decode(DemoCredentials.self, from: Data(bytes))
    }

    func save(folder: String) throws {
        try PrivateFile.write([UInt8](try JSONEncoder().encode(self)), to: "\(folder)/\(Self.name)")
    }

    /// Makes three accounts with unique names, and an API token.
    static func make(by admin: AdminClient, container: String, environment: String) async throws -> DemoCredentials {
        let email = "demo-\(RandomText.digits(1))@nacre.invalid"
        let password = RandomText.digits(4)
        let token = try await admin.create(
            AdminMessages.NewToken(container: container, environment: environment, kind: "api", name: "nacre demo"))
        let credentials = DemoCredentials(email: email, password: password, apiToken: token.token)
        for address in [credentials.email, credentials.bensEmail, credentials.cleosEmail] {
            _ = try await admin.create(AdminMessages.NewUser(email: address, password: password))
        }
        return credentials
    }
}
