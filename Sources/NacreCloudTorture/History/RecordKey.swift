/// A record of a history. Names are used once: a slot whose record was deleted goes on under the next generation. So
/// "not there" has one meaning for each name, and the versions of a record are a chain.
package struct RecordKey: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The last generation of a slot, which is never deleted.
    package static let generationsMax = 0xffff

    /// The slot in the upper half, the generation in the lower.
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package init(slot: Int, generation: Int = 0) {
        rawValue = UInt32(truncatingIfNeeded: slot) << 16 | UInt32(truncatingIfNeeded: generation & Self.generationsMax)
    }

    /// Parses a name; nil for a name that no key has.
    package init?(name: String) {
        let parts = name.dropFirst().split(separator: "g", omittingEmptySubsequences: false)
        guard name.first == "s", parts.count == 2, let slot = UInt16(parts[0]), let generation = UInt16(parts[1]) else { return nil }
        self.init(slot: Int(slot), generation: Int(generation))
        guard self.name == name else { return nil }
    }

    package var slot: Int { Int(rawValue >> 16) }
    package var generation: Int { Int(rawValue & 0xffff) }
    package var name: String { "s\(slot)g\(generation)" }
    package var description: String { name }

    /// The slot's next record; nil after the last one.
    package var successor: RecordKey? {
        generation < Self.generationsMax ? RecordKey(slot: slot, generation: generation + 1) : nil
    }
}

/// A batch of a history: its writer, and its number there. Every record that it saves has it as a value.
package struct BatchID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Writers of one history.
    package static let writersMax = 200
    /// Batches of one writer.
    package static let batchesMax = 1 << 24 - 1

    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Makes an ID.
    /// - Parameters:
    ///   - writer: From 0.
    ///   - number: From 1.
    package init(writer: Int, number: Int) {
        rawValue = UInt32(truncatingIfNeeded: writer + 1) << 24 | UInt32(truncatingIfNeeded: number & 0xff_ffff)
    }

    package var description: String { "w\(Int(rawValue >> 24) - 1)#\(rawValue & 0xff_ffff)" }
}

/// A state in which a record can be seen: not there yet, as a batch left it, or deleted.
package struct Version: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package static let absent = Version(rawValue: 0)
    package static let deleted = Version(rawValue: .max)

    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package init(_ batch: BatchID) { rawValue = batch.rawValue }

    package var batch: BatchID? {
        self == .absent || self == .deleted ? nil : BatchID(rawValue: rawValue)
    }

    package var description: String {
        if self == .absent { return "absent" }
        return batch.map { "\($0)" } ?? "deleted"
    }
}
