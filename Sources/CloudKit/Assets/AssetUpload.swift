import Foundation
import NacreCloudWire
import NacreLocks

/// A file that must be sent before the records of its batch.
struct AssetUpload: Sendable {
    /// The index among the batch's saves.
    let save: Int
    let key: String
    /// The index among the field's assets.
    let place: Int
    let object: CKAsset

    /// Reads the file's attributes; blocks the thread.
    func source() throws(CKError) -> SourceFile {
        guard !object.isImport else { throw .assetNotImported(key) }
        return try SourceFile(object.fileURL, key: key)
    }
}

/// A file that was sent for one field of one record, and that no record has yet. CloudKit: a receipt proves it.
///
/// An app that saves the record again, after a conflict or a network failure, does not send the file again.
struct SentFile: Equatable, Sendable {
    /// The record and field that the file may be used for.
    struct Purpose: Equatable, Sendable {
        var settings: ServerSettings
        var scope: CKDatabase.Scope
        var recordID: CKRecord.ID
        var recordType: CKRecord.RecordType
        var key: String
    }

    /// Seconds for which the sent file is reused. On this server: a file that no record has is kept for a day.
    static let seconds = 3600.0

    var purpose: Purpose
    var source: SourceFile
    var asset: Asset
    /// The time of the upload, by the conversation's clock.
    var time: Double
}

extension ModifyPlan.Batch {
    var uploads: [AssetUpload] {
        saves.indices.flatMap { save in
            saves[save].change.set.entries.flatMap { field -> [AssetUpload] in
                guard let values = field.value.assets, let objects = saves[save].assets[field.name], objects.count == values.count else { return [] }
                return values.indices.filter { values[$0].isUnsent }.map { index in
                    AssetUpload(save: save, key: field.name, place: index, object: objects[index])
                }
            }
        }
    }

    /// Replaces the unsent asset by the server's.
    mutating func set(_ asset: Asset, for upload: AssetUpload) {
        guard let value = saves[upload.save].change.set[upload.key], var assets = value.assets else { return }
        assets[upload.place] = asset
        saves[upload.save].change.set[upload.key] = value.with(assets: assets)
    }
}

extension Conversation {
    /// Files of one operation that are transferred at a time. Own choice: enough to fill a line, and few enough to
    /// leave capacity to other operations.
    static let transfersMax = 4

    /// A file whose attributes were read, and its index among its record's files.
    private struct Job: Sendable {
        let upload: AssetUpload
        let source: SourceFile
        let progress: AssetProgress
        let number: Int
        var url = ""
        /// The time at which the URL was requested, by the conversation's clock.
        var asked = 0.0
    }

    /// Seconds after its request within which a URL is first used. On this server it is valid for fifteen minutes.
    private static let placeSeconds = 600.0

    /// Sends the files of a batch's records, so that the records can be sent.
    ///
    /// - Parameters:
    ///   - isAtomic: whether one failed file ends the batch: the other files are then not sent.
    ///   - progress: called with the fraction of a record's bytes.
    /// - Returns: the batch with the server's assets, and the errors of saves whose files could not be sent.
    /// - Throws: an error that ends the batch as a whole.
    func upload(
        _ batch: ModifyPlan.Batch, isAtomic: Bool, progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        let all = batch.uploads
        guard !all.isEmpty else { return (batch, [:]) }
        guard let journal else { return try await upload(all, of: batch, failures: [:], isAtomic: isAtomic, progress: progress) }
        var batch = batch
        // A file that an earlier process has sent is on the server, even if the local file changed since.
        var failures: [Int: CKError] = [:]
        var left: [AssetUpload] = []
        for (upload, before) in await journal.outcomes(of: all, in: batch) {
            switch before {
            case .success(let asset): batch.set(asset, for: upload)
            case .failure(let error): failures[upload.save] = failures[upload.save] ?? error
            case nil: left.append(upload)
            }
        }
        let rest = left.filter { failures[$0.save] == nil }
        guard !rest.isEmpty, failures.isEmpty || !isAtomic else { return (batch, failures) }
        return try await Conversation(line: line, scope: scope, patience: patience, group: group).upload(
            rest, of: batch, failures: failures, isAtomic: isAtomic, noting: { [batch] in journal.note($1, of: $0, in: batch) }, progress: progress)
    }

