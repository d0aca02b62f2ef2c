import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of the rules by which Alice's device decides who has the key of her zone, and by which Bob's takes it.
struct ShareWishTests {
    private struct Account {
        let own: OwnKeys
        let statement: [UInt8]
        var log: KeyLog { own.log }
        var user: String { log.account.user }

        init(_ user: String) throws {
            var random = SystemRandomBytes()
            let name = try #require(AccountName(container: "iCloud.test", environment: "development", user: user))
            let device = try DeviceKeys(using: &random)
            let (statement, log, key) = try device.begin(name, recovery: RecoveryKey(of: name, using: &random), using: &random)
            own = OwnKeys(device: device, log: log, accountKeys: [key])
            self.statement = statement.bytes
        }

        func wish(_ permission: ScopeManifest.Permission, as role: ScopeManifest.Role = .privateUser) -> ShareWish {
            ShareWish(participant: "id of \(user)", user: user, permission: permission.rawValue, role: role.rawValue)
        }

        func listed(
            _ permission: SharePermission, as role: NacreCloudWire.ParticipantRole = .privateUser, _ acceptance: ParticipantAcceptance = .accepted
        ) -> ShareParticipant {
            ShareParticipant(
                participantID: "id of \(user)", identity: ParticipantIdentity(userRecordName: user), role: role, permission: permission,
                acceptance: acceptance)
        }
    }

    private let alice: Account
    private let bob: Account
    private let carol: Account
    private let place: Place
    private let random = KeyRandom(source: nil)
    private var logs: [String: KeyLog] { [alice, bob, carol].reduce(into: [:]) { $0[$1.user] = $1.log } }

    init() throws {
        (alice, bob, carol) = (try Account("_alice"), try Account("_bob"), try Account("_carol"))
        place = try #require(Place(owner: alice.log.account, zone: "Notes"))
    }

    /// Returns the keys that an account has of a scope to which devices have sent these requests.
    private func keys(of account: Account, after requests: [KeysScopesModifyRequest]) throws -> ZoneKeys {
        var shown = ShownScope(
            manifests: requests.map(\.manifest).reversed(), wraps: requests.flatMap(\.wraps), olderKeys: requests.compactMap(\.olderKey))
        shown.accounts = logs.mapValues { [$0] }
        var kept = KeptKeys()
        return try kept.take(shown, at: place, of: account.own)
    }

    private func first() throws -> KeysScopesModifyRequest { try alice.own.firstKey(at: place, stamp: 1_000, using: random) }

    /// Returns the request for the manifest that follows; nil if the newest says the same.
    private func next(
        after requests: [KeysScopesModifyRequest], _ wishes: [ShareWish], list: [ShareParticipant]? = nil
    ) throws -> KeysScopesModifyRequest? {
        let keys = try keys(of: alice, after: requests)
        let participants = alice.own.participants(after: keys.manifest.parts, wishes: wishes, list: list, logs: logs)
        return try alice.own.nextManifest(after: keys, participants: participants, logs: logs, stamp: 1_000, using: random)
    }

    @Test func `a new participant gets the key, a raised permission needs none, and each that is taken away makes another for who stays`() throws {
        var requests = [try first()]
        /// Takes the next manifest, and checks its version, the number of its wraps and the permissions.
        func expect(_ wishes: [ShareWish], version: UInt32, wraps: Int, _ permissions: [ScopeManifest.Permission]) throws {
            let request = try #require(try next(after: requests, wishes))
            let parts = try ScopeManifest(request.manifest).parts
            #expect(parts.version == version && request.wraps.count == wraps && parts.participants.map(\.permission) == permissions)
            #expect((request.olderKey != nil) == (try keys(of: alice, after: requests).newest.id.version < version))
            requests.append(request)
            #expect(try next(after: requests, wishes) == nil, "it is done")
        }
        try expect([bob.wish(.readOnly), carol.wish(.readWrite)], version: 1, wraps: 2, [.readWrite, .readOnly, .readWrite])
        try expect([bob.wish(.readWrite)], version: 1, wraps: 0, [.readWrite, .readWrite, .readWrite])
        try expect([bob.wish(.readOnly)], version: 2, wraps: 3, [.readWrite, .readOnly, .readWrite])
        try expect([carol.wish(.none)], version: 3, wraps: 2, [.readWrite, .readOnly])
        let (owners, bobs) = (try keys(of: alice, after: requests), try keys(of: bob, after: requests))
        #expect(bobs.newest.proof == owners.newest.proof && bobs.older.count == 2 && !bobs.mayWrite && owners.mayWrite)
        #expect(owners.isOwn && !bobs.isOwn)
        let error = #expect(throws: CKError.self) { try keys(of: carol, after: requests) }
        #expect(error?.code == .accountTemporarilyUnavailable)
    }

