import Foundation
import NacreCloudWire

/// A database as its user sees it: accessed over CloudKit's web API, with the variables of an app.
struct UserDatabase {
    static let container = Option.value("container", "name", "The container; by default that of CLOUDKIT_CONTAINER.")
    private static let environments = ["development", "production"]
    static let environment = Option.value("environment", "env", oneOf: environments, "The environment; by default that of CLOUDKIT_ENVIRONMENT.")
    static let database = Option.value("database", "db", oneOf: ["public", "private", "shared"], fallback: "private", "The database.")
    static let zone = Option.value("zone", "name", fallback: ZoneID.defaultZone.zoneName, "The zone.")
    static let owner = Option.value("owner", "user", "Whose zone it is, in the shared database: a user record name.")
    /// Options of commands about a whole database.
    static let options = [container, environment, database, RowOutput.format]
    /// Options of commands about the contents of a zone.
    static let zoneOptions = [container, environment, database, zone, owner, RowOutput.format]
    static let credentials = #"Takes server and account token from the variables of an app: eval "$(nacre env)"."#

    private let client: PublicClient
    private let token: String
    private let path: String
    let zoneID: ZoneID

    /// Reads options and variables.
    /// - Parameter name: The database's name; nil: that of the option.
    /// - Throws: `CommandFailure` that names a missing variable.
    init(_ call: Call, database name: String? = nil) throws {
        client = PublicClient(url: try Self.variable("CLOUDKIT_SERVER_URL"), variable: "CLOUDKIT_SERVER_URL")
        token = try Self.variable("CLOUDKIT_ACCOUNT_TOKEN", .authentication)
        let names = [
            try call.value(Self.container) ?? Self.variable("CLOUDKIT_CONTAINER"),
            try call.value(Self.environment) ?? Self.ambientEnvironment(), try name ?? call.require(Self.database),
        ]
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: ".-_"))
        path = "/database/1/" + names.map { $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }.joined(separator: "/") + "/"
        zoneID = ZoneID(zoneName: call.value(Self.zone) ?? ZoneID.defaultZone.zoneName, ownerRecordName: call.value(Self.owner))
    }

    private static func variable(_ name: String, _ code: ExitCode = .usage) throws -> String {
        if let value = ProcessInfo.processInfo.environment[name], !value.isEmpty { return value }
        throw CommandFailure(
            code, "\(name) is not set", remedy: #"nacre up CONTAINER writes the variables of an app, and eval "$(nacre env)" sets them."#)
    }

    private static func ambientEnvironment() throws -> String {
        guard let name = try? variable("CLOUDKIT_ENVIRONMENT") else { return "development" }
        guard environments.contains(name) else {
            throw CommandFailure(.usage, "CLOUDKIT_ENVIRONMENT is \(name)", remedy: "Set it to \(environments.joined(separator: " or ")).")
        }
        return name
    }

    /// Checks an item of an answer.
    /// - Throws: `CommandFailure` where it is an error.
    static func requireSuccess(_ item: [String: Any], of name: String?) throws {
        guard item["serverErrorCode"] != nil else { return }
        let json = try JSONSerialization.data(withJSONObject: item)
        throw CommandFailure(try ErrorResponse(json: [UInt8](json)).error, of: name)
    }

    /// Returns the answer to `POST` as the server writes it.
    func ask(_ endpoint: String, _ request: some RequestMessage) async throws -> [String: Any] {
        try await client.object("POST", path + endpoint, json: request.json(), token: token)
    }

    /// Returns the answer to `POST` with all details, such as the parts of times that milliseconds round away.
    func ask<Answer: AnswerMessage>(_ type: Answer.Type, _ endpoint: String, _ request: some RequestMessage) async throws -> Answer {
        try await client.ask(type, path + endpoint, request, token: token)
    }

    /// Uploads files for fields of a record.
    /// - Returns: the assets to save, in the order of the files.
    func upload(_ files: [(field: String, path: String)], of recordName: String, _ recordType: String) async throws -> [Asset] {
        try await client.upload(files, of: recordName, recordType, in: zoneID, path, token: token)
    }

    /// Fetches the file of a record.
    func download(_ asset: Asset, of recordName: String, into file: String) async throws {
        guard let url = asset.downloadURL else { throw CommandFailure(.failure, "\(recordName): the server did not say where its file is") }
        try await client.download(url, into: file)
    }

    /// Returns the answer to `GET` as the server writes it.
    func ask(_ endpoint: String) async throws -> [String: Any] {
        try await client.object("GET", path + endpoint, json: nil, token: token)
    }
}
