import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire

/// Values of every type that a record can have, from a seed.
struct RandomValues {
    var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func fields(_ count: Int) -> RecordFields {
        RecordFields((0..<count).map { RecordFields.Field("f\($0)", value()) })
    }

    mutating func string() -> String {
        let letters = Array("abc ÅK\u{212A}e\u{301}日🐚\u{0}\n\"\\".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &random) { text.append(letters.randomElement(using: &random) ?? "a") }
        return String(text)
    }

    mutating func value() -> FieldValue {
        switch Int.random(in: 0..<18, using: &random) {
        case 0: .string(string())
        case 1: .int64(integer())
        case 2: .double(double())
        case 3: .timestamp(Timestamp(secondsSince2001: double()))
        case 4: .bytes(bytes())
        case 5: .location(location())
        case 6: .reference(reference())
        case 7: .asset(asset())
        case 8: .stringList(list { $0.string() })
        case 9: .int64List(list { $0.integer() })
        case 10: .doubleList(list { $0.double() })
        case 11: .timestampList(list { Timestamp(secondsSince2001: $0.double()) })
        case 12: .bytesList(list { $0.bytes() })
        case 13: .locationList(list { $0.location() })
        case 14: .referenceList(list { $0.reference() })
        case 15: .assetList(list { $0.asset() })
        case 16: .emptyList
        default: .sealed(SealedValue(type: FieldType.allCases.randomElement(using: &random) ?? .string, keyID: string(), bytes: bytes()))
        }
    }

    mutating func integer() -> Int64 {
        [0, 1, -1, .min, .max, 127, 128, -128, Int64.random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0
    }

    mutating func double() -> Double {
        let finite = [0, -0.0, 1.5, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1 + 0.2]
        return Bool.random(using: &random) ? finite.randomElement(using: &random) ?? 0 : Double.random(in: -1e12...1e12, using: &random)
    }

    mutating func bytes() -> [UInt8] {
        (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    mutating func optional<Value>(_ make: (inout Self) -> Value) -> Value? {
        Bool.random(using: &random) ? make(&self) : nil
    }

    mutating func list<Value>(_ make: (inout Self) -> Value) -> [Value] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in make(&self) }
    }

    mutating func location() -> Location {
        Location(
            latitude: double(), longitude: double(), horizontalAccuracy: optional { $0.double() }, verticalAccuracy: optional { $0.double() },
            altitude: optional { $0.double() }, speed: optional { $0.double() }, course: optional { $0.double() },
            timestamp: optional { Timestamp(secondsSince2001: $0.double()) })
    }

    mutating func reference() -> Reference {
        Reference(recordName: string(), action: Reference.Action.allCases.randomElement(using: &random) ?? .none)
    }

    mutating func asset() -> Asset {
        Asset(
            fileChecksum: string(), size: integer(), referenceChecksum: optional { $0.string() }, wrappingKey: optional { $0.string() },
            receipt: optional { $0.string() }, downloadURL: optional { $0.string() })
    }

    mutating func stamp() -> Record.Stamp {
        Record.Stamp(timestamp: Timestamp(secondsSince2001: double()), userRecordName: name(), deviceID: optional { $0.name() })
    }

    /// Returns a name of a user or a device: as the server makes them, or any text.
    mutating func name() -> String {
        ["", "_"].randomElement(using: &random).map { Bool.random(using: &random) ? $0 + HexText.encode(bytes()) : string() } ?? ""
    }

    mutating func number() -> ChangeNumber {
        ChangeNumber(run: integer(), seq: integer())
    }
}
