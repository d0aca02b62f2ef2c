package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

/// A record as a transaction found it: its row, and the content decoded from the row.
package struct StoredRecord: Equatable, Sendable {
    package var row: RecordRow
    /// The content of the row's body; without fields where the record is damaged.
    package var content: RecordContent
    /// The error of a damaged record, whose row is not as it was written; nil for a sound one. Only a damaged record's
    /// name is sure.
    package private(set) var damage: StoreError?
    /// Bytes of the body in the store, even where `row.body` was dropped.
    private let bodyBytes: Int

    package init(row: RecordRow, content: RecordContent) {
        self.row = row
        self.content = content
        bodyBytes = row.body.count
    }

    /// - Parameter wanted: the only fields to decode. The body is dropped then: the record takes little memory, and
    ///   cannot be written again. nil: all of it.
    package init(_ row: RecordRow, in zone: ZoneAddress, only wanted: FieldNames? = nil) {
        self.row = row
        bodyBytes = row.body.count
        do {
            content = try RecordBody.decode(row, in: zone, only: wanted)
        } catch {
            content = RecordContent.unknown
            damage = error
        }
        if wanted != nil { self.row.body = [] }
    }

    /// The record exists, and its row is as it was written.
    package var isLive: Bool { isThere && !isDamaged }
    package var isDamaged: Bool { damage != nil }
    /// The check found the record damaged: its columns are sure, and nothing more.
    package var isLost: Bool { damage.map(RecordBody.isLost) ?? false }
    /// The record exists, damaged or not, and others may refer to it.
    package var isThere: Bool { !row.isTombstone }
    /// Bytes that count for the quota of the database: the body and the files of the assets.
    package var countedBytes: Int { isThere ? bodyBytes + assetBytes : 0 }
    /// Bytes of the files of the record's assets.
    package var assetBytes: Int { Int(clamping: content.fields.assetBytes) }
}

extension StoreClient {
    /// Reports damaged records that a request met to the server's log.
    package func report(_ damaged: [StoredRecord], of key: DatabaseKey, _ zoneID: ZoneID) {
        for record in damaged.sorted(by: { ByteOrder.compare($0.row.name, $1.row.name) < 0 }) {
            if let damage = record.damage { failed(damage.met(in: key, zoneID.zoneName)) }
        }
    }
}

/// The verdict of the rules on one operation on one record.
package enum RecordVerdict: Equatable, Sendable {
    /// The record's next state.
    package struct Save: Equatable, Sendable {
        package let type: String
        package let parent: String?
        package let fields: RecordFields
        /// The references in `fields` that do more than point.
        package let references: [BindingReference]
        /// The record or tombstone that the save replaces; nil: the zone has no row with the name.
        package let over: StoredRecord?
        /// The permissions of a share from now on; nil for a record that is no share.
        package let sharing: ShareState?
        /// The schema lacks the record's type, or some of its fields.
        var extendsSchema = false
        /// The manifest of the encrypted values; nil: the record has none.
        var manifest: [UInt8]?

        package init(type: String, parent: String?, fields: RecordFields, sharing: ShareState? = nil, over: StoredRecord?) {
            self.type = type
            self.parent = parent
            self.fields = fields
            references = fields.bindingReferences
            self.sharing = sharing
            self.over = over
        }

        /// Names of the records whose deletion takes this one along.
        package var owners: Set<String> { references.owners }
    }

    case save(Save)
    case delete
    /// The record to delete does not exist, which is not an error.
    case nothing
    case refuse(ServerError)
}

/// The database, caller and time of an operation, as far as the verdict depends on them.
package struct RecordSetting: Sendable {
    package var scope: DatabaseKey.Scope
    package var environment: DatabaseKey.Environment
    package var caller: Caller
    /// The client is shown times below a millisecond and the keys of encrypted values.
    var seesDetails = true
    package var schema = Schema()
    /// The caller's roles that the schema declares.
    var customRoles: Set<String> = []
    /// Assets that the request brings.
    package var assets = SentAssets()
    /// The caller's membership in the zone: owner, participant or guest.
    var membership = ZoneMembership.owner
    /// CloudKit: zones with a feed can be shared, and no others.
    package var hasFeed = true
    /// The GUIDs in the URLs of the shares that the request may make, by the record at the root; nil: the whole zone.
    var shareGUIDs: [String?: String] = [:]
    /// The newest version of the key of each scope of the zone, which seals encrypted values.
    var newestKeys: [ScopeID: UInt32] = [:]
    /// The user record name of the database's owner.
    package var owner = ""
    /// The time at which participants are added to a share, and beyond which no manifest's stamp may lie by far.
    package var now = Timestamp(secondsSince2001: 0)
    /// Draws the secret of a one-time URL that has to change; nil: the URL leads nowhere then.
    package var secret: @Sendable () -> String? = { nil }

    /// The caller's permissions on a record that exists.
    package func permissions(on record: StoredRecord) -> Permissions {
        permissions(on: record.row.type, asCreator: record.isMade(by: caller))
    }

    /// Names of the stored records that the caller may not read.
    package func hidden(of stored: [String: StoredRecord]) -> Set<String> {
        if case .guest = membership { return Set(stored.lazy.filter { self.hides($0.value) }.map(\.key)) }
        guard scope == .public else { return [] }
        return Set(stored.lazy.filter { !permissions(on: $0.value).contains(.read) }.map(\.key))
    }

    /// Whether a record is hidden from a guest, who sees only what shares of records show. A damaged one is: its view
    /// is unknown.
    package func hides(_ record: StoredRecord) -> Bool {
        record.isThere && membership.access(to: record.content.shared.view) == nil
    }

    /// The caller's permissions on records of a type. CloudKit: roles are for public databases. A private database is
    /// its owner's.
    package func permissions(on type: String, asCreator: Bool) -> Permissions {
        guard scope == .public else { return [.read, .create, .write] }
        return schema.permissions(of: CallerRoles(caller, custom: customRoles), on: type, asCreator: asCreator)
    }
}

