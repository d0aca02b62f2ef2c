import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// Ada's zone with its own scope and that of a share, in which Grace may write.
private struct SampleShare {
    var ada: SampleAccount
    let grace: SampleAccount
    /// The zone's scope: Ada alone.
    var zone: SampleScope
    /// The share's: Ada alone in manifest 0, Grace beside her in manifest 1.
    var share: SampleScope

    init(_ ada: SampleAccount? = nil) throws {
        let ada = try ada ?? SampleAccount("_ada")
        (self.ada, grace) = (ada, try SampleAccount("_grace"))
        (zone, share) = (try SampleScope(owner: ada), try SampleScope(owner: ada, root: "trip"))
        share.manifests.append(try share.signed(share.next.with(SampleScope.participant(grace))))
    }

    /// Adds the manifest with which Grace leaves, and a new key comes.
    mutating func removeGrace() throws {
        var parts = share.next.rotated()
        parts.participants.removeLast()
        share.manifests.append(try share.signed(parts))
    }

    /// Adds the manifest that follows the pass which has sealed anew.
    mutating func endPass() throws {
        var parts = share.next
        (parts.oldest, parts.keyProofs) = (parts.version, parts.keyProofs.suffix(1))
        share.manifests.append(try share.signed(parts))
    }

    /// Returns a record's manifest in the zone's scope, by Ada's first device.
    func inZone(stamp: UInt64) throws -> RecordManifest {
        try SampleForm.recordManifest(#require(KeyID(scope: zone.id, version: 1)), by: ada.first, stamp: stamp)
    }

    /// Returns a record's manifest in the share's scope.
    func inShare(
        by writer: SampleKeys, _ number: UInt64 = 1, stamp: UInt64, version: UInt32? = nil, _ admission: RecordManifest.Admission? = nil
    ) throws -> RecordManifest {
        let version = version ?? share.manifests[min(Int(number), share.manifests.count - 1)].parts.version
        return try SampleForm.recordManifest(
            #require(KeyID(scope: share.id, version: version)), by: writer, number: number, stamp: stamp, admission: admission)
    }

    /// Returns an admission of the sample record into the share's scope.
    func admission(
        by device: SampleKeys, _ number: UInt64 = 1, stamp: UInt64, of record: RecordPlace? = nil, to scope: ScopeID? = nil
    ) throws -> RecordManifest.Admission {
        let signed = try RecordManifest.Admission.signedBytes(
            of: try record ?? SampleSealing.record(), to: scope ?? share.id, number: number, stamp: stamp)
        return RecordManifest.Admission(number: number, stamp: stamp, device: try device.id, signature: try device.sign(signed))
    }

    /// Checks a manifest in the share's scope.
    func check(_ manifest: RecordManifest, kept: RecordManifest? = nil, writers: SampleAccount) throws {
        try share.chain(with: nil, grace).check(manifest, of: SampleSealing.record(), kept: kept?.version, writers: writers.log)
    }
}

/// Tests of who may write a record in a scope, and in which order its versions follow.
struct ScopeRecordTests {
    @Test func `a record is taken from a device of an account that may write, and from no other`() throws {
        let (sample, eve) = (try SampleShare(), try SampleAccount("_eve"))
        try sample.check(sample.inShare(by: sample.grace.first, stamp: 7), writers: sample.grace)
        let wrong = [
            (try sample.inShare(by: eve.first, stamp: 7), eve), (try sample.inShare(by: eve.first, stamp: 7), sample.grace),
            (try sample.inShare(by: sample.grace.first, 0, stamp: 7), sample.grace),
        ]
        for (record, writers) in wrong {
            #expect(throws: ScopeFault.mayNotWrite(device: record.parts.writer)) { try sample.check(record, writers: writers) }
        }
        let record = try sample.inShare(by: sample.grace.first, stamp: 7)
        let forged = try RecordManifest(parts: record.parts, code: record.code, sign: eve.first.sign)
        #expect(throws: ScopeFault.mayNotWrite(device: record.parts.writer)) { try sample.check(forged, writers: sample.grace) }
        #expect(throws: ScopeFault.mayNotWrite(device: record.parts.writer)) {
            try sample.share.chain().check(record, of: SampleSealing.record(), kept: nil, writers: nil)
        }
        #expect(throws: ScopeFault.otherScope) {
            try sample.share.chain().check(record, of: SampleSealing.record(zone: "Other"), kept: nil, writers: sample.grace.log)
        }
    }

