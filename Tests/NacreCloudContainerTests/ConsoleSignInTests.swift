import NacreCloudAccounts
import NacreCloudWire
import Testing

/// Tests of the console's links and sessions as values.
struct ConsoleSignInTests {
    private static let hour: Double = 3600

    private static func time(_ seconds: Double) -> Timestamp { Timestamp(secondsSince2001: seconds) }

    /// Returns sign-ins with one session, which begins at 0.
    private static func signedIn() -> ConsoleSignIns {
        var signIns = ConsoleSignIns()
        _ = signIns.addLink("link", name: "ada", role: .owner, at: time(0))
        let session = signIns.use("link", toBegin: "session", id: "1", at: time(0))
        #expect(session != nil)
        return signIns
    }

    @Test(arguments: [(0, true), (1799, true), (1800, false), (90_000, false)])
    func `a link is good for thirty minutes`(_ seconds: Double, _ isGood: Bool) {
        var signIns = ConsoleSignIns()
        #expect(signIns.addLink("link", name: "ada", role: .viewer, at: Self.time(0)) == Self.time(1800))
        let session = signIns.use("link", toBegin: "session", id: "1", at: Self.time(seconds))
        #expect((session != nil) == isGood)
        #expect(session.map { $0.role == .viewer && $0.author == "console 1 ada" } ?? true)
    }

    @Test func `a link is good once`() {
        var signIns = Self.signedIn()
        let again = signIns.use("link", toBegin: "other", id: "2", at: Self.time(1))
        let (other, session) = (signIns.session("other", at: Self.time(1)), signIns.session("session", at: Self.time(1)))
        #expect(again == nil && other == nil && session != nil)
    }

    @Test func `a session ends two hours after its last request, and after twelve hours in any case`() {
        var idle = Self.signedIn()
        let used = idle.session("session", at: Self.time(2 * Self.hour - 1))
        #expect(used?.expires == Self.time(4 * Self.hour - 1))
        let unused = idle.session("session", at: Self.time(4 * Self.hour - 1))
        #expect(unused == nil)
        var busy = Self.signedIn()
        for hour in 1...11 {
            let session = busy.session("session", at: Self.time(Double(hour) * Self.hour))
            #expect(session != nil, "after \(hour) hours")
        }
        let last = busy.session("session", at: Self.time(12 * Self.hour - 1))
        #expect(last?.expires == Self.time(12 * Self.hour))
        let ended = busy.session("session", at: Self.time(12 * Self.hour))
        #expect(ended == nil)
    }

    @Test func `the oldest link and the idlest session make room for another`() {
        var signIns = ConsoleSignIns()
        for number in 0...ConsoleSignIns.linksMax { _ = signIns.addLink("link \(number)", name: "", role: .owner, at: Self.time(Double(number))) }
        let (oldest, next) = (
            signIns.use("link 0", toBegin: "none", id: "", at: Self.time(40)), signIns.use("link 1", toBegin: "one", id: "", at: Self.time(40))
        )
        #expect(oldest == nil && next != nil)
        for number in 0..<ConsoleSignIns.sessionsMax {
            // The first session is used again each time.
            _ = signIns.session("one", at: Self.time(50 + Double(number)))
            _ = signIns.addLink("another", name: "", role: .owner, at: Self.time(50 + Double(number)))
            _ = signIns.use("another", toBegin: "session \(number)", id: "", at: Self.time(50 + Double(number)))
        }
        let there = ["one", "session 0", "session 1"].map { signIns.session($0, at: Self.time(200)) != nil }
        #expect(there == [true, false, true])
        let counts = [signIns.endAll(at: Self.time(200)), signIns.endAll(at: Self.time(200))]
        #expect(counts == [ConsoleSignIns.sessionsMax, 0])
        let ended = signIns.session("one", at: Self.time(200))
        #expect(ended == nil)
    }

    @Test func `a name stays on one line, and is cut`() {
        var signIns = ConsoleSignIns()
        _ = signIns.addLink("link", name: "ada\n" + String(repeating: "a", count: 100), role: .owner, at: Self.time(0))
        let session = signIns.use("link", toBegin: "session", id: "1", at: Self.time(0))
        #expect(session?.name == "ada" + String(repeating: "a", count: ConsoleSignIns.nameCharacters - 3))
    }
}
