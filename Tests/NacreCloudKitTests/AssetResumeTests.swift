import Foundation
import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of large uploads whose offset on the server is not the client's.
struct AssetResumeTests {
    /// Awaits one file, takes half of a part's bytes, and then behaves as scripted.
    private actor AwaitingCloud: Transport {
        enum Turn {
            /// The connection breaks after the taken bytes.
            case breaks
            /// Takes nothing: the bytes sent before arrived meanwhile.
            case mismatch
            /// Takes nothing, and has not received the earlier bytes.
            case refuses
        }

        nonisolated var sendsParts: Bool { true }
        private var turns: [Turn]
        private var offset = 0
        private let size: Int
        private(set) var heads = 0

        init(of size: Int, _ turns: [Turn]) { (self.size, self.turns) = (size, turns) }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            if request.method == .head {
                heads += 1
                return TransportAnswer(status: 204, headers: [PartHeader.offset.lowercased(): String(offset)], body: [])
            }
            guard request.url.path.hasSuffix("assets/upload"), let asked = try? AssetsUploadRequest(json: request.body),
                let file = asked.tokens.first?.file
            else { return TransportAnswer(status: 200, body: UserIdentity(userRecordName: "_alice").json(AnswerForm(details: true))) }
            let awaited = AwaitedFile(missing: Array(file.chunks.indices), offset: Int64(offset))
            let token = AssetsUploadResponse.Token(recordName: "a", fieldName: "photo", url: "http://bytes.test/a", awaited: awaited)
            return TransportAnswer(status: 200, body: AssetsUploadResponse(tokens: [token]).json(AnswerForm(details: true)))
        }

        func send(
            _ request: TransportRequest, bytes: Range<Int>, of path: String, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer {
            switch turns.isEmpty ? nil : turns.removeFirst() {
            case .mismatch:
                offset += 1000
                return TransportAnswer(status: 409, body: [])
            case .refuses: return TransportAnswer(status: 409, body: [])
            case .breaks:
                offset += bytes.count / 4
                throw .answerLost(NSError(domain: NSURLErrorDomain, code: -1005, userInfo: [:]))
            case nil:
                offset += bytes.count
                let isLast = request.headers[PartHeader.complete] == PartHeader.text(true)
                let asset = Asset(fileChecksum: "sum", size: Int64(size), receipt: "receipt")
                return isLast
                    ? TransportAnswer(status: 200, body: AssetUploadResponse(singleFile: asset).json(AnswerForm(details: true)))
                    : TransportAnswer(status: 204, body: [])
            }
        }

        func upload(
            _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer { throw .cancelled }

        func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload { throw .cancelled }
    }

    private func send(_ turns: [AwaitingCloud.Turn]) async throws -> (asset: Asset?, heads: Int) {
        let folder = try TemporaryFolder()
        let path = folder.path + "/photo"
        var state: UInt64 = 1
        let bytes = (0..<2_000_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 40)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let cloud = AwaitingCloud(of: bytes.count, turns)
        let server = CloudKitServer(url: try #require(URL(string: "http://cloud.test/")), apiToken: "app", accountToken: "account")
        let line = ServerLine(identifier: "iCloud.test", source: .explicit(server), transport: cloud, timekeeper: PretendTime().timekeeper)
        let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
        let conversation = Conversation(line: line, scope: .private, patience: patience)
        let item = AssetsUploadRequest.Item(recordName: "a", recordType: "Note", fieldName: "photo")
        let file = try #require(FileChunks.announced(path))
        guard case .sent(let asset) = try await conversation.sendParts(file, from: path, for: item, in: .default, progress: { _ in }) else {
            return (nil, await cloud.heads)
        }
        return (asset, await cloud.heads)
    }

    @Test func `a file goes on as often as its connection breaks, as long as some of it arrives in between`() async throws {
        let sent = try await send(Array(repeating: .breaks, count: 12))
        #expect(sent.asset?.receipt == "receipt" && sent.heads == 12)
    }

    @Test func `a file goes on as often as its server had more than it said`() async throws {
        let sent = try await send(Array(repeating: .mismatch, count: 20))
        #expect(sent.asset?.receipt == "receipt" && sent.heads == 20)
    }

    @Test func `a server that never takes what it asks for ends the file`() async throws {
        await #expect(throws: CKError.self) { try await send(Array(repeating: .refuses, count: 100)) }
    }
}
