import NacreCloudTestSupport
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// A value that is not sealed, in a form that has nothing to do with its plaintext: the type, and its parts as texts.
/// Integers are digits, other numbers the bits of a `Double`, a location eight of these.
struct NeutralValue: Codable, Equatable {
    var type: String
    var parts: [String]

    init(_ value: EncryptedPlaintext) {
        (type, parts) =
            switch value {
            case .string(let value): ("string", [value])
            case .bytes(let value): ("bytes", [Hex.encode(value)])
            case .integer(let value): ("integer", ["\(value)"])
            case .double(let value): ("double", [Self.bits(value)])
            case .date(let value): ("date", [Self.bits(value)])
            case .location(let value): ("location", Self.bits(value))
            case .strings(let values): ("strings", values)
            case .byteStrings(let values): ("byteStrings", values.map { Hex.encode($0) })
            case .integers(let values): ("integers", values.map { "\($0)" })
            case .doubles(let values): ("doubles", values.map(Self.bits))
            case .dates(let values): ("dates", values.map(Self.bits))
            case .locations(let values): ("locations", values.flatMap(Self.bits))
            case .emptyList: ("emptyList", [])
            }
    }

    /// Texts are the same if their bytes are.
    static func == (one: NeutralValue, other: NeutralValue) -> Bool {
        one.type == other.type && one.parts.map { Array($0.utf8) } == other.parts.map { Array($0.utf8) }
    }

    private static func bits(_ value: Double) -> String {
        Hex.encode((0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> ($0 * 8)) })
    }

    private static func bits(_ value: EncryptedPlaintext.Location) -> [String] {
        [
            value.latitude, value.longitude, value.altitude, value.horizontalAccuracy, value.verticalAccuracy, value.course, value.speed,
            value.timestamp,
        ].map(bits)
    }
}

/// The keys of a zone's scope and of two devices, which random records share.
struct RandomZone {
    let place: Place
    let scope: ScopeID
    /// The secrets of the versions: version 1 first.
    let secrets: [[UInt8]]
    let keys: [ScopeKey]
    /// A device of the owner.
    let owner: DeviceKeys
    let writer: DeviceKeys
    /// A key of another scope, which a record was in before it moved.
    let earlier: ScopeKey

