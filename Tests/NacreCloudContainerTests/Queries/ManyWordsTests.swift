import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests that each word of a text with many words is found.
@Suite struct ManyWordsTests {
    private func found(_ word: String, by user: TestCloudUser) async throws -> [String] {
        let filter = QueryFilter(.containsAllTokens, fieldName: "text", value: .string(word))
        let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: [filter]))
        return try await user.cloud.queryRecords(request, in: user.target, by: user.caller).records.compactMap(\.recordName)
    }

    @Test(arguments: Engine.ofRules) func `every word of the longest text is found, and goes with it`(engine: Engine) async throws {
        let user = try await TestCloud(engine).user("_ann")
        // The text has as many different words as fit into a record, within a few.
        var text = ""
        var count = 0
        while true {
            let word = String(count, radix: 36)
            if text.utf8.count + word.utf8.count + 1 > Limits.recordBytes - 100 { break }
            text += word + " "
            count += 1
        }
        #expect(count > 190_000)
        try await user.define(["text": .string])
        #expect(try await user.modify([.create("book", ["text": .string(text)])]).first?.error == nil)
        for place in [0, 10_000, count - 1] {
            #expect(try await found(String(place, radix: 36), by: user) == ["book"], "word \(place)")
        }
        #expect(try await found(String(count, radix: 36), by: user).isEmpty)
        #expect(try await user.modify([.update("book", ["text": .string("short")])]).first?.error == nil)
        #expect(try await found(String(count - 1, radix: 36), by: user).isEmpty)
        #expect(try await found("short", by: user) == ["book"])
    }
}
