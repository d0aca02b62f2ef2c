import Foundation
import NacreCloudWire
import NacreHTTPClient

/// Sends JSON and receives it, one request at a time.
struct WebClient {
    /// Timeout of an answer: a password in a full queue takes two or three seconds.
    private static let patience: Duration = .seconds(30)

    /// The HTTP client. It follows no redirection, as another server would answer. It trusts what `CLOUDKIT_CA_FILE`
    /// names, as the framework does.
    private static let client = HTTPClient(
        .init(authorityFile: ProcessInfo.processInfo.environment["CLOUDKIT_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 }))

    struct Answer {
        var status: Int
        var body: Data
        /// The remedy of an error: the header X-Nacre-Remedy.
        var remedy: String?
    }

    /// The URL before each path.
    let url: String
    /// The options that name the server, for errors.
    var whereabouts = "--data DIR, or --server URL"

    /// Sends a request.
    /// - Throws: `CommandFailure` 69 where no server answers.
    func send(
        _ method: String, _ path: String, bearer: String? = nil, body: (any Encodable)? = nil, patience: Duration = Self.patience
    ) async throws -> Answer {
        let bytes = try body.map { [UInt8](try JSONEncoder().encode($0)) }
        return try await send(method, path, bearer: bearer, json: bytes, patience: patience)
    }

    /// Sends a body that is encoded already.
    func send(
        _ method: String, _ path: String, bearer: String?, json: [UInt8]?, patience: Duration = Self.patience
    ) async throws -> Answer {
        var request = HTTPClient.Request(method, url + path, idleTimeout: patience, totalTimeout: patience)
        request.add(bearer: bearer, json: json)
        return try await send(request)
    }

    /// Sends a request, and writes the answer's bytes into a file, which has its name once it is whole.
    /// - Throws: `CommandFailure`, also where the file cannot be written.
    func send(_ method: String, _ path: String, bearer: String?, json: [UInt8]?, into file: String) async throws -> Answer {
        var request = HTTPClient.Request(method, url + path, idleTimeout: Self.patience, totalTimeout: Self.patienceForFiles)
        request.add(bearer: bearer, json: json)
        let download: HTTPClient.FileDownload
        do {
            download = try HTTPClient.FileDownload(path: file, bytesMax: .max)
        } catch {
            throw CommandFailure(.failure, "\(file).part cannot be made", remedy: "Name a file in a folder where you may write.")
        }
        let answer = try await send(request, into: download)
        guard answer.status == 200 else { return answer }
        do {
            try await download.finish()
        } catch {
            throw CommandFailure(.failure, "\(file) cannot be written", remedy: "Name a file in a folder where you may write.")
        }
        return answer
    }

    /// Total timeout of a file's upload; without progress `patience` ends it.
    private static let patienceForFiles: Duration = .seconds(3600)

    /// Sends a file.
    /// - Throws: `CommandFailure`, also where the file cannot be read.
    func send(file path: String, to target: String, bearer: String? = nil) async throws -> Answer {
        var request = HTTPClient.Request("POST", url + target, idleTimeout: Self.patience, totalTimeout: Self.patienceForFiles)
        request.add(bearer: bearer, json: nil)
        request.headers.append(.init("Content-Type", "application/octet-stream"))
        do {
            let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            request.body = .file(try HTTPClient.FilePart(path: path, length: bytes))
        } catch {
            throw CommandFailure(.failure, "\(path) cannot be read", remedy: "Name a file that is there.")
        }
        return try await send(request)
    }

    /// - Parameter download: takes the body of an answer that refuses nothing; nil: every body is in memory.
    private func send(_ request: HTTPClient.Request, into download: HTTPClient.FileDownload? = nil) async throws -> Answer {
        var request = request
        request.headers.append(.init("User-Agent", "nacre/\(ServerVersion.current)"))
        do {
            let answer = if let download { try await Self.client.fetch(request, into: download) } else { try await Self.client.send(request) }
            return Answer(status: answer.status, body: Data(answer.body), remedy: answer.head["x-nacre-remedy"])
        } catch {
            throw failure(error.cause)
        }
    }

    private func failure(_ cause: HTTPClient.Failure.Cause) -> CommandFailure {
        switch cause {
        case .badRequest(.url): CommandFailure(.usage, "\(url) is not a URL")
        case .badRequest(.header):
            CommandFailure(.usage, "a token has a character that none has, such as a line feed", remedy: "Copy the token anew.")
        case .badAnswer: CommandFailure(.unreachable, "\(url) does not speak HTTP")
        case .tls(let fault):
            CommandFailure(
                .unreachable, "\(url) is not trusted: \(Self.words(fault))",
                remedy: "Name the server as its certificate does; CLOUDKIT_CA_FILE may name a PEM file with its authority.")
        default:
            CommandFailure(
                .unreachable, "no server answers at \(url): \(Self.words(cause))",
                remedy: "Start it with nacre serve, or say where it is: \(whereabouts).")
        }
    }

    private static func words(_ fault: HTTPClient.Failure.TLSFault) -> String {
        switch fault {
        case .unknownAuthority: "its certificate is of an unknown authority"
        case .wrongName: "its certificate is for another host"
        case .expired: "its certificate has expired, or is not valid yet"
        case .authorityFile: "the file of CLOUDKIT_CA_FILE cannot be read"
        case .handshake: "no secure connection came about"
        }
    }

    private static func words(_ cause: HTTPClient.Failure.Cause) -> String {
        switch cause {
        case .cannotResolve: "its name is not known"
        case .cannotConnect: "nobody listens there"
        case .timedOut: "it took too long"
        default: "the connection was lost"
        }
    }
}

extension HTTPClient.Request {
    fileprivate mutating func add(bearer: String?, json: [UInt8]?) {
        if let bearer { headers.append(.init("Authorization", "Bearer \(bearer)")) }
        guard let json else { return }
        body = .bytes(json)
        headers.append(.init("Content-Type", "application/json"))
    }
}
