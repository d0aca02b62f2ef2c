import NacreCloudWire
import NacreLocks

#if canImport(NacreEncryption)
    import NacreEncryptionForms
#endif

/// A record that the server shows, and what the app's own object has of it.
struct ShownRecord: Sendable {
    let record: Record
    let id: CKRecord.ID
    /// The encrypted values of the version that the app's object has; nil if there is no such object.
    var held: EncryptedFields?
    /// The moment at which the record was created, as the app's object has it.
    var created: Timestamp?
    /// The name of the parent in the version that the app's object has; empty for none.
    var heldParent = ""
    /// Whether the record is the answer to a save of plain fields, which the server has made.
    var isSavedPlain = false
    /// The manifest that this device has just sent for the record; nil: none.
    var sent: [UInt8]?
}

/// The encrypted values of records, in their order.
struct OpenedRecords: Sendable {
    /// Values, or the error of a record that is not what its manifest says; nil for an item that is no record. A record
    /// whose keys this device does not have has no values.
    var results: [Result<EncryptedFields, CKError>?] = []
    /// The error with which keys could not be fetched. It is also that of the records that need them.
    var fault: CKError?
}

extension Conversation {
    /// Checks records against their manifests, and opens their encrypted values. Costs a request for the keys of each
    /// zone, if they are not known.
    ///
    /// - Parameters:
    ///   - asked: the fields that were asked for; nil for all.
    ///   - moment: the value of `seenMoment` before the records were asked for.
    func opened(_ records: [ShownRecord?], asked: [String]? = nil, since moment: Int) async -> OpenedRecords {
        var opened = OpenedRecords()
        #if canImport(NacreEncryption)
            var keys = KeysOfAnswer()
            let settings = scope == .public ? nil : try? line.settings()
            if let settings { await recallFields(settings) }
            for shown in records {
                guard let shown, scope != .public else {
                    opened.results.append(shown.map { .success(EncryptedFields(unopened: $0.record)) })
                    continue
                }
                if let held = shown.heldValues {
                    opened.results.append(.success(held))
                } else if let fault = faultOfPlain(shown, since: moment) {
                    opened.results.append(.failure(CKError(fault, of: shown.id)))
                } else if !shown.isEncrypted {
                    opened.results.append(.success(EncryptedFields()))
                } else {
                    opened.results.append(await values(of: shown, &keys, asked: asked, since: moment))
                }
            }
            opened.fault = keys.fault
            if let settings { await keepFields(settings) }
        #else
            opened.results = records.map { shown in shown.map { .success(EncryptedFields(unopened: $0.record)) } }
        #endif
        return opened
    }

    /// The number of versions of records that this process has seen. Answers of a journal are from another process.
    var seenMoment: Int {
        #if canImport(NacreEncryption)
            journal == nil ? line.seenRecords.withLock { $0.moment } : 0
        #else
            0
        #endif
    }

    /// Forgets the version of a record that was deleted.
    func forgetVersion(of recordID: CKRecord.ID) {
        #if canImport(NacreEncryption)
            line.seenRecords.withLock { $0.forget(recordID) }
        #endif
    }

    /// Forgets the versions of the records of zones that were deleted, and the zones' keys: a zone that is made again
    /// has others.
    func forgetVersions(inZonesNamed names: [String]) {
        #if canImport(NacreEncryption)
            guard !names.isEmpty else { return }
            line.seenRecords.withLock { $0.forget(zonesNamed: Set(names)) }
            names.forEach(forgetZoneKeys(named:))
        #endif
    }

    /// Has the keys of a zone asked for again.
    func forgetZoneKeys(named name: String) {
        #if canImport(NacreEncryption)
            line.openedKeys.withLock { $0.forget(name) }
        #endif
    }
}

extension ModifyPlan.Batch {
    /// The records in the answers to the batch, which has them for its saves first.
    func shown(in answers: [RecordResult]) -> [ShownRecord?] {
        zip(saves, answers).map { save, answer in
            switch answer {
            case .record(let record):
                ShownRecord(
                    record: record, id: save.record.recordID, held: save.held, created: save.created, heldParent: save.secrets.parent,
                    isSavedPlain: save.change.manifest == nil, sent: save.change.manifest?.bytes)
            case .failure(_, let error):
                error.serverRecord.map {
                    ShownRecord(
                        record: $0.value, id: save.record.recordID, held: save.held, created: save.created, heldParent: save.secrets.parent)
                }
            case .deleted: nil
            }
        }
    }
}

