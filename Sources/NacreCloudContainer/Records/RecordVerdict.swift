import NacreCloudWire

/// A record as a transaction found it: its row, and what is in the row.
struct StoredRecord: Equatable, Sendable {
    var row: RecordRow
    /// Empty where the record is damaged.
    var content: RecordContent
    /// What is wrong where the row is not what was written. Of such a record only the name is sure.
    private(set) var damage: StoreError?
    /// Of its body as it is kept, whatever of it is here.
    private let bodyBytes: Int

    init(row: RecordRow, content: RecordContent) {
        self.row = row
        self.content = content
        bodyBytes = row.body.count
    }

    /// - Parameter wanted: these fields alone, and without the body: it takes little memory, and cannot be written again. nil: all of it.
    init(_ row: RecordRow, in zone: ZoneAddress, only wanted: FieldNames? = nil) {
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

    /// It is there, and is what was written.
    var isLive: Bool { isThere && !isDamaged }
    var isDamaged: Bool { damage != nil }
    /// The check found it damaged: its columns are sure, and nothing else.
    var isLost: Bool { damage.map(RecordBody.isLost) ?? false }
    /// It is there, damaged or not: others may refer to it.
    var isThere: Bool { !row.isTombstone }
    /// What it takes of its database's quota.
    var countedBytes: Int { isThere ? bodyBytes + assetBytes : 0 }
    /// Of its assets' files.
    var assetBytes: Int { Int(clamping: content.fields.assetBytes) }
}

/// What the rules say of one operation on one record.
enum RecordVerdict: Equatable, Sendable {
    /// The record's next state.
    struct Save: Equatable, Sendable {
        let type: String
        let parent: String?
        let fields: RecordFields
        /// Those of the fields that do more than point.
        let references: [BindingReference]
        /// The state that it replaces; nil makes a record.
        let over: StoredRecord?
        /// Of a share, what it permits from now on; nil for any other record.
        let sharing: ShareState?
        /// The schema lacks its type, or some of its fields.
        var extendsSchema = false

        init(type: String, parent: String?, fields: RecordFields, sharing: ShareState? = nil, over: StoredRecord?) {
            self.type = type
            self.parent = parent
            self.fields = fields
            references = fields.bindingReferences
            self.sharing = sharing
            self.over = over
        }

        /// The records with which this one will go.
        var owners: Set<String> { references.owners }
    }

    case save(Save)
    case delete
    /// There is nothing to delete, which is not an error.
    case nothing
    case refuse(ServerError)
}

/// Where and by whom an operation is asked for, as far as the verdict depends on it.
struct RecordSetting: Sendable {
    var scope: DatabaseKey.Scope
    var environment: DatabaseKey.Environment
    var caller: Caller
    /// The client is shown moments and encrypted values whole.
    var seesDetails = true
    var schema = Schema()
    /// The caller's roles that the schema declares.
    var customRoles: Set<String> = []
    /// The assets that the request brings.
    var assets = SentAssets()
    /// As whom the caller uses the zone.
    var seat = ZoneSeat.owner
    /// CloudKit: zones with a feed can be shared, and no others.
    var hasFeed = true
    /// What stands in the URLs of the zone's shares that the request may make, by the record at the root.
    var shareGUIDs: [String?: String] = [:]
    /// Whose the database is.
    var owner = ""
    /// When participants come to a share.
    var now = Timestamp(secondsSince2001: 0)
    /// Draws one for a one-time URL that has to change; nil: it leads nowhere then.
    var secret: @Sendable () -> String? = { nil }

    /// What the caller may do with a record that is there.
    func permissions(on record: StoredRecord) -> Permissions {
        permissions(on: record.row.type, asCreator: record.isMade(by: caller))
    }

    /// The names of those that the caller may not read.
    func hidden(of stored: [String: StoredRecord]) -> Set<String> {
        if case .guest = seat { return Set(stored.lazy.filter { self.hides($0.value) }.map(\.key)) }
        guard scope == .public else { return [] }
        return Set(stored.lazy.filter { !permissions(on: $0.value).contains(.read) }.map(\.key))
    }

    /// It is not for who sees what shares of records show. Of what is damaged nobody knows.
    func hides(_ record: StoredRecord) -> Bool {
        record.isThere && seat.access(to: record.content.shared.view) == nil
    }

