import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of files in records, as any web client sends and gets them.
@Suite(.timeLimit(.minutes(5))) struct AssetFlowTests {
    @Test(arguments: [0, 1, 32 * 1024, 32 * 1024 + 1, 700_000]) func `what was uploaded and saved is downloaded byte by byte`(
        size: Int
    ) async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(size)
        let sent = try await scene.send(bytes, to: try await scene.permit("p"))
        #expect(sent.status == 200, "\(sent.text)")
        let file = try #require(sent.json?["singleFile"])
        #expect(file["size"] == .number(Double(size)) && file["downloadURL"] == nil)
        for key in ["wrappingKey", "fileChecksum", "receipt", "referenceChecksum"] { #expect(file[key]?.text?.isEmpty == false, "\(key)") }
        let checksum = try #require(Base64.decode(file["fileChecksum"]?.text ?? ""))
        #expect(checksum.count == 21 && checksum[0] == 1)
        let saved = try await scene.save(String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast()), of: "p")
        let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        #expect(url.contains("${f}") && !saved.text.contains("receipt"))
        let read = try await scene.lookUp("p")
        #expect(read?.at("fields.image.type") == .string("ASSETID") && read?.at("fields.image.value.fileChecksum") == file["fileChecksum"])
        let got = try await scene.fetch(try #require(read?.at("fields.image.value.downloadURL")?.text))
        #expect(got.status == 200 && got.body == bytes)
        #expect(got.header("Content-Length") == String(size) && got.header("Content-Disposition")?.hasPrefix("attachment") == true)
        #expect(got.header("X-Content-Type-Options") == "nosniff" && got.header("Content-Security-Policy")?.contains("sandbox") == true)
    }

    @Test(arguments: ["application/x-www-form-urlencoded", "image/jpeg"])
    func `a body is taken as it is, whatever it says it is`(type: String) async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(100_000) + Array("a=b&c=%20".utf8)
        let sent = try await scene.send(bytes, to: try await scene.permit("p"), headers: ["Content-Type": type])
        #expect(sent.json?.at("singleFile.size") == .number(Double(bytes.count)))
        let saved = try await scene.save(String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast()), of: "p")
        let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        #expect(try await scene.fetch(url).body == bytes)
    }

    @Test func `the file of a form is stored without the form, and a form of anything else is refused and stores nothing`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(300_000)
        func send(_ parts: Int) async throws -> Answer {
            let part = Array("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blob\"\r\n\r\n".utf8) + bytes + [0x0D, 0x0A]
            let form = Array(repeatElement(part, count: parts).joined()) + Array("--x--\r\n".utf8)
            return try await scene.send(form, to: try await scene.permit("p"), headers: ["Content-Type": "multipart/form-data; boundary=x"])
        }
        let sent = try await send(1)
        #expect(sent.json?.at("singleFile.size") == .number(Double(bytes.count)), "\(sent.text)")
        let saved = try await scene.save(String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast()), of: "p")
        let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        #expect(try await scene.fetch(url).body == bytes)
        let chunks = try scene.chunkFiles()
        for (parts, reason) in [(0, "the form has no file"), (2, "the form has more than one part")] {
            let refused = try await send(parts)
            #expect(refused.status == 400 && refused.json?["reason"] == .string(reason), "\(refused.text)")
            #expect(refused.header("X-Nacre-Remedy")?.contains("curl -F file=@FILE URL") == true)
        }
        #expect(try scene.chunkFiles() == chunks)
    }

    @Test func `the same bytes have one checksum in a database, and another in another's`() async throws {
        let scene = try await AssetScene()
        func checksum(_ user: String, _ record: String) async throws -> JSON? {
            try JSON(Array(try await scene.upload(someBytes(200_000), record, as: user).utf8))["fileChecksum"]
        }
        let first = try await checksum("ada", "a")
        #expect(try await checksum("ada", "b") == first && first != nil)
        #expect(try await checksum("bob", "a") != first)
    }

    @Test func `a file whose upload named no record is for the first that is saved with it, and copied for others`() async throws {
        let scene = try await AssetScene()
        let asked = try await scene.ask(
            "assets/upload", #"{"tokens":[{"recordType":"Photo","fieldName":"image"},{"recordType":"Photo","fieldName":"image"}]}"#)
        #expect(Set([0, 1].compactMap { asked.json?.at("tokens[\($0)].recordName")?.text }).count == 2, "\(asked.text)")
        let sent = try await scene.send([1, 2, 3], to: try #require(asked.json?.at("tokens[0].url")?.text))
        let file = String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast())
        #expect(try await scene.save(file, of: "own").json?.at("records[0].fields.image.value.size") == .number(3))
        let refused = try await scene.save(file, of: "second")
        #expect(refused.text.contains("receipt is for another field"), "\(refused.text)")
        #expect(refused.header("X-Nacre-Remedy")?.contains("ask assets/rereference") == true)
        let copied = try await scene.ask("assets/rereference", #"{"assets":[{"recordName":"own","fieldName":"image"}]}"#)
        let copy = String(copied.text.dropFirst(#"{"assets":["#.count).dropLast(2))
        #expect(try await scene.save(copy, of: "second").json?.at("records[0].fields.image.value.size") == .number(3))
    }

    @Test func `ranges, conditions and HEAD are answered as of a file`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(2_500_000)
        let saved = try await scene.save(try await scene.upload(bytes, "p"), of: "p")
        let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        let whole = try await scene.fetch(url)
        let tag = try #require(whole.header("ETag"))
        #expect(whole.body == bytes && whole.header("Accept-Ranges") == "bytes")
        for (range, part) in [
            ("bytes=0-0", 0..<1), ("bytes=1000000-1999999", 1_000_000..<2_000_000), ("bytes=2400000-", 2_400_000..<2_500_000),
            ("bytes=-5", 2_499_995..<2_500_000),
        ] {
            let answer = try await scene.fetch(url, headers: ["Range": range])
            #expect(answer.status == 206 && answer.body == Array(bytes[part]), "\(range)")
            #expect(answer.header("Content-Range") == "bytes \(part.lowerBound)-\(part.upperBound - 1)/2500000")
        }
        #expect(try await scene.fetch(url, headers: ["Range": "bytes=2500000-"]).status == 416)
        #expect(try await scene.fetch(url, headers: ["Range": "bytes=0-9", "If-Range": tag]).body.count == 10)
        #expect(try await scene.fetch(url, headers: ["Range": "bytes=0-9", "If-Range": "\"other\""]).body.count == bytes.count)
        #expect(try await scene.fetch(url, headers: ["If-None-Match": tag]).status == 304)
        let head = try await scene.fetch(url, method: "HEAD")
        #expect(head.status == 200 && head.header("Content-Length") == "2500000")
    }

    @Test func `lists keep their order, and what was answered is saved back where it stands alone`() async throws {
        let scene = try await AssetScene()
        let files = [someBytes(40_000, seed: 1), someBytes(10, seed: 2), someBytes(90_000, seed: 3)]
        var sent: [String] = []
        for bytes in files { sent.append(try await scene.upload(bytes, "p", field: "pages")) }
        let saved = try await scene.save("[\(sent.joined(separator: ","))]", in: "pages", of: "p")
        for (index, bytes) in files.enumerated() {
            let url = try #require(saved.json?.at("records[0].fields.pages.value[\(index)].downloadURL")?.text, "\(saved.text)")
            #expect(try await scene.fetch(url).body == bytes)
        }
        func shown(_ index: Int) -> String {
            let asset = saved.json?.at("records[0].fields.pages.value[\(index)]")
            return #"{"fileChecksum":"\#(asset?["fileChecksum"]?.text ?? "")","size":\#(files[index].count),"downloadURL":"https://x"}"#
        }
        let turned = try await scene.save("[\(shown(2)),\(shown(0))]", in: "pages", of: "p")
        let url = try #require(turned.json?.at("records[0].fields.pages.value[0].downloadURL")?.text, "\(turned.text)")
        #expect(try await scene.fetch(url).body == files[2])
        for (field, record) in [("pages", "other"), ("image", "p")] {
            let value = field == "pages" ? "[\(shown(0))]" : shown(0)
            let answer = try await scene.save(value, in: field, of: record)
            #expect(answer.text.contains("asset has no receipt"), "\(answer.text)")
        }
        #expect(try await scene.save("[\(shown(0)),\(shown(0))]", in: "pages", of: "p").text.contains("asset has no receipt"))
    }

    @Test func `an asset goes into another record after rereference, without its bytes`() async throws {
        let scene = try await AssetScene()
        for size in [100, 300_000] {
            let bytes = someBytes(size, seed: UInt64(size))
            _ = try await scene.save(try await scene.upload(bytes, "from\(size)"), of: "from\(size)")
            let answer = try await scene.ask("assets/rereference", #"{"assets":[{"recordName":"from\#(size)","fieldName":"image"}]}"#)
            #expect(answer.status == 200 && answer.json?["assets"]?.count == 1, "\(answer.text)")
            let dictionary = String(answer.text.dropFirst(#"{"assets":["#.count).dropLast(2))
            let saved = try await scene.save(dictionary, of: "to\(size)", type: "Film")
            let url = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
            // The asset belongs to that field from now on, and is valid there again.
            #expect(try await scene.save(dictionary, of: "third").text.contains("receipt is for another field"))
            #expect(try await scene.save(dictionary, of: "to\(size)", type: "Film").text.contains("downloadURL"))
            _ = try await scene.delete("from\(size)")
            #expect(try await scene.fetch(url).body == bytes)
        }
        let missing = try await scene.ask("assets/rereference", #"{"assets":[{"recordName":"nobody","fieldName":"image"}]}"#)
        #expect(missing.status == 404, "\(missing.text)")
        let empty = try await scene.ask("assets/rereference", #"{"assets":[{"recordName":"to100","fieldName":"pages"}]}"#)
        #expect(empty.status == 400 && empty.text.contains("field has no asset"), "\(empty.text)")
    }
}
