import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

/// The databases with the entries that credentials need.
struct CredentialDatabases: Sendable {
    /// The database of each account, by the account's ID.
    private(set) var accounts: [String: DatabaseID] = [:]
    /// The database of the server's part, which has the API tokens.
    private let server: DatabaseID

    init(of credentials: [Credential], in registry: Registry) async throws {
        server = try await registry.databaseID(Registry.Part.server.key)
        for account in Set(credentials.compactMap(\.account)) {
            accounts[account] = try await registry.databaseID(Registry.Part.account(account).key)
        }
    }

    /// Returns the entries that must live for a credential to hold. A session ends with its API token, which may go
    /// first.
    /// - Returns: empty for a credential without an account: no device is signed in with one.
    func keys(of credential: Credential) -> [EntryKey] {
        guard let account = credential.account, let database = accounts[account] else { return [] }
        switch credential {
        case .session(let id, _, let apiToken):
            return [EntryKey(database, SessionEntry.kind, id), EntryKey(server, APITokenEntry.kind, apiToken)]
        case .device(let id, _): return [EntryKey(database, AccountTokenEntry.kind, id)]
        case .apiToken, .serverKey: return []
        }
    }
}
