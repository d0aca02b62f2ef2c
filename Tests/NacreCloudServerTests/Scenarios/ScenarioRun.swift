import Foundation
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import Testing

/// Runs a scenario against a server, step by step, and checks every answer for forbidden contents.
struct ScenarioRun {
    let scenario: Scenario
    let server: TestServer
    /// The port of the socket; nil: the router is used.
    let port: Int?
    private var names: [String: String]
    private var place = 0

    init(_ scenario: Scenario, overSocket: Bool) async throws {
        self.scenario = scenario
        server = try await TestServer(
            opensSignUp: scenario.opensSignUp, isVouched: true, queryScanRows: scenario.queryScanRows, doesTasks: false)
        port = overSocket ? try await server.startListening() : nil
        names = server.names
    }

    mutating func run() async throws {
        for (index, step) in scenario.steps.enumerated() {
            place = index
            switch step {
            case .later(let seconds): server.clock.advance(seconds)
            case .store(let fault): server.store.fail(fault)
            case .revokeElsewhere(let user): try await server.revokeElsewhere(user)
            case .makeScope(let zone): try await server.makeScope(of: "ada", in: zone)
            case .setIndexes(let type, let fields, let options, let builds):
                for field in fields {
                    _ = try await server.cloud.schemas.setIndexes(
                        options, of: type, field: field, isNow: !options.isEmpty, in: TestServer.container)
                }
                while builds, try await server.cloud.runDueTasks().taken > 0 {}
            case .justInTime(let choice): _ = try await server.cloud.schemas.setJustInTime(choice, of: TestServer.container)
            case .deploy: _ = try await server.cloud.schemas.deploySchema(of: TestServer.container, isDryRun: false)
            case .importSchema(let text):
                _ = try await server.cloud.schemas.importSchema(text, to: TestServer.container, isDryRun: false)
                while try await server.cloud.runDueTasks().taken > 0 {}
            case .assign(let role, let user):
                _ = try await server.cloud.schemas.assign(role, to: filled("<<\(user).name>>"), in: TestServer.container, .development)
            case .revoke(let role, let user):
                _ = try await server.cloud.schemas.revoke(role, from: filled("<<\(user).name>>"), in: TestServer.container, .development)
            case .ask(let asked): try await run(asked)
            }
        }
        server.store.fail(nil)
        await server.server.shutdown(grace: .zero)
    }

