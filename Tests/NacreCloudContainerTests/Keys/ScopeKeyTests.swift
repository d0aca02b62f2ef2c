import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the scopes of zones that the server keeps: the rules as values, and over the engines.
@Suite(.timeLimit(.minutes(1))) struct ScopeKeyTests {
    private static func refusal(_ request: KeysScopesModifyRequest, over last: ScopeManifest?, by keys: SampleKeyring) throws -> ServerError? {
        let place = try #require(Place(owner: keys.account, zone: "Diary"))
        return try ScopeAddition(request).fault(over: last, at: place, by: keys.log)
    }

    @Test func `a manifest is kept with the keys of a new version, and with none where the version stays`() throws {
        let ada = try SampleKeyring("_ada", container: TestCloud.container)
        var scope = try SampleScope(ada, zone: "Diary")
        var last: ScopeManifest?
        for isNewKey in [true, false, true] {
            if last != nil { try scope.goOn(isRotated: isNewKey) }
            let right = try scope.request(isNewKey: isNewKey)
            #expect(try Self.refusal(right, over: last, by: ada) == nil)
            var wrong = [right, right, right]
            wrong[0].wraps = isNewKey ? [] : [try scope.wrap().bytes]
            wrong[1].wraps = [try scope.wrap(generation: 2).bytes]
            wrong[2].wraps = [try scope.wrap(by: KeyringDevice("stranger")).bytes]
            for request in wrong { #expect(try Self.refusal(request, over: last, by: ada)?.field == "wraps") }
            var other = right
            other.olderKey = right.olderKey == nil ? try ada.olderKey(under: 1).bytes : nil
            #expect(try Self.refusal(other, over: last, by: ada)?.field == "olderKey")
            last = scope.newest
        }
    }

    @Test func `a manifest that a client would refuse is refused, a stale one as a conflict, and one of a link for now`() throws {
        var ada = try SampleKeyring("_ada", container: TestCloud.container)
        let phone = try KeyringDevice("phone")
        try ada.say(ada.adding(phone))
        let first = try SampleScope(ada, zone: "Diary")
        func refusal(_ manifest: ScopeManifest, by keys: SampleKeyring? = nil) throws -> ServerError? {
            let request = KeysScopesModifyRequest(zoneID: ZoneID(zoneName: "Diary"), manifest: manifest.bytes)
            return try Self.refusal(request, over: first.newest, by: keys ?? ada)
        }
        #expect(try refusal(first.next(by: phone)) == nil)
        #expect(try refusal(first.newest)?.code == .conflict)
        #expect(try refusal(first.next { $0.number += 1 })?.code == .conflict)
        #expect(try refusal(first.next { $0.stamp = 1_000 })?.code == .badRequest)
        #expect(try refusal(first.next(by: KeyringDevice("stranger")))?.code == .badRequest)
        #expect(try refusal(first.next { $0.linkPermission = .readOnly })?.code == .badRequest)
        var rotated = first
        try rotated.goOn(isRotated: true)
        let twice = try first.next {
            $0.version = 3
            $0.keyProofs = rotated.newest.parts.keyProofs + [first.newest.hash]
        }
        #expect(try refusal(twice)?.field == "manifest")
        // The device was removed in the meantime.
        var later = ada
        try later.say(later.removing(phone))
        #expect(try refusal(first.next(by: phone), by: later)?.code == .badRequest)
        let other = try SampleScope(ada, zone: "Work")
        #expect(try Self.refusal(other.request(isNewKey: true), over: nil, by: ada)?.field == "manifest")
        #expect(try Self.refusal(rotated.request(isNewKey: true), over: nil, by: ada)?.code == .conflict)
    }

    @Test func `the stamp of a scope's manifest lies a day ahead of the server's clock at most`() throws {
        let scope = try SampleScope(SampleKeyring("_ada", container: TestCloud.container), zone: "Diary")
        let (now, day): (UInt64, UInt64) = (1_000_000, 24 * 3_600_000)
        func fault(stamp: UInt64) throws -> ServerError? {
            let request = KeysScopesModifyRequest(zoneID: ZoneID(zoneName: "Diary"), manifest: try scope.next { $0.stamp = stamp }.bytes)
            return try ScopeAddition(request).fault(at: Timestamp(millisecondsSince1970: Int64(now)))
        }
        #expect(try fault(stamp: now + day) == nil)
        #expect(try fault(stamp: now + day + 1) == .scopeManifestFromTheFuture)
    }

    @Test func `a manifest with participants has the key for those who could not read before, and for all if it is new`() throws {
        let ada = try SampleKeyring("_ada", container: TestCloud.container)
        let (ben, cleo) = (try SampleKeyring("_ben", container: TestCloud.container), try SampleKeyring("_cleo", container: TestCloud.container))
        var scope = try SampleScope(ada, zone: "Diary")
        let reading = SampleScope.participant(ben, .readOnly)
        /// Takes the next manifest, which needs the key for some accounts.
        func expect(_ others: [ScopeManifest.Participant], isRotated: Bool = false, needs needed: [SampleKeyring]) throws {
            let last = scope.newest
            try scope.goOn(isRotated: isRotated, with: others)
            var right = try scope.request(isNewKey: isRotated)
            right.wraps = try needed.map { try scope.wrap(for: $0).bytes }
            #expect(try Self.refusal(right, over: last, by: ada) == nil)
            let all = [ada, ben, cleo]
            for wrong in [[], [ada], [ben], [ada, ada], [ben, ben], [ada, ben], all] where wrong.map(\.account) != needed.map(\.account) {
                right.wraps = try wrong.map { try scope.wrap(for: $0).bytes }
                #expect(try Self.refusal(right, over: last, by: ada)?.field == "wraps", "\(wrong.map(\.account.user))")
            }
            guard !needed.isEmpty else { return }
            right.wraps = try needed.map { try scope.wrap(for: $0, by: ben.first).bytes }
            #expect(try Self.refusal(right, over: last, by: ada)?.field == "wraps", "the sender is not the owner's")
        }
        try expect([reading, SampleScope.participant(cleo, .none)], needs: [ben])
        try expect([SampleScope.participant(ben, .readWrite), SampleScope.participant(cleo, .none)], needs: [])
        let last = scope.newest
        for others in [[reading], [SampleScope.participant(cleo, .readOnly)], []] {
            var next = scope
            try next.goOn(isRotated: false, with: others)
            #expect(try Self.refusal(next.request(isNewKey: false), over: last, by: ada)?.field == "manifest", "a permission goes with the key")
        }
        try expect([reading], isRotated: true, needs: [ada, ben])
        try expect([], isRotated: true, needs: [ada])
    }

    @Test(arguments: Engine.embedded)
    func `a participant of a zone's share reads its scope with the key for that user, and nobody else reads it`(_ engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite])
        let (ada, ben) = (try SampleKeyring("_ada", container: TestCloud.container), try SampleKeyring("_ben", container: TestCloud.container))
        func list(_ name: String) async throws -> KeysScopesListResponse {
            let user = name == ShareScene.ada ? scene.ada : scene.guest(name)
            let zone = ZoneID(zoneName: ShareScene.zone, ownerRecordName: ShareScene.ada)
            return try await user.cloud.listScope(KeysScopesListRequest(zoneID: zone), in: user.target, by: user.caller)
        }
        #expect(try await list("_ben") == KeysScopesListResponse(manifests: []))
        func modify(_ request: KeysScopesModifyRequest) async throws {
            _ = try await scene.ada.cloud.modifyScope(request, in: scene.ada.target, by: scene.ada.caller)
        }
        _ = try await scene.ada.cloud.appendKeyStatement(ada.request(), in: scene.ada.target, by: scene.ada.caller)
        var scope = try SampleScope(ada, zone: ShareScene.zone)
        try await modify(scope.request(isNewKey: true))
        #expect(try await list("_ben").wraps == [], "the owner has not signed that Ben takes part")
        try scope.goOn(isRotated: false, with: [SampleScope.participant(ben, .readWrite)])
        var request = try scope.request(isNewKey: false)
        request.wraps = [try scope.wrap(for: ben).bytes]
        try await modify(request)
        let seen = try await list("_ben")
        #expect(seen.manifests.count == 2 && seen.wraps == request.wraps && seen.olderKeys == [])
        #expect(try await list(ShareScene.ada).wraps?.count == 2)
        await #expect(throws: ServerError.self) { try await list("_cleo") }
        try scope.goOn(isRotated: true)
        try await modify(scope.request(isNewKey: true))
        #expect(try await list("_ben").wraps == [])
        #expect(try await list(ShareScene.ada).wraps?.count == 1)
    }

    @Test(arguments: Engine.embedded)
    func `a zone's scope goes on by its manifests, and goes with the zone`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ada = test.user("_ada")
        func list(before: Int? = nil) async throws -> KeysScopesListResponse {
            try await ada.cloud.listScope(
                KeysScopesListRequest(zoneID: ZoneID(zoneName: "Diary"), before: before), in: ada.target, by: ada.caller)
        }
        func modify(_ request: KeysScopesModifyRequest) async throws {
            _ = try await ada.cloud.modifyScope(request, in: ada.target, by: ada.caller)
        }
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        var scope = try SampleScope(keys, zone: "Diary")
        await #expect(throws: ServerError.self) { try await modify(scope.request(isNewKey: true)) }
        try await ada.makeZone("Diary")
        await #expect(throws: ServerError.self) { try await modify(scope.request(isNewKey: true)) }
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        let first = scope.newest.bytes
        try await modify(scope.request(isNewKey: true))
        // Sent again after a lost answer.
        try await modify(scope.request(isNewKey: true))
        let early = KeysScopesModifyRequest(zoneID: ZoneID(zoneName: "Diary"), manifest: try scope.next { $0.stamp = 1 << 52 }.bytes)
        await #expect(throws: ServerError.scopeManifestFromTheFuture) { try await modify(early) }
        try scope.goOn(isRotated: true)
        let request = try scope.request(isNewKey: true)
        try await modify(request)
        let expected = KeysScopesListResponse(manifests: [request.manifest, first], wraps: request.wraps, olderKeys: request.olderKey.map { [$0] })
        #expect(try await list() == expected)
        #expect(try await list(before: 1) == KeysScopesListResponse(manifests: [first]))
        try await ada.deleteZone("Diary")
        try await ada.makeZone("Diary")
        #expect(try await list() == KeysScopesListResponse(manifests: []))
        try await test.runAllTasks()
        let database = try await test.cloud.database(ada.target, for: .read, by: ada.caller).id
        let left = try await test.store.read { transaction in
            try ScopeEntries.kinds.flatMap { try transaction.entries(in: database, $0, after: nil, limit: 10) }.count
        }
        #expect(left == 0)
    }

    @Test(arguments: Engine.embedded)
    func `the default zone has a scope before anything was saved in it, and its records come into the same zone`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ada = test.user("_ada")
        func list() async throws -> KeysScopesListResponse {
            try await ada.cloud.listScope(KeysScopesListRequest(zoneID: .defaultZone), in: ada.target, by: ada.caller)
        }
        #expect(try await list() == KeysScopesListResponse(manifests: []))
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        let request = try SampleScope(keys, zone: ZoneID.defaultZoneName).request(isNewKey: true)
        await #expect(throws: ServerError.noKeys) { try await ada.cloud.modifyScope(request, in: ada.target, by: ada.caller) }
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        for _ in 0..<2 { _ = try await ada.cloud.modifyScope(request, in: ada.target, by: ada.caller) }
        try await ada.modify([.create("note")])
        #expect(try await ada.lookup(["note"]).first?.record != nil)
        #expect(try await list().manifests == [request.manifest])
    }

    @Test(arguments: Engine.embedded)
    func `an encrypted value is saved under the newest version of its zone's key, and what was sealed before stays`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ada = test.user("_ada")
        func save(_ name: String, under key: KeyID, zone: String = "Diary") async throws -> ServerError? {
            try await ada.modify([.sealing(name, under: key)], zone: zone).first?.error
        }
        var scope = try SampleScope(SampleKeyring("_ada", container: TestCloud.container), zone: "Diary")
        let first = try #require(scope.newest.parts.keyID)
        try await ada.makeZone("Diary", "Work")
        _ = try await ada.cloud.appendKeyStatement(scope.keys.request(), in: ada.target, by: ada.caller)
        #expect(try await save("early", under: first) == .keyIsNotNewest("secret"), "the zone has no scope")
        #expect(try await save("early", under: first, zone: ZoneID.defaultZoneName) == .keyIsNotNewest("secret"), "it has no record either")
        _ = try await ada.cloud.modifyScope(scope.request(isNewKey: true), in: ada.target, by: ada.caller)
        #expect(try await save("a", under: first) == nil)
        try scope.goOn(isRotated: true)
        _ = try await ada.cloud.modifyScope(scope.request(isNewKey: true), in: ada.target, by: ada.caller)
        #expect(try await save("b", under: first) == .keyIsNotNewest("secret"))
        #expect(try await save("b", under: #require(scope.newest.parts.keyID)) == nil)
        #expect(try await save("c", under: first, zone: "Work") == .keyIsNotNewest("secret"), "another zone has another scope")
        #expect(try await ada.modify([.update("a", ["n": .int64(1)])], zone: "Diary").first?.error == nil)
    }
}

