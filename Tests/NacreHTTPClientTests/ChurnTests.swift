import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Random rounds of requests that are answered, cut off, cancelled, dropped and timed out: each ends once, and
/// nothing stays behind.
///
///     NACRE_SEED=7 NACRE_CHURN_ROUNDS=10000 swift test --filter ChurnTests
struct ChurnTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["NACRE_CHURN_ROUNDS"].flatMap { Int($0) } ?? 400
    private static let seed = HistorySeed.value
    private static let lanes = 8

    /// The server's treatment of a request, which asks for it by its path.
    private enum Fate: String, CaseIterable {
        case answer, chunks, close, reset, half, silence, garbage, later
    }

    private static func serve(_ connection: PeerConnection) {
        while let request = connection.request() {
            let word = request.split(separator: " ").dropFirst().first?.dropFirst() ?? ""
            switch Fate(rawValue: String(word)) {
            case .answer: connection.answer(String(repeating: "a", count: 1000))
            case .chunks:
                connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<50 where !connection.write("2710\r\n" + String(repeating: "b", count: 10_000) + "\r\n") { return }
                connection.write("0\r\n\r\n")
            case .close: return
            case .reset:
                connection.resetAtEnd()
                return
            case .half:
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
                return
            case .silence:
                connection.awaitEnd()
                return
            case .garbage:
                connection.write("\u{1}\u{2}\r\n\r\n")
                return
            case .later, nil:
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
                connection.write("def")
            }
        }
    }

    /// The callbacks of all rounds.
    private struct Tally {
        var ends = 0
        var answers = 0
        /// The distinct causes.
        var causes: [HTTPClient.Failure.Cause] = []
    }

    private static func request(_ url: String, _ dice: inout SeededRandom) -> HTTPClient.Request {
        let fate = Fate.allCases.randomElement(using: &dice) ?? .answer
        var request = HTTPClient.Request("POST", "\(url)/\(fate.rawValue)", idleTimeout: .seconds(60))
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: request.body = .bytes([UInt8](repeating: 1, count: Int.random(in: 0..<100_000, using: &dice)))
        case 1:
            let left = Locked(Int.random(in: 0..<8, using: &dice))
            request.body = .stream(length: nil) {
                await Task.yield()
                let isThere = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                return isThere ? [UInt8](repeating: 2, count: 5000) : nil
            }
        default: request.method = "GET"
        }
        // A silence ends only by the client's timeout.
        if fate == .silence || Int.random(in: 0..<10, using: &dice) == 0 {
            request.idleTimeout = .milliseconds(Int.random(in: 0..<40, using: &dice))
        }
        return request
    }

    private static func lane(_ client: HTTPClient, _ urls: [String], _ tally: Locked<Tally>, rounds: Int, dice: SeededRandom) async {
        var dice = dice
        for _ in 0..<rounds {
            let request = request(urls.randomElement(using: &dice) ?? "", &dice)
            let isStream = Bool.random(using: &dice)
            let readsPieces = Int.random(in: 0..<4, using: &dice)
            let task = Task {
                var cause: HTTPClient.Failure.Cause?
                do throws(HTTPClient.Failure) {
                    if isStream {
                        let stream = try await client.open(request)
                        var iterator = stream.makeAsyncIterator()
                        for _ in 0..<readsPieces where try await iterator.next() == nil { break }
                    } else {
                        _ = try await client.send(request)
                    }
                } catch {
                    cause = error.cause
                }
                let end = cause
                tally.withLock { tally in
                    tally.ends += 1
                    if let end, !tally.causes.contains(end) { tally.causes.append(end) }
                    if end == nil { tally.answers += 1 }
                }
            }
            if Int.random(in: 0..<3, using: &dice) == 0 {
                for _ in 0..<Int.random(in: 0..<60, using: &dice) { await Task.yield() }
                task.cancel()
            }
            await task.value
        }
    }

    private static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

    @Test(.timeLimit(.minutes(30))) func `each round ends once, and nothing stays behind`() async throws {
        let before = Self.descriptors
        let tally = Locked(Tally())
        let peers = try (0..<3).map { _ in try Peer(Self.serve) }
        // A port without a listener.
        let gone = try Peer { _ in }
        gone.close()
        let urls = peers.map(\.url) + [gone.url]
        let perLane = max(Self.rounds / Self.lanes, 1)
        do {
            let client = HTTPClient(.init(transfersPerHostMax: 3, idleConnectionsMax: 4))
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<Self.lanes {
                    group.addTask {
                        await Self.lane(client, urls, tally, rounds: perLane, dice: SeededRandom(seed: Self.seed &+ UInt64(lane)))
                    }
                }
            }
            // Released streams end a moment later.
            while await client.census() != Census(running: 0, queued: 0, handles: 0, transfers: 0) { await Task.yield() }
        }
        // The client is gone, and its connections with it.
        for peer in peers { await peer.idle() }
        let end = tally.withLock { $0 }
        #expect(end.ends == perLane * Self.lanes, "seed \(Self.seed)")
        let expected: [HTTPClient.Failure.Cause] = [.cancelled, .connectionLost, .timedOut(.idle)]
        #expect(end.answers > 0 && expected.allSatisfy(end.causes.contains), "seed \(Self.seed): \(end)")
        // Other tests have descriptors of their own while they run; alone, at full length, they can be counted.
        if Self.environment["NACRE_CHURN_ROUNDS"] != nil {
            for peer in peers { peer.close() }
            while Self.descriptors > before { await Task.yield() }
        }
    }
}
