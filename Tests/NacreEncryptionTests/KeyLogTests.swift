import NacreCrypto
import NacreEncryptionForms
import Testing

struct KeyLogTests {
    private let phone = Result { try SampleKeys("phone") }
    private let stranger = Result { try SampleKeys("stranger") }

    @Test func `a log says which devices were enrolled when, and which account key is the current one`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        try ada.say(ada.adding(phone))
        try ada.say(ada.removing(ada.first, generation: 2), by: phone)
        let log = try ada.log
        #expect(log.fingerprint == ada.fingerprint && log.head == ada.head && log.account == ada.name)
        #expect(try Set(log.enrolled.keys) == [phone.id])
        #expect(try log.device(ada.first.id) == nil && log.device(ada.first.id, at: 1) != nil)
        #expect(try log.device(phone.id, at: 0) == nil && log.device(phone.id, at: 3) == nil)
        #expect(log.generation == 2)
        #expect(try log.accountKey == SampleAccount.accountKey(2, of: "_ada"))
    }

    @Test func `a log that was verified before is read without its signatures, and by all other rules`() throws {
        var ada = try SampleAccount("_ada")
        let phone = try phone.get()
        try ada.say(ada.adding(phone))
        try ada.say(ada.removing(phone, generation: 2))
        #expect(try KeyLog(verified: ada.statements) == ada.log)
        let reset = try SampleAccount.reset()
        let unsigned = try KeyStatement(number: 1, before: ada.statements[0].hash, action: reset, signer: ada.first.id) { _ in
            ada.statements[0].signature
        }
        #expect(try KeyLog(verified: [ada.statements[0], unsigned]).isReset)
        #expect(throws: KeyLogFault.notSigned(number: 1)) { try KeyLog([ada.statements[0], unsigned]) }
        #expect(throws: KeyLogFault.notNext(number: 2)) { try KeyLog(verified: [ada.statements[0], ada.statements[2]]) }
        #expect(throws: KeyLogFault.notABeginning) { try KeyLog(verified: []) }
        let stranger = try KeyStatement(number: 1, before: ada.statements[0].hash, action: reset, signer: phone.id, sign: phone.sign)
        #expect(throws: KeyLogFault.notSigned(number: 1)) { try KeyLog(verified: [ada.statements[0], stranger]) }
    }

    @Test func `A4: a device that the server adds is not in the log`() throws {
        let ada = try SampleAccount("_ada")
        let stranger = try stranger.get()
        let adding = try ada.adding(stranger)
        // Signed by itself, by a key that is not the signer's, and for the recovery key that it is not.
        let forged = [
            try ada.statement(adding, by: stranger),
            try KeyStatement(number: 1, before: ada.head.hash, action: adding, signer: ada.first.id, sign: stranger.sign),
            try KeyStatement(number: 1, before: ada.head.hash, action: adding, signer: nil, sign: stranger.sign),
        ]
        for statement in forged {
            var log = try ada.log
            #expect(throws: KeyLogFault.notSigned(number: 1)) { try log.append(statement) }
            #expect(try log == ada.log)
        }
    }

    @Test func `a device is added only as it agreed, to this log and here`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        let early = try ada.adding(phone)
        try ada.say(ada.renewing(SampleKeys("new recovery"), SampleAccount.accountKey(2, of: "_ada")))
        var log = try ada.log
        #expect(throws: KeyLogFault.notSigned(number: 2)) { try log.append(ada.statement(early)) }
        try ada.say(ada.adding(phone))
        try log.append(ada.statements[2])
        #expect(throws: KeyLogFault.knownDevice(try phone.id)) { try log.append(ada.statement(ada.adding(phone))) }
    }

    @Test func `a removed device signs nothing more, and does not come back`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        try ada.say(ada.adding(phone))
        try ada.say(ada.removing(phone, generation: 2))
        var log = try ada.log
        #expect(throws: KeyLogFault.notSigned(number: 3)) { try log.append(ada.statement(SampleAccount.reset(), by: phone)) }
        #expect(throws: KeyLogFault.knownDevice(try phone.id)) { try log.append(ada.statement(ada.adding(phone))) }
    }

    @Test func `a removal needs another device, one that is enrolled, and an account key that is new`() throws {
        let (phone, stranger) = (try phone.get(), try stranger.get())
        var ada = try SampleAccount("_ada")
        try ada.say(ada.adding(phone))
        var log = try ada.log
        #expect(throws: KeyLogFault.removesItself(try phone.id)) { try log.append(ada.statement(ada.removing(phone, generation: 2), by: phone)) }
        #expect(throws: KeyLogFault.unknownDevice(try stranger.id)) { try log.append(ada.statement(ada.removing(stranger, generation: 2))) }
        #expect(throws: KeyLogFault.oldAccountKey) { try log.append(ada.statement(ada.removing(phone, generation: 1))) }
        #expect(try log == ada.log)
    }

    @Test func `the recovery key signs in the place of a device, until there is a new one`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        try ada.say(ada.adding(phone), isRecovery: true)
        let next = try SampleKeys("new recovery")
        try ada.say(ada.renewing(next, SampleAccount.accountKey(2, of: "_ada")), by: phone)
        var log = try ada.log
        #expect(throws: KeyLogFault.notSigned(number: 3)) { try log.append(ada.statement(SampleAccount.reset(), isRecovery: true)) }
        let reset = try KeyStatement(number: 3, before: ada.head.hash, action: SampleAccount.reset(), signer: nil, sign: next.sign)
        try log.append(reset)
        #expect(log.isReset && log.enrolled.isEmpty)
        #expect(throws: KeyLogFault.afterReset) { try log.append(ada.statement(SampleAccount.reset())) }
    }

    @Test func `A8: a log that is cut, forked, reordered or of another account is told from the one that was kept`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        let before = ada
        try ada.say(ada.adding(phone))
        try ada.say(ada.removing(phone, generation: 2))
        let kept = ada.head
        try ada.log.check(fingerprint: ada.fingerprint, kept: kept)
        #expect(throws: KeyLogFault.truncated(kept: kept, shown: before.head)) {
            try before.log.check(fingerprint: ada.fingerprint, kept: kept)
        }
        var fork = before
        try fork.say(fork.adding(SampleKeys("tablet")))
        try fork.say(fork.renewing(phone, SampleAccount.accountKey(2, of: "_ada")))
        #expect(throws: KeyLogFault.forked(number: 2, kept: kept.hash, shown: fork.head.hash)) {
            try fork.log.check(fingerprint: ada.fingerprint, kept: kept)
        }
        #expect(throws: KeyLogFault.notNext(number: 2)) { try KeyLog([ada.statements[0], ada.statements[2], ada.statements[1]]) }
        #expect(throws: KeyLogFault.notNext(number: 2)) { try KeyLog(Array(ada.statements.prefix(2)) + [fork.statements[2]]) }
        #expect(throws: KeyLogFault.notABeginning) { try KeyLog(Array(ada.statements.dropFirst())) }
        let other = try SampleAccount("_ada", keys: "_mallory")
        #expect(throws: KeyLogFault.otherFingerprint(kept: ada.fingerprint, shown: other.fingerprint)) {
            try other.log.check(fingerprint: ada.fingerprint, kept: kept)
        }
    }

    @Test func `A8: a statement that an enrolled device signed with another number than the next is refused`() throws {
        let ada = try SampleAccount("_ada")
        for number in [0, 2, .max] as [UInt64] {
            let statement = try KeyStatement(
                number: number, before: ada.head.hash, action: SampleAccount.reset(), signer: ada.first.id, sign: ada.first.sign)
            var log = try ada.log
            #expect(throws: KeyLogFault.notNext(number: number)) { try log.append(statement) }
        }
    }

    @Test func `A23: a new beginning is taken only after a reset that the account signed`() throws {
        var ada = try SampleAccount("_ada")
        let kept = try ada.log
        let unasked = try SampleAccount("_ada", keys: "new keys").log
        #expect(throws: KeyLogFault.otherFingerprint(kept: kept.fingerprint, shown: unasked.fingerprint)) { try unasked.check(follows: kept) }
        try ada.say(SampleAccount.reset(for: "new keys"), isRecovery: true)
        let ended = try ada.log
        try SampleAccount("_ada", keys: "new keys", follows: ended.head.hash).log.check(follows: ended)
        #expect(throws: KeyLogFault.self) { try unasked.check(follows: ended) }
        #expect(throws: KeyLogFault.self) { try SampleAccount("_eve", keys: "new keys", follows: ended.head.hash).log.check(follows: ended) }
    }

    @Test func `A23: after a reset the device that it names begins the next log, and nobody else can`() throws {
        var ada = try SampleAccount("_ada")
        try ada.say(SampleAccount.reset(for: "new keys"))
        let ended = try ada.log
        for keys in ["_mallory", "_ada"] {
            let other = try SampleAccount("_ada", keys: keys, follows: ended.head.hash).log
            #expect(throws: KeyLogFault.otherFingerprint(kept: ended.fingerprint, shown: other.fingerprint)) { try other.check(follows: ended) }
        }
    }

    @Test func `an account that begins anew without a reset is taken only with the fingerprint that people compared`() throws {
        var ada = try SampleAccount("_ada")
        let early = try ada.log
        try ada.say(ada.adding(phone.get()))
        let kept = try ada.log
        let anew = try SampleAccount("_ada", keys: "new keys").log
        try anew.check(replaces: kept, compared: anew.fingerprint)
        #expect(throws: KeyLogFault.otherFingerprint(kept: kept.fingerprint, shown: anew.fingerprint)) {
            try anew.check(replaces: kept, compared: kept.fingerprint)
        }
        let eve = try SampleAccount("_eve").log
        #expect(throws: KeyLogFault.otherFingerprint(kept: eve.fingerprint, shown: eve.fingerprint)) {
            try eve.check(replaces: kept, compared: eve.fingerprint)
        }
        // The comparison is no leave to roll the kept log back.
        #expect(throws: KeyLogFault.truncated(kept: kept.head, shown: early.head)) { try early.check(replaces: kept, compared: kept.fingerprint) }
    }

    @Test func `a first statement is signed by the device that it names, with a key that is one`() throws {
        let ada = try SampleAccount("_ada")
        guard case .begin(let beginning, let consent) = ada.statements[0].action else { throw KeyLogFault.notABeginning }
        let stranger = try stranger.get()
        let forged = try KeyStatement(number: 0, before: .none, action: .begin(beginning, consent), signer: ada.first.id, sign: stranger.sign)
        #expect(throws: KeyLogFault.notSigned(number: 0)) { try KeyLog(first: forged) }
        let point = try #require(KeyBytes([1] + [UInt8](repeating: 0, count: 31)))
        let small = KeyStatement.Beginning(
            account: ada.name, device: PublicKeys(signing: point, agreement: point), recovery: beginning.recovery, accountKey: beginning.accountKey)
        let statement = try KeyStatement(
            number: 0, before: .none, action: .begin(small, consent), signer: DeviceID(of: small.device), sign: stranger.sign)
        #expect(throws: KeyLogFault.malformedKey) { try KeyLog(first: statement) }
    }

    @Test func `A4: a recovery key is in no log that the holder of its words has not signed, with the same device, log and account key`() throws {
        let ada = try SampleAccount("_ada")
        let (stranger, phone) = (try stranger.get(), try phone.get())
        guard case .begin(let right, let consent) = ada.statements[0].action else { throw KeyLogFault.notABeginning }
        // The account that a server begins for words that it does not have, with the signature of the true one or its
        // own.
        let theirs = KeyStatement.Beginning(
            account: ada.name, device: try stranger.publicKeys, recovery: right.recovery, accountKey: right.accountKey)
        for consent in [consent, try stranger.sign(KeyStatement.consent(to: theirs))] {
            let forged = try KeyStatement(number: 0, before: .none, action: .begin(theirs, consent), signer: stranger.id, sign: stranger.sign)
            #expect(throws: KeyLogFault.notSigned(number: 0)) { try KeyLog(first: forged) }
        }
        // A new recovery key has signed for another log, and for another account key.
        var other = ada
        try other.say(other.adding(phone))
        let (two, three) = (try SampleAccount.accountKey(2, of: "_ada"), try SampleAccount.accountKey(3, of: "_ada"))
        let next = try SampleKeys("new recovery")
        guard case .newRecovery(let keys, _, let signature) = try ada.renewing(next, two) else { throw KeyLogFault.notABeginning }
        let forged: [KeyStatement.Action] = [try other.renewing(next, two), .newRecovery(keys, nextAccountKey: three, signature)]
        for action in forged {
            var log = try ada.log
            #expect(throws: KeyLogFault.notSigned(number: 1)) { try log.append(ada.statement(action)) }
            #expect(try log == ada.log)
        }
    }

    @Test(arguments: [0, 1] as [UInt8])
    func `a key of small order, for which everybody can open, enters no log`(coordinate: UInt8) throws {
        let point = try #require(KeyBytes([coordinate] + [UInt8](repeating: 0, count: 31)))
        func small(_ keys: PublicKeys) -> PublicKeys { PublicKeys(signing: keys.signing, agreement: point) }
        let (phone, tablet) = (try phone.get(), try SampleKeys("tablet"))
        var ada = try SampleAccount("_ada")
        guard case .begin(let right, _) = ada.statements[0].action else { throw KeyLogFault.notABeginning }
        let beginnings = [
            (small(right.device), right.recovery, right.accountKey), (right.device, small(right.recovery), right.accountKey),
            (right.device, right.recovery, point),
        ]
        for (device, recovery, accountKey) in beginnings {
            let beginning = KeyStatement.Beginning(account: ada.name, device: device, recovery: recovery, accountKey: accountKey)
            let consent = try ada.recovery.sign(KeyStatement.consent(to: beginning))
            let statement = try KeyStatement(
                number: 0, before: .none, action: .begin(beginning, consent), signer: DeviceID(of: device), sign: ada.first.sign)
            #expect(throws: KeyLogFault.malformedKey) { try KeyLog(first: statement) }
        }
        try ada.say(ada.adding(phone))
        let keys = small(try tablet.publicKeys)
        let actions: [KeyStatement.Action] = [
            .addDevice(keys, try tablet.sign(KeyStatement.enrolment(of: keys, after: ada.head.hash))),
            .removeDevice(try phone.id, nextAccountKey: point), try ada.renewing(tablet, point),
            .newRecovery(keys, nextAccountKey: try SampleAccount.accountKey(2, of: "_ada"), ada.statements[1].signature), .reset(next: keys),
        ]
        for action in actions {
            var log = try ada.log
            #expect(throws: KeyLogFault.malformedKey) { try log.append(ada.statement(action)) }
            #expect(try log == ada.log)
        }
    }

    @Test func `a full log still takes removals and a reset, and nothing else`() throws {
        let phone = try phone.get()
        var ada = try SampleAccount("_ada")
        try ada.say(ada.adding(phone))
        let recovery = try SampleKeys("new recovery")
        for generation in 2..<KeyLog.statementsMax {
            try ada.say(ada.renewing(recovery, SampleAccount.accountKey(generation, of: "_ada")))
        }
        var log = try KeyLog(verified: ada.statements)
        #expect(log.head.number + 1 == UInt64(KeyLog.statementsMax))
        let next = try SampleAccount.accountKey(KeyLog.statementsMax, of: "_ada")
        #expect(throws: KeyLogFault.tooLong) { try log.append(ada.statement(ada.adding(SampleKeys("tablet")))) }
        #expect(throws: KeyLogFault.tooLong) { try log.append(ada.statement(ada.renewing(recovery, next))) }
        try ada.say(.removeDevice(phone.id, nextAccountKey: next))
        try log.append(ada.statements[KeyLog.statementsMax])
        #expect(try log.device(phone.id) == nil && log.accountKey == next)
        try log.append(ada.statement(SampleAccount.reset()))
        #expect(log.isReset)
    }

    @Test func `a log has at most as many devices as it may`() throws {
        var ada = try SampleAccount("_ada")
        var log = try ada.log
        for number in 1..<KeyLog.devicesMax {
            try ada.say(ada.adding(SampleKeys("device \(number)")))
            try log.append(ada.statements[number])
        }
        #expect(log.enrolled.count == KeyLog.devicesMax)
        #expect(throws: KeyLogFault.tooLong) { try log.append(ada.statement(ada.adding(SampleKeys("one more")))) }
    }
}

