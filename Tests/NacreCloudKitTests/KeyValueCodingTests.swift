import CloudKit
import Testing

/// Tests of records by key-value coding, which much app code uses in place of the subscript.
struct KeyValueCodingTests {
    private let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))

    @Test func `a value is set and read under its key, as by the subscript`() {
        record.setValue("text", forKey: "title")
        record.setValue(5, forKey: "count")
        record.setValue([1.5, 2], forKey: "list")
        record.setValue(Date(timeIntervalSinceReferenceDate: 9), forKey: "when")
        #expect(record["title"] as? String == "text" && record.value(forKey: "title") as? String == "text")
        #expect(record["count"] as? Int == 5 && record.value(forKey: "count") as? Int == 5)
        #expect(record.value(forKey: "list") as? [Double] == [1.5, 2])
        #expect(record.value(forKey: "when") as? Date == record["when"] as? Date)
        #expect(record.value(forKey: "missing") == nil)
        #expect(record.changedKeys() == ["count", "list", "title", "when"])
    }

    @Test func `nil and NSNull clear, as does an optional without a value`() {
        for empty in [nil, NSNull(), Optional<String>.none as Any] as [Any?] {
            record.setValue("text", forKey: "title")
            record.setValue(empty, forKey: "title")
            #expect(record["title"] == nil)
        }
    }

    @Test func `a value that no record takes fails the save and not the app`() async {
        let setting = Setting()
        record.setValue(["a": 1], forKey: "title")
        #expect(record.value(forKey: "title") as? [String: Int] == ["a": 1])
        #expect(await thrown { try await setting.database.save(record) }?.code == .invalidArguments)
        record.setValue("text", forKey: "title")
        #expect(await thrown { try await setting.database.save(record) } == nil)
    }

    @Test func `many keys at once`() {
        record.setValuesForKeys(["title": "text", "count": 5, "gone": NSNull()])
        #expect(record.allKeys() == ["count", "title"])
        let values = record.dictionaryWithValues(forKeys: ["title", "count", "missing"])
        #expect(values["title"] as? String == "text" && values["count"] as? Int == 5 && values["missing"] is NSNull && values.count == 3)
    }

    @Test func `the record's own properties are read under their names, and a field of the name goes first`() async throws {
        let setting = Setting()
        record.setValue("text", forKey: "title")
        let saved = try await setting.database.save(record)
        #expect(saved.value(forKey: "recordID") as? CKRecord.ID == record.recordID)
        #expect(saved.value(forKey: "recordType") as? String == "Note")
        #expect(saved.value(forKey: "creationDate") as? Date == saved.creationDate && saved.creationDate != nil)
        #expect(saved.value(forKey: "modificationDate") as? Date == saved.modificationDate)
        #expect(saved.value(forKey: "recordChangeTag") as? String == saved.recordChangeTag)
        saved.setValue("field", forKey: "recordChangeTag")
        #expect(saved.value(forKey: "recordChangeTag") as? String == "field")
    }
}
