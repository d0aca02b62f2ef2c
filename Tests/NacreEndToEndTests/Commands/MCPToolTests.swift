import Foundation
import Testing

@testable import NacreCloudCLI

/// Tests of the tools of `nacre mcp` as values: their table, their arguments, and the bounds of their answers.
struct MCPToolTests {
    @Test func `each tool has a name in snake_case, a description, and a closed schema whose defaults it takes itself`() throws {
        #expect(Set(ToolTable.all.map(\.name)).count == ToolTable.all.count && ToolTable.all.count < ToolTable.pageSize)
        for tool in ToolTable.all {
            #expect(tool.name.allSatisfy { $0 == "_" || $0.isLowercase }, "\(tool.name)")
            #expect(!tool.title.isEmpty && tool.description.hasSuffix("."), "\(tool.name)")
            let json = tool.json(for: .latest)
            #expect(json["inputSchema"]?["additionalProperties"] == .boolean(false))
            #expect(json["annotations"]?["readOnlyHint"] == .boolean(tool.access == .reads))
            #expect(json["annotations"]?["destructiveHint"] == .boolean(tool.access == .writes))
            for parameter in tool.parameters {
                #expect(parameter.name.allSatisfy { $0 == "_" || $0.isLowercase } && parameter.help.hasSuffix("."), "\(tool.name) \(parameter.name)")
                if let fallback = parameter.fallback { try parameter.check(fallback) }
            }
        }
    }

    @Test func `the page about agents has every tool`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/agents.md"), encoding: .utf8)
        for tool in ToolTable.all { #expect(page.contains("| `\(tool.name)` |"), "\(tool.name)") }
    }

    @Test func `tools that write are offered only if the operator allows it`() async throws {
        let writing = ToolTable.all.filter { $0.access == .writes }.map(\.name)
        #expect(writing == ["import_schema"])
        let reading = ToolTable(allowsWrites: false)
        let names = try reading.page(after: nil, for: .latest)["tools"]?.items?.compactMap { $0["name"]?.string }
        #expect(names == ToolTable.all.map(\.name).filter { !writing.contains($0) })
        for name in writing {
            let fault = #expect(throws: RPCFault.self) { try reading.tool(named: name) }
            #expect(fault?.message.contains("--allow-writes") == true)
            #expect(try ToolTable(allowsWrites: true).tool(named: name).name == name)
        }
    }

    @Test func `a list of tools in pages has each once`() throws {
        let table = ToolTable(allowsWrites: true, pageSize: 4)
        var (names, cursor): ([String], JSONValue?) = ([], nil)
        repeat {
            let page = try table.page(after: cursor, for: .latest)
            names += page["tools"]?.items?.compactMap { $0["name"]?.string } ?? []
            cursor = page["nextCursor"]
        } while cursor != nil
        #expect(names == ToolTable.all.map(\.name))
    }

