import Foundation
import Testing

@testable import NacreTelemetry

/// Tests of both forms of OTLP's messages. The bytes are those of protobuf's own page on its encoding where it has
/// them.
@Suite struct OTLPMessageTests {
    private func message(_ fields: (UInt32, String, OTLPMessage.Value)...) -> OTLPMessage {
        var message = OTLPMessage()
        for (number, name, value) in fields { message.add(number, name, value) }
        return message
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined(separator: " ") }

    @Test(
        arguments: [
            (.number(150), "08 96 01", "150"), (.number(0), "08 00", "0"), (.text("testing"), "0a 07 74 65 73 74 69 6e 67", #""testing""#),
            (.text("a\"\u{1}é"), "0a 05 61 22 01 c3 a9", #""a\"\u0001é""#), (.id([0, 0xab]), "0a 02 00 ab", #""00ab""#),
            (.flag(true), "08 01", "true"),
            (.integer(-2), "08 fe ff ff ff ff ff ff ff ff 01", #""-2""#), (.fixed32(0x0102), "0d 02 01 00 00", "258"),
            (.fixed64(.max), "09 ff ff ff ff ff ff ff ff", #""18446744073709551615""#), (.signedFixed64(-1), "09 ff ff ff ff ff ff ff ff", #""-1""#),
            (.double(1.5), "09 00 00 00 00 00 00 f8 3f", "1.5"), (.double(.infinity), "09 00 00 00 00 00 00 f0 7f", #""Infinity""#),
            (.allFixed64([1, 2]), "0a 10 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00", #"["1","2"]"#),
            (.doubles([2]), "0a 08 00 00 00 00 00 00 00 40", "[2.0]"), (.allFixed64([]), "0a 00", "[]"),
        ] as [(OTLPMessage.Value, String, String)])
    func `a value is written as protobuf and as OTLP's JSON`(_ value: OTLPMessage.Value, _ bytes: String, _ json: String) {
        let message = message((1, "it", value))
        #expect(hex(message.protobuf) == bytes)
        #expect(String(decoding: message.json, as: UTF8.self) == "{\"it\":\(json)}")
    }

    @Test func `messages are nested and repeated, and a number above 15 has a tag of two bytes`() {
        let inner = message((1, "a", .number(150)))
        let outer = message((3, "one", .message(inner)), (4, "all", .messages([inner, OTLPMessage()])), (16, "flags", .fixed32(1)))
        #expect(hex(outer.protobuf) == "1a 03 08 96 01 22 03 08 96 01 22 00 85 01 01 00 00 00")
        #expect(String(decoding: outer.json, as: UTF8.self) == #"{"one":{"a":150},"all":[{"a":150},{}],"flags":1}"#)
    }

    @Test func `a text longer than 127 bytes has a length of two bytes`() {
        let bytes = message((1, "it", .text(String(repeating: "x", count: 300)))).protobuf
        #expect(bytes.prefix(3) == [0x0a, 0xac, 0x02] && bytes.count == 303)
    }
}

/// Tests of `traceparent` and `tracestate` (W3C Trace Context, level 1).
@Suite struct TraceContextTests {
    private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(id)-00f067aa0ba902b7-01"

    @Test func `a caller's trace is read with its state`() throws {
        let trace = try #require(TraceContext(parent: [Self.parent], state: ["a=1", "b@c=2"]))
        #expect(trace.traceID == Self.id && trace.parentID == 0x00f0_67aa_0ba9_02b7 && trace.isSampled == true && trace.state == "a=1,b@c=2")
        #expect(TraceContext(parent: ["00-\(Self.id)-00f067aa0ba902b7-02"], state: [])?.isSampled == false)
        // A later version may have more.
        #expect(TraceContext(parent: ["01-\(Self.id)-00f067aa0ba902b7-01-more"], state: [])?.traceID == Self.id)
    }

    @Test(arguments: [
        "", "00", parent.uppercased(), parent + "-", parent + "0", "ff-\(id)-00f067aa0ba902b7-01", "01-\(id)-00f067aa0ba902b7-01more",
        "00-\(String(repeating: "0", count: 32))-00f067aa0ba902b7-01", "00-\(id)-0000000000000000-01", "00-\(id)-00f067aa0ba902b7-0x",
        "00_\(id)-00f067aa0ba902b7-01", " \(parent)", "00-\(id)é00f067aa0ba902b7-01",
    ])
    func `a malformed parent is none`(_ text: String) {
        #expect(TraceContext(parent: [text], state: []) == nil)
    }

    @Test func `two parents are none`() {
        #expect(TraceContext(parent: [Self.parent, Self.parent], state: []) == nil && TraceContext(parent: [], state: ["a=1"]) == nil)
    }

    @Test(arguments: ["", "a", "A=1", "a=", "=1", "a=1=2", "a=é", String(repeating: "a=1,", count: 33), "a=" + String(repeating: "x", count: 600)])
    func `a malformed state is left out alone`(_ state: String) throws {
        let trace = try #require(TraceContext(parent: [Self.parent], state: [state]))
        #expect(trace.state == nil && trace.traceID == Self.id)
    }

    @Test func `a trace begins with the digits of a request's ID`() throws {
        let trace = try #require(TraceContext(beginning: "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"))
        #expect(trace.traceID == Self.id && trace.parentID == nil && trace.isSampled == nil)
        #expect(TraceContext(beginning: "no UUID") == nil)
    }
}
