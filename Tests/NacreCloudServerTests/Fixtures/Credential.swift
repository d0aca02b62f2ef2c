import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudServer

/// The credentials of a request to Ada's container in development.
enum Credential: String, CaseIterable, Sendable {
    case nothing
    // ckAPIToken
    case apiToken, apiTokenOfOtherContainer, apiTokenOfOtherEnvironment, revokedAPIToken
    // ckWebAuthToken beside the API token it was got with: Ada's
    case session, sessionOfOtherContainer, sessionOfOtherEnvironment, endedSession, sessionOfRevokedAPIToken
    // ckWebAuthToken beside the container's API token, which it was not got with
    case sessionBesideOtherAPIToken, sessionOfOtherContainerBesideThisAPIToken, accountTokenAsWebAuthToken
    // Authorization: Bearer: account tokens of Ada
    case device, deviceOfOtherContainer, deviceOfOtherEnvironment, endedDevice
    // Authorization: Bearer: other texts than account tokens
    case apiTokenAsBearer, webAuthTokenAsBearer, administrator
    // Authorization: Bearer: of the admin API
    case manager, managerOfOtherContainer, revokedManager
    // Signatures
    case key, administratorKey, keyOfOtherContainer, keyOfOtherEnvironment, revokedKey
}

/// Every credential, with a server that knows it or did so. Ada has a record in her private and in the public
/// database.
struct CredentialServer {
    /// Texts that no refusal may have: the text of the records, the zone's name.
    static let secrets = ["hush-hush", "Cellar"]
    private static let note = #""recordType":"Note","recordName":"note","fields":{"text":{"value":"hush-hush","type":"STRING"}}"#

    let server: AdministeredServer
    /// queries[credential]: its members in the URL.
    private var queries: [Credential: [String: String]] = [:]
    private var bearers: [Credential: String] = [.administrator: AdministeredServer.token]
    private var signers: [Credential: Signer] = [:]

    init(isEmulator: Bool = false) async throws {
        server = try await AdministeredServer(requestRate: nil, isEmulator: isEmulator)
        let test = server.server
        try await addSessions(test)
        try await addDevices(test)
        try await addKeys(test)
        try await addManagers()
        try await keepSecrets(test)
    }

    private func name(_ key: String) -> String { server.server.names[key] ?? "" }

    private func account(_ test: TestServer) async throws -> AccountEntry {
        guard let account = try await test.cloud.registry.account(email: "ada@example.com") else { throw ServerError.authenticationFailed }
        return account
    }

    private mutating func addSessions(_ test: TestServer) async throws {
        let registry = test.cloud.registry
        let account = try await account(test)
        func session(_ apiToken: String, in container: String = TestServer.container) async throws -> (id: String, query: [String: String]) {
            let entry = try await test.authenticator.apiTokenEntry(apiToken, container: container, environment: .development)
            let user = try await test.cloud.admit(account: account.id, to: container, .development)
            let session = try await registry.startSession(of: account, as: user, apiToken: apiToken, entry: entry, isKept: false)
            return (session.id, ["ckAPIToken": apiToken, "ckWebAuthToken": try test.authenticator.webAuthToken(for: session)])
        }
        let revoked = try await registry.createAPIToken(container: TestServer.container, environment: .development, name: "")
        let ended = try await session(name("api"))
        try await registry.endSession(ended.id, of: account.id)
        let other = try await session(name("api.other"), in: TestServer.otherContainer).query
        queries = [
            .apiToken: ["ckAPIToken": name("api")], .apiTokenOfOtherContainer: ["ckAPIToken": name("api.other")],
            .apiTokenOfOtherEnvironment: ["ckAPIToken": name("api.production")], .revokedAPIToken: ["ckAPIToken": revoked],
            .session: ["ckAPIToken": name("api"), "ckWebAuthToken": name("ada")], .sessionOfOtherContainer: other,
            .sessionOfOtherEnvironment: ["ckAPIToken": name("api.production"), "ckWebAuthToken": name("ada.production")],
            .endedSession: ended.query, .sessionOfRevokedAPIToken: try await session(revoked).query,
            .sessionBesideOtherAPIToken: ["ckAPIToken": name("api.second"), "ckWebAuthToken": name("ada")],
            .sessionOfOtherContainerBesideThisAPIToken: other.merging(["ckAPIToken": name("api")]) { $1 },
            .accountTokenAsWebAuthToken: ["ckAPIToken": name("api"), "ckWebAuthToken": name("ada.device")],
        ]
        _ = try await registry.revokeAppCredential(revoked)
        // The session was begun with it, so this process remembers it.
        test.clock.advance(Remembered<String, APITokenEntry>.secondsMax)
    }

