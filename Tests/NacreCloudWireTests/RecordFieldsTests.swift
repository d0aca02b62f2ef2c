import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests that fields are ordered by name, each once.
struct RecordFieldsTests {
    @Test func `of several fields with one name the last stays, however many there are`() {
        var random = SeededRandom()
        for count in [0, 1, 2, 3, 8, 40, 300] {
            for _ in 0..<20 {
                let fields = (0..<count).map { index in
                    RecordFields.Field("f\(Int.random(in: 0...count / 2, using: &random))", .int64(Int64(index)))
                }
                let last = Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
                let kept = RecordFields(fields).entries
                #expect(kept.map(\.name) == last.keys.sorted(), "\(random)")
                #expect(kept.allSatisfy { last[$0.name] == $0.value }, "\(random)")
            }
        }
    }
}
