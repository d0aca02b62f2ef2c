import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The task that sends a device its waiting notifications, to the address that the device has registered. There is one
/// task for each device, which ends when nothing waits.
///
/// The queue holds what is to be sent, and what was taken is acknowledged there. After a worker's death it is sent
/// again, with the same IDs. A service that is down or asks to wait is asked again after growing pauses, for as long as
/// notifications are kept.
///
/// A device that follows an event stream or polls is sent only what it has not acknowledged in time.
struct DeliverNotifications: TaskHandler {
    /// The number of times in a row that the service has taken nothing.
    private var refusals: Int64 = 0

    private static let version: UInt8 = 1
    /// On this server: notifications of a chunk. A chunk is far shorter than a lease, even where each takes its
    /// longest.
    private static let notificationsAtATime = 4

    static func task(for device: String, in database: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: key(of: device, in: database), payload: DeliverNotifications().payload, due: due)
    }

    static func key(of device: String, in database: DatabaseID) -> TaskKey { TaskKey(database, .deliverNotifications, device) }

    private init() {}

    init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard (try? reader.byte()) == Self.version, let count = try? reader.signed() else { throw task.malformed }
        refusals = count
    }

    var payload: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.signed(refusals)
        return writer.bytes
    }

    mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let cloud = leased.cloud
        let address = DeviceAddress(database: leased.key.database, key: leased.key.name)
        guard let pushes = cloud.senders.pushes, let (device, user) = try await cloud.reachableDevice(address), let place = device.address else {
            try await cloud.store.write { transaction in
                try leased.requireLease(transaction)
                try transaction.apply(WritePlan(finishing: leased.key))
                return .commit(())
            }
            return false
        }
        var delivery = Delivery(registered: device.addressSince, refusals: refusals)
        for next in try await cloud.notifications(for: address, after: 0, limit: Self.notificationsAtATime) where delivery.goesOn {
            let grace = Delivery.graceSeconds(isListening: cloud.listening.contains(address), isAlone: cloud.store.neighbours == nil)
            if let seconds = Delivery.rest(of: grace, queued: next.queued, at: cloud.clock()) {
                delivery.putOff(seconds)
                continue
            }
            let start = cloud.clock().secondsSince2001
            let report = await pushes.send(next.message, to: place, of: user.container)
            cloud.senders.observer?.pushed(report, took: .seconds(cloud.clock().secondsSince2001 - start), for: user)
            delivery.add(report, of: next)
        }
        refusals = delivery.refusals
        let (end, rest) = (delivery, payload)
        let settled = try await cloud.store.write { transaction in
            try end.settle(address, place, leased: leased, payload: rest, at: cloud.clock(), transaction)
        }
        cloud.note(settled.events)
        return settled.goesOn
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        task(for: row.key.name, in: row.key.database, due: now)
    }
}

/// The changes of a device's queue that follow from the answers of its push service.
struct Delivery: Sendable {
    /// The time when the device registered its address.
    let registered: Timestamp
    var refusals: Int64
    /// The number through which the queue is done.
    private(set) var through: Int64 = 0
    /// Seconds until the service is asked again; nil: no pause.
    private(set) var pause: Double?
    private(set) var dropsAddress = false
    /// Whether a notification will never be taken: in its place the device is told to fetch everything.
    private(set) var hasLost = false
    /// The events for the push log.
    private var notes: [(event: PushLogLine.Event, notification: QueuedNotification, said: String?)] = []

    init(registered: Timestamp, refusals: Int64) {
        (self.registered, self.refusals) = (registered, refusals)
    }

    var goesOn: Bool { pause == nil && !dropsAddress && !hasLost }

    mutating func add(_ report: PushReport, of notification: QueuedNotification) {
        decide(report.outcome, of: notification)
        var what = report.said
        if case .giveUp(let why) = report.outcome { what = [report.said, why.rawValue].compactMap(\.self).joined(separator: " ") }
        let event: PushLogLine.Event = dropsAddress ? .addressEnded : pause != nil ? .postponed : report.outcome == .taken ? .sent : .refused
        notes.append((event, notification, what))
    }

    private mutating func decide(_ outcome: PushOutcome, of notification: QueuedNotification) {
        switch outcome {
        case .taken:
            (through, refusals) = (notification.number, 0)
        case .retry(let seconds): wait(seconds)
        case .dropAddress(let since?) where since < registered: wait(nil)
        case .dropAddress, .giveUp(.forbiddenAddress), .giveUp(.badKey): dropsAddress = true
        case .giveUp(.expired): through = notification.number
        case .giveUp(.tooLarge), .giveUp(.refused), .giveUp(.wrongPlace):
            through = notification.number
            // A notification to fetch everything is as short as any, so no other one replaces it.
            hasLost = !notification.tellsEverything
        }
    }

