import Foundation
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// A listening server with files of assets in its folder, and short forms of clients' requests. Records of type Photo
/// have a field `image` and a list `pages`.
struct AssetScene {
    let server: TestServer
    let port: Int
    var database = "private"

    init(publicURL: String? = nil) async throws {
        server = try await TestServer(publicURL: publicURL, doesTasks: false)
        _ = try await server.cloud.schemas.changeSchema(of: TestServer.container, .development) { schema in
            let fields: RecordFields = ["image": .asset(Asset(fileChecksum: "", size: 0)), "pages": .assetList([])]
            for type in ["Photo", "Film"] {
                if let lacking = schema.lacking(of: type, with: fields) { schema.add(lacking) }
            }
        }
        port = try await server.startListening()
    }

    /// Asks an endpoint as a signed-in web client; `nil` is a signed-out one.
    func ask(_ path: String, _ body: String, as user: String? = "ada") async throws -> Answer {
        let session = user.map { "&ckWebAuthToken=\(server.names[$0 + ".escaped"] ?? "")" } ?? ""
        return try await NacreCloudServerTests.ask(
            Question(
                method: "POST",
                target: "/database/1/\(TestServer.container)/development/\(database)/\(path)?ckAPIToken=\(server.names["api"] ?? "")\(session)",
                body: Array(body.utf8)), port: port)
    }

    /// Returns the path of a URL of this server.
    func path(_ url: String) -> String {
        guard let separator = url.firstRange(of: "://") else { return url }
        return String(url[separator.upperBound...].drop { $0 != "/" })
    }

    func permit(_ record: String, type: String = "Photo", field: String = "image", as user: String = "ada") async throws -> String {
        let answer = try await ask(
            "assets/upload", #"{"tokens":[{"recordName":"\#(record)","recordType":"\#(type)","fieldName":"\#(field)"}]}"#, as: user)
        return answer.json?.at("tokens[0].url")?.text ?? answer.text
    }

    func send(_ bytes: [UInt8], to url: String, headers: [String: String] = [:]) async throws -> Answer {
        try await NacreCloudServerTests.ask(Question(method: "POST", target: path(url), headers: headers, body: bytes), port: port)
    }

    /// Uploads a file, and returns the dictionary that a save carries, as JSON.
    func upload(_ bytes: [UInt8], _ record: String, type: String = "Photo", field: String = "image", as user: String = "ada") async throws -> String {
        let answer = try await send(bytes, to: try await permit(record, type: type, field: field, as: user))
        return String(answer.text.dropFirst(#"{"singleFile":"#.count).dropLast())
    }

    func save(
        _ value: String, in field: String = "image", of record: String, type: String = "Photo", as user: String = "ada"
    ) async throws -> Answer {
        try await ask(
            "records/modify",
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"\#(record)","recordType":"\#(type)","fields":{"\#(field)":{"value":\#(value)}}}}]}"#,
            as: user)
    }

    func lookUp(_ record: String, as user: String? = "ada") async throws -> JSON? {
        try await ask("records/lookup", #"{"records":[{"recordName":"\#(record)"}]}"#, as: user).json?.at("records[0]")
    }

    func delete(_ record: String) async throws -> Answer {
        try await ask("records/modify", #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"\#(record)"}}]}"#)
    }

    func fetch(_ url: String, method: String = "GET", headers: [String: String] = [:]) async throws -> Answer {
        try await NacreCloudServerTests.ask(
            Question(method: method, target: path(url).replacing("${f}", with: "photo.jpg"), headers: headers), port: port)
    }
}

/// Returns bytes by a seed; no two seeds give equal parts.
func someBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
    return Array(bytes.prefix(count))
}

extension AssetScene {
    private var folder: String { server.folder.path + "/assets" }

    /// Returns the paths of all chunks, in order.
    func chunkFiles() throws -> [String] {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: folder).filter { $0.count == 2 }.sorted().flatMap { part in
            try files.contentsOfDirectory(atPath: "\(folder)/\(part)").sorted().map { "\(folder)/\(part)/\($0)" }
        }
    }

    func incomingFiles() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming") }

    func contents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }
}