    private func upload(
        _ uploads: [AssetUpload], of batch: ModifyPlan.Batch, failures: [Int: CKError], isAtomic: Bool,
        noting note: @Sendable (AssetUpload, Result<Asset, CKError>) -> Void = { _, _ in },
        progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        var batch = batch
        let (sources, faults) = await look(at: uploads)
        for upload in uploads { if let fault = faults[upload.save] { note(upload, .failure(fault)) } }
        var failures = failures.merging(faults) { before, _ in before }
        // A receipt is used once: an object that is twice in a list is sent twice.
        var used: Set<ObjectIdentifier> = []
        let fresh = sources.filter { found in
            guard let asset = sentBefore(found, of: batch), used.insert(ObjectIdentifier(found.upload.object)).inserted else { return true }
            batch.set(asset, for: found.upload)
            return false
        }
        var left = jobs(fresh) { [saves = batch.saves] save, fraction in progress(saves[save].record, fraction) }[...]
        while !left.isEmpty, failures.isEmpty || !isAtomic {
            let some = left.prefix(Limits.itemsPerWebRequest).filter { failures[$0.upload.save] == nil }
            left = left.dropFirst(Limits.itemsPerWebRequest)
            var end: CKError?
            // Large files are announced one by one, when they are sent.
            let large = some.filter { isAnnounced($0) }
            let ready = try await urls(for: some.filter { !isAnnounced($0) }, of: batch) + large
            await inParallel(ready, atMost: Self.transfersMax) { [batch] in
                await send($0, of: batch)
            } take: { job, result in
                note(job.upload, result)
                switch result {
                case .success(let asset):
                    batch.set(asset, for: job.upload)
                    remember(asset, job, of: batch)
                case .failure(let error):
                    if error.code.endsOperation { end = end ?? error } else { failures[job.upload.save] = failures[job.upload.save] ?? error }
                }
                return end == nil && (failures.isEmpty || !isAtomic)
            }
            if Task.isCancelled { throw .cancelled }
            if let end { throw end }
        }
        return (batch, failures)
    }

    /// Returns the files of saves whose files all exist, and the errors of the other saves.
    private func look(at uploads: [AssetUpload]) async -> (files: [(upload: AssetUpload, source: SourceFile)], failures: [Int: CKError]) {
        let sources = await FileWork.run {
            uploads.map { upload in Result { () throws(CKError) in try upload.source() } }
        }
        var failures: [Int: CKError] = [:]
        var files: [(upload: AssetUpload, source: SourceFile)] = []
        for (upload, source) in zip(uploads, sources) {
            switch source {
            case .success(let source): files.append((upload, source))
            case .failure(let error): failures[upload.save] = failures[upload.save] ?? error
            }
        }
        return (files.filter { failures[$0.upload.save] == nil }, failures)
    }

    private func jobs(
        _ files: [(upload: AssetUpload, source: SourceFile)], _ tell: @escaping @Sendable (Int, Double) -> Void
    ) -> [Job] {
        Dictionary(grouping: files, by: \.upload.save).sorted { $0.key < $1.key }.flatMap { save, files -> [Job] in
            let progress = AssetProgress(sizes: files.map(\.source.size)) { tell(save, $0) }
            return files.enumerated().map { Job(upload: $1.upload, source: $1.source, progress: progress, number: $0) }
        }
    }

    private func purpose(_ upload: AssetUpload, of batch: ModifyPlan.Batch) -> SentFile.Purpose? {
        guard let settings = try? line.settings() else { return nil }
        let record = batch.saves[upload.save].record
        return SentFile.Purpose(settings: settings, scope: scope, recordID: record.recordID, recordType: record.recordType, key: upload.key)
    }

    /// Returns the server's asset of the same file for the same field, if it was sent recently.
    private func sentBefore(_ file: (upload: AssetUpload, source: SourceFile), of batch: ModifyPlan.Batch) -> Asset? {
        guard let sent = file.upload.object.sent.withLock({ $0 }), sent.source == file.source, sent.purpose == purpose(file.upload, of: batch),
            line.timekeeper.now() - sent.time < SentFile.seconds
        else { return nil }
        return sent.asset
    }