    @Test(arguments: [
        (#"{}"#, "code"), (#"{"code":null}"#, "code"), (#"{"code":5}"#, "code"), (#"{"code":""}"#, "code"),
        (#"{"code":"CONFLICT","cod":1}"#, "cod"), (#"{"code":"NO_SUCH"}"#, "code"),
    ])
    func `a fault of an argument is a result that names the field and the remedy`(arguments: String, field: String) async throws {
        let agent = MCPAgent()
        await agent.initialize()
        guard case .object(let members) = try JSONValue(Array(arguments.utf8)) else { return }
        let fault = try await agent.fault("explain_error", members)
        #expect(fault["field"] == .string(field) && fault["remedy"]?.string?.isEmpty == false && fault["error"]?.string?.isEmpty == false)
    }

    @Test func `values beyond the bounds of a parameter are refused`() throws {
        let number = ToolParameter.integer("n", "N.", 1...9)
        let texts = ToolParameter.texts("t", "T.", count: 2, characters: 3)
        let choice = ToolParameter.text("c", "C.", oneOf: ["a", "b"])
        for (parameter, value) in [
            (number, JSONValue.integer(0)), (number, .integer(10)), (number, .double(2.5)), (number, .string("2")), (number, .integer(.max)),
            (texts, .array([])), (texts, .texts(["a", "b", "c"])), (texts, .texts(["abcd"])), (texts, .array([.integer(1)])), (texts, .string("a")),
            (choice, .string("c")), (choice, .integer(1)), (ToolParameter.flag("f", "F."), .string("true")),
        ] { #expect(throws: ToolFault.self, "\(parameter.name) \(value)") { try parameter.check(value) } }
        for (parameter, value) in [(number, JSONValue.integer(9)), (number, .double(2)), (texts, .texts(["abc", "ü"])), (choice, .string("b"))] {
            try parameter.check(value)
        }
    }

    @Test(arguments: [
        ("write to ada@example.com today", "write to [e-mail address] today"),
        ("ada.l+x@sub.example.org,eve@b.de", "[e-mail address],[e-mail address]"),
        ("<ü@ö.de>", "<[e-mail address]>"), ("a @ b, @name, x@", "a @ b, @name, x@"), ("call +49 171 123-4567.", "call [phone number]."),
        ("(+1 (555) 010-9999)", "([phone number])"), ("1+1 = 2, +12, 2026-01-31T12:00:00+01:00", "1+1 = 2, +12, 2026-01-31T12:00:00+01:00"),
        ("+1234567+7654321", "[phone number][phone number]"),
    ])
    func `addresses and numbers of persons are masked, and other text is not`(text: String, shown: String) {
        #expect(ForeignText.anonymous(text) == shown)
    }

    @Test func `characters that show nothing are written out, and long texts are cut`() {
        #expect(ForeignText.bounded("a\u{1b}[2Jb\u{202e}c\u{e0041}d\u{0}\n\te") == "a\\u{1b}[2Jb\\u{202e}c\\u{e0041}d\\u{0}\n\te")
        #expect(ForeignText.bounded("👩‍👩‍👧 née") == "👩‍👩‍👧 née")
        let long = ForeignText.bounded(String(repeating: "ü", count: ForeignText.charactersMax + 1))
        #expect(long.hasSuffix("… (cut: \(2 * ForeignText.charactersMax + 2) bytes in all)"))
    }

    @Test func `a list is cut by rows and by bytes, and the way to go on leads through all of it`() throws {
        let page = (0..<30).map { JSONValue.object(["number": .integer(Int64($0)), "text": .string(String(repeating: "x", count: 1990 + $0))]) }
        let cursors = ToolCursors()
        var (numbers, after, answers): ([Int64], String?, Int) = ([], nil, 0)
        repeat {
            let answer = try ToolPage(after, cursors).answer("rows", page, next: nil, limit: 27).json(allowsPrivate: false)
            #expect(answer.text.utf8.count < ToolAnswer.rowBytesMax + 1000)
            numbers += answer["rows"]?.items?.compactMap { $0["number"]?.integer } ?? []
            after = answer["next"]?.string
            answers += 1
        } while after != nil
        #expect(numbers == Array(0..<30) && answers == 2)
        for text in ["", "x", "-1", "1:", "1:1", "1:2:3", "9223372036854775807"] {
            #expect(throws: ToolFault.self, "\(text)") { try ToolPage(text, cursors) }
        }
    }

    @Test func `a cursor of the server is kept here, and an agent gets its number`() throws {
        let cursors = ToolCursors()
        let next = ToolPage(cursor: "secret-0", cursors).answer("rows", [.null], next: "secret-1", limit: 1).json(allowsPrivate: true)["next"]?.string
        #expect(try next?.contains("secret") == false && ToolPage(next, cursors).cursor == "secret-1")
        #expect(ToolPage(cursor: "secret-1", cursors).after(0) == next)
        for number in 2...ToolCursors.kept + 1 { _ = ToolPage(cursor: "secret-\(number)", cursors).after(0) }
        #expect(throws: ToolFault.self) { try ToolPage(next, cursors) }
    }

    @Test func `a row too large for an answer is there by its names alone`() {
        let values = JSONValue.array((0..<100).map { _ in .string(String(repeating: "x", count: 1900)) })
        let answer = ToolAnswer("rows", [.object(["recordName": .string("big"), "fields": values])], limit: 10).json(allowsPrivate: false)
        let row = answer["rows"]?.items?.first
        #expect(row?["recordName"] == .string("big") && row?["fields"] == nil && row?["cut"]?.string?.contains("fewer fields") == true)
    }

    @Test func `a schema is cut into its types, and a missing type is told with those that there are`() throws {
        let text = "DEFINE SCHEMA\n\n    RECORD TYPE Note (\n        text STRING\n    );\n\n    RECORD TYPE \"TYPE\" (\n        a INT64\n    );\n"
        let document = SchemaDocument(text)
        #expect(try document.text(ofType: "Note") == "    RECORD TYPE Note (\n        text STRING\n    );\n")
        #expect(try document.text(ofType: "TYPE").contains("a INT64"))
        let fault = #expect(throws: ToolFault.self) { try document.text(ofType: "Nota") }
        #expect(fault?.remedy == "Did you mean Note? It has Note, TYPE.")
    }
}
