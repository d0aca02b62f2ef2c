import Testing

@testable import NacreCrypto

@Suite(.serialized) struct PasswordHashTests {
    /// From the tests of the reference implementation of Argon2id: password "password", salt "somesalt", our cost.
    static let published = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
    /// The same at a cost of 256 KiB, for tests of everything but the cost.
    static let cheap = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"

    @Test func `published hashes verify`() throws {
        #expect(try PasswordHash.verify("password", against: Self.published))
        #expect(try PasswordHash.verify("password", against: Self.cheap))
        #expect(try !PasswordHash.verify("passwore", against: Self.cheap))
    }

    @Test func `a hash verifies its own password only, and is never the same twice`() throws {
        let hash = try PasswordHash.hash("corréct horse")
        #expect(try PasswordHash.verify("corréct horse", against: hash))
        #expect(try !PasswordHash.verify("corréct hors", against: hash))
        #expect(try PasswordHash.hash("corréct horse") != hash)
    }

    @Test func `a new hash has the cost that is promised`() throws {
        let hash = try PasswordHash.hash("")
        let cost = try #require(PasswordHash.Cost(of: hash))
        #expect(cost.memoryKiB == 65_536 && cost.passes == 2 && cost.lanes == 1)
        #expect(hash.utf8.count < 128)
        #expect(cost == .usual)
        #expect(PasswordHash.Cost(of: try PasswordHash.hash("", at: .least)) == .least)
    }

    @Test(arguments: [PasswordHash.Cost.usual, .least]) func `an unknown user costs what a known one costs and is never let in`(
        _ cost: PasswordHash.Cost
    ) throws {
        let known = try PasswordHash.hash("a", at: cost)
        #expect(PasswordHash.Cost(of: PasswordHash.decoy(of: cost)) == PasswordHash.Cost(of: known))
        #expect(PasswordHash.decoy(of: cost).utf8.count == known.utf8.count)
        #expect(try !PasswordHash.verifyUnknown("a", at: cost))
    }

    @Test func `a NUL does not end a password`() throws {
        let hash = try PasswordHash.hash("a\u{0}b")
        #expect(try !PasswordHash.verify("a", against: hash))
        #expect(try !PasswordHash.verify("a\u{0}c", against: hash))
        #expect(try PasswordHash.verify("a\u{0}b", against: hash))
    }

    @Test func `the longest password is taken and a longer one is not`() throws {
        let longest = String(repeating: "é", count: 512)
        #expect(try !PasswordHash.verify(longest, against: Self.cheap))
        #expect(throws: CryptoError(.passwordTooLong)) { try PasswordHash.hash(longest + "x") }
        #expect(throws: CryptoError(.passwordTooLong)) { try PasswordHash.verify(longest + "x", against: Self.cheap) }
        #expect(throws: CryptoError(.passwordTooLong)) { try PasswordHash.verifyUnknown(longest + "x") }
    }

    @Test(arguments: [
        "", "password", "$argon2id$", "$argon2id$v=19$m=256,t=2,p=1", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$AAAA",
        "$argon2id$v=18$m=256,t=2,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$t=2,m=256,p=1$c29tZXNhbHQ$AAAA",
        "$argon2id$v=19$m=-1,t=2,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$AAAA$", "$2b$12$abcdefghijklmnopqrstuu",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$AA\u{0}A", "x" + cheap, cheap + "\n", String(repeating: "A", count: 1_000),
    ])
    func `what is no such hash is refused as such`(stored: String) {
        #expect(throws: CryptoError(.malformedPasswordHash)) { try PasswordHash.verify("password", against: stored) }
    }

    @Test(arguments: ["m=4194304,t=2,p=1", "m=262145,t=2,p=1", "m=256,t=9,p=1", "m=256,t=2,p=200", "m=99999999999999999999,t=2,p=1"])
    func `a hash that would cost too much is not computed`(cost: String) {
        let stored = "$argon2id$v=19$\(cost)$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        #expect(throws: CryptoError(.malformedPasswordHash)) { try PasswordHash.verify("password", against: stored) }
    }

    @Test func `a hash damaged anywhere lets nobody in`() {
        let digits = Array(Self.cheap.utf8)
        for index in digits.indices where digits[index] != UInt8(ascii: "$") {
            var copy = digits
            copy[index] = copy[index] == UInt8(ascii: "A") ? UInt8(ascii: "E") : UInt8(ascii: "A")
            let stored = String(decoding: copy, as: UTF8.self)
            #expect((try? PasswordHash.verify("password", against: stored)) != true, "place \(index)")
        }
    }

    @Test func `a hasher hashes, verifies and turns away`() async throws {
        let hasher = PasswordHasher()
        let hash = try await hasher.hash("secret")
        async let right = hasher.verify("secret", against: hash)
        async let wrong = hasher.verify("Secret", against: hash)
        async let unknown = hasher.verifyUnknown("secret")
        #expect(try await right)
        #expect(try await !wrong)
        #expect(try await !unknown)
        await #expect(throws: CryptoError(.malformedPasswordHash)) { try await hasher.verify("secret", against: "plain") }
    }

    @Test func `a burst beyond the queue is refused as busy and the rest is served`() async throws {
        let hasher = PasswordHasher(threadsMaximum: 1, waitingMaximum: 3)
        let outcomes = await withTaskGroup(of: CryptoError.Code?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do {
                        return try await hasher.verify("password", against: Self.published) ? nil : .notAuthentic
                    } catch {
                        return (error as? CryptoError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count >= 4)
        #expect(outcomes.contains(.busy))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .busy })
    }
}
