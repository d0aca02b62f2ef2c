import Foundation
import Testing

/// Tests of the texts of all statements, which are read from the sources, so that none is forgotten: a cluster of
/// PostgreSQL servers (Citus) must be able to route each.
@Suite struct StatementCatalogue {
    struct Entry: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        var comment: String

        var testDescription: String { name }
        var isOnAllShards: Bool { comment.contains("On all shards") }
    }

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/NacrePostgres")

    private static func read(_ name: String) -> String {
        (try? String(contentsOf: sources.appending(path: name), encoding: .utf8)) ?? ""
    }

    /// The statements of a file, each with the comment before it.
    private static func entries(_ file: String) -> [Entry] {
        let text = read(file)
        let pattern = #/(?<comment>(?:[ ]*//[^\n]*\n)*)[ ]*static let (?<name>\w+) = Statement\(\s*(?:"""(?<long>.*?)"""|"(?<short>[^"\n]*)")/#
            .dotMatchesNewlines()
        return text.matches(of: pattern).map { match in
            Entry(name: String(match.name), text: String(match.long ?? match.short ?? ""), comment: String(match.comment))
        }
    }

    private static let ofRows: [Entry] = ["Zone", "Record", "Index", "Entry"].flatMap { entries("Statements/\($0)Statements.swift") }
    private static let ofCheck = entries("Statements/CheckStatements.swift")

    @Test func `the catalogue is found`() {
        let uses = ["Zone", "Record", "Index", "Entry", "Check"].map { name in
            Self.read("Statements/\(name)Statements.swift").components(separatedBy: "Statement(").count - 1
        }
        #expect(uses.reduce(0, +) == Self.ofRows.count + Self.ofCheck.count)
        #expect(Self.ofRows.count > 50)
    }

    @Test(arguments: ofRows) func `a statement names one database, or says that it is on all shards`(entry: Entry) {
        let isOfOne = entry.text.contains("db_id = $1") || entry.text.hasInsertOfOneDatabase || entry.text.contains("db_id = ANY ($1")
        #expect(isOfOne != entry.isOnAllShards, "\(entry.text)")
        if entry.isOnAllShards { #expect(entry.text.hasPrefix("SELECT") || entry.text.trimmed.hasPrefix("SELECT"), "a change is of one database") }
    }

    @Test(arguments: ofRows + ofCheck) func `a statement has nothing that a cluster refuses or a pooler loses`(entry: Entry) {
        let words = " " + entry.text.lowercased()
        for refused in [
            "merge ", "trigger", "nextval", "serial", "sequence", "identity", "advisory", "listen", "notify", "temp ", "temporary", "random(",
            "clock_timestamp", "now()", "ctid", "xmin", "declare ", " set ",
        ] {
            let isSetOfUpdate = refused == " set " && (words.contains("update ") || words.contains("do update set"))
            #expect(isSetOfUpdate || !words.contains(refused), "\(entry.name) has \(refused)")
        }
    }

    @Test func `each key of a table begins with its database, and no table has what a cluster refuses`() {
        let schema = Self.read("PostgresSchema.swift")
        let tables = schema.matches(of: #/CREATE TABLE (\w+) \((.*?)"""/#.dotMatchesNewlines())
        #expect(tables.count == 11)
        for table in tables where table.1 != "nacre" {
            #expect(table.2.contains("PRIMARY KEY (db_id,") || table.2.contains("db_id bigint NOT NULL PRIMARY KEY"), "\(table.1)")
            #expect(!table.2.contains(" text"), "\(table.1): a text's order is the locale's")
        }
        for index in schema.matches(of: #/CREATE UNIQUE INDEX (\w+) ON \w+ \((\w+)/#) { #expect(index.2 == "db_id", "\(index.1)") }
        for refused in ["TRIGGER", "SEQUENCE", "serial", "GENERATED", "DEFERRABLE", "REFERENCES"] { #expect(!schema.contains(refused), "\(refused)") }
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

    /// Whether it inserts rows whose database is the first parameter.
    fileprivate var hasInsertOfOneDatabase: Bool {
        contains("INSERT INTO") && (contains("VALUES ($1,") || contains("SELECT $1::bigint,"))
    }
}
