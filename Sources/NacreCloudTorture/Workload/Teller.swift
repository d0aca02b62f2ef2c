import Foundation
import NacreCloudWire
import NacreHTTPClient
import NacreLocks
import NacreRandom

/// What a device that listens has heard so far.
final class Hearing: Sendable {
    private struct State {
        var names: Set<String> = []
        /// Records that were saved before the server said that not everything was told.
        var covered: Set<String> = []
        var saved: Set<String> = []
        var violation: Violation?
    }

    private let state = Locked(State())

    /// What a save has left that is to be told, once it was acknowledged.
    func saved(_ name: String) { state.withLock { _ = $0.saved.insert(name) } }

    /// - Returns: whether nobody has heard it before.
    func heard(_ name: String) -> Bool { state.withLock { $0.names.insert(name).inserted } }

    /// The device is to fetch everything: what was acknowledged before is found there.
    func heardEverything() { state.withLock { $0.covered.formUnion($0.saved) } }

    func found(_ violation: Violation) { state.withLock { $0.violation = $0.violation ?? violation } }

    var violation: Violation? { state.withLock { $0.violation } }
    var missing: [String] { state.withLock { $0.saved.subtracting($0.names).subtracting($0.covered).sorted() } }
    var count: Int { state.withLock { $0.names.count } }
}

/// Saves records with one device of an account, and hears of them on another over its event stream: of each that its subscription asks for, after its commit,
/// and of no other.
struct Teller {
    static let recordType = "Told"
    private static let field = "line"
    /// Lines that the subscription asks for, and that it does not.
    private static let (wanted, unwanted): (Int64, Int64) = (1, 2)
    private static let unwantedOnceIn: UInt64 = 4
    /// Between two saves.
    private static let pause: Duration = .milliseconds(30)

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private let hearing = Hearing()

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    private var prefix: String { "\(arena.run)-t\(number)-" }

    /// Until the round is over; then until all is heard.
    mutating func run() async {
        do {
            // The type comes with its first record, and nobody has subscribed to it before.
            try await save("\(prefix)first", Self.wanted)
            try await subscribe()
            let ear = Ear(asker: arena.device(1), zoneID: arena.toldZoneID, prefix: prefix, hearing: hearing)
            let listening = Task { await ear.listen() }
            defer { listening.cancel() }
            try await ear.hasBegun()
            try await tell()
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "teller \(number)"))
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        testimony.counts.recordsTold = hearing.count
        arena.board.end()
    }

    private mutating func tell() async throws {
        var count = 0
        while !arena.board.isOver {
            let isWanted = !random.happens(onceIn: Self.unwantedOnceIn)
            let name = "\(prefix)\(count)\(isWanted ? "" : Ear.quiet)"
            try await save(name, isWanted ? Self.wanted : Self.unwanted)
            if isWanted { hearing.saved(name) }
            count += 1
            if let violation = hearing.violation { throw violation }
            try? await Task.sleep(for: Self.pause)
        }
        let deadline = ContinuousClock.now + arena.tellingPatience
        while !hearing.missing.isEmpty, ContinuousClock.now < deadline, hearing.violation == nil { try? await Task.sleep(for: Self.pause) }
        if let violation = hearing.violation { throw violation }
        guard let first = hearing.missing.first else { return }
        throw Violation(.notTold, "\(hearing.missing.count) of \(count) saves were told to nobody, \(first) first")
    }

    private mutating func save(_ name: String, _ line: Int64) async throws {
        let change = RecordChange(recordName: name, recordType: Self.recordType, set: [Self.field: .int64(line)])
        let request = RecordsModifyRequest(
            operations: [RecordOperation(.create, change)], zoneID: arena.toldZoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: name))
        let asked = try await arena.device(0).ask("records/modify", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        if case .failure(_, let error)? = asked.answer.records.first {
            throw Violation(.unexpectedAnswer, "\(name) was refused with \(error.code.rawValue): \(error.reason)")
        }
    }

    private func subscribe() async throws {
        let filter = QueryFilter(.equals, fieldName: Self.field, value: .int64(Self.wanted))
        var info = NotificationInfo()
        info.alertBody = "told"
        let subscription = Subscription(
            subscriptionID: "\(prefix)told",
            kind: .query(
                SubscribedQuery(query: Query(recordType: Self.recordType, filters: [filter]), zoneID: arena.toldZoneID, firesOn: .create)),
            notificationInfo: info)
        let request = SubscriptionsModifyRequest(operations: [.create(subscription)], extension: RequestExtension(wantsDetails: true))
        let asked = try await arena.device(1).ask("subscriptions/modify", request.json(), as: SubscriptionsResponse.self)
        if case .failure(_, let error)? = asked.answer.subscriptions.first { throw AskFault.refused(error) }
    }
}

