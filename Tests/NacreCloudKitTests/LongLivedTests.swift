import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of operations that outlive their app: kept before any request, finished by an agent, and delivered at the
/// next launch.
@Suite struct LongLivedTests {
    /// A user's machine: its apps, one after the other, over one cloud, with the agent in between.
    private final class Machine: Sendable {
        let folder: TemporaryFolder
        let operations: LongLivedOperations
        let cloud = PretendCloud()
        let log = Diary()
        let time = PretendTime()
        let clock = Locked(Date(timeIntervalSince1970: 1_700_000_000))

        /// Makes a machine.
        /// - Parameter agent: A script in place of the agent's program; nil: none.
        init(agent: String? = "#!/bin/sh\necho ready\n") throws {
            folder = try TemporaryFolder()
            let program = folder.path + "/agent-program"
            if let agent {
                try Data(agent.utf8).write(to: URL(fileURLWithPath: program))
                chmod(program, 0o700)
            }
            operations = LongLivedOperations(
                folder: folder.path + "/state", agent: AgentProgram(environment: ["CLOUDKIT_AGENT": program]),
                now: { [clock] in clock.withLock { $0 } })
        }

        /// Launches the app anew.
        func launch(account: String = "account") -> CKContainer {
            let server = CloudKitServer(
                url: URL(string: "http://cloud.test") ?? URL(fileURLWithPath: "/"), apiToken: "app", accountToken: account)
            return CKContainer(
                line: ServerLine(
                    identifier: "iCloud.test", source: .explicit(server), transport: cloud, timekeeper: time.timekeeper,
                    staging: AssetStaging(folder: folder.path + "/staged"), longLived: operations, log: log.note))
        }

        /// Keeps an operation, as an app that is killed right after that.
        func keep(_ operation: CKDatabaseOperation) throws -> CKOperation.ID {
            let container = launch()
            operation.database = operation.database ?? container.privateCloudDatabase
            operation.configuration.isLongLived = true
            let kept = try #require(KeptOperation(operation, began: operations.now(), settings: container.line.settings()))
            try operations.keep(kept).release()
            return operation.operationID
        }

        /// Runs the agent until it has nothing left to do.
        func runAgent() async throws {
            let agent = LongLivedAgent(operations, transport: cloud, timekeeper: time.timekeeper) { [log] in log.note($0) }
            let isFirst = try await agent.run(pause: { _ in await Task.yield() }, ready: {})
            #expect(isFirst)
        }

        func run(_ operation: CKOperation, on container: CKContainer) async {
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                container.add(operation)
            }
        }

