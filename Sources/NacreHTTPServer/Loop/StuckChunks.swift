/// Ends bodies in chunks that libmicrohttpd 0.9.75 cannot read on: it has no end for a line before a chunk that does not fit the connection's memory, and asks
/// for turn after turn in which it does nothing.
struct StuckChunks {
    private var hasBeenCalled = false
    private var idleTurns = 0
    /// Of bodies that were not read on when that was last looked at: how many bytes had come, by their connections.
    private var unread: [UInt64: Int] = [:]

    /// Turns one after the other in which nothing is done; a slow sender makes one or two. On this server.
    private static let idleTurnsMax = 8

    /// libmicrohttpd has something of a request.
    mutating func noteCall() { hasBeenCalled = true }

    /// A turn of the loop is over. Returns whether there have been so many without a call that some body may be stuck.
    /// - Parameter isAsked: whether libmicrohttpd asks for another one at once.
    mutating func mayBe(isAsked: @autoclosure () -> Bool) -> Bool {
        defer { hasBeenCalled = false }
        guard !hasBeenCalled, isAsked() else {
            idleTurns = 0
            return false
        }
        idleTurns += 1
        guard idleTurns >= Self.idleTurnsMax else { return false }
        idleTurns = 0
        return true
    }

    /// Closes the connections of which there are bytes that nobody reads, now and when this was last called, and none came in between.
    mutating func end(of connections: [UInt64: ServedConnection]) {
        var found: [UInt64: Int] = [:]
        for (id, connection) in connections {
            guard let exchange = connection.exchange, exchange.awaitsChunks, connection.hasUnread() else { continue }
            if unread[id] == exchange.receivedBytes { connection.hangUp() } else { found[id] = exchange.receivedBytes }
        }
        unread = found
    }
}
