import Glibc
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient

/// The clock of a bucket, which tests replace.
package struct S3Clock: Sendable {
    /// The seconds since 1970, for signatures.
    package var now: @Sendable () -> Int
    package var pause: @Sendable (Duration) async throws -> Void

    package init(now: @escaping @Sendable () -> Int, pause: @escaping @Sendable (Duration) async throws -> Void) {
        (self.now, self.pause) = (now, pause)
    }

    package static let system = S3Clock(now: { time(nil) }, pause: { try await Task.sleep(for: $0) })
}

/// The time limits of requests to a bucket.
package struct S3Patience: Sendable {
    /// The longest time without traffic. On this server: a bucket in the same town answers within a tenth of a second.
    package var idle: Duration = .seconds(5)
    /// The longest time of one attempt.
    package var total: Duration = .seconds(15)
    /// The number of attempts of a request, including the first.
    package var attempts = 3
    /// The pause between the first two attempts. Each further pause is twice as long.
    package var pause: Duration = .milliseconds(200)
    /// The longest pause that a server may ask for. After a longer one the request fails.
    package var longestPause: Duration = .seconds(2)

    package init() {}
}

/// The objects of one bucket: written, read, removed and listed whole, path style. Every request is signed and
/// repeatable. A request without an answer, or with status 429 or from 500 on, is repeated a few times, within a
/// minute.
final class S3Bucket: Sendable {
    /// The number of transfers at a time. On this server: each has a chunk in memory.
    static let transfers = 16
    /// The most bytes of an answer without an object: a page of a thousand names.
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

    /// Writes an object, or replaces the one of this key. When this returns it is whole and durable.
    func put(_ bytes: [UInt8], as key: String) async throws {
        _ = try await ask("PUT", key, body: bytes)
    }

    /// - Returns: The bytes; nil if there is no object of this key.
    /// - Throws: `StoreError.corrupt` if it has more bytes than `bytesMax`, and than 64 KiB, which an error's text may
    ///   have.
    func get(_ key: String, bytesMax: Int) async throws -> [UInt8]? {
        try await ask("GET", key, answerBytes: max(bytesMax, 64 << 10))
    }

    /// Removes an object. A missing object is no error.
    func remove(_ key: String) async throws {
        _ = try await ask("DELETE", key)
    }

    /// Returns a page of the objects whose keys begin with `prefix`, below the bucket's own prefix.
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

    /// - Parameter key: The object's key; nil for the bucket itself.
    /// - Returns: The body; nil if the object does not exist.
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
                // Vary the pause by a quarter, so that clients refused together do not come back together.
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

    /// Interprets an answer or a failure.
    /// - Parameter mayLack: Whether a missing object is a valid answer.
    /// - Throws: Errors that a repetition would not mend.
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
            return .again(error, after: answer.head.retryAfter(at: Double(clock.now())).map { .seconds($0) })
        }
    }

    private func fault(_ reason: String, status: Int? = nil) -> StoreError {
        var values = ["bucket": place.url, "reason": reason]
        if let status { values["status"] = String(status) }
        return StoreError(.unavailable, "The bucket of assets could not be used", values)
    }
}
