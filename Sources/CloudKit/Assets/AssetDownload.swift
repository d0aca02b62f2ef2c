import Foundation
import NacreCloudWire

extension Conversation {
    /// The reason why there is no file of an asset.
    private struct Miss: Error {
        let error: CKError
        /// Whether the error may end the operation. That of a file which is not the one that was saved is its record's.
        var mayEnd = true
    }

    /// One asset of a record that is to be fetched.
    private struct Job: Sendable {
        /// The index of the item.
        let item: Int
        let recordID: CKRecord.ID
        let key: String
        /// The index among the field's assets.
        let place: Int
        let asset: Asset
        /// The root of the sealed file; nil for a plain one.
        let root: [UInt8]?
        /// The record's manifest.
        var manifest: [UInt8]?
        let progress: AssetProgress
        /// The index among the record's assets.
        let number: Int
    }

    /// The files of a record's assets that have arrived.
    private struct Arrivals {
        var paths: [String: [Int: String]] = [:]
        var missing: Int
        var failure: CKError?

        var allPaths: [String] { paths.values.flatMap(\.values) }

        /// Notes a failure; the first one counts.
        mutating func fail(_ error: CKError) {
            failure = failure ?? error
        }
    }

    /// Fetches the assets of records, some at a time. Items are reported in their order, each as soon as its assets are
    /// there and earlier items were reported.
    ///
    /// A failed asset fails its record alone, and so do encrypted values that do not verify. Files of records that are
    /// not reported are removed.
    ///
    /// - Parameters:
    ///   - asked: the fields that were asked for; nil for all.
    ///   - moment: the value of `seenMoment` before the records were asked for.
    ///   - record: returns the record in an item, and its ID in the app.
    ///   - progress: called with the fraction of a record's bytes.
    ///   - callBack: called with nil for an item that is no record.
    /// - Throws: `operationCancelled`, or the error with which the keys of encrypted values could not be fetched,
    ///   before anything is reported.
    func withAssets<Item: Sendable>(
        _ items: [Item], asked: [String]?, since moment: Int, record: (Item) -> (record: Record, id: CKRecord.ID)?,
        progress: (@Sendable (CKRecord.ID, Double) -> Void)? = nil, callBack: (Item, Result<CKRecord, CKError>?) -> Void
    ) async throws(CKError) {
        let opened = await opened(items.map { record($0).map { ShownRecord(record: $0.record, id: $0.id) } }, asked: asked, since: moment)
        if let fault = opened.fault { throw fault }
        var links: [Int: ShareLinks] = [:]
        for (index, item) in items.enumerated() {
            guard let found = record(item), found.record.sharing != nil else { continue }
            links[index] = await meetShare(found.record, found.id)
        }
        var arrivals: [Int: Arrivals] = [:]
        var jobs: [Job] = []
        for (index, item) in items.enumerated() {
            guard let found = record(item) else { continue }
            if case .failure(let error)? = opened.results[index] {
                arrivals[index] = Arrivals(missing: 0, failure: error)
                continue
            }
            let own = Self.jobs(item: index, found.record, found.id, try? opened.results[index]?.get(), progress)
            if !own.isEmpty { arrivals[index] = Arrivals(missing: own.count) }
            jobs += own
        }
        var told = 0
        func deliverReady() {
            while told < items.count, arrivals[told].map({ $0.missing == 0 }) ?? true {
                let found = record(items[told])
                if let failure = arrivals[told]?.failure {
                    callBack(items[told], .failure(failure))
                } else {
                    let made = found.map {
                        CKRecord.make(
                            wire: $0.record, recordID: $0.id, assets: Self.assets(of: $0.record, arrivals[told]),
                            encrypted: try? opened.results[told]?.get(), server: serverURL)
                    }
                    if let own = links[told] { (made as? CKShare)?.take(own) }
                    callBack(items[told], made.map { .success($0) })
                }
                arrivals[told] = nil
                told += 1
            }
        }
        deliverReady()
        var end: CKError?
        await inParallel(jobs, atMost: Self.transfersMax) {
            await fetch($0)
        } take: { job, result in
            arrivals[job.item]?.missing -= 1
            switch result {
            case .success(let path): arrivals[job.item]?.paths[job.key, default: [:]][job.place] = path
            case .failure(let miss):
                let error = miss.error
                if miss.mayEnd, error.code.endsOperation { end = end ?? error }
                // A download that was cut short by an earlier error gets that error.
                arrivals[job.item]?.fail(error.code == .operationCancelled ? end ?? error : error)
            }
            if let arrived = arrivals[job.item], arrived.missing == 0, arrived.failure != nil { await AssetStaging.remove(arrived.allPaths) }
            if end?.code != .operationCancelled, !Task.isCancelled { deliverReady() }
            return end == nil && !Task.isCancelled
        }
        let isCancelled = Task.isCancelled || end?.code == .operationCancelled
        for index in Array(arrivals.keys) where arrivals[index].map({ $0.missing > 0 }) ?? false {
            arrivals[index]?.fail(end ?? .unexpectedAnswer)
            arrivals[index]?.missing = 0
        }
        await AssetStaging.remove(arrivals.values.filter { isCancelled || $0.failure != nil }.flatMap(\.allPaths))
        if isCancelled { throw .cancelled }
        deliverReady()
    }

