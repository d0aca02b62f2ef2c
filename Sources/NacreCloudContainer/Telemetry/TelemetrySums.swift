import NacreCloudStorage

/// Sums over requests. Sums of parts are merged into those of the whole.
package struct TelemetrySums: Hashable, Sendable {
    package var requests: Int64 = 0
    /// Requests that were answered with a status from 400 to 499.
    package var clientErrors: Int64 = 0
    /// Requests that were answered with a status from 500 on.
    package var serverErrors: Int64 = 0
    /// Items that were refused in answers with status 200.
    package var itemErrors: Int64 = 0
    package var bytesIn: Int64 = 0
    package var bytesOut: Int64 = 0
    /// Items that requests named, and that answers held.
    package var asked: Int64 = 0
    package var answered: Int64 = 0
    /// The time of all requests together.
    package var microseconds: Int64 = 0
    package var latency = LatencyHistogram()
    package private(set) var parts: [TelemetryPart: PartSums] = [:]
    /// Users who asked, hashed with the salt of the day.
    package var users = UserSketch()
    /// The same with the salt of the month; only in slots of a day.
    package var monthUsers = UserSketch()
    /// Bytes of records, of a series that says what is stored.
    package var stored: Stored?

    /// Sums over a part of the requests: those of one client, or with one error.
    package struct PartSums: Hashable, Sendable {
        package var requests: Int64 = 0
        package var errors: Int64 = 0
        package var microseconds: Int64 = 0
        /// Users of private and shared databases whose requests no finer row tells by the part's name; nil: there are
        /// no such requests. A part of a decided row is told by its name if this is nil.
        package var users: FewUsers?

        package init(requests: Int64 = 0, errors: Int64 = 0, microseconds: Int64 = 0, users: FewUsers? = nil) {
            (self.requests, self.errors, self.microseconds, self.users) = (requests, errors, microseconds, users)
        }
    }

    /// Bytes at a time. The later one of two counts.
    package struct Stored: Hashable, Sendable {
        package var milliseconds: Int64
        package var bytes: Int64

        package init(milliseconds: Int64, bytes: Int64) { (self.milliseconds, self.bytes) = (milliseconds, bytes) }
    }

    package init() {}

    package var errors: Int64 { clientErrors + serverErrors }

    /// Adds to a part. Parts beyond the bound of their kind are added to `other`.
    package mutating func add(_ sums: PartSums, to part: TelemetryPart) {
        if let index = parts.index(forKey: part) { return parts.values[index].merge(sums) }
        let part = parts.keys.count(where: { $0.kind == part.kind }) < TelemetryPart.most ? part : part.other
        parts[part, default: PartSums()].merge(sums)
    }

    package mutating func merge(_ other: TelemetrySums) {
        requests &+= other.requests
        clientErrors &+= other.clientErrors
        serverErrors &+= other.serverErrors
        itemErrors &+= other.itemErrors
        bytesIn &+= other.bytesIn
        bytesOut &+= other.bytesOut
        asked &+= other.asked
        answered &+= other.answered
        microseconds &+= other.microseconds
        latency.merge(other.latency)
        for (part, sums) in other.parts { add(sums, to: part) }
        users.merge(other.users)
        monthUsers.merge(other.monthUsers)
        if let new = other.stored, new.milliseconds >= stored?.milliseconds ?? .min { stored = new }
    }
}

extension TelemetrySums.PartSums {
    package mutating func merge(_ other: Self) {
        requests &+= other.requests
        errors &+= other.errors
        microseconds &+= other.microseconds
        if let new = other.users {
            var all = users ?? FewUsers()
            all.merge(new)
            users = all
        }
    }
}

// MARK: Parts of few users

extension TelemetrySums {
    /// The same sums, with the parts of few users as `other`.
    package var told: TelemetrySums {
        var told = self
        told.parts = [:]
        for (part, sums) in parts where sums.users == nil { told.parts[part] = sums }
        for (part, sums) in parts where sums.users != nil { told.parts[part.other, default: PartSums()].merge(sums) }
        return told
    }

