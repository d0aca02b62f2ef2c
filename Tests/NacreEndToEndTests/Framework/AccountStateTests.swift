import CloudKit
import Foundation
import NacreLocks
import Testing

/// Tests of an account whose state an administrator sets, as an app sees it.
@Suite(.serialized)
struct AccountStateTests {
    private static func set(_ state: String, of email: String, _ cloud: NewCloud) async throws {
        _ = try await NewCloud.admin(cloud.server, "users/state", ["email": email, "state": state])
    }

    private static let states: [(name: String, status: CKAccountStatus?, refusal: CKError.Code)] = [
        ("restricted", .restricted, .notAuthenticated),
        ("noAccount", .noAccount, .notAuthenticated),
        ("couldNotDetermine", nil, .notAuthenticated),
        ("temporarilyUnavailable", .temporarilyUnavailable, .accountTemporarilyUnavailable),
    ]

    @Test func `each state is told as CloudKit tells it, shuts the user's data, and opens it again`() async throws {
        try await Device.pair { a, b, cloud in
            try await a.database.save(Device.note("one", "bread"))
            let sign = CKRecord(recordType: "Sign", recordID: CKRecord.ID(recordName: "sign"))
            try await a.container.publicCloudDatabase.save(sign)
            for (name, status, refusal) in Self.states {
                try await Self.set(name, of: Device.ada, cloud)
                for device in [a, b] {
                    if let status {
                        #expect(try await device.container.accountStatus() == status, "\(name)")
                    } else {
                        let error = await #expect(throws: CKError.self) { try await device.container.accountStatus() }
                        #expect(error?.code == .permissionFailure && error?.description.contains("could not be determined") == true, "\(name)")
                    }
                    for attempt in [
                        await #expect(throws: CKError.self) { try await device.database.save(Device.note("two", "milk")) },
                        await #expect(throws: CKError.self) { try await device.database.record(for: Device.recordID("one")) },
                        await #expect(throws: CKError.self) { try await device.database.databaseChanges(since: nil) },
                        await #expect(throws: CKError.self) { try await device.database.allRecordZones() },
                        await #expect(throws: CKError.self) { try await device.container.userRecordID() },
                    ] { #expect(attempt?.code == refusal, "\(name)") }
                    // Users without an account still read the public database, and cannot write there.
                    let seen = try await device.container.publicCloudDatabase.record(for: sign.recordID)
                    let changed = await #expect(throws: CKError.self) { try await device.container.publicCloudDatabase.save(seen) }
                    #expect(changed?.code == refusal, "\(name)")
                }
                try await Self.set("available", of: Device.ada, cloud)
                #expect(try await a.container.accountStatus() == .available)
                #expect(try await b.database.record(for: Device.recordID("one"))["text"] as? String == "bread")
            }
            let absent = await #expect(throws: CKError.self) { try await a.database.record(for: Device.recordID("two")) }
            #expect(absent?.code == .unknownItem, "what was refused was not saved")
        }
    }

    @Test func `a state of one user is not another's`() async throws {
        try await Device.pair { a, _, cloud in
            try await cloud.addUser("bob@example.com")
            let bob = try await Device(of: "bob@example.com", cloud)
            try await Self.set("restricted", of: Device.ada, cloud)
            #expect(try await bob.container.accountStatus() == .available)
            try await bob.database.save(CKRecord(recordType: "Note"))
            #expect(try await a.container.accountStatus() == .restricted)
        }
    }

    /// Other tests of this process post too; `AccountWatchTests` checks that nothing more is posted.
    @Test func `an answer that shows another status posts CKAccountChanged`() async throws {
        try await Device.pair { a, _, cloud in
            let posts = Posts()
            defer { posts.end() }
            #expect(try await a.container.accountStatus() == .available)
            try await Self.set("temporarilyUnavailable", of: Device.ada, cloud)
            await #expect(throws: CKError.self) { try await a.database.allRecordZones() }
            await posts.reach(1)
            #expect(try await a.container.accountStatus() == .temporarilyUnavailable)
            try await Self.set("restricted", of: Device.ada, cloud)
            #expect(try await a.container.accountStatus() == .restricted)
            await posts.reach(2)
            await #expect(throws: CKError.self) { try await a.database.allRecordZones() }
            try await Self.set("available", of: Device.ada, cloud)
            _ = try await a.database.allRecordZones()
            await posts.reach(3)
        }
    }
}

/// Counts notifications, which are posted on different queues.
private final class Posts: Sendable {
    private struct State {
        var count = 0
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())
    private let observer = Locked<[any NSObjectProtocol]>([])

    init() {
        let added = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { [state] _ in
            let ready = state.withLock { state in
                state.count += 1
                let ready = state.waiting.filter { $0.count <= state.count }
                state.waiting.removeAll { $0.count <= state.count }
                return ready
            }
            for waiter in ready { waiter.continuation.resume() }
        }
        observer.withLock { $0 = [added] }
    }

    func reach(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func end() {
        observer.withLock { observers in
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
        }
    }
}
