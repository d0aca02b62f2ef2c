import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of every operation, cancelled at each of its requests and transfers.
@Suite struct CancellationTests {
    /// Counts requests and transfers, and holds one of them until it is cancelled.
    private final class StoppingTransport: Transport {
        let cloud: PretendCloud
        private let place: Int
        private let state = Locked((count: 0, hasStopped: false))

        init(_ cloud: PretendCloud, stopsAt index: Int) {
            (self.cloud, self.place) = (cloud, index)
        }

        var count: Int { state.withLock(\.count) }
        var hasStopped: Bool { state.withLock(\.hasStopped) }

        func pass() async throws(TransportFailure) {
            let stops = state.withLock { state in
                defer { state.count += 1 }
                state.hasStopped = state.hasStopped || state.count == place
                return state.count == place
            }
            guard stops else { return }
            while !Task.isCancelled { await Task.yield() }
            throw .cancelled
        }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            try await pass()
            return try await cloud.send(request)
        }

        func upload(
            _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer {
            try await pass()
            return try await cloud.upload(request, from: path, length: length, progress: progress)
        }

        func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
            Stopping(download: try await cloud.download(to: path, bytesMax: bytesMax), transport: self)
        }

        private struct Stopping: TransportDownload {
            let download: any TransportDownload
            let transport: StoppingTransport

            var received: Int { download.received }

            func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
                try await transport.pass()
                return try await download.attempt(request, progress: progress)
            }

            func finish() async throws(TransportFailure) { try await download.finish() }
        }
    }

    /// An operation, and the minimal number of its requests and transfers without a cancellation.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let requests: Int
        fileprivate let make: @Sendable (Scene) async throws -> CKOperation

        fileprivate init(_ name: String, requests: Int, _ make: @escaping @Sendable (Scene) async throws -> CKOperation) {
            (testDescription, self.requests, self.make) = (name, requests, make)
        }
    }

    fileprivate struct Scene: Sendable {
        let cloud: PretendCloud
        let file: URL
        let ends: Diary
    }

    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private static let token = "t"

    private static func photo(_ file: URL) -> CKRecord {
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "photo"))
        record["image"] = CKAsset(fileURL: file)
        return record
    }

    static let kinds: [Kind] = [
        Kind("fetch a record with a file", requests: 3) { scene in
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "photo")])
            operation.fetchRecordsResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("save a record with a file", requests: 4) { scene in
            let operation = CKModifyRecordsOperation(recordsToSave: [photo(scene.file)])
            operation.savePolicy = .allKeys
            operation.modifyRecordsResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("query", requests: 2) { scene in
            await scene.cloud.answerQueries(RecordsQueryResponse(records: []))
            let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
            operation.zoneID = .default
            operation.queryResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("fetch zones", requests: 1) { scene in
            let operation = CKFetchRecordZonesOperation(recordZoneIDs: [.default])
            operation.fetchRecordZonesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("list zones", requests: 1) { scene in
            let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            operation.fetchRecordZonesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("modify zones", requests: 1) { scene in
            let operation = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
            operation.modifyRecordZonesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("fetch subscriptions", requests: 1) { scene in
            let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
            operation.fetchSubscriptionsResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("modify subscriptions", requests: 1) { scene in
            let operation = CKModifySubscriptionsOperation(
                subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: "all")], subscriptionIDsToDelete: nil)
            operation.modifySubscriptionsResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("fetch two pages of a database", requests: 2) { scene in
            await scene.cloud.answerChanges(
                ChangesDatabaseResponse(zones: [], syncToken: "1", moreComing: true),
                ChangesDatabaseResponse(zones: [], syncToken: "2", moreComing: false))
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
            operation.fetchDatabaseChangesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("fetch two pages of a zone", requests: 3) { scene in
            let zone = ZoneID(zoneName: "Notes")
            await scene.cloud.answerZoneChanges(
                .page(.init(zoneID: zone, records: [], syncToken: "1", moreComing: true)),
                .page(.init(zoneID: zone, records: [], syncToken: "2", moreComing: false)))
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: .init()])
            operation.fetchRecordZoneChangesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("fetch a web auth token", requests: 1) { scene in
            let operation = CKFetchWebAuthTokenOperation(apiToken: "a")
            operation.fetchWebAuthTokenResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("discover users", requests: 2) { scene in
            let operation = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [.init(emailAddress: "ben@example.com")])
            operation.discoverUserIdentitiesResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
        Kind("make participants", requests: 2) { scene in
            let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [.init(emailAddress: "ben@example.com")])
            operation.fetchShareParticipantsResultBlock = { scene.ends.note("end \($0.word)") }
            return operation
        },
    ]

    /// Runs an operation.
    /// - Returns: The number of requests and transfers before the end, and the ends that the app was told.
    private func run(_ kind: Kind, stopsAt index: Int) async throws -> (requests: Int, stopped: Bool, ends: [String]) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-\(UUID().uuidString)")
        try Data("picture".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let stopping = Locked<StoppingTransport?>(nil)
        let setting = Setting(
            isKnown: false,
            through: { cloud in
                let transport = StoppingTransport(cloud, stopsAt: index)
                stopping.withLock { $0 = transport }
                return transport
            })
        let transport = try #require(stopping.withLock { $0 })
        // A device that is not stopped saves the record to fetch.
        let before = Setting(through: { _ in transport.cloud })
        if kind.testDescription.hasPrefix("fetch a record") { try await before.database.save(Self.photo(file)) }
        let scene = Scene(cloud: transport.cloud, file: file, ends: Diary())
        let operation = try await kind.make(scene)
        async let end: Void = run(operation, in: setting)
        while !transport.hasStopped, scene.ends.entries.isEmpty { await Task.yield() }
        operation.cancel()
        await end
        #expect(operation.isFinished && !operation.isExecuting)
        return (transport.count, transport.hasStopped, scene.ends.entries)
    }

    private func run(_ operation: CKOperation, in setting: Setting) async {
        if let operation = operation as? CKDatabaseOperation { await setting.run(operation) } else { await setting.run(operation) }
    }

    @Test(arguments: kinds) func `an operation that is cancelled at any of its requests ends once, as cancelled, and asks nothing more`(
        _ kind: Kind
    ) async throws {
        let whole = try await run(kind, stopsAt: .max)
        #expect(!whole.stopped && whole.requests >= kind.requests && whole.ends == ["end ok"])
        for index in 0..<whole.requests {
            let (requests, stopped, ends) = try await run(kind, stopsAt: index)
            #expect(stopped && ends == ["end operationCancelled"], "at \(index)")
            // The next page of a feed is requested while the one before is held.
            #expect(requests <= index + 2, "at \(index)")
        }
    }
}
