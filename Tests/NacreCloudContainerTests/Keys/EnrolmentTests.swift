import NacreCloudAccounts
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the messages of enrolments that the server hands on: docs/encryption.md, "Enrolment".
@Suite(.timeLimit(.minutes(1))) struct EnrolmentTests {
    /// The messages of a new device, and those that answer it.
    private struct Messages {
        let device: KeyringDevice
        let commitment: EnrolmentCommitment
        private let random: Digest

        init(_ name: String) throws {
            device = try KeyringDevice(name)
            random = Digest(of: Array("\(name) draws".utf8))
            commitment = try EnrolmentCommitment(keys: device.publicKeys, random: random)
        }

        func answer(_ keys: SampleKeyring, drawing number: UInt8 = 1) -> EnrolmentAnswer {
            EnrolmentAnswer(
                commitment: commitment.hash, fingerprint: keys.log.fingerprint, head: keys.log.head, device: keys.first.id,
                random: Digest(of: [number]))
        }

        func opening(after keys: SampleKeyring) throws -> EnrolmentOpening {
            let enrolment = try KeyStatement.enrolment(of: device.publicKeys, after: keys.log.head.hash)
            return EnrolmentOpening(keys: device.publicKeys, random: random, signature: try device.sign(enrolment))
        }
    }

    /// Returns the user at another sign-in.
    private func signIn(_ name: String, of user: TestCloudUser) -> TestCloudUser {
        var user = user
        user.caller.credential = .device(id: name, account: "account")
        return user
    }

    private func post(_ message: any Form, _ user: TestCloudUser) async throws {
        _ = try await user.cloud.postEnrolment(KeysEnrolmentPostRequest(message: message.bytes), in: user.target, by: user.caller)
    }

    private func list(_ user: TestCloudUser) async throws -> [KeysEnrolmentListResponse.Conversation] {
        try await user.cloud.listEnrolments(KeysEnrolmentListRequest(), in: user.target, by: user.caller).conversations
    }

    private func refusal(_ message: any Form, _ user: TestCloudUser) async throws -> ServerError? {
        do {
            try await post(message, user)
            return nil
        } catch let error as ServerError {
            return error
        }
    }

    @Test(arguments: Engine.embedded)
    func `a new device joins by three messages, which its user's devices alone are told`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        var keys = try SampleKeyring("_ada", container: TestCloud.container)
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        let phone = try Messages("phone")
        var expected = KeysEnrolmentListResponse.Conversation(commitment: phone.commitment.bytes)
        try await post(phone.commitment, ada)
        #expect(try await list(ada) == [expected])
        let answer = phone.answer(keys)
        try await post(answer, ada)
        expected.answer = answer.bytes
        #expect(try await list(ada) == [expected])
        let opening = try phone.opening(after: keys)
        try await post(opening, ada)
        expected.opening = opening.bytes
        #expect(try await list(ada) == [expected])
        // Each sent again after a lost answer.
        for message in [phone.commitment, answer, opening] as [any Form] { try await post(message, ada) }
        #expect(try await list(ada) == [expected])
        #expect(try await list(bob) == [])
        #expect(try await list(test.user("_ada", environment: .production)) == [])
        try keys.say(.addDevice(opening.keys, opening.signature))
        #expect(try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller).place == 1)
    }

    @Test func `a commitment has one answer and one opening, the first of each`() async throws {
        let test = try await TestCloud(.memory)
        let ada = test.user("_ada")
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        let phone = try Messages("phone")
        try await post(phone.commitment, ada)
        #expect(try await refusal(phone.opening(after: keys), ada) == .enrolmentOpenedTooEarly)
        try await post(phone.answer(keys), ada)
        #expect(try await refusal(phone.answer(keys, drawing: 2), ada) == .enrolmentGoesOn("answer"))
        let opening = try phone.opening(after: keys)
        try await post(opening, ada)
        let another = EnrolmentOpening(keys: opening.keys, random: opening.random, signature: try phone.device.sign([1]))
        #expect(try await refusal(another, ada) == .enrolmentGoesOn("opening"))
        #expect(ServerError.enrolmentGoesOn("opening").code == .conflict)
        let (first, last) = (phone.answer(keys).bytes, opening.bytes)
        #expect(try await list(ada) == [.init(commitment: phone.commitment.bytes, answer: first, opening: last)])
    }

    @Test(arguments: Engine.embedded) func `of several answers at once one is kept, and the others hear so`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ada = test.user("_ada")
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        let phone = try Messages("phone")
        try await post(phone.commitment, ada)
        let answers = (1...4).map { phone.answer(keys, drawing: $0) }
        let refusals = try await withThrowingTaskGroup(of: ServerError?.self) { group in
            for answer in answers { group.addTask { try await refusal(answer, ada) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(refusals.filter { $0 == nil }.count == 1)
        #expect(refusals.compactMap(\.self) == [ServerError](repeating: .enrolmentGoesOn("answer"), count: 3))
    }

    @Test(arguments: Engine.ofRules)
    func `a conversation is gone after ten minutes, and makes room for another`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        let devices = try (0...Limits.enrolmentsPerAccount).map { try Messages("device \($0)") }
        for (number, device) in devices.dropLast().enumerated() {
            try await post(device.commitment, signIn("\(number)", of: ada))
            test.clock.move(bySeconds: 1)
        }
        #expect(try await list(ada).map(\.commitment) == devices.dropLast().map(\.commitment.bytes), "in the order in which they began")
        #expect(try await refusal(devices[Limits.enrolmentsPerAccount].commitment, ada) == .tooManyEnrolments)
        #expect(try await refusal(devices[0].answer(keys), ada) == nil)
        #expect(try await refusal(devices[0].commitment, bob) == nil, "another user has room of their own")
        test.clock.move(bySeconds: Limits.enrolmentSeconds - Double(Limits.enrolmentsPerAccount) - 0.5)
        #expect(try await list(ada).count == Limits.enrolmentsPerAccount)
        test.clock.move(bySeconds: 1)
        #expect(try await list(ada).map(\.commitment) == devices.dropLast().dropFirst().map(\.commitment.bytes))
        #expect(try await refusal(devices[0].opening(after: keys), ada) == .enrolmentNotFound)
        #expect(try await refusal(devices[Limits.enrolmentsPerAccount].commitment, ada) == nil)
        // The room is that of a row, not only of an answer.
        let database = try await test.cloud.database(ada.target, for: .read, by: ada.caller).id
        let rows = try await test.store.read { try $0.entries(in: database, .enrolment, after: nil, limit: 100) }
        #expect(rows.count == Limits.enrolmentsPerAccount)
    }

    @Test func `one sign-in has a few conversations of an account, and leaves room for the user's others`() async throws {
        let test = try await TestCloud(.memory)
        let (thief, phone) = (signIn("thief", of: test.user("_ada")), signIn("phone", of: test.user("_ada")))
        let devices = try (0...Limits.enrolmentsPerSignIn).map { try Messages("device \($0)") }
        for device in devices.dropLast() { try await post(device.commitment, thief) }
        let last = devices[Limits.enrolmentsPerSignIn]
        #expect(try await refusal(last.commitment, thief) == .tooManyEnrolmentsOfOne)
        #expect(try await refusal(devices[0].commitment, thief) == nil, "a repetition")
        #expect(try await refusal(last.commitment, phone) == nil)
        #expect(try await list(phone).count == devices.count)
        test.clock.move(bySeconds: Limits.enrolmentSeconds + 1)
        #expect(try await refusal(Messages("another").commitment, thief) == nil)
    }

    @Test func `a message that answers or opens nothing here is refused, and so is one that is none`() async throws {
        let test = try await TestCloud(.memory)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        let phone = try Messages("phone")
        try await post(phone.commitment, bob)
        #expect(try await refusal(phone.answer(keys), ada) == .enrolmentNotFound)
        #expect(try await refusal(phone.opening(after: keys), ada) == .enrolmentNotFound)
        #expect(try await refusal(keys.newest, ada)?.field == "message", "a statement is no message")
        #expect(throws: ServerError.self) { try EnrolmentMessage([]) }
        #expect(throws: ServerError.self) { try EnrolmentMessage(phone.commitment.bytes + [0]) }
        let long = phone.commitment.bytes + [UInt8](repeating: 0, count: Limits.enrolmentMessageBytes)
        #expect(throws: ServerError.enrolmentMessageTooLarge) { try EnrolmentMessage(long) }
        #expect(try await list(ada) == [])
    }

    @Test func `the end of the account takes its enrolments`() async throws {
        let test = try await TestCloud(.memory)
        let ada = test.user("_ada")
        try await post(Messages("phone").commitment, ada)
        try await test.cloud.forgetKeys(of: ada.cloud.database(ada.target, for: .read, by: ada.caller).id)
        #expect(try await list(ada) == [])
    }
}
