import Foundation
import NacreCloudWire

/// One file of a batch that has to be sent before the batch's records.
struct AssetUpload: Sendable {
    /// Which of the batch's saves.
    let save: Int
    let key: String
    /// Which of the field's assets.
    let place: Int
    let file: URL?
}

extension ModifyPlan.Batch {
    var uploads: [AssetUpload] {
        saves.indices.flatMap { save in
            saves[save].change.set.entries.flatMap { field -> [AssetUpload] in
                guard let values = field.value.assets, let objects = saves[save].assets[field.name], objects.count == values.count else { return [] }
                return values.indices.filter { values[$0].isUnsent }.map { place in
                    AssetUpload(save: save, key: field.name, place: place, file: objects[place].fileURL)
                }
            }
        }
    }

    /// Puts what the server said of a file in the place of the file.
    mutating func set(_ asset: Asset, for upload: AssetUpload) {
        guard let value = saves[upload.save].change.set[upload.key], var assets = value.assets else { return }
        assets[upload.place] = asset
        saves[upload.save].change.set[upload.key] = value.with(assets: assets)
    }
}

extension Conversation {
    /// Files of one operation on their way at a time. Ours: enough to fill a line, and few enough to leave others theirs.
    static let transfersMax = 4

    /// A file that was looked at, and its place among those of its record.
    private struct Job: Sendable {
        let upload: AssetUpload
        let source: SourceFile
        let progress: AssetProgress
        let number: Int
        var url = ""
    }

    /// Sends the files of a batch's records, so that the records can be sent.
    ///
    /// - Parameters:
    ///   - isAtomic: whether one file that fails is the end of all: then the others are not sent.
    ///   - progress: is told of parts of a record's bytes.
    /// - Returns: the batch with what the server said of the files, and what is wrong with saves whose files could not be sent.
    /// - Throws: what ends the batch as a whole.
    func upload(
        _ batch: ModifyPlan.Batch, isAtomic: Bool, progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        let uploads = batch.uploads
        guard !uploads.isEmpty else { return (batch, [:]) }
        var batch = batch
        let (jobs, faults) = await look(at: uploads) { [saves = batch.saves] save, fraction in progress(saves[save].record, fraction) }
        var failures = faults
        var left = jobs[...]
        while !left.isEmpty, failures.isEmpty || !isAtomic {
            let some = left.prefix(Limits.itemsPerWebRequest).filter { failures[$0.upload.save] == nil }
            left = left.dropFirst(Limits.itemsPerWebRequest)
            var end: CKError?
            let ready = try await urls(for: some, of: batch)
            await inParallel(ready, atMost: Self.transfersMax) { [batch] in
                await send($0, of: batch)
            } take: { job, result in
                switch result {
                case .success(let asset): batch.set(asset, for: job.upload)
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

    private func look(
        at uploads: [AssetUpload], _ tell: @escaping @Sendable (Int, Double) -> Void
    ) async -> (jobs: [Job], failures: [Int: CKError]) {
        let sources = await FileWork.run {
            uploads.map { upload in Result { () throws(CKError) in try SourceFile(upload.file, key: upload.key) } }
        }
        var failures: [Int: CKError] = [:]
        var found: [Int: [(AssetUpload, SourceFile)]] = [:]
        for (upload, source) in zip(uploads, sources) {
            switch source {
            case .success(let source): found[upload.save, default: []].append((upload, source))
            case .failure(let error): failures[upload.save] = failures[upload.save] ?? error
            }
        }
        let jobs = found.keys.sorted().filter { failures[$0] == nil }.flatMap { save -> [Job] in
            let files = found[save] ?? []
            let progress = AssetProgress(sizes: files.map(\.1.size)) { tell(save, $0) }
            return files.enumerated().map { Job(upload: $1.0, source: $1.1, progress: progress, number: $0) }
        }
        return (jobs, failures)
    }

    /// Asks where these files go: one request.
    private func urls(for jobs: [Job], of batch: ModifyPlan.Batch) async throws(CKError) -> [Job] {
        guard !jobs.isEmpty else { return [] }
        let tokens = jobs.map { job in
            let record = batch.saves[job.upload.save].record
            return AssetsUploadRequest.Item(
                recordName: record.recordID.recordName, recordType: record.recordType, fieldName: job.upload.key)
        }
        let response = try await upload(AssetsUploadRequest(tokens: tokens, zoneID: batch.zoneID.wire))
        guard response.tokens.count == jobs.count else { throw .unexpectedAnswer }
        return zip(jobs, response.tokens).map { job, token in
            var job = job
            job.url = token.url
            return job
        }
    }

    private func send(_ job: Job, of batch: ModifyPlan.Batch) async -> Result<Asset, CKError> {
        let (upload, source) = (job.upload, job.source)
        do throws(CKError) {
            var sent: Result<Asset, CKError>
            do throws(CKError) {
                sent = .success(try await send(job, again: { () throws(CKError) in try await urls(for: [job], of: batch)[0].url }))
            } catch {
                sent = .failure(error)
            }
            // A file that changed is told as that, whatever became of its sending.
            if case .failure(let error) = sent, error.code == .operationCancelled { throw error }
            try await FileWork.run { () throws(CKError) in try source.check(upload.file, key: upload.key) }
            let asset = try sent.get()
            guard asset.size == source.size, !asset.isUnsent else { throw .unexpectedAnswer }
            return .success(asset)
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter again: gives another place for the same file, where the first one may have been used up by an attempt that failed.
    private func send(_ job: Job, again: () async throws(CKError) -> String) async throws(CKError) -> Asset {
        let address = try line.address()
        let (path, length, progress, number) = (job.source.path, job.source.size, job.progress, job.number)
        let bytes = try await repeated(.transfer) { attempt -> Result<[UInt8], Failure> in
            let answer: Result<TransportAnswer, TransportFailure>
            do throws(CKError) {
                var request = try address.fileRequest(.post, attempt.number == 0 ? job.url : try await again())
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
