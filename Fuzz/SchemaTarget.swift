@testable import NacreCloudContainer

/// Fuzzes texts in CloudKit's schema language: read, printed, and read as the same.
enum SchemaTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        guard let schema = try? SchemaText.schema(from: String(decoding: input, as: UTF8.self)) else { return }
        let text = SchemaText(schema).text
        let again = try? SchemaText.schema(from: text)
        promise("what was read is printed so that it reads", again != nil)
        guard let again else { return }
        promise("what was printed is read as the same", schema.differences(to: again).isEmpty && again.differences(to: schema).isEmpty)
        promise("what was read once is printed the same", SchemaText(again).text == text)
    }
}
