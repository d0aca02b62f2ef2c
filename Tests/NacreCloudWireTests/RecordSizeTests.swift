import NacreCloudWire
import Testing

struct RecordSizeTests {
    static let sizes: [(FieldValue, Int)] = [
        (.string(""), 0), (.string("abc"), 3), (.string("é😀"), 6), (.int64(0), 8), (.int64(.max), 8), (.double(0.1), 8),
        (.timestamp(Timestamp(secondsSince2001: 0)), 8), (.bytes([]), 0), (.bytes([1, 2, 3]), 3),
        (.location(Location(latitude: 1, longitude: 2)), 16),
        (.location(Location(latitude: 1, longitude: 2, altitude: 3, timestamp: Timestamp(secondsSince2001: 0))), 32),
        (
            .location(
                Location(
                    latitude: 1, longitude: 2, horizontalAccuracy: 3, verticalAccuracy: 4, altitude: 5, speed: 6, course: 7,
                    timestamp: Timestamp(secondsSince2001: 0))), 64
        ),
        (.reference(Reference(recordName: "name", action: .deleteSelf, zoneID: ZoneID(zoneName: "a zone"))), 52),
        (.asset(Asset(fileChecksum: "c", size: 50_000_000)), 0), (.stringList([]), 0), (.stringList(["ab", "", "c"]), 4), (.int64List([1, 2]), 16),
        (.doubleList([1]), 8), (.timestampList([Timestamp(secondsSince2001: 0)]), 8), (.bytesList([[1, 2], []]), 3),
        (.locationList([Location(latitude: 1, longitude: 2)]), 16), (.referenceList([Reference(recordName: "ab", action: .none)]), 50),
        (.assetList([Asset(fileChecksum: "c", size: 1)]), 0), (.emptyList, 0),
        (.sealed(SealedValue(type: .int64, keyID: "key", bytes: [1, 2, 3, 4, 5])), 5),
    ]

    @Test(arguments: sizes)
    func `a value has the size of what it holds`(_ value: FieldValue, _ size: Int) {
        #expect(value.byteCount == size)
        #expect((["fïeld": value] as RecordFields).byteCount == 6 + size)
    }

    @Test func `a record has the size of its fields`() {
        #expect(RecordFields().byteCount == 0)
        #expect((["a": .string("xyz"), "bc": .int64(1)] as RecordFields).byteCount == 1 + 3 + 2 + 8)
    }
}