extension ScopeKeyTests {
    @Test func `a record is sealed for the scope of the share that shows it, and for its zone where none with keys does`() throws {
        let zone = try SampleScope(SampleKeyring("_ada", container: TestCloud.container), zone: "Diary").newest
        let (share, other) = (try ScopeID.sample(1), try ScopeID.sample(2))
        var scopes = SaveScopes(zone: zone)
        scopes.ofViews = [FeedView(rawValue: 5): share, FeedView(rawValue: 6): nil]
        func fault(_ scope: ScopeID, _ view: Int64?) -> ServerError? { scopes.fault(sealing: scope, in: view.map(FeedView.init(rawValue:))) }
        #expect(fault(share, 5) == nil && fault(zone.parts.scope, 6) == nil && fault(zone.parts.scope, nil) == nil)
        for (scope, view) in [(zone.parts.scope, 5), (other, 5), (share, 6), (share, nil), (other, nil)] as [(ScopeID, Int64?)] {
            #expect(fault(scope, view)?.reason == ServerError.otherScopeReason)
        }
    }

    @Test func `the first manifest of a share's scope names the share by its ID, and those that follow need no name`() throws {
        let ada = try SampleKeyring("_ada", container: TestCloud.container)
        let place = try #require(Place(owner: ada.account, zone: "Diary"))
        let id = try #require(try ScopeID(ofShare: "share", root: "list", at: place, random: [1, 2, 3, 4, 5, 6, 7, 8]))
        let zone = try SampleScope(ada, zone: "Diary").newest
        var parts = zone.parts
        (parts.scope, parts.root) = (id, "list")
        let first = try ScopeManifest(parts: parts, signer: ada.log.fingerprint, device: ada.first.id, sign: ada.first.sign)
        func isRefused(_ manifest: ScopeManifest, _ share: String?, over last: ScopeManifest? = nil) -> Bool {
            ScopeAddition(manifest: manifest, share: share).fault(over: last, at: place, by: ada.log) == .otherSharesManifest
        }
        #expect(!isRefused(first, "share") && isRefused(first, "other") && isRefused(first, nil))
        #expect(!isRefused(zone, nil) && isRefused(zone, "share"))
        #expect(!isRefused(first, nil, over: first))
        func fault(_ links: [LinkRow]?) -> ServerError? { ScopeAddition(manifest: first, links: links).fault(over: first, at: place, by: ada.log) }
        #expect(fault([]) == fault(nil) && fault([]) != .sharedByLink, "no links are no fault")
    }
}

extension ScopeID {
    fileprivate static func sample(_ byte: UInt8) throws -> ScopeID { try #require(ScopeID([UInt8](repeating: byte, count: length))) }
}

extension RecordOperation {
    /// Returns the creation of a record with the encrypted field `secret` and its manifest.
    static func sealing(_ name: String, under key: KeyID) throws -> RecordOperation {
        let writer = try #require(DeviceID([UInt8](repeating: 5, count: DeviceID.length)))
        let parts = RecordManifest.Parts(
            keyID: key, number: 0, stamp: 1, writer: writer, parent: "", fields: [.init(name: "secret", hash: Digest(of: [1]))], files: [])
        var operation = RecordOperation.create(
            name, ["secret": .sealed(NacreCloudWire.SealedValue(type: .string, keyID: key.text, bytes: [1]))])
        let signature = try #require(Signature(Signature.zeros))
        operation.change.manifest = RecordChange.Manifest(bytes: RecordManifest(parts: try #require(parts), code: .none) { _ in signature }.bytes)
        return operation
    }
}
