import NacreCloudWire
import NacreLocks
import NacreRandom

/// The notifications of all devices that listen to one teller.
final class Hearing: Sendable {
    private struct State {
        var log = NotificationLog()
        var violation: Violation?
    }

    private let state = Locked(State())

    /// Writes to the log.
    func note(_ body: (inout NotificationLog) -> Void) { state.withLock { body(&$0.log) } }

    /// Takes a notification.
    /// - Returns: Whether it is as it should be.
    @discardableResult func heard(_ right: NotificationLog.Right, of name: String?, id: String) -> Bool {
        state.withLock { state in
            let violation = state.log.heard(right, of: name, id: id)
            state.violation = state.violation ?? violation
            return violation == nil
        }
    }

    func found(_ violation: Violation) { state.withLock { $0.violation = $0.violation ?? violation } }

    var violation: Violation? { state.withLock { $0.violation } }
    var missing: [String] { state.withLock { $0.log.missing } }
    var count: Int { state.withLock { $0.log.count } }
}

/// Saves records with one device of an account, in a zone and in the public database. Other devices of this and other
/// accounts subscribe, and their subscriptions and sign-ins end again and again. Each device is notified after the
/// commit of all that its subscriptions ask for while they exist, and of nothing else.
struct Notifier {
    static let recordType = "Told"
    /// The field that queries filter. Several tellers save in the public database, each another subject.
    private static let field = "subject"
    private static let othersOnceIn: UInt64 = 4
    /// The pause between two saves.
    private static let pause: Duration = .milliseconds(30)
    /// Saves before and after some of the rights end.
    private static let savesPerPhase = 6
    /// One turn in so many has a device that is signed in for it: a sign-in takes time.
    private static let visitOnceIn = 3
    private static let deletionsPerRequest = 200

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private let hearing = Hearing()
    /// Records saved in the public database, which are deleted at the end.
    private var published: [String] = []
    private var saves = 0
    private var operations = 0

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    private var prefix: String { "\(arena.run)-\(arena.user)-t\(number)-" }
    private var wanted: String { prefix + "wanted" }
    private var unwanted: String { prefix + "unwanted" }

