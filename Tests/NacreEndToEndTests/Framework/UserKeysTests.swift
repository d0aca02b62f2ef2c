import Foundation
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of how a device gets, loses and resets an account's keys, over two stores of keys and a server in its own
/// process.
@Suite(.timeLimit(.minutes(5))) struct UserKeysTests {
    private func expectNoKeys(_ process: KeyProcess, _ zone: CKRecordZone.ID = Device.zoneID) async throws {
        let error = try #require(await #expect(throws: CKError.self) { try await process.toSave(zone) })
        #expect(error.code == .accountTemporarilyUnavailable)
    }

    /// Returns the error of an attempt that the framework refuses.
    private func refusal(_ attempt: () async throws -> Void) async throws -> String {
        try #require(await #expect(throws: CKError.self) { try await attempt() }).localizedDescription
    }

    // MARK: Enrolment

    @Test func `a device that another one approves opens what that one has sealed, and both see one account`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            #expect(try await phone.keys().status().keys == .none)
            let sealed = try await phone.toSave()
            #expect(try await tablet.keys().status().keys == .elsewhere)
            try await tablet.join(by: phone)
            #expect(try await process("tablet").toOpen()?.newest.proof == sealed.newest.proof)
            #expect(try await process("tablet").toSave().newest.proof == sealed.newest.proof)
            let (one, two) = (try await phone.keys(), try await tablet.keys())
            let status = try await two.status()
            #expect(status.keys == .here && status.devices == 2 && status.generation == 1 && status.zones == ["Notes"] && !status.hasUnseenWords)
            let (first, second) = (try await one.fingerprint(), try await two.fingerprint())
            #expect(first.fingerprint == second.fingerprint && first.head == second.head && first.statement == 1 && second.isEnrolled)
            let devices = try await two.devices()
            #expect(devices.map(\.statement) == [0, 1] && devices.map(\.isThis) == [false, true])
            #expect(try await one.devices().map(\.isThis) == [true, false])
            #expect(try await one.waiting().isEmpty)
            #expect(
                try await refusal {
                    try await two.enrol { _ in
                    } compare: {
                        $0
                    }
                }.contains("has the account's keys"))
        }
    }

    @Test func `A7: a wrong code ends the enrolment on both devices, nothing is appended, and another try has another code`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            _ = try await phone.toSave()
            let (joined, added) = try await tablet.enrol(by: phone) { code in String(code.dropLast()) + (code.hasSuffix("0") ? "1" : "0") }
            #expect(throws: EnrolmentFault.otherCode) { try joined.get() }
            #expect(throws: EnrolmentFault.otherCode) { try added.get() }
            #expect(try await phone.keys().fingerprint().statement == 0)
            #expect(try await phone.keys().waiting().isEmpty)
            try await expectNoKeys(try process("tablet"))
            let kept = try await tablet.line.keyStore.keys(of: try await tablet.keys().exchange.account)
            #expect(kept.device == nil && kept.own == nil)
            try await tablet.join(by: phone)
        }
    }

    @Test func `A5, A6: an answer by somebody without keys is joined by no device, whatever code is typed`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet, thief) = (try process("phone"), try process("tablet"), try process("thief"))
            _ = try await phone.toSave()
            let keys = try await thief.keys()
            #expect(try await refusal { _ = try await keys.waiting() }.contains("no keys"))
            let exchange = keys.exchange
            var random = SystemRandomBytes()
            let device = try DeviceKeys(using: &random)
            let name = exchange.account.name
            let (_, log, _) = try device.begin(name, recovery: RecoveryKey(of: name, using: &random), using: &random)
            let (waits, wait) = AsyncStream.makeStream(of: Void.self)
            let newKeys = try await tablet.keys()
            async let joined: Result<Void, any Error> = KeyProcess.outcome {
                defer { wait.finish() }
                try await newKeys.enrol { _ in
                    wait.yield()
                } compare: {
                    $0
                }
            }
            _ = await waits.first { _ in true }
            let conversation = try #require(try await exchange.enrolments().first)
            let commitment = try EnrolmentCommitment(conversation.commitment)
            let answer = EnrolmentAnswer(
                commitment: commitment.hash, fingerprint: log.fingerprint, head: log.head, device: device.id, random: commitment.commitment)
            #expect(try await exchange.post(answer.bytes))
            let result = await joined
            #expect(throws: EnrolmentFault.notEnrolled) { try result.get() }
            try await expectNoKeys(try process("tablet"))
            let kept = try await tablet.line.keyStore.keys(of: exchange.account)
            #expect(kept.device == nil && kept.own == nil)
        }
    }

    // MARK: Recovery

    @Test func `the 24 words, shown once, give the keys to a new device, and others do not`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let phone = try process("phone")
            let sealed = try await phone.toSave()
            let keys = try await phone.keys()
            #expect(try await keys.status().hasUnseenWords)
            let note = try await keys.recoveryWords()
            try await keys.forgetRecoveryWords()
            #expect(note.words.count == RecoveryWords.count)
            #expect(try await refusal { _ = try await keys.recoveryWords() }.contains("no recovery words"))
            #expect(try await !keys.status().hasUnseenWords)
            let new = try process("new")
            let words = note.words.joined(separator: " ")
            let others = try RecoveryWords.words(for: SecretBytes([UInt8](repeating: 7, count: RecoveryWords.secretLength))).joined(separator: " ")
            #expect(try await refusal { try await new.keys().enrol(words: others) }.contains("not those of the account"))
            #expect(try await refusal { try await new.keys().enrol(words: "horse") }.contains("there are 1"))
            #expect(try await keys.fingerprint().statement == 0)
            try await new.keys().enrol(words: words)
            #expect(try await process("new").toOpen()?.newest.proof == sealed.newest.proof)
            #expect(try await keys.devices().count == 2)
        }
    }

    @Test func `words that others have taken the place of are refused, and the new ones give the keys of all that was saved`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let phone = try process("phone")
            let sealed = try await phone.toSave()
            let keys = try await phone.keys()
            let old = try await keys.recoveryWords()
            let next = try await keys.replaceRecovery()
            #expect(old.fingerprint == next.fingerprint && old.words != next.words)
            #expect(try await refusal { _ = try await keys.recoveryWords() }.contains("no recovery words"))
            let new = try await process("new").keys()
            let words = old.words.joined(separator: " ")
            #expect(try await refusal { try await new.enrol(words: words) }.contains("not those of the account"))
            try await new.enrol(words: next.words.joined(separator: "\n"))
            let opened = try #require(try await process("new").toOpen())
            #expect(opened.newest.id.version == 2 && opened.key(sealed.newest.id)?.proof == sealed.newest.proof)
        }
    }

    // MARK: Removal

    @Test func `a removed device has no keys, zones have another key at once, and the device returns with keys of its own`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            let sealed = try await phone.toSave()
            try await tablet.join(by: phone)
            let id = try #require(try await tablet.keys().devices().first(where: \.isThis)).id
            #expect(try await phone.keys().remove(id) == ["Notes"])
            #expect(try await process("tablet").keys().status().keys == .removed)
            try await expectNoKeys(try process("tablet"))
            let status = try await phone.keys().status()
            #expect(status.generation == 2 && status.devices == 1)
            let renewed = try #require(try await process("phone").toOpen())
            #expect(renewed.newest.id.version == 2 && renewed.key(sealed.newest.id)?.proof == sealed.newest.proof)
            await #expect(throws: KeyLogFault.self) { try await phone.keys().remove(id) }
            let own = try #require(try await phone.keys().devices().first).id
            await #expect(throws: KeyLogFault.self) { try await phone.keys().remove(own) }
            #expect(try await refusal { _ = try await phone.keys().remove("tablet") }.contains("not the ID"))
            let again = try process("tablet")
            try await again.join(by: phone)
            #expect(try await again.toOpen()?.newest.proof == renewed.newest.proof)
            #expect(try await again.keys().devices().contains { $0.id == id } == false)
        }
    }

    @Test func `a device that made a zone's keys is removed by one that never used them, and what they sealed still opens`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            let sealed = try await phone.toSave()
            try await tablet.join(by: phone)
            let id = try #require(try await phone.keys().devices().first(where: \.isThis)).id
            #expect(try await tablet.keys().remove(id) == ["Notes"])
            let renewed = try #require(try await process("tablet").toOpen())
            #expect(renewed.newest.id.version == 3 && renewed.key(sealed.newest.id)?.proof == sealed.newest.proof)
            #expect(try await process("tablet").toSave().newest.proof == renewed.newest.proof)
            try await expectNoKeys(try process("phone"))
        }
    }

    // MARK: Reset

    @Test func `after a reset the device that made it begins anew, and another has no keys until it is enrolled`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            let zone = CKRecordZone.default().zoneID
            let sealed = try await phone.toSave(zone)
            let before = try await phone.keys().fingerprint()
            let words = try await phone.keys().recoveryWords().words
            try await tablet.join(by: phone)
            try await phone.keys().reset()
            let after = try await phone.keys().fingerprint()
            #expect(after.fingerprint != before.fingerprint && after.statement == 0)
            #expect(try await phone.keys().recoveryWords().words != words)
            let next = try await process("phone").toSave(zone)
            #expect(next.newest.id.scope != sealed.newest.id.scope && next.older.isEmpty)
            #expect(try await process("tablet").keys().status().keys == .elsewhere)
            try await expectNoKeys(try process("tablet"), zone)
            try await process("tablet").join(by: phone)
            #expect(try await process("tablet").toOpen(zone)?.newest.proof == next.newest.proof)
            #expect(try await process("tablet").keys().fingerprint().fingerprint == after.fingerprint)
        }
    }

    @Test func `a reset leaves the default zone's records without their encrypted values, and the next save of one clears the others`() async throws {
        try await KeyProcess.withDevices { process, _ in
            /// Returns the private database in a new process of a device.
            func database(_ device: String) throws -> CKDatabase { CKContainer(line: try process(device).line).privateCloudDatabase }
            let (phone, id) = (try process("phone"), CKRecord.ID(recordName: "one"))
            let note = CKRecord(recordType: "Note", recordID: id)
            note["text"] = "plain bread"
            for key in ["diagnosis", "remedy"] { note.encryptedValues[key] = "measles" }
            try await CKContainer(line: phone.line).privateCloudDatabase.save(note)
            try await process("tablet").join(by: phone)
            #expect(try await database("tablet").record(for: id).encryptedValues.allKeys() == ["diagnosis", "remedy"])
            try await phone.keys().reset()
            for device in ["phone", "tablet"] {
                let shown = try await database(device).record(for: id)
                #expect(shown["text"] as? String == "plain bread" && shown.encryptedValues.allKeys().isEmpty, "\(device)")
            }
            let writer = try database("phone")
            let record = try await writer.record(for: id)
            record["text"] = "plain cake"
            try await writer.save(record)
            record.encryptedValues["diagnosis"] = "mumps"
            try await writer.save(record)
            let last = try await database("phone").record(for: id)
            #expect(last["text"] as? String == "plain cake" && last.encryptedValues.allKeys() == ["diagnosis"])
            #expect(last.encryptedValues["diagnosis"] as? String == "mumps")
        }
    }

    @Test func `the 24 words reset the account on a new device, and without words a device without keys cannot`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let phone = try process("phone")
            _ = try await phone.toSave()
            let note = try await phone.keys().recoveryWords()
            let new = try await process("new").keys()
            #expect(try await refusal { try await new.reset() }.contains("no keys"))
            #expect(try await phone.keys().fingerprint().fingerprint == note.fingerprint)
            try await new.reset(words: note.words.joined(separator: " "))
            #expect(try await new.status().keys == .here)
            #expect(try await new.fingerprint().fingerprint != note.fingerprint)
            try await expectNoKeys(try process("phone"), CKRecordZone.default().zoneID)
        }
    }
}
