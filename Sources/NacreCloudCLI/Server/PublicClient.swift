import Foundation
import NacreCloudServer
import NacreCloudWire

/// Asks the server what anybody may ask: to be signed in and out.
struct PublicClient {
    private let web: WebClient

    init(url: String) {
        web = WebClient(url: url)
    }

    /// - Throws: `CommandFailure` 77 for a wrong password or API token.
    func signIn(_ request: AccountMessages.SignIn) async throws -> AccountMessages.SignedIn {
        let answer = try await web.send("POST", "/account/1/sign-in", body: request)
        guard answer.status == 200 else { throw Self.failure(answer) }
        do {
            return try JSONDecoder().decode(AccountMessages.SignedIn.self, from: answer.body)
        } catch {
            throw CommandFailure(.failure, "what answers at \(web.url) is not a nacre server")
        }
    }

    /// Whether an account token lets its user into a container.
    func isGood(accountToken: String, _ container: String, _ environment: String) async throws -> Bool {
        try await web.send("GET", "/database/1/\(container)/\(environment)/public/users/caller", bearer: accountToken).status == 200
    }

    /// Ends what an account token allows.
    func signOut(accountToken: String) async throws {
        let answer = try await web.send("POST", "/account/1/sign-out", bearer: accountToken)
        guard answer.status == 200 else { throw Self.failure(answer) }
    }

    /// Asks CloudKit's web API as the user of an account token.
    func ask<Answer: AnswerMessage>(_ type: Answer.Type, _ path: String, _ request: some RequestMessage, token: String) async throws -> Answer {
        var request = request
        request.extension.wantsDetails = true
        let answer = try await web.send("POST", path, bearer: token, json: request.json())
        do {
            guard answer.status == 200 else { throw CommandFailure(try ErrorResponse(json: [UInt8](answer.body)).error) }
            return try Answer(json: [UInt8](answer.body))
        } catch let error as ServerError {
            throw CommandFailure(.failure, "\(web.url) answered \(answer.status): \(error.reason)")
        }
    }

    /// CloudKit's error dictionary.
    private struct Fault: Decodable {
        var serverErrorCode: String
        var reason: String?
    }

    private static func failure(_ answer: WebClient.Answer) -> CommandFailure {
        guard let fault = try? JSONDecoder().decode(Fault.self, from: answer.body) else {
            return CommandFailure(.failure, "the server answered \(answer.status)")
        }
        let code: ExitCode =
            switch ServerErrorCode(rawValue: fault.serverErrorCode) {
            case .authenticationFailed, .authenticationRequired, .accessDenied: .authentication
            case .tryAgainLater, .throttled: .unreachable
            default: .failure
            }
        let remedy = code == .authentication ? "Check address, password, API token, container and environment." : nil
        return CommandFailure(code, fault.reason ?? fault.serverErrorCode, remedy: remedy)
    }
}
