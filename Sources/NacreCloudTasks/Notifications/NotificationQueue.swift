package import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudWire

/// A device's queue, changed as a value.
struct NotificationQueue {
    private(set) var device: NotifiedDevice
    private let key: String
    private let database: DatabaseID
    private let now: Timestamp
    /// The notifications that wait, as far as they were read, and those added since.
    private var waiting: [QueuedNotification]
    /// The number of notifications that wait and were not read.
    private let unread: Int64
    /// Whether notifications have expired before the device got them.
    private(set) var hasLost: Bool
    private var gone: Set<Int64> = []
    /// The payload and the badge of each notification that is not stored yet.
    private var come: [Int64: (payload: QueuedPayload, badge: Int64)] = [:]
    private var log: [PushLogLine] = []
    /// Events of notifications that left the queue.
    private(set) var events: [NotificationEvent] = []
    private let run: Int64?

    /// - Parameters:
    ///   - rows: the rows of the queue, in their order.
    ///   - run: the present run of the store; nil: the queue is only read.
    init(_ device: NotifiedDevice, _ key: String, rows: [EntryRow], in database: DatabaseID, of run: Int64?, at now: Timestamp) throws {
        self.device = device
        self.run = run
        self.key = key
        self.database = database
        self.now = now
        waiting = []
        unread = 0
        for row in rows {
            let notification = try QueuedNotification(row)
            // Expired rows go with the next change, so that there are never more rows than the device counts.
            if row.isLiving(at: now) { waiting.append(notification) } else { gone.insert(notification.number) }
        }
        hasLost = waiting.count < device.waiting
    }

    /// Makes a queue without reading it, because what waits has no bearing on what comes (`isBearing`). Losses are
    /// found when it is read.
    init(unreadOf device: NotifiedDevice, _ key: String, in database: DatabaseID, of run: Int64, at now: Timestamp) {
        (self.device, self.key, self.database, self.run, self.now) = (device, key, database, run, now)
        (waiting, unread, hasLost) = ([], device.waiting, false)
    }

    /// Whether waiting notifications matter for new ones: they may be the same, be replaced, or leave no room.
    /// - Parameter isNew: whether no earlier call has put the payloads into the queue.
    static func isBearing(_ device: NotifiedDevice, on payloads: some Collection<QueuedPayload>, isNew: Bool) -> Bool {
        device.waiting > 0
            && (!isNew || payloads.contains(where: \.replacesOthers) || device.waiting + Int64(payloads.count) > Limits.notificationsPerDevice)
    }

    /// Adds a payload to the end of the queue. Skips one that is there already, and removes those that it replaces. A
    /// full queue becomes a notification to fetch everything.
    mutating func add(_ queued: QueuedPayload) {
        let payload = queued.payload
        if device.absorbing.contains(payload.scope) { return }
        var notification = QueuedNotification(queued, number: 0)
        guard !waiting.contains(where: { $0.identity == notification.identity }) else { return }
        device.enter(run)
        notification.number = device.count + 1
        drop(as: .coalesced) { other in
            (!other.coalescing.isEmpty && other.coalescing == notification.coalescing)
                || (!other.collapseID.isEmpty && other.collapseID == notification.collapseID)
        }
        device.scopes.insert(payload.scope)
        if payload.countsBadge { device.badge += 1 }
        if hasLost || unread + Int64(waiting.count) >= Limits.notificationsPerDevice { return forgetAll(like: payload) }
        put(notification, queued)
    }

    private mutating func put(_ notification: QueuedNotification, _ payload: QueuedPayload) {
        device.count = notification.number
        come[notification.number] = (payload, device.badge)
        waiting.append(notification)
    }

