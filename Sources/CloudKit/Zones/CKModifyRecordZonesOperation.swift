import Foundation
import NacreCloudWire

/// Makes and deletes zones of a private database. Deleting a zone deletes everything in it.
///
/// Saving an existing zone succeeds and changes nothing. Deleting a missing one fails with `zoneNotFound`. Apple: iOS
/// 8.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The zones to save.
    open var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete, with all their records.
    open var recordZoneIDsToDelete: [CKRecordZone.ID]?
    /// Called once for each zone to save.
    open var perRecordZoneSaveBlock: ((_ recordZoneID: CKRecordZone.ID, _ saveResult: Result<CKRecordZone, any Error>) -> Void)?
    /// Called once for each ID to delete.
    open var perRecordZoneDeleteBlock: ((_ recordZoneID: CKRecordZone.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var modifyRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `modifyRecordZonesResultBlock` is set. Failed items make it `partialFailure`. Apple:
    /// deprecated in iOS 15.
    open var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

    typealias Results = ModifyResults<CKRecordZone.ID, CKRecordZone>

    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that saves and deletes zones.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        let zones = recordZonesToSave ?? []
        let zoneIDs = recordZoneIDsToDelete ?? []
        let count = zones.count + zoneIDs.count
        if count == 0 { try conversation.checkAccess() }
        guard count <= Limits.zonesPerRequest else { throw .tooManyItems(count: count, maximum: Limits.zonesPerRequest) }
        guard Set(zones.map(\.zoneID) + zoneIDs).count == count else {
            throw .malformed("An operation can save or delete a zone only once")
        }
        let saves = zones.filter { zone in
            guard let error = Self.refusal(of: zone, in: conversation.scope) else { return true }
            callBack(zone.zoneID, saved: .failure(error))
            return false
        }
        let deletions = zoneIDs.filter { zoneID in
            guard let error = zoneID.error(in: conversation.scope) else { return true }
            callBack(zoneID, deleted: .failure(error))
            return false
        }
        guard !saves.isEmpty || !deletions.isEmpty else { return }
        let response = try await conversation.modify(
            ZonesModifyRequest(
                operations: saves.map { ZoneOperation(.create, $0.zoneID.wire) } + deletions.map { ZoneOperation(.delete, $0.wire) }))
        guard response.zones.count == saves.count + deletions.count else { throw .unexpectedAnswer }
        for (zone, answer) in zip(saves, response.zones) { callBack(zone.zoneID, saved: Self.save(zone, answer, in: conversation.scope)) }
        for (zoneID, answer) in zip(deletions, response.zones.dropFirst(saves.count)) { callBack(zoneID, deleted: Self.deletion(answer)) }
    }

    /// Returns the fault of a zone that is known before anything is sent.
    private static func refusal(of zone: CKRecordZone, in scope: CKDatabase.Scope) -> CKError? {
        if let error = zone.zoneID.error(in: scope) { return error }
        if zone.encryptionScope == .perZone { return .malformed("The encryption scope perZone is not supported by this version") }
        if scope != .private { return .zonesAreForPrivateDatabases }
        return nil
    }

    private static func save(_ zone: CKRecordZone, _ answer: ZoneResult, in scope: CKDatabase.Scope) -> Result<CKRecordZone, CKError> {
        switch answer {
        case .zone(let saved): .success(CKRecordZone(wire: saved, id: zone.zoneID, in: scope))
        case .failure(_, let error): .failure(CKError(error))
        case .deleted: .failure(.unexpectedAnswer)
        }
    }

    private static func deletion(_ answer: ZoneResult) -> Result<Void, CKError> {
        switch answer {
        case .deleted: .success(())
        case .failure(_, let error): .failure(CKError(error))
        case .zone: .failure(.unexpectedAnswer)
        }
    }

    private func callBack(_ zoneID: CKRecordZone.ID, saved result: Result<CKRecordZone, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.add(zoneID, saved: result)
            perRecordZoneSaveBlock?(zoneID, result)
        }
    }

    private func callBack(_ zoneID: CKRecordZone.ID, deleted result: Result<Void, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.add(zoneID, deleted: result)
            perRecordZoneDeleteBlock?(zoneID, result)
        }
    }

    override func deliver(_ error: CKError?) {
        if error == nil, whenDone == nil, modifyRecordZonesResultBlock != nil || modifyRecordZonesCompletionBlock == nil { noteUnheard() }
        if let modifyRecordZonesResultBlock {
            modifyRecordZonesResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to modify some record zones", of: results.failures)
            modifyRecordZonesCompletionBlock?(results.saved, results.deleted, failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }

    /// Logs errors of items that no block of the app receives: the result block reports success.
    private func noteUnheard() {
        if perRecordZoneSaveBlock == nil { noteUnheard(results.saveErrors, "CKModifyRecordZonesOperation: zones to save") }
        if perRecordZoneDeleteBlock == nil { noteUnheard(results.deleteErrors, "CKModifyRecordZonesOperation: zones to delete") }
    }
}
