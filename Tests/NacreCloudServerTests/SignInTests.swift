import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests that password guesses wait longer and longer, and that other sign-ins are admitted meanwhile. The rules run
/// on a clock of the test, and once over the router.
@Suite(.timeLimit(.minutes(5))) struct SignInTests {
    private let clock = TestClock()
    private let attempts = SignInGuard()

    /// Returns seconds to wait; nil where the password was checked.
    private func guess(_ email: String, _ address: String, _ outcome: SignInGuard.Outcome = .wrong) -> Int? {
        do {
            guard let attempt = try attempts.beginNow(email: email, address: address, at: clock.now) else { return 0 }
            attempts.end(attempt, outcome, at: clock.now)
            return nil
        } catch {
            return (error as? ServerError)?.retryAfter ?? -1
        }
    }

    /// Returns the number of guesses in some seconds of a client that asks each second, or when the server says.
    private func guesses(_ email: String, _ address: String, seconds: Int) -> Int {
        var count = 0
        var left = Double(seconds)
        while left > 0 {
            let wait = guess(email, address)
            if wait == nil { count += 1 }
            clock.advance(Double(wait ?? 0) + 0.04)
            left -= Double(wait ?? 0) + 0.04
        }
        return count
    }

    @Test func `pauses grow and end at the longest`() {
        let account = SignInPause.Key.account("a")
        for (failures, seconds) in [(0, 0), (9, 0), (10, 1), (11, 2), (12, 4), (19, 512), (20, 900), (1_000_000, 900)] {
            #expect(SignInPause.seconds(after: failures, for: account) == Double(seconds), "\(failures)")
        }
        #expect(SignInPause.seconds(after: 49, for: .address("a")) == 0)
        #expect(SignInPause.seconds(after: 1000, for: .address("a")) == 60)
    }

    @Test func `new passwords from one address wait for each other, and for nobody else`() throws {
        func begin(_ email: String?, _ address: String) throws -> SignInGuard.Attempt? {
            try attempts.beginNow(email: email, address: address, at: clock.now)
        }
        let first = try #require(try begin(nil, "203.0.113.1"))
        for _ in 1..<Limits.passwordChecksPerAddress { #expect(try begin(nil, "203.0.113.1") != nil) }
        #expect(try begin(nil, "203.0.113.1") == nil && begin("ada@example.com", "203.0.113.1") == nil)
        #expect(try begin(nil, "203.0.113.2") != nil && begin("ada@example.com", "203.0.113.2") != nil)
        attempts.end(first, .unknown, at: clock.now)
        #expect(try begin(nil, "203.0.113.1") != nil)
    }

    @Test func `so many are checked at once that their failures begin the pause at most, and others wait`() {
        let (account, address) = (SignInPause.Key.account("a"), SignInPause.Key.address("a"))
        for (key, failures, checks, left, verdict) in [
            (account, 0, 0, 0, .goes), (account, 0, 3, 0, .goes), (account, 0, 4, 0, .waits),
            (account, 7, 2, 0, .goes), (account, 7, 3, 0, .waits), (account, 9, 0, 0, .goes), (account, 9, 1, 0, .waits),
            // After a pause one is checked at a time.
            (account, 12, 0, 0, .goes), (account, 12, 1, 0, .waits),
            (account, 12, 0, 3, .pauses(seconds: 3)), (account, 12, 4, 3, .pauses(seconds: 3)),
            (address, 0, 7, 0, .goes), (address, 0, 8, 0, .waits), (address, 48, 1, 0, .goes), (address, 48, 2, 0, .waits),
            (address, 60, 1, 0, .waits),
        ] as [(SignInPause.Key, Int, Int, Double, SignInPause.Verdict)] {
            #expect(SignInPause.verdict(failures: failures, checks: checks, left: left, for: key) == verdict, "\(key) \(failures) \(checks)")
        }
    }

    /// Returns how many of `count` simultaneous attempts are admitted, and the answers to the others: seconds to
    /// wait, or -1 where too many wait.
    private func rush(
        _ count: Int, _ outcome: SignInGuard.Outcome, _ email: @escaping @Sendable (Int) -> String
    ) async -> (through: Int, refused: [Int]) {
        await withTaskGroup(of: Int?.self) { group in
            for number in 0..<count {
                group.addTask {
                    do {
                        let attempt = try await attempts.begin(email: email(number), address: "203.0.113.1", clock.serverClock)
                        await Task.yield()
                        attempts.end(attempt, outcome, at: clock.now)
                        return nil
                    } catch {
                        return (error as? ServerError) == .signInBusy ? -1 : (error as? ServerError)?.retryAfter ?? -2
                    }
                }
            }
            return await group.reduce(into: (0, [])) { result, wait in
                if let wait { result.1.append(wait) } else { result.0 += 1 }
            }
        }
    }

    @Test func `all of an office that know their passwords are let through, each in its turn`() async {
        let (through, refused) = await rush(120, .right) { "user\($0)@example.com" }
        #expect(through == 120 && refused.isEmpty, "\(refused)")
    }

    @Test func `of many guesses at once no more are checked than one after another`() async {
        let one = await rush(120, .wrong) { _ in "ada@example.com" }
        #expect(one.through == Limits.wrongPasswordsPerAccount && one.refused.allSatisfy { $0 == 1 }, "\(one)")
        clock.advance(24 * 3600 + 1)
        let many = await rush(120, .wrong) { "user\($0)@example.com" }
        #expect(many.through == Limits.wrongPasswordsPerAddress && many.refused.allSatisfy { $0 == 1 }, "\(many)")
    }

    @Test func `who waits too long, or behind too many, hears that the server is busy`() async throws {
        let open = try (0..<8).map { try #require(try attempts.beginNow(email: "\($0)@example.com", address: "203.0.113.1", at: clock.now)) }
        async let late = rush(Limits.signInsWaitingTogether, .right) { "late\($0)@example.com" }
        await clock.sleeps(Limits.signInsWaitingTogether)
        #expect(await rush(1, .right) { _ in "later@example.com" }.refused == [-1])
        clock.advance(Limits.signInWaitSeconds)
        let (through, refused) = await late
        #expect(through == 0 && refused.count == Limits.signInsWaitingTogether && refused.allSatisfy { $0 == -1 }, "\(refused)")
        for attempt in open { attempts.end(attempt, .unknown, at: clock.now) }
        #expect(guess("next@example.com", "203.0.113.1", .right) == nil, "nobody holds a place")
    }

    @Test func `over the web an office of 40 signs in from one address, and no password is called wrong`() async throws {
        let server = try await TestServer()
        let hash = try PasswordHash.hash(TestServer.password, at: .least)
        for number in 0..<40 { _ = try await server.cloud.registry.createAccount(email: "user\(number)@example.com", passwordHash: hash) }
        let place = #""apiToken":"\#(server.names["api"] ?? "")","container":"\#(TestServer.container)","environment":"development""#
        let statuses = await withTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                let body = #"{"email":"user\#(number)@example.com","password":"\#(TestServer.password)",\#(place)}"#
                group.addTask { await server.respond(Question(method: "POST", target: "/account/1/sign-in", body: Array(body.utf8))).status }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
    }

    @Test func `one account is guessed at a few times an hour, from however many addresses`() {
        #expect(guesses("ada@example.com", "203.0.113.1", seconds: 3600) < 30)
        #expect(guesses("ADA@example.com", "203.0.113.2", seconds: 3600) < 6, "another address does not begin anew")
    }

    @Test func `one address that guesses at many accounts is paused too, and others are not`() {
        var checked = 0
        for number in 0..<1000 where guess("user\(number)@example.com", "203.0.113.1") == nil { checked += 1 }
        #expect(checked == 50)
        #expect(guess("ada@example.com", "203.0.113.1") == 1)
        #expect(guess("ada@example.com", "198.51.100.1") == nil)
        // One machine has a whole /64.
        for number in 0..<50 { _ = guess("six\(number)@example.com", "2001:db8::\(number)") }
        #expect(guess("six@example.com", "2001:db8::ffff") == 1)
    }

    @Test func `a device that is known is let in while strangers guess, and its own mistakes count for itself`() {
        #expect(guess("ada@example.com", "198.51.100.1", .right) == nil)
        _ = guesses("ada@example.com", "203.0.113.1", seconds: 600)
        while guess("ada@example.com", "203.0.113.1") == nil {}
        #expect(guess("ada@example.com", "203.0.113.2") != nil)
        #expect(guess("ada@example.com", "198.51.100.1", .right) == nil)
        #expect(guess("ada@example.com", "203.0.113.2") != nil, "who knew does not forgive what others guessed")
        for _ in 0..<10 { #expect(guess("ada@example.com", "198.51.100.1") == nil) }
        #expect(guess("ada@example.com", "198.51.100.1") == 1)
        clock.advance(60)
        #expect(guess("ada@example.com", "198.51.100.1", .right) == nil)
        #expect(guess("ada@example.com", "198.51.100.1") == nil, "the right password ends its pauses")
    }

    @Test func `many at once are no way round the pauses, and leave room for known devices`() throws {
        #expect(guess("ada@example.com", "198.51.100.1", .right) == nil)
        var open: [SignInGuard.Attempt] = []
        for number in 0..<200 {
            if let attempt = try? attempts.beginNow(email: "ada@example.com", address: "203.0.113.\(number)", at: clock.now) {
                open.append(attempt)
            }
        }
        #expect(open.count == 4, "of one account")
        for number in 0..<200 {
            if let attempt = try? attempts.beginNow(email: "\(number)@example.com", address: "203.0.113.1", at: clock.now) { open.append(attempt) }
        }
        #expect(open.count <= 4 + 8, "of one address")
        for number in 0..<200 {
            if let attempt = try? attempts.beginNow(email: "\(number)@example.net", address: "192.0.2.\(number)", at: clock.now) {
                open.append(attempt)
            }
        }
        #expect(open.count == Limits.strangersPasswordChecks, "of all")
        #expect(guess("ada@example.com", "198.51.100.1", .right) == nil)
        for attempt in open { attempts.end(attempt, .unknown, at: clock.now) }
        #expect(guess("new@example.com", "192.0.2.250") == nil)
    }

    @Test func `after a day nothing is held against anybody, and a clock that is set back holds nobody`() {
        for _ in 0..<15 {
            _ = guess("ada@example.com", "203.0.113.1")
            clock.advance(900)
        }
        _ = guess("ada@example.com", "203.0.113.1")
        clock.advance(-1_000_000)
        #expect((guess("ada@example.com", "203.0.113.1") ?? 0) <= 900)
        clock.advance(1_000_000 + 25 * 3600)
        for _ in 0..<10 { #expect(guess("ada@example.com", "203.0.113.1") == nil) }
    }

    @Test func `over the web a guesser hears THROTTLED with the seconds, and the operator hears of it without the address of the mail`() async throws
    {
        let server = try await TestServer()
        func signIn(_ password: String) async -> Answer {
            await server.respond(
                Question(
                    method: "POST", target: "/account/1/sign-in",
                    body: Array(
                        #"{"email":"ada@example.com","password":"\#(password)","apiToken":"\#(server.names["api"] ?? "")","container":"\#(TestServer.container)","environment":"development"}"#
                            .utf8)))
        }
        for _ in 0..<10 { #expect(await signIn("wrong").status == 401) }
        let paused = await signIn(TestServer.password)
        #expect(paused.status == 429 && paused.header("Retry-After") == "1")
        #expect(paused.json?["serverErrorCode"] == .string("THROTTLED") && paused.json?["retryAfter"] == .number(1))
        let lines = server.log.objects("A sign-in was refused")
        #expect(lines.count == 11 && lines.allSatisfy { $0["level"] == .string("notice") })
        #expect(lines.last?["reason"] == .string("paused"))
        #expect(!server.log.texts.contains { $0.contains("ada@example.com") })
        server.clock.advance(1)
        #expect(await signIn(TestServer.password).status == 200)
    }
}
