import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// A user's name and its visibility to others. Changes of both require the password: an app must not rename its user in
/// all other apps.
extension AccountAPI {
    func changeName(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.NameChange.self, of: request)
        let names = NameComponents(givenName: asked.givenName, familyName: asked.familyName)
        if let fault = names.fault { throw fault }
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let changed = try await cloud.registry.changeNames(of: account, to: names)
        // If this fails, a task does it later.
        try? await cloud.refreshIdentity(of: account.id)
        return try answer(
            AccountMessages.NameChanged(email: changed.email, givenName: changed.givenName, familyName: changed.familyName))
    }

    func answerDiscoverability(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.DiscoverabilityAnswer.self, of: request)
        guard let environment = DatabaseKey.Environment(rawValue: asked.environment) else {
            throw ServerError(
                .badRequest, "unknown environment", field: "environment", remedy: "Environments are development and production, in lower case.")
        }
        guard let status = Discoverability(rawValue: asked.userDiscoverability), status != .initialState else {
            throw ServerError(.badRequest, "field has an unknown value", field: "userDiscoverability", remedy: "Answer GRANTED or DENIED.")
        }
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let settled = try await cloud.answerDiscoverability(status, of: account, in: asked.container, environment)
        return try answer(AccountMessages.DiscoverabilityAnswered(userDiscoverability: settled.rawValue))
    }
}