    private static func jobs(
        item: Int, _ record: Record, _ recordID: CKRecord.ID, _ encrypted: EncryptedFields?,
        _ progress: (@Sendable (CKRecord.ID, Double) -> Void)?
    ) -> [Job] {
        let roots = encrypted?.fileRoots ?? [:]
        let open = record.fields.entries.filter { encrypted?.keepsClosed($0.name) != true }
        let found = open.flatMap { field in
            (field.value.assets ?? []).enumerated().map { (key: field.name, place: $0, asset: $1) }
        }
        guard !found.isEmpty else { return [] }
        let sum = AssetProgress(sizes: found.map { Int($0.asset.size) }) { progress?(recordID, $0) }
        return found.enumerated().map { number, one in
            Job(
                item: item, recordID: recordID, key: one.key, place: one.place, asset: one.asset,
                root: roots[one.key].map { $0.indices.contains(one.place) ? $0[one.place] : [] }, manifest: encrypted?.manifest, progress: sum,
                number: number)
        }
    }

    private static func assets(of record: Record, _ arrived: Arrivals?) -> [String: [CKAsset]] {
        var result: [String: [CKAsset]] = [:]
        for field in record.fields.entries {
            guard let values = field.value.assets else { continue }
            result[field.name] = values.enumerated().map { index, asset in
                CKAsset(file: arrived?.paths[field.name]?[index].map { URL(fileURLWithPath: $0) }, known: asset)
            }
        }
        return result
    }

    // MARK: One asset

    /// Fetches the plain file of an asset again.
    /// - Returns: the path of the complete file.
    func fetchAgain(_ asset: Asset, of recordID: CKRecord.ID, in key: String) async throws(CKError) -> String {
        let progress = AssetProgress(sizes: []) { _ in }
        func job(_ asset: Asset) -> Job {
            Job(item: 0, recordID: recordID, key: key, place: 0, asset: asset, root: nil, progress: progress, number: 0)
        }
        var asset = asset
        if asset.downloadURL == nil { asset.downloadURL = try await renewedURL(of: job(asset)) }
        return try await fetchNow(job(asset)).get()
    }

    /// - Returns: the path of the complete file, opened.
    private func fetch(_ job: Job) async -> Result<String, Miss> {
        let fetched = await fetchBytes(job)
        guard let root = job.root, case .success(let sealed) = fetched else { return fetched.mapError { Miss(error: $0) } }
        let opened = await Self.result { () throws(CKError) in try await self.opened(sealed, root, job) }
        await AssetStaging.remove([sealed])
        return opened.mapError { Miss(error: $0, mayEnd: $0.code != .internalError) }
    }

