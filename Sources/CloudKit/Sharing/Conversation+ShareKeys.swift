import NacreCloudWire
import NacreLocks

#if canImport(NacreEncryption)
    import NacreEncryption
#endif

// The keys of encrypted values follow the participants of a share, when its owner's device saves or fetches it.

extension Conversation {
    /// Keeps whom the shares of a batch invite, change or remove, before they are saved: their keys follow, also if
    /// this process ends.
    /// - Returns: the errors of shares that must not be saved, by the index of the save: the server shows another
    ///   account of an invited user than before.
    func noteWishes(of batch: ModifyPlan.Batch) async -> [Int: CKError] {
        var failures: [Int: CKError] = [:]
        #if canImport(NacreEncryption)
            for (index, save) in batch.saves.enumerated() {
                guard scope == .private, let wishes = save.sharing?.wishes else { continue }
                // Without a user the share itself is refused.
                guard let (exchange, place) = try? await keyExchange(for: batch.zoneID) else { continue }
                do throws(CKError) {
                    if let share = save.newShareOfRecords { try await exchange.makeScope(ofShare: share, at: place, beginning: false) }
                    if !wishes.isEmpty { try await exchange.wish(wishes, inZone: save.record.recordID.shareName) }
                } catch {
                    failures[index] = error
                }
            }
        #endif
        return failures
    }

    /// Ends the waiting of what was kept of a share for the server's answer.
    /// - Parameter isSaved: whether the server has saved the share; otherwise what was kept is taken back.
    func endWaiting(of save: ModifyPlan.Save, isSaved: Bool) async {
        #if canImport(NacreEncryption)
            let recordID = save.record.recordID
            guard scope == .private, let wishes = save.sharing?.wishes, !wishes.isEmpty,
                let exchange = try? await keyExchange()
            else { return }
            let zone = recordID.shareName
            if isSaved { try? await exchange.confirm(wishes, inZone: zone) } else { try? await exchange.takeBack(wishes, inZone: zone) }
        #endif
    }

    /// Gives keys to those who take part in a share now, and makes others where somebody left. An error is told in the
    /// log: the next save of an encrypted value by this device tries again first.
    /// - Returns: the secrets of the share's links, as far as this device has them.
    @discardableResult
    func meetShare(_ record: Record, _ recordID: CKRecord.ID) async -> ShareLinks {
        guard let share = record.sharing?.value else { return ShareLinks() }
        return await meetShare(recordID, share)
    }

    /// Takes the keys of a share that the user has accepted by the secret of a link, and shows the link in the share.
    /// - Parameter link: 64 hexadecimal digits; nil: the user came without.
    func join(_ share: CKShare, by link: String?) async {
        #if canImport(NacreEncryption)
            let zone = share.recordID.zoneID
            guard share.recordID.isZoneWideShare, let secret = link.flatMap({ LinkSecret(fragment: $0) }) else { return }
            let shared = Conversation(line: line, scope: .shared, patience: patience, group: group)
            do throws(CKError) {
                guard let (exchange, place) = try await shared.keyExchange(for: zone) else { return }
                try await exchange.join(place, by: secret)
                if let keys = try await exchange.zoneKeys(at: place) { share.take(keys.linkTexts) }
            } catch {
                line.log("CloudKit: a link gives no keys of the zone '\(zone.zoneName)': \(error)")
            }
        #endif
    }

    /// Does what `meetShare` does for a share of a zone as a whole that has ended.
    func meetEndOfShare(_ recordID: CKRecord.ID) async {
        if recordID.isZoneWideShare { _ = await meetShare(recordID, nil) }
    }

    /// Takes the keys of the shares of records that are among some deleted records of a zone from all who took part. An
    /// error is told in the log.
    /// - Returns: whether there are shares with keys among them, as far as this device has seen.
    func meetEndsOfShares(among recordIDs: [CKRecord.ID], in zone: CKRecordZone.ID) async -> Bool {
        #if canImport(NacreEncryption)
            guard scope == .private, !zone.wire.isDefault, !recordIDs.isEmpty, let (exchange, place) = try? await keyExchange(for: zone),
                let kept = try? await line.keyStore.keys(of: exchange.account)
            else { return false }
            let shares = recordIDs.map(\.recordName).filter { kept.hasOwnShare($0, inZone: zone.zoneName) }
            for share in shares {
                do throws(CKError) {
                    try await exchange.end(share: share, at: place)
                } catch {
                    line.log("CloudKit: the keys of the share '\(share)', which has ended, are not taken from who took part yet: \(error)")
                }
            }
            return !shares.isEmpty
        #else
            return false
        #endif
    }

    /// Seals records of a zone anew whose place in shares of records has changed. An error is told in the log:
    /// `nacre keys reseal` does the rest.
    func sealByShares(in zone: CKRecordZone.ID) async {
        #if canImport(NacreEncryption)
            guard scope == .private, !zone.wire.isDefault else { return }
            do throws(CKError) {
                guard let (exchange, place) = try await keyExchange(for: zone) else { return }
                guard try await line.keyStore.keys(of: exchange.account).ownShares.contains(where: { $0.zone == zone.zoneName }) else { return }
                let outcome = try await exchange.sealByShares(at: place)
                guard outcome.left > 0 else { return }
                line.log("CloudKit: \(outcome.left) records of the zone '\(zone.zoneName)' stay sealed for the place where they were before")
            } catch {
                line.log("CloudKit: the records of the zone '\(zone.zoneName)' are not sealed for their shares yet: \(error)")
            }
        #endif
    }

    private func meetShare(_ recordID: CKRecord.ID, _ share: ShareDetails?) async -> ShareLinks {
        #if canImport(NacreEncryption)
            guard scope != .public, !recordID.zoneID.wire.isDefault else { return ShareLinks() }
            let (list, name) = (ShareList(share), recordID.isZoneWideShare ? nil : recordID.recordName)
            do throws(CKError) {
                guard let (exchange, place) = try await keyExchange(for: recordID.zoneID) else { return ShareLinks() }
                if scope == .private { return try await exchange.meet(list, at: place, share: name)?.linkTexts ?? ShareLinks() }
                guard name == nil, list.isOpen else { return ShareLinks() }
                return try await exchange.currentScope(of: place)?.keys.linkTexts ?? ShareLinks()
            } catch {
                // A participant without keys sees the share without the secret of its link.
                guard scope == .private else { return ShareLinks() }
                line.log("CloudKit: the keys of the zone '\(recordID.zoneID.zoneName)' do not follow its share yet: \(error)")
            }
        #endif
        return ShareLinks()
    }

    /// Forgets whom this device has invited to zones that were deleted.
    func forgetWishes(inZonesNamed names: [String]) async {
        #if canImport(NacreEncryption)
            guard scope == .private, !names.isEmpty, let exchange = try? await keyExchange() else { return }
            for name in names { try? await exchange.forgetWishes(inZone: name) }
        #endif
    }
}

extension CKRecord.ID {
    fileprivate var isZoneWideShare: Bool { recordName == CKRecordNameZoneWideShare }

    #if canImport(NacreEncryption)
        /// The name among the kept wishes of the share whose record has this ID.
        fileprivate var shareName: String { KeptKeys.name(ofShare: isZoneWideShare ? nil : recordName, inZone: zoneID.zoneName) }
    #endif
}

extension ModifyPlan.Save {
    /// The names of the record and of the root of a share of records that the save makes; nil: it makes none.
    var newShareOfRecords: (name: String, root: String)? {
        guard created == nil, change.recordChangeTag == nil, let root = sharing?.rootName else { return nil }
        return (record.recordID.recordName, root)
    }
}
