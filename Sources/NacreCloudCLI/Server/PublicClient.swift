import Foundation
import NacreCloudServer
import NacreCloudWire

/// A client of the public API: sign-in, sign-out, and CloudKit's web API.
struct PublicClient {
    private var web: WebClient

    /// Makes a client.
    /// - Parameter variable: The variable that gave the URL, for errors; nil: options did.
    init(url: String, variable: String? = nil) {
        web = WebClient(url: url)
        if let variable { web.whereabouts = variable }
    }

    /// Signs a user in.
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

    /// Returns whether an account token lets its user into a container.
    func isGood(accountToken: String, _ container: String, _ environment: String) async throws -> Bool {
        try await web.send("GET", "/database/1/\(container)/\(environment)/public/users/caller", bearer: accountToken).status == 200
    }

    /// Ends the validity of an account token.
    func signOut(accountToken: String) async throws {
        let answer = try await web.send("POST", "/account/1/sign-out", bearer: accountToken)
        guard answer.status == 200 else { throw Self.failure(answer) }
    }

    /// Sends a request to CloudKit's web API as the user of an account token.
    func ask<Answer: AnswerMessage>(_ type: Answer.Type, _ path: String, _ request: some RequestMessage, token: String) async throws -> Answer {
        var request = request
        request.extension.wantsDetails = true
        return try await ask("POST", path, request.json(), token: token) { body throws(ServerError) in try Answer(json: body) }
    }

    /// Uploads a file.
    /// - Parameter url: The upload URL. Only its path is used: the public name may lead elsewhere from here.
    func upload(_ file: String, to url: String) async throws -> Asset {
        guard let path = url.range(of: "/assets/") else { throw CommandFailure(.failure, "what answers at \(web.url) is not a nacre server") }
        let answer = try await web.send(file: file, to: String(url[path.lowerBound...]))
        return try value(of: answer) { body throws(ServerError) in try AssetUploadResponse(json: body) }.singleFile
    }

    /// Uploads files for fields of a record.
    /// - Returns: the assets to save, in the order of the files.
    func upload(
        _ files: [(field: String, path: String)], of recordName: String, _ recordType: String, in zoneID: ZoneID, _ database: String, token: String
    ) async throws -> [Asset] {
        if files.isEmpty { return [] }
        let items = files.map { AssetsUploadRequest.Item(recordName: recordName, recordType: recordType, fieldName: $0.field) }
        let request = AssetsUploadRequest(tokens: items, zoneID: zoneID)
        let places = try await ask(AssetsUploadResponse.self, database + "assets/upload", request, token: token).tokens
        guard places.count == files.count else { throw CommandFailure(.failure, "the server did not say where the files go") }
        var assets: [Asset] = []
        for (file, place) in zip(files, places) { assets.append(try await upload(file.path, to: place.url)) }
        return assets
    }

    /// Fetches a file, which has its name once it is whole.
    /// - Parameter url: The download URL, of which only the path is used.
    func download(_ url: String, into file: String) async throws {
        guard let path = url.range(of: "/assets/") else { throw CommandFailure(.failure, "what answers at \(web.url) is not a nacre server") }
        let target = url[path.lowerBound...].replacing("${f}", with: "file")
        _ = try value(of: try await web.send("GET", String(target), bearer: nil, json: nil, into: file)) { $0 }
    }

    /// Sends a request and returns the JSON object of the answer.
    func object(_ method: String, _ path: String, json: [UInt8]?, token: String) async throws -> [String: Any] {
        let body = try await ask(method, path, json, token: token) { $0 }
        guard let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else {
            throw CommandFailure(.failure, "what answers at \(web.url) is not a nacre server")
        }
        return object
    }

    private func ask<Value>(
        _ method: String, _ path: String, _ json: [UInt8]?, token: String, _ read: ([UInt8]) throws(ServerError) -> Value
    ) async throws -> Value {
        try value(of: try await web.send(method, path, bearer: token, json: json), read)
    }

    private func value<Value>(of answer: WebClient.Answer, _ read: ([UInt8]) throws(ServerError) -> Value) throws -> Value {
        do {
            guard answer.status != 200 else { return try read([UInt8](answer.body)) }
            var error = try ErrorResponse(json: [UInt8](answer.body)).error
            // The body has the remedy only where the request asked for details.
            error.remedy = error.remedy ?? answer.remedy
            throw CommandFailure(error)
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