    private mutating func addDevices(_ test: TestServer) async throws {
        let registry = test.cloud.registry
        let account = try await account(test)
        func device(_ container: String) async throws -> AccountTokenEntry {
            try await registry.createAccountToken(for: account, containers: [container], environment: .development, device: "test")
        }
        let ended = try await device(TestServer.container)
        bearers[.device] = name("ada.device")
        bearers[.deviceOfOtherContainer] = try test.authenticator.accountToken(for: try await device(TestServer.otherContainer))
        bearers[.deviceOfOtherEnvironment] = name("ada.device.production")
        bearers[.endedDevice] = try test.authenticator.accountToken(for: ended)
        bearers[.apiTokenAsBearer] = name("api")
        bearers[.webAuthTokenAsBearer] = name("ada")
        try await registry.revokeAccountToken(ended.id, of: account.id)
    }

    private mutating func addKeys(_ test: TestServer) async throws {
        let revoked = try await Signer(test)
        signers = [
            .key: try await Signer(test), .administratorKey: try await Signer(test, isAdministrator: true),
            .keyOfOtherContainer: try await Signer(test, container: TestServer.otherContainer),
            .keyOfOtherEnvironment: try await Signer(test, .production), .revokedKey: revoked,
        ]
        _ = try await test.cloud.registry.revokeAppCredential(revoked.id)
    }

    private mutating func addManagers() async throws {
        bearers[.manager] = try await server.managementToken(of: TestServer.container)
        bearers[.managerOfOtherContainer] = try await server.managementToken(of: TestServer.otherContainer)
        let revoked = try await server.managementToken(of: TestServer.container)
        bearers[.revokedManager] = revoked
        _ = try await server.server.cloud.registry.revokeAppCredential(String(revoked.prefix(32)))
    }

    private func keepSecrets(_ test: TestServer) async throws {
        let schema = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING QUERYABLE);"
        _ = try await test.cloud.schemas.importSchema(schema, to: TestServer.container, isDryRun: false)
        for (path, body) in [
            ("private/zones/modify", Body.zones("create", "Cellar")), ("private/records/modify", Body.modify("create", Self.note)),
            ("private/records/modify", Body.modify("create", Self.note, #""zoneID":{"zoneName":"Cellar"}"#)),
            ("public/records/modify", Body.modify("create", Self.note)),
        ] {
            let target = "/database/1/\(TestServer.container)/development/\(path)"
            let answer = await server.server.respond(try question(.device, "POST", target, body))
            guard answer.status == 200, answer.json?.at("records[0].serverErrorCode") == nil else {
                throw ServerError(.internalError, answer.text)
            }
        }
    }

    /// Makes a request.
    /// - Parameter query: Members beside the credential.
    func question(_ credential: Credential, _ method: String, _ path: String, query: [String: String] = [:], _ body: String) throws -> Question {
        let items = query.merging(queries[credential] ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let text = items.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }.joined(separator: "&")
        var question = Question(method: method, target: text.isEmpty ? path : "\(path)?\(text)", body: Array(body.utf8))
        if let bearer = bearers[credential] { question.headers["Authorization"] = "Bearer \(bearer)" }
        return try signers[credential]?.signed(question) ?? question
    }
}
