import NacreCloudTestSupport
import Testing

@testable import CloudKitPush

/// Tests of server-sent events, whose bytes may be split anywhere.
struct EventStreamReaderTests {
    private func events(_ text: String) -> [EventStreamReader.Event] {
        var reader = EventStreamReader()
        return reader.read(Array(text.utf8))
    }

    private func event(_ data: String, id: String? = nil, name: String = "message") -> EventStreamReader.Event {
        EventStreamReader.Event(id: id, name: name, data: Array(data.utf8))
    }

    @Test func `a stream as the server sends it`() {
        let text = "retry: 1000\n\nid: 18\nevent: notification\ndata: {\"a\":1}\n\n: heartbeat\n\nid: 19\nevent: notification\ndata: {}\n\n"
        #expect(events(text) == [event("{\"a\":1}", id: "18", name: "notification"), event("{}", id: "19", name: "notification")])
        var reader = EventStreamReader()
        _ = reader.read(Array(text.utf8))
        #expect(reader.retryMilliseconds == 1000)
    }

    @Test(arguments: [
        ("data: a\n\n", ["a"]), ("data:a\n\n", ["a"]), ("data:  a\n\n", [" a"]), ("data: a\r\n\r\n", ["a"]), ("data: a\r\r", ["a"]),
        ("data\n\n", [""]), ("data: a\ndata: b\n\n", ["a\nb"]), ("data: a\ndata\n\n", ["a\n"]), (": c\n\ndata: a\n\n", ["a"]),
        ("event: x\n\ndata: a\n\n", ["a"]), ("data: a", []), ("data: a\n", []), ("DATA: a\n\n", []), (" data: a\n\n", []),
        ("\u{FEFF}data: a\n\n", ["a"]), ("data: a\n\n\u{FEFF}data: b\n\n", ["a"]), ("data: a:b: c\n\n", ["a:b: c"]), ("\n\n\n", []),
    ])
    func `lines mean what the standard says`(_ text: String, _ data: [String]) {
        #expect(events(text).map { String(decoding: $0.data, as: UTF8.self) } == data)
    }

    @Test func `an ID stays until another is said, and one that is empty or holds a zero is none`() {
        #expect(events("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: 2\nid: 3\u{0}\ndata: d\n\n").map(\.id) == ["1", "1", nil, "2"])
    }

    @Test func `an event's name is its own alone`() {
        #expect(events("event: x\ndata: a\n\ndata: b\n\n").map(\.name) == ["x", "message"])
    }

    @Test(arguments: 0..<50) func `the same events come out wherever the bytes are cut`(_: Int) {
        var seed = SeededRandom()
        let lines = ["data: a", "data: b", "id: 7", "event: n", ": c", "retry: 5", "", "", "data", "junk"]
        let ends = ["\n", "\r", "\r\n"]
        let text = (0..<30).map { _ in (lines.randomElement(using: &seed) ?? "") + (ends.randomElement(using: &seed) ?? "\n") }.joined()
        var reader = EventStreamReader()
        var found: [EventStreamReader.Event] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...7, using: &seed)
            found += reader.read(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        #expect(found == events(text), "\(seed)")
    }

    @Test func `what is too long is left out, whatever a server sends, and the next event is read`() {
        let long = String(repeating: "x", count: EventStreamReader.eventBytesMax)
        #expect(events("data: \(long)\n\ndata: a\n\n") == [event("a")])
        let lines = String(repeating: "data: \(String(repeating: "x", count: 1000))\n", count: 70)
        #expect(events("\(lines)\ndata: a\n\n") == [event("a")])
    }

    @Test(arguments: ["-1", "", "1.5", "x", "99999999999999999999"]) func `a pause that is no number is not heard`(_ text: String) {
        var reader = EventStreamReader()
        _ = reader.read(Array("retry: 5\nretry: \(text)\n".utf8))
        #expect(reader.retryMilliseconds == 5)
    }

    @Test func `pauses grow up to a minute, and begin again when something was heard`() {
        var pause = ReconnectPause()
        #expect((0..<9).map { _ in pause.next(spread: 1) } == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        pause.hasHeard()
        #expect(pause.next(spread: 0) == 0.75)
        #expect(pause.next(atLeast: 30, spread: 1) == 30 && pause.next(atLeast: 1e12, spread: 1) == 3600)
        var other = ReconnectPause()
        other.setFirst(milliseconds: 5000)
        #expect(other.next(spread: 1) == 5)
        for milliseconds in [0, -5, .min] {
            other = ReconnectPause()
            other.setFirst(milliseconds: milliseconds)
            #expect(other.next(spread: 1) == 0.1)
        }
        other.setFirst(milliseconds: .max)
        #expect(other.next(spread: 1) == 60)
    }
}
