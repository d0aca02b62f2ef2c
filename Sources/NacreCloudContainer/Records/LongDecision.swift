import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The decision would look at more than it may at its stage: at the writer, where other writes wait for it.
///
/// `Cloud.modifyRecords` then decides on a snapshot, beside the writer. Most requests that look at much write little:
/// they are refused (stale versions of large records, a fault in an atomic batch) or were done before. They are
/// answered from the snapshot, and the writer never decodes their records. A request that the snapshot would carry out
/// is decided again at the writer.
package struct LongDecision: Error {}

/// The stage at which a modify request is decided.
package enum DecisionStage: Sendable {
    /// At the writer, which throws `LongDecision` where that would look at too much.
    case writer
    /// On a snapshot first, then at the writer where something is to be written.
    case snapshot
}

/// The bytes of records that a decision may still look at.
package struct Patience: Sendable {
    package private(set) var bytes: Int
    private var meter: WorkMeter?

    /// The bound of a decision inside a write transaction, while other writes wait.
    static let ofWriter = Patience(bytes: Limits.decidedAtWriterBytes)
    /// No bound: another limit holds for what the decision looks at.
    static let endless = Patience(bytes: .max)

    /// - Parameter meter: the meter of the request that pays for the bytes, each time that they are looked at.
    package func paid(by meter: WorkMeter?) -> Patience {
        var patience = self
        patience.meter = meter
        return patience
    }

    /// Bytes to ask of a read that needs at most `most`. One byte above the bound shows that there are too many.
    package func bytes(upTo most: Int) -> Int { bytes < most ? bytes + 1 : most }

    package mutating func take(_ rows: [RecordRow]) throws { try take(rows.bodyBytes) }

    package mutating func take(_ more: Int) throws {
        meter?.add(bytes: more)
        guard more <= bytes else { throw LongDecision() }
        bytes -= more
    }
}

extension ReadTransaction {
    /// Returns the rows from which `WriteTransaction.advance` starts, without a new change number; nil where there is
    /// no such zone.
    ///
    /// Costs one call of the store each for the zone, the database and the operation, and one for each kind of entries
    /// in a database.
    package func standing(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries keys: [EntryKey]) throws -> Advance? {
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
