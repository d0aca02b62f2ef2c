import NacreCrypto
import NacreEncryptionForms
import Testing

struct ScopeChainTests {
    @Test func `a chain says who takes part and which keys count`() throws {
        let grace = try SampleAccount("_grace")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace, .readOnly)).rotated()))
        let parts = try scope.chain().newest.parts
        #expect(parts.participants.map(\.user) == ["_ada", "_grace"] && parts.isShared)
        #expect(parts.permission(of: grace.fingerprint) == .readOnly && parts.permission(of: sampleDigest("?")) == .none)
        #expect(parts.keyProof(of: 1) == sampleDigest("key 1") && parts.keyProof(of: 2) == sampleDigest("key 2") && parts.keyProof(of: 3) == nil)
        var later = scope.next
        (later.oldest, later.keyProofs) = (2, [sampleDigest("key 2")])
        #expect(try scope.chain(with: scope.signed(later)).newest.parts.keyProof(of: 1) == nil)
    }

    @Test func `A3: a participant whom the server adds or raises is not in the signed list`() throws {
        let (grace, eve, server) = (try SampleAccount("_grace"), try SampleAccount("_eve"), try SampleKeys("server"))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace, .readOnly))))
        let device = try scope.owner.first.id
        let forged = try ScopeManifest(
            parts: scope.next.with(SampleScope.participant(eve)), signer: scope.owner.fingerprint, device: device, sign: server.sign)
        #expect(throws: ScopeFault.unknownSigner(device: device, number: 2)) { try scope.chain(with: forged) }
        let byParticipant = try scope.signed(scope.next.with(SampleScope.participant(eve)), by: grace)
        #expect(throws: ScopeFault.mayNotSign(account: grace.fingerprint, number: 2)) { try scope.chain(with: byParticipant, grace) }
        let newest = try scope.chain().newest
        #expect(throws: ScopeFault.noParticipant("_eve")) { try newest.recipient(named: "_eve", log: eve.log) }
        #expect(throws: ScopeFault.mayNotWrite(device: try grace.first.id)) {
            try scope.chain().check(
                SampleForm.recordManifest(#require(newest.parts.keyID), by: grace.first, number: 1), of: SampleSealing.record(), kept: nil,
                writers: grace.log)
        }
    }

    @Test func `A2: another key for a participant is told with both fingerprints, and nothing is wrapped`() throws {
        var grace = try SampleAccount("_grace")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        let early = grace
        try grace.say(grace.adding(SampleKeys("phone")))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
        let newest = try scope.chain().newest
        #expect(try newest.recipient(named: "_grace", log: grace.log).fingerprint == grace.fingerprint)
        let swapped = try SampleAccount("_grace", keys: "_mallory")
        let fault = ScopeFault.otherFingerprint(user: "_grace", kept: grace.fingerprint, shown: swapped.fingerprint)
        #expect(throws: fault) { try newest.recipient(named: "_grace", log: swapped.log) }
        #expect("\(fault)".contains("\(grace.fingerprint)") && "\(fault)".contains("\(swapped.fingerprint)"))
        // The server shows an older log than the signer of the list has seen.
        #expect(throws: ScopeFault.otherHead(user: "_grace", signed: grace.head, shown: early.head)) {
            try newest.recipient(named: "_grace", log: early.log)
        }
    }

    @Test func `A19: a device that a participant removed has had the key, so that the scope needs a new one`() throws {
        var grace = try SampleAccount("_grace")
        let phone = try SampleKeys("phone")
        try grace.say(grace.adding(phone))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
        let newest = try scope.chain(with: nil, grace).newest
        try grace.say(grace.adding(SampleKeys("tablet")))
        #expect(try !newest.needsNewKey([grace.fingerprint: grace.log]) && !newest.needsNewKey([:]))
        try grace.say(grace.removing(phone, generation: 2))
        #expect(try newest.needsNewKey([grace.fingerprint: grace.log]) && grace.log.generation(at: 2) == 1)
    }

    @Test func `A27: a log that does not extend the one in the signed list is told, whoever is shown it`() throws {
        var grace = try SampleAccount("_grace")
        let early = grace
        try grace.say(grace.adding(SampleKeys("phone")))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
        #expect(try scope.chain(with: nil, grace).head.number == 1)
        #expect(throws: ScopeFault.otherHead(user: "_grace", signed: grace.head, shown: early.head)) { try scope.chain(with: nil, early) }
    }

    @Test func `an administrator of the manifest before may sign, and nobody becomes one by signing`() throws {
        let grace = try SampleAccount("_grace")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        let raised = try scope.signed(scope.next.with(SampleScope.participant(grace, .readWrite, .administrator)), by: grace)
        #expect(throws: ScopeFault.mayNotSign(account: grace.fingerprint, number: 1)) { try scope.chain(with: raised, grace) }
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace, .readWrite, .administrator))))
        scope.manifests.append(try scope.signed(scope.next.rotated(), by: grace))
        #expect(try scope.chain(with: nil, grace).head.number == 2)
        #expect(throws: ScopeFault.unknownLog(account: grace.fingerprint)) { try scope.chain() }
    }

    @Test func `A3: an administrator signs for other participants, and the owner alone for administrators and the end of older keys`() throws {
        let (grace, eve, ben, fay) = (try SampleAccount("_grace"), try SampleAccount("_eve"), try SampleAccount("_ben"), try SampleAccount("_fay"))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        let shared = scope.next.with(SampleScope.participant(grace, .readWrite, .administrator))
            .with(SampleScope.participant(eve, .readOnly, .administrator)).with(SampleScope.participant(ben))
        scope.manifests.append(try scope.signed(shared))
        let (eves, bens) = (
            try #require(shared.participants.firstIndex { $0.user == "_eve" }), try #require(shared.participants.firstIndex { $0.user == "_ben" })
        )
        let byBoth: [(inout ScopeManifest.Parts) -> Void] = [
            { $0 = $0.with(SampleScope.participant(fay)) }, { $0.participants.remove(at: bens) },
            { $0.participants[bens] = SampleScope.participant(ben, .readOnly) },
        ]
        for change in byBoth {
            var parts = scope.next.rotated()
            change(&parts)
            #expect(try scope.chain(with: scope.signed(parts, by: grace), grace, eve).head.number == 2)
        }
        let byOwner: [(inout ScopeManifest.Parts) -> Void] = [
            { $0 = $0.with(SampleScope.participant(fay, .readWrite, .administrator)) },
            { $0.participants[bens] = SampleScope.participant(ben, .readWrite, .administrator) }, { $0.participants.remove(at: eves) },
            { $0.participants[eves] = SampleScope.participant(eve, .readWrite, .administrator) },
            { $0.participants[eves] = SampleScope.participant(eve, .readOnly) }, { ($0.oldest, $0.keyProofs) = (2, [sampleDigest("key 2")]) },
        ]
        for change in byOwner {
            var parts = scope.next.rotated()
            change(&parts)
            #expect(throws: ScopeFault.mayNotSign(account: grace.fingerprint, number: 2)) {
                try scope.chain(with: scope.signed(parts, by: grace), grace, eve)
            }
            #expect(try scope.chain(with: scope.signed(parts), grace, eve).head.number == 2)
        }
    }

    @Test func `A12: a scope that is cut, forked or goes back is told from the one that was kept`() throws {
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        let before = try scope.chain()
        scope.manifests.append(try scope.signed(scope.next.rotated()))
        let kept = try scope.chain().head
        try scope.chain().check(kept: kept)
        #expect(throws: ScopeFault.truncated(kept: kept, shown: before.head)) { try before.check(kept: kept) }
        var fork = try SampleScope(owner: SampleAccount("_ada"))
        fork.manifests.append(try fork.signed(fork.next))
        #expect(throws: ScopeFault.forked(number: 1, kept: kept.hash, shown: try fork.chain().head.hash)) { try fork.chain().check(kept: kept) }
        let changes: [((inout ScopeManifest.Parts) -> Void, ScopeFault)] = [
            ({ $0.stamp -= 1 }, .rolledBack(number: 2)),
            ({ ($0.version, $0.keyProofs) = (1, [sampleDigest("key 1")]) }, .rolledBack(number: 2)),
            ({ $0.keyProofs[0] = sampleDigest("another") }, .otherKey(version: 1)),
            ({ $0.number += 1 }, .notNext(number: 3)),
            ({ $0.before = sampleDigest("another") }, .notNext(number: 2)),
            ({ $0.root = "another" }, .otherScope),
        ]
        for (change, fault) in changes {
            var parts = scope.next
            change(&parts)
            #expect(throws: fault) { try scope.chain(with: scope.signed(parts)) }
        }
    }

    @Test func `A19: a participant leaves only with a new key, and a save under the old one is refused`() throws {
        let grace = try SampleAccount("_grace")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
        var left = scope.next
        left.participants.removeLast()
        #expect(throws: ScopeFault.notRotated(number: 2)) { try scope.chain(with: scope.signed(left)) }
        scope.manifests.append(try scope.signed(left.rotated()))
        let parts = try scope.chain().newest.parts
        let (old, new) = (try #require(KeyID(scope: scope.id, version: 1)), try #require(parts.keyID))
        #expect(try SampleForm.recordManifest(old, by: nil).conflict(with: nil, base: nil, newest: parts.version) == .oldKey(newest: 2))
        #expect(try SampleForm.recordManifest(new, by: nil).conflict(with: nil, base: nil, newest: parts.version) == nil)
        // The pass that seals anew has ended: readers take the old version no more.
        var ended = scope.next
        (ended.oldest, ended.keyProofs) = (2, [sampleDigest("key 2")])
        let chain = try scope.chain(with: scope.signed(ended))
        #expect(throws: ScopeFault.oldKey(version: 1, oldest: 2, newest: 2)) {
            try chain.check(
                SampleForm.recordManifest(old, by: scope.owner.first), of: SampleSealing.record(), kept: nil, writers: scope.owner.log)
        }
    }

    @Test func `the newest manifest is signed by a device that is enrolled now, older ones by one that once was`() throws {
        var ada = try SampleAccount("_ada")
        let tablet = try SampleKeys("tablet")
        try ada.say(ada.adding(tablet))
        let first = try SampleScope(owner: ada)
        try ada.say(ada.removing(ada.first, generation: 2), by: tablet)
        var scope = try SampleScope(owner: ada)
        scope.manifests = first.manifests
        #expect(throws: ScopeFault.unknownSigner(device: try ada.first.id, number: 0)) { try scope.chain() }
        let anew = try scope.signed(scope.next, device: tablet)
        #expect(try scope.chain(with: anew).head.number == 1)
    }

    @Test func `a chain is taken for the zone and the root alone that the client asked for`() throws {
        let ada = try SampleAccount("_ada")
        let scope = try SampleScope(owner: ada, zone: "Caf\u{e9}", root: "trip")
        func chain(_ owner: AccountName, _ zone: String, _ root: String) throws -> ScopeChain {
            try ScopeChain(
                scope.manifests, of: #require(Place(owner: owner, zone: zone)), root: root, owner: ada.fingerprint,
                logs: [ada.fingerprint: ada.log])
        }
        #expect(try chain(ada.name, "Caf\u{e9}", "trip").head == scope.manifests[0].head)
        let others = [
            (ada.name, "Diary", "trip"), (ada.name, "Caf\u{e9}", ""), (ada.name, "Caf\u{e9}", "day"), (ada.name, "Cafe\u{301}", "trip"),
            (try SampleAccount("_eve").name, "Caf\u{e9}", "trip"), (try SampleAccount("_ada", container: "other").name, "Caf\u{e9}", "trip"),
            (try SampleAccount("_ada", environment: "production").name, "Caf\u{e9}", "trip"),
        ]
        for (owner, zone, root) in others { #expect(throws: ScopeFault.otherScope) { try chain(owner, zone, root) } }
    }

    @Test func `no key is sealed for an account of another container or environment, also if the signed list has it`() throws {
        for grace in [try SampleAccount("_grace", container: "iCloud.com.example.other"), try SampleAccount("_grace", environment: "production")] {
            var scope = try SampleScope(owner: SampleAccount("_ada"))
            scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
            let newest = try scope.chain().newest
            #expect(throws: ScopeFault.otherAccount(user: "_grace")) { try newest.recipient(named: "_grace", log: grace.log) }
            #expect(throws: ScopeFault.otherAccount(user: "_grace")) { try scope.chain(with: nil, grace) }
        }
        // The list gives the fingerprint of one user to the name of another.
        let eve = try SampleAccount("_eve")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        let renamed = ScopeManifest.Participant(
            user: "_grace", fingerprint: eve.fingerprint, head: eve.head, permission: .readOnly, role: .privateUser)
        scope.manifests.append(try scope.signed(scope.next.with(renamed)))
        let newest = try scope.chain().newest
        #expect(throws: ScopeFault.otherAccount(user: "_grace")) { try newest.recipient(named: "_grace", log: eve.log) }
    }

    @Test func `an administrator whose permission was taken signs no more`() throws {
        let grace = try SampleAccount("_grace")
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace, .readOnly, .administrator))))
        #expect(try scope.chain(with: scope.signed(scope.next, by: grace), grace).head.number == 2)
        var taken = scope.next.rotated()
        taken.participants[1] = SampleScope.participant(grace, .none, .administrator)
        scope.manifests.append(try scope.signed(taken))
        #expect(throws: ScopeFault.mayNotSign(account: grace.fingerprint, number: 3)) {
            try scope.chain(with: scope.signed(scope.next, by: grace), grace)
        }
    }

    @Test func `A19: a permission is taken away only with a new key, also while a link is open`() throws {
        let (grace, eve) = (try SampleAccount("_grace"), try SampleAccount("_eve"))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        var open = scope.next.with(SampleScope.participant(grace)).with(SampleScope.participant(eve, .readOnly, .publicUser))
        open.linkPermission = .readWrite
        scope.manifests.append(try scope.signed(open))
        let index = try #require(open.participants.firstIndex { $0.user == "_grace" })
        let less: [(inout ScopeManifest.Parts) -> Void] = [
            { $0.participants.removeAll { $0.user == "_grace" } }, { $0.participants.removeAll { $0.user == "_eve" } },
            { $0.participants[index] = SampleScope.participant(grace, .readOnly) },
            { $0.participants[index] = SampleScope.participant(grace, .none) },
            { $0.linkPermission = .readOnly }, { $0.linkPermission = .none },
        ]
        for change in less {
            var parts = scope.next
            change(&parts)
            #expect(throws: ScopeFault.notRotated(number: 2)) { try scope.chain(with: scope.signed(parts)) }
            #expect(try scope.chain(with: scope.signed(parts.rotated())).newest.parts.version == 2)
        }
        let same: [(inout ScopeManifest.Parts) -> Void] = [
            { $0.participants[index] = SampleScope.participant(grace, .readWrite, .administrator) },
            { $0.participants[index] = SampleScope.participant(grace, .readWrite, .publicUser) },
        ]
        for change in same {
            var parts = scope.next
            change(&parts)
            #expect(try scope.chain(with: scope.signed(parts)).newest.parts.version == 1)
        }
    }

    @Test func `A12: the head of a participant does not go back, so that a removed device stays removed`() throws {
        var grace = try SampleAccount("_grace")
        let early = SampleScope.participant(grace)
        try grace.say(grace.adding(SampleKeys("phone")))
        var scope = try SampleScope(owner: SampleAccount("_ada"))
        scope.manifests.append(try scope.signed(scope.next.with(SampleScope.participant(grace))))
        let other = ScopeManifest.Participant(
            user: "_grace", fingerprint: grace.fingerprint, head: ChainHead(number: 1, hash: sampleDigest("another")), permission: .readWrite,
            role: .privateUser)
        for participant in [early, other] {
            var parts = scope.next
            parts.participants[1] = participant
            #expect(throws: ScopeFault.rolledBack(number: 2)) { try scope.chain(with: scope.signed(parts)) }
        }
    }

    @Test func `the root of a share has no parent in its manifest, and other records have theirs`() throws {
        let ada = try SampleAccount("_ada")
        let (share, zone) = (try SampleScope(owner: ada, root: "trip"), try SampleScope(owner: ada))
        #expect(share.manifests[0].parts.boundParent(of: "trip", "year") == "")
        #expect(share.manifests[0].parts.boundParent(of: "day", "trip") == "trip")
        #expect(zone.manifests[0].parts.boundParent(of: "trip", "year") == "year" && zone.manifests[0].parts.boundParent(of: "trip", "") == "")
    }

    @Test func `a list without its owner, with two, or with one account twice is no manifest`() throws {
        let scope = try SampleScope(owner: SampleAccount("_ada"))
        let grace = try SampleAccount("_grace")
        let changes: [(inout ScopeManifest.Parts) -> Void] = [
            { $0.participants = [] }, { $0 = $0.with(SampleScope.participant(grace, .readWrite, .owner)) },
            { $0.participants = [SampleScope.participant(grace, .readWrite, .owner)] },
            { $0 = $0.with(.init(user: "_x", fingerprint: scope.owner.fingerprint, head: scope.owner.head, permission: .none, role: .privateUser)) },
            { $0.participants.append($0.participants[0]) }, { $0.keyProofs.append(sampleDigest("?")) }, { $0.oldest = 0 }, { $0.oldest = 2 },
            { $0.before = .none },
        ]
        for change in changes {
            var parts = scope.next
            change(&parts)
            #expect(throws: FormFault.self) { try scope.signed(parts) }
        }
    }
}

