import NacreCrypto

/// The list of who takes part in a scope, and of the keys that count in it. A device of the owner or of an
/// administrator signs it.
package struct ScopeManifest: SignedForm {
    /// The values are those of `CKShare.ParticipantPermission`.
    package enum Permission: UInt8, Sendable {
        case none = 1
        case readOnly = 2
        case readWrite = 3
    }

    /// The values are those of `CKShare.ParticipantRole`.
    package enum Role: UInt8, Sendable {
        case owner = 1
        case administrator = 2
        case privateUser = 3
        case publicUser = 4
    }

    package struct Participant: Hashable, Sendable {
        /// The name of the user's record.
        package let user: String
        package let fingerprint: Digest
        /// The newest statement of the participant's log that the signer had seen.
        package let head: ChainHead
        package let permission: Permission
        package let role: Role

        package init(user: String, fingerprint: Digest, head: ChainHead, permission: Permission, role: Role) {
            self.user = user
            self.fingerprint = fingerprint
            self.head = head
            self.permission = permission
            self.role = role
        }

        /// Whether the account may sign a next manifest: `Parts.mayBeSigned` says which.
        package var maySign: Bool { isOfSigners && permission != .none }

        fileprivate var isOfSigners: Bool { role == .owner || role == .administrator }

        /// Whether two entries give one account the same rights, whatever was seen of its log.
        package func hasSameRights(as other: Self) -> Bool {
            user.utf8.elementsEqual(other.user.utf8) && fingerprint == other.fingerprint && permission == other.permission && role == other.role
        }
    }

    /// The parts that are signed, but for the signer.
    package struct Parts: Hashable, Sendable {
        package var place: Place
        package var scope: ScopeID
        /// The name of the record at the root of a share; empty for a zone.
        package var root: String
        package var number: UInt64
        /// Milliseconds since 1970.
        package var stamp: UInt64
        /// The hash of the manifest before; zeros for the first, whose number is 0.
        package var before: Digest
        /// The newest version of the scope's key, from 1.
        package var version: UInt32
        /// The oldest version that readers take.
        package var oldest: UInt32
        /// The proofs of the versions from `oldest` to `version`.
        package var keyProofs: [Digest]
        /// Participants in the order of their names. One is the owner.
        package var participants: [Participant]
        /// The permission of a user who comes by the share's link.
        package var linkPermission: Permission

        package init(
            place: Place, scope: ScopeID, root: String, number: UInt64, stamp: UInt64, before: Digest, version: UInt32, oldest: UInt32,
            keyProofs: [Digest], participants: [Participant], linkPermission: Permission
        ) {
            self.place = place
            self.scope = scope
            self.root = root
            self.number = number
            self.stamp = stamp
            self.before = before
            self.version = version
            self.oldest = oldest
            self.keyProofs = keyProofs
            self.participants = participants.sorted { $0.user.utf8.lexicographicallyPrecedes($1.user.utf8) }
            self.linkPermission = linkPermission
        }
    }

    package static let kinds: [FormKind] = [.scopeManifest]

    package let parts: Parts
    /// The fingerprint of the signer's account.
    package let signer: Digest
    package let device: DeviceID
    package let signature: Signature

    package var kind: FormKind { .scopeManifest }

    /// Makes a manifest.
    /// - Throws: A fault for parts that `Form.init` would refuse, or what `sign` throws.
    package init(parts: Parts, signer: Digest, device: DeviceID, sign: ([UInt8]) throws -> Signature) throws {
        if let fault = parts.fault { throw fault }
        self.parts = parts
        self.signer = signer
        self.device = device
        var writer = FormWriter(capacity: 512)
        writer.integer(Suite.current)
        writer.integer(FormKind.scopeManifest.rawValue)
        Self.write(parts, signer: signer, device: device, to: &writer)
        signature = try sign(writer.written)
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        parts = try Parts(reader: &reader)
        signer = try reader.fixed()
        device = try reader.fixed()
        signature = try reader.fixed()
    }

    package func writeSignedParts(to writer: inout FormWriter) {
        Self.write(parts, signer: signer, device: device, to: &writer)
    }

    private static func write(_ parts: Parts, signer: Digest, device: DeviceID, to writer: inout FormWriter) {
        parts.write(to: &writer)
        writer.fixed(signer)
        writer.fixed(device)
    }

    package var head: ChainHead { ChainHead(number: parts.number, hash: hash) }
}

extension ScopeManifest.Parts {
    fileprivate init(reader: inout FormReader) throws(FormFault) {
        place = try Place(reader: &reader)
        scope = try reader.fixed()
        root = try reader.text("root record")
        number = try reader.integer()
        stamp = try reader.integer()
        before = try reader.fixed()
        version = try reader.integer()
        oldest = try reader.integer()
        keyProofs = try reader.list(least: Digest.length) { reader throws(FormFault) in try reader.fixed() }
        // The least: a name of one byte, a fingerprint, a head, permission and role.
        participants = try reader.list(least: 3 + Digest.length + 8 + Digest.length + 2) { reader throws(FormFault) in
            try ScopeManifest.Participant(reader: &reader)
        }
        linkPermission = try ScopeManifest.Permission(reader: &reader)
        if let fault { throw fault }
    }