    @Test func `a writer by the link is of the zone's container and environment`() throws {
        var sample = try SampleShare()
        var open = sample.share.next
        open.linkPermission = .readWrite
        sample.share.manifests.append(try sample.share.signed(open))
        let eve = try SampleAccount("_eve")
        try sample.check(sample.inShare(by: eve.first, 2, stamp: 7), writers: eve)
        let other = try SampleAccount("_eve", environment: "production")
        #expect(throws: ScopeFault.otherAccount(user: "_eve")) {
            try sample.check(sample.inShare(by: other.first, 2, stamp: 7), writers: other)
        }
    }

    @Test func `records from before a zone was shared count, and a participant cannot write what looks as old`() throws {
        let sample = try SampleShare()
        try sample.check(sample.inShare(by: sample.ada.first, 0, stamp: 7), writers: sample.ada)
        let forged = try sample.inShare(by: sample.grace.first, 0, stamp: 8)
        #expect(throws: ScopeFault.mayNotWrite(device: forged.parts.writer)) { try sample.check(forged, writers: sample.grace) }
    }

    @Test func `records of a participant who left count, and later ones are refused`() throws {
        var sample = try SampleShare()
        let old = try sample.inShare(by: sample.grace.first, stamp: 7)
        try sample.removeGrace()
        try sample.check(old, writers: sample.grace)
        let late = try sample.inShare(by: sample.grace.first, 2, stamp: 8)
        #expect(throws: ScopeFault.mayNotWrite(device: late.parts.writer)) { try sample.check(late, writers: sample.grace) }
    }

    @Test func `a participant who left forges no more than what looks older, and nothing after the pass that seals anew`() throws {
        var sample = try SampleShare()
        try sample.removeGrace()
        let forged = try sample.inShare(by: sample.grace.first, stamp: 1_000_000)
        let true2 = try sample.inShare(by: sample.ada.first, 2, stamp: 7)
        // A client that has seen nothing of the record takes it, as docs/encryption.md says.
        try sample.check(forged, writers: sample.grace)
        #expect(throws: RecordManifest.Rollback.older(kept: true2.version, shown: forged.version)) {
            try sample.check(forged, kept: true2, writers: sample.grace)
        }
        // The new key does not make the old number count, nor the old key the new number.
        for (number, version) in [(UInt64(1), UInt32(2)), (2, 1)] {
            let mixed = try sample.inShare(by: sample.ada.first, number, stamp: 8, version: version)
            let right = UInt32(number)
            #expect(throws: ScopeFault.oldKey(version: version, oldest: right, newest: right)) { try sample.check(mixed, writers: sample.ada) }
        }
        try sample.endPass()
        #expect(throws: ScopeFault.oldKey(version: 1, oldest: 2, newest: 2)) { try sample.check(forged, writers: sample.grace) }
        try sample.check(true2, writers: sample.ada)
    }

    @Test func `a device that was removed writes no more once a manifest has seen it, and what it wrote before counts`() throws {
        var ada = try SampleAccount("_ada")
        let phone = try SampleKeys("phone")
        try ada.say(ada.adding(phone))
        var sample = try SampleShare(ada)
        let before = ada
        try ada.say(ada.removing(phone, generation: 2))
        var parts = sample.share.next.rotated()
        parts.participants[0] = SampleScope.participant(ada, .readWrite, .owner)
        sample.share.manifests.append(try sample.share.signed(parts))
        let record = try SampleSealing.record()
        let chain = try ScopeChain(
            sample.share.manifests, of: sample.share.place, root: "trip", owner: ada.fingerprint, logs: [ada.fingerprint: ada.log])
        try chain.check(sample.inShare(by: phone, stamp: 7), of: record, kept: nil, writers: ada.log)
        #expect(throws: ScopeFault.mayNotWrite(device: try phone.id)) {
            try chain.check(sample.inShare(by: phone, 2, stamp: 7), of: record, kept: nil, writers: ada.log)
        }
        // The server shows the log from before the removal.
        #expect(throws: ScopeFault.otherHead(user: "_ada", signed: ada.head, shown: before.head)) {
            try chain.check(sample.inShare(by: phone, stamp: 7), of: record, kept: nil, writers: before.log)
        }
    }

    @Test func `a record that follows a manifest which the client has not seen waits for it`() throws {
        let sample = try SampleShare()
        #expect(throws: ScopeFault.unknownNumber(2)) { try sample.check(sample.inShare(by: sample.ada.first, 2, stamp: 7), writers: sample.ada) }
    }

    @Test func `A12: a record that goes back, or differs at one stamp, is told by a client that saw newer`() throws {
        let sample = try SampleShare()
        let (old, new) = (try sample.inShare(by: sample.ada.first, stamp: 7), try sample.inShare(by: sample.ada.first, stamp: 8))
        let other = try sample.inShare(by: sample.grace.first, stamp: 8)
        try sample.check(new, kept: old, writers: sample.ada)
        try sample.check(new, kept: new, writers: sample.ada)
        #expect(throws: RecordManifest.Rollback.older(kept: new.version, shown: old.version)) {
            try sample.check(old, kept: new, writers: sample.ada)
        }
        #expect(throws: RecordManifest.Rollback.forked(kept: new.version, shown: other.version)) {
            try sample.check(other, kept: new, writers: sample.grace)
        }
        let back = try sample.inShare(by: sample.ada.first, 0, stamp: 9)
        #expect(throws: RecordManifest.Rollback.older(kept: new.version, shown: back.version)) {
            try sample.check(back, kept: new, writers: sample.ada)
        }
    }

    @Test func `A15: a participant of one share cannot replace a record that is outside of it`() throws {
        var sample = try SampleShare()
        let kept = try sample.inZone(stamp: 7)
        let grace = sample.grace.first
        func refuse(_ admission: RecordManifest.Admission?) throws {
            let record = try sample.inShare(by: grace, stamp: 9, admission)
            #expect(throws: ScopeFault.mayNotMove(device: record.parts.writer)) { try sample.check(record, kept: kept, writers: sample.grace) }
        }
        try refuse(nil)
        try refuse(sample.admission(by: grace, stamp: 8))
        let device = try sample.ada.first.id
        let stolen = try sample.admission(by: grace, stamp: 8)
        try refuse(.init(number: 1, stamp: 8, device: device, signature: stolen.signature))
        // The owner's, of a time before the version that was seen, of another record, and for another scope.
        try refuse(sample.admission(by: sample.ada.first, stamp: 7))
        try refuse(sample.admission(by: sample.ada.first, stamp: 8, of: SampleSealing.record(name: "other")))
        try refuse(sample.admission(by: sample.ada.first, stamp: 8, to: sample.zone.id))
        // A true one counts, until the key of its time counts no more.
        let admitted = try sample.admission(by: sample.ada.first, stamp: 8)
        try sample.check(sample.inShare(by: grace, stamp: 9, admitted), kept: kept, writers: sample.grace)
        sample.share.manifests.append(try sample.share.signed(sample.share.next.rotated()))
        let later = try sample.inShare(by: grace, 2, stamp: 9, admitted)
        try sample.check(later, kept: kept, writers: sample.grace)
        try sample.endPass()
        #expect(throws: ScopeFault.mayNotMove(device: later.parts.writer)) { try sample.check(later, kept: kept, writers: sample.grace) }
    }

    @Test func `A15: a device that was removed moves no record once a manifest has seen it`() throws {
        var ada = try SampleAccount("_ada")
        let phone = try SampleKeys("phone")
        try ada.say(ada.adding(phone))
        try ada.say(ada.removing(phone, generation: 2))
        let sample = try SampleShare(ada)
        let record = try sample.inShare(by: sample.grace.first, stamp: 9, sample.admission(by: phone, stamp: 8))
        #expect(throws: ScopeFault.mayNotMove(device: record.parts.writer)) {
            try sample.check(record, kept: sample.inZone(stamp: 7), writers: sample.grace)
        }
    }

    @Test func `a record moves into a share and out of it by the owner's devices, also for clients that missed a move`() throws {
        let sample = try SampleShare()
        let (ada, grace, record) = (try sample.ada.first.device, try sample.grace.first.device, try SampleSealing.record())
        let first = try sample.inZone(stamp: 7)
        #expect(try ada.admission(of: record, to: sample.zone.id, number: 0, stamp: 7, after: nil, isOwner: true) == nil)
        #expect(try ada.admission(of: record, to: sample.zone.id, number: 0, stamp: 8, after: first, isOwner: true) == nil)
        let moved = try sample.inShare(
            by: sample.ada.first, stamp: 8, ada.admission(of: record, to: sample.share.id, number: 1, stamp: 8, after: first, isOwner: true))
        let edited = try sample.inShare(
            by: sample.grace.first, stamp: 9, grace.admission(of: record, to: sample.share.id, number: 1, stamp: 9, after: moved, isOwner: false))
        #expect(moved.parts.admission != nil && edited.parts.admission == moved.parts.admission)
        for kept in [first, moved] { try sample.check(edited, kept: kept, writers: sample.grace) }
        #expect(throws: ScopeFault.mayNotMove(device: grace.id)) {
            try grace.admission(of: record, to: sample.zone.id, number: 0, stamp: 10, after: edited, isOwner: false)
        }
        let admission = try ada.admission(of: record, to: sample.zone.id, number: 0, stamp: 10, after: edited, isOwner: true)
        let back = try SampleForm.recordManifest(
            #require(KeyID(scope: sample.zone.id, version: 1)), by: sample.ada.first, stamp: 10, admission: admission)
        for kept in [first, moved, edited] {
            try sample.zone.chain().check(back, of: record, kept: kept.version, writers: sample.ada.log)
        }
        // The admission of the first stay in the share does not bring the record back.
        let again = try sample.inShare(by: sample.grace.first, stamp: 11, moved.parts.admission)
        #expect(throws: ScopeFault.mayNotMove(device: grace.id)) { try sample.check(again, kept: back, writers: sample.grace) }
        // The owner's next save says it anew, under the newest key.
        let renewed = try ada.admission(of: record, to: sample.share.id, number: 1, stamp: 12, after: edited, isOwner: true)
        #expect(renewed?.stamp == 12)
    }
}

extension SampleKeys {
    /// The same keys, as the device has them.
    fileprivate var device: DeviceKeys {
        get throws { try DeviceKeys(signing: signing.seed, agreement: agreement.bytes) }
    }
}
