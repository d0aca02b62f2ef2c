import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// The files that one user has sent into a database and that no record has, as bytes for each hour of their arrival.
/// Announced files on their way are among them. The store keeps the counts: all servers count alike, and a restart
/// forgets nothing.
///
/// An unsaved file is collected after `Limits.assetGraceSeconds`. Its hour no longer counts then, whatever became of
/// it.
struct UnsavedFiles: Equatable, Sendable {
    private static let version: UInt8 = 1
    private static let hourSeconds: Double = 3600

    /// Bytes by hours since 2001; none is 0 or less.
    private var hours: [Int64: Int64] = [:]

    package init() {}

    /// Returns the bytes of the hours that still count.
    package func bytes(at now: Timestamp) -> Int64 {
        hours.reduce(0) { $0 &+ (Self.end(of: $1.key) > now ? $1.value : 0) }
    }

    package mutating func add(_ bytes: Int64, at now: Timestamp) {
        hours = hours.filter { Self.end(of: $0.key) > now }
        if bytes > 0 { hours[Self.hour(of: now), default: 0] += bytes }
    }

    /// Subtracts files that arrived at a time: records have them, or they will not come.
    package mutating func remove(_ bytes: Int64, sentAt time: Timestamp) {
        let hour = Self.hour(of: time)
        guard let there = hours[hour] else { return }
        hours[hour] = there > bytes ? there - bytes : nil
    }

    private static func hour(of time: Timestamp) -> Int64 { Int64((time.secondsSince2001 / hourSeconds).rounded(.down)) }

    /// Returns the time at which the last file of an hour may be collected.
    private static func end(of hour: Int64) -> Timestamp {
        Timestamp(secondsSince2001: Double(hour + 1) * hourSeconds + Limits.assetGraceSeconds)
    }

    // MARK: Rows

    package static func key(of sender: String, in database: DatabaseID) -> EntryKey { EntryKey(database, .unsavedFiles, sender) }

    /// - Throws: `StoreError.corrupt` where the row is not as it was written.
    package init(_ row: EntryRow) throws {
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            for _ in 0..<(try reader.count()) { hours[try reader.signed()] = try reader.signed() }
        } catch {
            throw StoreError(.corrupt, "The row of a user's unsaved files is not what was written", ["user": row.key.key])
        }
    }

    /// Puts the row of these counts, or removes it where nothing counts.
    package func put(_ key: EntryKey, in plan: inout WritePlan) {
        guard let last = hours.keys.max() else {
            plan.entriesRemoved.append(key)
            return
        }
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.number(UInt64(hours.count))
        for (hour, bytes) in hours.sorted(by: { $0.key < $1.key }) {
            writer.signed(hour)
            writer.signed(bytes)
        }
        plan.entries.append(EntryRow(key: key, value: writer.bytes, expires: Self.end(of: last)))
    }
}

/// The bytes that a user may still send into a database before saving what was sent.
package struct FileRoom: Equatable, Sendable {
    package var bytes: Int64
    /// The error for a file that has no room.
    package var refusal: ServerError

    /// Counts the room. CloudKit: a file counts for the quota of its database. An unsaved one counts against the free
    /// bytes of the database, for its sender alone: unsaved files cannot fill a public database for others.
    /// - Parameters:
    ///   - unsaved: bytes that the sender has sent and not saved.
    ///   - used: bytes of the database's records and their files.
    ///   - limit: bytes that the database may hold; nil: as many as the disk.
    package init(beside unsaved: Int64, used: Int64, limit: Int64?, isPublic: Bool) {
        let (unsaved, used) = (max(unsaved, 0), max(used, 0))
        bytes = Limits.waitingAssetBytes - min(unsaved, Limits.waitingAssetBytes)
        refusal = .tooManyUploads
        guard let limit else { return }
        let left = max(limit - min(used, limit) - min(unsaved, limit), 0)
        guard left <= bytes else { return }
        (bytes, refusal) = (left, .quotaExceeded(isPublic: isPublic))
    }
}