/// Follows a device's event stream over the server's ends, and holds what it hears against what is there.
private struct Ear: Sendable {
    /// Ends the names of records that nobody asks for.
    static let quiet = "-quiet"
    /// Before it connects again.
    private static let pause: Duration = .milliseconds(100)

    let asker: Asker
    let zoneID: ZoneID
    let prefix: String
    let hearing: Hearing
    private let connections = Locked(0)

    init(asker: Asker, zoneID: ZoneID, prefix: String, hearing: Hearing) {
        (self.asker, self.zoneID, self.prefix, self.hearing) = (asker, zoneID, prefix, hearing)
    }

    /// Returns when the server knows the device.
    func hasBegun() async throws {
        let deadline = ContinuousClock.now + Asker.patience
        while connections.withLock({ $0 }) == 0 {
            guard ContinuousClock.now < deadline else { throw AskFault.silent("an event stream") }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// Until it is cancelled.
    func listen() async {
        var last: String?
        while !Task.isCancelled {
            if let stream = await asker.events(after: last) {
                connections.withLock { $0 += 1 }
                var text: [UInt8] = []
                do {
                    for try await piece in stream {
                        text += piece
                        while let end = text.firstRange(of: Array("\n\n".utf8)) {
                            let event = String(decoding: text[..<end.lowerBound], as: UTF8.self)
                            text.removeSubrange(..<end.upperBound)
                            if let id = await hear(event) { last = id }
                        }
                    }
                } catch {
                    // The server has ended, and comes back.
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: the event's number.
    private func hear(_ event: String) async -> String? {
        let lines = event.split(separator: "\n")
        guard let data = lines.first(where: { $0.hasPrefix("data: ") })?.dropFirst(6) else { return nil }
        let id = lines.first { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
        guard let payload = try? JSONDecoder().decode(Payload.self, from: Data(data.utf8)) else {
            hearing.found(Violation(.unexpectedAnswer, "a notification is no payload: \(data)"))
            return id
        }
        guard let query = payload.ck.qry else {
            hearing.heardEverything()
            return id
        }
        // Others of the account, and earlier rounds, have their own.
        guard query.sid == "\(prefix)told" else { return id }
        guard query.rid.hasPrefix(prefix), !query.rid.hasSuffix(Self.quiet) else {
            hearing.found(Violation(.wronglyTold, "\(query.rid) was told, for which nobody asked"))
            return id
        }
        guard await isThere(query.rid) else {
            hearing.found(Violation(.wronglyTold, "\(query.rid) was told and is not there"))
            return id
        }
        _ = hearing.heard(query.rid)
        return id
    }

    /// true also where nobody answers: that is another's to find out.
    private func isThere(_ name: String) async -> Bool {
        let request = RecordsLookupRequest(records: [.init(recordName: name)], zoneID: zoneID)
        guard let asked = try? await asker.ask("records/lookup", request.json(), as: RecordsResponse.self) else { return true }
        if case .record? = asked.answer.records.first { return true }
        return false
    }

    private struct Payload: Decodable {
        struct Query: Decodable {
            var sid: String
            var rid: String
        }

        struct CloudKitPart: Decodable {
            var qry: Query?
        }

        var ck: CloudKitPart
    }
}

extension Asker {
    /// The event stream of the token's device; nil where nobody answers, or the server says no for now.
    fileprivate func events(after last: String?) async -> HTTPEvents? {
        let text = root.absoluteString.replacing("/database/1/", with: "/device/1/")
        guard let url = URL(string: text)?.deletingLastPathComponent().appendingPathComponent("notifications") else { return nil }
        return await web.events(url, token: token, after: last)
    }
}