        /// modes[path]: the permissions of each kept file.
        var modes: [String: Int] {
            let names = FileManager.default.enumerator(atPath: operations.folder)?.compactMap { $0 as? String } ?? []
            return names.reduce(into: [:]) {
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(operations.folder)/\($1)")
                $0[$1] = (attributes?[.posixPermissions] as? NSNumber)?.intValue
            }
        }
    }

    private func save(_ names: String..., diary: Diary = Diary()) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(
            recordsToSave: names.map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: $0)) })
        operation.configuration.isLongLived = true
        operation.longLivedOperationWasPersistedBlock = { diary.note("kept") }
        listen(operation, diary)
        return operation
    }

    private func listen(_ operation: CKModifyRecordsOperation, _ diary: Diary) {
        operation.perRecordSaveBlock = { diary.note("\($0.recordName) \($1.word)") }
        operation.modifyRecordsResultBlock = { diary.note("end \($0.word)") }
    }

    private func found(_ id: CKOperation.ID, on container: CKContainer) async throws -> CKModifyRecordsOperation {
        try #require(try await container.longLivedOperation(for: id) as? CKModifyRecordsOperation)
    }

    // MARK: In the app

    @Test func `an operation is kept before anything is sent, for this user alone, and gone when its last block has returned`() async throws {
        let machine = try Machine()
        let container = machine.launch()
        let diary = Diary()
        let operation = save("a", diary: diary)
        operation.longLivedOperationWasPersistedBlock = {
            diary.note("kept \(machine.operations.all().map(\.kept.operationID) == [operation.operationID])")
        }
        await machine.cloud.failNext(.hangs)
        async let end: Void = machine.run(operation, on: container)
        while await machine.cloud.paths.isEmpty || diary.entries.isEmpty { await Task.yield() }
        #expect(diary.entries == ["kept true"])
        let modes = machine.modes
        #expect(modes["operations/\(operation.operationID)"] == 0o700 && modes["operations"] == 0o700)
        #expect(modes["operations/\(operation.operationID)/operation"] == 0o600 && modes["operations/\(operation.operationID)/journal"] == 0o600)
        #expect(try await container.allLongLivedOperationIDs() == [operation.operationID])
        operation.cancel()
        await end
        #expect(try await container.allLongLivedOperationIDs() == [])

        let second = save("a", diary: diary)
        await machine.run(second, on: container)
        #expect(diary.entries == ["kept true", "end operationCancelled", "kept", "a ok", "end ok"])
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(try await container.longLivedOperation(for: second.operationID) == nil)
        #expect(machine.log.entries == [])
    }

    @Test func `without an agent an operation runs in its process, is not kept, and the log says so once`() async throws {
        let machine = try Machine(agent: nil)
        let diary = Diary()
        for name in ["a", "b"] { await machine.run(save(name, diary: diary), on: machine.launch()) }
        #expect(diary.entries == ["a ok", "end ok", "b ok", "end ok"])
        #expect(machine.log.entries.count == 1)
        #expect(machine.log.entries.first?.contains("CLOUDKIT_AGENT names") == true)
        #expect(machine.operations.all().isEmpty)
    }

    @Test func `an agent that does not start is no agent`() async throws {
        let machine = try Machine(agent: "#!/bin/sh\nexit 1\n")
        let diary = Diary()
        await machine.run(save("a", diary: diary), on: machine.launch())
        #expect(diary.entries == ["a ok", "end ok"])
        #expect(machine.log.entries.count == 1)
        #expect(machine.log.entries.first?.contains("did not say that it runs") == true)
    }

    @Test func `an operation that only its app can hold runs in its process, and the log says so`() async throws {
        let machine = try Machine()
        let operation = CKDatabaseOperation()
        operation.configuration.isLongLived = true
        await machine.run(operation, on: machine.launch())
        #expect(machine.log.entries.count == 1 && machine.operations.all().isEmpty)
    }

    // MARK: After the app

    @Test func `an agent finishes what a killed app has kept, and the next launch hears all of it without asking again`() async throws {
        let machine = try Machine()
        let id = try machine.keep(save("a", "b"))
        try await machine.runAgent()
        #expect(machine.log.entries == ["\(id) modifyRecords: taken over", "\(id) modifyRecords: ended"])
        let paths = await machine.cloud.paths
        #expect(paths == ["users/caller", "records/modify"])

        let container = machine.launch()
        #expect(try await container.allLongLivedOperationIDs() == [id])
        let operation = try await found(id, on: container)
        #expect(operation.operationID == id && operation.isLongLived)
        let diary = Diary()
        operation.isLongLived = false
        operation.longLivedOperationWasPersistedBlock = { diary.note("kept") }
        listen(operation, diary)
        await machine.run(operation, on: container)
        #expect(diary.entries == ["a ok", "b ok", "end ok"])
        #expect(await machine.cloud.paths == paths)
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(try await container.longLivedOperation(for: id) == nil)
    }

    @Test func `what failed is told again as it failed`() async throws {
        let machine = try Machine()
        let error = ServerError(.throttled, "slow down", retryAfter: 7)
        let answer = PretendCloud.refusal(error)
        await machine.cloud.failNext(.none, .answer(status: answer.status, headers: answer.headers, body: answer.body))
        let id = try machine.keep(save("a"))
        try await machine.runAgent()
        let container = machine.launch()
        let operation = try await found(id, on: container)
        let ends = Locked<[CKError?]>([])
        operation.modifyRecordsResultBlock = { result in ends.withLock { $0.append(result.error as? CKError) } }
        await machine.run(operation, on: container)
        let end = try #require(ends.withLock { $0 }.first ?? nil)
        #expect(end.code == .requestRateLimited && end.retryAfterSeconds == 7 && end.localizedDescription == "slow down")
        #expect(await machine.cloud.paths == ["users/caller", "records/modify"])
    }

    @Test func `a change that a killed app may have sent is sent again under its name and its age, and done once`() async throws {
        let machine = try Machine()
        // The server has carried out the app's request, and its answer is lost.
        let first = save("a")
        let id = try machine.keep(first)
        await machine.cloud.failNext(.none, .answerLost, .answerLost, .answerLost, .answerLost)
        machine.clock.withLock { $0 += 5 }
        try await machine.runAgent()
        let sent = await machine.cloud.seen.filter { $0.path == "records/modify" }
        let names = try sent.map { try RecordsModifyRequest(json: $0.request.body).extension.operationID }
        #expect(sent.count == 4 && Set(names) == ["\(id)-1"])
        #expect(sent.first?.request.headers[OperationAge.header] == "5.000")
        #expect(await machine.cloud.stored("a")?.recordChangeTag == "tag1")
    }

    @Test func `what a step came to is not asked again by who takes over in the middle`() async throws {
        let machine = try Machine()
        await machine.cloud.addZone("Z")
        let zoned = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "z", zoneID: CKRecordZone.ID(zoneName: "Z")))
        let operation = save("a")
        operation.recordsToSave?.append(zoned)
        let id = try machine.keep(operation)
        // The agent is killed while the second zone is fetched.
        await machine.cloud.failNext(.none, .none, .hangs)
        let agent = Task { try await machine.runAgent() }
        while await machine.cloud.paths.count < 3 { await Task.yield() }
        let container = machine.launch()
        let fetched = try await found(id, on: container)
        let diary = Diary()
        listen(fetched, diary)
        await machine.run(fetched, on: container)
        try await agent.value
        #expect(diary.entries == ["a ok", "z ok", "end ok"])
        #expect(await machine.cloud.paths == ["users/caller", "records/modify", "records/modify", "records/modify"])
        #expect(machine.log.entries == ["\(id) modifyRecords: taken over", "\(id) modifyRecords: given back"])
        #expect(await machine.cloud.stored("a")?.recordChangeTag == "tag1")
    }

    @Test func `an operation that its app cancels is in no list, and its agent gives it up`() async throws {
        let machine = try Machine()
        let id = try machine.keep(save("a"))
        await machine.cloud.failNext(.hangs)
        let agent = Task { try await machine.runAgent() }
        while await machine.cloud.paths.isEmpty { await Task.yield() }
        let container = machine.launch()
        try await found(id, on: container).cancel()
        try await agent.value
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(machine.log.entries.last == "\(id) modifyRecords: given back")
        #expect(await machine.cloud.stored("a") == nil)
    }

    @Test func `another account's operations are not there`() async throws {
        let machine = try Machine()
        let id = try machine.keep(save("a"))
        let other = machine.launch(account: "other")
        #expect(try await other.allLongLivedOperationIDs() == [])
        #expect(try await other.longLivedOperation(for: id) == nil)
        #expect(try await machine.launch().longLivedOperation(for: "../\(id)") == nil)
        #expect(try await machine.launch().longLivedOperation(for: UUID().uuidString) == nil)
    }

    @Test func `files that an agent has sent or fetched are the app's without the network, and without the app's own file`() async throws {
        let machine = try Machine()
        let url = URL(fileURLWithPath: machine.folder.path + "/photo")
        try Data("picture".utf8).write(to: url)
        let operation = save("a")
        operation.recordsToSave?.first?["photo"] = CKAsset(fileURL: url)
        let saving = try machine.keep(operation)
        try await machine.runAgent()
        let fetching = try machine.keep(CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")]))
        try await machine.runAgent()
        try FileManager.default.removeItem(at: url)
        let paths = await machine.cloud.paths

        let container = machine.launch()
        let diary = Diary()
        let saved = try await found(saving, on: container)
        listen(saved, diary)
        await machine.run(saved, on: container)
        let fetched = try #require(try await container.longLivedOperation(for: fetching) as? CKFetchRecordsOperation)
        fetched.perRecordResultBlock = { _, result in
            let photo = ((try? result.get())?["photo"] as? CKAsset)?.fileURL.flatMap { try? Data(contentsOf: $0) }
            diary.note("fetched \(photo.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")")
        }
        await machine.run(fetched, on: container)
        #expect(diary.entries == ["a ok", "end ok", "fetched picture"])
        #expect(await machine.cloud.paths == paths)
    }

    private func again<Kind: CKDatabaseOperation>(_ operation: Kind) throws -> Kind {
        let archive = try #require(ArchivedOperations.archive(operation))
        return try #require(ArchivedOperations.operation(archive.kind, archive.data) as? Kind)
    }

    @Test func `an operation that is kept asks for what it asked for, whatever its kind`() throws {
        let (zoneID, token) = (CKRecordZone.ID(zoneName: "Z"), CKServerChangeToken(wire: "t"))
        let recordID = CKRecord.ID(recordName: "a", zoneID: zoneID)

        final class Own: CKModifyRecordsOperation, @unchecked Sendable {
            // Sendable: as its superclass.
        }
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["text"] = "bread"
        record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "/photo"))
        let modifying = Own(recordsToSave: [record], recordIDsToDelete: [CKRecord.ID(recordName: "b")])
        (modifying.savePolicy, modifying.isAtomic, modifying.clientChangeTokenData) = (.allKeys, false, Data([1]))
        let modify = try again(modifying as CKModifyRecordsOperation)
        #expect(
            modify.recordsToSave?.first?["text"] as? String == "bread" && modify.recordsToSave?.first?.changedKeys().sorted() == ["photo", "text"])
        #expect((modify.recordsToSave?.first?["photo"] as? CKAsset)?.fileURL?.path == "/photo")
        #expect(modify.recordIDsToDelete?.map(\.recordName) == ["b"] && modify.savePolicy == .allKeys && !modify.isAtomic)
        #expect(modify.clientChangeTokenData == Data([1]) && type(of: modify) == CKModifyRecordsOperation.self)

        let fetching = CKFetchRecordsOperation(recordIDs: [recordID])
        fetching.desiredKeys = ["text"]
        let fetch = try again(fetching)
        #expect(fetch.recordIDs == [recordID] && fetch.desiredKeys == ["text"] && !fetch.fetchesCurrentUser)
        #expect(try again(CKFetchRecordsOperation.fetchCurrentUserRecordOperation()).fetchesCurrentUser)

        let asking = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "bread")))
        (asking.zoneID, asking.resultsLimit, asking.desiredKeys) = (zoneID, 7, [])
        let query = try again(asking)
        #expect(query.query?.recordType == "Note" && query.query.map { "\($0.predicate)" } == "text == \"bread\"")
        #expect(query.zoneID == zoneID && query.resultsLimit == 7 && query.desiredKeys == [] && query.cursor == nil)

        let following = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: token, resultsLimit: 3, desiredKeys: ["text"])])
        following.fetchAllChanges = false
        let changes = try again(following)
        let configuration = changes.configurationsByRecordZoneID?[zoneID]
        #expect(configuration?.previousServerChangeToken == token && configuration?.resultsLimit == 3 && configuration?.desiredKeys == ["text"])
        #expect(changes.recordZoneIDs == [zoneID] && !changes.fetchAllChanges)

        let watching = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        watching.resultsLimit = 4
        let database = try again(watching)
        #expect(database.previousServerChangeToken == token && database.resultsLimit == 4 && database.fetchAllChanges)

        let zones = try again(CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)], recordZoneIDsToDelete: [.default]))
        #expect(zones.recordZonesToSave?.map(\.zoneID) == [zoneID] && zones.recordZoneIDsToDelete == [.default])
        #expect(try again(CKFetchRecordZonesOperation(recordZoneIDs: [zoneID])).recordZoneIDs == [zoneID])
        #expect(try again(CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()).fetchesAll)

        let subscribing = CKModifySubscriptionsOperation(
            subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: "d"), CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z")],
            subscriptionIDsToDelete: ["e"])
        let subscriptions = try again(subscribing)
        #expect(subscriptions.subscriptionsToSave?.map(\.subscriptionID) == ["d", "z"] && subscriptions.subscriptionIDsToDelete == ["e"])
        #expect((subscriptions.subscriptionsToSave?.last as? CKRecordZoneSubscription)?.zoneID == zoneID)
        #expect(try again(CKFetchSubscriptionsOperation(subscriptionIDs: ["d"])).subscriptionIDs == ["d"])
        #expect(try again(CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()).fetchesAll)
    }

    @Test(arguments: ["", "modifyRecords", "nothing"])
    func `an archive that does not read is no operation`(kind: String) {
        for data in [Data(), Data([1, 2, 3]), Data("bplist00".utf8)] { #expect(ArchivedOperations.operation(kind, data) == nil) }
    }

    // MARK: Expiry

    private struct Age: Sendable {
        var ended: Double?
        var now: Double
        var isOver: Bool
    }

    private static let ages = [
        Age(ended: 0, now: 86_400, isOver: false), Age(ended: 0, now: 86_401, isOver: true), Age(ended: 100_000, now: 186_400, isOver: false),
        Age(ended: nil, now: 691_200, isOver: false), Age(ended: nil, now: 691_201, isOver: true),
    ]

    @Test(arguments: LongLivedTests.ages)
    private func `one that has ended is kept for 24 hours, and one that nobody ends for 8 days`(_ age: Age) {
        func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }
        #expect(LongLivedOperations.isOver(began: date(0), ended: age.ended.map(date), now: date(age.now)) == age.isOver)
    }

    @Test func `after 24 hours an operation that has ended is gone`() async throws {
        let machine = try Machine()
        let id = try machine.keep(save("a"))
        try await machine.runAgent()
        machine.clock.withLock { $0 += 24 * 3600 }
        #expect(try await machine.launch().allLongLivedOperationIDs() == [id])
        machine.clock.withLock { $0 += 1 }
        #expect(try await machine.launch().allLongLivedOperationIDs() == [])
        #expect(machine.modes.keys.filter { $0.contains(id) } == [])
    }

    // MARK: The journal

    @Test(arguments: [1, 15, 16, 17, 40])
    func `a journal whose last entry was cut off has what is before it, and goes on there`(cut: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/journal"
        func journal() throws -> OperationJournal {
            OperationJournal(
                try KeptFile(making: path, mayBeThere: true), operationID: "O", files: folder.path, began: Date(), takenOverAfter: nil)
        }
        let first = try journal()
        first.note("one", .success("bread"))
        let size = try KeptFile(path).size
        first.note("two", Result<String, CKError>.failure(.lostResponse(retryAfter: 3)))
        try KeptFile(path).truncate(to: size + cut)
        let second = try journal()
        #expect(try second.outcome("one", as: String.self)?.get() == "bread")
        #expect(second.outcome("two", as: String.self) == nil)
        #expect(try KeptFile(path).size == size)
        second.note("two", Result<String, CKError>.failure(.lostResponse(retryAfter: 3)))
        #expect(try journal().outcome("two", as: String.self) == .failure(.lostResponse(retryAfter: 3)))
        // A cancellation is not a result of a step.
        second.note("three", Result<String, CKError>.failure(.cancelled))
        #expect(try journal().outcome("three", as: String.self) == nil)
    }
}
