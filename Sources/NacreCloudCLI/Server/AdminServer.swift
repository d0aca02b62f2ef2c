import Foundation
import NacreCloudServer

/// The server that an administrator's command speaks to, and the token for it.
struct AdminServer {
    static let server = Option.value("server", "url", "The admin URL of a server elsewhere, with --token-file.")
    static let tokenFile = Option.value(
        "token-file", "file", "A file with the admin token or a management token of --server, or a copy of its admin.json.")

    static let options = [SharedOptions.data, server, tokenFile]

    let url: String
    let token: String
    /// Whether it runs on this machine: its data folder is here.
    let isHere: Bool

    init(url: String, token: String, isHere: Bool = false) {
        (self.url, self.token, self.isHere) = (url, token, isHere)
    }

    /// A server on this machine.
    init(file: AdminFile) {
        self.init(url: file.url, token: file.token, isHere: true)
    }

    /// Returns the server of the data folder, or the one that the options name.
    static func named(by call: Call) throws -> AdminServer {
        for option in [server, tokenFile] where call.isGiven(option) && call.isGiven(SharedOptions.data) {
            throw UsageError(.exclusive("--\(option.name)", "--data"), path: call.path)
        }
        if let path = call.value(tokenFile) { return try elsewhere(tokenFile: path, call) }
        if call.isGiven(server) { throw UsageError(.missingOption(tokenFile.spelling), path: call.path) }
        return AdminServer(file: try file(in: try call.require(SharedOptions.data)))
    }

    /// Returns the server of the data folder, or at the URL that the options name, with a token of the caller's.
    static func named(by call: Call, token: String) throws -> AdminServer {
        if call.isGiven(server), call.isGiven(SharedOptions.data) { throw UsageError(.exclusive("--server", "--data"), path: call.path) }
        if let url = call.value(server) { return AdminServer(url: try checked(url, of: server, call), token: token) }
        return AdminServer(url: try file(in: try call.require(SharedOptions.data)).url, token: token, isHere: true)
    }

    private static func elsewhere(tokenFile path: String, _ call: Call) throws -> AdminServer {
        let bytes = try PrivateFile.read(path)
        let file = AdminFile(json: bytes)
        guard let url = call.value(server) ?? file?.url else { throw UsageError(.missingOption(server.spelling), path: call.path) }
        let token = file?.token ?? String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return AdminServer(url: try checked(url, of: server, call), token: token)
    }

    private static func file(in folder: String) throws -> AdminFile {
        do {
            return try AdminFile.read(folder: folder)
        } catch {
            guard error.code == .missing else { throw error }
            throw CommandFailure(
                .unreachable, "no server runs on the data folder \(folder)",
                remedy: "Start it with nacre serve --data \(folder), or name another folder with --data.")
        }
    }

    /// Returns a URL without a slash at its end.
    static func checked(_ text: String, of option: Option, _ call: Call) throws -> String {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme), url.host?.isEmpty == false
        else { throw UsageError(.invalid("--\(option.name)", "give a URL such as http://127.0.0.1:8787"), path: call.path) }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
