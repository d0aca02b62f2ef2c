import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// The answer of each route to each credential, written by hand.
///
/// A line is a method, a path, the databases (`-` where the path names none), and a cell for each column. A path that
/// begins with `…` follows `/database/1/:container/:environment/:database`. A cell is the HTTP status alone if the
/// code is `codes[status]`, otherwise status and code. With status 200 the code is the first item's.
struct AuthorisationTable: Sendable, CustomTestStringConvertible {
    /// `emulator`: the additional routes of an emulator's admin listener.
    enum Listener: Sendable { case `public`, admin, emulator }
    /// Credentials that must all get the same answer.
    typealias Column = (name: String, credentials: [Credential])

    let name: String
    let listener: Listener
    /// First parts of the paths whose routes it lists.
    let roots: Set<String>
    let columns: [Column]
    let text: String

    var testDescription: String { name }

    private static let codes = [
        400: "BAD_REQUEST", 401: "AUTHENTICATION_FAILED", 403: "ACCESS_DENIED", 404: "NOT_FOUND", 421: "AUTHENTICATION_REQUIRED",
    ]
    private static let database = "/database/1/:container/:environment/:database"

    /// A route in one database.
    struct Place: Hashable, Sendable {
        var method: String
        var pattern: String
        /// `-` where the path names none.
        var database: String

        static func all(method: String, pattern: String) -> [Place] {
            let databases = pattern.split(separator: "/").contains(":database") ? ["public", "private", "shared"] : ["-"]
            return databases.map { Place(method: method, pattern: pattern, database: $0) }
        }

        /// The route as it stands in a line.
        var route: String {
            let start = AuthorisationTable.database
            return "\(method) \(pattern.hasPrefix(start) ? "…" + pattern.dropFirst(start.count) : pattern)"
        }

        /// The path for Ada's container in development; its other names exist nowhere.
        var path: String {
            let parts = [
                ":container": TestServer.container, ":environment": "development", ":database": database, ":shortGUID": "AAAAAAAAAAAAAAAAAAAAAA",
            ]
            let path = pattern.split(separator: "/").map { part in
                "/" + (parts[String(part)] ?? (part.hasPrefix(":") || part.hasPrefix("*") ? "nothing" : String(part)))
            }.joined()
            return path.isEmpty ? "/" : path
        }
    }

    struct BadLine: Error { var line: String }

    func covers(_ pattern: String) -> Bool {
        let isOfEmulator = pattern.hasPrefix("/admin/1/faults")
        return isOfEmulator == (listener == .emulator)
            && roots.contains(pattern.split(separator: "/").first.map(String.init) ?? "")
    }

    /// rows[place][column]
    func rows() throws -> [Place: [String: String]] {
        var rows: [Place: [String: String]] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3 + columns.count else { throw BadLine(line: String(line)) }
            let pattern = words[1].hasPrefix("…") ? Self.database + words[1].dropFirst() : words[1]
            let cells = Dictionary(uniqueKeysWithValues: zip(columns.map(\.name), words.dropFirst(3)))
            for database in words[2].split(separator: ",") {
                let place = Place(method: words[0], pattern: pattern, database: String(database))
                guard rows.updateValue(cells, forKey: place) == nil else { throw BadLine(line: String(line)) }
            }
        }
        return rows
    }

    /// Returns the line for the given answers. A column whose credentials got different answers shows them all: it
    /// must be divided, or the server corrected.
    func line(_ place: Place, _ given: [Credential: String]) -> String {
        let cells = columns.map { column in Set(column.credentials.map { given[$0] ?? "nothing" }).sorted().joined(separator: "|") }
        return ([place.route, place.database] + cells).joined(separator: "  ")
    }

    /// Returns an answer in the form of a cell.
    static func outcome(_ answer: Answer) -> String {
        let json = answer.json
        let ofItem = ["records", "zones", "subscriptions", "results"].lazy.compactMap { json?.at("\($0)[0].serverErrorCode") }.first
        let code = json?["serverErrorCode"] ?? json?["code"] ?? ofItem
        guard let text = code?.text else { return "\(answer.status)" }
        return codes[answer.status] == text ? "\(answer.status)" : "\(answer.status):\(text)"
    }
}
