import Foundation
import NacreCloudWire

/// Sends a large file in parts: announces its chunks to the server, and sends those that the server lacks.
extension Conversation {
    /// A file that the server awaits.
    private struct Awaited: Sendable {
        var url: String
        var parts: AwaitedParts
        var offset: Int
    }

    /// The server's answer to the announcement of a file.
    enum Announcement: Sendable {
        case sent(Asset)
        /// The server wants the whole file, at this URL.
        case whole(url: String)
    }

    /// How often in a row a server may have less of a file than it said, before the file fails. A server forgets a file
    /// mainly after a restart, which counts twice: a part is refused, and the file is unknown. A part may also arrive
    /// just after the server looked. Progress resets the count.
    private static let surprisesMax = 6

    /// Announces a file and sends the missing parts. After a lost connection it continues behind the bytes that have
    /// arrived.
    /// - Parameters:
    ///   - file: the file's chunks.
    ///   - item: the field that the file is for.
    ///   - progress: called with the number of bytes that need not be sent any more.
    func sendParts(
        _ file: AnnouncedFile, from path: String, for item: AssetsUploadRequest.Item, in zoneID: CKRecordZone.ID,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws(CKError) -> Announcement {
        var item = item
        item.file = file
        let request = AssetsUploadRequest(tokens: [item], zoneID: zoneID.wire)
        let address = try line.address()
        var awaited: Awaited
        switch try await announce(file, request) {
        case .success(let found): awaited = found
        case .failure(let whole): return .whole(url: whole.url)
        }
        var (surprises, reached) = (0, awaited.offset)
        var whole: Whole?
        let answer = try await repeated(.transfer) { attempt -> Result<TransportAnswer?, Failure> in
            let before = reached
            func noteProgress() {
                if awaited.offset > reached { (surprises, reached) = (0, awaited.offset) }
            }
            var isKnown = attempt.number == 0
            while true {
                if !isKnown {
                    // The lost answer would have told how many bytes have arrived.
                    let there = await Self.result { () throws(CKError) in try await offset(at: awaited.url, by: address, attempt) }
                    switch there {
                    case .success(.some(let offset)): awaited.offset = offset
                    case .success(nil):
                        guard surprises < Self.surprisesMax else { return .failure(Failure(ending: nil, error: .assetGone(item.fieldName))) }
                        surprises += 1
                        let again = await Self.result { () throws(CKError) in try await announce(file, request) }
                        switch again {
                        case .success(.success(let found)): (awaited, reached) = (found, found.offset)
                        case .success(.failure(let all)):
                            whole = all
                            return .success(nil)
                        case .failure(let error): return .failure(Failure(ending: nil, error: error))
                        }
                    case .failure(let error): return .failure(Failure(ending: .answerLost, error: error))
                    }
                    noteProgress()
                }
                let result = await send(&awaited, of: file, from: path, by: address, attempt, progress)
                noteProgress()
                if case .success(let answer) = result, [404, 409].contains(answer.status), surprises < Self.surprisesMax {
                    surprises += 1
                    isKnown = false
                    continue
                }
                return answered(result, by: address, hasMoved: reached > before).map(Optional.some)
            }
        }
        if let whole { return .whole(url: whole.url) }
        guard let answer else { throw .unexpectedAnswer }
        let response: AssetUploadResponse = try Self.read(answer.body)
        return .sent(response.singleFile)
    }

    private struct Whole: Error {
        var url: String
    }

    private func announce(_ file: AnnouncedFile, _ request: AssetsUploadRequest) async throws(CKError) -> Result<Awaited, Whole> {
        guard let token = try await upload(request).tokens.first else { throw .unexpectedAnswer }
        guard let awaited = token.awaited else { return .failure(Whole(url: token.url)) }
        guard let parts = AwaitedParts(file, missing: awaited.missing), parts.part(at: Int(clamping: awaited.offset)) != nil else {
            throw .unexpectedAnswer
        }
        return .success(Awaited(url: token.url, parts: parts, offset: Int(clamping: awaited.offset)))
    }

    /// - Returns: the number of bytes that the server has; nil if it does not know the file.
    private func offset(at url: String, by address: ServerAddress, _ attempt: Attempt) async throws(CKError) -> Int? {
        var request = try address.fileRequest(.head, url)
        request.limit(by: attempt)
        let answer = try await Self.result { () throws(TransportFailure) in try await address.transport.send(request) }.mapError { CKError($0) }.get()
        guard (200..<300).contains(answer.status), let offset = answer.headers[PartHeader.offset.lowercased()].flatMap({ Int($0) }) else {
            if [400, 404].contains(answer.status) { return nil }
            throw .unreadable(status: answer.status, retryAfter: answer.retryAfter)
        }
        return offset
    }

    /// Sends all missing parts, one after the other.
    /// - Returns: the answer to the last part, or the first that is no success.
    private func send(
        _ awaited: inout Awaited, of file: AnnouncedFile, from path: String, by address: ServerAddress, _ attempt: Attempt,
        _ progress: @escaping @Sendable (Int) -> Void
    ) async -> Result<TransportAnswer, TransportFailure> {
        let known = Int(clamping: file.size) - awaited.parts.bytes
        while true {
            guard let (range, isLast) = awaited.parts.part(at: awaited.offset) else { return .success(TransportAnswer(status: 409, body: [])) }
            let there = known + awaited.offset
            progress(there)
            guard var request = try? address.fileRequest(.patch, awaited.url) else { return .success(TransportAnswer(status: 404, body: [])) }
            request.limit(by: attempt)
            request.headers[PartHeader.offset] = String(awaited.offset)
            request.headers[PartHeader.complete] = PartHeader.text(isLast)
            let (piece, transport) = (request, address.transport)
            let answer = await Self.result { () throws(TransportFailure) in
                try await transport.send(piece, bytes: range, of: path) { progress(there + $0) }
            }
            guard case .success(let heard) = answer, (200..<300).contains(heard.status), !isLast else { return answer }
            awaited.offset += range.count
        }
    }
}
