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
    /// The asset's file, fetched again because its own is gone.
    var fetched: URL?

    /// The file to send.
    var fileURL: URL? { fetched ?? object.fileURL }

    /// Reads the file's attributes; blocks the thread.
    func source() throws(CKError) -> SourceFile {
        guard !object.isImport else { throw .assetNotImported(key) }
        return try SourceFile(fileURL, key: key)
    }
}

/// A file that the server has, and that a save puts into its record.
struct UploadedFile: Equatable, Sendable {
    var asset: Asset
    /// The root of the sealed chunks that were sent; nil for a plain file.
    var root: [UInt8]?
    /// The name of the key that sealed the chunks; nil for a plain file.
    var keyID: String?
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
        /// The name of the key that sealed the file; nil for a plain one.
        var keyID: String?
    }

    /// Seconds for which the sent file is reused. On this server: a file that no record has is kept for a day.
    static let seconds = 3600.0

    var purpose: Purpose
    var source: SourceFile
    var file: UploadedFile
    /// The time of the upload, by the conversation's clock.
    var time: Double
}

extension ModifyPlan.Batch {
    /// The saves with a file that is still to be sent.
    var savesWithFiles: [Int] {
        saves.indices.filter { save in saves[save].change.set.entries.contains { $0.value.assets?.contains(where: \.isUnsent) ?? false } }
    }

    /// Returns the files to send: those that the server does not have. A list is sealed as a whole: beside a new file,
    /// the plain ones that it has are sent again.
    /// - Parameter sealing: returns whether the files of a save are sealed, by its index.
    func uploads(sealing: (Int) -> Bool) -> [AssetUpload] {
        saves.indices.flatMap { save in
            saves[save].change.set.entries.flatMap { field -> [AssetUpload] in
                guard let values = field.value.assets, let objects = saves[save].assets[field.name], objects.count == values.count,
                    values.contains(where: \.isUnsent)
                else { return [] }
                let roots = saves[save].secrets.files[field.name]
                let isPlain = { (index: Int) in roots.map { $0.count != values.count || $0[index] == nil } ?? true }
                return values.indices.filter { values[$0].isUnsent || sealing(save) && isPlain($0) }.map { index in
                    AssetUpload(save: save, key: field.name, place: index, object: objects[index])
                }
            }
        }
    }

    func isUnsent(_ upload: AssetUpload) -> Bool {
        saves[upload.save].change.set[upload.key]?.assets?[upload.place].isUnsent ?? false
    }

    /// Replaces the unsent asset by the server's.
    mutating func set(_ file: UploadedFile, for upload: AssetUpload) {
        guard let value = saves[upload.save].change.set[upload.key], var assets = value.assets else { return }
        assets[upload.place] = file.asset
        saves[upload.save].change.set[upload.key] = value.with(assets: assets)
        var roots = saves[upload.save].secrets.files[upload.key] ?? []
        if roots.count != assets.count { roots = assets.map { _ in nil } }
        roots[upload.place] = file.root
        saves[upload.save].secrets.files[upload.key] = roots
        if file.root != nil { saves[upload.save].secrets.fileKeys.insert(file.keyID ?? "") }
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
        /// Seals the file; nil: it is sent as it is.
        let files: ZoneFiles?
        var url = ""
        /// The time at which the URL was requested, by the conversation's clock.
        var asked = 0.0

        /// The number of bytes to send.
        var length: Int { files?.sealedCount(ofFile: source.size) ?? source.size }

        /// Notes how much was sent, in bytes of the app's file.
        func note(_ sent: Int) {
            progress.note(files == nil ? sent : Int(Double(sent) / Double(length) * Double(source.size)), of: number)
        }
    }

    /// Seconds after its request within which a URL is first used. On this server it is valid for fifteen minutes.
    private static let placeSeconds = 600.0

