import Foundation
import Glibc
import NacreCloudContainer
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import Testing

@testable import NacreCloudServer

/// Tests of Apple's push service over TLS and HTTP/2. `nghttpx`, of Debian's package nghttp2-proxy, stands in front
/// of a scripted service. It takes nothing but HTTP/2, and reports the version of each request.
@Suite(
    .enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: "/usr/sbin/nghttpx")), "nghttp2-proxy is not installed"),
    .timeLimit(.minutes(5)))
struct APNsHTTP2Tests {
    private static let device = APNsAddress(token: "00fF", environment: .production, topic: "com.example.notes")

    private struct Front {
        let authority: Authority
        let process: ServerProcess

        init(before service: PushService) throws {
            authority = try Authority()
            let files = try authority.certificate(for: ["DNS:localhost"])
            let settings = authority.folder + "/nghttpx.conf"
            try Data().write(to: URL(filePath: settings))
            let backend = service.url.split(separator: ":").last ?? ""
            process = try Self.started(
                [
                    "--conf=\(settings)", "--backend=127.0.0.1,\(backend)", "--single-process", "--no-ocsp", "--npn-list=h2", files.key,
                    files.certificate,
                ])
        }

        /// Starts it on a free port. It cannot choose a port itself, and another process may take one that was free a
        /// moment ago.
        private static func started(_ arguments: [String]) throws -> ServerProcess {
            var failure: any Error = CancellationError()
            for _ in 0..<20 {
                let listener = try LoopbackSocket.listener(backlog: 1)
                let port = LoopbackSocket.port(of: listener)
                close(listener)
                do {
                    return try ServerProcess(
                        "/usr/sbin/nghttpx", ["--frontend=127.0.0.1,\(port)"] + arguments, listening: "Listening on ", readsErrors: true)
                } catch { failure = error }
            }
            throw failure
        }
    }

    /// Source: "Handling notification responses from APNs".
    private static let refusals: [(status: Int, reason: String, outcome: PushOutcome)] = [
        (400, "BadCollapseId", .giveUp(.refused)), (400, "BadDeviceToken", .dropAddress(since: nil)), (400, "BadExpirationDate", .giveUp(.refused)),
        (400, "BadMessageId", .giveUp(.refused)), (400, "BadPriority", .giveUp(.refused)), (400, "BadTopic", .giveUp(.refused)),
        (400, "DeviceTokenNotForTopic", .dropAddress(since: nil)), (400, "DuplicateHeaders", .giveUp(.refused)),
        (400, "IdleTimeout", .retry(afterSeconds: nil)), (400, "InvalidPushType", .giveUp(.refused)), (400, "MissingDeviceToken", .giveUp(.refused)),
        (400, "MissingTopic", .giveUp(.refused)), (400, "PayloadEmpty", .giveUp(.refused)), (400, "TopicDisallowed", .giveUp(.refused)),
        (403, "BadCertificate", .retry(afterSeconds: nil)), (403, "BadCertificateEnvironment", .retry(afterSeconds: nil)),
        (403, "ExpiredProviderToken", .retry(afterSeconds: nil)), (403, "Forbidden", .retry(afterSeconds: nil)),
        (403, "InvalidProviderToken", .retry(afterSeconds: nil)), (403, "MissingProviderToken", .retry(afterSeconds: nil)),
        (403, "UnrelatedKeyIdInToken", .retry(afterSeconds: nil)), (403, "BadEnvironmentKeyIdInToken", .retry(afterSeconds: nil)),
        (404, "BadPath", .giveUp(.wrongPlace)), (405, "MethodNotAllowed", .giveUp(.wrongPlace)), (410, "ExpiredToken", .dropAddress(since: nil)),
        (410, "Unregistered", .dropAddress(since: Timestamp(millisecondsSince1970: 1_700_000_000_123))), (413, "PayloadTooLarge", .giveUp(.tooLarge)),
        (429, "TooManyProviderTokenUpdates", .retry(afterSeconds: nil)), (429, "TooManyRequests", .retry(afterSeconds: 60)),
        (500, "InternalServerError", .retry(afterSeconds: nil)), (503, "ServiceUnavailable", .retry(afterSeconds: 30)),
        (503, "Shutdown", .retry(afterSeconds: nil)),
    ]

    private func answer(_ status: Int, _ reason: String, _ outcome: PushOutcome) -> PushService.Answer {
        var answer = PushService.Answer(status: status, body: #"{"reason":"\#(reason)"}"#)
        if case .retry(let seconds?) = outcome { answer.headers["Retry-After"] = "\(Int(seconds))" }
        if case .dropAddress(let since?) = outcome {
            answer.body = #"{"reason":"\#(reason)","timestamp":\#(since.millisecondsSince1970)}"#
        }
        return answer
    }

    @Test func `a device is told over HTTP 2, and all that Apple refuses is understood there`() async throws {
        let service = try PushService()
        defer { service.close() }
        let front = try Front(before: service)
        let (clock, key) = (TestClock(), try P256.PrivateKey())
        let identity = try APNsIdentity(pem: key.pem(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let sender = APNsSender(
            identity, clock: clock.serverClock, client: HTTPClient(.init(authorityFile: front.authority.file)),
            url: { _ in "https://localhost:\(front.process.port)" })
        let message = PushMessage(payload: Array(#"{"aps":{}}"#.utf8), urgency: .visible, collapseID: "c", expires: clock.now + 600)
        #expect(await sender.report(message, to: Self.device) == PushReport(.taken, said: "200"))
        for (status, reason, outcome) in Self.refusals {
            let answer = answer(status, reason, outcome)
            // After an expired token one new token is tried.
            if reason == "ExpiredProviderToken" { service.answerNext(answer, answer) } else { service.answerNext(answer) }
            #expect(await sender.report(message, to: Self.device) == PushReport(outcome, said: "\(status) \(reason)"))
        }
        let seen = service.seen
        #expect(seen.count == Self.refusals.count + 2)
        #expect(Set(seen.map { $0.headers["via"] }) == ["2 nghttpx"], "the version that came to the front")
        #expect(Set(seen.map(\.target)) == ["/3/device/00fF"] && seen.allSatisfy { $0.body == message.payload })
        #expect(seen.allSatisfy { $0.headers["apns-topic"] == "com.example.notes" && $0.headers["authorization"]?.hasPrefix("bearer ") == true })
        #expect(await sender.report(message, to: Self.device).outcome == .taken, "and is told again")
    }

    @Test func `who knows no authority of the service's certificate sends it nothing`() async throws {
        let service = try PushService()
        defer { service.close() }
        let front = try Front(before: service)
        let (clock, key) = (TestClock(), try P256.PrivateKey())
        let sender = APNsSender(
            try APNsIdentity(pem: key.pem(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ"), clock: clock.serverClock,
            url: { _ in "https://localhost:\(front.process.port)" })
        let message = PushMessage(payload: [123, 125], urgency: .visible, expires: clock.now + 600)
        #expect(await sender.report(message, to: Self.device) == PushReport(.retry(afterSeconds: nil)))
        #expect(service.seen.isEmpty)
    }
}
