/// Reads server-sent events (WHATWG HTML, 9.2.6) from pieces of any size. Pure.
struct EventStreamReader: Sendable {
    struct Event: Equatable, Sendable {
        /// The last ID that the stream set; nil if it set none.
        var id: String?
        /// The event's name; "message" if the stream gives none.
        var name: String
        var data: [UInt8]
    }

    /// The bound of a line and of an event's data, in bytes. A longer one is skipped and takes no more memory. Own
    /// choice: a notification has at most 4,096.
    static let eventBytesMax = 65_536

    /// Milliseconds that the stream asks a client to wait before it reconnects.
    private(set) var retryMilliseconds: Int?
    private var line: [UInt8] = []
    private var data: [UInt8]?
    private var name = ""
    private var id: String?
    /// Whether the last byte was a carriage return: a line feed behind it ends no line.
    private var endedByReturn = false
    private var isTooLong = false
    private var isFirst = true

    /// - Returns: the events that are complete with these bytes.
    mutating func read(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n") where endedByReturn: endedByReturn = false
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                endedByReturn = byte == UInt8(ascii: "\r")
                if let event = endLine() { events.append(event) }
            default:
                endedByReturn = false
                if line.count < Self.eventBytesMax { line.append(byte) } else { isTooLong = true }
            }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        if isFirst, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isFirst = false
        if line.isEmpty { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let field = String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self)
        var value = line[(colon.map { $0 + 1 } ?? line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        take(field, value)
        return nil
    }

    private mutating func take(_ field: String, _ value: ArraySlice<UInt8>) {
        switch field {
        case "data":
            if (data?.count ?? 0) + value.count >= Self.eventBytesMax {
                isTooLong = true
            } else if data == nil {
                data = Array(value)
            } else {
                data?.append(UInt8(ascii: "\n"))
                data?.append(contentsOf: value)
            }
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id" where !value.contains(0): id = value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
        case "retry": retryMilliseconds = Int(String(decoding: value, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil } ?? retryMilliseconds
        default: break
        }
    }

    private mutating func dispatch() -> Event? {
        defer { (data, name, isTooLong) = (nil, "", false) }
        guard let data, !isTooLong else { return nil }
        return Event(id: id, name: name.isEmpty ? "message" : name, data: data)
    }
}