struct RecordManifestTests {
    private let keyID = Result { try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1)) }

    @Test func `A12: a save over another version than the one that was read is a conflict, and so is an older stamp`() throws {
        let stored = try SampleForm.recordManifest(keyID.get(), by: nil, stamp: 7)
        let (same, later) = (stored, try SampleForm.recordManifest(keyID.get(), by: nil, stamp: 8))
        let rows: [(RecordManifest?, Digest?, RecordManifest, RecordManifest.Conflict?)] = [
            (nil, nil, later, nil), (stored, stored.hash, later, nil), (stored, nil, later, nil),
            (stored, later.hash, later, .otherBase), (nil, stored.hash, later, .otherBase),
            (stored, stored.hash, same, .stampNotLater), (later, later.hash, stored, .stampNotLater),
            (stored, stored.hash, try SampleForm.recordManifest(keyID.get(), by: nil, number: 1, stamp: 8), nil),
            (try SampleForm.recordManifest(keyID.get(), by: nil, number: 1), nil, later, .olderScope),
        ]
        for (stored, base, new, expected) in rows { #expect(new.conflict(with: stored, base: base, newest: nil) == expected) }
    }

    @Test func `a manifest of another scope is a conflict, unless the record was admitted there since the stored one`() throws {
        let share = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada"), root: "trip").id, version: 1))
        let (writer, signature) = (try SampleKeys("x").id, try #require(Signature(Signature.zeros)))
        let stored = try SampleForm.recordManifest(keyID.get(), by: nil, number: 5)
        func moved(at stamp: UInt64?) throws -> RecordManifest {
            let admission = stamp.map { RecordManifest.Admission(number: 0, stamp: $0, device: writer, signature: signature) }
            return try SampleForm.recordManifest(share, by: nil, stamp: 9, admission: admission)
        }
        let rows: [(UInt64?, RecordManifest.Conflict?)] = [(nil, .notAdmitted), (7, .notAdmitted), (8, nil), (9, nil)]
        for (stamp, expected) in rows { #expect(try moved(at: stamp).conflict(with: stored, base: stored.hash, newest: nil) == expected) }
    }

    @Test func `the next stamp is the later of the clock and the last one, and there is a last of all`() {
        #expect(RecordManifest.nextStamp(now: 50, after: nil) == 50 && RecordManifest.nextStamp(now: 50, after: 49) == 50)
        #expect(RecordManifest.nextStamp(now: 50, after: 50) == 51 && RecordManifest.nextStamp(now: 50, after: 1_000) == 1_001)
        #expect(RecordManifest.nextStamp(now: 50, after: RecordManifest.stampMax) == nil)
    }
}

struct TreeHeadTests {
    private let server = Result { try SampleKeys("server") }

    private func head(_ tree: MerkleTree, by keys: SampleKeys, environment: String = "production") throws -> TreeHead {
        try #require(
            try TreeHead(container: "iCloud.com.example.notes", environment: environment, head: tree.head, stamp: 5, sign: keys.sign))
    }

    @Test func `A27: two signed heads of one size are kept as the proof of a fork, and a tree that was cut is refused`() throws {
        let keys = try server.get()
        let verifier = keys.signing.publicKey
        let entries = try ["_ada", "_grace", "_eve"].map {
            TreeOfLogs.entry(fingerprint: try SampleAccount($0).fingerprint, number: 0, hash: sampleDigest($0))
        }
        let (two, three) = (MerkleTree(entries.prefix(2)), MerkleTree(entries))
        let (small, large) = (try head(two, by: keys), try head(three, by: keys))
        let proof = try #require(three.consistencyProof(from: 2, to: 3))
        var kept = try KeptTreeHead(first: small, server: verifier)
        try kept.take(large, proof: proof, server: verifier)
        #expect(kept.head == large)
        // An older head is no fault where it is proved.
        try kept.take(small, proof: proof, server: verifier)
        #expect(kept.head == large)
        let other = try head(MerkleTree(entries.reversed()), by: keys)
        let fork = TreeFault.forked(large, other)
        #expect(throws: fork) { try kept.take(other, proof: [], server: verifier) }
        #expect("\(fork)".contains(Hex.encode(large.bytes)) && "\(fork)".contains(Hex.encode(other.bytes)))
        #expect(throws: TreeFault.notProved) { try kept.take(head(MerkleTree(entries.suffix(2)), by: keys), proof: proof, server: verifier) }
        let stranger = try SampleKeys("stranger")
        #expect(throws: TreeFault.notSigned) { try kept.take(head(three, by: stranger), proof: [], server: verifier) }
        #expect(throws: TreeFault.notSigned) { try kept.take(head(three, by: keys, environment: "x"), proof: [], server: verifier) }
        #expect(throws: TreeFault.notSigned) { try KeptTreeHead(first: large, server: stranger.signing.publicKey) }
        #expect(kept.head == large)
    }
}
