import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the whole table of permissions for databases.
@Suite struct AccessTests {
    enum Expected: Equatable {
        case database(DatabaseKey.Scope, owner: String)
        case refused(ServerError)
    }

    static let ann = Caller.Identity.user("_ann")

    private func verdict(_ scope: DatabaseKey.Scope, _ identity: Caller.Identity, _ access: Access) -> Expected {
        let target = DatabaseTarget(container: "iCloud.com.example.notes", environment: .production, scope: scope)
        switch databaseVerdict(target, for: access, by: Caller(identity)) {
        case .success(let key):
            #expect(key.container == target.container && key.environment == .production)
            return .database(key.scope, owner: key.owner)
        case .failure(let error): return .refused(error)
        }
    }

    @Test(arguments: Access.allCases) func `the public database has records for all and neither zones nor a feed`(access: Access) {
        let here = Expected.database(.public, owner: "")
        let (user, world): (Expected, Expected) =
            switch access {
            case .read: (here, here)
            case .write: (here, .refused(.authenticationRequired))
            case .zones, .changes: (.refused(.notInPublicDatabase), .refused(.notInPublicDatabase))
            }
        #expect(verdict(.public, Self.ann, access) == user)
        #expect(verdict(.public, .world, access) == world)
    }

    @Test(arguments: Access.allCases) func `a server-to-server key is a user of the public database, and nobody elsewhere`(access: Access) {
        let key = Caller.Identity.serverKey("_key")
        #expect(verdict(.public, key, access) == verdict(.public, Self.ann, access))
        for scope in [DatabaseKey.Scope.private, .shared] { #expect(verdict(scope, key, access) == .refused(.keyIsForPublicDatabase)) }
    }

    @Test(arguments: Access.allCases, AccountState.allCases)
    func `who is signed in with an account that is not available is nobody, and hears why`(access: Access, state: AccountState) {
        let caller = Caller(.user("_ann"), deviceID: "one", account: "account").with(state)
        func verdict(_ scope: DatabaseKey.Scope) -> Result<DatabaseKey, ServerError> {
            databaseVerdict(DatabaseTarget(container: "iCloud.com.example.notes", environment: .production, scope: scope), for: access, by: caller)
        }
        guard state != .available else {
            #expect(caller.userRecordName == "_ann" && (try? verdict(.private).get().owner) == "_ann")
            return
        }
        #expect(caller.userRecordName == nil && caller.deviceID == nil && caller.account == nil)
        let code: NativeErrorCode = state == .temporarilyUnavailable ? .accountTemporarilyUnavailable : .notAuthenticated
        let refusal = verdict(.private).failure
        #expect(refusal?.nativeCode == code.rawValue && refusal?.reason != ServerError.authenticationRequired.reason)
        if access != .zones { #expect(verdict(.shared).failure?.nativeCode == code.rawValue) }
        switch access {
        case .read: #expect((try? verdict(.public).get().scope) == .public)
        case .write: #expect(verdict(.public).failure?.nativeCode == code.rawValue)
        case .zones, .changes: #expect(verdict(.public).failure == .notInPublicDatabase)
        }
    }

    @Test(arguments: Access.allCases) func `a private database is its owner's for everything and nobody else's`(access: Access) {
        #expect(verdict(.private, Self.ann, access) == .database(.private, owner: "_ann"))
        #expect(verdict(.private, .world, access) == .refused(.authenticationRequired))
    }

    @Test(arguments: Access.allCases) func `a shared database is its participant's, who makes no zones in it`(access: Access) {
        let isZones = access == .zones
        #expect(verdict(.shared, Self.ann, access) == (isZones ? .refused(.notInSharedDatabase) : .database(.shared, owner: "_ann")))
        #expect(verdict(.shared, .world, access) == .refused(isZones ? .notInSharedDatabase : .authenticationRequired))
    }

    @Test(arguments: Access.allCases) func `the registry is no database of a request's`(access: Access) {
        #expect(verdict(.registry, Self.ann, access) == .refused(.authenticationRequired))
        #expect(verdict(.registry, .world, access) == .refused(.authenticationRequired))
    }

    @Test func `a zone of another owner is refused by name in a private database and does not exist in others`() {
        func key(_ scope: DatabaseKey.Scope, _ owner: String) -> DatabaseKey {
            DatabaseKey(container: "iCloud.com.example.notes", environment: .production, scope: scope, owner: owner)
        }
        let bobs = ZoneID(zoneName: "Z", ownerRecordName: "_bob")
        #expect(ownerVerdict(bobs, in: key(.private, "_ann"), by: Caller(.world)) == .anotherUsersZone(bobs))
        #expect(ownerVerdict(bobs, in: key(.shared, "_ann"), by: Caller(.world)) == .zoneNotFound(bobs))
        #expect(ownerVerdict(bobs, in: key(.public, ""), by: Caller(.world)) == .zoneNotFound(bobs))
        #expect(ownerVerdict(bobs, in: key(.private, "_bob"), by: Caller(.world)) == nil)
        #expect(ownerVerdict(ZoneID(zoneName: "Z"), in: key(.private, "_ann"), by: Caller(.world)) == nil)
        #expect(ownerVerdict(ZoneID(zoneName: "Z", ownerRecordName: "__defaultOwner__"), in: key(.private, "_ann"), by: Caller(.world)) == nil)
    }

    @Test(
        arguments: [("container", "iCloud.a\u{0}b.c", "_ann"), ("owner", "iCloud.a.b", "_an\u{0}n"), (nil, "iCloud.a.b", "_ann")]
            as [(String?, String, String)])
    func `no part of a database's name holds a NUL`(field: String?, container: String, owner: String) async throws {
        let key = DatabaseKey(container: container, environment: .development, scope: .private, owner: owner)
        #expect(key.fault?.field == field)
        let cloud = try await TestCloud(.memory).cloud
        guard let fault = key.fault else {
            _ = try await cloud.databaseID(key)
            return
        }
        #expect(fault.code == .badRequest && fault.remedy != nil)
        await #expect(throws: fault) { try await cloud.databaseID(key) }
        await #expect(throws: fault) { try await cloud.registry.databaseID(key) }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
