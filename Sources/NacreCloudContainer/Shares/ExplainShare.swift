package import NacreCloudStorage
package import NacreCloudWire

/// The users who may see and write a record, through which share, and why.
package struct ShareExplanation: Hashable, Sendable {
    package struct Person: Hashable, Sendable {
        /// The user's record name; nil: the invitation is not claimed yet.
        package var userRecordName: String?
        /// The invited address; nil: the user was invited by name, or came by the URL.
        package var invited: String?
        package var role: ParticipantRole
        package var mayRead: Bool
        package var mayWrite: Bool
        /// The reason, in words.
        package var because: String
    }

    /// The name of the share's record; nil: only the owner sees the record.
    package var share: String?
    /// The shared root; nil where the whole zone is shared, or nothing is.
    package var root: String?
    /// The records from this one to the root, by their parents.
    package var path: [String] = []
    /// The owner, then the participants.
    package var people: [Person]
}

/// A share in the list of a user's shares.
package struct SharedLine: Hashable, Sendable {
    package var zoneName: String
    package var share: String
    package var root: String?
    package var publicPermission: SharePermission
    package var participants: Int
}

extension Cloud {
    /// Explains who sees a record, from the data that requests use. Costs four calls of the store, and one for each
    /// level above the record.
    /// - Throws: `ServerError.zoneNotFound`, `.recordNotFound`, `.recordDamaged`.
    package func explainShare(
        ofRecord name: String, zone zoneName: String, of owner: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> ShareExplanation {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: owner)
        let database = try await databaseID(key)
        return try await stored(of: key, zone: key.zoneID(zoneName)) {
            try await self.store.read { transaction in
                guard let zone = try transaction.zones(in: database, named: [zoneName]).first else {
                    throw ServerError.zoneNotFound(key.zoneID(zoneName))
                }
                guard let row = try transaction.records(in: zone.address, named: [name]).first else { throw ServerError.recordNotFound }
                let record = StoredRecord(row, in: zone.address, only: FieldNames([]))
                if record.isDamaged { throw ServerError.recordDamaged }
                guard record.isLive else { throw ServerError.recordNotFound }
                return try transaction.explanation(of: record, in: zone.address, owner: owner)
            }
        }
    }

    /// Lists the shares of a user's zones, zone by zone: that of the whole zone, or those of records. Stops at
    /// `Limits.recordSharesPerZone` shares. Costs a call of the store for each zone and one more for each that is
    /// shared, beside those that list the zones.
    package func listShares(
        of owner: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> [SharedLine] {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: owner)
        let database = try await databaseID(key)
        return try await stored(of: key) {
            try await self.store.read { transaction in
                var lines: [SharedLine] = []
                let zones = try transaction.allZones(in: database)
                let whole = Set(try transaction.entries(in: database, .zoneShare, after: nil, limit: Limits.zonesPerList).map(\.key.key))
                // A zone has an entry too where records of it are or were shared. Only the shares say what is shared.
                for zone in zones {
                    var names = whole.contains(zone.name) ? [ShareNames.ofZone] : []
                    names += try transaction.recordShares(in: zone.address, limit: Limits.recordSharesPerZone).map(\.share)
                    guard !names.isEmpty else { continue }
                    for row in try transaction.records(in: zone.address, named: names) {
                        guard let state = StoredRecord(row, in: zone.address).content.sharing, !row.isTombstone else { continue }
                        lines.append(
                            SharedLine(
                                zoneName: zone.name, share: row.name, root: state.root, publicPermission: state.publicPermission,
                                participants: state.participants.count + 1))
                        // An administrator who needs one particular share knows its name.
                        if lines.count == Limits.recordSharesPerZone { return lines }
                    }
                }
                return lines
            }
        }
    }
}

extension ReadTransaction {
    /// Returns who sees a record of a zone. Costs two calls, and one for each level above the record.
    package func explanation(of record: StoredRecord, in zone: ZoneAddress, owner: String) throws -> ShareExplanation {
        var found = ShareExplanation(
            people: [.init(userRecordName: owner, role: .owner, mayRead: true, mayWrite: true, because: "the zone is theirs")])
        if let whole = try zoneShare(in: zone), let state = whole.content.sharing {
            found.share = whole.row.name
            found.people += state.people(of: "the zone is shared as a whole")
            return found
        }
        guard let view = record.content.shared.view else { return found }
        let key = ShareEntries.share(of: zone, view)
        guard let entry = try entries(in: key.database, key.kind, keys: [key.key]).first else { return found }
        let (name, root) = try ShareEntries.read(entry)
        guard let share = try share(name, in: zone), let state = share.content.sharing else { return found }
        (found.share, found.root) = (name, root)
        var next: String? = record.row.name == name ? nil : record.row.name
        while let here = next, found.path.count < Limits.parentLevels {
            found.path.append(here)
            next = here == root ? nil : try heads(in: zone, named: [here]).first?.parent
        }
        found.people += state.people(
            of: record.row.name == name ? "it is their share" : record.row.name == root ? "it is shared" : "it hangs on \(root)")
        return found
    }
}

extension ShareState {
    /// - Parameter reason: why the record is theirs to see.
    fileprivate func people(of reason: String) -> [ShareExplanation.Person] {
        participants.map { participant in
            let access = participant.user.flatMap { self.access(of: $0) }
            let because: String
            if !participant.isAccepted {
                because = "they are invited and have not accepted"
            } else if let access {
                because = "\(reason), and they may \(access.mayWrite ? "read and write" : "read")"
            } else {
                because = "they may nothing"
            }
            return ShareExplanation.Person(
                userRecordName: participant.user, invited: participant.invitation?.address, role: participant.role, mayRead: access != nil,
                mayWrite: access?.mayWrite ?? false, because: because)
        }
    }
}

extension UserLookupInfo {
    fileprivate var address: String? {
        switch self {
        case .emailAddress(let text), .phoneNumber(let text): text
        case .userRecordName, .contactHash: nil
        }
    }
}
