import CloudKit
import Foundation

/// The demo's picture: the time zones as points on a map of the world, which one device saves as an asset and the other fetches.
extension AtlasDemo {
    /// A draws the map and saves it; B has the same bytes.
    mutating func showPicture() async throws {
        let picture = AtlasPicture(entries)
        let id = CKRecord.ID(recordName: "atlas-map")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-demo-\(UUID().uuidString).png")
        try Data(picture.png).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let map = CKRecord(recordType: "Map", recordID: id)
        map["picture"] = CKAsset(fileURL: file)
        map["points"] = picture.points
        let results = try await a.database.modifyRecords(saving: [map], deleting: [], savePolicy: .allKeys)
        guard let saved = try results.saveResults[id]?.get() else { throw DemoFailure("the map was not answered for") }

        let read = try await b.database.record(for: id)
        guard let url = (read["picture"] as? CKAsset)?.fileURL else { throw DemoFailure("device B has the map without its picture") }
        defer { try? FileManager.default.removeItem(at: url) }
        guard try [UInt8](Data(contentsOf: url)) == picture.png else { throw DemoFailure("device B has another picture than A saved") }
        guard read.recordChangeTag == saved.recordChangeTag else { throw DemoFailure("device B has another version of the map") }
        report.pictureBytes = picture.png.count
        try timeline.say("A saved a map of \(picture.points) time zones, a PNG of \(picture.png.count) bytes, and B fetched the same bytes")
    }
}

/// A map of the world in grey, a pixel for each two degrees, with a point for each place.
struct AtlasPicture {
    static let width = 180
    static let height = 90
    private static let sea: UInt8 = 0x20
    private static let point: UInt8 = 0xFF

    let points: Int
    /// The picture as a PNG file. ISO/IEC 15948: eight bits of grey, its pixels in blocks that are stored and not compressed.
    let png: [UInt8]

    init(_ entries: [AtlasEntry]) {
        let places = entries.compactMap { entry in entry.fields.values.compactMap { if case .place(let place) = $0 { place } else { nil } }.first }
        var pixels = [UInt8](repeating: Self.sea, count: Self.width * Self.height)
        for place in places {
            let x = min(Int((place.longitude + 180) / 360 * Double(Self.width)), Self.width - 1)
            let y = min(Int((90 - place.latitude) / 180 * Double(Self.height)), Self.height - 1)
            pixels[y * Self.width + x] = Self.point
        }
        points = places.count
        png = Self.png(pixels)
    }

    private static func png(_ pixels: [UInt8]) -> [UInt8] {
        // No filter in any row.
        let rows = (0..<height).flatMap { y in [0] + pixels[y * width..<(y + 1) * width] }
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", bytes(UInt32(width)) + bytes(UInt32(height)) + [8, 0, 0, 0, 0])
        file += chunk("IDAT", stored(rows))
        return file + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(type.utf8) + data
        return bytes(UInt32(data.count)) + named + bytes(cyclicCheck(named))
    }

    /// RFC 1950 around RFC 1951: one stored block, which holds 65,535 bytes; the picture has fewer.
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        let count = UInt16(data.count)
        var file: [UInt8] = [0x78, 0x01, 1]
        for number in [count, ~count] { file += [UInt8(number & 255), UInt8(number >> 8)] }
        return file + data + bytes(sum(data))
    }

    /// Adler-32.
    private static func sum(_ data: [UInt8]) -> UInt32 {
        let (low, high) = data.reduce((UInt32(1), UInt32(0))) { sums, byte in
            let low = (sums.0 + UInt32(byte)) % 65521
            return (low, (sums.1 + low) % 65521)
        }
        return high << 16 | low
    }

    /// CRC-32.
    private static func cyclicCheck(_ data: [UInt8]) -> UInt32 {
        var rest = UInt32.max
        for byte in data {
            rest ^= UInt32(byte)
            for _ in 0..<8 { rest = (rest >> 1) ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~rest
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
