import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of files whose bytes on the disk are damaged.
@Suite(.timeLimit(.minutes(5))) struct AssetDamageTests {
    /// Possible damages of a chunk's file; nil removes it.
    private static let damages: [(name: String, change: @Sendable ([UInt8]) -> [UInt8]?)] = [
        ("first bit", { Self.flipped($0, at: 0, 0x80) }), ("a bit in the middle", { Self.flipped($0, at: $0.count / 2, 1) }),
        ("last bit", { Self.flipped($0, at: $0.count - 1, 1) }), ("a page of zeros", { $0.prefix(4096).map { _ in 0 } + $0.dropFirst(4096) }),
        ("cut", { Array($0.dropLast()) }), ("empty", { _ in [] }), ("longer", { $0 + [0] }), ("gone", { _ in nil }),
    ]

    private static func flipped(_ bytes: [UInt8], at index: Int, _ bit: UInt8) -> [UInt8] {
        var bytes = bytes
        bytes[index] ^= bit
        return bytes
    }

    private struct Photo {
        var url: String
        var id: AssetID
        /// The files of its chunks in their order.
        var files: [(path: String, bytes: Range<Int>)]
    }

    private func photo(_ scene: AssetScene, _ bytes: [UInt8]) async throws -> Photo {
        let saved = try await scene.save(try await scene.upload(bytes, "p"), of: "p")
        let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        let token = scene.path(url).dropFirst(AssetLinks.downloadPath.count).prefix { $0 != "/" }
        let permit = try scene.server.cloud.downloadPermit(String(token))
        let row = try await scene.server.store.read { try $0.entries(in: permit.database, .asset, keys: [permit.asset.key]) }
        let paths = Dictionary(try scene.chunkFiles().map { ($0.split(separator: "/").last.map(String.init) ?? "", $0) }) { first, _ in first }
        var start = 0
        let files = try StoredAsset(try #require(row.first)).chunks.map { chunk in
            defer { start += chunk.size }
            return (try #require(paths[chunk.name.text]), start..<start + chunk.size)
        }
        return Photo(url: url, id: permit.asset, files: files)
    }

    /// Returns the part of an answer before its connection ended. A reset connection takes along what the client has
    /// not read yet: an answer without a whole head is asked for again.
    private func cut(_ scene: AssetScene, _ url: String, _ range: Range<Int>) async throws -> (head: String, body: [UInt8]) {
        let path = scene.path(url).replacing("${f}", with: "x")
        var all: [UInt8] = []
        for _ in 0..<10 where all.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let client = try await RawClient(port: scene.port)
            try await client.send(
                "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nRange: bytes=\(range.lowerBound)-\(range.upperBound - 1)\r\n"
                    + "Connection: close\r\n\r\n")
            all = try await client.rest()
        }
        let end = try #require(all.firstRange(of: Array("\r\n\r\n".utf8)))
        return (String(decoding: all[..<end.lowerBound], as: UTF8.self), Array(all[end.upperBound...]))
    }

    @Test func `whatever happens to a chunk, an answer has right bytes alone, and an error where its first are not there`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_500_000)
        let photo = try await photo(scene, bytes)
        try #require(photo.files.count >= 3)
        for (number, file) in [photo.files[0], photo.files[1], photo.files[photo.files.count - 1]].enumerated() {
            let whole = try scene.contents(file.path)
            for (name, change) in Self.damages {
                if let damaged = change(whole) { try scene.write(damaged, to: file.path) } else { try scene.remove(file.path) }
                let (low, high) = (file.bytes.lowerBound, file.bytes.upperBound)
                // The whole file, the chunk, from before it into it, and its last byte with the bytes behind it.
                let ranges = [0..<bytes.count, low..<high, max(0, low - 10)..<low + 10, high - 1..<min(high + 10, bytes.count)]
                for range in ranges {
                    let (head, body) = try await cut(scene, photo.url, range)
                    let what = "\(name) of \(number), \(range)"
                    if range.lowerBound >= low {
                        let (status, reason) = name == "gone" ? (404, "file of the asset is lost") : (500, "asset is damaged")
                        #expect(head.hasPrefix("HTTP/1.1 \(status)") && String(decoding: body, as: UTF8.self).contains(reason), "\(what)")
                    } else {
                        #expect(head.hasPrefix("HTTP/1.1 206") && body.count <= low - range.lowerBound, "\(what)")
                        #expect(body.elementsEqual(bytes[range].prefix(body.count)), "\(what)")
                    }
                }
                for range in [0..<low, high..<bytes.count] where !range.isEmpty {
                    #expect(try await cut(scene, photo.url, range).body.elementsEqual(bytes[range]), "\(name) of \(number), beside it")
                }
                try scene.write(whole, to: file.path)
            }
        }
        #expect(try await scene.fetch(photo.url).body == bytes)
    }

    @Test func `damage is told in CloudKit's form with a remedy, and in the log with its place, its chunk and the request`() async throws {
        let scene = try await AssetScene()
        let photo = try await photo(scene, someBytes(1_500_000))
        let (first, last) = (photo.files[0], photo.files[photo.files.count - 1])
        func chunk(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }
        for (file, isFirst) in [(first, true), (last, false)] {
            let whole = try scene.contents(file.path)
            try scene.write(Self.flipped(whole, at: 7, 2), to: file.path)
            let before = scene.server.log.objects("The store failed").count
            var uuid: String?
            if isFirst {
                let answer = try await scene.fetch(photo.url)
                #expect(answer.status == 500 && answer.json?["serverErrorCode"] == .string("INTERNAL_ERROR"), "\(answer.text)")
                #expect(answer.json?["reason"]?.text?.contains("asset is damaged on the server") == true, "\(answer.text)")
                #expect(answer.header("Content-Disposition") == nil && answer.header("ETag") == nil)
                uuid = answer.json?["uuid"]?.text
            } else {
                _ = try await cut(scene, photo.url, 0..<1_500_000)
            }
            let lines = scene.server.log.objects("The store failed").dropFirst(before)
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            let place = ["\(TestServer.container)/development/private/", line["database"]?.text ?? ""]
            #expect(place[1].hasPrefix(place[0]) && line["zone"] == .string("_defaultZone"))
            #expect(line["record"] == .string("p") && line["code"] == .string("corrupt"))
            let error = line["error"]?.text ?? ""
            #expect(error.contains("chunk \(chunk(file.path))") && error.contains("field image"), "\(error)")
            #expect(line["request_id"]?.text?.count == 36 && (uuid == nil || line["request_id"]?.text == uuid), "\(line)")
            try scene.write(whole, to: file.path)
        }
        // The answers for a device.
        try scene.remove(first.path)
        _ = try await scene.upload(someBytes(1_500_000), "other")
        #expect(try await scene.fetch(photo.url).status == 200, "the same bytes sent again are whole for all that have them")
    }

    @Test func `rows of assets that are not what was written are told as damage, and never as a file`() async throws {
        let scene = try await AssetScene()
        for size in [500, 300_000] {
            let photo = try await photo(scene, someBytes(size, seed: UInt64(size)))
            let token = scene.path(photo.url).dropFirst(AssetLinks.downloadPath.count).prefix { $0 != "/" }
            let database = try scene.server.cloud.downloadPermit(String(token)).database
            let kinds: [EntryKind] = size == 500 ? [.asset, .assetBytes] : [.asset]
            for kind in kinds {
                let (store, key) = (scene.server.store, photo.id.key)
                let row = try #require(try await store.read { try $0.entries(in: database, kind, keys: [key]).first })
                var changes = [Array(row.value.dropLast()), []]
                if kind == .asset { changes += stride(from: 0, to: row.value.count, by: 11).map { Self.flipped(row.value, at: $0, 4) } }
                for value in changes {
                    try await put(EntryRow(key: row.key, value: value), in: store)
                    let answer = try await scene.fetch(photo.url)
                    #expect(answer.status >= 400 || answer.body == someBytes(size, seed: UInt64(size)), "\(kind), \(value.count)")
                }
                try await put(row, in: store)
                #expect(try await scene.fetch(photo.url).status == 200)
            }
        }
    }

    private func put(_ row: EntryRow, in store: FaultyStore) async throws {
        try await store.write { transaction in
            var plan = WritePlan()
            plan.entries = [row]
            try transaction.apply(plan)
            return .commit(())
        }
    }
}
