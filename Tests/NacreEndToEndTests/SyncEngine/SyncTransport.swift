import Foundation
import NacreLocks

@testable import CloudKit

/// A transport between the framework and the network that notes requests, and fails on demand.
final class SyncTransport: Transport {
    enum Fault: Sendable {
        /// Nothing reaches the server.
        case notSent
        /// The server carries it out, and its answer is lost.
        case answerLost
        /// The server does not get it, and this is the answer.
        case answer(status: Int, body: String)
        /// No answer comes until the request is cancelled.
        case hangs
    }

    private struct State {
        var faults: [(path: String, fault: Fault)] = []
        var paths: [String] = []
        /// The paths of the requests that hang now.
        var hanging: [String] = []
        var waiting: [(path: String, continuation: CheckedContinuation<Void, Never>)] = []
        var draw: (@Sendable (_ path: String) -> Fault?)?
    }

    private let state = Locked(State())
    private let network: any Transport = NetworkTransport.shared

    /// Makes the next requests to this path fail, in this order.
    func failNext(_ path: String, _ faults: Fault...) {
        for fault in faults { state.withLock { $0.faults.append((path, fault)) } }
    }

    /// Sets the function that decides on each request without an ordered fault; nil: none fails.
    func fail(_ draw: (@Sendable (_ path: String) -> Fault?)?) {
        state.withLock { $0.draw = draw }
    }

    /// The paths of the requests so far: "records/modify".
    var paths: [String] { state.withLock(\.paths) }

    func count(_ path: String) -> Int { paths.count { $0 == path } }

    /// Returns when a request to this path hangs: at once if one does.
    func hang(of path: String) async {
        await withCheckedContinuation { continuation in
            let hangs = state.withLock { state in
                if state.hanging.contains(path) { return true }
                state.waiting.append((path, continuation))
                return false
            }
            if hangs { continuation.resume() }
        }
    }

    /// Notes that a request hangs until its task is cancelled.
    private func hang(at path: String) async {
        let waiting = state.withLock { state in
            state.hanging.append(path)
            defer { state.waiting.removeAll { $0.path == path } }
            return state.waiting.filter { $0.path == path }.map(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
        while !Task.isCancelled { await Task.yield() }
        state.withLock { state in if let index = state.hanging.firstIndex(of: path) { state.hanging.remove(at: index) } }
    }

    /// Returns the error of a whole request.
    static func refusal(_ code: CKError.Code, _ word: String, status: Int = 400, retryAfter: Int? = nil) -> Fault {
        let retry = retryAfter.map { ",\"retryAfter\":\($0)" } ?? ""
        return .answer(
            status: status,
            body: "{\"uuid\":\"0\",\"serverErrorCode\":\"\(word)\",\"reason\":\"on demand\"\(retry),\"nacre\":{\"code\":\(code.rawValue)}}")
    }

    /// Returns the error of each record of a request.
    static func itemRefusal(_ names: [String], _ code: CKError.Code, _ word: String, retryAfter: Int? = nil) -> Fault {
        let retry = retryAfter.map { ",\"retryAfter\":\($0)" } ?? ""
        let records = names.map {
            "{\"recordName\":\"\($0)\",\"serverErrorCode\":\"\(word)\",\"reason\":\"on demand\"\(retry),\"nacre\":{\"code\":\(code.rawValue)}}"
        }
        return .answer(status: 200, body: "{\"records\":[\(records.joined(separator: ","))]}")
    }

    /// Returns a page of the zone `Notes` with the error of one record.
    static func page(without name: String, _ code: CKError.Code) -> Fault {
        let record = "{\"recordName\":\"\(name)\",\"serverErrorCode\":\"INTERNAL_ERROR\",\"reason\":\"gone\",\"nacre\":{\"code\":\(code.rawValue)}}"
        return .answer(
            status: 200,
            body: "{\"zones\":[{\"zoneID\":{\"zoneName\":\"Notes\"},\"records\":[\(record)],\"syncToken\":\"reached\",\"moreComing\":false}]}")
    }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        let path = request.url.path.split(separator: "/").suffix(2).joined(separator: "/")
        let fault = state.withLock { state in
            state.paths.append(path)
            guard let index = state.faults.firstIndex(where: { $0.path == path }) else { return state.draw?(path) }
            return state.faults.remove(at: index).fault
        }
        let cause = NSError(domain: NSURLErrorDomain, code: -1005, userInfo: [:])
        switch fault {
        case nil: return try await network.send(request)
        case .notSent: throw .notSent(cause)
        case .answerLost:
            _ = try await network.send(request)
            throw .answerLost(cause)
        case .answer(let status, let body): return TransportAnswer(status: status, body: Array(body.utf8))
        case .hangs:
            await hang(at: path)
            throw .cancelled
        }
    }

    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer {
        try await network.upload(request, from: path, length: length, progress: progress)
    }

    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
        try await network.download(to: path, bytesMax: bytesMax)
    }
}

/// A clock that stands still until it is moved on.
final class SyncClock: Sendable {
    private struct Sleeper {
        var id: Int
        var until: Double
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = 0.0
        var nextID = 0
        var sleepers: [Sleeper] = []
        var awaited: [(seconds: Double, continuation: CheckedContinuation<Void, Never>)] = []
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())
    /// Whether pauses do not wait, and the clock jumps instead.
    private let jumps: Bool

    init(jumps: Bool = false) {
        self.jumps = jumps
    }

    var timekeeper: Timekeeper {
        Timekeeper(now: { self.state.withLock(\.now) }, pause: { try await self.pause($0) }, spread: { 1 }, operationID: { UUID().uuidString })
    }

    func advance(by seconds: Double) {
        let woken = state.withLock { state in
            state.now += seconds
            let now = state.now
            let woken = state.sleepers.filter { $0.until <= now }
            state.sleepers.removeAll { $0.until <= now }
            return woken
        }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
    }

    /// Returns once a task sleeps for `seconds` from now.
    func sleeper(of seconds: Double) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                let now = state.now
                if state.sleepers.contains(where: { abs($0.until - now - seconds) < 0.001 }) { return true }
                state.awaited.append((seconds, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func pause(_ seconds: Double) async throws {
        if jumps { return state.withLock { $0.now += seconds } }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let wasAwoken = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isCancelled, heard) = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return (true, [CheckedContinuation<Void, Never>]()) }
                    state.sleepers.append(Sleeper(id: id, until: state.now + seconds, continuation: continuation))
                    let heard = state.awaited.filter { abs($0.seconds - seconds) < 0.001 }.map(\.continuation)
                    state.awaited.removeAll { abs($0.seconds - seconds) < 0.001 }
                    return (false, heard)
                }
                if isCancelled { continuation.resume(returning: false) }
                for waiting in heard { waiting.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil as CheckedContinuation<Bool, Never>?
                }
                return state.sleepers.remove(at: index).continuation
            }
            continuation?.resume(returning: false)
        }
        if !wasAwoken { throw CancellationError() }
    }
}
