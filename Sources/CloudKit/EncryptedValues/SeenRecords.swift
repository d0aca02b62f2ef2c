#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryptionForms

    /// The versions of records that this process has seen, and the fields that it knows as encrypted. A server that
    /// shows older versions, or one of the fields without encryption, is found out.
    struct SeenRecords: Sendable {
        /// The most versions, and the most fields, that are kept. Older ones are forgotten, some at a time.
        static let entriesMax = 10_000

        struct FieldName: Hashable, Sendable {
            let type: String
            let field: String
        }

        private struct Note: Sendable {
            let version: RecordManifest.Version
            let created: Timestamp
            let moment: Int
        }

        /// The number of versions that were noted. An answer is held only against those that were noted before it was
        /// asked for: it may be older than what another operation has seen meanwhile.
        private(set) var moment = 1
        private var settings: ServerSettings?
        /// The last versions of each record, the newest last.
        private var versions = Recent<CKRecord.ID, [Note]>(max: SeenRecords.entriesMax)
        /// The most versions of a record. The oldest stays: it holds against answers that were asked for long ago.
        static let notesMax = 8
        private var fields = Recent<FieldName, Bool>(max: SeenRecords.entriesMax)
        /// The fields that are not in the device's file yet.
        private var newFields: [FieldName] = []
        private var hasRecalled = false
        /// Zones of which the log has said that their values cannot be opened.
        private var told = Recent<CKRecordZone.ID, Bool>(max: 1_000)

        /// Forgets everything when the server or the account is another.
        mutating func use(_ settings: ServerSettings) {
            guard settings != self.settings else { return }
            let moment = moment
            self = SeenRecords()
            (self.settings, self.moment) = (settings, moment)
        }

        /// Returns the newest version that was seen of a record; nil if it was noted from a moment on.
        func version(of recordID: CKRecord.ID, before moment: Int) -> RecordManifest.Version? {
            versions[recordID]?.last { $0.moment < moment }?.version
        }

        /// Returns the moment at which a record was created whose versions were seen; nil if they were noted from a
        /// moment on.
        func created(_ recordID: CKRecord.ID, before moment: Int) -> Timestamp? {
            versions[recordID]?.last { $0.moment < moment }?.created
        }

        /// Returns whether a field is known as encrypted.
        func isEncrypted(_ field: String, of type: String) -> Bool { fields[FieldName(type: type, field: field)] != nil }

        /// Notes a version whose manifest was checked, if it is later than the one that is known.
        mutating func note(_ manifest: RecordManifest, of record: Record, _ recordID: CKRecord.ID) {
            let (notes, new) = (versions[recordID] ?? [], manifest.version)
            if (notes.last?.version).map({ $0.scope != new.scope || $0.stamp < new.stamp }) ?? true {
                let note = Note(version: new, created: record.created.timestamp, moment: moment)
                versions[recordID] = notes.count < Self.notesMax ? notes + [note] : [notes[0]] + notes.dropFirst(2) + [note]
                moment += 1
            }
            for field in manifest.parts.fields {
                let name = FieldName(type: record.recordType, field: field.name)
                if fields[name] == nil { newFields.append(name) }
                fields[name] = true
            }
        }

        /// Returns whether the fields of the device's file are not known yet.
        mutating func mustRecall(_ settings: ServerSettings) -> Bool {
            use(settings)
            return !hasRecalled
        }

        /// Takes the fields of the device's file.
        mutating func recall(_ seen: SeenFields, _ settings: ServerSettings) {
            use(settings)
            hasRecalled = true
            for (type, names) in seen.types { for name in names { fields[FieldName(type: type, field: name)] = true } }
        }

        /// Returns the fields that are to be kept in the device's file, once.
        mutating func takeNewFields() -> [FieldName] {
            defer { newFields = [] }
            return newFields
        }

        /// Forgets a record that was deleted: one of its name may begin anew.
        mutating func forget(_ recordID: CKRecord.ID) { versions[recordID] = nil }

        /// Forgets the records of zones that were deleted.
        mutating func forget(zonesNamed names: Set<String>) { versions.remove { names.contains($0.zoneID.zoneName) } }

        /// Returns whether the log is to tell of a zone, which it does once.
        mutating func isNews(of zone: CKRecordZone.ID) -> Bool {
            if told[zone] != nil { return false }
            told[zone] = true
            return true
        }
    }

    /// The entries that were set last. There are at least half as many as `max`, and at most `max`.
    private struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
        let max: Int
        private var young: [Key: Value] = [:]
        private var old: [Key: Value] = [:]

        init(max: Int) { self.max = max }

        subscript(key: Key) -> Value? {
            get { young[key] ?? old[key] }
            set {
                old[key] = nil
                young[key] = newValue
                if young.count > max / 2 { (old, young) = (young, [:]) }
            }
        }

        mutating func remove(where isGone: (Key) -> Bool) {
            (young, old) = (young.filter { !isGone($0.key) }, old.filter { !isGone($0.key) })
        }
    }
#endif
