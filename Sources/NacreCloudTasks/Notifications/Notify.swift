import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Puts notifications of subscriptions into the queues of a user's devices. Each transaction takes
    /// `Limits.notifyingChunk`, so that other writes come between. Reads once and writes nothing where the user has no
    /// device, or where each is to fetch everything anyway. Devices that listen to this server have transactions of
    /// their own, before the others.
    ///
    /// In a write that is done again (`Turn.isDoneAgain`), a device may get a notification that a power cut then takes
    /// back. It is notified again, under a number that no other notification had.
    ///
    /// After a failure in the middle everything is put into the queues again, and a queue takes each notification once.
    /// - Parameters:
    ///   - author: the ID of a device that is not notified.
    ///   - areNew: whether no earlier call has begun to notify of the payloads.
    /// - Returns: the number of notifications that were put into queues.
    @discardableResult
    func notify(_ appUser: AppUser, of payloads: [Payload], notOn author: String?, areNew: Bool = false) async throws -> Int {
        let part = Registry.Part.devices(of: appUser)
        let database = try await registry.databaseID(part.key)
        let scopes = Set(payloads.map(\.scope))
        let all = try await store.read { transaction in
            try transaction.allEntries(.notifiedDevice, in: database).map { (key: $0.key.key, device: try NotifiedDevice($0)) }
        }
        let known = all.filter { $0.device.deviceID != author && !$0.device.absorbing.isSuperset(of: scopes) }
        note(Self.passedOver(all, payloads, author, scopes, user: appUser.userRecordName))
        guard !known.isEmpty else { return 0 }
        let places = try await CredentialDatabases(of: known.map(\.device.credential), in: registry)
        let keys = Set(known.map(\.key))
        let listeners = keys.filter { listening.contains(DeviceAddress(database: database, key: $0)) }
        let step = Notifying(payloads: payloads.map { QueuedPayload($0) }, areNew: areNew, places: places)
        var count = 0
        for devices in [listeners, keys.subtracting(listeners)] where !devices.isEmpty {
            // The step counts as other writes do, so that waiting writes come between.
            let rows = known.reduce(0) { devices.contains($1.key) ? $0 + Int(clamping: $1.device.waiting) + payloads.count : $0 }
            var turn = Turn(asker: "push \(appUser.userRecordName)", rows: min(rows, Limits.notifyingChunk))
            turn.isDoneAgain = Turn.current.isDoneAgain
            count += try await Turn.$current.withValue(turn) { try await notify(appUser, step, of: devices) }
        }
        return count
    }

    /// The events of devices that get none of the payloads.
    private static func passedOver(
        _ devices: [(key: String, device: NotifiedDevice)], _ payloads: [Payload], _ author: String?, _ scopes: Set<DatabaseKey.Scope>, user: String
    ) -> [NotificationEvent] {
        if devices.isEmpty { return payloads.map { NotificationEvent(.hasNoDevice, $0, user: user) } }
        return devices.flatMap { key, device -> [NotificationEvent] in
            let kind: NotificationEvent.Kind? =
                device.deviceID == author ? .isAuthor : device.absorbing.isSuperset(of: scopes) ? .isToldAnyway : nil
            return kind.map { kind in payloads.map { NotificationEvent(kind, $0, user: user, device: key) } } ?? []
        }
    }

    /// - Parameter devices: the keys of the devices that are notified.
    private func notify(_ appUser: AppUser, _ step: Notifying, of devices: Set<String>) async throws -> Int {
        let part = Registry.Part.devices(of: appUser)
        let database = try await registry.databaseID(part.key)
        var count = 0
        var next: Notifying.Progress? = Notifying.Progress()
        while let here = next {
            let portion = try await registry.write(part) { database, now, transaction -> Ending<Notifying.Portion> in
                let portion = try step.portion(from: here, of: devices, in: database, at: now, transaction)
                if portion.plan.isEmpty { return .rollback(portion) }
                try transaction.apply(portion.plan)
                return .commit(portion)
            }
            if !portion.plan.isEmpty {
                let told = publish(portion, in: database, of: appUser.userRecordName)
                senders.observer?.queued(portion.count, told: told, for: appUser)
            }
            notificationRates.take(portion.count, from: appUser, at: now)
            count += portion.count
            next = portion.rest
        }
        return count
    }

    /// Hands notifications to the streams of their devices; other devices read their queues. A notification to fetch
    /// everything is read too, so that the queue knows that it was given.
    /// - Returns: the number of notifications that were handed to streams.
    private func publish(_ portion: Notifying.Portion, in database: DatabaseID, of user: String) -> Int {
        note(portion.unsure.flatMap { key, events in events.map { NotificationEvent(.queued, $0, user: user, device: key) } } + portion.events)
        var (mustRead, told) = (portion.mustRead, 0)
        for (key, before, events) in portion.added {
            let isToBeRead = events.contains(where: \.tellsEverything)
            let isTold = !isToBeRead && listening.publish(events, after: before, to: DeviceAddress(database: database, key: key))
            mustRead = mustRead || !isTold
            if isTold { told += events.count }
            note(events.map { NotificationEvent(isTold ? .listened : .queued, $0, user: user, device: key) })
        }
        if mustRead { committed(database) }
        return told
    }
}