/// The ledger of a user's unsaved files in a database.
struct FileLedger: Sendable {
    package let database: DatabaseID
    package let isPublic: Bool
    package let sender: String
    /// Returns the database's limit of bytes: the container's own quota, or the server's where the container has none.
    package let limit: @Sendable (QuotaEntry?) -> Int64?
    let quotaKey: EntryKey
    package let now: Timestamp

    private var key: EntryKey { UnsavedFiles.key(of: sender, in: database) }

    /// Returns the bytes that have room now. Another request may take them meanwhile.
    package func room(_ transaction: any ReadTransaction) throws -> FileRoom {
        let entries =
            try transaction.entries(in: database, .unsavedFiles, keys: [sender])
            + transaction.entries(in: quotaKey.database, quotaKey.kind, keys: [quotaKey.key])
        return try room(among: entries, used: try transaction.databases([database]).first?.bytes ?? 0).room
    }

    /// Counts an arriving file, in place of its announcement where that counted, or refuses it. Locks the database, and
    /// with it all that counts in it.
    package func add(
        _ bytes: Int64, insteadOf announced: AnnouncedRow? = nil, to plan: inout WritePlan, _ transaction: any WriteTransaction
    ) throws {
        let found = try transaction.lock(zoneNamed: nil, in: database, operation: nil, entries: [key, quotaKey])
        var (files, room) = try room(among: found.entries, used: found.database?.bytes ?? 0)
        if bytes - (announced?.purpose.size ?? 0) > room.bytes { throw room.refusal }
        if let announced { files.remove(announced.purpose.size, sentAt: announced.created) }
        files.add(bytes, at: now)
        files.put(key, in: &plan)
    }

    private func room(among entries: [EntryRow], used: Int64) throws -> (files: UnsavedFiles, room: FileRoom) {
        let files = try entries.first { $0.key == key }.map { try UnsavedFiles($0) } ?? UnsavedFiles()
        let quota = try entries.first { $0.key == quotaKey }.map { try QuotaEntry($0) }
        return (files, FileRoom(beside: files.bytes(at: now), used: used, limit: limit(quota), isPublic: isPublic))
    }
}

extension WritePlan {
    /// Takes files off their sender's unsaved ones. Locks the database.
    mutating func removeUnsaved(
        _ files: [(bytes: Int64, sent: Timestamp)], of sender: String, in database: DatabaseID, _ transaction: any WriteTransaction
    ) throws {
        guard !files.isEmpty else { return }
        let key = UnsavedFiles.key(of: sender, in: database)
        let found = try transaction.lock(zoneNamed: nil, in: database, operation: nil, entries: [key])
        guard let row = found.entries.first(where: { $0.key == key }) else { return }
        var unsaved = try UnsavedFiles(row)
        for file in files { unsaved.remove(file.bytes, sentAt: file.sent) }
        unsaved.put(key, in: &self)
    }
}

extension Cloud {
    /// Calls `body` with the ledger of a user's unsaved files in a database.
    func withLedger<Value>(
        of sender: String, in database: CallerDatabase, _ body: (FileLedger) async throws -> Value
    ) async throws -> Value {
        let (key, quotas) = (database.key, bounds.quotas)
        return try await schemas.withSchema(of: key.container, key.environment) { schema in
            try await body(
                FileLedger(
                    database: database.id, isPublic: key.scope == .public, sender: sender,
                    limit: { quotas.with($0).limit(of: key.scope) }, quotaKey: schema.quotaKey, now: clock()))
        }
    }

    /// Returns how much a user may send into a database. Costs a call of the store.
    func fileRoom(of sender: String, in database: CallerDatabase) async throws -> FileRoom {
        try await withLedger(of: sender, in: database) { ledger in
            try await stored(of: database.key) { try await self.store.read { try ledger.room($0) } }
        }
    }
}
