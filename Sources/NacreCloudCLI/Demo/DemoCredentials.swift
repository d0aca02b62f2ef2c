import Foundation
import NacreCloudServer

/// Who the demo is from run to run: `demo.json` in the data folder, so that it meets the data of its last run again.
struct DemoCredentials: Codable {
    var email: String
    var password: String
    var apiToken: String

    private static let name = "demo.json"

    /// The other users of the story, with the same password.
    var bensEmail: String { "ben-\(email)" }
    var cleosEmail: String { "cleo-\(email)" }

    /// nil where there is no file, or one that cannot be read.
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

    /// Three accounts under names that nobody else has, and an API token.
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
