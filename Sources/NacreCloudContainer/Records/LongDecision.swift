import NacreCloudWire

/// A decision would look at more than it may where it stands: at the writer, for which others wait.
///
/// `Cloud.modifyRecords` then decides on a snapshot, beside the writer. Most requests that look at much and have little to write are refused (stale
/// versions of large records, something that is wrong in a batch that is to be done whole) or were done before: these are answered from the snapshot, and the
/// writer never decodes their records. What the snapshot would write comes to the writer again, which decides anew.
package struct LongDecision: Error {}

/// Where a modify is decided.
package enum DecisionPlace: Sendable {
    /// At the writer, which gives up with `LongDecision` where that would look at much.
    case writer
    /// On a snapshot first; and at the writer what is to be written.
    case snapshot
}

/// How much a decision may look at.
struct Patience: Sendable {
    private(set) var bytes: Int
    private var meter: WorkMeter?

    /// Of others' writes, which wait for it.
    static let ofWriter = Patience(bytes: Limits.decidedAtWriterBytes)
    /// Of nobody else: there is another limit for what it looks at.
    static let endless = Patience(bytes: .max)

    /// - Parameter meter: of the request that pays for what is looked at, each time that it is.
    func paid(by meter: WorkMeter?) -> Patience {
        var patience = self
        patience.meter = meter
        return patience
    }

    /// How many bytes to read, where so many are enough: one more than there may be tells that there are too many.
    func bytes(upTo most: Int) -> Int { bytes < most ? bytes + 1 : most }

    mutating func take(_ rows: [RecordRow]) throws { try take(rows.bodyBytes) }

    mutating func take(_ more: Int) throws {
        meter?.add(bytes: more)
        guard more <= bytes else { throw LongDecision() }
        bytes -= more
    }
}

extension ReadTransaction {
    /// What `WriteTransaction.advance` starts from, without a change number; nil where there is no such zone. Costs a call of the store for the zone, one for
    /// the database, one for the operation, and one for each kind of entries in a database.
    func standing(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries keys: [EntryKey]) throws -> Advance? {
        guard let zone = try zones(in: database, named: [name]).first else { return nil }
        var found: [EntryRow] = []
        for (holder, keys) in Dictionary(grouping: keys, by: \.database) {
            for (kind, keys) in Dictionary(grouping: keys, by: \.kind) { found += try entries(in: holder, kind, keys: keys.map(\.key)) }
        }
        return Advance(
            run: zone.run, database: try databases([database]).first, zone: zone,
            operation: try id.flatMap { try operation(in: database, $0) }, entries: found)
    }
}