extension RecordVerdict {
    /// Decides one operation by CloudKit's rules: Web Services Reference, "Modifying Records", the table of operation
    /// types; `CKModifyRecordsOperation.RecordSavePolicy`.
    ///
    /// - Parameters:
    ///   - manifest: the manifest that the operation brings.
    ///   - found: the record with that name: live, damaged, a tombstone, or nil.
    package init(_ operation: RecordOperation, _ manifest: SentManifest? = nil, over found: StoredRecord?, in setting: RecordSetting) {
        let isHidden = found.map(setting.hides) ?? false
        if isHidden, let fault = setting.membership.mayWrite ? Self.faultOfTakenName(operation) : nil {
            self = .refuse(fault)
            return
        }
        let existing = isHidden ? nil : found
        if let existing, existing.isDamaged, let fault = Self.faultOfDamage(operation, setting) {
            self = .refuse(fault)
            return
        }
        let live = existing.flatMap { $0.isLive ? $0 : nil }
        var operation = operation
        // A guest does not see the parent of a shared root, and must not clear it.
        if !setting.membership.seesAll, live?.content.shared.share != nil, operation.change.parent == .clear { operation.change.parent = .keep }
        if !setting.seesDetails, let live { operation.change.set.restore(from: live.content.fields) }
        let fault =
            Self.faultOfHidden(operation, live, setting) ?? Self.faultOfMembership(operation, live, setting) ?? Self.faultOfVersion(operation, live)
            ?? Self.faultOfRole(operation, live, setting) ?? Self.faultOfUser(operation, live, setting)
        if let fault {
            self = .refuse(fault)
            return
        }
        if operation.type.isDelete {
            self = live == nil && existing?.isDamaged != true ? .nothing : live.flatMap { Self.leaving($0, setting) } ?? .delete
            return
        }
        guard let type = operation.change.recordType ?? live?.row.type else {
            self = .refuse(.missing("recordType"))
            return
        }
        if let fault = Self.faultOfType(type, live, setting) ?? Self.faultOfFields(operation.change, of: type, setting) {
            self = .refuse(fault)
            return
        }
        let recordName = operation.change.recordName
        let use = { (field: String) in
            AssetUse(recordName: recordName, recordType: type, fieldName: field, sender: setting.caller.userRecordName)
        }
        if let fault = operation.change.set.keepAssets(over: live?.content.fields, use, in: setting.assets) {
            self = .refuse(fault)
            return
        }
        let fitted: RecordFields
        let extendsSchema: Bool
        switch setting.schema.verdict(on: operation.change, of: type, in: setting.environment, by: setting.caller.client) {
        case .fits(let fields): (fitted, extendsSchema) = (fields, false)
        case .adds(let fields): (fitted, extendsSchema) = (fields, true)
        case .refuse(let fault):
            self = .refuse(fault)
            return
        }
        do throws(ServerError) {
            let sharing = try Self.sharing(after: operation.change, of: type, live, setting).get()
            var save = Self.next(operation, setting: fitted, type: type, sharing: sharing, live: live, tombstone: existing)
            if sharing != nil, save.parent != nil || !save.references.isEmpty { throw .shareRefersToNothing }
            if save.fields.byteCount > Limits.recordBytes { throw .recordTooLarge }
            save.manifest = try save.manifest(manifest, by: operation, newest: setting.newestKeys, now: setting.now)
            // Fields that were kept before there was a schema come into it with the record's next save.
            save.extendsSchema =
                extendsSchema || setting.schema.hasOlderRecords && setting.schema.lacking(of: type, with: save.fields) != nil
            self = .save(save)
        } catch {
            self = .refuse(error)
        }
    }

    /// Returns the error of an operation on a damaged record; nil for a forced operation that needs nothing of what was
    /// there. In the public database the creator is lost with the body, and no user may claim the record. See
    /// `docs/decisions/records-damage.md`.
    private static func faultOfDamage(_ operation: RecordOperation, _ setting: RecordSetting) -> ServerError? {
        if setting.scope == .public { return .recordDamagedInPublic }
        switch operation.type {
        case .forceReplace, .forceDelete: return nil
        case .forceUpdate: return operation.change.carriesAllKeys ? nil : .recordDamagedBeneathMerge
        case .create, .update, .replace, .delete: return .recordDamaged
        }
    }