    private mutating func run(_ asked: Ask) async throws {
        if scenario.preparesTypes, asked.path.hasSuffix("records/modify"), case .web = asked.sender { await prepareTypes(asked) }
        let question = question(asked)
        let answer = if let port { try await ask(question, port: port) } else { await server.respond(question) }
        let json = answer.json
        for (name, path) in asked.kept {
            let value = path.hasPrefix("header:") ? answer.header(String(path.dropFirst(7))) : json?.at(path)?.text
            #expect(value != nil, "\(label): nothing to keep at \(path) in \(answer.text)")
            names[name] = value
        }
        #expect(answer.status == asked.status, "\(label): \(answer.text.prefix(1000))")
        for (path, expected) in asked.values { check(json?.at(path), expected, path, answer) }
        for text in asked.contains { #expect(answer.text.contains(filled(text)), "\(label): \(text) is missing in \(answer.text)") }
        for text in asked.lacks { #expect(!answer.text.contains(filled(text)), "\(label): \(text) is in \(answer.text)") }
        checkHeaders(asked, answer)
        checkWhatIsNeverSaid(asked, answer, json)
        checkOpaqueValues(answer, json)
        checkDescription(question, answer)
    }

    /// Makes the types of a request's records. If the store fails, the request itself shows it.
    private func prepareTypes(_ asked: Ask) async {
        let parts = asked.path.hasPrefix("/") ? asked.path.split(separator: "/").map(String.init) : []
        if parts.count > 3, parts[3] != "development" { return }
        try? await server.prepareTypes(for: filled(asked.body), in: parts.count > 3 ? parts[2] : TestServer.container)
    }

    private var label: String { "\(scenario.name), step \(place + 1)" }

    // MARK: Requests

    private func question(_ asked: Ask) -> Question {
        var headers = asked.headers.mapValues(filled)
        var query = asked.query.mapValues(filled)
        let suffix = asked.path.contains("/production/") ? ".production" : ""
        switch asked.sender {
        case .nobody: break
        case .world: query["ckAPIToken"] = query["ckAPIToken"] ?? names["api" + suffix]
        case .web(let user):
            query["ckAPIToken"] = query["ckAPIToken"] ?? names["api" + suffix]
            query["ckWebAuthToken"] = query["ckWebAuthToken"] ?? names[user + suffix]
        case .device(let user): headers["Authorization"] = "Bearer " + (names[user + ".device" + suffix] ?? "")
        }
        let path = asked.path.hasPrefix("/") ? filled(asked.path) : "/database/1/\(TestServer.container)/development/\(filled(asked.path))"
        let pairs = query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        return Question(
            method: asked.method, target: pairs.isEmpty ? path : "\(path)?\(pairs)", headers: headers, body: Array(filled(asked.body).utf8))
    }

    private func filled(_ text: String) -> String {
        guard text.contains("<<") else { return text }
        return names.reduce(text) { $0.replacingOccurrences(of: "<<\($1.key)>>", with: $1.value) }
    }

    // MARK: Answers

    private func check(_ value: JSON?, _ expected: Expected, _ path: String, _ answer: Answer) {
        let isRight =
            switch expected {
            case .equals(.string(let text)): value == .string(filled(text))
            case .equals(let wanted): value == wanted
            case .absent: value == nil
            case .some: value != nil
            case .count(let count): value?.count == count
            case .not(let text): value != nil && value != .string(filled(text))
            case .prefix(let text): value?.text?.hasPrefix(filled(text)) == true
            }
        #expect(isRight, "\(label): \(path) is \(value as Any), not \(expected), in \(answer.text.prefix(2000))")
    }

    private func checkHeaders(_ asked: Ask, _ answer: Answer) {
        for (name, wanted) in asked.answerHeaders {
            let value = answer.header(name)
            switch wanted {
            case nil: #expect(value == nil, "\(label): header \(name)")
            case "": #expect(value != nil, "\(label): header \(name)")
            case let wanted?: #expect(value == filled(wanted), "\(label): header \(name)")
            }
        }
        let isForApps = !asked.path.hasPrefix("/") || ["/database/", "/device/", "/account/", "/push/"].contains { asked.path.hasPrefix($0) }
        #expect(answer.header("Cache-Control") == (isForApps ? "no-store" : nil), "\(label)")
        #expect(answer.header("Referrer-Policy") == "no-referrer", "\(label)")
        #expect(answer.header("X-Apple-Request-UUID")?.count == 36, "\(label)")
        #expect(answer.header("X-Request-Id") == answer.header("X-Apple-Request-UUID"), "\(label)")
    }

    /// Checks the request and the answer against `/openapi.json`.
    private func checkDescription(_ question: Question, _ answer: Answer) {
        let described = DescribedEndpoints.publicOnes
        let fault = described.fault(question.method, question.target, answer)
        #expect(fault == nil, "\(label): \(fault ?? "") in \(answer.text.prefix(2000))")
        guard answer.status == 200, !question.body.isEmpty else { return }
        let bodyFault = described.bodyFault(question.method, question.target, question.body)
        #expect(bodyFault == nil, "\(label): \(bodyFault ?? "") in \(String(decoding: question.body.prefix(2000), as: UTF8.self))")
    }

    private static let opaqueKeys: Set = ["syncToken", "metaSyncToken", "continuationMarker", "token"]

    /// Checks that opaque values, whose bytes clients keep, are base64 as Foundation writes it.
    private func checkOpaqueValues(_ answer: Answer, _ json: JSON?) {
        let header = answer.header("X-Apple-CloudKit-Web-Auth-Token").map { [$0] } ?? []
        for text in header + (json?.texts(named: Self.opaqueKeys) ?? []) {
            #expect(Data(base64Encoded: text)?.base64EncodedString() == text, "\(label): \(text)")
        }
    }

    private func checkWhatIsNeverSaid(_ asked: Ask, _ answer: Answer, _ json: JSON?) {
        var never = [".swift", "Sources/", "Swift.", "Optional(", "StoreError", "/secret", server.folder.path, "passwordHash", "argon2"]
        if !asked.showsSecrets {
            // The sign-in URL contains the API token of the request, which an app's pages show to everybody.
            let isShown: (String) -> Bool = { name in name.contains("name") || (name.hasPrefix("api") && json?["redirectURL"] != nil) }
            never += server.names.filter { !isShown($0.key) }.values
        }
        if !asked.showsDetails { never.append("\"nacre\":") }
        for text in never { #expect(!answer.text.contains(text), "\(label): \(text) is in \(answer.text.prefix(2000))") }
        if let uuid = json?["uuid"] { #expect(uuid.text == answer.header("X-Apple-Request-UUID"), "\(label)") }
        if answer.status >= 400, asked.method != "HEAD" {
            #expect(json?["serverErrorCode"] != nil, "\(label): no error dictionary in \(answer.text)")
            #expect(answer.header("Content-Type")?.hasPrefix("application/json") == true, "\(label)")
        }
    }
}
