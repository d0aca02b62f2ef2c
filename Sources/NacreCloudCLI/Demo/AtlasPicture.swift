import CloudKit
import Foundation
import NacreCloudWire
import NacreLocks

/// The demo's pictures: maps of the world with time zones, which one device saves as assets and the other fetches.
extension AtlasDemo {
    /// Draws the map on A and saves it; B fetches the same bytes.
    mutating func showPicture() async throws {
        let picture = AtlasPicture(entries)
        try await show(picture, in: "atlas-map")
        report.pictureBytes = picture.png.count
        try timeline.say("A saved a map of \(picture.points) time zones, a PNG of \(picture.png.count) bytes, and B fetched the same bytes")
    }

    /// Draws a large map and saves it, then saves it with a ring: only the changed chunks are sent.
    mutating func showChangedPicture() async throws {
        // Each run has its own grain, so that the server holds none of the file's chunks before.
        let grain = UInt64.random(in: 0...UInt64.max)
        let plain = AtlasPicture(entries, scale: Self.wallScale, grain: grain)
        let ringed = AtlasPicture(entries, scale: Self.wallScale, grain: grain, ringed: 0)
        try await show(plain, in: "atlas-wall-map")
        let there = try await show(ringed, in: "atlas-wall-map")

        let before = Set(Self.chunks(of: plain.png))
        let changed = Self.chunks(of: ringed.png).filter { !before.contains($0) }.reduce(0) { $0 + $1.count }
        let (all, sent) = (ringed.png.count, ringed.png.count - there)
        guard changed > 0, sent == changed else { throw DemoFailure("of a picture of \(all) bytes \(changed) were others, and \(sent) were sent") }
        report.changedPictureBytes = all
        report.changedPictureBytesSent = sent
        try timeline.say("A saved a map of \(all / 1000) KB, drew a ring on it and saved it again: \(sent / 1000) KB of \(all / 1000) KB were sent")
    }

    private static func chunks(of file: [UInt8]) -> [[UInt8]] {
        var cutter = ContentCutter()
        var chunks: [[UInt8]] = []
        cutter.add(file) { chunks.append($0) }
        return chunks + (cutter.rest().map { [$0] } ?? [])
    }

    /// Pixels of the large map for each pixel of the small one, along one axis.
    private static let wallScale = 12

    /// Saves a picture on A; B fetches the same bytes.
    /// - Returns: How many of its bytes the server had already: the first progress of a large file's save.
    @discardableResult
    private func show(_ picture: AtlasPicture, in name: String) async throws -> Int {
        let id = CKRecord.ID(recordName: name)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-demo-\(UUID().uuidString).png")
        try Data(picture.png).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let map = CKRecord(recordType: "Map", recordID: id)
        map["picture"] = CKAsset(fileURL: file)
        map["points"] = picture.points
        let (saved, there) = try await save(map)

        let read = try await b.database.record(for: id)
        guard let url = (read["picture"] as? CKAsset)?.fileURL else { throw DemoFailure("device B has the map without its picture") }
        defer { try? FileManager.default.removeItem(at: url) }
        guard try [UInt8](Data(contentsOf: url)) == picture.png else { throw DemoFailure("device B has another picture than A saved") }
        guard read.recordChangeTag == saved.recordChangeTag else { throw DemoFailure("device B has another version of the map") }
        return Int((there * Double(picture.png.count)).rounded())
    }

    /// Saves a record.
    /// - Returns: The saved record, and the part of its file that the server had before any upload.
    private func save(_ map: CKRecord) async throws -> (saved: CKRecord, there: Double) {
        let parts = Locked<[Double]>([])
        let operation = CKModifyRecordsOperation(recordsToSave: [map])
        operation.savePolicy = .allKeys
        operation.perRecordProgressBlock = { _, part in parts.withLock { $0.append(part) } }
        let saved = Locked<CKRecord?>(nil)
        operation.perRecordSaveBlock = { _, result in saved.withLock { $0 = try? result.get() } }
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            a.database.add(operation)
        }
        guard let record = saved.withLock({ $0 }) else { throw DemoFailure("the map was not answered for") }
        return (record, parts.withLock { $0.first ?? 0 })
    }
}