    /// Decides which parts of a row are told by their names: those whose requests no finer row tells by that name are
    /// none, or of enough users, as `TelemetryRow` decides on the whole.
    /// - Parameter isShown: whether the row is.
    /// - Returns: the users of the other parts, which are left to the coarser row.
    mutating func decideParts(isShown: Bool) -> [TelemetryPart: FewUsers] {
        var left: [TelemetryPart: FewUsers] = [:]
        for (part, sums) in parts {
            guard let users = sums.users else { continue }
            if isShown, TelemetryRow.verdict(uncovered: users.atLeast) == .shown { parts[part]?.users = nil } else { left[part] = users }
        }
        return left
    }

    /// Adds users to those of the parts that are kept under their own names.
    /// - Returns: the users of the others.
    mutating func cover(nothingOf users: [TelemetryPart: FewUsers]) -> [TelemetryPart: FewUsers] {
        for (part, users) in users where parts[part] != nil { parts[part]?.merge(PartSums(users: users)) }
        return users.filter { parts[$0.key] == nil }
    }

    /// Forgets the users of the parts that other sums have under their own names, because those sums cover them.
    mutating func forgetUsers(ofPartsIn other: TelemetrySums) {
        for part in parts.keys where other.parts[part] != nil { parts[part]?.users = nil }
    }
}

/// A property by which the requests of a series are told apart.
package struct TelemetryPart: Hashable, Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// The error code that a client was told.
        case code
        /// The kind of client, with its version if that is known.
        case client
        /// The index that answered a query.
        case index
    }

    /// The parts of one kind that a row keeps; further ones are `other`.
    package static let most = 24
    private static let charactersMax = 64

    package var kind: Kind
    package var name: String

    package init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name.utf8.count <= Self.charactersMax ? name : String(name.prefix(Self.charactersMax))
    }

    var other: TelemetryPart { TelemetryPart(kind, "other") }
}

// MARK: The kept form

extension TelemetrySums {
    private static let version: UInt8 = 2

    func write(to writer: inout ByteWriter) {
        writer.byte(Self.version)
        for number in [requests, clientErrors, serverErrors, itemErrors, bytesIn, bytesOut, asked, answered, microseconds] { writer.signed(number) }
        writer.write(latency)
        writer.number(UInt64(parts.count))
        for (part, sums) in parts {
            writer.byte(part.kind.rawValue)
            writer.string(part.name)
            for number in [sums.requests, sums.errors, sums.microseconds] { writer.signed(number) }
            writer.byte(sums.users == nil ? 0 : 1)
            if let users = sums.users { writer.write(users) }
        }
        writer.write(users)
        writer.write(monthUsers)
        writer.byte(stored == nil ? 0 : 1)
        if let stored {
            writer.signed(stored.milliseconds)
            writer.signed(stored.bytes)
        }
    }

    init(_ reader: inout ByteReader) throws(MalformedBytes) {
        guard try reader.byte() == Self.version else { throw MalformedBytes() }
        requests = try reader.signed()
        clientErrors = try reader.signed()
        serverErrors = try reader.signed()
        itemErrors = try reader.signed()
        bytesIn = try reader.signed()
        bytesOut = try reader.signed()
        asked = try reader.signed()
        answered = try reader.signed()
        microseconds = try reader.signed()
        latency = try reader.histogram()
        for _ in 0..<(try reader.count()) {
            guard let kind = TelemetryPart.Kind(rawValue: try reader.byte()) else { throw MalformedBytes() }
            let part = TelemetryPart(kind, try reader.string())
            var sums = PartSums(requests: try reader.signed(), errors: try reader.signed(), microseconds: try reader.signed())
            if try reader.byte() == 1 { sums.users = try reader.fewUsers() }
            parts[part] = sums
        }
        users = try reader.sketch()
        monthUsers = try reader.sketch()
        if try reader.byte() == 1 { stored = Stored(milliseconds: try reader.signed(), bytes: try reader.signed()) }
    }
}