    /// Returns the error where the record's existence or version is not what the operation asks for.
    private static func faultOfVersion(_ operation: RecordOperation, _ live: StoredRecord?) -> ServerError? {
        let tag = operation.change.recordChangeTag
        switch (operation.type, live) {
        case (.create, _?):
            return .recordExists
        case (.update, nil), (.replace, nil), (.delete, nil):
            return .recordNotFound
        case (.update, let live?), (.replace, let live?):
            guard let tag else { return .missing("recordChangeTag") }
            return tag == ChangeTag.text(live.row.number) ? nil : .recordChanged
        // CloudKit: a share is always saved as `ifServerRecordUnchanged`.
        case (.forceUpdate, let live?) where live.isShare, (.forceReplace, let live?) where live.isShare:
            return tag == ChangeTag.text(live.row.number) ? nil : .recordChanged
        case (.delete, let live?):
            return tag == nil || tag == ChangeTag.text(live.row.number) ? nil : .recordChanged
        case (.create, nil), (.forceUpdate, _), (.forceReplace, _), (.forceDelete, _):
            return nil
        }
    }

    /// Returns one error, whatever the record's version, to a caller who may neither read nor change it.
    private static func faultOfHidden(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard setting.scope == .public, let live, setting.permissions(on: live).isDisjoint(with: [.read, .write]) else { return nil }
        guard operation.type == .create else { return .writeNotPermitted }
        // Only a caller who may create a record of the type learns that the name is taken.
        return faultOfCreation(operation, setting)
    }

    /// Returns the error of a caller without the role. CloudKit: the grants of a record's type say who may create and
    /// who may change it.
    private static func faultOfRole(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard setting.scope == .public else { return nil }
        if let live { return setting.permissions(on: live).contains(.write) ? nil : .writeNotPermitted }
        return operation.type.isDelete ? nil : faultOfCreation(operation, setting)
    }

    private static func faultOfCreation(_ operation: RecordOperation, _ setting: RecordSetting) -> ServerError? {
        guard let type = operation.change.recordType, !setting.caller.isServer else { return nil }
        return setting.permissions(on: type, asCreator: false).contains(.create) ? nil : .createNotPermitted
    }

    /// Returns the error of an operation on a user's record. CloudKit: apps fetch and change users' records, and never
    /// make or delete them.
    private static func faultOfUser(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard let live else {
            guard let name = operation.change.recordName, !setting.caller.isServer else { return nil }
            return operation.change.recordType == UserRecord.type ? .createNotPermitted : Names.recordNameFault(name, field: "recordName")
        }
        guard live.row.type == UserRecord.type else { return nil }
        if operation.type.isDelete { return setting.caller.isServer ? nil : .userRecordStays }
        let roles = live.content.fields[UserRecord.rolesField]
        if let given = operation.change.set[UserRecord.rolesField], given != roles, !(roles == nil && given.isEmptyList) { return .rolesAreGiven }
        return roles != nil && operation.change.cleared.contains(UserRecord.rolesField) ? .rolesAreGiven : nil
    }

    private static func faultOfType(_ type: String, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        if let live { return type == live.row.type ? nil : .typeChanged }
        return type != UserRecord.type || setting.caller.isServer ? nil : .createNotPermitted
    }

    private static func faultOfFields(_ change: RecordChange, of type: String, _ setting: RecordSetting) -> ServerError? {
        let own = type == ShareNames.recordType ? ShareNames.fields : []
        let fields = change.set.entries
        for index in fields.indices {
            if let fault = Names.fieldNameFault(fields[index].name), !own.contains(fields[index].name) { return fault }
            guard case .sealed(let value) = fields[index].value else { continue }
            if setting.scope == .public { return .noEncryptionInPublic(fields[index].name) }
            if value.keyID == nil { return .sealedWithoutKey(fields[index].name) }
        }
        return change.cleared.lazy.filter { !own.contains($0) }.compactMap(Names.fieldNameFault).first
    }

    private static func next(
        _ operation: RecordOperation, setting set: RecordFields, type: String, sharing: ShareState?, live: StoredRecord?,
        tombstone: StoredRecord?
    ) -> Save {
        let change = operation.change
        var fields: RecordFields
        switch operation.type {
        case .update, .forceUpdate:
            fields = live?.content.fields ?? RecordFields()
            for field in set.entries { fields[field.name] = field.value }
            for name in change.cleared { fields[name] = nil }
        case .create, .replace, .forceReplace, .delete, .forceDelete:
            fields = set
        }
        if live?.row.type == UserRecord.type { fields[UserRecord.rolesField] = live?.content.fields[UserRecord.rolesField] }
        let parent: String?
        switch change.parent {
        case .keep: parent = live?.row.parent
        case .set(let reference): parent = reference.recordName
        case .clear: parent = nil
        }
        return Save(type: type, parent: parent, fields: fields, sharing: sharing, over: live ?? tombstone)
    }
}
