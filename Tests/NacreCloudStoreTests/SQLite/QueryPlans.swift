import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import Testing

/// Tests that every statement of the catalogue finds its rows by a key, so that growing data of others slows nothing.
@Suite struct QueryPlans {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/NacreCloudStore/Statements")

    @Test func `no statement looks through a table or sorts`() async throws {
        let store = try await TemporarySQLiteStore()
        try await store.populate()
        let statements = try Self.catalogue()
        #expect(statements.count >= 56)
        for (name, sql) in statements {
            let plan = try store.folder.sql("EXPLAIN QUERY PLAN " + sql)
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(name): \(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(name): \(plan)")
        }
        // A page of a feed begins and ends at its bounds, whatever stands before and after.
        for (name, bounds) in [
            ("feedAfterNumber", "(incarnation,seq)>(?,?) AND (incarnation,seq)<(?,?)"),
            ("feedAfterName", "(incarnation,seq,name)>(?,?,?) AND (incarnation,seq)<(?,?)"), ("zoneFeedAfterName", "(feed_seq,name)>(?,?)"),
            ("indexRising", "(index_id,key,name)>(?,?,?) AND (index_id,key,name)<(?,?,?)"),
            ("indexFalling", "(index_id,key,name)>(?,?,?) AND (index_id,key,name)<(?,?,?)"),
            ("indexRisingWithRecords", "index_id=? AND (key,name)>(?,?) AND key<?"),
            ("indexRisingToEndWithRecords", "index_id=? AND (key,name)>(?,?)"),
            ("indexFallingWithRecords", "index_id=? AND key>? AND (key,name)<(?,?)"), ("indexFallingFromEndWithRecords", "index_id=? AND key>?"),
        ] {
            let sql = try #require(statements.first { $0.name == name }?.sql)
            #expect(try store.folder.sql("EXPLAIN QUERY PLAN " + sql).contains { $0.contains(bounds) }, "\(name)")
        }
        // An index row leads straight to its record's row.
        for name in statements.map(\.name) where name.hasPrefix("index") && name.hasSuffix("WithRecords") {
            let sql = try #require(statements.first { $0.name == name }?.sql)
            #expect(try store.folder.sql("EXPLAIN QUERY PLAN " + sql).contains { $0.hasPrefix("SEARCH r USING INTEGER PRIMARY KEY") }, "\(name)")
        }
        let byID = try #require(statements.first { $0.name == "recordByID" }?.sql)
        #expect(try store.folder.sql("EXPLAIN QUERY PLAN " + byID).contains { $0.hasPrefix("SEARCH records USING INTEGER PRIMARY KEY") })
        for (name, bounds) in [
            ("blockBefore", "(index_id,key,name)>(?,?,?) AND (index_id,key,name)<(?,?,?)"),
            ("blockAfter", "(index_id,key,name)>(?,?,?) AND (index_id,key,name)<(?,?,?)"),
        ] {
            let sql = try #require(statements.first { $0.name == name }?.sql)
            #expect(try store.folder.sql("EXPLAIN QUERY PLAN " + sql).contains { $0.contains(bounds) }, "\(name)")
        }
        await store.close()
    }

    @Test func `every statement begins its search with the database, but for work that is due, databases themselves and the run`() throws {
        let elsewhere =
            ["runPut", "entriesExpired", "operationsExpired", "tasksDue", "databasesOfContainer", "indexNext", "waitingNext", "blocksNext"]
            + KeptTable.allCases.map { "\($0)Walk" }
        for (name, sql) in try Self.catalogue() where sql.contains("WHERE") && !elsewhere.contains(name) {
            #expect(sql.contains("db_id = ?1"), "\(name)")
        }
    }

    /// Returns the names and texts of the catalogue, read from its source.
    private static func catalogue() throws -> [(name: String, sql: String)] {
        var found: [(String, String)] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file != "Statement.swift" {
            let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for part in source.split(separator: "static let ").dropFirst() {
                let name = String(part.prefix { $0 != " " })
                let isLong = part.contains("\"\"\"")
                let pieces = part.split(separator: isLong ? "\"\"\"" : "\"", omittingEmptySubsequences: false)
                if pieces.count >= 2 { found.append((name, String(pieces[1]))) }
            }
        }
        return found
    }
}