    /// Sends the files of a batch's records, so that the records can be sent. They are sealed first where the account
    /// has keys.
    ///
    /// - Parameters:
    ///   - isAtomic: whether one failed file ends the batch: the other files are then not sent.
    ///   - progress: called with the fraction of a record's bytes.
    /// - Returns: the batch with the server's assets, and the errors of saves whose files could not be sent.
    /// - Throws: an error that ends the batch as a whole.
    func upload(
        _ batch: ModifyPlan.Batch, isAtomic: Bool, progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        let saves = batch.savesWithFiles
        guard !saves.isEmpty else { return (batch, [:]) }
        var earlier: [(AssetUpload, Result<UploadedFile, CKError>?)] = []
        if let journal { earlier = await journal.outcomes(of: batch.uploads(sealing: { _ in true }), in: batch) }
        // A list is plain or sealed as a whole.
        let kinds = Set(earlier.compactMap { (try? $0.1?.get()).map { $0.root != nil } })
        let isDone = !earlier.isEmpty && kinds.count <= 1 && earlier.allSatisfy { $0.1 != nil || !batch.isUnsent($0.0) }
        var files: [Int: ZoneFiles] = [:]
        if !isDone {
            do throws(CKError) {
                files = try await filesForSaving(batch)
            } catch {
                guard !error.endsSealing else { throw error }
                return (batch, Dictionary(uniqueKeysWithValues: saves.map { ($0, error) }))
            }
        }
        guard let journal else {
            let all = batch.uploads(sealing: { files[$0] != nil })
            return try await upload(all, of: batch, files, failures: [:], isAtomic: isAtomic, progress: progress)
        }
        var batch = batch
        // A file that an earlier process has sent is on the server, even if the local file changed since.
        var failures: [Int: CKError] = [:]
        var left: [AssetUpload] = []
        for (upload, before) in earlier {
            switch before {
            // The account may have got its keys since a plain file was sent.
            case .success(let file) where isDone || (file.root != nil) == (files[upload.save] != nil): batch.set(file, for: upload)
            case .failure(let error): failures[upload.save] = failures[upload.save] ?? error
            case .success, nil: if files[upload.save] != nil || batch.isUnsent(upload) { left.append(upload) }
            }
        }
        let rest = left.filter { failures[$0.save] == nil }
        guard !rest.isEmpty, failures.isEmpty || !isAtomic else { return (batch, failures) }
        return try await Conversation(line: line, scope: scope, patience: patience, group: group).upload(
            rest, of: batch, files, failures: failures, isAtomic: isAtomic, noting: { [batch] in journal.note($1, of: $0, in: batch) },
            progress: progress)
    }