/// A map of the world in grey, with a pixel for each two degrees or less, and a point for each place.
struct AtlasPicture {
    static let width = 180
    static let height = 90
    private static let sea: UInt8 = 0x20
    private static let point: UInt8 = 0xFF

    /// Pixels: the outer and the inner radius of the ring.
    private static let ring = (outer: 9, inner: 7)

    let points: Int
    /// The picture as a PNG file. ISO/IEC 15948: eight bits of grey, its pixels in uncompressed blocks.
    let png: [UInt8]

    /// Draws the map.
    /// - Parameters:
    ///   - scale: Pixels for each pixel of the smallest map, along one axis.
    ///   - grain: The seed of the noise in the sea; nil: no noise.
    ///   - ringed: The index of the place with a ring around it.
    init(_ entries: [AtlasEntry], scale: Int = 1, grain: UInt64? = nil, ringed: Int? = nil) {
        let places = entries.compactMap { entry in entry.fields.values.compactMap { if case .place(let place) = $0 { place } else { nil } }.first }
        let (width, height) = (Self.width * scale, Self.height * scale)
        var pixels = [UInt8](repeating: Self.sea, count: width * height)
        if var grain {
            for index in pixels.indices {
                grain = grain &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                pixels[index] = Self.sea + UInt8(truncatingIfNeeded: grain >> 60)
            }
        }
        let spots = places.map { place in
            (
                x: min(Int((place.longitude + 180) / 360 * Double(width)), width - 1),
                y: min(Int((90 - place.latitude) / 180 * Double(height)), height - 1)
            )
        }
        for spot in spots { pixels[spot.y * width + spot.x] = Self.point }
        if let ringed, spots.indices.contains(ringed) {
            let (spot, reach) = (spots[ringed], -Self.ring.outer...Self.ring.outer)
            let wanted = Self.ring.inner * Self.ring.inner...Self.ring.outer * Self.ring.outer
            for (dx, dy) in reach.flatMap({ dx in reach.map { (dx, $0) } }) where wanted.contains(dx * dx + dy * dy) {
                let (x, y) = (spot.x + dx, spot.y + dy)
                if (0..<width).contains(x), (0..<height).contains(y) { pixels[y * width + x] = Self.point }
            }
        }
        points = places.count
        png = Self.png(pixels, width, height)
    }

    private static func png(_ pixels: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity(height * (width + 1))
        for y in 0..<height {
            // No filter in any row.
            rows.append(0)
            rows += pixels[y * width..<(y + 1) * width]
        }
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", bytes(UInt32(width)) + bytes(UInt32(height)) + [8, 0, 0, 0, 0])
        file += chunk("IDAT", stored(rows))
        return file + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(type.utf8) + data
        return bytes(UInt32(data.count)) + named + bytes(cyclicCheck(named))
    }

    /// Wraps data in RFC 1950 around RFC 1951: stored blocks, each of up to 65,535 bytes.
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        var file: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: data.count, by: Int(UInt16.max)) {
            let block = data[start..<min(start + Int(UInt16.max), data.count)]
            file.append(block.endIndex == data.endIndex ? 1 : 0)
            for number in [UInt16(block.count), ~UInt16(block.count)] { file += [UInt8(number & 255), UInt8(number >> 8)] }
            file += block
        }
        return file + bytes(sum(data))
    }

    /// Adler-32.
    private static func sum(_ data: [UInt8]) -> UInt32 {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in data {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    /// CRC-32.
    private static func cyclicCheck(_ data: [UInt8]) -> UInt32 {
        var rest = UInt32.max
        for byte in data { rest = checks[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8 }
        return ~rest
    }

    /// The CRC-32 remainder of each byte.
    private static let checks = (UInt32(0)..<256).map { byte in
        (0..<8).reduce(byte) { rest, _ in (rest >> 1) ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