/// Puts payloads into the queues of a user's devices, portion by portion.
private struct Notifying: Sendable {
    /// The position between two portions: the devices that have everything, and what the next one has.
    struct Progress: Sendable {
        /// The last device that has everything; nil: none.
        var last: String?
        /// A device that has a part of the payloads, and the number of those.
        var partial: (key: String, count: Int)?
    }

    /// The share of one transaction.
    struct Portion: Sendable {
        var plan = WritePlan()
        /// The position where the next portion goes on; nil: nothing is left.
        var rest: Progress?
        /// New notifications of devices known to be signed in now, with the queue's last number before them.
        var added: [(key: String, before: Int64, events: [QueuedNotification])] = []
        /// New notifications of other devices.
        var unsure: [(key: String, events: [QueuedNotification])] = []
        /// Further events, of notifications that left their queue.
        var events: [NotificationEvent] = []
        /// Whether listeners must read their queue: a device was signed out, or its credential must be checked again.
        var mustRead = false
        /// The number of notifications that the portion puts into queues.
        var count = 0
        /// Rows that the portion reads and writes, and thousands of their bytes.
        fileprivate var cost = 0
    }

    let payloads: [QueuedPayload]
    /// Whether no earlier call has begun to notify of the payloads: then no queue has one of them.
    let areNew: Bool
    let places: CredentialDatabases

    /// Devices in one read.
    private static let devicesAtATime = 50

    /// Returns the share of one transaction. It reads and writes `Limits.notifyingChunk` rows and thousands of bytes,
    /// and one queue and one payload beyond. Devices that are signed out go, with all that waits for them.
    /// - Parameter wanted: the keys of the devices that are notified.
    func portion(
        from start: Progress, of wanted: Set<String>, in database: DatabaseID, at now: Timestamp, _ transaction: any WriteTransaction
    ) throws -> Portion {
        var portion = Portion(rest: start)
        var progress = start
        let available = try availableAccounts(at: now, transaction)
        let run = try transaction.lock(in: database).run
        while true {
            let rows = try transaction.entries(in: database, .notifiedDevice, after: progress.last, limit: Self.devicesAtATime)
            let devices = try rows.filter { wanted.contains($0.key.key) }.map { (row: $0, device: try NotifiedDevice($0)) }
            let good = try transaction.good(devices.map(\.device.credential), places, at: now)
            for (row, device) in devices {
                if portion.cost >= Limits.notifyingChunk { return portion }
                let key = row.key.key
                portion.cost += 1
                if !row.isLiving(at: now) || !good.contains(device.credential) {
                    let before = portion.plan.entriesRemoved.count
                    try portion.plan.forget(device: key, in: database, transaction)
                    portion.cost += portion.plan.entriesRemoved.count - before
                    portion.mustRead = true
                    portion.events += payloads.map { NotificationEvent(.signedOut, $0.payload, user: "", device: key) }
                } else {
                    let first = progress.partial.flatMap { $0.key == key ? $0.count : nil } ?? 0
                    let count = try add(
                        from: first, to: device, key, &portion, isSure: available.vouch(for: device.credential), in: database, of: run, at: now,
                        transaction)
                    if count < payloads.count {
                        portion.rest = Progress(last: progress.last, partial: (key, count))
                        return portion
                    }
                }
                progress = Progress(last: key)
                portion.rest = progress
            }
            guard rows.count == Self.devicesAtATime, let last = rows.last?.key.key else {
                portion.rest = nil
                return portion
            }
            progress = Progress(last: last)
            portion.rest = progress
        }
    }