    init(_ name: String, using random: inout SeededRandom) throws {
        var source = SeededBytes("\(random)'s zone \(name)")
        let account = try #require(AccountName(container: "iCloud.\(name)", environment: "production", user: "_\(name)"))
        place = try #require(Place(owner: account, zone: random.text(1...20)))
        let scopes = try (0..<2).map { _ in try #require(ScopeID(try source.bytes(ScopeID.length))) }
        scope = scopes[0]
        secrets = try (0..<Int.random(in: 1...3, using: &random)).map { _ in try source.bytes(32) }
        keys = try secrets.enumerated().map { [scope] index, secret in
            try ScopeKey(#require(KeyID(scope: scope, version: UInt32(index + 1))), secret: SecretBytes(secret))
        }
        (owner, writer) = (try DeviceKeys(using: &source), try DeviceKeys(using: &source))
        earlier = try ScopeKey(#require(KeyID(scope: scopes[1], version: 1)), using: &source)
    }
}

/// A record with random values, as some saves have left it: one of all keys, or several of changed keys, each under a
/// version of the key that is no older than that of the save before.
struct RandomRecord {
    let zone: RandomZone
    let place: RecordPlace
    let values: [String: EncryptedPlaintext]
    let files: [String: [Digest]]
    let sealed: [String: SealedValue]
    let manifest: RecordManifest

    init(in zone: RandomZone, salts: inout SeededBytes, using random: inout SeededRandom) throws {
        self.zone = zone
        let place = try #require(RecordPlace(place: zone.place, type: random.text(1...12), name: random.text(1...30)))
        var values: [String: EncryptedPlaintext] = [:]
        for _ in 0..<Int.random(in: 0...10, using: &random) { values[random.text(1...12)] = random.plaintext() }
        var files: [String: [Digest]] = [:]
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let name = random.text(1...12)
            if values[name] == nil { files[name] = (0..<Int.random(in: 1...3, using: &random)).map { _ in Digest(of: random.bytes(9)) } }
        }
        let saves = random.chance(2) ? 1 : Int.random(in: 2...3, using: &random)
        let versions = (0..<saves).map { _ in Int.random(in: 0..<zone.keys.count, using: &random) }.sorted()
        // The fields by the save that has set them last.
        let last = Dictionary(grouping: values.keys) { _ in Int.random(in: 0..<saves, using: &random) }
        var sealed: [String: SealedValue] = [:]
        for (save, fields) in last {
            let set = values.filter { fields.contains($0.key) }
            sealed.merge(try zone.keys[versions[save]].seal(set, of: place, using: &salts)) { $1 }
        }
        let (number, stamp) = (UInt64.random(in: 0...9, using: &random), UInt64.random(in: 2...1 << 52, using: &random))
        var admission: RecordManifest.Admission?
        if random.chance(4) {
            let before = try #require(
                RecordManifest.Parts(
                    keyID: zone.earlier.id, number: 0, stamp: stamp - 1, writer: zone.owner.id, parent: "", fields: [], files: []))
            admission = try zone.owner.admission(
                of: place, to: zone.scope, number: number, stamp: stamp, after: zone.earlier.manifest(before, of: place, by: zone.owner),
                isOwner: true)
        }
        let key = zone.keys[versions[saves - 1]]
        let parts = try #require(
            RecordManifest.Parts(
                keyID: key.id, number: number, stamp: stamp, writer: zone.writer.id, parent: random.chance(2) ? "" : random.text(1...20),
                fields: sealed.map { .init(name: $0.key, hash: $0.value.hash) }, files: files.map { .init(name: $0.key, roots: $0.value) },
                admission: admission))
        manifest = try key.manifest(parts, of: place, by: zone.writer)
        (self.place, self.values, self.files, self.sealed) = (place, values, files, sealed)
    }
}

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    /// Returns text with letters of one to four bytes, and with a number of letters.
    mutating func text(_ lengths: ClosedRange<Int>) -> String {
        let letters: [Character] = ["a", "Z", "0", "_", "\"", "\\", " ", "é", "e\u{301}", "ß", "日", "€", "😀", "\u{0}", "\u{7f}", "\u{80}"]
        return String((0..<Int.random(in: lengths, using: &self)).map { _ in letters[Int.random(in: letters.indices, using: &self)] })
    }

    /// Returns a value of any type.
    mutating func plaintext() -> EncryptedPlaintext {
        // A value is long now and then.
        let count = chance(20) ? 500 : 12
        let elements = Int.random(in: 0...(chance(20) ? 60 : 4), using: &self)
        return switch Int.random(in: 0..<13, using: &self) {
        case 0: .string(text(0...count))
        case 1: .bytes(bytes(Int.random(in: 0...count, using: &self)))
        case 2: .integer(integer())
        case 3: .double(double())
        case 4: .date(double())
        case 5: .location(location())
        case 6: .strings((0..<elements).map { _ in text(0...12) })
        case 7: .byteStrings((0..<elements).map { _ in bytes(Int.random(in: 0...12, using: &self)) })
        case 8: .integers((0..<elements).map { _ in integer() })
        case 9: .doubles((0..<elements).map { _ in double() })
        case 10: .dates((0..<elements).map { _ in double() })
        case 11: .locations((0..<elements).map { _ in location() })
        default: .emptyList
        }
    }

    private mutating func integer() -> Int64 {
        [.min, -1, 0, 1, .max, Int64(bitPattern: next())][Int.random(in: 0..<6, using: &self)]
    }

    /// Returns a number with any bits: also none, the infinite ones, and the smallest.
    private mutating func double() -> Double {
        [0, -0.0, 0.1, .infinity, .nan, .leastNonzeroMagnitude, Double(bitPattern: next())][Int.random(in: 0..<7, using: &self)]
    }

    private mutating func location() -> EncryptedPlaintext.Location {
        .init(
            latitude: double(), longitude: double(), altitude: double(), horizontalAccuracy: double(), verticalAccuracy: double(),
            course: double(), speed: double(), timestamp: double())
    }
}
