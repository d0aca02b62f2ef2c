import Glibc
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient

/// Time for a bucket, to be replaced in tests.
package struct S3Clock: Sendable {
    /// Seconds since 1970, for signatures.
    package var now: @Sendable () -> Int
    package var pause: @Sendable (Duration) async throws -> Void

    package init(now: @escaping @Sendable () -> Int, pause: @escaping @Sendable (Duration) async throws -> Void) {
        (self.now, self.pause) = (now, pause)
    }

    package static let system = S3Clock(now: { time(nil) }, pause: { try await Task.sleep(for: $0) })
}

/// How long a bucket may take.
package struct S3Patience: Sendable {
    /// How long nothing at all may come or go. On this server: a bucket in the same town answers within a tenth of a second.
    package var idle: Duration = .seconds(5)
    /// For one attempt.
    package var total: Duration = .seconds(15)
    /// Attempts of a request, the first one included.
    package var attempts = 3
    /// Between the first two attempts; each further pause is twice as long.
    package var pause: Duration = .milliseconds(200)
    /// A server that wants to be left alone for longer is not waited for.
    package var longestPause: Duration = .seconds(2)

    package init() {}
}

/// Objects of one bucket: put, got, removed and listed whole, path style. Every request is signed, and every one may be repeated.
///
/// What is not answered, and what is answered with 429 or from 500 on, is asked again a few times: all of it takes less than a minute.
final class S3Bucket: Sendable {
    /// Transfers at a time. On this server: each has a chunk in memory.
    static let transfers = 16
    /// The most bytes of an answer that holds no object: a page of a thousand names.
    private static let answerBytes = 1 << 20

    let place: AssetBucket
    private let signature: S3Signature
    private let client: HTTPClient
    private let clock: S3Clock
    private let patience: S3Patience

    init(_ place: AssetBucket, clock: S3Clock, patience: S3Patience) {
        self.place = place
        self.clock = clock
        self.patience = patience
        signature = S3Signature(credentials: place.credentials, region: place.region)
        client = HTTPClient(HTTPClient.Configuration(transfersPerHostMax: Self.transfers, idleConnectionsMax: Self.transfers))
    }

    /// Keeps an object, in the place of what had its key. It is whole and durable when this returns, or it is not there.
    func put(_ bytes: [UInt8], as key: String) async throws {
        _ = try await ask("PUT", key, body: bytes)
    }

    /// - Returns: nil where there is no such object.
    /// - Throws: `StoreError.corrupt` where it has more bytes than `bytesMax`, and than an error's text.
    func get(_ key: String, bytesMax: Int) async throws -> [UInt8]? {
        try await ask("GET", key, answerBytes: max(bytesMax, 64 << 10))
    }

    /// One that is not there is no error.
    func remove(_ key: String) async throws {
        _ = try await ask("DELETE", key)
    }

    /// A page of the objects whose keys begin so, below the place's own prefix.
    func list(_ prefix: String, after token: String?) async throws -> S3Listing {
        var query = [(name: "list-type", value: "2"), (name: "prefix", value: place.prefix + prefix)]
        if let token { query.append((name: "continuation-token", value: token)) }
        guard let bytes = try await ask("GET", nil, query: query), var listing = S3Listing(bytes) else {
            throw fault("the answer is no listing")
        }
        for index in listing.objects.indices {
            guard listing.objects[index].key.hasPrefix(place.prefix) else { throw fault("the listing has other objects") }
            listing.objects[index].key.removeFirst(place.prefix.count)
        }
        return listing
    }

    // MARK: One request

    private enum Verdict {
        case done([UInt8]?)
        case again(StoreError, after: Duration?)
    }

    /// - Parameter key: nil for the bucket itself.
    /// - Returns: the body; nil where there is no such object.
    private func ask(
        _ method: String, _ key: String?, query: [(name: String, value: String)] = [], body: [UInt8]? = nil, answerBytes: Int = S3Bucket.answerBytes
    ) async throws -> [UInt8]? {
        var pause = patience.pause
        var attempt = 1
        while true {
            let result = await answer(to: request(method, key, query, body, answerBytes))
            switch try verdict(on: result, key, mayLack: body == nil && key != nil) {
            case .done(let bytes): return bytes
            case .again(let error, let wanted):
                guard attempt < patience.attempts, wanted ?? .zero <= patience.longestPause else { throw error }
                // A quarter more or less, so that those who were refused at once do not come back at once.
                try await clock.pause(max(wanted ?? .zero, pause * Double.random(in: 0.75...1.25)))
                attempt += 1
                pause *= 2
            }
        }
    }

    private func answer(to request: HTTPClient.Request) async -> Result<HTTPClient.Answer, HTTPClient.Failure> {
        do throws(HTTPClient.Failure) {
            return .success(try await client.send(request))
        } catch {
            return .failure(error)
        }
    }

    private func request(
        _ method: String, _ key: String?, _ query: [(name: String, value: String)], _ body: [UInt8]?, _ answerBytes: Int
    ) -> HTTPClient.Request {
        let path = "/\(place.name)" + (key.map { "/" + S3Signature.encoded(place.prefix + $0, keeping: "/") } ?? "")
        let (time, payload) = (S3Signature.time(clock.now()), HexText.encode(SHA256.digest(body ?? [])))
        var headers = [("x-amz-content-sha256", payload), ("x-amz-date", time)]
        if let token = place.credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
        let signed = S3Signature.Request(
            method: method, path: path, query: query, headers: [(name: "host", value: place.host)] + headers.map { (name: $0.0, value: $0.1) },
            payload: payload)
        headers.append(("Authorization", signature.authorization(of: signed, at: time)))
        let url = place.endpoint + path + (query.isEmpty ? "" : "?" + S3Signature.query(query))
        return HTTPClient.Request(
            method, url, headers: headers.map { HTTPClient.Header($0.0, $0.1) }, body: body.map { .bytes($0) } ?? .none, version: .http1,
            idleTimeout: patience.idle, totalTimeout: patience.total, answerBytesMax: answerBytes, takesCompression: false)
    }

    /// What an answer means, or that there was none.
    /// - Parameter mayLack: whether an object that is not there is an answer.
    /// - Throws: what no repetition would mend.
    private func verdict(on result: Result<HTTPClient.Answer, HTTPClient.Failure>, _ key: String?, mayLack: Bool) throws -> Verdict {
        switch result {
        case .failure(let failure):
            switch failure.cause {
            case .cancelled: throw CancellationError()
            case .badAnswer(.bodyTooLarge): throw StoreError(.corrupt, "An object of assets is not what was kept", ["key": key ?? ""])
            case .badRequest, .tls: throw fault("\(failure.cause)")
            default: return .again(fault("\(failure.cause)"), after: nil)
            }
        case .success(let answer):
            if (200..<300).contains(answer.status) { return .done(answer.body) }
            let code = S3Listing.errorCode(answer.body)
            if answer.status == 404, mayLack, code == nil || code == "NoSuchKey" { return .done(nil) }
            let error = fault(code ?? "no reason was given", status: answer.status)
            guard answer.status == 429 || answer.status >= 500 || code == "RequestTimeout" else { throw error }
            return .again(error, after: answer.head["retry-after"].flatMap { Int($0) }.map { .seconds(max(0, $0)) })
        }
    }

    private func fault(_ reason: String, status: Int? = nil) -> StoreError {
        var values = ["bucket": place.url, "reason": reason]
        if let status { values["status"] = String(status) }
        return StoreError(.unavailable, "The bucket of assets could not be used", values)
    }
}
