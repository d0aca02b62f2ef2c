import Foundation
import NacreCloudTestSupport

/// Writes atomic batches, one after the other, and notes each with its answer.
///
/// A batch has 5 to 40 records, each with the batch's ID, its size and its own version. One of them, the seal, is
/// never written again and has a checksum over the others. Records of the writer are made, replaced (with their tag
/// or without), deleted and made again. One record of each zone belongs to all writers and counts, by
/// compare-and-set.
struct Writer: Sendable {
    static let counter = "counter"
    private static let sealPrefix = "seal."

    static func isSeal(_ record: String) -> Bool { record.hasPrefix(sealPrefix) }

    private struct Known {
        /// nil: deleted.
        var tag: String?
        var version: String
    }

    private let name: String
    private let zones: [String]
    private let client: SurvivingClient
    private let log: OutsideLog
    private var seed: SeededRandom
    private var own: [String: [String: Known]] = [:]
    private var count = 0

    init(_ name: String, zones: [String], client: SurvivingClient, log: OutsideLog, seed: SeededRandom) {
        self.name = name
        self.zones = zones
        self.client = client
        self.log = log
        self.seed = seed
    }

    mutating func run(while goesOn: @Sendable () -> Bool) async throws {
        while goesOn() {
            let zone = zones.randomElement(using: &seed) ?? zones[0]
            try await write(in: zone)
        }
    }

    private struct Draft {
        var id: String
        var size: Int
        var operations: [RawOperation] = []
        var writes: [ZoneNotes.Write] = []
    }

    private mutating func write(in zone: String) async throws {
        count += 1
        var draft = Draft(id: "\(name).\(count)", size: Int.random(in: 5...40, using: &seed))
        if seed.chance(3) { try await addCounter(to: &draft, in: zone) }
        let names = own[zone, default: [:]].keys.sorted().shuffled(using: &seed)
        var rest = names[...]
        while draft.writes.count < draft.size - 1 {
            if seed.chance(2), let known = rest.popFirst() {
                change(known, in: zone, &draft)
            } else {
                add("create", "\(draft.id).\(draft.writes.count)", follows: nil, tag: nil, to: &draft)
            }
        }
        seal(&draft)
        try await send(draft, in: zone)
    }

    private mutating func change(_ record: String, in zone: String, _ draft: inout Draft) {
        guard let known = own[zone]?[record] else { return }
        guard let tag = known.tag else { return add("create", record, follows: known.version, tag: nil, to: &draft) }
        switch Int.random(in: 0..<6, using: &seed) {
        case 0: add("delete", record, follows: known.version, tag: tag, to: &draft)
        case 1: add("forceDelete", record, follows: known.version, tag: nil, to: &draft)
        case 2: add("update", record, follows: known.version, tag: tag, to: &draft)
        case 3: add("replace", record, follows: known.version, tag: tag, to: &draft)
        default: add("forceUpdate", record, follows: known.version, tag: nil, to: &draft)
        }
    }

    private func add(_ type: String, _ record: String, follows: String?, tag: String?, to draft: inout Draft, number: Int64? = nil) {
        let version = "\(draft.id)#\(draft.writes.count)"
        let isDeletion = type.lowercased().contains("delete")
        var fields: [String: RawField]?
        if !isDeletion {
            fields = [
                "version": RawField(value: .text(version)), "batch": RawField(value: .text(draft.id)),
                "size": RawField(value: .number(Int64(draft.size))),
            ]
            if let number { fields?["number"] = RawField(value: .number(number)) }
        }
        draft.operations.append(
            RawOperation(
                operationType: type,
                record: RawRecord(recordName: record, recordType: isDeletion ? nil : "Member", recordChangeTag: tag, fields: fields)))
        draft.writes.append(ZoneNotes.Write(record: record, version: version, follows: follows, isDeletion: isDeletion))
    }

    /// Adds one to the record that all writers share: it is made once, and later replaced over its known tag.
    private func addCounter(to draft: inout Draft, in zone: String) async throws {
        let found = try await client.post("records/lookup", RawLookup([Self.counter], in: zone), as: RawRecords.self).records[0]
        let number = (found.number("number") ?? 0) + 1
        add(
            found.recordChangeTag == nil ? "create" : "update", Self.counter, follows: found.text("version"), tag: found.recordChangeTag,
            to: &draft, number: number)
    }

    private mutating func seal(_ draft: inout Draft) {
        let members = draft.writes
        add("create", Self.sealPrefix + draft.id, follows: nil, tag: nil, to: &draft)
        let place = draft.operations.count - 1
        draft.operations[place].record.recordType = "Seal"
        draft.operations[place].record.fields?["members"] = RawField(value: .texts(members.map(\.record)))
        draft.operations[place].record.fields?["checksum"] = RawField(value: .text(Self.checksum(of: members.map(\.version))))
    }

    /// FNV-1a over the versions of a batch.
    static func checksum(of versions: [String]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in versions.joined(separator: "\n").utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return String(hash, radix: 16)
    }

    private mutating func send(_ draft: Draft, in zone: String) async throws {
        var batch = ZoneNotes.Batch(id: draft.id, writes: draft.writes, begun: log.tick(), ended: .max, outcome: .refused)
        log.begin(batch, in: zone)
        let request = RawModify(
            operations: draft.operations, zoneID: RawZoneID(zoneName: zone), atomic: true, nacre: RawExtension(operationID: "op.\(draft.id)"))
        let answer = try await client.post("records/modify", request, as: RawRecords.self)
        batch.ended = log.tick()
        let failed = answer.records.filter { $0.serverErrorCode != nil }
        let isWhole = answer.records.count == batch.writes.count && (failed.isEmpty || failed.count == batch.writes.count)
        guard isWhole, failed.allSatisfy({ ["CONFLICT", "ATOMIC_ERROR"].contains($0.serverErrorCode) }) else {
            throw UnexpectedAnswer(status: 200, body: "to batch \(draft.id): \(failed)")
        }
        if failed.isEmpty {
            let sightings = answer.records.compactMap(ZoneNotes.Sighting.init)
            batch.outcome = .acknowledged(sightings)
            remember(batch, sightings, in: zone)
        }
        log.end(batch, in: zone)
    }

    private mutating func remember(_ batch: ZoneNotes.Batch, _ sightings: [ZoneNotes.Sighting], in zone: String) {
        for (write, sighting) in zip(batch.writes, sightings) where write.record != Self.counter && !Self.isSeal(write.record) {
            own[zone, default: [:]][write.record] = Known(tag: sighting.tag, version: write.version)
        }
    }
}