    private func remember(_ asset: Asset, _ job: Job, of batch: ModifyPlan.Batch) {
        guard let purpose = purpose(job.upload, of: batch) else { return }
        let sent = SentFile(purpose: purpose, source: job.source, asset: asset, time: line.timekeeper.now())
        job.upload.object.sent.withLock { $0 = sent }
    }

    /// Requests upload URLs for these files, in one request.
    private func urls(for jobs: [Job], of batch: ModifyPlan.Batch) async throws(CKError) -> [Job] {
        guard !jobs.isEmpty else { return [] }
        let asked = line.timekeeper.now()
        let tokens = jobs.map { item($0, of: batch) }
        let response = try await upload(AssetsUploadRequest(tokens: tokens, zoneID: batch.zoneID.wire))
        guard response.tokens.count == jobs.count else { throw .unexpectedAnswer }
        return zip(jobs, response.tokens).map { job, token in
            var job = job
            job.url = token.url
            job.asked = asked
            return job
        }
    }

    private func isAnnounced(_ job: Job) -> Bool {
        job.source.size >= AnnouncedFile.bytesMin && (try? line.address())?.transport.sendsParts == true
    }

    /// Sends a large file in parts, or whole if the server or this platform needs that.
    private func sendLarge(_ job: Job, of batch: ModifyPlan.Batch) async throws(CKError) -> Asset {
        let (path, progress, number) = (job.source.path, job.progress, job.number)
        var job = job
        if let file = await FileWork.run({ FileChunks.announced(path) }), file.size >= AnnouncedFile.bytesMin {
            let announcement = try await sendParts(file, from: path, for: item(job, of: batch), in: batch.zoneID) { progress.note($0, of: number) }
            switch announcement {
            case .sent(let asset): return asset
            case .whole(let url): (job.url, job.asked) = (url, line.timekeeper.now())
            }
        } else {
            job = try await urls(for: [job], of: batch)[0]
        }
        return try await send(job, again: { () throws(CKError) in try await urls(for: [job], of: batch)[0].url })
    }

    private func item(_ job: Job, of batch: ModifyPlan.Batch) -> AssetsUploadRequest.Item {
        let record = batch.saves[job.upload.save].record
        return AssetsUploadRequest.Item(recordName: record.recordID.recordName, recordType: record.recordType, fieldName: job.upload.key)
    }

    private func send(_ job: Job, of batch: ModifyPlan.Batch) async -> Result<Asset, CKError> {
        let (upload, source) = (job.upload, job.source)
        do throws(CKError) {
            var sent: Result<Asset, CKError>
            do throws(CKError) {
                sent = .success(
                    isAnnounced(job)
                        ? try await sendLarge(job, of: batch)
                        : try await send(job, again: { () throws(CKError) in try await urls(for: [job], of: batch)[0].url }))
            } catch {
                sent = .failure(error)
            }
            // A changed file is reported as changed, whatever the result of its transfer.
            if case .failure(let error) = sent, error.code == .operationCancelled { throw error }
            try await FileWork.run { () throws(CKError) in try source.check(upload.object.fileURL, key: upload.key) }
            let asset = try sent.get()
            guard asset.size == source.size, !asset.isUnsent else { throw .unexpectedAnswer }
            return .success(asset)
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter again: returns a new URL for the same file, because a failed attempt may have used up the first one.
    private func send(_ job: Job, again: () async throws(CKError) -> String) async throws(CKError) -> Asset {
        let address = try line.address()
        let (path, length, progress, number) = (job.source.path, job.source.size, job.progress, job.number)
        let bytes = try await repeated(.transfer) { attempt -> Result<[UInt8], Failure> in
            let answer: Result<TransportAnswer, TransportFailure>
            do throws(CKError) {
                let isFresh = attempt.number == 0 && line.timekeeper.now() - job.asked < Self.placeSeconds
                var request = try address.fileRequest(.post, isFresh ? job.url : try await again())
                request.limit(by: attempt)
                answer = await Self.result { () throws(TransportFailure) in
                    try await address.transport.upload(request, from: path, length: length) { progress.note($0, of: number) }
                }
            } catch {
                return .failure(Failure(ending: nil, error: error))
            }
            return answered(answer, by: address).map(\.body)
        }
        let response: AssetUploadResponse = try Self.read(bytes)
        return response.singleFile
    }
}
