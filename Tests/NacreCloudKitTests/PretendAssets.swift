import Foundation
import NacreCloudServerWire
import NacreCloudWire
import NacreLocks

@testable import CloudKit

/// A fault of a transfer of an asset's bytes.
enum TransferFault: Sendable {
    /// The connection dies after so many bytes.
    case lostAfter(Int)
    case notSent
    case refused(status: Int)
    /// Succeeds, with this work in its middle.
    case meanwhile(@Sendable () async -> Void)
    case hangs
}

// The bytes of assets: an upload URL for each, a checksum after the upload, and a download URL.
extension PretendCloud {
    static let host = "http://bytes.test"

    func failTransfers(_ faults: TransferFault...) { transferFaults += faults }
    /// Loses the bytes of a file.
    func lose(_ checksum: String) { files[checksum] = nil }
    func replace(_ checksum: String, with bytes: [UInt8]) { files[checksum] = bytes }

    /// The paths of the requests that carried bytes.
    var transfers: [String] { paths.filter { $0.hasPrefix("bytes/") } }

    func places(for request: AssetsUploadRequest) -> AssetsUploadResponse {
        AssetsUploadResponse(
            tokens: request.tokens.map { item in
                uploadURLs += 1
                return .init(recordName: item.recordName ?? "", fieldName: item.fieldName, url: "\(Self.host)/bytes/to-\(uploadURLs)")
            })
    }

    /// Returns the value to store. A receipt is valid for its checksum; an asset without one must exist.
    func kept(_ value: FieldValue) -> FieldValue {
        guard var assets = value.assets else { return value }
        for index in assets.indices { assets[index].receipt = nil }
        return value.with(assets: assets)
    }

    /// Adds download URLs to a record.
    func shown(_ record: Record) -> Record {
        var record = record
        for field in record.fields.entries {
            guard var assets = field.value.assets else { continue }
            for index in assets.indices { assets[index].downloadURL = "\(Self.host)/bytes/\(assets[index].fileChecksum)-\(paths.count)/${f}" }
            record.fields[field.name] = field.value.with(assets: assets)
        }
        return record
    }

    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer {
        note(request.url.path.split(separator: "/").suffix(2).joined(separator: "/"), request)
        let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        let answer = try await transfer(Array(bytes.prefix(length)), 0) { progress($0) }
        guard answer.status == 200 else { return answer }
        let checksum = "sum\(bytes.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF })"
        files[checksum] = bytes
        let asset = Asset(fileChecksum: checksum, size: Int64(bytes.count), receipt: "receipt")
        return TransportAnswer(status: 200, body: AssetUploadResponse(singleFile: asset).json(AnswerForm(details: true)))
    }

    /// Moves bytes, half of them at a time.
    /// - Parameter start: The number of bytes that are there already.
    private func transfer(_ bytes: [UInt8], _ start: Int, _ take: (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
        runningTransfers += 1
        mostTransfers = max(mostTransfers, runningTransfers)
        defer { runningTransfers -= 1 }
        let cause = NSError(domain: NSURLErrorDomain, code: -1005, userInfo: [:])
        let fault = transferFaults.isEmpty ? nil : transferFaults.removeFirst()
        for _ in 0..<20 { await Task.yield() }
        switch fault {
        case .notSent: throw .notSent(cause)
        case .refused(let status): return TransportAnswer(status: status, body: [])
        case .lostAfter(let count):
            take(min(start + count, bytes.count))
            throw .answerLost(cause)
        case .hangs:
            take(start + (bytes.count - start) / 2)
            while !Task.isCancelled { await Task.yield() }
        case .meanwhile(let act): await act()
        case nil: break
        }
        if Task.isCancelled { throw .cancelled }
        take(start + (bytes.count - start) / 2)
        take(bytes.count)
        return TransportAnswer(status: 200, body: [])
    }

    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
        PretendDownload(cloud: self, path: path)
    }

    fileprivate func fetch(_ request: TransportRequest, _ start: Int, _ take: (ArraySlice<UInt8>) -> Void) async throws(TransportFailure)
        -> TransportAnswer
    {
        note(request.url.path.split(separator: "/").prefix(2).joined(separator: "/"), request)
        let checksum = request.url.pathComponents.dropFirst(2).first?.prefix { $0 != "-" } ?? ""
        guard let bytes = files[String(checksum)] else { return TransportAnswer(status: 404, body: []) }
        var taken = start
        return try await transfer(bytes, start) { end in
            take(bytes[taken..<end])
            taken = end
        }
    }
}

/// A file that is downloaded from the pretended server: under another name until it is complete.
private final class PretendDownload: TransportDownload {
    private let cloud: PretendCloud
    private let path: String
    private let bytes = Locked<[UInt8]>([])
    private let isFinished = Locked(false)

    init(cloud: PretendCloud, path: String) {
        (self.cloud, self.path) = (cloud, path)
        _ = FileManager.default.createFile(atPath: path + ".part", contents: nil)
    }

    deinit {
        if !isFinished.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path + ".part") }
    }

    var received: Int { bytes.withLock { $0.count } }

    func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
        try await cloud.fetch(request, received) { [bytes] piece in
            progress(
                bytes.withLock { bytes in
                    bytes += piece
                    return bytes.count
                })
        }
    }

    func finish() async throws(TransportFailure) {
        try? FileManager.default.removeItem(atPath: path + ".part")
        _ = FileManager.default.createFile(atPath: path, contents: Data(bytes.withLock { $0 }))
        isFinished.withLock { $0 = true }
    }
}
