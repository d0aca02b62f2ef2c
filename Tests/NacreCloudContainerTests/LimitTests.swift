import FoundationEssentials
import Testing

@testable import NacreCloudContainer

/// The table of limits says what the constants say: it is read beside their source.
@Suite struct LimitTests {
    private struct Defined: Hashable {
        var name: String
        var source: Limit.Source
    }

    private func text(of file: String) throws -> String {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let data = try Data(contentsOf: URL(filePath: "\(root)/Sources/NacreCloudContainer/\(file)"))
        return String(decoding: data, as: UTF8.self)
    }

    /// The constants with the source that the comment over each one names.
    private func defined() throws -> [Defined] {
        var comment = ""
        return try text(of: "Limits.swift").split(separator: "\n").compactMap { line in
            let line = line.drop { $0 == " " }
            if line.hasPrefix("///") {
                comment += line
                return nil
            }
            defer { comment = "" }
            guard line.hasPrefix("package static let ") else { return nil }
            let name = line.dropFirst("package static let ".count).prefix { $0 != ":" && $0 != " " }
            #expect(comment.contains("CloudKit:") || comment.contains("On this server"), "\(name) names no source")
            return Defined(name: String(name), source: comment.contains("CloudKit:") ? .cloudKit : .server)
        }
    }

    @Test func `every constant is in the table, once, in its order and with the source of its comment`() throws {
        let defined = try defined()
        #expect(defined.count > 20)
        #expect(Limits.table.map { Defined(name: $0.name, source: $0.source) } == defined)
    }

    @Test func `each row of the table holds the constant that it names`() throws {
        let rows = try text(of: "LimitTable.swift").split(separator: "\n").filter { $0.contains("Limit(\"") }
        #expect(rows.count == Limits.table.count)
        for row in rows {
            let parts = row.split(separator: "\"")
            let name = try #require(parts.dropFirst().first)
            let value = try #require(parts.last?.split(separator: ",").first).filter { $0 != " " }
            #expect(value == name || value == "Int(\(name))", "\(row)")
        }
        let seconds = try #require(Limits.table.first { $0.name == "operationSeconds" })
        #expect(Double(seconds.value) == Limits.operationSeconds)
    }
}
