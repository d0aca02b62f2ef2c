import Foundation
import Glibc
import Testing

@testable import CloudKit
@testable import NacreHTTPClient

/// What the network says, as the framework hears it.
struct ClientTransportTests {
    private typealias Failure = HTTPClient.Failure

    @Test(arguments: [
        (HTTPClient.Failure.Cause.cannotResolve, URLError.Code.cannotFindHost), (.cannotConnect, .cannotConnectToHost),
        (.tls(.unknownAuthority), .serverCertificateHasUnknownRoot), (.tls(.wrongName), .serverCertificateUntrusted),
        (.tls(.expired), .serverCertificateHasBadDate), (.tls(.authorityFile), .secureConnectionFailed), (.tls(.handshake), .secureConnectionFailed),
        (.timedOut(.idle), .timedOut), (.timedOut(.total), .timedOut), (.connectionLost, .networkConnectionLost),
        (.badAnswer(.truncated), .networkConnectionLost), (.badAnswer(.notHTTP), .badServerResponse),
        (.badAnswer(.bodyTooLarge), .dataLengthExceedsMaximum), (.badAnswer(.encoding), .cannotDecodeContentData), (.badRequest(.url), .badURL),
    ])
    func `each cause has a code of URLSession's domain, and what may have arrived is told apart`(
        cause: HTTPClient.Failure.Cause, code: URLError.Code
    ) throws {
        guard case .notSent(let before) = TransportFailure(Failure(cause, mayHaveArrived: false)),
            case .answerLost(let after) = TransportFailure(Failure(cause, mayHaveArrived: true))
        else {
            Issue.record("\(cause) is told apart by whether the request may have arrived")
            return
        }
        #expect(before.domain == NSURLErrorDomain && before.code == code.rawValue && before == after)
        #expect(CKError(.notSent(before)).code == .networkUnavailable && CKError(.answerLost(after)).code == .networkFailure)
        #expect((CKError(.notSent(before)).userInfo[NSUnderlyingErrorKey] as? NSError)?.code == code.rawValue)
    }

    @Test func `a cancelled request is a cancelled operation`() {
        guard case .cancelled = TransportFailure(Failure(.cancelled, mayHaveArrived: true)) else {
            Issue.record("it is cancelled, whatever has arrived")
            return
        }
    }

    @Test func `an authority that is not trusted says what to set`() {
        let error = CKError(TransportFailure(Failure(.tls(.unknownAuthority), mayHaveArrived: false)))
        #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("CLOUDKIT_CA_FILE") == true)
    }

    @Test(arguments: [Double.infinity, .greatestFiniteMagnitude, 1e300, 0])
    func `no number of seconds that an app sets stops it`(seconds: Double) async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let request = TransportRequest(method: .post, url: url, headers: [:], body: [1], timeout: seconds, totalTimeout: seconds)
        await #expect(throws: TransportFailure.self) { _ = try await ClientTransport().send(request) }
    }

    /// A listener that lets connections in, and never says anything.
    private final class Silence {
        private let listener: Int32
        let url: URL

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            self.listener = listener
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let bound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(listener, pointer, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, pointer, &length) == 0
                }
            }
            try #require(bound)
            url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"))
        }

        deinit { close(listener) }
    }

    private func container(_ silence: Silence) -> CKContainer {
        CKContainer(identifier: "iCloud.test", server: CloudKitServer(url: silence.url, apiToken: "a", accountToken: "b"))
    }

    @Test func `an operation's request timeout is kept to, by the framework's own way to the network`() async throws {
        let silence = try Silence()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 0.2
        let clock = ContinuousClock()
        let start = clock.now
        let error = await thrown {
            try await container(silence).privateCloudDatabase.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
        #expect(error?.code == .networkFailure)
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == URLError.Code.timedOut.rawValue)
        let elapsed = clock.now - start
        #expect(elapsed >= .milliseconds(200) && elapsed < .seconds(20))
    }

    @Test func `an operation's resource timeout is kept to, in the middle of an attempt`() async throws {
        let silence = try Silence()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 0.3
        let clock = ContinuousClock()
        let start = clock.now
        let error = await thrown {
            try await container(silence).privateCloudDatabase.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
        #expect(error?.code == .networkFailure && clock.now - start < .seconds(20))
    }

    @Test func `a cancelled operation ends while its server is silent`() async throws {
        let silence = try Silence()
        let database = container(silence).privateCloudDatabase
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let error: CKError? = await withCheckedContinuation { continuation in
            operation.fetchRecordZonesResultBlock = { result in
                if case .failure(let error) = result {
                    continuation.resume(returning: error as? CKError)
                } else {
                    continuation.resume(returning: nil)
                }
            }
            database.add(operation)
            operation.cancel()
        }
        #expect(error?.code == .operationCancelled)
    }
}
