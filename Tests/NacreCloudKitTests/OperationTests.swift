import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of the engine of all operations: each runs once, ends once, and can be cancelled at any time.
@Suite struct OperationTests {
    let setting = Setting()

    private func fetch(_ diary: Diary) -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        operation.perRecordResultBlock = { id, result in diary.note("\(id.recordName) \(result.word)") }
        operation.fetchRecordsResultBlock = { diary.note("end \($0.word)") }
        return operation
    }

    @Test func `an operation cancelled before it starts ends with operationCancelled and asks nothing`() async throws {
        let diary = Diary()
        let operation = fetch(diary)
        operation.cancel()
        await setting.run(operation)
        #expect(diary.entries == ["end operationCancelled"])
        #expect(await setting.cloud.paths == [])
    }

    @Test func `an operation cancelled while it waits for its answer ends with operationCancelled`() async throws {
        await setting.cloud.failNext(.hangs)
        let diary = Diary()
        let operation = fetch(diary)
        let cloud = setting.cloud
        async let end: Void = setting.run(operation)
        while await cloud.paths.isEmpty { await Task.yield() }
        operation.cancel()
        await end
        #expect(diary.entries == ["end operationCancelled"])
        #expect(operation.isFinished && operation.isCancelled)
    }

    @Test func `cancelling a task cancels the request that it waits for`() async throws {
        await setting.cloud.failNext(.hangs)
        let database = setting.database
        let task = Task { try await database.record(for: CKRecord.ID(recordName: "a")) }
        while await setting.cloud.paths.isEmpty { await Task.yield() }
        task.cancel()
        let error = await thrown { try await task.value }
        #expect(error?.code == .operationCancelled)
    }

    @Test func `every operation ends exactly once, whenever it is cancelled`() async throws {
        let ends = Diary()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let operation = CKModifyRecordsOperation(
                    recordsToSave: [CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r\(number)"))])
                operation.modifyRecordsResultBlock = { ends.note("\(number) \($0.word)") }
                group.addTask { await setting.run(operation) }
                guard number % 2 == 1 else { continue }
                group.addTask {
                    for _ in 0..<(number % 20) { await Task.yield() }
                    operation.cancel()
                }
            }
        }
        #expect(Set(ends.entries.map { $0.prefix { $0 != " " } }).count == 200)
        #expect(ends.entries.count == 200)
        #expect(ends.entries.allSatisfy { $0.hasSuffix(" ok") || $0.hasSuffix(" operationCancelled") })
        for number in stride(from: 0, to: 200, by: 2) { #expect(await setting.cloud.stored("r\(number)") != nil) }
    }

    @Test func `work in the background stands back while others work, and goes on when they are done`() async throws {
        await setting.cloud.failNext(.hangs)
        let diary = Diary()
        let (urgent, background) = (fetch(diary), fetch(diary))
        background.configuration.qualityOfService = .background
        background.fetchRecordsResultBlock = { diary.note("background \($0.word)") }
        let (cloud, discretion) = (setting.cloud, setting.container.line.discretion)
        async let urgentEnd: Void = setting.run(urgent)
        while await cloud.paths.isEmpty { await Task.yield() }
        setting.time.holdsPauses = true
        async let backgroundEnd: Void = setting.run(background)
        while discretion.waiting == 0 { await Task.yield() }
        // Other operations do not wait for it.
        let other = fetch(diary)
        await setting.run(other)
        #expect(await cloud.paths.count == 2 && discretion.waiting == 1)
        urgent.cancel()
        await urgentEnd
        await backgroundEnd
        // Only the cancelled operation may end later.
        #expect(diary.entries.contains("background ok") && discretion.waiting == 0)
        #expect(await cloud.paths.count == 3)
    }

    @Test func `work in the background that is cancelled while it stands back ends, and asks nothing`() async throws {
        await setting.cloud.failNext(.hangs)
        let diary = Diary()
        let (urgent, background) = (fetch(diary), fetch(diary))
        background.configuration.qualityOfService = .background
        background.fetchRecordsResultBlock = { diary.note("background \($0.word)") }
        let (cloud, discretion) = (setting.cloud, setting.container.line.discretion)
        async let urgentEnd: Void = setting.run(urgent)
        while await cloud.paths.isEmpty { await Task.yield() }
        setting.time.holdsPauses = true
        async let backgroundEnd: Void = setting.run(background)
        while discretion.waiting == 0 { await Task.yield() }
        background.cancel()
        await backgroundEnd
        #expect(diary.entries == ["background operationCancelled"])
        #expect(await cloud.paths.count == 1 && discretion.waiting == 0)
        urgent.cancel()
        await urgentEnd
    }

    @Test func `where others work all the time, work in the background goes on after a minute`() async throws {
        await setting.cloud.failNext(.hangs)
        let diary = Diary()
        let (urgent, background) = (fetch(diary), fetch(diary))
        background.configuration.qualityOfService = .background
        background.fetchRecordsResultBlock = { diary.note("background \($0.word)") }
        let cloud = setting.cloud
        async let urgentEnd: Void = setting.run(urgent)
        while await cloud.paths.isEmpty { await Task.yield() }
        await setting.run(background)
        #expect(diary.entries.last == "background ok" && setting.time.pauses == [Discretion.longestWait])
        urgent.cancel()
        await urgentEnd
    }

    @Test func `each request of an operation tells its group, and none that has none`() async throws {
        let group = CKOperationGroup()
        group.name = "Upload photos & more"
        group.quantity = 3
        group.expectedSendSize = .tensOfMegabytes
        await setting.run(fetch(Diary()))
        let grouped = fetch(Diary())
        grouped.group = group
        await setting.run(grouped)
        try await setting.container.configuredWith(group: group) { _ = try await $0.accountStatus() }
        let headers = await setting.cloud.seen.map { $0.request.headers[OperationGroupNote.header] }
        #expect(headers.count == 3 && headers[0] == nil && headers[1] == headers[2])
        let note = OperationGroupNote(
            id: group.operationGroupID, name: "Upload photos & more", quantity: 3, sends: .tensOfMegabytes, receives: .unknown)
        #expect(headers[1] == note.text && headers[1].flatMap(OperationGroupNote.init) == note)
        #expect(note.text.hasSuffix("&quantity=3&sends=tensOfMegabytes&name=Upload%20photos%20%26%20more"))
        // A name that is too long is left out; the rest of the group is sent.
        group.name = String(repeating: "\u{E9}", count: 200)
        #expect(group.note.text == "id=\(group.operationGroupID)&quantity=3&sends=tensOfMegabytes")
    }

    @Test func `an operation is used once`() async throws {
        let diary = Diary()
        let operation = fetch(diary)
        await setting.run(operation)
        setting.database.add(operation)
        operation.start()
        let other = fetch(diary)
        await setting.run(other)
        #expect(diary.entries == ["a unknownItem", "end ok", "a unknownItem", "end ok"])
    }

    @Test func `operations run in queues of the app's own, and wait for their dependencies`() async throws {
        let diary = Diary()
        let first = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))])
        first.database = setting.database
        first.modifyRecordsResultBlock = { diary.note("save \($0.word)") }
        let second = fetch(diary)
        second.database = setting.database
        second.addDependency(first)
        let queue = OperationQueue()
        await withCheckedContinuation { continuation in
            second.completionBlock = { continuation.resume() }
            queue.addOperation(second)
            queue.addOperation(first)
        }
        #expect(diary.entries == ["save ok", "a ok", "end ok"])
    }

    @Test func `an operation without a database runs on its container's private one`() async throws {
        let diary = Diary()
        let operation = fetch(diary)
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            setting.container.add(operation)
        }
        #expect(operation.database === setting.container.privateCloudDatabase)
        #expect(operation.configuration.container === setting.container)
        #expect(await setting.cloud.seen.first?.request.url.path.contains("/private/") == true)
    }

    @Test func `a database is the same instance each time, and outlives its container`() async throws {
        let container = CKContainer(identifier: "iCloud.test.same")
        #expect(container.privateCloudDatabase === container.database(with: .private))
        #expect(container.publicCloudDatabase !== container.sharedCloudDatabase)
        let orphan = CKContainer(identifier: "iCloud.test.orphan").publicCloudDatabase
        let operation = CKFetchRecordsOperation()
        operation.database = orphan
        #expect(operation.configuration.container?.containerIdentifier == "iCloud.test.orphan")
    }

    @Test func `single calls are userInitiated, unless a configured view says otherwise`() async throws {
        let plain = setting.database.prepare(CKFetchRecordsOperation())
        #expect(plain.qualityOfService == .userInitiated)
        let group = CKOperationGroup()
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        configuration.timeoutIntervalForRequest = 3
        setting.container.configuredWith(configuration: configuration, group: group) { container in
            let operation = container.privateCloudDatabase.prepare(CKFetchRecordsOperation())
            #expect(operation.qualityOfService == .utility)
            #expect(operation.group === group)
        }
        _ = try await setting.database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        #expect(await setting.cloud.seen.first?.request.timeout == 3)
    }

    @Test func `a resource timeout ends each attempt, beside the request's own`() async throws {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 5
        _ = try await setting.database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        let request = try #require(await setting.cloud.seen.first?.request)
        #expect(request.timeout == 60 && request.totalTimeout == 5)
    }

    @Test func `configurations are copied when set, and nil gives a new one`() {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .background
        let operation = CKModifyRecordsOperation()
        operation.configuration = configuration
        configuration.qualityOfService = .utility
        #expect(operation.configuration.qualityOfService == .background)
        operation.qualityOfService = .userInteractive
        #expect(operation.configuration.qualityOfService == .userInteractive)
        operation.configuration = nil
        #expect(operation.configuration.qualityOfService == .default)
    }

    @Test func `a group goes through an archive`() throws {
        let group = CKOperationGroup()
        group.name = "import"
        group.quantity = 7
        group.expectedSendSize = .megabytes
        let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
        #expect(back.operationGroupID == group.operationGroupID && back.name == "import" && back.quantity == 7)
        #expect(back.expectedSendSize == .megabytes && back.expectedReceiveSize == .unknown)
    }
}