#if canImport(NacreEncryption)
    /// A zone, and the scope that a record of it is sealed for.
    private struct ScopeOfRecord: Hashable, Sendable {
        let zone: CKRecordZone.ID
        let scope: ScopeID?
    }

    /// The keys of the scopes in one answer.
    private struct KeysOfAnswer: Sendable {
        var found: [ScopeOfRecord: Result<ZoneKeys?, CKError>] = [:]
        /// Scopes whose keys were asked for again, which is done once.
        var renewed: Set<ScopeOfRecord> = []
        var fault: CKError?
        /// Users whose logs were asked for because they have written a record, and no manifest names them.
        var writers: Set<String> = []
    }

    extension Record {
        /// The scope that the record's manifest names.
        fileprivate var scopeID: ScopeID? { manifest.flatMap { try? RecordManifest($0) }?.parts.keyID.scope }
    }

    extension ShownRecord {
        fileprivate var isEncrypted: Bool { record.manifest != nil || !record.fields.sealed.isEmpty }

        /// The values of the app's object, if it has the record's manifest and all values that this lists.
        fileprivate var heldValues: EncryptedFields? {
            guard let held, sent == nil, !held.isUnopened, record.manifest != nil, held.manifest == record.manifest,
                (record.parent?.recordName ?? "").utf8.elementsEqual(heldParent.utf8)
            else { return nil }
            return held.listed.allSatisfy { held.fetched[$0] != nil } ? held : nil
        }
    }

    extension Conversation {
        /// Returns the fault of a record that lacks encryption which this device has seen it have.
        private func faultOfPlain(_ shown: ShownRecord, since moment: Int) -> SecretFault? {
            let record = shown.record
            return line.seenRecords.withLock { seen -> SecretFault? in
                let plain = record.fields.entries.first { $0.value.isReadable && seen.isEncrypted($0.name, of: record.recordType) }
                if let plain { return .plain(field: plain.name) }
                guard record.manifest == nil else { return nil }
                // A record that was deleted and made again, by its date, may have no encrypted values any more.
                let known = [seen.created(shown.id, before: moment), shown.held?.manifest.flatMap { _ in shown.created }]
                let isSame = known.contains { $0.map { record.created.timestamp <= $0 } ?? false }
                return isSame || shown.sent != nil ? .rolledBack : nil
            }
        }

        private func values(
            of shown: ShownRecord, _ keys: inout KeysOfAnswer, asked: [String]?, since moment: Int
        ) async -> Result<EncryptedFields, CKError> {
            let zone = shown.id.zoneID
            let place = ScopeOfRecord(zone: zone, scope: shown.record.scopeID)
            while true {
                let found = if let known = keys.found[place] { known } else { await openingKeys(of: place) }
                keys.found[place] = found
                switch found {
                case .failure(let error):
                    if shown.isSavedPlain { return .success(EncryptedFields(unopened: shown.record)) }
                    keys.fault = keys.fault ?? error
                    return .failure(error)
                case .success(.none): return .success(EncryptedFields(unopened: shown.record))
                case .success(.some(let zoneKeys)):
                    let zoneKeys = await withWriter(of: shown.record, zoneKeys, &keys)
                    keys.found[place] = .success(zoneKeys)
                    do throws(SecretFault) {
                        return .success(try open(shown, with: zoneKeys, asked: asked, since: moment))
                    } catch {
                        // Another device may have made a newer key, or the zone: then the record is of another scope
                        // than the one in which this process has seen it.
                        if [.otherKey, .otherScope, .rolledBack].contains(error), keys.renewed.insert(place).inserted {
                            forgetZoneKeys(named: zone.zoneName)
                            keys.found[place] = nil
                        } else if error == .otherScope {
                            tell("\(error.text)", of: zone)
                            return .success(EncryptedFields(unopened: shown.record))
                        } else {
                            return .failure(CKError(error, of: shown.id))
                        }
                    }
                }
            }
        }

        /// Does what `KeyExchange.withWriter` does.
        private func withWriter(of record: Record, _ zoneKeys: ZoneKeys, _ keys: inout KeysOfAnswer) async -> ZoneKeys {
            guard zoneKeys.lacksWriter(of: record), let exchange = try? await keyExchange() else { return zoneKeys }
            return await exchange.withWriter(of: record, zoneKeys, asked: &keys.writers)
        }

        private func open(
            _ shown: ShownRecord, with keys: ZoneKeys, asked: [String]?, since moment: Int
        ) throws(SecretFault) -> EncryptedFields {
            let own = (shown.sent ?? shown.held?.manifest).flatMap { try? RecordManifest($0) }.map(\.version)
            let seen = line.seenRecords.withLock { $0.version(of: shown.id, before: moment) }
            let kept = [own, seen].compactMap(\.self).max { $0.stamp < $1.stamp }
            let fields = try keys.open(shown.record, asked: asked, kept: kept)
            if let bytes = fields.manifest, let form = try? RecordManifest(bytes) {
                line.seenRecords.withLock { $0.note(form, of: shown.record, shown.id) }
            }
            return fields
        }

        /// Returns the keys for opening values; nil if this device has none, which the log tells once.
        private func openingKeys(of place: ScopeOfRecord) async -> Result<ZoneKeys?, CKError> {
            let zone = place.zone
            do throws(CKError) {
                let keys = try await zoneKeys(of: zone, holding: place.scope)
                if keys == nil { tell("the zone has no keys", of: zone) }
                return .success(keys)
            } catch {
                guard error.code == .accountTemporarilyUnavailable else { return .failure(error) }
                tell("\(error)", of: zone)
                return .success(nil)
            }
        }

        private func tell(_ reason: String, of zone: CKRecordZone.ID) {
            guard line.seenRecords.withLock({ $0.isNews(of: zone) }) else { return }
            line.log("CloudKit: the encrypted values of the zone '\(zone.zoneName)' cannot be opened: \(reason)")
        }
    }

    extension CKError {
        /// Makes the error of a record whose encrypted values are not taken, or cannot be sealed.
        init(_ fault: SecretFault, of recordID: CKRecord.ID) {
            var details: [DetailKey: String] = [:]
            switch fault {
            case .plain(let field), .file(let field): details[.field] = field
            default: break
            }
            let ask = "Fetch the record again. If this stays, the server or its data was tampered with: tell its operator"
            details[.remedy] =
                switch fault {
                case .cannotBeSealed: "Give the record names of at most 255 bytes, and set the device's clock"
                case .plain:
                    ask + ". If a developer has reset the development environment and made the field plain, remove the files 'fields-*' of this "
                        + "device's folder of keys"
                default: ask
                }
            self.init(.internalError, text: "Record '\(recordID.recordName)': \(fault.text)", details: details)
        }
    }
#endif