    /// CloudKit: roles are for public databases. What is private is its owner's.
    func permissions(on type: String, asCreator: Bool) -> Permissions {
        guard scope == .public else { return [.read, .create, .write] }
        return schema.permissions(of: CallerRoles(caller, custom: customRoles), on: type, asCreator: asCreator)
    }
}

extension RecordVerdict {
    /// CloudKit: Web Services Reference, "Modifying Records", the table of operation types; `CKModifyRecordsOperation.RecordSavePolicy`.
    ///
    /// - Parameters:
    ///   - found: the record of that name, live, a tombstone, or nil.
    init(_ operation: RecordOperation, over found: StoredRecord?, in setting: RecordSetting) {
        let isHidden = found.map(setting.hides) ?? false
        if isHidden, let fault = setting.seat.mayWrite ? Self.faultOfTakenName(operation) : nil {
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
        // What its root hangs on is not a guest's to see, and so not to clear.
        if !setting.seat.seesAll, live?.content.shared.share != nil, operation.change.parent == .clear { operation.change.parent = .keep }
        if !setting.seesDetails, let live { operation.change.set.restore(from: live.content.fields) }
        let fault =
            Self.faultOfHidden(operation, live, setting) ?? Self.faultOfSeat(operation, live, setting) ?? Self.faultOfVersion(operation, live)
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
        let sharing: ShareState?
        switch Self.sharing(after: operation.change, of: type, live, setting) {
        case .success(let state): sharing = state
        case .failure(let fault):
            self = .refuse(fault)
            return
        }
        var save = Self.next(operation, setting: fitted, type: type, sharing: sharing, live: live, tombstone: existing)
        if sharing != nil, save.parent != nil || !save.references.isEmpty {
            self = .refuse(.shareRefersToNothing)
            return
        }
        // What a record kept from before there was a schema comes into it with the record's next save.
        save.extendsSchema =
            extendsSchema || setting.schema.hasOlderRecords && setting.schema.lacking(of: type, with: save.fields) != nil
        self = save.fields.byteCount > Limits.recordBytes ? .refuse(.recordTooLarge) : .save(save)
    }

    /// What goes over a damaged record: a forced operation that needs nothing of what was there. Whose a record of the public database was is lost
    /// with its body, so nobody may claim it. See `docs/decisions/a-damaged-record-is-an-item-error.md`.
    private static func faultOfDamage(_ operation: RecordOperation, _ setting: RecordSetting) -> ServerError? {
        if setting.scope == .public { return .recordDamagedInPublic }
        switch operation.type {
        case .forceReplace, .forceDelete: return nil
        case .forceUpdate: return operation.change.carriesAllKeys ? nil : .recordDamagedBeneathMerge
        case .create, .update, .replace, .delete: return .recordDamaged
        }
    }

    /// Whether the record is there, or is not, in the version that the operation asks for.
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

    /// Who may neither read nor change a record hears the same of it whatever its version is.
    private static func faultOfHidden(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard setting.scope == .public, let live, setting.permissions(on: live).isDisjoint(with: [.read, .write]) else { return nil }
        guard operation.type == .create else { return .writeNotPermitted }
        // That it is there is told to who may make such a record alone: names are given once.
        return faultOfCreation(operation, setting)
    }

    /// CloudKit: the grants of the record's type say who may make and who may change it.
    private static func faultOfRole(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard setting.scope == .public else { return nil }
        if let live { return setting.permissions(on: live).contains(.write) ? nil : .writeNotPermitted }
        return operation.type.isDelete ? nil : faultOfCreation(operation, setting)
    }

    private static func faultOfCreation(_ operation: RecordOperation, _ setting: RecordSetting) -> ServerError? {
        guard let type = operation.change.recordType, !setting.caller.isServer else { return nil }
        return setting.permissions(on: type, asCreator: false).contains(.create) ? nil : .createNotPermitted
    }

    /// CloudKit: users' records are fetched and changed, never made or deleted by apps.
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
        if type == UserRecord.type { return setting.caller.isServer ? nil : .createNotPermitted }
        if type == ShareNames.recordType { return nil }
        return Names.recordTypeFault(type)
    }

    private static func faultOfFields(_ change: RecordChange, of type: String, _ setting: RecordSetting) -> ServerError? {
        let own = type == ShareNames.recordType ? ShareNames.fields : []
        let fields = change.set.entries
        for place in fields.indices {
            if let fault = Names.fieldNameFault(fields[place].name), !own.contains(fields[place].name) { return fault }
            guard case .sealed(let value) = fields[place].value else { continue }
            if setting.scope == .public { return .noEncryptionInPublic(fields[place].name) }
            if value.keyID == nil { return .sealedWithoutKey(fields[place].name) }
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
