/// The time zones of tzdata's `zone1970.tab`.
enum TimeZoneTable {
    static let file = InputFile(path: "/usr/share/zoneinfo/zone1970.tab", package: "tzdata")

    struct Zone: Equatable {
        var countries: [String]
        var place: ISO6709
        var name: String
        var comment: String?
    }

    /// Parses lines of countries, place, name and comment between tabs; `#` begins a remark.
    /// - Throws: `InputFault` for any other line.
    static func parse(_ text: String) throws(InputFault) -> [Zone] {
        var zones: [Zone] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty && line.first != "#" {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard (3...4).contains(parts.count), let place = ISO6709(parts[1]), !parts[2].isEmpty else {
                throw InputFault(file: file, place: "line \(index + 1)")
            }
            let comment = parts.count == 4 ? String(parts[3]) : nil
            zones.append(Zone(countries: parts[0].split(separator: ",").map(String.init), place: place, name: String(parts[2]), comment: comment))
        }
        return zones
    }
}

/// A point as ISO 6709 writes it: `±DDMM±DDDMM` or `±DDMMSS±DDDMMSS`, latitude first, north and east positive.
struct ISO6709: Equatable {
    /// Degrees.
    let latitude: Double
    let longitude: Double

    init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    init?(_ text: some StringProtocol) {
        let characters = Array(text.utf8)
        guard let split = characters.dropFirst().firstIndex(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }),
            let latitude = Self.degrees(characters[..<split], digits: 2), let longitude = Self.degrees(characters[split...], digits: 3),
            abs(latitude) <= 90, abs(longitude) <= 180, (characters.count - split) - split == 1
        else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Reads a sign, then `digits` digits of degrees, two of minutes, and two of seconds or none.
    private static func degrees(_ text: ArraySlice<UInt8>, digits: Int) -> Double? {
        let sign: Double
        switch text.first {
        case UInt8(ascii: "+"): sign = 1
        case UInt8(ascii: "-"): sign = -1
        default: return nil
        }
        let number = text.dropFirst()
        guard number.count == digits + 2 || number.count == digits + 4, number.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        func value(_ part: ArraySlice<UInt8>) -> Int { part.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        let degrees = value(number.prefix(digits))
        let minutes = value(number.dropFirst(digits).prefix(2))
        let seconds = value(number.dropFirst(digits + 2))
        guard minutes < 60, seconds < 60 else { return nil }
        return sign * Double(degrees * 3600 + minutes * 60 + seconds) / 3600
    }
}
