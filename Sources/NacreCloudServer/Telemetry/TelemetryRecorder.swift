import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreLocks
import NacreTelemetry

/// Sums up what the cloud does, and answers questions about the sums.
///
/// A request is added to sums in memory, under a lock for about a microsecond. Every ten seconds one transaction adds
/// those sums to the rows of all tiers, on the thread of the file. A killed server therefore loses ten seconds at most,
/// and counts nothing twice. If the file cannot be written, the sums stay in memory, within the bounds of
/// `TelemetryPending`, and no request notices.
final class TelemetryRecorder: RequestObserver, Sendable {
    /// The time between two transactions. Its clock is always the real one: it bounds what a kill loses.
    private static let pause: Duration = .seconds(10)
    private struct State {
        var pending = TelemetryPending()
        /// The sums and the salts of the transaction under way. The sums go back to `pending` if it fails.
        var writing: (sums: TelemetryPending, salts: [String: TelemetrySalt])?
        var salts = TelemetrySalts()
        /// The salts that the file holds; nil: it was not read yet.
        var kept: [String: TelemetrySalt]?
        var isFailing = false
    }

    private let storage: any TelemetryStorage
    private let clock: ServerClock
    private let logger: Logger
    private let random: @Sendable () -> UInt64
    private let state = Locked(State())

    init(_ storage: any TelemetryStorage, clock: ServerClock, logger: Logger, random: @escaping @Sendable () -> UInt64) {
        (self.storage, self.clock, self.logger, self.random) = (storage, clock, logger, random)
    }

    var now: Timestamp { clock.now() }

    /// Reads the salts of the current day and month. Call it before the first request: otherwise a user who asked
    /// before a restart counts again.
    func open() async {
        do {
            let known = try await storage.transaction({ try $0.salts() }, ended: { _ in })
            state.withLock { ($0.salts, $0.kept) = (TelemetrySalts(known: known), known) }
        } catch {
            noteFailure(error)
        }
    }

    /// Writes every ten seconds, until the task is cancelled.
    /// - Parameter takeStock: sums up what is stored; called after a minute, and once an hour. If it fails, the next
    ///   hour has its sums.
    func run(takeStock: @Sendable () async throws -> Void) async {
        var turn = 0
        while !Task.isCancelled {
            turn += 1
            do { try await ServerClock.system.sleep(Self.pause) } catch { return }
            if turn % Self.turnsOfHour == Self.turnsOfMinute { try? await takeStock() }
            await flush()
        }
    }

    private static let turnsOfMinute = 6
    private static let turnsOfHour = 360

    /// Writes the last sums, and closes the file.
    func close() async {
        await flush()
        await storage.close()
    }

    // MARK: Adding

    func observe(_ request: FinishedRequest) {
        let series = TelemetrySeries(operation: request.operation ?? request.route, on: request.facts.database)
        add(series, at: request.ended, by: request.user) { sums, users in sums.count(request, of: users) }
    }

    /// Adds to the sums of a series.
    /// - Parameters:
    ///   - user: the user record name of the user who the sums are about; nil: none.
    ///   - change: takes the sums, and the user as parts of private and shared databases count it.
    func add(
        _ series: TelemetrySeries, at time: Timestamp, by user: String? = nil, tier: TelemetryTier = .tenSeconds,
        _ change: (inout TelemetrySums, FewUsers?) -> Void
    ) {
        state.withLock { state in
            let salts = state.salts.salts(at: time, newSalt)
            state.pending.add(series, at: time, tier: tier) { sums in
                // A user record name is random: no user of another container has the same.
                let code = user.map { ShortHash.code(for: $0, key: salts.day.key) }
                change(&sums, series.isPersonal ? code.map { FewUsers($0, salt: salts.day.id) } ?? FewUsers() : nil)
                guard let user, let code else { return }
                sums.users.insert(code, salt: salts.day.id)
                sums.monthUsers.insert(ShortHash.code(for: user, key: salts.month.key), salt: salts.month.id)
            }
        }
    }