    /// Replaces all that waits or was lost by one notification to fetch everything for each database concerned.
    mutating func forgetAll(like payload: Payload) {
        device.enter(run)
        drop(as: .everything) { _ in true }
        hasLost = false
        let scopes = device.scopes.isEmpty ? [.private] : device.scopes
        for scope in scopes.sorted(by: { $0.rawValue < $1.rawValue }) {
            let number = device.count + 1
            let all = QueuedPayload(
                Payload.fetchEverything(of: scope, user: payload.user ?? "", in: payload.container ?? "", id: "\(key) \(number)"))
            put(QueuedNotification(all, number: number), all)
        }
        device.absorbing = Set(scopes)
    }

    /// Records that the device is given what waits. A notification to fetch everything then absorbs no new ones.
    mutating func give() { device.absorbing = [] }

    /// Removes the notifications up to a number.
    mutating func acknowledge(through last: Int64) {
        give()
        drop { $0.number <= last }
        if waiting.isEmpty, !hasLost { device.scopes = [] }
    }

    /// Takes note that the device has the notifications up to a number. A number that the queue has not come to, or has
    /// passed over, belongs to a lost notification: the device is told to fetch everything.
    /// - Returns: the number after which the device goes on.
    mutating func heard(through last: Int64, of key: DatabaseKey) -> Int64 {
        guard last <= device.count, !device.passedOver.contains(last) else {
            forgetAll(like: Payload(of: key))
            return 0
        }
        events += waiting.filter { $0.number <= last }.map { NotificationEvent(.heard, $0, device: self.key) }
        acknowledge(through: last)
        return last
    }

    /// Sets the badge that later notifications count from. Waiting notifications keep theirs.
    mutating func count(badge: Int64) { device.badge = badge }

    /// Adds an event of a notification to the push log.
    /// - Parameter said: the push service's answer.
    mutating func note(_ event: PushLogLine.Event, _ notification: QueuedNotification, said: String? = nil) {
        log.append(notification.line(event, at: now, said: said ?? ""))
        if let kind = NotificationEvent.Kind(event) { events.append(NotificationEvent(kind, notification, device: key)) }
    }

    private mutating func drop(as event: PushLogLine.Event? = nil, where isGone: (QueuedNotification) -> Bool) {
        for notification in waiting where isGone(notification) {
            log.append(notification.line(.queued, at: come[notification.number] == nil ? notification.queued : now))
            if let event { note(event, notification) }
            if come.removeValue(forKey: notification.number) == nil { gone.insert(notification.number) }
        }
        waiting.removeAll(where: isGone)
    }

    /// Returns the notifications after a number, oldest first.
    func all(after last: Int64) -> [QueuedNotification] { waiting.filter { $0.number > last } }

    /// Removes an address that does not reach the device any more. Another address stays.
    mutating func drop(_ address: PushAddress) {
        if device.address == address { device.address = nil }
    }

    var isEmpty: Bool { waiting.isEmpty && unread == 0 && !hasLost }

    /// Adds the changes of the queue to a plan.
    /// - Returns: the notifications that were not stored before, as the device gets them.
    @discardableResult mutating func add(to plan: inout WritePlan) -> [QueuedNotification] {
        var fresh: [QueuedNotification] = []
        device.waiting = unread + Int64(waiting.count) + (hasLost ? 1 : 0)
        plan.entriesRemoved += gone.sorted().map { EntryKey(database, .notification, QueuedNotification.key(key, $0)) }
        for var notification in waiting {
            guard let (payload, badge) = come[notification.number] else { continue }
            notification.json = payload.json(badge: badge, room: device.address?.payloadBytes ?? Limits.payloadBytes)
            plan.entries.append(notification.row(of: key, in: database, at: now))
            fresh.append(notification)
        }
        let lines = PushLog.rows(log, of: key, count: device.logged, in: database, at: now)
        plan.entries += lines
        device.logged += Int64(lines.count)
        plan.entries.append(device.row(key, in: database))
        return fresh
    }
}