struct KeyWrapTests {
    private func wrap(
        _ subject: KeyWrap.Subject, for recipient: Digest, generation: UInt32 = 1, sender: DeviceID, by keys: SampleKeys
    ) throws -> KeyWrap {
        try #require(
            try KeyWrap(
                subject: subject, recipient: recipient, generation: generation, sender: sender, sealed: [UInt8](repeating: 1, count: 80),
                sign: keys.sign))
    }

    @Test func `A1: a key that no enrolled device signed is refused, and the error names device and key`() throws {
        var ada = try SampleAccount("_ada")
        let (server, phone) = (try SampleKeys("server"), try SampleKeys("phone"))
        let subject = KeyWrap.Subject.scopeKey(try #require(KeyID(scope: SampleScope(owner: ada).id, version: 1)))
        let log = try ada.log
        #expect(try wrap(subject, for: ada.fingerprint, sender: ada.first.id, by: ada.first).fault(senders: log, recipients: log) == nil)
        let unknown = try wrap(subject, for: ada.fingerprint, sender: server.id, by: server)
        let fault = try #require(unknown.fault(senders: log, recipients: log))
        #expect(fault == .unknownSender(device: try server.id, key: subject))
        #expect(try "\(fault)".contains("\(server.id)") && "\(fault)".contains("\(SampleScope(owner: ada).id)"))
        let inAnothersName = try wrap(subject, for: ada.fingerprint, sender: ada.first.id, by: server)
        #expect(inAnothersName.fault(senders: log, recipients: log) == .unknownSender(device: try ada.first.id, key: subject))
        try ada.say(ada.adding(phone))
        let removed = try wrap(subject, for: ada.fingerprint, sender: phone.id, by: phone)
        #expect(removed.fault(senders: try ada.log, recipients: log) == nil)
        try ada.say(ada.removing(phone, generation: 2))
        #expect(removed.fault(senders: try ada.log, recipients: log) == .unknownSender(device: try phone.id, key: subject))
    }

    @Test func `A5: a key for another account, or for a generation that does not exist, is refused`() throws {
        let (ada, grace) = (try SampleAccount("_ada"), try SampleAccount("_grace"))
        let (log, other) = (try ada.log, try grace.log)
        let subject = KeyWrap.Subject.scopeKey(try #require(KeyID(scope: SampleScope(owner: ada).id, version: 1)))
        let wrap = try wrap(subject, for: ada.fingerprint, generation: 2, sender: ada.first.id, by: ada.first)
        #expect(wrap.fault(senders: log, recipients: other) == .otherRecipient(kept: grace.fingerprint, named: ada.fingerprint))
        #expect(wrap.fault(senders: log, recipients: log) == .unknownGeneration(2))
    }
}