    /// Seconds that a device has to acknowledge a notification before a push, if it may listen to another server. On
    /// this server: many times what the hint to the other server and the answer take.
    static let neighbourGraceSeconds: Double = 2

    /// Returns the seconds that a device has to acknowledge a notification before it is pushed. A device that listens
    /// has `Limits.pushGraceSeconds`. After that time it may be deaf.
    /// - Parameter isAlone: whether no other server has the store.
    static func graceSeconds(isListening: Bool, isAlone: Bool) -> Double {
        isListening ? Limits.pushGraceSeconds : isAlone ? 0 : neighbourGraceSeconds
    }

    /// Returns the seconds that are left of a grace; nil: none.
    static func rest(of grace: Double, queued: Timestamp, at now: Timestamp) -> Double? {
        let left = queued.secondsSince2001 + grace - now.secondsSince2001
        // The bound holds after a clock that was set back, too.
        return grace > 0 && left > 0 ? min(left, grace) : nil
    }

    /// Puts the rest off. The device may have acknowledged it by then.
    mutating func putOff(_ seconds: Double) { pause = seconds }

    private mutating func wait(_ seconds: Double?) {
        refusals += 1
        pause = max(seconds ?? 0, TaskRow.pause(after: refusals))
    }

    /// Acknowledges what was taken, even if another worker has the task by now. Ends the task where the queue is done,
    /// or puts it off where there is a pause.
    /// - Parameter place: the address that was sent to; one that was registered meanwhile stays.
    /// - Returns: whether this worker has more to send at once, and what became of notifications.
    fileprivate func settle(
        _ address: DeviceAddress, _ place: PushAddress, leased: LeasedTask, payload: [UInt8], at now: Timestamp, _ transaction: any WriteTransaction
    ) throws -> Ending<(goesOn: Bool, events: [NotificationEvent])> {
        let advance = try transaction.lock(in: address.database)
        let isOurs = try transaction.tasks(locking: [leased.key]).first?.due == leased.task.due
        var plan = WritePlan()
        var isOver = true
        var events: [NotificationEvent] = []
        if let key = advance.database?.key, var queue = try transaction.queue(of: address, in: advance.run, at: now) {
            for note in notes { queue.note(note.event, note.notification, said: note.said) }
            if through > 0 { queue.acknowledge(through: through) }
            if hasLost { queue.forgetAll(like: Payload(of: key)) }
            if dropsAddress { queue.drop(place) }
            isOver = queue.isEmpty || !queue.device.isReached
            queue.add(to: &plan)
            events = queue.events
        }
        if isOurs {
            if isOver {
                plan.tasksFinished = [leased.key]
            } else if let pause {
                plan.tasks = [TaskRow(key: leased.key, payload: payload, due: now + pause)]
            }
        }
        try transaction.apply(plan)
        return .commit((isOurs && !isOver && pause == nil, events))
    }
}

extension QueuedNotification {
    /// The message that a push service gets.
    fileprivate var message: PushMessage {
        let urgency: PushMessage.Urgency = priority >= Payload.Priority.visible.rawValue ? .visible : priority > 1 ? .background : .low
        return PushMessage(payload: json, urgency: urgency, collapseID: collapseID.isEmpty ? nil : collapseID, expires: expires)
    }
}

extension Cloud {
    /// Returns a signed-in device with an address, and its user; nil: nothing can be sent.
    fileprivate func reachableDevice(_ address: DeviceAddress) async throws -> (device: NotifiedDevice, user: AppUser)? {
        let now = clock()
        let found = try await store.read { transaction -> (NotifiedDevice, DatabaseKey)? in
            guard let row = try transaction.entries(in: address.database, .notifiedDevice, keys: [address.key]).living(at: now).first,
                let key = try transaction.databases([address.database]).first?.key
            else { return nil }
            return (try NotifiedDevice(row), key)
        }
        guard let (device, key) = found, device.isReached, let account = device.credential.account else { return nil }
        let places = try await CredentialDatabases(of: [device.credential], in: registry)
        guard let database = places.accounts[account] else { return nil }
        return try await store.read { transaction in
            guard try transaction.isGood(device.credential, places, at: now) else { return nil }
            // Notifications for an account that is not available wait for the first one after it is available again.
            let state = try transaction.entry(AccountEntry.self, account, in: database, at: now)?.accountState ?? .available
            guard state == .available, let name = Registry.Part.deviceUser(of: key) else { return nil }
            return (device, AppUser(container: key.container, environment: key.environment, userRecordName: name))
        }
    }
}
