/// A span of OpenTelemetry: a stretch of work in a trace.
package struct OTLPSpan: Sendable {
    package enum Kind: UInt32, Sendable {
        case `internal` = 1
        case server = 2
    }

    package var trace: TraceContext
    package var id: UInt64
    package var parentID: UInt64?
    package var name: String
    package var kind: Kind
    /// Nanoseconds since 1970.
    package var start: UInt64
    package var end: UInt64
    package var attributes: [(name: String, value: OTLPAttribute)] = []
    /// Whether the work failed.
    package var hasFailed = false

    package init(trace: TraceContext, id: UInt64, parentID: UInt64?, name: String, kind: Kind, start: UInt64, end: UInt64) {
        (self.trace, self.id, self.parentID, self.name, self.kind, self.start, self.end) = (trace, id, parentID, name, kind, start, end)
    }

    fileprivate var message: OTLPMessage {
        var span = OTLPMessage()
        span.add(1, "traceId", .id(trace.traceIDBytes))
        span.add(2, "spanId", .id(TraceContext.bytes(id)))
        if let state = trace.state { span.add(3, "traceState", .text(state)) }
        if let parentID { span.add(4, "parentSpanId", .id(TraceContext.bytes(parentID))) }
        span.add(5, "name", .text(name))
        span.add(6, "kind", .number(kind.rawValue))
        span.add(7, "startTimeUnixNano", .fixed64(start))
        span.add(8, "endTimeUnixNano", .fixed64(end))
        if !attributes.isEmpty { span.addAttributes(9, attributes) }
        if hasFailed {
            var status = OTLPMessage()
            // STATUS_CODE_ERROR
            status.add(3, "code", .number(2))
            span.add(15, "status", .message(status))
        }
        return span
    }
}

extension OTLPResource {
    /// Returns spans as a request to `/v1/traces`.
    package func traces(_ spans: [OTLPSpan]) -> OTLPMessage { request("Spans", spans.map(\.message)) }
}