extension ReadTransaction {
    /// Returns the rows of a device's queue, in their order.
    /// - Parameters:
    ///   - last: the number after which they stand.
    ///   - count: rows at most. The default is a queue's bound: notifications and, where full, one for each scope.
    func queueRows(
        of device: String, in database: DatabaseID, after last: Int64 = 0, count: Int = Limits.notificationsPerDevice + 4
    ) throws -> [EntryRow] {
        guard count > 0 else { return [] }
        let prefix = "\(device) "
        let rows = try entries(in: database, .notification, after: QueuedNotification.key(device, last), limit: count)
        return rows.filter { $0.key.key.utf8.starts(with: prefix.utf8) }
    }

    /// Whether a device's credential still holds.
    func isGood(_ credential: Credential, _ places: CredentialDatabases, at now: Timestamp) throws -> Bool {
        try !good([credential], places, at: now).isEmpty
    }

    /// Returns the credentials that hold: all their entries live. Costs one read for each database and kind, no
    /// decoding.
    func good(_ credentials: [Credential], _ places: CredentialDatabases, at now: Timestamp) throws -> Set<Credential> {
        let needs = Dictionary(credentials.map { ($0, places.keys(of: $0)) }, uniquingKeysWith: { first, _ in first })
        var living: Set<EntryKey> = []
        for (place, keys) in Dictionary(grouping: Set(needs.values.joined()), by: { EntryKey($0.database, $0.kind, "") }) {
            let rows = try entries(in: place.database, place.kind, keys: keys.map(\.key).sorted())
            living.formUnion(rows.living(at: now).map(\.key))
        }
        return Set(needs.filter { !$0.value.isEmpty && living.isSuperset(of: $0.value) }.keys)
    }
}

extension Cloud {
    /// Returns what waits for a device after a number, oldest first. One to fetch everything replaces expired ones.
    package func notifications(for address: DeviceAddress, after last: Int64, limit: Int) async throws -> [QueuedNotification] {
        var (found, mustChange) = try await waiting(for: address, after: last)
        if mustChange {
            _ = try await changeQueue(address) { queue, key in
                if queue.hasLost { queue.forgetAll(like: Payload(of: key)) }
                queue.give()
            }
            (found, _) = try await waiting(for: address, after: last)
        }
        return Array(found.prefix(limit))
    }

    /// Returns what `notifications` does, for a caller that has just had everything up to `last`. Reads only what came
    /// after it.
    package func newNotifications(for address: DeviceAddress, after last: Int64, limit: Int) async throws -> [QueuedNotification] {
        let now = clock()
        let found = try await stored {
            try await self.store.read { transaction -> [QueuedNotification]? in
                guard let row = try transaction.entries(in: address.database, .notifiedDevice, keys: [address.key]).living(at: now).first else {
                    return []
                }
                let device = try NotifiedDevice(row)
                guard device.absorbing.isEmpty else { return nil }
                let count = min(Int64(limit), device.waiting, device.count - last)
                guard count > 0 else { return [] }
                return try transaction.queueRows(of: address.key, in: address.database, after: last, count: Int(count)).living(at: now)
                    .map { try QueuedNotification($0) }
            }
        }
        if let found { return found }
        return try await notifications(for: address, after: last, limit: limit)
    }

    /// - Returns: what waits, and whether the queue must change first: some is lost, or a notification absorbs others.
    private func waiting(for address: DeviceAddress, after last: Int64) async throws -> (found: [QueuedNotification], mustChange: Bool) {
        let now = clock()
        return try await stored {
            try await self.store.read { transaction in
                guard let queue = try transaction.queue(of: address, at: now) else { return ([], false) }
                return (queue.all(after: last), queue.hasLost || !queue.device.absorbing.isEmpty)
            }
        }
    }

    /// Removes the notifications up to a number, which their device has.
    /// - Returns: the number after which the device goes on. A number that the queue has not come to belongs to a lost
    ///   notification: the device is told to fetch everything.
    @discardableResult
    package func acknowledge(through last: Int64, for address: DeviceAddress) async throws -> Int64 {
        try await changeQueue(address) { queue, key in
            queue.heard(through: last, of: key)
        } ?? 0
    }