    /// Runs until the round is over and all notifications have come.
    mutating func run() async {
        do {
            try await play()
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

    private mutating func play() async throws {
        // The first record creates the type, which a subscription needs.
        for place in [Place.zone, .world] { try await save("\(prefix)first-\(place)", wanted, in: place) }
        if let stranger = arena.stranger { try await save("\(prefix)first-elsewhere", in: stranger) }
        let ears = ears()
        let listening = ears.map { one in Task { await one.ear.listen() } }
        defer { for task in listening { task.cancel() } }
        for one in ears { try await one.ear.hasBegun() }
        if let control { try await begin(control, ears) }
        var turn = 0
        repeat {
            try await take(turn, ears)
            arena.board.did { $0.tellings += 1 }
            turn += 1
        } while !arena.board.isOver
        if let control { try await end(control, ears) }
        try await tidy()
    }

    /// A subscription of another device to each save in the zone until the end. It shows which save a notification
    /// means that does not name it. nil: there is no such device.
    private var control: Subscribed? {
        guard arena.devices.count > 1 else { return nil }
        let subscription = subscription("control", .zone(arena.toldZoneID, recordType: nil))
        return Subscribed(subscription: subscription, topic: Topic.zone, subscriber: arena.device(0), roles: [.own])
    }

    // MARK: Listeners

    /// The relation of a device to the saving one.
    private enum Role: Equatable {
        /// Another device of the same account.
        case own
        /// The saving device.
        case author
        /// A device of another account.
        case guest
        /// A device of the account that is signed out in between.
        case visitor
        /// A device in another container.
        case stranger
    }

    private struct Listener {
        let role: Role
        /// The device's name in the log.
        let name: String
        let ear: Ear

        func right(_ subscription: String) -> NotificationLog.Right { NotificationLog.Right(name, subscription) }
    }

    private func listener(_ role: Role, _ asker: Asker, _ name: String) -> Listener {
        let (hearing, prefix, zoneID) = (hearing, prefix, arena.toldZoneID)
        let ear = Ear(asker, clientID: "torture-\(arena.place)", isMalformed: hearing.found) { news in
            guard let subscription = news.subscription else { return hearing.note { $0.heardEverything(name) } }
            // Other tellers and earlier rounds have their own prefix.
            guard subscription.hasPrefix(prefix) else { return }
            let isRight = hearing.heard(NotificationLog.Right(name, subscription), of: news.record, id: news.id)
            guard isRight, let record = news.record else { return }
            if await !asker.finds(record, in: news.isPublic ? nil : zoneID) {
                hearing.found(Violation(.wronglyTold, "\(name) was told of \(record), which is not there"))
            }
        }
        return Listener(role: role, name: name, ear: ear)
    }

    private func ears() -> [Listener] {
        var ears = [listener(.author, arena.device(0), "the device that saves")]
        if arena.devices.count > 1 { ears.append(listener(.own, arena.device(1), "another device")) }
        ears += arena.guests.map { listener(.guest, $0.asker, "a device of \($0.user)") }
        if let stranger = arena.stranger { ears.append(listener(.stranger, stranger, "a device in another container")) }
        return ears
    }

    /// Signs a device in for this turn; nil where no device can be signed in.
    private func visitor(_ turn: Int) async throws -> Listener? {
        guard let signIn = arena.signIn else { return nil }
        let deadline = ContinuousClock.now + Asker.patience
        while true {
            do {
                let token = try await signIn()
                let home = arena.device(0)
                return listener(.visitor, Asker(web: home.web, root: home.root, token: token), "the device signed in for turn \(turn)")
            } catch {
                // The server may be away.
                guard ContinuousClock.now < deadline else { throw AskFault.silent("a sign-in: \(error)") }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    // MARK: A turn

    /// A subscription of one user, and its topic.
    private struct Subscribed {
        let subscription: Subscription
        let topic: String
        let subscriber: Asker
        /// The roles of the devices that it notifies.
        let roles: [Role]
    }

    /// Runs a turn: all devices subscribe and are notified; then some subscriptions end, and only the others notify.
    private mutating func take(_ turn: Int, _ ears: [Listener]) async throws {
        var ears = ears
        let visitor = turn % Self.visitOnceIn == 0 ? try await visitor(turn) : nil
        if let visitor { ears.append(visitor) }
        // The visitor is also notified by earlier subscriptions of its user.
        let standing = visitor.flatMap { visitor in control.map { visitor.right($0.subscription.subscriptionID) } }
        if let standing { hearing.note { $0.willBegin(standing, of: Topic.zone) } }
        let visit = visitor.map { visitor in Task { await visitor.ear.listen() } }
        defer { visit?.cancel() }
        try await visitor?.ear.hasBegun()
        if let standing { hearing.note { $0.begin(standing, at: MonotonicClock.now) } }
        let subscribed = subscriptions(turn)
        for one in subscribed { try await begin(one, ears) }
        try await tell()
        var left: [Subscribed] = []
        for one in subscribed { if random.happens(onceIn: 2) { try await end(one, ears) } else { left.append(one) } }
        if let visitor { try await signOut(visitor, of: left + [control].compactMap(\.self)) }
        try await tell()
        for one in left { try await end(one, ears) }
        try await tell()
    }

    private func subscriptions(_ turn: Int) -> [Subscribed] {
        let filter = QueryFilter(.equals, fieldName: Self.field, value: .string(wanted))
        func query(_ name: String, in zoneID: ZoneID?) -> Subscription {
            subscription(
                "\(turn)-\(name)",
                .query(SubscribedQuery(query: Query(recordType: Self.recordType, filters: [filter]), zoneID: zoneID, firesOn: .create)))
        }
        let home = arena.device(0)
        var all: [Subscribed] = []
        func add(_ subscription: Subscription, _ topic: String, at subscriber: Asker, _ roles: [Role]) {
            all.append(Subscribed(subscription: subscription, topic: topic, subscriber: subscriber, roles: roles))
        }
        if control != nil {
            add(query("query", in: arena.toldZoneID), Topic.zoneWanted, at: home, [.own, .visitor])
            add(subscription("\(turn)-zone", .zone(arena.toldZoneID, recordType: Self.recordType)), Topic.zone, at: home, [.own, .visitor])
            add(subscription("\(turn)-database", .database(recordType: Self.recordType)), Topic.zone, at: home, [.own, .visitor])
        }
        // Each user's subscription has the same ID.
        let everywhere = query("public", in: nil)
        add(everywhere, Topic.worldWanted, at: home.at("public"), [.own, .visitor])
        for guest in arena.guests { add(everywhere, Topic.worldWanted, at: guest.asker.at("public"), [.guest]) }
        if let stranger = arena.stranger {
            add(everywhere, "", at: stranger.at("public"), [])
            add(query("query", in: nil), "", at: stranger, [])
            add(subscription("\(turn)-database", .database(recordType: Self.recordType)), "", at: stranger, [])
        }
        return all
    }

    private func subscription(_ name: String, _ kind: Subscription.Kind) -> Subscription {
        var info = NotificationInfo()
        info.alertBody = "told"
        return Subscription(subscriptionID: prefix + name, kind: kind, notificationInfo: info)
    }

    /// Returns the rights of the devices that a subscription notifies.
    private func rights(_ one: Subscribed, _ ears: [Listener]) -> [NotificationLog.Right] {
        let heard = ears.filter { one.roles.contains($0.role) && ($0.role != .guest || $0.ear.asker.token == one.subscriber.token) }
        return heard.map { $0.right(one.subscription.subscriptionID) }
    }

    private func begin(_ one: Subscribed, _ ears: [Listener]) async throws {
        let id = one.subscription.subscriptionID
        let rights = rights(one, ears)
        hearing.note { log in
            for ear in ears where ear.role == .author { log.forbid(ear.right(id), fault: .wronglyTold) }
            for ear in ears where ear.role == .stranger || ear.role == .guest && one.topic.hasPrefix(Topic.zone) {
                log.forbid(ear.right(id), fault: .leaked)
            }
            for right in rights { log.willBegin(right, of: one.topic) }
        }
        let request = SubscriptionsModifyRequest(operations: [.create(one.subscription)], extension: RequestExtension(wantsDetails: true))
        let asked = try await one.subscriber.ask("subscriptions/modify", request.json(), as: SubscriptionsResponse.self)
        if case .failure(_, let error)? = asked.answer.subscriptions.first { throw AskFault.refused(error) }
        hearing.note { log in for right in rights { log.begin(right, at: asked.span.end) } }
    }

    private mutating func end(_ one: Subscribed, _ ears: [Listener]) async throws {
        let rights = rights(one, ears)
        hearing.note { log in for right in rights { log.willEnd(right) } }
        let request = SubscriptionsModifyRequest(
            operations: [.delete(one.subscription.subscriptionID)], extension: RequestExtension(wantsDetails: true))
        let asked = try await one.subscriber.ask("subscriptions/modify", request.json(), as: SubscriptionsResponse.self)
        // A retry finds nothing.
        if case .failure(_, let error)? = asked.answer.subscriptions.first, error.code != .notFound { throw AskFault.refused(error) }
        testimony.counts.subscriptionsEnded += 1
        hearing.note { log in for right in rights { log.end(right, fault: .wronglyTold, at: asked.span.end) } }
    }

    private mutating func signOut(_ visitor: Listener, of left: [Subscribed]) async throws {
        let rights = left.filter { $0.roles.contains(.own) }.map { visitor.right($0.subscription.subscriptionID) }
        hearing.note { log in for right in rights { log.willEnd(right) } }
        try await visitor.ear.asker.signOut()
        let time = MonotonicClock.now
        testimony.counts.devicesSignedOut += 1
        hearing.note { log in for right in rights { log.end(right, fault: .leaked, at: time) } }
    }

    // MARK: Saves

    private enum Place {
        case zone
        case world
    }

    /// The topics of subscriptions.
    private enum Topic {
        static let zone = "zone"
        static let zoneWanted = "zone, wanted"
        static let worldWanted = "world, wanted"
    }

    /// Saves some records, and waits for all notifications that are due.
    private mutating func tell() async throws {
        for _ in 0..<Self.savesPerPhase {
            let isWanted = !random.happens(onceIn: Self.othersOnceIn)
            let place = random.happens(onceIn: 2) ? Place.zone : .world
            saves += 1
            let name = "\(prefix)\(saves)"
            let topics: Set<String> =
                switch (place, isWanted) {
                case (.zone, true): [Topic.zone, Topic.zoneWanted]
                case (.zone, false): [Topic.zone]
                case (.world, true): [Topic.worldWanted]
                case (.world, false): []
                }
            let time = MonotonicClock.now
            hearing.note { $0.willSave(name, on: topics, at: time) }
            try await save(name, isWanted ? wanted : unwanted, in: place)
            hearing.note { $0.saved(name) }
            // Notifications of a zone do not name the record, so one save follows the other.
            if place == .zone { try await hear() }
            try? await Task.sleep(for: Self.pause)
        }
        try await hear()
    }

    /// Waits for all notifications that are due.
    private func hear() async throws {
        let hearing = hearing
        let isHeard = try await Patience(limit: arena.tellingPatience).until {
            if let violation = hearing.violation { throw violation }
            return hearing.missing.isEmpty
        }
        if isHeard { return }
        let missing = hearing.missing
        throw Violation(.notTold, "after \(saves) saves \(missing.count) notifications are missing, of \(missing.first ?? "") first")
    }

    private mutating func save(_ name: String, _ subject: String, in place: Place) async throws {
        let asker = place == .zone ? arena.device(0) : arena.device(0).at("public")
        if place == .world { published.append(name) }
        try await save(name, subject, in: place == .zone ? arena.toldZoneID : .defaultZone, by: asker)
    }

    /// Saves a record in both databases of the other container, so that they know the type; no device is notified.
    private mutating func save(_ name: String, in stranger: Asker) async throws {
        for asker in [stranger, stranger.at("public")] { try await save(name, wanted, in: .defaultZone, by: asker) }
    }

    private mutating func save(_ name: String, _ subject: String, in zoneID: ZoneID, by asker: Asker) async throws {
        let change = RecordChange(recordName: name, recordType: Self.recordType, set: [Self.field: .string(subject)])
        operations += 1
        let request = RecordsModifyRequest(
            operations: [RecordOperation(.create, change)], zoneID: zoneID, atomic: !zoneID.isDefault,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-t\(arena.place)-\(operations)"))
        let asked = try await asker.ask("records/modify", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        if case .failure(_, let error)? = asked.answer.records.first {
            throw Violation(.unexpectedAnswer, "\(name) was refused with \(error.code.rawValue): \(error.reason)")
        }
    }

    /// Deletes the published records.
    private mutating func tidy() async throws {
        for start in stride(from: 0, to: published.count, by: Self.deletionsPerRequest) {
            let operations = published[start...].prefix(Self.deletionsPerRequest).map { RecordOperation(.forceDelete, RecordChange(recordName: $0)) }
            let request = RecordsModifyRequest(
                operations: operations, zoneID: .defaultZone, atomic: false, extension: RequestExtension(wantsDetails: true))
            _ = try await arena.device(0).at("public").ask("records/modify", request.json(), as: RecordsResponse.self)
        }
    }
}

extension Asker {
    /// Returns whether a record is there; also true where no answer comes or the device is signed out, which others
    /// check.
    /// - Parameter zoneID: In the private database; nil: in the public one.
    fileprivate func finds(_ record: String, in zoneID: ZoneID?) async -> Bool {
        let request = RecordsLookupRequest(records: [.init(recordName: record)], zoneID: zoneID ?? .defaultZone)
        let place = zoneID == nil ? at("public") : self
        guard let asked = try? await place.ask("records/lookup", request.json(), as: RecordsResponse.self) else { return true }
        if case .record? = asked.answer.records.first { return true }
        return false
    }
}