    private func newSalt() -> TelemetrySalt {
        let key = (0..<ShortHash.keyLength / 8).flatMap { _ in random().bigEndianBytes }
        return TelemetrySalt(id: max(1, Int64(truncatingIfNeeded: random() >> 1)), key: key)
    }

    // MARK: Writing and reading

    /// Writes the sums of the last seconds. Never fails: sums that cannot be written stay in memory.
    func flush() async {
        do { try await transaction { _ in } } catch { noteFailure(error) }
    }

    /// Writes the sums of the last seconds, then reads, both in one transaction.
    /// - Throws: the error of the disk. The sums stay in memory then.
    func transaction<Value: Sendable>(_ body: @escaping @Sendable (any TelemetryTable) throws -> Value) async throws -> Value {
        let value = try await storage.transaction(
            { [state, now = clock.now] table in
                let now = now()
                let (sums, salts, kept) = state.withLock { state in
                    state.salts.forget(before: now)
                    let (sums, salts) = (state.pending, state.salts.known)
                    (state.writing, state.pending) = ((sums, salts), TelemetryPending())
                    return (sums, salts, state.kept)
                }
                if salts != kept { try table.setSalts(salts) }
                try sums.write(to: table)
                try table.decide(at: now)
                try table.trim()
                return try body(table)
            },
            ended: { [state] isCommitted in
                state.withLock { state in
                    guard let writing = state.writing else { return }
                    if isCommitted { state.kept = writing.salts } else { state.pending.merge(writing.sums) }
                    state.writing = nil
                }
            })
        noteSuccess()
        return value
    }

    private func noteFailure(_ error: any Error) {
        guard
            state.withLock({ state in
                defer { state.isFailing = true }
                return !state.isFailing
            })
        else { return }
        logger.log(
            .error, "Telemetry cannot be written: its sums stay in memory until it can be",
            [
                .error: .string((error as? StoreError)?.text ?? String(describing: error)),
                .reason: .string((error as? StoreError)?.values["reason"] ?? ""),
            ])
    }

    private func noteSuccess() {
        let wasFailing = state.withLock { state in
            defer { state.isFailing = false }
            return state.isFailing
        }
        if wasFailing { logger.log(.notice, "Telemetry can be written again") }
    }
}

extension TelemetrySums {
    /// The largest number of bytes that one request counts for: a header may name any number.
    private static let bytesMax = 1 << 40

    /// Counts a request.
    /// - Parameter users: its user; nil in a public database.
    fileprivate mutating func count(_ request: FinishedRequest, of users: FewUsers?) {
        let (facts, microseconds) = (request.facts, request.duration.microseconds)
        let isError = request.status >= 400
        requests += 1
        if request.status >= 500 { serverErrors += 1 } else if isError { clientErrors += 1 }
        bytesIn += Int64(min(max(0, request.bytesIn), Self.bytesMax))
        bytesOut += Int64(min(request.bytesOut, Self.bytesMax))
        asked += Int64(facts.itemsAsked)
        answered += Int64(facts.itemsAnswered)
        self.microseconds += microseconds
        latency.record(microseconds: microseconds)
        let part = PartSums(requests: 1, errors: isError ? 1 : Int64(facts.itemsRefused), microseconds: microseconds, users: users)
        // Without a known sender any program could fill the names of clients with versions that it makes up.
        if facts.database != nil { add(part, to: TelemetryPart(.client, request.client)) }
        if let index = facts.index { add(part, to: TelemetryPart(.index, index)) }
        if isError {
            add(part, to: TelemetryPart(.code, facts.refusal?.code.rawValue ?? "HTTP \(request.status)"))
        } else {
            itemErrors += Int64(facts.itemsRefused)
            for (code, count) in facts.refusedItems {
                add(PartSums(requests: Int64(count), errors: Int64(count), users: users), to: TelemetryPart(.code, code.rawValue))
            }
        }
    }
}