    @Test func `another key of a share of records comes without links, which the server takes for zones alone`() throws {
        for share in [nil, ("share", "list")] as [(name: String, root: String)?] {
            let first = try alice.own.firstKey(at: place, share: share, stamp: 1_000, using: random)
            let shown = ShownScope(manifests: [first.manifest], wraps: first.wraps, which: share.map { WhichScope.share($0.name) } ?? .zone)
            var kept = KeptKeys()
            let keys = try kept.take(shown, at: place, of: alice.own)
            let next = try #require(
                try alice.own.nextManifest(
                    after: keys, participants: keys.manifest.parts.participants, logs: logs, mustRenew: true, stamp: 1_000, using: random))
            #expect(try ScopeManifest(next.manifest).parts.version == 2)
            #expect((next.links == nil) == (share != nil))
        }
    }

    @Test func `A3: the server's list adds nobody and gives nobody more, and takes away what it lacks`() throws {
        let requests = [try first()]
        let shared = requests + [try #require(try next(after: requests, [bob.wish(.readOnly)]))]
        func participants(_ list: [ShareParticipant], _ wishes: [ShareWish] = []) throws -> [ScopeManifest.Participant] {
            alice.own.participants(after: try keys(of: alice, after: shared).manifest.parts, wishes: wishes, list: list, logs: logs)
        }
        #expect(try next(after: shared, [], list: [bob.listed(.readWrite, as: .administrator), carol.listed(.readWrite)]) == nil)
        #expect(try participants([bob.listed(.readWrite)]).map(\.permission) == [.readWrite, .readOnly])
        for list in [[], [carol.listed(.readWrite)], [bob.listed(.none)], [bob.listed(.readOnly, as: .privateUser, .removed)]] {
            #expect(try participants(list).map(\.user) == [alice.user])
        }
        #expect(try participants([bob.listed(.readOnly)], [carol.wish(.readWrite)]).count == 2, "the share does not have her yet")
        let both = [bob.listed(.readOnly), carol.listed(.readOnly)]
        #expect(try participants(both, [carol.wish(.readWrite)]).map(\.permission) == [.readWrite, .readOnly, .readOnly])
    }

    @Test func `late in a scope the keys of participants cause no manifest, and one that the owner makes has another key for them`() throws {
        var random = self.random
        var requests = [try first()]
        requests.append(try #require(try next(after: requests, [bob.wish(.readOnly)])))
        var last = try ScopeManifest(requests[1].manifest)
        var log = bob.log
        _ = try log.replaceRecovery(with: RecoveryKey(of: log.account, using: &random), by: .device(bob.own.device), using: &random)
        /// Returns the owner's keys, when the server shows Bob's log as it is now.
        func keys() throws -> ZoneKeys {
            var shown = ShownScope(manifests: requests.map(\.manifest).reversed(), wraps: requests.flatMap(\.wraps))
            shown.accounts = [bob.user: [log]]
            var kept = KeptKeys()
            return try kept.take(shown, at: place, of: alice.own)
        }
        func request(_ wishes: [ShareWish] = []) throws -> KeysScopesModifyRequest? {
            let (keys, logs) = (try keys(), logs.merging([bob.user: log]) { $1 })
            let participants = alice.own.participants(after: keys.manifest.parts, wishes: wishes, list: nil, logs: logs)
            return try alice.own.nextManifest(after: keys, participants: participants, logs: logs, stamp: 1_000, using: self.random)
        }
        #expect(try request() != nil, "the participant has another recovery key")
        let newest = try keys().newest
        while last.parts.number < OwnKeys.manifestsForOthers {
            var parts = last.parts
            (parts.number, parts.before, parts.stamp) = (parts.number + 1, last.hash, parts.stamp + 1)
            let next = try alice.own.request(for: newest, parts, after: last, older: nil, logs: [bob.user: log], using: &random)
            last = try ScopeManifest(next.manifest)
            requests.append(next)
        }
        #expect(try request() == nil && !alice.own.mustRenew(keys()))
        let added = try #require(try request([carol.wish(.readOnly)]))
        #expect(try ScopeManifest(added.manifest).parts.version == 2 && added.wraps.count == 3)
    }

    @Test func `the manifest that closes a link names who came by it and is in none, without a key, and the one after does not`() throws {
        let first = try self.first()
        let before = try keys(of: alice, after: [first])
        var random = self.random
        let secret = try LinkSecret(using: &random)
        let words = try [bob, bob, carol].map { account in
            let parts = try #require(
                Joining.Parts(place: place, keyID: before.newest.id, link: "", user: account.user, fingerprint: account.log.fingerprint))
            return try secret.joining(parts)
        }
        let carols = try #require(try next(after: [first], [carol.wish(.readOnly)]))
        let open = try keys(of: alice, after: [first, carols])
        let stays = LinkPlan(permission: .none, oneTime: [])
        let known = alice.own.participants(after: open.manifest.parts, wishes: [], list: nil, logs: logs)
        #expect(alice.own.leaving(words, of: open.manifest.parts, besides: known, stays, logs: logs).isEmpty, "no link was closed")
        var ends = stays
        ends.mustRenew = true
        let leaving = alice.own.leaving(words, of: open.manifest.parts, besides: known, ends, logs: logs)
        #expect(leaving.map(\.user) == ["_bob"])
        let closing = try #require(
            try alice.own.nextManifest(
                after: open, participants: known + leaving, links: ends, logs: logs, stamp: 1_000, using: self.random))
        let closed = try keys(of: alice, after: [first, carols, closing])
        let parts = closed.manifest.parts
        #expect(parts.participants.count == 3 && !parts.readers.contains(bob.log.fingerprint) && closed.newest.id.version == 2)
        #expect(closing.wraps.count == 2)
        #expect(alice.own.participants(after: parts, wishes: [], list: nil, logs: logs).map(\.user) == ["_alice", "_carol"])
    }

    @Test func `A2: another account of a participant is an error with both fingerprints`() throws {
        var kept = KeptKeys()
        let name = bob.log.account
        #expect(try kept.take(ShownAccount(statements: [bob.statement]), ofOther: name).map(\.fingerprint) == [bob.log.fingerprint])
        #expect(kept.accounts[bob.user]?.fingerprint == bob.log.fingerprint)
        let forged = try Account(bob.user)
        let error = #expect(throws: CKError.self) { try kept.take(ShownAccount(statements: [forged.statement]), ofOther: name) }
        let remedy = error?.userInfo["CKErrorRemedy"] as? String ?? ""
        #expect(remedy.contains("\(bob.log.fingerprint)") && remedy.contains("\(forged.log.fingerprint)"), "\(remedy)")
        #expect(kept.accounts[bob.user]?.fingerprint == bob.log.fingerprint)
        #expect(throws: CKError.self) { try kept.take(ShownAccount(statements: [carol.statement]), ofOther: name) }
    }

    @Test func `A2: a user whom the server alone has named is not kept, and nobody who was kept has to go`() throws {
        var kept = KeptKeys()
        let shown = ShownAccount(statements: [carol.statement])
        #expect(try kept.take(shown, ofOther: carol.log.account, isNamed: false).map(\.fingerprint) == [carol.log.fingerprint])
        #expect(kept.accounts.isEmpty)
        let requests = [try first()]
        let shared = requests + [try #require(try next(after: requests, [bob.wish(.readOnly)]))]
        var scope = ShownScope(
            manifests: shared.map(\.manifest).reversed(), wraps: shared.flatMap(\.wraps), olderKeys: shared.compactMap(\.olderKey))
        scope.accounts = logs.mapValues { [$0] }
        _ = try kept.take(scope, at: place, of: alice.own)
        #expect(kept.accounts.mapValues(\.fingerprint) == [bob.user: bob.log.fingerprint], "the manifest names no Carol")
        let pin = try #require(kept.accounts[bob.user])
        for number in 1..<KeptKeys.accountsMax { kept.accounts["_user\(number)"] = pin }
        let error = #expect(throws: CKError.self) { try kept.take(shown, ofOther: carol.log.account) }
        #expect((error?.userInfo["CKErrorRemedy"] as? String)?.contains("nacre keys trust-tree") == true)
        #expect(kept.accounts[bob.user] == pin && kept.accounts[carol.user] == nil)
    }

    @Test func `a wish is kept in the device's file, gets the name that the server tells, and goes when it is fulfilled`() async throws {
        let store = KeyStore(folder: nil)
        let account = KeyAccount(server: KeyDevice.url, name: alice.log.account)
        var unnamed = bob.wish(.readOnly)
        unnamed.user = nil
        let (wishes, list) = ([unnamed, carol.wish(.readWrite)], [bob.listed(.readOnly)])
        try await store.update(account) { kept throws(CKError) in kept.wish(wishes, inZone: "Notes") }
        #expect(try await store.keys(of: account).wishes["Notes"] == wishes)
        try await store.update(account) { kept throws(CKError) in kept.meet(list, inZone: "Notes", asked: wishes, now: 5) }
        var named = bob.wish(.readOnly)
        (named.since, named.isNamedByServer) = (5, true)
        #expect(try await store.keys(of: account).wishes["Notes"] == [named], "Carol is not in the share")
        let requests = [try first()]
        let manifest = try ScopeManifest(try #require(try next(after: requests, [bob.wish(.readOnly)])).manifest)
        try await store.update(account) { kept throws(CKError) in kept.settle(manifest, inZone: "Notes") }
        #expect(try await store.keys(of: account).wishes.isEmpty)
    }

    @Test func `a list that was asked for before a share was saved takes no wish of it away`() throws {
        var kept = KeptKeys()
        kept.wish([bob.wish(.readOnly)], inZone: "Notes", isPending: true)
        let asked = try #require(kept.wishes["Notes"])
        kept.meet([], inZone: "Notes", asked: asked, now: 5)
        #expect(kept.wishes["Notes"]?.count == 1, "the server has not answered")
        kept.wish([bob.wish(.readOnly)], inZone: "Notes")
        kept.meet([], inZone: "Notes", asked: asked, now: 5)
        #expect(kept.wishes["Notes"] == [bob.wish(.readOnly)], "the server has answered since the list was asked for")
        kept.meet([], inZone: "Notes", asked: [bob.wish(.readOnly)], now: 5)
        #expect(kept.wishes.isEmpty)
    }

    @Test func `a wish that is taken back leaves the one that it was to replace, and one that is saved does not`() throws {
        var kept = KeptKeys()
        kept.wish([bob.wish(.readOnly)], inZone: "Notes")
        kept.wish([bob.wish(.readWrite)], inZone: "Notes", isPending: true)
        let requests = [try first()]
        let both = try #require(kept.wishes["Notes"])
        let parts = try ScopeManifest(try #require(try next(after: requests, both)).manifest).parts
        #expect(parts.participants.map(\.permission) == [.readWrite, .readWrite], "the newer one counts, once")
        kept.takeBack([bob.wish(.readWrite)], inZone: "Notes")
        #expect(kept.wishes["Notes"] == [bob.wish(.readOnly)])
        kept.wish([bob.wish(.readWrite)], inZone: "Notes", isPending: true)
        kept.wish([bob.wish(.readWrite)], inZone: "Notes")
        kept.takeBack([bob.wish(.readWrite)], inZone: "Notes")
        #expect(kept.wishes["Notes"] == [bob.wish(.readWrite)])
    }

    @Test func `a scope is taken over without those whom a removed device has added or raised`() throws {
        var requests = [try first()]
        for wishes in [[bob.wish(.readWrite)], [bob.wish(.readOnly), carol.wish(.readWrite)]] {
            requests.append(try #require(try next(after: requests, wishes)))
        }
        let all = try requests.map { try ScopeManifest($0.manifest).parts }
        func participants(_ newest: Int, _ signed: Int?) -> [ScopeManifest.Permission] {
            alice.own.participants(takingOver: all[newest], signed: signed.map { all[$0] }, logs: logs).map(\.permission)
        }
        #expect(participants(2, 1) == [.readWrite, .readOnly], "Carol is new, and Bob may only read")
        #expect(participants(1, 2) == [.readWrite, .readOnly], "Bob is raised")
        #expect(participants(2, nil) == [.readWrite])
    }

    @Test func `a wish for an address ends after 90 days, one for a user does not, and the account that the server names is told`() throws {
        var unnamed = bob.wish(.readOnly)
        unnamed.user = nil
        let list = [bob.listed(.readOnly), carol.listed(.readOnly)]
        let nobody = ShareParticipant(participantID: unnamed.participant, identity: ParticipantIdentity())
        let end = 5 + ShareWish.addressMilliseconds
        for shown in [nobody, bob.listed(.readOnly)] {
            var kept = KeptKeys()
            kept.wish([unnamed, carol.wish(.readOnly)], inZone: "Notes")
            kept.meet([shown, carol.listed(.readOnly)], inZone: "Notes", asked: [], now: 5)
            kept.meet(list, inZone: "Notes", asked: [], now: end - 1)
            #expect(kept.wishes["Notes"]?.map(\.user) == [bob.user, carol.user])
            let wishes = kept.wishes["Notes"] ?? []
            let before = try first()
            let next = try ScopeManifest(try #require(try next(after: [before], wishes, list: list)).manifest)
            #expect(next.parts.namedByServer(wishes, after: try ScopeManifest(before.manifest).parts).map(\.fingerprint) == [bob.log.fingerprint])
            #expect(next.parts.namedByServer(wishes, after: next.parts).isEmpty, "he has the keys")
            kept.meet(list, inZone: "Notes", asked: [], now: end)
            #expect(kept.wishes["Notes"] == [carol.wish(.readOnly)])
        }
    }

    @Test func `the wishes of a share are what the app has changed in it`() throws {
        let details = ShareDetails(
            shortGUID: "g", publicPermission: .none, participants: [alice.listed(.readWrite, as: .owner), bob.listed(.readOnly)],
            owner: alice.listed(.readWrite, as: .owner), currentUserParticipant: nil)
        var sheet = ShareSheet(details, server: nil)
        #expect(sheet.wishes.isEmpty)
        sheet.participants[1].permission = .readWrite
        #expect(sheet.wishes == [bob.wish(.readWrite)])
        let guest = CKShareParticipant(wire: carol.listed(.readOnly))
        try sheet.add(guest)
        #expect(sheet.wishes == [bob.wish(.readWrite), carol.wish(.readOnly)])
        try sheet.remove(sheet.participants[1])
        #expect(sheet.wishes == [carol.wish(.readOnly), bob.wish(.none)])
        var same = ShareSheet(details, server: nil)
        try same.add(CKShareParticipant(wire: bob.listed(.readOnly)))
        #expect(same.wishes == [bob.wish(.readOnly)], "the app has added him, whoever had done so before")
    }
}
