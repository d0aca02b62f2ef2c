import NacreCloudWire
import NacreRandom

/// Puts an older copy of the server's data back under devices that have seen later changes. Each device must be told
/// that its token expired, or end with a new device's state. No tag of a lost change may match a current one.
struct PutBackRound: Sendable {
    private static let recordType = "PutBack"
    private static let field = "n"
    /// Saves before the copy, and after it. Later come as many saves as were lost and some more, in case lost numbers
    /// are used again.
    private static let keptSaves = 12
    private static let lostSaves = 20
    private static let savesBeyond = 12
    /// Record names: few enough that saves meet existing records.
    private static let names = 24
    private static let followers = 6

    let asker: Asker
    let zoneID: ZoneID
    let restarts: TortureRestarts
    let putBacks: TorturePutBacks
    var random: SeededRandom

    /// A device: its copy of the zone, and its token.
    private struct Follower {
        var tags: [String: String] = [:]
        var token: String?
        var isTold = false

        mutating func begin() {
            tags = [:]
            token = nil
        }

        mutating func take(_ page: ChangesZoneResponse.Page) {
            for result in page.records {
                switch result {
                case .record(let record): tags[record.recordName] = record.recordChangeTag
                case .deleted(let tombstone): tags[tombstone.recordName] = nil
                case .failure: break
                }
            }
            token = page.syncToken
        }
    }

    /// Runs the round.
    /// - Returns: The violations, and how many devices were told that their token had expired.
    /// - Throws: `TortureFault`, `AskFault`.
    mutating func run() async throws -> (violations: [Violation], told: Int) {
        try await save(Self.keptSaves)
        var followers = [Follower](repeating: Follower(), count: Self.followers)
        for index in followers.indices.dropLast(2) { try await follow(&followers[index], isWhole: true) }
        try await putBacks.copy()
        try await save(Self.lostSaves)
        // The first follower has seen nothing of what will be lost, the second all of it; the others are in between.
        for index in followers.indices.dropFirst() { try await follow(&followers[index], isWhole: index == 1) }
        let lostTags = try await fresh().tags

        try await restarts.kill()
        try await putBacks.putBack()
        try await restarts.start()
        try await restarts.isUp()

        var violations: [Violation] = []
        let keptTags = try await fresh().tags
        if random.happens(onceIn: 2) { try await save(Self.lostSaves + Self.savesBeyond) }
        for (name, tag) in lostTags.sorted(by: { $0.key < $1.key }) where keptTags[name] != tag {
            if try await update(name, tag) {
                violations.append(Violation(.reusedTag, "\(name) was changed over the tag \(tag), which named a version that was lost"))
            }
        }
        for index in followers.indices {
            try await follow(&followers[index], isWhole: true)
            let truth = try await fresh().tags
            let wrong = Set(truth.keys).union(followers[index].tags.keys).filter { truth[$0] != followers[index].tags[$0] }.sorted()
            guard let first = wrong.first else { continue }
            let (shown, there) = (followers[index].tags[first] ?? "nothing", truth[first] ?? "nothing")
            violations.append(
                Violation(
                    .skippedChange,
                    "after an older copy was put back, a follower went on from its token and believes \(wrong.count) records wrongly: "
                        + "\(first) is \(there), and it has \(shown)"))
        }
        return (violations, followers.count(where: \.isTold))
    }

    // MARK: Requests

    private mutating func save(_ count: Int) async throws {
        for _ in 0..<count {
            let name = "p\(random.next() % UInt64(Self.names))"
            let isDeletion = random.happens(onceIn: 6)
            var change = RecordChange(recordName: name, recordType: isDeletion ? nil : Self.recordType)
            if !isDeletion { change.set = [Self.field: .int64(Int64(random.next() >> 1))] }
            _ = try await modify(RecordOperation(isDeletion ? .forceDelete : .forceUpdate, change))
        }
    }

    /// Updates a record.
    /// - Returns: Whether the server accepted it.
    private func update(_ name: String, _ tag: String) async throws -> Bool {
        let change = RecordChange(recordName: name, recordType: Self.recordType, recordChangeTag: tag, set: [Self.field: .int64(0)])
        if case .record? = try await modify(RecordOperation(.update, change)) { return true }
        return false
    }

    private func modify(_ operation: RecordOperation) async throws -> RecordResult? {
        let request = RecordsModifyRequest(operations: [operation], zoneID: zoneID, extension: RequestExtension(wantsDetails: true))
        return try await asker.ask("records/modify", request.json(), as: RecordsResponse.self).answer.records.first
    }

    private func fresh() async throws -> Follower {
        var follower = Follower()
        try await follow(&follower, isWhole: true)
        return follower
    }

    /// Reads on from the device's token, or from the beginning where it has expired.
    /// - Parameter isWhole: true: to the end; false: one small page.
    private func follow(_ follower: inout Follower, isWhole: Bool) async throws {
        while true {
            let item = ChangesZoneRequest.Item(zoneID: zoneID, syncToken: follower.token, resultsLimit: isWhole ? 50 : 5)
            let request = ChangesZoneRequest(zones: [item], extension: RequestExtension(wantsDetails: true))
            switch try await asker.ask("changes/zone", request.json(), as: ChangesZoneResponse.self).answer.zones.first {
            case .page(let page)?:
                follower.take(page)
                if !page.moreComing || !isWhole { return }
            case .failure(_, let error)?:
                guard error.isExpiry, follower.token != nil else { throw AskFault.refused(error) }
                follower.begin()
                follower.isTold = true
            case nil: throw AskFault.silent("one zone was asked for, and none answered")
            }
        }
    }
}
