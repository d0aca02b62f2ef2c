import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of uploads that send only missing chunks.
@Suite(.timeLimit(.minutes(5))) struct AnnouncedUploadTests {
    private struct Place {
        var url: String
        /// nil: the server wants all chunks.
        var missing: [Int]?
        var offset: Int
    }

    private static func announcement(_ bytes: [UInt8]) -> AnnouncedFile {
        var file = AnnouncedFile(chunks: [])
        var cutter = ContentCutter()
        func add(_ bytes: [UInt8]) { file.chunks.append(.init(size: bytes.count, digest: SHA256.digest(bytes))) }
        cutter.add(bytes, add)
        if let rest = cutter.rest() { add(rest) }
        return file
    }

    private func announce(
        _ file: AnnouncedFile, _ scene: AssetScene, _ record: String, field: String = "image", as user: String = "ada"
    ) async throws -> (answer: Answer, place: Place?) {
        let chunks = file.chunks.map { #"{"size":\#($0.size),"sha256":"\#(Base64.encode($0.digest))"}"# }.joined(separator: ",")
        let answer = try await scene.ask(
            "assets/upload",
            #"{"tokens":[{"recordName":"\#(record)","recordType":"Photo","fieldName":"\#(field)","nacre":{"chunks":[\#(chunks)]}}]}"#, as: user)
        guard let url = answer.json?.at("tokens[0].url")?.text else { return (answer, nil) }
        let extra = answer.json?.at("tokens[0].nacre")
        let missing: [Int]? = (extra?["missing"]).map { list in
            (0..<(list.count ?? 0)).compactMap { if case .number(let number)? = list.at("[\($0)]") { Int(number) } else { nil } }
        }
        guard case .number(let offset)? = extra?["offset"] else { return (answer, Place(url: url, missing: missing, offset: 0)) }
        return (answer, Place(url: url, missing: missing, offset: Int(offset)))
    }

    private func place(
        _ bytes: [UInt8], _ scene: AssetScene, _ record: String, field: String = "image", as user: String = "ada"
    ) async throws -> Place {
        let (answer, place) = try await announce(Self.announcement(bytes), scene, record, field: field, as: user)
        return try #require(place, "\(answer.text)")
    }

    /// Returns the bytes of the missing chunks, one after the other.
    private func wanted(_ place: Place, of bytes: [UInt8]) throws -> [UInt8] {
        var starts = [0]
        for chunk in Self.announcement(bytes).chunks { starts.append((starts.last ?? 0) + chunk.size) }
        return try #require(place.missing).flatMap { bytes[starts[$0]..<starts[$0 + 1]] }
    }

    private func part(
        _ bytes: some Collection<UInt8>, _ scene: AssetScene, _ url: String, at offset: Int, isLast: Bool
    ) async throws -> Answer {
        var headers = [
            "Upload-Offset": String(offset), "Upload-Complete": isLast ? "?1" : "?0", "Content-Type": "application/partial-upload",
        ]
        if bytes.isEmpty { headers["Content-Length"] = "0" }
        return try await NacreCloudServerTests.ask(
            Question(method: "PATCH", target: scene.path(url), headers: headers, body: Array(bytes)), port: scene.port)
    }

    private func head(_ scene: AssetScene, _ url: String) async throws -> Answer {
        try await NacreCloudServerTests.ask(Question(method: "HEAD", target: scene.path(url)), port: scene.port)
    }

    private func offset(_ scene: AssetScene, _ url: String) async throws -> Int {
        Int(try await head(scene, url).header("Upload-Offset") ?? "") ?? -1
    }

    private func save(_ sent: Answer, _ scene: AssetScene, _ record: String, as user: String = "ada") async throws -> String {
        let dictionary = String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast())
        let saved = try await scene.save(dictionary, of: record, as: user)
        return try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(sent.text) \(saved.text)")
    }

    @Test func `a file that is sent in parts is the asset that it is when it is sent whole`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_500_000)
        let place = try await place(bytes, scene, "p")
        #expect(place.missing == Array(0..<Self.announcement(bytes).chunks.count) && place.offset == 0)
        let sent = try await part(bytes, scene, place.url, at: 0, isLast: true)
        #expect(sent.status == 200 && sent.header("Upload-Complete") == "?1", "\(sent.text)")
        #expect(try await scene.fetch(try await save(sent, scene, "p")).body == bytes)
        let posted = try JSON(Array(try await scene.upload(bytes, "other").utf8))
        #expect(sent.json?.at("singleFile.fileChecksum") == posted["fileChecksum"] && sent.json?.at("singleFile.size") == posted["size"])
        // The answer may have been lost: an empty repetition of the last part gets the same answer.
        let again = try await part([], scene, place.url, at: bytes.count, isLast: true)
        #expect(again.status == 200 && again.text == sent.text)
        #expect(try await head(scene, place.url).header("Upload-Complete") == "?1")
        // The same file is known now, and no chunk is to be sent.
        let known = try await self.place(bytes, scene, "third")
        #expect(known.missing == [])
        let reused = try await part([], scene, known.url, at: 0, isLast: true)
        #expect(try await scene.fetch(try await save(reused, scene, "third")).body == bytes)
    }

    @Test func `a file whose item names no record goes whole, so that equal files of two records stay two`() async throws {
        let scene = try await AssetScene()
        let chunks = Self.announcement(someBytes(600_000)).chunks.map { #"{"size":\#($0.size),"sha256":"\#(Base64.encode($0.digest))"}"# }
        let item = #"{"recordType":"Photo","fieldName":"image","nacre":{"chunks":[\#(chunks.joined(separator: ","))]}}"#
        var names: Set<String> = []
        for _ in 0..<2 {
            let answer = try await scene.ask("assets/upload", #"{"tokens":[\#(item)]}"#, as: "ada")
            #expect(answer.status == 200 && answer.json?.at("tokens[0].nacre") == nil, "\(answer.text)")
            names.insert(try #require(answer.json?.at("tokens[0].recordName")?.text))
        }
        #expect(names.count == 2)
    }

    @Test func `one byte changed in the middle of a large file costs less than two percent of it`() async throws {
        let scene = try await AssetScene()
        var bytes = someBytes(24_000_000)
        _ = try await save(try await part(bytes, scene, try await place(bytes, scene, "p").url, at: 0, isLast: true), scene, "p")
        bytes[12_000_000] ^= 1
        let place = try await place(bytes, scene, "p")
        let wanted = try wanted(place, of: bytes)
        #expect(!wanted.isEmpty && wanted.count <= bytes.count / 50, "\(wanted.count)")
        let sent = try await part(wanted, scene, place.url, at: 0, isLast: true)
        #expect(try await scene.fetch(try await save(sent, scene, "p")).body == bytes)
    }

    @Test func `broken off at any chunk, it goes on where that ended, and nothing is sent twice`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_800_000, seed: 5)
        let file = Self.announcement(bytes)
        var ends: [Int] = []
        for chunk in file.chunks { ends.append((ends.last ?? 0) + chunk.size) }
        try #require(ends.count >= 4)
        for (number, end) in ends.enumerated() {
            let record = "r\(number)"
            // Other bytes for each record, so that none has the chunks of another.
            var own = bytes
            for start in [0] + ends.dropLast() { own[start + 100] = UInt8(number + 1) }
            let place = try await place(own, scene, record)
            #expect(place.missing?.count == file.chunks.count)
            // The connection ends in the middle of the next chunk.
            let client = try await RawClient(port: scene.port)
            try await client.send(
                "PATCH \(scene.path(place.url)) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nUpload-Offset: 0\r\nUpload-Complete: ?1\r\n"
                    + "Content-Length: \(own.count)\r\n\r\n")
            try await client.send(Array(own.prefix(min(end + 1000, own.count - 1))))
            let there = end < own.count ? end : ends[ends.count - 2]
            while try await offset(scene, place.url) < there { await Task.yield() }
            client.hangUp()
            // The app announces the file again, as after a restart, and gets the offset.
            let again = try await self.place(own, scene, record)
            #expect(again.offset == there && again.missing == place.missing)
            let sent = try await part(own[there...], scene, again.url, at: there, isLast: true)
            #expect(sent.status == 200, "\(sent.text)")
            #expect(try await scene.fetch(try await save(sent, scene, record)).body == own)
        }
    }

    @Test func `parts that end with a chunk are kept one after the other`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_500_000, seed: 6)
        let place = try await place(bytes, scene, "p")
        var start = 0
        for chunk in Self.announcement(bytes).chunks {
            let answer = try await part(bytes[start..<start + chunk.size], scene, place.url, at: start, isLast: false)
            start += chunk.size
            #expect(answer.status == 204 && answer.header("Upload-Offset") == String(start) && answer.header("Upload-Complete") == "?0")
            #expect(try await offset(scene, place.url) == start)
            #expect(try await head(scene, place.url).header("Upload-Complete") == "?0")
        }
        #expect(try await scene.fetch(try await save(try await part([], scene, place.url, at: start, isLast: true), scene, "p")).body == bytes)
    }

    @Test func `knowing what a file is made of gives nobody what others keep`() async throws {
        var scene = try await AssetScene()
        let bytes = someBytes(1_200_000, seed: 7)
        let count = Self.announcement(bytes).chunks.count
        func sent(_ record: String) async throws {
            _ = try await save(try await part(bytes, scene, try await place(bytes, scene, record).url, at: 0, isLast: true), scene, record)
        }
        /// Returns the number of missing chunks of the file, each time with another end, so that no announcement is
        /// repeated: at least its last chunk.
        func missing(_ record: String, field: String = "image", as user: String = "ada", end: UInt8 = 1) async throws -> Int? {
            try await place(bytes.dropLast() + [bytes[bytes.count - 1] ^ end], scene, record, field: field, as: user).missing?.count
        }
        try await sent("p")
        #expect(try await missing("new") == 1, "one's own private database")
        #expect(try await missing("p", as: "bob") == count, "another user's private database")
        scene.database = "public"
        #expect(try await missing("p") == count, "another database of the same user")
        try await sent("p")
        #expect(try await missing("p", end: 2) == 1, "the field that it replaces")
        #expect(try await missing("p", field: "pages") == count, "another field of the record")
        #expect(try await missing("q") == count, "another record of the same user")
        #expect(try await missing("q", as: "bob") == count, "another record of another user")
        // All users may read this record, so the answer reveals no more than a download would.
        #expect(try await missing("p", as: "bob") == 1, "a field that the sender may read")
        let schemas = scene.server.cloud.schemas
        let before = SchemaText(try await schemas.administeredSchema(of: TestServer.container, .development)).text
        let parts = before.split(separator: "RECORD TYPE Photo (", maxSplits: 1)
        try #require(parts.count == 2)
        let closed = parts[1].replacing("GRANT READ TO \"_world\"", with: "GRANT READ TO \"_creator\"", maxReplacements: 1)
        _ = try await schemas.importSchema(parts[0] + "RECORD TYPE Photo (" + closed, to: TestServer.container, isDryRun: false)
        #expect(try await missing("p", as: "bob", end: 4) == count, "a field that the sender may not read")
        #expect(try await missing("p", end: 4) == 1, "and its creator may")
    }

    @Test func `bytes other than those announced are refused, and nothing of them is to be seen`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_000_000, seed: 9)
        let place = try await place(bytes, scene, "p")
        let first = Self.announcement(bytes).chunks[0].size
        var wrong = bytes
        wrong[first + 5] ^= 1
        let refused = try await part(wrong, scene, place.url, at: 0, isLast: true)
        #expect(refused.status == 400 && refused.text.contains("not those that were announced"), "\(refused.text)")
        // The right bytes before them are kept.
        #expect(try await offset(scene, place.url) == first)
        #expect(try await part(bytes[first...] + [0], scene, place.url, at: first, isLast: true).status == 400, "too long")
        let there = try await offset(scene, place.url)
        #expect(try await part([], scene, place.url, at: there, isLast: true).status == (there == bytes.count ? 200 : 400), "not whole")
        let elsewhere = try await part([], scene, place.url, at: 7, isLast: false)
        #expect(elsewhere.status == 409 && elsewhere.header("Upload-Offset") == String(there), "\(elsewhere.text)")
        #expect(try await part(bytes[there...], scene, place.url, at: there, isLast: true).status == 200)
        #expect(try await scene.lookUp("p")?["serverErrorCode"] == .string("NOT_FOUND"))
    }

    @Test func `what is no announcement is refused with its field, and URLs are for one way of sending`() async throws {
        let scene = try await AssetScene()
        let good = Self.announcement(someBytes(600_000))
        let digest = [UInt8](repeating: 1, count: 32)
        func other(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
        for chunks: [AnnouncedFile.Chunk] in [
            [], [.init(size: 0, digest: digest)], [.init(size: -1, digest: digest)], [.init(size: 2_000_000, digest: digest)],
            [.init(size: 600_000, digest: [1])], [.init(size: 1000, digest: digest)],
            [.init(size: 600_000, digest: digest), .init(size: 65_535, digest: other(2)), .init(size: 1, digest: other(3))],
            [.init(size: 300_000, digest: digest), .init(size: 300_001, digest: digest)],
        ] {
            let answer = try await announce(AnnouncedFile(chunks: chunks), scene, "p").answer
            #expect(answer.status == 400 && answer.text.contains("cannot be announced so"), "\(answer.text)")
        }
        let many = AnnouncedFile(chunks: (0..<60).map { _ in .init(size: 1_000_000, digest: digest) })
        #expect(try await announce(many, scene, "p").answer.text.contains("asset is larger than"))
        let place = try #require(try await announce(good, scene, "p").place)
        #expect(try await scene.send(someBytes(600_000), to: place.url).status == 400)
        let plain = try await scene.permit("p")
        #expect(try await part([1], scene, plain, at: 0, isLast: true).status == 404)
        #expect(try await head(scene, plain).status == 404)
        for (offset, complete) in [(nil, nil), ("0", nil), ("x", "?1"), ("0", "1"), (nil, "?1"), ("-1", "?1")] as [(String?, String?)] {
            var headers = ["Content-Length": "0"]
            headers["Upload-Offset"] = offset
            headers["Upload-Complete"] = complete
            let answer = try await NacreCloudServerTests.ask(
                Question(method: "PATCH", target: scene.path(place.url), headers: headers), port: scene.port)
            #expect(answer.status == 400 && answer.text.contains("malformed header"), "\(answer.text)")
        }
    }

    @Test func `a chunk that is damaged on the disk is asked for again, and is whole then for all that have it`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_200_000, seed: 10)
        let sent = try await part(bytes, scene, try await place(bytes, scene, "p").url, at: 0, isLast: true)
        let url = try await save(sent, scene, "p")
        let path = try scene.chunkFiles()[0]
        var damaged = try scene.contents(path)
        damaged[3] ^= 1
        try scene.write(damaged, to: path)
        let again = try await place(bytes, scene, "q")
        #expect(again.missing?.count == 1)
        #expect(try await part(try wanted(again, of: bytes), scene, again.url, at: 0, isLast: true).status == 200)
        #expect(try await scene.fetch(url).body == bytes)
    }

    @Test func `of two senders of one file the later goes on, and the earlier is refused`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(1_200_000, seed: 11)
        let place = try await place(bytes, scene, "p")
        let slow = try await RawClient(port: scene.port)
        try await slow.send(
            "PATCH \(scene.path(place.url)) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nUpload-Offset: 0\r\nUpload-Complete: ?1\r\n"
                + "Content-Length: \(bytes.count)\r\n\r\n")
        let first = Self.announcement(bytes).chunks[0].size
        try await slow.send(Array(bytes.prefix(first + 10)))
        while try await offset(scene, place.url) < first { await Task.yield() }
        let sent = try await part(bytes[first...], scene, place.url, at: first, isLast: true)
        #expect(sent.status == 200, "\(sent.text)")
        try? await slow.send(Array(bytes[(first + 10)...]))
        #expect(try await slow.response().status == 409)
        #expect(try await scene.fetch(try await save(sent, scene, "p")).body == bytes)
    }
}
