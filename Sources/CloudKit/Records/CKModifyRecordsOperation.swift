public import Foundation
import NacreCloudWire

/// Saves and deletes records, in any number of zones of one database.
///
/// The resulting records are new instances with the server's versions. On this server the instances passed in are
/// updated too, so that an app may edit and save either. Changes made during the save are kept. If another device
/// changed the same field as an edit during the save, the instance keeps its version, and its next save fails with
/// `serverRecordChanged`.
///
/// Each zone gets a request and a transaction of its own, one zone after the other. With `isAtomic`, a zone with the
/// capability saves all or nothing: items at fault have their own error, the others `batchRequestFailed`. An error that
/// ends the whole operation (no network, no account) is the operation's result if no zone was answered before.
/// Otherwise it is the error of the remaining items.
///
/// On this server the records that one request touches may take 8 MB. A larger request is split in halves. For an
/// atomic zone it fails with `limitExceeded` and changes nothing: send less at a time, as CloudKit advises.
///
/// Asset files are sent before the records of their zone, four at a time. Each is sent once, however often the records
/// are sent. A file that is missing or changes meanwhile fails its record alone, or with `isAtomic` its zone. Apple:
/// iOS 8.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The fields that are sent, and whether the server compares versions.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends the changed fields. The server accepts them if it has the version that was fetched.
        case ifServerRecordUnchanged = 0
        /// Sends the changed fields, whatever version the server has.
        case changedKeys = 1
        /// Sends all fields, whatever version the server has. Fields that only the server has stay.
        case allKeys = 2
    }

    /// The records to save.
    open var recordsToSave: [CKRecord]?
    /// The records to delete.
    open var recordIDsToDelete: [CKRecord.ID]?
    /// The policy for a save over a newer version.
    open var savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
    /// Data that is opaque to the server. The server returns the latest with the changes of a zone.
    open var clientChangeTokenData: Data?
    /// Whether the changes in each zone are saved all or none, if the zone can do that.
    open var isAtomic: Bool = true
    /// Called with 1.0 for each record that was saved, and before that with the fraction of its assets' bytes sent.
    open var perRecordProgressBlock: ((CKRecord, Double) -> Void)?
    /// Called once for each record to save.
    open var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)?
    /// Called once for each ID to delete.
    open var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form of `perRecordSaveBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)?
    /// The old form of `modifyRecordsResultBlock`; not called if that is set. Failed items make it `partialFailure`.
    /// Apple: deprecated in iOS 15.
    open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

    typealias Results = ModifyResults<CKRecord.ID, CKRecord>

    private var results = Results()
    /// Whether the records may be part of a larger batch, as those of a sync engine are. The rules that the records of
    /// one save must keep together then fail single records, or are left to the server.
    var isPart = false
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that saves and deletes records, in any zones of the database.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    override func run() async throws(CKError) {
        let policy = SavePolicy(rawValue: savePolicy.rawValue) ?? .ifServerRecordUnchanged
        let plan = try ModifyPlan(
            saving: recordsToSave ?? [], deleting: recordIDsToDelete ?? [], policy: policy, isAtomic: isAtomic, isPart: isPart,
            in: conversation.scope)
        if plan.isEmpty { try conversation.checkAccess() }
        for refusal in plan.refusals {
            switch refusal {
            case .save(let record, let error): callBack(record, .failure(error))
            case .deletion(let recordID, let error): callBack(recordID, .failure(error))
            }
        }
        let clientChangeToken = clientChangeTokenData.map { [UInt8]($0) }
        try await conversation.eachZone(plan.batches) { batch throws(CKError) in
            try await sendWhole(batch, policy) { $0.request(isAtomic: isAtomic, policy: policy, clientChangeToken: clientChangeToken) }
        } failed: { batch, error in
            callBack(batch, error)
        }
    }

    /// Sends the files of a batch, seals its encrypted values, and then sends the batch without the saves that failed.
    /// - Throws: an error before any result of the batch was reported.
    private func sendWhole(
        _ batch: ModifyPlan.Batch, _ policy: SavePolicy, _ makeRequest: (ModifyPlan.Batch) -> RecordsModifyRequest
    ) async throws(CKError) {
        var (ready, failures) = try await conversation.upload(batch, isAtomic: isAtomic) { [self] record, fraction in
            report { self.perRecordProgressBlock?(record, fraction) }
        }
        if failures.isEmpty || !isAtomic {
            let sealed = try await conversation.sealed(ready)
            ready = sealed.batch
            failures.merge(sealed.failures) { before, _ in before }
        }
        if failures.isEmpty || !isAtomic {
            failures.merge(await conversation.noteWishes(of: ready)) { before, _ in before }
        }
        guard failures.isEmpty || !isAtomic else {
            for (index, save) in batch.saves.enumerated() { callBack(save.record, .failure(failures[index] ?? .failedWithItsBatch)) }
            for recordID in batch.deletions { callBack(recordID, .failure(.failedWithItsBatch)) }
            return
        }
        ready.saves = ready.saves.enumerated().filter { failures[$0.offset] == nil }.map(\.element)
        if !ready.saves.isEmpty || !ready.deletions.isEmpty { try await send(ready, policy, makeRequest) }
        for (index, error) in failures.sorted(by: { $0.key < $1.key }) { callBack(batch.saves[index].record, .failure(error)) }
    }

    /// Sends a batch, in halves if it is too large and not atomic.
    /// - Throws: an error before any result of the batch was reported.
    private func send(
        _ batch: ModifyPlan.Batch, _ policy: SavePolicy, tries: SealingTries = SealingTries(),
        _ makeRequest: (ModifyPlan.Batch) -> RecordsModifyRequest
    ) async throws(CKError) {
        let request = makeRequest(batch)
        let moment = conversation.seenMoment
        let answers: [RecordResult]
        do throws(CKError) {
            answers = try await conversation.modify(request).records
            guard answers.count == batch.saves.count + batch.deletions.count else { throw .unexpectedAnswer }
        } catch {
            guard error.code == .limitExceeded, request.atomic != true, let halves = batch.halves else { throw error }
            try await send(halves.first, policy, tries: tries, makeRequest)
            do throws(CKError) {
                try await send(halves.second, policy, tries: tries, makeRequest)
            } catch {
                guard error.code != .operationCancelled else { throw error }
                callBack(halves.second, error)
            }
            return
        }
        let opened = await conversation.opened(batch.shown(in: answers), since: moment).results
        let isAtomic = request.atomic == true
        let again = await conversation.repeated(batch, after: answers, opened: opened, policy: policy, isAtomic: isAtomic, tries)
        let repeated = Set(again?.indices ?? [])
        let links = await meetShares(of: batch, in: answers, repeated: repeated)
        if let again, isAtomic { return try await sendAgain(again, policy, makeRequest) }
        for (index, save) in batch.saves.enumerated() where !repeated.contains(index) {
            callBack(save, answers[index], opened[index], links[index])
        }
        for (recordID, answer) in zip(batch.deletions, answers.dropFirst(batch.saves.count)) { callBack(recordID, answer) }
        guard let again else { return }
        do throws(CKError) {
            try await sendAgain(again, policy, makeRequest)
        } catch {
            guard error.code != .operationCancelled else { throw error }
            callBack(again.batch, error)
        }
    }

    /// Has the keys of encrypted values follow the shares that were saved or deleted, and records follow their keys.
    /// - Parameter repeated: the indices of the saves that are sent again.
    /// - Returns: the secrets of the links of saved shares, by the indices of the saves.
    private func meetShares(of batch: ModifyPlan.Batch, in answers: [RecordResult], repeated: Set<Int>) async -> [Int: ShareLinks] {
        var links: [Int: ShareLinks] = [:]
        var isOther = zip(batch.saves, answers).contains { save, answer in
            guard case .record = answer else { return false }
            return save.newShareOfRecords != nil || save.isMoved && save.created != nil && save.change.manifest != nil
        }
        for (index, (save, answer)) in zip(batch.saves, answers).enumerated() where save.sharing != nil && !repeated.contains(index) {
            switch answer {
            case .record(let saved):
                await conversation.endWaiting(of: save, isSaved: true)
                links[index] = await conversation.meetShare(saved, save.record.recordID)
            case .failure: await conversation.endWaiting(of: save, isSaved: false)
            case .deleted: break
            }
        }
        let deleted = zip(batch.deletions, answers.dropFirst(batch.saves.count)).compactMap { recordID, answer in
            if case .deleted = answer { recordID } else { nil }
        }
        for recordID in deleted { await conversation.meetEndOfShare(recordID) }
        if await conversation.meetEndsOfShares(among: deleted, in: batch.zoneID) { isOther = true }
        if isOther { await conversation.sealByShares(in: batch.zoneID) }
        return links
    }

    /// Seals saves anew, and sends them again.
    /// - Throws: an error before any result of the saves was reported.
    private func sendAgain(
        _ again: RepeatedSaves, _ policy: SavePolicy, _ makeRequest: (ModifyPlan.Batch) -> RecordsModifyRequest
    ) async throws(CKError) {
        var (ready, failures) = try await conversation.sealed(again.batch, again.tries)
        if !failures.isEmpty, makeRequest(again.batch).atomic == true {
            for save in ready.saves where save.sharing != nil { await conversation.endWaiting(of: save, isSaved: false) }
            for index in ready.saves.indices { callBack(ready.saves[index].record, .failure(failures[index] ?? .failedWithItsBatch)) }
            for recordID in ready.deletions { callBack(recordID, .failure(.failedWithItsBatch)) }
            return
        }
        ready.saves = ready.saves.enumerated().filter { failures[$0.offset] == nil }.map(\.element)
        if !ready.saves.isEmpty || !ready.deletions.isEmpty { try await send(ready, policy, tries: again.tries, makeRequest) }
        for (index, error) in failures.sorted(by: { $0.key < $1.key }) { callBack(again.batch.saves[index].record, .failure(error)) }
    }

    private func callBack(_ batch: ModifyPlan.Batch, _ error: CKError) {
        for save in batch.saves { callBack(save.record, .failure(error)) }
        for recordID in batch.deletions { callBack(recordID, .failure(error)) }
    }

    /// - Parameters:
    ///   - opened: the encrypted values of the record in the answer.
    ///   - links: the secrets of the links of a share.
    private func callBack(
        _ save: ModifyPlan.Save, _ answer: RecordResult, _ opened: Result<EncryptedFields, CKError>?, _ links: ShareLinks?
    ) {
        if case .failure(let error)? = opened { return callBack(save.record, .failure(error)) }
        let encrypted = try? opened?.get()
        switch answer {
        case .record(let saved) where saved.recordName == save.record.recordID.recordName:
            let server = conversation.serverURL
            save.record.adopt(
                saved, sent: save.change, assets: save.assets, secrets: save.secrets, opened: encrypted ?? EncryptedFields(unopened: saved),
                server: server)
            let assets = RecordState.assets(of: saved.fields, sent: save.assets, over: save.record.snapshot.assets)
            let record = CKRecord.make(wire: saved, recordID: save.record.recordID, assets: assets, encrypted: encrypted, server: server)
            if let links { for case let share as CKShare in [save.record, record] { share.take(links) } }
            callBack(save.record, .success(record))
        case .failure(_, let error):
            let server = conversation.serverURL
            callBack(save.record, .failure(CKError(error, saving: save.record, encrypted: encrypted, server: server)))
        case .record, .deleted: callBack(save.record, .failure(.unexpectedAnswer))
        }
    }

    private func callBack(_ recordID: CKRecord.ID, _ answer: RecordResult) {
        switch answer {
        case .deleted:
            conversation.forgetVersion(of: recordID)
            callBack(recordID, .success(()))
        case .failure(_, let error): callBack(recordID, .failure(CKError(error)))
        case .record: callBack(recordID, .failure(.unexpectedAnswer))
        }
    }

    private func callBack(_ record: CKRecord, _ result: Result<CKRecord, CKError>) {
        report { [self] in
            let recordID = record.recordID
            let result = result.mapError { $0 as any Error }
            results.add(recordID, saved: result)
            if let saved = result.value { perRecordProgressBlock?(saved, 1) }
            if let perRecordSaveBlock {
                perRecordSaveBlock(recordID, result)
            } else {
                perRecordCompletionBlock?(result.value ?? record, result.error)
            }
        }
    }

    private func callBack(_ recordID: CKRecord.ID, _ result: Result<Void, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.add(recordID, deleted: result)
            perRecordDeleteBlock?(recordID, result)
        }
    }

    override func deliver(_ error: CKError?) {
        if error == nil, whenDone == nil, modifyRecordsResultBlock != nil || modifyRecordsCompletionBlock == nil { noteUnheard() }
        if let modifyRecordsResultBlock {
            modifyRecordsResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to modify some records", of: results.failures)
            modifyRecordsCompletionBlock?(results.saved, results.deleted, failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }

    /// Logs errors of items that no block of the app receives: the result block reports success.
    private func noteUnheard() {
        if perRecordSaveBlock == nil && perRecordCompletionBlock == nil {
            noteUnheard(results.saveErrors, "CKModifyRecordsOperation: records to save")
        }
        if perRecordDeleteBlock == nil { noteUnheard(results.deleteErrors, "CKModifyRecordsOperation: records to delete") }
    }
}
