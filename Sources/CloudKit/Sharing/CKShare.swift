// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreCloudWire
import NacreLocks

/// The record name of a share of a whole zone. Apple: iOS 15.
public let CKRecordNameZoneWideShare: String = ShareNames.ofZone

/// A record that describes the shared part of a zone and its participants. It is saved, fetched and deleted like any
/// record, in the shared zone.
///
/// A share covers either a root record with its descendants by `CKRecord.parent`, or a whole zone. On this server: a
/// zone is shared as a whole, or records of it are, not both.
///
/// ```swift
/// let share = CKShare(rootRecord: list)
/// share[CKShare.SystemFieldKey.title] = "Groceries"
/// share.publicPermission = .readOnly
/// _ = try await database.modifyRecords(saving: [list, share], deleting: [])
/// ```
///
/// A participant who deletes the share leaves it; an owner who deletes it ends it for all. A misuse for which Apple's
/// framework raises an exception makes saving the share fail with `invalidArguments` and the reason. Apple: iOS 10.
open class CKShare: CKRecord, @unchecked Sendable {
    // Sendable: see `CKRecord`.

    /// The fields that every share may have.
    public enum SystemFieldKey {
        /// The share's title: a string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A picture of the share: data.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The kind of content, as the app names it: a string.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    init(shareState state: RecordState) {
        super.init(state: state)
    }

    /// Makes a share of a record and its descendants, with a random record name.
    public convenience init(rootRecord: CKRecord) {
        self.init(rootRecord: rootRecord, shareID: CKRecord.ID(zoneID: rootRecord.recordID.zoneID))
    }

    /// Makes a share of a record and its descendants. Save the record and the share together.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var state = RecordState(recordType: CKRecord.SystemType.share, recordID: shareID)
        state.sharing = ShareSheet(rootName: rootRecord.recordID.recordName)
        super.init(state: state)
        rootRecord.state.withLock { $0.share = NacreCloudWire.Reference(recordName: shareID.recordName, action: .none) }
    }

    /// Makes a share of a whole zone, which has one at most. Apple: iOS 15.
    public init(recordZoneID: CKRecordZone.ID) {
        var state = RecordState(
            recordType: CKRecord.SystemType.share, recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID))
        state.sharing = ShareSheet(rootName: nil)
        super.init(state: state)
    }

    /// Decodes a share; nil if the archive does not hold one.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        guard snapshot.sharing != nil else { return nil }
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        var state = snapshot
        state.sharing = state.sharing?.copy
        return CKShare(shareState: state)
    }

    var sheet: ShareSheet { snapshot.sharing ?? ShareSheet(rootName: nil) }

    /// The permission of anyone who has the URL. By default it is `none`: only participants get in.
    ///
    /// Setting `readOnly` or `readWrite` withdraws pending invitations; participants who accepted stay. Setting `none`
    /// removes everyone except the owner; participants may be added again before the share is saved.
    open var publicPermission: CKShare.ParticipantPermission {
        get { sheet.publicPermission }
        set {
            state.withLock { state in
                guard newValue != .unknown else { return state.refuse(.unknownPermission) }
                state.sharing?.setPublicPermission(newValue)
                state.faults[RecordState.sharingKey] = nil
            }
        }
    }

    /// The share's URL, with the title behind a `#` for human readers; nil before the first save. Sharing the same
    /// again gives the same URL.
    ///
    /// On this server: if the zone has keys and the share a public permission, the URL of a share that this device has
    /// saved or fetched ends with the secret of its link, which opens encrypted values. Whoever has it reads them.
    open var url: URL? { url(with: sheet.links.texts[""]) }

    private func url(with link: String?) -> URL? { sheet.url.map { ShareURL.titled($0, self[SystemFieldKey.title] as? String, link: link) } }

    /// Takes the secrets of the share's links.
    func take(_ links: ShareLinks) { state.withLock { $0.sharing?.links = links } }

    /// Returns the URL of a participant made by `oneTimeURLParticipant()`. The first person who accepts by it takes the
    /// participant's place. The URL stays the same while the participant is in the share. Once it was used, it works
    /// for other people as `url` does. Apple: iOS 18.
    ///
    /// - Returns: nil before the share is saved with the participant, for any other participant, and for a user who is
    ///   neither owner nor administrator.
    open func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? { sheet.oneTimeURL(for: participantID) }

    /// The participants whom the current user may see, the owner first. Changes to a participant take effect with the
    /// share's next save.
    open var participants: [CKShare.Participant] { sheet.participants }

    /// The owner of the share's zone: the first of `participants`.
    open var owner: CKShare.Participant { sheet.owner }

    /// The current user's participant: one of `participants`; nil if the user does not take part.
    open var currentUserParticipant: CKShare.Participant? { sheet.currentUserParticipant }

    /// Invites a participant with the next save. A participant who is in the share already gets the new permission and
    /// role. Participants cannot be added to a share with a public permission.
    open func addParticipant(_ participant: CKShare.Participant) {
        change { sheet throws(ValueFault.Reason) in try sheet.add(participant) }
    }

    /// Removes a participant with the next save.
    open func removeParticipant(_ participant: CKShare.Participant) {
        change { sheet throws(ValueFault.Reason) in try sheet.remove(participant) }
    }

    func change(_ body: (inout ShareSheet) throws(ValueFault.Reason) -> Void) {
        state.withLock { state in
            guard var sheet = state.sharing else { return }
            do throws(ValueFault.Reason) {
                try body(&sheet)
                state.sharing = sheet
                state.faults[RecordState.sharingKey] = nil
            } catch {
                state.refuse(error)
            }
        }
    }

    open override var description: String {
        "<CKShare: recordID=\(recordID), recordChangeTag=\(recordChangeTag ?? "nil"), publicPermission=\(publicPermission), "
            + "participants=\(participants.count), url=\(url(with: nil)?.absoluteString ?? "nil")>"
    }
}

extension RecordState {
    /// The key under which a fault in the share's own data is kept.
    static let sharingKey = "participants"

    mutating func refuse(_ reason: ValueFault.Reason) {
        faults[Self.sharingKey] = ValueFault(key: Self.sharingKey, reason: reason)
    }

    /// Returns whether a field may have this name. Shares also have CloudKit's own names.
    func mayHave(_ key: String) -> Bool {
        Names.isIdentifier(key) || (sharing != nil && ShareNames.fields.contains(key))
    }
}

extension CKRecord {
    /// The record that the edit was based on, of the same class.
    var ancestor: CKRecord {
        let state = snapshot.ancestor
        return state.sharing == nil ? CKRecord(state: state) : CKShare(shareState: state)
    }

    /// Makes a record from the server's version: a `CKShare` if it is one.
    /// - Parameters:
    ///   - encrypted: the record's encrypted values; nil if they were not opened.
    ///   - server: the server's URL, with which the URLs of shares begin; nil if it is not known.
    static func make(
        wire record: Record, recordID: CKRecord.ID, assets: [String: [CKAsset]]? = nil, encrypted: EncryptedFields? = nil, server: URL? = nil
    ) -> CKRecord {
        var state = RecordState(wire: record, recordID: recordID, assets: assets, encrypted: encrypted)
        guard let details = record.sharing?.value else { return CKRecord(state: state) }
        state.sharing = ShareSheet(details, server: server)
        return CKShare(shareState: state)
    }
}