    /// The fault of parts that were put together, or read.
    fileprivate var fault: FormFault? {
        guard !place.zone.isEmpty else { return .invalid("zone") }
        guard root.utf8.count <= FormReader.textBytesMax else { return .invalid("root record") }
        guard stamp <= RecordManifest.stampMax else { return .invalid("stamp") }
        guard (number == 0) == (before == .none) else { return .invalid("hash of the manifest before") }
        guard oldest > 0, oldest <= version else { return .invalid("oldest version") }
        guard keyProofs.count <= Int(UInt16.max), keyProofs.count == Int(version - oldest) + 1 else { return .invalid("number of key proofs") }
        guard participants.count <= Int(UInt16.max), participants.allSatisfy({ !$0.user.isEmpty && $0.user.utf8.count <= FormReader.textBytesMax })
        else { return .invalid("participants") }
        guard participants.rises(by: \.user) else { return .outOfOrder("participants") }
        guard Set(participants.map(\.fingerprint)).count == participants.count else { return .outOfOrder("participants' accounts") }
        let owners = participants.filter { $0.role == .owner }
        guard owners.count == 1, owners[0].user.utf8.elementsEqual(place.owner.user.utf8), owners[0].permission == .readWrite else {
            return .invalid("owner among the participants")
        }
        return nil
    }

    fileprivate func write(to writer: inout FormWriter) {
        place.write(to: &writer)
        writer.fixed(scope)
        writer.text(root)
        writer.integer(number)
        writer.integer(stamp)
        writer.fixed(before)
        writer.integer(version)
        writer.integer(oldest)
        writer.list(keyProofs) { $0.fixed($1) }
        writer.list(participants) { $1.write(to: &$0) }
        writer.integer(linkPermission.rawValue)
    }

    /// The participant who owns the scope.
    package var owner: ScopeManifest.Participant? { participants.first { $0.role == .owner } }

    /// Whether the scope's key is anybody's but the owner's.
    package var isShared: Bool { participants.count > 1 || linkPermission != .none }

    /// The fingerprints of the accounts of the list that have a permission.
    package var readers: Set<Digest> { Set(participants.filter { permission(of: $0) != .none }.map(\.fingerprint)) }

    package func participant(_ fingerprint: Digest) -> ScopeManifest.Participant? {
        participants.first { $0.fingerprint == fingerprint }
    }

    /// Returns the permission of an account. A user who came by the link has the link's, in the list or not.
    package func permission(of fingerprint: Digest) -> ScopeManifest.Permission {
        participant(fingerprint).map(permission) ?? linkPermission
    }

    private func permission(of participant: ScopeManifest.Participant) -> ScopeManifest.Permission {
        participant.role == .publicUser ? linkPermission : participant.permission
    }

    /// Whether an account may sign these parts after those of the manifest before. The owner may sign any. An
    /// administrator may sign those that leave the owner, all administrators and the oldest version as they are: only
    /// the owner makes, changes and removes administrators, and ends older keys.
    package func mayBeSigned(by account: Digest, after before: Self) -> Bool {
        guard let signer = before.participant(account), signer.maySign else { return false }
        return signer.role == .owner || leavesToOwner(before)
    }

    private func leavesToOwner(_ before: Self) -> Bool {
        let (old, new) = (before.participants.filter(\.isOfSigners), participants.filter(\.isOfSigners))
        return oldest == before.oldest && new.elementsEqual(old) { $0.hasSameRights(as: $1) }
    }

    /// Whether somebody may do less here than before: an account of the list, or whoever comes by the link. An account
    /// that is not in the list any more may do nothing, also if it could return by the link.
    package func takesAway(from old: Self) -> Bool {
        let after = Dictionary(participants.map { ($0.fingerprint, permission(of: $0)) }, uniquingKeysWith: { first, _ in first })
        return linkPermission.rawValue < old.linkPermission.rawValue
            || old.participants.contains {
                after[$0.fingerprint, default: .none].rawValue < old.permission(of: $0).rawValue
            }
    }

    /// Whether no participant has an older head than before, with which a removed device would count again.
    func heads(extend old: Self) -> Bool {
        let before = Dictionary(old.participants.map { ($0.fingerprint, $0.head) }, uniquingKeysWith: { first, _ in first })
        return participants.allSatisfy { participant in
            before[participant.fingerprint].map { $0.number < participant.head.number || $0 == participant.head } ?? true
        }
    }

    /// Returns the parent that the manifest of a record has. Participants of a share do not see the parent of its root,
    /// so that it is left out.
    /// - Parameter parent: The name of the record's parent; empty for none.
    package func boundParent(of record: String, _ parent: String) -> String {
        isRoot(record) ? "" : parent
    }

    /// Whether the scope is that of a share of records with this record at its root.
    package func isRoot(_ record: String) -> Bool { root.utf8.elementsEqual(record.utf8) }

    /// Returns the proof of a version; nil for a version that readers do not take.
    package func keyProof(of version: UInt32) -> Digest? {
        guard version >= oldest, version <= self.version else { return nil }
        return keyProofs[Int(version - oldest)]
    }

    package var keyID: KeyID? { KeyID(scope: scope, version: version) }
}

extension ScopeManifest.Participant {
    fileprivate init(reader: inout FormReader) throws(FormFault) {
        user = try reader.name("participant")
        fingerprint = try reader.fixed()
        head = try ChainHead(reader: &reader)
        permission = try ScopeManifest.Permission(reader: &reader)
        let number = try reader.integer(UInt8.self)
        guard let role = ScopeManifest.Role(rawValue: number) else { throw .invalid("role") }
        self.role = role
    }

    fileprivate func write(to writer: inout FormWriter) {
        writer.text(user)
        writer.fixed(fingerprint)
        head.write(to: &writer)
        writer.integer(permission.rawValue)
        writer.integer(role.rawValue)
    }
}

extension ScopeManifest.Permission {
    fileprivate init(reader: inout FormReader) throws(FormFault) {
        guard let permission = Self(rawValue: try reader.integer()) else { throw .invalid("permission") }
        self = permission
    }
}