    private func upload(
        _ uploads: [AssetUpload], of batch: ModifyPlan.Batch, _ files: [Int: ZoneFiles], failures: [Int: CKError], isAtomic: Bool,
        noting note: @Sendable (AssetUpload, Result<UploadedFile, CKError>) -> Void = { _, _ in },
        progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        var batch = batch
        let (uploads, lost) = try await fetchingLost(uploads, of: batch)
        let (sources, missing) = await look(at: uploads)
        let faults = lost.merging(missing) { lost, _ in lost }
        for upload in uploads { if let fault = faults[upload.save] { note(upload, .failure(fault)) } }
        var failures = failures.merging(faults) { before, _ in before }
        // A receipt is used once: an object that is twice in a list is sent twice.
        var used: Set<ObjectIdentifier> = []
        let fresh = sources.filter { found in
            guard let file = sentBefore(found, of: batch, files[found.upload.save]), used.insert(ObjectIdentifier(found.upload.object)).inserted
            else { return true }
            batch.set(file, for: found.upload)
            return false
        }
        var left = jobs(fresh, files) { [saves = batch.saves] save, fraction in progress(saves[save].record, fraction) }[...]
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
                case .success(let file):
                    batch.set(file, for: job.upload)
                    remember(file, job, of: batch)
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

    /// Fetches the plain files again that are sealed with a list, and that are gone from the cache.
    /// - Returns: all files, and the errors of saves whose files cannot be fetched.
    private func fetchingLost(
        _ uploads: [AssetUpload], of batch: ModifyPlan.Batch
    ) async throws(CKError) -> (uploads: [AssetUpload], failures: [Int: CKError]) {
        let known = uploads.indices.filter { !batch.isUnsent(uploads[$0]) }
        let gone = await FileWork.run { known.filter { (try? uploads[$0].source()) == nil } }
        var (uploads, failures) = (uploads, [Int: CKError]())
        for index in gone where failures[uploads[index].save] == nil {
            let upload = uploads[index]
            guard let asset = upload.object.known else { continue }
            do throws(CKError) {
                let path = try await fetchAgain(asset, of: batch.saves[upload.save].record.recordID, in: upload.key)
                uploads[index].fetched = URL(fileURLWithPath: path)
            } catch {
                guard !error.code.endsOperation else { throw error }
                failures[upload.save] = error
            }
        }
        return (uploads, failures)
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
        _ found: [(upload: AssetUpload, source: SourceFile)], _ files: [Int: ZoneFiles], _ tell: @escaping @Sendable (Int, Double) -> Void
    ) -> [Job] {
        Dictionary(grouping: found, by: \.upload.save).sorted { $0.key < $1.key }.flatMap { save, found -> [Job] in
            let progress = AssetProgress(sizes: found.map(\.source.size)) { tell(save, $0) }
            return found.enumerated().map { Job(upload: $1.upload, source: $1.source, progress: progress, number: $0, files: files[save]) }
        }
    }

    private func purpose(_ upload: AssetUpload, of batch: ModifyPlan.Batch, _ files: ZoneFiles?) -> SentFile.Purpose? {
        guard let settings = try? line.settings() else { return nil }
        let record = batch.saves[upload.save].record
        return SentFile.Purpose(
            settings: settings, scope: scope, recordID: record.recordID, recordType: record.recordType, key: upload.key, keyID: files?.keyID)
    }

    /// Returns the server's asset of the same file for the same field, if it was sent recently.
    private func sentBefore(
        _ found: (upload: AssetUpload, source: SourceFile), of batch: ModifyPlan.Batch, _ files: ZoneFiles?
    ) -> UploadedFile? {
        guard let sent = found.upload.object.sent.withLock({ $0 }), sent.source == found.source,
            sent.purpose == purpose(found.upload, of: batch, files), line.timekeeper.now() - sent.time < SentFile.seconds
        else { return nil }
        return sent.file
    }

    private func remember(_ file: UploadedFile, _ job: Job, of batch: ModifyPlan.Batch) {
        guard let purpose = purpose(job.upload, of: batch, job.files) else { return }
        let sent = SentFile(purpose: purpose, source: job.source, file: file, time: line.timekeeper.now())
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
        job.length >= AnnouncedFile.bytesMin && (try? line.address())?.transport.sendsParts == true
    }

    /// Sends a large file in parts, or whole if the server or this platform needs that.
    private func sendLarge(_ job: Job, _ sealed: SealedFile?, of batch: ModifyPlan.Batch) async throws(CKError) -> Asset {
        let path = sealed?.path ?? job.source.path
        var job = job
        let announced: AnnouncedFile? = if let sealed { sealed.announced } else { await FileWork.run { FileChunks.announced(path) } }
        if let announced, announced.size >= AnnouncedFile.bytesMin {
            let announcement = try await sendParts(
                announced, from: path, for: item(job, of: batch), in: batch.zoneID, progress: { [job] in job.note($0) })
            switch announcement {
            case .sent(let asset): return asset
            case .whole(let url): (job.url, job.asked) = (url, line.timekeeper.now())
            }
        } else {
            job = try await urls(for: [job], of: batch)[0]
        }
        return try await send(job, sealed, again: { () throws(CKError) in try await urls(for: [job], of: batch)[0].url })
    }

    private func item(_ job: Job, of batch: ModifyPlan.Batch) -> AssetsUploadRequest.Item {
        let record = batch.saves[job.upload.save].record
        return AssetsUploadRequest.Item(recordName: record.recordID.recordName, recordType: record.recordType, fieldName: job.upload.key)
    }

    private func send(_ job: Job, of batch: ModifyPlan.Batch) async -> Result<UploadedFile, CKError> {
        let (upload, source) = (job.upload, job.source)
        do throws(CKError) {
            let sealed = try await sealed(job)
            let sent = await Self.result { () throws(CKError) in
                isAnnounced(job)
                    ? try await sendLarge(job, sealed, of: batch)
                    : try await send(job, sealed, again: { () throws(CKError) in try await urls(for: [job], of: batch)[0].url })
            }
            if let sealed { await AssetStaging.remove([sealed.path]) }
            // A changed file is reported as changed, whatever the result of its transfer.
            if case .failure(let error) = sent, error.code == .operationCancelled { throw error }
            try await FileWork.run { () throws(CKError) in try source.check(upload.fileURL, key: upload.key) }
            if let fetched = upload.fetched { await AssetStaging.remove([fetched.path]) }
            let asset = try sent.get()
            guard asset.size == job.length, !asset.isUnsent else { throw .unexpectedAnswer }
            return .success(UploadedFile(asset: asset, root: sealed?.root, keyID: job.files?.keyID))
        } catch {
            return .failure(error)
        }
    }

    /// Seals the file of a job into another one, which is to be removed; returns nil if it is sent as it is.
    private func sealed(_ job: Job) async throws(CKError) -> SealedFile? {
        guard let files = job.files else { return nil }
        let (path, key) = (job.source.path, job.upload.key)
        let place = try await line.staging.placeForSending()
        return try await FileWork.run { () throws(CKError) in try files.seal(path, to: place, of: key) }
    }

    /// - Parameter again: returns a new URL for the same file, because a failed attempt may have used up the first one.
    private func send(_ job: Job, _ sealed: SealedFile?, again: () async throws(CKError) -> String) async throws(CKError) -> Asset {
        let address = try line.address()
        let (path, length) = (sealed?.path ?? job.source.path, job.length)
        let bytes = try await repeated(.transfer) { attempt -> Result<[UInt8], Failure> in
            let answer: Result<TransportAnswer, TransportFailure>
            do throws(CKError) {
                let isFresh = attempt.number == 0 && line.timekeeper.now() - job.asked < Self.placeSeconds
                var request = try address.fileRequest(.post, isFresh ? job.url : try await again())
                request.limit(by: attempt)
                answer = await Self.result { () throws(TransportFailure) in
                    try await address.transport.upload(request, from: path, length: length) { job.note($0) }
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
