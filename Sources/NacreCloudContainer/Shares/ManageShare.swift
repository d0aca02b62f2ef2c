package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// The subject of a share: a zone, or one record of it and what hangs on it.
package struct ShareSubject: Hashable, Sendable {
    /// The private database of the owner, or the shared one of an administrator of the share.
    package var target: DatabaseTarget
    package var zoneID: ZoneID
    /// The name of the root record, or of the share's own record; nil: the whole zone.
    package var recordName: String?

    package init(target: DatabaseTarget, zoneID: ZoneID, recordName: String?) {
        (self.target, self.zoneID, self.recordName) = (target, zoneID, recordName)
    }
}

/// The steps of a page on which a user manages one share.
extension Cloud {
    /// Returns the share of a subject, for a user who may manage it. Costs two lookups of a record at most.
    /// - Returns: The share's record; nil: the subject is not shared, and the user may share it.
    /// - Throws: `NOT_FOUND` if there is no such record; `ACCESS_DENIED` for a participant who is no administrator.
    package func managedShare(_ subject: ShareSubject, by caller: Caller) async throws -> Record? {
        if subject.zoneID.isDefault { throw ServerError.zoneCannotBeShared }
        let share: Record?
        if let name = subject.recordName {
            guard let record = try await record(name, of: subject, by: caller) else { throw ServerError.recordNotFound }
            if record.sharing != nil {
                share = record
            } else if let link = record.share {
                share = try await self.record(link.recordName, of: subject, by: caller)
            } else {
                share = nil
            }
        } else {
            share = try await record(ShareNames.ofZone, of: subject, by: caller)
        }
        guard let share else {
            guard subject.target.scope == .private else { throw ServerError.shareIsManagedByOthers }
            return nil
        }
        switch share.sharing?.value.currentUserParticipant?.role {
        case .owner?, .administrator?: return share
        default: throw ServerError.shareIsManagedByOthers
        }
    }

    /// Changes the share of a subject as its page says.
    /// - Throws: `CONFLICT` if another change came in between; the refusals of `records/modify`.
    package func editShare(_ edit: ShareEdit, of subject: ShareSubject, by caller: Caller) async throws {
        let share = try await managedShare(subject, by: caller)
        let operation: RecordOperation
        if case .begin(let title, let type, let permission) = edit {
            guard share == nil else { throw ServerError.shareHasBegun }
            let texts = [("cloudkit.title", title), ("cloudkit.type", type)].compactMap { name, text in
                text.map { RecordFields.Field(name, .string($0)) }
            }
            let change = ShareChange(publicPermission: permission, forRecord: subject.recordName)
            operation = RecordOperation(
                .create,
                RecordChange(
                    recordName: subject.recordName == nil ? ShareNames.ofZone : nil, recordType: ShareNames.recordType, set: RecordFields(texts),
                    sharing: change))
        } else {
            guard let share, let details = share.sharing?.value else { throw ServerError.shareHasEnded }
            // An administrator who deletes the record leaves the share, which goes on.
            if edit == .stop, details.currentUserParticipant?.role != .owner { throw ServerError.shareEndsByItsOwner }
            let change = try edit.change(of: details)
            operation = RecordOperation(
                change == nil ? .delete : .update,
                RecordChange(
                    recordName: share.recordName, recordType: ShareNames.recordType, recordChangeTag: share.recordChangeTag, sharing: change))
        }
        let request = RecordsModifyRequest(operations: [operation], zoneID: subject.zoneID)
        let answer = try await modifyRecords(request, in: subject.target, by: caller, digest: [])
        if case .failure(_, let error)? = answer.records.first { throw error }
    }

    private func record(_ name: String, of subject: ShareSubject, by caller: Caller) async throws -> Record? {
        let request = RecordsLookupRequest(records: [.init(recordName: name)], zoneID: subject.zoneID)
        switch try await lookupRecords(request, in: subject.target, by: caller).records.first {
        case .record(let record)?: return record
        case .failure(_, let error)? where error != .recordNotFound: throw error
        default: return nil
        }
    }
}

extension ServerError {
    package static let shareIsManagedByOthers = ServerError(
        .accessDenied, "the share is managed by its owner and by administrators alone", remedy: "Ask the owner of the share.")

    fileprivate static let shareEndsByItsOwner = ServerError(
        .accessDenied, "only the owner stops sharing", remedy: "Ask the owner of the share.")

    fileprivate static let shareHasBegun = ServerError(
        .conflict, "this is shared already", remedy: "Look at the share as it is now, and change that.")

    fileprivate static let shareHasEnded = ServerError(.notFound, "this is not shared any more", remedy: "Share it anew.")
}
