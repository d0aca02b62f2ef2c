import NacreCloudWire

extension Cloud {
    /// Puts into the queues of a user's devices what subscriptions tell: in transactions of `Limits.notifyingChunk` each, between which others write. None,
    /// and one look, where the user has no device.
    ///
    /// In a turn that is done again, a device may hear what a power cut then takes back; it is told anew, under a number that no other notification had.
    ///
    /// What was told before it failed in the middle is told again, and a queue takes it once.
    /// - Parameter author: a device that is told nothing.
    func notify(_ place: AccountPlace, of payloads: [Payload], notOn author: String?) async throws {
        let part = Registry.Part.devices(of: place)
        let database = try await registry.databaseID(part.key)
        let known = try await store.read { transaction in
            try transaction.allEntries(.notifiedDevice, in: database).map { try NotifiedDevice($0) }
        }
        guard known.contains(where: { $0.deviceID != author }) else { return }
        var accounts: [String: DatabaseID] = [:]
        for account in Set(known.compactMap(\.credential.account)) {
            accounts[account] = try await registry.databaseID(Registry.Part.account(account).key)
        }
        let step = Notifying(payloads: payloads.map { QueuedPayload($0) }, author: author, accounts: accounts)
        // As others' writes count, so that those come between that wait.
        let rows = known.reduce(0) { $0 + Int(clamping: $1.waiting) + payloads.count }
        var turn = Turn(asker: "push \(place.userRecordName)", rows: min(rows, Limits.notifyingChunk))
        turn.isDoneAgain = Turn.current.isDoneAgain
        var next: Notifying.Place? = Notifying.Place()
        while let here = next {
            let (isTold, rest) = try await Turn.$current.withValue(turn) {
                try await registry.write(part) { database, now, transaction -> Ending<(isTold: Bool, rest: Notifying.Place?)> in
                    let (plan, rest) = try step.plan(from: here, in: database, at: now, transaction)
                    if plan.isEmpty { return .rollback((false, rest)) }
                    try transaction.apply(plan)
                    return .commit((true, rest))
                }
            }
            if isTold { committed(database) }
            next = rest
        }
    }
}

/// What is put into the queues of a user's devices, portion by portion.
private struct Notifying: Sendable {
    /// Which devices have everything, and how much the next one has.
    struct Place: Sendable {
        /// The last device that has everything; nil: none has.
        var last: String?
        /// One that has a part, and how many of the payloads.
        var partial: (key: String, count: Int)?
    }

    let payloads: [QueuedPayload]
    let author: String?
    /// Where the accounts are that the devices are signed in with.
    let accounts: [String: DatabaseID]

    /// Devices that are read at a time.
    private static let devicesAtATime = 10

    /// One transaction's share: the rows that it reads and writes, and their thousands of bytes, are `Limits.notifyingChunk`, and what one queue and one
    /// payload take beyond. Devices that are signed out go, with what waits for them.
    /// - Returns: where the next one goes on; nil: nothing is left.
    func plan(from start: Place, in database: DatabaseID, at now: Timestamp, _ transaction: any WriteTransaction) throws -> (WritePlan, Place?) {
        var (plan, place, cost) = (WritePlan(), start, 0)
        while true {
            let rows = try transaction.entries(in: database, .notifiedDevice, after: place.last, limit: Self.devicesAtATime)
            for row in rows {
                if cost >= Limits.notifyingChunk { return (plan, place) }
                let key = row.key.key
                let device = try NotifiedDevice(row)
                cost += 1
                guard row.isLiving(at: now), try transaction.isGood(device.credential, accounts, at: now) else {
                    let before = plan.entriesRemoved.count
                    try plan.forget(device: key, in: database, transaction)
                    cost += plan.entriesRemoved.count - before
                    place = Place(last: key)
                    continue
                }
                if device.deviceID != author {
                    let first = place.partial.flatMap { $0.key == key ? $0.count : nil } ?? 0
                    let count = try add(from: first, to: device, key, &plan, &cost, in: database, at: now, transaction)
                    if count < payloads.count { return (plan, Place(last: place.last, partial: (key, count))) }
                }
                place = Place(last: key)
            }
            if rows.count < Self.devicesAtATime { return (plan, nil) }
        }
    }

    /// Puts payloads into one queue.
    /// - Returns: how many it has now.
    private func add(
        from first: Int, to device: NotifiedDevice, _ key: String, _ plan: inout WritePlan, _ cost: inout Int, in database: DatabaseID,
        at now: Timestamp, _ transaction: any WriteTransaction
    ) throws -> Int {
        let rows = try transaction.queueRows(of: key, in: database, count: Int(clamping: device.waiting))
        var queue = try NotificationQueue(device, key, rows: rows, in: database, of: try transaction.lock(in: database).run, at: now)
        let before = queue.device.count
        var count = first
        while count < payloads.count, cost < Limits.notifyingChunk {
            cost += 1 + payloads[count].bytesAtMost / 1000
            queue.add(payloads[count])
            count += 1
        }
        if queue.device.count > before {
            queue.add(to: &plan)
            if device.isReached { try transaction.leaveDelivery(to: key, &plan, in: database, due: now) }
        }
        cost += rows.reduce(0) { $0 + 1 + $1.value.count / 1000 }
        return count
    }
}

extension WriteTransaction {
    /// The task that sends a device what waits. One that is there may be pausing, and goes on by itself.
    func leaveDelivery(to key: String, _ plan: inout WritePlan, in database: DatabaseID, due: Timestamp) throws {
        let known = try tasks(locking: [DeliverNotifications.key(of: key, in: database)]).first
        if known.map(\.isParked) ?? true { plan.tasks.append(DeliverNotifications.task(for: key, in: database, due: due)) }
    }
}

extension Credential {
    /// Whose it is; nil: nobody's who has an account.
    var account: String? {
        switch self {
        case .session(_, let account, _), .device(_, let account): account
        case .apiToken, .serverKey: nil
        }
    }
}
