import Foundation
import NacreCloudWire
import NacreRandom

/// Saves, replaces and deletes records with files, under its own names in a zone, and reads each file back:
/// acknowledged files have every byte.
struct FileKeeper {
    private static let recordType = "Picture"
    private static let field = "file"
    /// Records at a time.
    private static let records: UInt64 = 12
    private static let deletionOnceIn: UInt64 = 6
    /// Bytes that all files of a round begin with, so that they share chunks, and further bytes at most.
    private static let sharedBytes = 200_000
    private static let ownBytesMax: UInt64 = 300_000
    /// One file in so many is small, and is stored in a row.
    private static let smallOnceIn: UInt64 = 3

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    /// kept[recordName]: the seed of its file.
    private var kept: [String: UInt64] = [:]

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    /// Runs until the round is over, or a violation is found; then reads all files once more.
    mutating func run() async {
        do {
            while !arena.board.isOver {
                try await step()
                arena.board.did { $0.fileSteps += 1 }
            }
            for name in kept.keys.sorted() { try await readBack(name) }
        } catch AskFault.silent(let text) {
            testimony.silence = text
            arena.board.end()
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "file keeper \(number)"))
            arena.board.end()
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
            arena.board.end()
        }
    }

    private mutating func step() async throws {
        let name = "p\(number).\(random.next() % Self.records)"
        if kept[name] != nil, random.happens(onceIn: Self.deletionOnceIn) {
            try await modify(RecordOperation(.forceDelete, RecordChange(recordName: name)))
            kept[name] = nil
            return
        }
        let seed = random.next()
        let file = try await send(Self.bytes(seed, run: arena.run), for: name)
        let change = RecordChange(recordName: name, recordType: Self.recordType, set: [Self.field: .asset(file)])
        try await modify(RecordOperation(.forceUpdate, change))
        kept[name] = seed
        testimony.counts.filesSaved += 1
        try await readBack(name)
    }

    /// Uploads a file, to a new URL after each missing answer.
    private func send(_ bytes: [UInt8], for name: String) async throws -> Asset {
        let item = AssetsUploadRequest.Item(recordName: name, recordType: Self.recordType, fieldName: Self.field)
        let request = AssetsUploadRequest(tokens: [item], zoneID: arena.fileZoneID, extension: RequestExtension(wantsDetails: true))
        return try await arena.device(number).untilAnswered { asker in
            let places = try await asker.ask("assets/upload", request.json(), as: AssetsUploadResponse.self).answer.tokens
            guard let url = places.first?.url else { throw Violation(.unexpectedAnswer, "assets/upload gave no place") }
            return try await asker.transfer(url, body: bytes).map { try AssetUploadResponse(json: $0).singleFile }
        }
    }

    private mutating func readBack(_ name: String) async throws {
        guard let seed = kept[name] else { return }
        let request = RecordsLookupRequest(records: [.init(recordName: name)], zoneID: arena.fileZoneID)
        let bytes: [UInt8] = try await arena.device(number).untilAnswered { asker in
            let found = try await asker.ask("records/lookup", request.json(), as: RecordsResponse.self).answer.records.first
            guard case .record(let record)? = found, case .asset(let asset)? = record.fields[Self.field], let url = asset.downloadURL else {
                throw Violation(.lostFile, "\(name) has no file: \(String(describing: found))")
            }
            return try await asker.transfer(url.replacing("${f}", with: "file"), body: nil)
        }
        testimony.counts.filesRead += 1
        guard bytes != Self.bytes(seed, run: arena.run) else { return }
        throw Violation(.lostFile, "\(name) has \(bytes.count) bytes, and not those that were acknowledged (seed \(seed))")
    }

    private mutating func modify(_ operation: RecordOperation) async throws {
        let request = RecordsModifyRequest(
            operations: [operation], zoneID: arena.fileZoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-p\(number)-\(random.next())"))
        let asked = try await arena.device(number).ask("records/modify", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        if case .failure(_, let error)? = asked.answer.records.first {
            throw Violation(.unexpectedAnswer, "\(operation.change.recordName ?? "") was refused with \(error.code.rawValue): \(error.reason)")
        }
    }

    static func bytes(_ seed: UInt64, run: String) -> [UInt8] {
        func some(_ count: Int, _ seed: UInt64) -> [UInt8] {
            var random = SeededRandom(seed: seed)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + 8)
            while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
            return Array(bytes.prefix(count))
        }
        let own = Int(seed % ownBytesMax)
        guard seed / ownBytesMax % smallOnceIn != 0 else { return some(own / 20, seed) }
        return some(sharedBytes, run.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }) + some(own, seed)
    }
}

extension Asker {
    /// Repeats a transfer until it succeeds, each time from the beginning.
    /// - Parameter body: Returns nil where no answer came, and the server may be away.
    func untilAnswered<Value: Sendable>(_ body: (Asker) async throws -> Value?) async throws -> Value {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            if let value = try await body(self) { return value }
            guard ContinuousClock.now < deadline, !Task.isCancelled else { throw AskFault.silent("the bytes of a file") }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Uploads a file, or downloads one where there is no body, at a URL that the server gave.
    /// - Returns: The answer's body; nil where none came, or the server asks to try later.
    /// - Throws: `AskFault.refused`.
    func transfer(_ url: String, body: [UInt8]?) async throws(AskFault) -> [UInt8]? {
        guard let url = URL(string: url) else { throw .refused(ServerError(.badRequest, "no URL: \(url)")) }
        switch await web.send(url, body: body, token: nil, patience: nil) {
        case .lost: return nil
        case .answer(200, let body): return body
        case .answer(let status, let body):
            let error = (try? ErrorResponse(json: body).error) ?? ServerError(.badRequest, "HTTP status \(status)")
            if [.tryAgainLater, .throttled].contains(error.code) || status >= 500 && error.code == .badRequest { return nil }
            throw .refused(error)
        }
    }
}