    /// Returns the accounts whose devices may be notified now.
    private func availableAccounts(at now: Timestamp, _ transaction: any ReadTransaction) throws -> Set<String> {
        var available: Set<String> = []
        for (account, database) in places.accounts
        where try transaction.entry(AccountEntry.self, account, in: database, at: now)?.accountState == .available {
            available.insert(account)
        }
        return available
    }

    /// Puts payloads into one queue.
    /// - Returns: how many of the payloads it has now.
    private func add(
        from first: Int, to device: NotifiedDevice, _ key: String, _ portion: inout Portion, isSure: Bool, in database: DatabaseID, of run: Int64,
        at now: Timestamp, _ transaction: any WriteTransaction
    ) throws -> Int {
        var rows: [EntryRow] = []
        var queue = NotificationQueue(unreadOf: device, key, in: database, of: run, at: now)
        if NotificationQueue.isBearing(device, on: payloads[first...], isNew: areNew) {
            rows = try transaction.queueRows(of: key, in: database, count: Int(clamping: device.waiting))
            queue = try NotificationQueue(device, key, rows: rows, in: database, of: run, at: now)
        }
        let before = queue.device.count
        var count = first
        while count < payloads.count, portion.cost < Limits.notifyingChunk {
            portion.cost += 1 + payloads[count].bytesAtMost / 1000
            queue.add(payloads[count])
            count += 1
            portion.count += 1
        }
        if queue.device.count > before {
            let fresh = queue.add(to: &portion.plan)
            if isSure {
                portion.added.append((key, before, fresh))
            } else {
                portion.mustRead = true
                portion.unsure.append((key, fresh))
            }
            portion.events += queue.events
            if device.isReached { try transaction.leaveDelivery(to: key, &portion.plan, in: database, due: now) }
        }
        portion.cost += rows.reduce(0) { $0 + 1 + $1.value.count / 1000 }
        return count
    }
}

extension WriteTransaction {
    /// Adds the task that sends a device what waits, unless one is there that is not parked: it goes on by itself.
    func leaveDelivery(to key: String, _ plan: inout WritePlan, in database: DatabaseID, due: Timestamp) throws {
        let known = try tasks(locking: [DeliverNotifications.key(of: key, in: database)]).first
        if known.map(\.isParked) ?? true { plan.tasks.append(DeliverNotifications.task(for: key, in: database, due: due)) }
    }
}

extension Set<String> {
    /// Whether a device is notified at once. This is the set of available accounts, and the credential holds. Only the
    /// listener of a web session knows the lifetime of its token, and checks it again.
    fileprivate func vouch(for credential: Credential) -> Bool {
        if case .device(_, let account) = credential { contains(account) } else { false }
    }
}

extension Credential {
    /// The account that the credential belongs to; nil for an API token or a server key, which have none.
    var account: String? {
        switch self {
        case .session(_, let account, _), .device(_, let account): account
        case .apiToken, .serverKey: nil
        }
    }
}