    /// `POST notifications`, an endpoint of this server: takes note of what the caller's device has, and of its badge.
    /// - Throws: `NOT_FOUND` where the device is not registered; and as `registerDevice`.
    package func takeNote(
        _ request: DeviceNoteRequest, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        let address = try await deviceAddress(request.clientID, in: container, environment, by: caller)
        if let fault = request.fault { throw fault }
        let isThere = try await changeQueue(address) { queue, key in
            if let heard = request.heard { _ = queue.heard(through: heard, of: key) }
            if let badge = request.badge { queue.count(badge: badge) }
            return true
        }
        if isThere == nil { throw ServerError.noSuchDevice }
    }

    /// - Returns: what `change` returned; nil where the device is missing.
    private func changeQueue<Value: Sendable>(
        _ address: DeviceAddress, _ change: @escaping @Sendable (inout NotificationQueue, DatabaseKey) -> Value
    ) async throws -> Value? {
        let now = clock()
        let done = try await stored {
            try await self.store.write { transaction -> Ending<(value: Value, events: [NotificationEvent])?> in
                let advance = try transaction.lock(in: address.database)
                guard let key = advance.database?.key, var queue = try transaction.queue(of: address, in: advance.run, at: now)
                else { return .rollback(nil) }
                let value = change(&queue, key)
                var plan = WritePlan()
                queue.add(to: &plan)
                try transaction.apply(plan)
                return .commit((value, queue.events))
            }
        }
        note(done?.events ?? [])
        return done?.value
    }
}

extension DeviceNoteRequest {
    /// The badges that a device may send. CloudKit: a badge is a number that an icon shows.
    private static let badges = 0...Int64(999_999_999)

    fileprivate var fault: ServerError? {
        if let heard, heard < 0 { return .badValue("heard", "invalid event ID", remedy: "Send the id of the last event as it came.") }
        if let badge, !Self.badges.contains(badge) {
            return .badValue("badge", "invalid badge", remedy: "Send a number from 0 up to \(Self.badges.upperBound); 0 clears it.")
        }
        return nil
    }
}

extension ServerError {
    fileprivate static let noSuchDevice = ServerError(
        .notFound, "the device is told nothing",
        remedy: "Follow the event stream, ask for a push token or register an address first, with the same clientId.")
}

extension Payload {
    /// Makes a payload that has only the container and the user of a database of devices.
    init(of key: DatabaseKey) {
        self.init(of: .database, in: .private)
        container = key.container
        user = Registry.Part.deviceUser(of: key)
    }
}

extension ReadTransaction {
    /// - Parameter run: the present run of the store; nil: the queue is only read.
    func queue(of address: DeviceAddress, in run: Int64? = nil, at now: Timestamp) throws -> NotificationQueue? {
        guard let row = try entries(in: address.database, .notifiedDevice, keys: [address.key]).living(at: now).first else { return nil }
        let device = try NotifiedDevice(row)
        let rows = try queueRows(of: address.key, in: address.database, count: Int(clamping: device.waiting))
        return try NotificationQueue(device, address.key, rows: rows, in: address.database, of: run, at: now)
    }
}

extension WritePlan {
    /// Removes a device with its queue and its push log.
    mutating func forget(device key: String, in database: DatabaseID, _ transaction: any ReadTransaction) throws {
        entriesRemoved.append(EntryKey(database, .notifiedDevice, key))
        entriesRemoved += try transaction.queueRows(of: key, in: database).map(\.key)
        entriesRemoved += try transaction.pushLogRows(of: key, in: database).map(\.key)
    }
}

extension WriteTransaction {
    /// Removes a device of a user. Returns whether there was one.
    func removeDevice(from database: DatabaseID) throws -> Bool {
        guard try lock(in: database).database != nil, let row = try entries(in: database, .notifiedDevice, after: nil, limit: 1).first else {
            return false
        }
        var plan = WritePlan()
        try plan.forget(device: row.key.key, in: database, self)
        try apply(plan)
        return true
    }
}
