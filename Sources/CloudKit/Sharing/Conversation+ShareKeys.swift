import NacreCloudWire

// The keys of encrypted values follow the participants of a zone's share, when its owner's device saves or fetches it.

extension Conversation {
    /// Keeps whom the shares of a batch invite, change or remove, before they are saved: their keys follow, also if
    /// this process ends.
    /// - Returns: the errors of shares that must not be saved, by the index of the save: the server shows another
    ///   account of an invited user than before.
    func noteWishes(of batch: ModifyPlan.Batch) async -> [Int: CKError] {
        var failures: [Int: CKError] = [:]
        #if canImport(NacreEncryption)
            for (index, save) in batch.saves.enumerated() {
                guard scope == .private, save.record.recordID.isZoneWideShare, let wishes = save.sharing?.wishes, !wishes.isEmpty else { continue }
                // Without a user the share itself is refused.
                guard let exchange = try? await keyExchange() else { continue }
                do throws(CKError) {
                    try await exchange.wish(wishes, inZone: batch.zoneID.zoneName)
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
            guard scope == .private, recordID.isZoneWideShare, let wishes = save.sharing?.wishes, !wishes.isEmpty,
                let exchange = try? await keyExchange()
            else { return }
            let zone = recordID.zoneID.zoneName
            if isSaved { try? await exchange.confirm(wishes, inZone: zone) } else { try? await exchange.takeBack(wishes, inZone: zone) }
        #endif
    }

    /// Gives keys to those who take part in a share now, and makes others where somebody left. An error is told in the
    /// log: the next save of an encrypted value by this device tries again first.
    func meetShare(_ record: Record, _ recordID: CKRecord.ID) async {
        guard let share = record.sharing?.value else { return }
        await meetShare(recordID, share.participants)
    }

    /// Does what `meetShare` does for a share that has ended.
    func meetEndOfShare(_ recordID: CKRecord.ID) async {
        await meetShare(recordID, [])
    }

    private func meetShare(_ recordID: CKRecord.ID, _ list: [ShareParticipant]) async {
        #if canImport(NacreEncryption)
            guard scope == .private, recordID.isZoneWideShare else { return }
            do throws(CKError) {
                guard let (exchange, place) = try await keyExchange(for: recordID.zoneID) else { return }
                try await exchange.meet(list, at: place)
            } catch {
                line.log("CloudKit: the keys of the zone '\(recordID.zoneID.zoneName)' do not follow its share yet: \(error)")
            }
        #endif
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
}
