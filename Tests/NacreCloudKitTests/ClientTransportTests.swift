import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import CloudKit
@testable import NacreHTTPClient

/// Tests of the mapping of network results to the framework's.
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

    @Test func `a server that does not speak TLS says how its URL begins`() {
        let error = CKError(TransportFailure(Failure(.tls(.handshake), mayHaveArrived: false)))
        #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("http:// instead of https://") == true)
    }

    @Test(arguments: [Double.infinity, .greatestFiniteMagnitude, 1e300, 0])
    func `no number of seconds that an app sets stops it`(seconds: Double) async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let request = TransportRequest(method: .post, url: url, headers: [:], body: [1], timeout: seconds, totalTimeout: seconds)
        await #expect(throws: TransportFailure.self) { _ = try await ClientTransport().send(request) }
    }

    /// A listener that accepts connections, and never answers.
    private final class Silence: Sendable {
        private let listener: Int32
        let url: URL

        init() throws {
            listener = try LoopbackSocket.listener(backlog: 8)
            url = try #require(URL(string: "http://127.0.0.1:\(LoopbackSocket.port(of: listener))/"))
        }

        deinit { close(listener) }

        /// Returns the first connection, and the first three letters of its bytes.
        func firstRequest() async -> (socket: Int32, letters: String) {
            await onThread { [listener] in
                let socket = accept(listener, nil, nil)
                var bytes = [UInt8](repeating: 0, count: 3)
                let count = recv(socket, &bytes, bytes.count, Int32(MSG_WAITALL))
                return (socket, String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self))
            }
        }

        /// Returns whether the client closes the connection within a minute.
        func hangsUp(_ socket: Int32) async -> Bool {
            await onThread {
                defer { close(socket) }
                var limit = timeval(tv_sec: 60, tv_usec: 0)
                setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                var bytes = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(socket, &bytes, bytes.count, 0)
                    if count <= 0 { return count == 0 || errno != EAGAIN }
                }
            }
        }

        private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: work()) }
            }
        }
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
        #expect(elapsed >= .milliseconds(200))
    }

    @Test func `an operation's resource timeout is kept to, in the middle of an attempt`() async throws {
        let silence = try Silence()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 0.3
        let error = await thrown {
            try await container(silence).privateCloudDatabase.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
        #expect(error?.code == .networkFailure)
    }

    @Test func `a cancelled operation ends while its server is silent, and hangs up`() async throws {
        let silence = try Silence()
        let database = container(silence).privateCloudDatabase
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let ended = Locked<[CKError.Code?]>([])
        operation.fetchRecordZonesResultBlock = { result in
            let code = (result.error as? CKError)?.code
            ended.withLock { $0.append(code) }
        }
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
            Task {
                // The cancellation waits for the request to arrive; before that there is nothing to end.
                let connection = await silence.firstRequest()
                #expect(connection.letters == "POS" && ended.withLock { $0 } == [], "nobody answers")
                operation.cancel()
                #expect(await silence.hangsUp(connection.socket), "the transfer ends, and not only the wait for it")
            }
        }
        #expect(ended.withLock { $0 } == [.operationCancelled])
    }
}
