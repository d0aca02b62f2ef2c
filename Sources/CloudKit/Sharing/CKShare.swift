// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreCloudWire
import NacreLocks

/// `CKShare.recordID`'s name where a zone is shared as a whole. Apple: iOS 15.
public let CKRecordNameZoneWideShare: String = ShareNames.ofZone

/// A record that says what is shared of a zone, and with whom. It is saved, fetched and deleted as any record, in the zone that it is about.
///
/// A participant who deletes it leaves the share; its owner ends it for everybody. Where an app does what Apple's framework raises an exception for, saving
/// the share fails with `invalidArguments` instead, and says why.
///
/// It shows a root record and what hangs on it by `CKRecord.parent`, or a whole zone. On this server: a zone is shared as a whole, or records of it are.
/// Apple: iOS 10.
open class CKShare: CKRecord, @unchecked Sendable {
    // Sendable: as `CKRecord`.

    /// Fields that every share may have.
    public enum SystemFieldKey {
        /// What the share is called: a string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A picture of it: data.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// What kind of thing is shared, as the app names it: a string.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    init(shareState state: RecordState) {
        super.init(state: state)
    }

    /// A share of a record and its descendants, with a name of its own.
    public convenience init(rootRecord: CKRecord) {
        self.init(rootRecord: rootRecord, shareID: CKRecord.ID(zoneID: rootRecord.recordID.zoneID))
    }

    /// A share of a record and its descendants. Save both together.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var state = RecordState(recordType: CKRecord.SystemType.share, recordID: shareID)
        state.sharing = ShareSheet(rootName: rootRecord.recordID.recordName)
        super.init(state: state)
        rootRecord.state.withLock { $0.share = NacreCloudWire.Reference(recordName: shareID.recordName, action: .none) }
    }

    /// A share of a whole zone, which has one at most. Apple: iOS 15.
    public init(recordZoneID: CKRecordZone.ID) {
        var state = RecordState(
            recordType: CKRecord.SystemType.share, recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID))
        state.sharing = ShareSheet(rootName: nil)
        super.init(state: state)
    }

    /// nil when the archive holds no share.
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

    /// What everybody may who has the URL; by default `none`: only who is a participant gets in.
    ///
    /// Setting `readOnly` or `readWrite` takes back invitations, and who has accepted stays. Setting `none` takes everybody out but the owner;
    /// participants may be added again before the share is saved.
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

    /// By which others get in, with the title behind a `#` for those who read it; nil before the first save. The same again where the same is shared again.
    open var url: URL? { sheet.url.map { ShareURL.titled($0, self[SystemFieldKey.title] as? String) } }

    /// The URL by which whoever comes first takes the place of a participant that is `oneTimeURLParticipant()`. It stays the same as long as the participant
    /// is in the share; once somebody has come by it, it is to anybody else what `url` is. Apple: iOS 18.
    ///
    /// - Returns: nil before the share is saved with the participant, for any other participant, and for who is neither owner nor administrator.
    open func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? { sheet.oneTimeURL(for: participantID) }

    /// Those whom the current user may see, the owner first. What is set on one counts with the share's next save.
    open var participants: [CKShare.Participant] { sheet.participants }

    /// Whose zone the share is in.
    open var owner: CKShare.Participant { sheet.owner.duplicate() }

    /// nil: the current user takes no part.
    open var currentUserParticipant: CKShare.Participant? { sheet.currentUserParticipant?.duplicate() }

    /// Invites somebody, once the share is saved; who is there already gets the new one's permission and role. To a share that is open to everybody nobody
    /// can be added.
    open func addParticipant(_ participant: CKShare.Participant) {
        change { sheet throws(ValueFault.Reason) in try sheet.add(participant) }
    }

    /// Takes somebody out, once the share is saved.
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
            + "participants=\(participants.count), url=\(url?.absoluteString ?? "nil")>"
    }
}

extension RecordState {
    /// Under which a fault of a share's own parts is kept.
    static let sharingKey = "participants"

    mutating func refuse(_ reason: ValueFault.Reason) {
        faults[Self.sharingKey] = ValueFault(key: Self.sharingKey, reason: reason)
    }

    /// Whether a field may have this name: those of shares have CloudKit's own.
    func mayHave(_ key: String) -> Bool {
        Names.isIdentifier(key) || (sharing != nil && ShareNames.fields.contains(key))
    }
}

extension CKRecord {
    /// What the edit was based on, of the same class.
    var ancestor: CKRecord {
        let state = snapshot.ancestor
        return state.sharing == nil ? CKRecord(state: state) : CKShare(shareState: state)
    }

    /// A record as the server has it: a `CKShare` where it is one.
    /// - Parameter server: under which the URLs of shares are; nil where it is not known.
    static func make(wire record: Record, recordID: CKRecord.ID, assets: [String: [CKAsset]]? = nil, server: URL? = nil) -> CKRecord {
        var state = RecordState(wire: record, recordID: recordID, assets: assets)
        guard let details = record.sharing?.value else { return CKRecord(state: state) }
        state.sharing = ShareSheet(details, server: server)
        return CKShare(shareState: state)
    }
}
