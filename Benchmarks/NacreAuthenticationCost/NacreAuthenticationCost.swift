import Foundation
import Glibc
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreHTTPServer

/// Measures what a server spends on authenticating a caller and checking its permissions. Prints one JSON object, in
/// microseconds of CPU for each request.
///
///     NacreAuthenticationCost FOLDER SECONDS < QUESTIONS
///
/// `FOLDER` is the data folder of a server that has ended; store, tokens and keys are opened as the server opens
/// them. The questions are the requests that the server was loaded with, so both figures are of the same work.
@main
struct NacreAuthenticationCost {
    private static let rounds = 10

    /// One lookup in a public or private database, as it was sent.
    private struct Question: Decodable {
        var name: String
        var container: String
        var database: String
        var target: String
        var headers: [String: String]
        var body: String
    }

    private struct Cost: Encodable {
        /// The identification of the caller, and its repetition before the answer.
        var identity: Double
        /// The count of the request, and the check of the rates.
        var rates: Double
        /// The check of the caller's grants: its lookup, less that of an administrator, whom no grant restricts.
        var roles: Double
    }

    /// The answer has another record.
    private struct Difference: Error {}

    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 3, let seconds = Double(words[2]) else {
            FileHandle.standardError.write(Data("usage: NacreAuthenticationCost FOLDER SECONDS < QUESTIONS\n".utf8))
            exit(64)
        }
        let questions = try JSONDecoder().decode([Question].self, from: FileHandle.standardInput.readToEnd() ?? Data())
        let store = try await SQLiteStore.open(folder: words[1])
        let clock = ServerClock.system
        let random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
        let keys = try await Registry(store: store, clock: clock.now, random: random).sealingKeys { throw Difference() }
        let sealer = try TokenSealer(keys: keys)
        let cloud = Cloud(store: store, tokens: sealer, process: CloudProcess(clock: clock.now, random: random))
        let authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: clock)
        let rates = RequestRates(perSecond: Limits.ratePerSecond, clock: clock)
        var costs: [String: Cost] = [:]
        for question in questions {
            costs[question.name] = try await cost(of: question, seconds / Double(questions.count), cloud, authenticator, rates)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(costs), as: UTF8.self))
        await store.close()
    }

    private static func cost(
        of question: Question, _ seconds: Double, _ cloud: Cloud, _ authenticator: Authenticator, _ rates: RequestRates
    ) async throws -> Cost {
        guard let scope = DatabaseKey.Scope(rawValue: question.database) else { throw Difference() }
        let environment = DatabaseKey.Environment.development
        let target = DatabaseTarget(container: question.container, environment: environment, scope: scope)
        var headers = HTTPHeaders()
        for (name, value) in question.headers { headers.add(name, value) }
        let body = Array(question.body.utf8)
        let request = HTTPRequest(method: .post, target: question.target, headers: headers, body: body)
        let asked = try RecordsLookupRequest(json: body)
        let caller = try await authenticator.identify(request, container: question.container, environment: environment).caller
        var administrator = caller
        administrator.isAdministrator = true

        // A body is read once, so a signed request is made anew for each call.
        let signs = request.header("X-Apple-CloudKit-Request-KeyID") != nil
        let identity = try await microseconds(seconds / 4) {
            let request = signs ? HTTPRequest(method: .post, target: question.target, headers: headers, body: body) : request
            let identity = try await authenticator.identify(request, container: question.container, environment: environment)
            try await authenticator.requireStill(identity, request, container: question.container, environment: environment)
        }
        let counted = try await microseconds(seconds / 4) {
            var payers = rates.payers(of: "192.0.2.1")
            try rates.require(payers)
            let more = rates.payers(of: caller, at: "192.0.2.1", in: target, try await rates.entry(of: question.container, in: cloud.registry))
            try rates.require(more)
            payers += more
            rates.take(1, from: payers)
        }
        // Alternating rounds meet the same states of the machine; the best counts, as other processes only add.
        var (byCaller, byAdministrator) = (Double.infinity, Double.infinity)
        for _ in 0..<rounds * 10 {
            byCaller = min(byCaller, try await round(seconds / 200) { try await look(up: asked, target, caller, cloud) })
            byAdministrator = min(byAdministrator, try await round(seconds / 200) { try await look(up: asked, target, administrator, cloud) })
        }
        return Cost(identity: identity, rates: counted, roles: max(0, byCaller - byAdministrator))
    }

    private static func look(up request: RecordsLookupRequest, _ target: DatabaseTarget, _ caller: Caller, _ cloud: Cloud) async throws {
        let answer = try await cloud.lookupRecords(request, in: target, by: caller)
        guard case .record? = answer.records.first else { throw Difference() }
    }

    /// Returns this process's CPU for one call, in the best of some rounds.
    private static func microseconds(_ seconds: Double, _ body: () async throws -> Void) async throws -> Double {
        var best = Double.infinity
        for _ in 0..<rounds { best = min(best, try await round(seconds / Double(rounds), body)) }
        return best
    }

    /// Returns the same in one round.
    private static func round(_ seconds: Double, _ body: () async throws -> Void) async throws -> Double {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        let before = processSeconds()
        var count = 0
        repeat {
            for _ in 0..<100 { try await body() }
            count += 100
        } while clock.now < end
        return (processSeconds() - before) * 1e6 / Double(count)
    }

    private static func processSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
