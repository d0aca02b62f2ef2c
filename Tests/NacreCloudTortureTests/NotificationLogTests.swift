import NacreCloudTorture
import Testing

/// Tests of the check of notifications: required ones, allowed ones, and each kind of wrong one.
@Suite struct NotificationLogTests {
    private static let (phone, mac, bobs) = (right("phone"), right("mac"), right("bob's"))

    private static func right(_ device: String, _ subscription: String = "s") -> NotificationLog.Right { NotificationLog.Right(device, subscription) }

    /// The phone has a right to `notes` from 10 on, and to `lists` by another subscription; `a` was saved before
    /// that, `b` at 20.
    private static let log: NotificationLog = {
        var log = NotificationLog()
        log.willBegin(phone, of: "notes")
        log.willSave("a", on: ["notes"], at: 5)
        log.saved("a")
        log.begin(phone, at: 10)
        log.willBegin(right("phone", "l"), of: "lists")
        log.begin(right("phone", "l"), at: 10)
        log.willSave("b", on: ["notes"], at: 20)
        log.saved("b")
        return log
    }()

    @Test func `what was saved while a right was there must be told, once at the least, and what came before it may be`() {
        var log = Self.log
        #expect(log.missing == ["b to phone by s"])
        #expect(log.heard(Self.phone, of: "b", id: "1") == nil)
        #expect(log.missing == [])
        #expect(log.heard(Self.phone, of: "b", id: "1") == nil, "again, by its ID")
        #expect(log.heard(Self.phone, of: "a", id: "2") == nil, "its worker was late")
        #expect(log.count == 2)
    }

    @Test func `what nobody has acknowledged need not be told, and may be`() {
        var log = Self.log
        log.willSave("c", on: ["notes"], at: 30)
        log.willBegin(Self.mac, of: "notes")
        #expect(log.missing == ["b to phone by s"])
        #expect(log.heard(Self.phone, of: "c", id: "3") == nil && log.heard(Self.mac, of: "b", id: "1") == nil)
    }

    @Test func `what was saved once a right had ended may not be told, however late`() {
        for fault in [Violation.Kind.leaked, .wronglyTold] {
            var log = Self.log
            log.willEnd(Self.phone)
            #expect(log.missing == [], "nobody promises it any more")
            log.willSave("c", on: ["notes"], at: 30)
            log.end(Self.phone, fault: fault, at: 40)
            log.willSave("d", on: ["notes"], at: 50)
            log.saved("d")
            #expect(log.missing == [])
            for name in ["b", "c"] { #expect(log.heard(Self.phone, of: name, id: name) == nil, "asked for before the end was acknowledged") }
            #expect(log.heard(Self.phone, of: "d", id: "d")?.kind == fault)
            // A repeated end, as for a subscription deleted after its device was signed out, does not begin a right.
            log.end(Self.phone, fault: .wronglyTold, at: 60)
            #expect(log.heard(Self.phone, of: "d", id: "d")?.kind == fault)
        }
    }

    @Test func `each way to be wrong has its name`() {
        func kind(_ right: NotificationLog.Right, _ name: String?, id: String = "1", _ change: (inout NotificationLog) -> Void = { _ in })
            -> Violation.Kind?
        {
            var log = Self.log
            change(&log)
            return log.heard(right, of: name, id: id)?.kind
        }
        #expect(kind(Self.phone, "b") == nil)
        #expect(kind(Self.phone, "x") == .wronglyTold, "nobody had saved it")
        #expect(kind(Self.right("phone", "l"), "b") == .wronglyTold, "another subscription asks for it")
        #expect(kind(Self.mac, "b") == .wronglyTold, "nobody knows that subscription")
        #expect(kind(Self.bobs, "b") { $0.forbid(Self.bobs, fault: .leaked) } == .leaked, "it is of another user")
        #expect(kind(Self.bobs, nil) { $0.forbid(Self.bobs, fault: .leaked) } == .leaked)
        #expect(kind(Self.mac, "b") { $0.forbid(Self.mac, fault: .wronglyTold) } == .wronglyTold, "it made the change itself")
        #expect(kind(Self.phone, "b", id: "2") { _ = $0.heard(Self.phone, of: "b", id: "1") } == .wronglyTold, "one change has one ID")
        #expect(kind(Self.right("phone", "l"), nil) == .wronglyTold, "nothing of that was saved")
    }

    @Test func `notifications that do not say what was saved are told apart by their IDs`() {
        var log = NotificationLog()
        let (zone, control) = (Self.right("phone", "zone"), Self.right("phone", "control"))
        for right in [zone, control] {
            log.willBegin(right, of: "zone")
            log.begin(right, at: 1)
        }
        log.willSave("a", on: ["zone"], at: 10)
        log.saved("a")
        #expect(log.missing == ["a to phone by control", "a to phone by zone"])
        #expect(log.heard(control, of: nil, id: "1") == nil && log.missing == ["a to phone by zone"])
        log.willEnd(zone)
        log.end(zone, fault: .leaked, at: 20)
        log.willSave("b", on: ["zone"], at: 30)
        log.saved("b")
        #expect(log.heard(control, of: nil, id: "2") == nil && log.missing == [])
        #expect(log.heard(zone, of: nil, id: "1") == nil, "of what was saved before")
        #expect(log.heard(zone, of: nil, id: "2")?.kind == .leaked)
        #expect(log.heard(zone, of: nil, id: "3")?.kind == .leaked, "of the last one, then")
    }

    @Test func `who was told to fetch everything has what was acknowledged by then, and nothing later`() {
        var log = Self.log
        log.heardEverything("phone")
        #expect(log.missing == [])
        log.willSave("c", on: ["notes"], at: 30)
        log.saved("c")
        #expect(log.missing == ["c to phone by s"])
    }

    @Test func `a save under way may be the one for which the word to fetch everything came, on the device that was told`() {
        var log = Self.log
        log.willSave("c", on: ["notes"], at: 30)
        log.heardEverything("tablet")
        log.saved("c")
        #expect(log.missing.contains("c to phone by s"))
        log.heardEverything("phone")
        #expect(log.missing == [])
    }

    @Test func `a guest hears no more often than there is something to hear, and what a death may add`() {
        var log = GuestLog()
        log.expect(2)
        for id in ["1", "2", "2", "1"] { log.heard(id) }
        #expect(log.violation("bob", deaths: 0) == nil)
        log.heard("3")
        #expect(log.violation("bob", deaths: 0)?.kind == .leaked)
        #expect(log.violation("bob", deaths: 1) == nil)
        for id in ["4", "5", "6"] { log.heard(id) }
        #expect(log.violation("bob", deaths: 1)?.kind == .leaked)
    }
}
