import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Tests of the clock, on which waiting takes no time.
@Suite struct TestClockTests {
    @Test func `the clock begins at a fixed moment, and moves when it is told to`() async throws {
        let cloud = try await TestCloud()
        #expect(cloud.now == Date(timeIntervalSince1970: 1_767_225_600))
        let database = try await cloud.signIn("alice").privateCloudDatabase
        #expect(try await database.save(note("n1", "")).modificationDate == cloud.now)
        await cloud.advance(by: 3_600)
        #expect(cloud.now == Date(timeIntervalSince1970: 1_767_229_200))
        #expect(try await database.save(note("n2", "")).modificationDate == cloud.now)
    }

    @Test func `with the manual clock a retry waits until the clock is moved on`() async throws {
        let cloud = try await TestCloud(clock: .manual)
        let database = try await cloud.signIn("alice").privateCloudDatabase
        cloud.fail(next: 2, .modifyRecords, with: .connectionLostBeforeCommit)
        async let saved = database.save(note("n1", "bread"))
        let first = try #require(await cloud.nextPause())
        #expect(cloud.pendingFaults.count == 1 && first == 0.25)
        await cloud.advance(by: first)
        let second = try #require(await cloud.nextPause())
        #expect(cloud.pendingFaults.isEmpty && second == 1)
        await cloud.advance(by: second)
        #expect(try await saved["text"] as? String == "bread")
    }

    @Test func `an operation that pauses when the cloud ends is cancelled`() async throws {
        let cloud = try await TestCloud(clock: .manual)
        let database = try await cloud.signIn("alice").privateCloudDatabase
        cloud.fail(.modifyRecords, with: .connectionLostBeforeCommit)
        async let ended = code { _ = try await database.save(note("n1", "")) }
        _ = await cloud.nextPause()
        await cloud.shutDown()
        #expect(await ended == .operationCancelled)
        #expect(await cloud.nextPause() == nil)
    }
}
