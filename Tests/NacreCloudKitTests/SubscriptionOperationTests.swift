import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of saves, fetches and deletions of subscriptions: by operations, by functions, with old blocks and new ones.
struct SubscriptionOperationTests {
    private func subscription(_ id: String) -> CKSubscription { CKDatabaseSubscription(subscriptionID: id) }

    @Test func `the functions of a database, one subscription after the other`() async throws {
        let setting = Setting()
        let database = setting.database
        let saved = try await database.save(subscription("a"))
        #expect(saved.subscriptionID == "a" && saved is CKDatabaseSubscription)
        let again = subscription("a")
        again.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        try await database.save(again)
        #expect(try await database.subscription(for: "a").notificationInfo?.shouldSendContentAvailable == true)
        try await database.save(CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "b"))
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["a", "b"])
        #expect(try await database.deleteSubscription(withID: "a") == "a")
        let found = try await database.subscriptions(for: ["a", "b"])
        #expect(found.mapValues(\.word) == ["a": "unknownItem", "b": "ok"])
        await #expect(throws: CKError.self) { try await database.subscription(for: "a") }
        await #expect(throws: CKError.self) { try await database.deleteSubscription(withID: "a") }
        let results = try await database.modifySubscriptions(saving: [subscription("c"), subscription("refused")], deleting: ["b", "x"])
        #expect(results.saveResults.mapValues(\.word) == ["c": "ok", "refused": "invalidArguments"])
        #expect(results.deleteResults.mapValues(\.word) == ["b": "ok", "x": "unknownItem"])
    }

    @Test func `the functions with completion handlers`() async throws {
        let database = Setting().database
        func hear<Value: Sendable>(_ call: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
            await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }
        }
        #expect(await hear { done in database.save(subscription("a")) { saved, error in done(saved != nil && error == nil) } })
        #expect(await hear { done in database.fetch(withSubscriptionID: "a") { found, _ in done(found?.subscriptionID == "a") } })
        #expect(await hear { done in database.fetch(withSubscriptionID: "b") { found, error in done(found == nil && error != nil) } })
        #expect(await hear { done in database.fetchAllSubscriptions { all, _ in done(all?.count == 1) } })
        #expect(await hear { done in database.fetch(withSubscriptionIDs: ["a", "b"]) { done((try? $0.get())?["b"]?.word == "unknownItem") } })
        #expect(
            await hear { done in
                database.modifySubscriptions(saving: [subscription("b")], deleting: []) { done((try? $0.get())?.saveResults["b"]?.word == "ok") }
            })
        #expect(await hear { done in database.delete(withSubscriptionID: "a") { id, error in done(id == "a" && error == nil) } })
        #expect(await hear { done in database.delete(withSubscriptionID: "a") { id, error in done(id == nil && error != nil) } })
    }

    @Test func `blocks hear of each item and of the whole; the old block hears of items in its error`() async throws {
        let setting = Setting()
        let diary = Diary()
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription("a"), subscription("refused"), subscription("")], subscriptionIDsToDelete: ["x"])
        operation.perSubscriptionSaveBlock = { diary.note("save \($0) \($1.word)") }
        operation.perSubscriptionDeleteBlock = { diary.note("delete \($0) \($1.word)") }
        operation.modifySubscriptionsResultBlock = { diary.note("result \($0.word)") }
        operation.modifySubscriptionsCompletionBlock = { _, _, _ in diary.note("old") }
        await setting.run(operation)
        #expect(
            diary.entries == ["save  invalidArguments", "save a ok", "save refused invalidArguments", "delete x unknownItem", "result ok"])
        let old = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription("refused"), subscription("b")], subscriptionIDsToDelete: ["a"])
        let heard = Locked<([String], [String], CKError?)?>(nil)
        old.modifySubscriptionsCompletionBlock = { saved, deleted, error in
            let names = saved?.map(\.subscriptionID) ?? []
            heard.withLock { $0 = (names, deleted ?? [], error as? CKError) }
        }
        await setting.run(old)
        let (saved, deleted, error) = try #require(heard.withLock { $0 })
        #expect(saved == ["b"] && deleted == ["a"] && error?.code == .partialFailure)
        #expect(error?.partialErrorsByItemID?.keys.map { $0 as? String } == ["refused"])
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["b", "gone", "b"])
        let fetched = Diary()
        fetch.perSubscriptionResultBlock = { fetched.note("\($0) \($1.word)") }
        fetch.fetchSubscriptionCompletionBlock = { found, error in
            fetched.note("old \(found?.keys.sorted() ?? []) \((error as? CKError)?.code == .partialFailure)")
        }
        await setting.run(fetch)
        #expect(fetched.entries == ["b ok", "gone unknownItem", #"old ["b"] true"#])
        let all = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        all.fetchSubscriptionsResultBlock = { fetched.note("all \($0.word)") }
        all.perSubscriptionResultBlock = { id, _ in fetched.note("of all \(id)") }
        await setting.run(all)
        #expect(fetched.entries.suffix(2) == ["of all b", "all ok"])
    }

    @Test func `errors of items that no block hears are a line for the developer`() async {
        let setting = Setting()
        let modify = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription("refused")], subscriptionIDsToDelete: ["x"])
        modify.modifySubscriptionsResultBlock = { _ in }
        await setting.run(modify)
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["x"])
        fetch.fetchSubscriptionsResultBlock = { _ in }
        await setting.run(fetch)
        #expect(
            setting.log.entries.map { $0.prefix { $0 != ":" } } == ["notice", "notice", "notice"]
                && setting.log.entries.map { $0.contains("Subscriptions") }.allSatisfy { $0 })
    }

    @Test func `a change goes once: under an operation ID, which its repetition keeps`() async throws {
        let setting = Setting()
        await setting.cloud.failNext(.answerLost)
        try await setting.database.save(subscription("a"))
        let requests = try await setting.cloud.subscriptionRequests()
        #expect(requests.count == 2 && requests[0] == requests[1] && requests[0].extension.operationID != nil)
    }

    @Test func `the same subscription twice, and more than a request takes, are refused before anything is sent`() async throws {
        let setting = Setting()
        for operation in [
            CKModifySubscriptionsOperation(subscriptionsToSave: [subscription("a")], subscriptionIDsToDelete: ["a"]),
            CKModifySubscriptionsOperation(subscriptionIDsToDelete: (0...Limits.subscriptionsPerRequest).map { "\($0)" }),
        ] {
            let word = Locked("")
            operation.modifySubscriptionsResultBlock = { result in word.withLock { $0 = result.word } }
            await setting.run(operation)
            #expect(["invalidArguments", "limitExceeded"].contains(word.withLock { $0 }))
        }
        #expect(await setting.cloud.seen.isEmpty)
    }

    @Test func `many are fetched in several requests`() async throws {
        let setting = Setting()
        let ids = (0..<Limits.subscriptionsPerRequest + 1).map { "\($0)" }
        let found = try await setting.database.subscriptions(for: ids)
        #expect(found.count == ids.count)
        #expect(await setting.cloud.paths == ["subscriptions/lookup", "subscriptions/lookup"])
    }

    @Test func `the current user in a predicate is spelled out`() async throws {
        let setting = Setting()
        let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        let mine = CKQuerySubscription(
            recordType: "T", predicate: NSPredicate(format: "creatorUserRecordID != %@", me), subscriptionID: "mine")
        try await setting.database.save(mine)
        let filters = await setting.cloud.subscriptions.compactMap { subscription -> QueryFilter? in
            guard case .query(let subscribed) = subscription.kind else { return nil }
            return subscribed.query.filters.first
        }
        guard case .reference(let reference)? = filters.first?.value else {
            Issue.record("\(filters)")
            return
        }
        #expect(reference.recordName == "_alice")
    }

    @Test func `without an account nothing is saved`() async {
        let error = await #expect(throws: CKError.self) { try await Setting(accountToken: nil).database.save(subscription("a")) }
        #expect(error?.code == .notAuthenticated)
    }
}