    /// Opens a sealed file into another one.
    private func opened(_ sealed: String, _ root: [UInt8], _ job: Job) async throws(CKError) -> String {
        let (key, recordID) = (job.key, job.recordID)
        guard let files = try await filesForOpening(in: recordID.zoneID, job.manifest) else { throw .assetGone(key) }
        let path = try await line.staging.place()
        try await FileWork.run { () throws(CKError) in try files.open(sealed, to: path, root: root, of: key, in: recordID) }
        return path
    }

    /// - Returns: the path of the complete file, as the server has it. A journal keeps it so.
    private func fetchBytes(_ job: Job) async -> Result<String, CKError> {
        guard let journal else { return await fetchNow(job) }
        let zone = job.recordID.zoneID
        let key = "\(zone.ownerName)/\(zone.zoneName)/\(job.recordID.recordName)/\(job.key)/\(job.place) \(job.asset.fileChecksum)"
        if let before = await FileWork.run({ journal.outcome(key, as: String.self) }) {
            do throws(CKError) {
                let (name, path) = (try before.get(), try await line.staging.place())
                if await FileWork.run({ journal.show(name, at: path) }) { return .success(path) }
            } catch {
                return .failure(error)
            }
        }
        let fetched = await Conversation(line: line, scope: scope, patience: patience, group: group).fetchNow(job)
        await FileWork.run {
            switch fetched {
            case .success(let path): if let name = journal.keep(path) { journal.note(key, .success(name)) }
            case .failure(let error): journal.note(key, Result<String, CKError>.failure(error))
            }
        }
        return fetched
    }

    private func fetchNow(_ job: Job) async -> Result<String, CKError> {
        do throws(CKError) {
            guard let url = job.asset.downloadURL else { throw .assetGone(job.key) }
            let path = try await line.staging.place()
            let address = try line.address()
            let download = try await Self.result { () throws(TransportFailure) in
                try await address.transport.download(to: path, keptAs: line.staging.keptPlace(of: job.asset), bytesMax: Int(job.asset.size))
            }.mapError { CKError($0) }.get()
            do throws(CKError) {
                try await fetch(url, into: download, job, from: address)
            } catch {
                // The URL may have expired while other assets were fetched.
                guard error.code == .assetNotAvailable, let fresh = try await renewedURL(of: job), fresh != url else { throw error }
                try await fetch(fresh, into: download, job, from: address)
            }
            guard download.received == Int(job.asset.size) else { throw .assetGone(job.key) }
            try await Self.result { () throws(TransportFailure) in try await download.finish() }.mapError { CKError($0) }.get()
            return .success(path)
        } catch {
            return .failure(error)
        }
    }

    private func fetch(_ url: String, into download: any TransportDownload, _ job: Job, from address: ServerAddress) async throws(CKError) {
        let (progress, number) = (job.progress, job.number)
        // CloudKit Web Services: any file name may replace the placeholder.
        let request = try address.fileRequest(.get, url.replacing("${f}", with: "asset"))
        _ = try await repeated(.transfer) { attempt -> Result<TransportAnswer, Failure> in
            var request = request
            request.limit(by: attempt)
            let before = download.received
            let answer = await Self.result { () throws(TransportFailure) in
                try await download.attempt(request) { progress.note($0, of: number) }
            }
            if case .success(let refused) = answer, [400, 401, 403, 404, 410].contains(refused.status) {
                return .failure(Failure(ending: nil, error: .assetGone(job.key)))
            }
            return answered(answer, by: address, hasMoved: download.received > before)
        }
    }

    /// Returns a new URL of the same bytes; nil if the record has other bytes by now, or is gone.
    private func renewedURL(of job: Job) async throws(CKError) -> String? {
        let request = RecordsLookupRequest(
            records: [.init(recordName: job.recordID.recordName)], zoneID: job.recordID.zoneID.wire, desiredKeys: [job.key])
        guard case .record(let record)? = try await lookup(request).records.first, let assets = record.fields[job.key]?.assets else { return nil }
        return assets.first { $0.isSameFile(as: job.asset) }?.downloadURL
    }
}
