/// A configuration's durations in nanoseconds.
struct Deadlines: Sendable {
    let header: UInt64
    let body: UInt64
    let idle: UInt64
    let hangUpDelay: UInt64
    let piece: UInt64
    let shortPiece: UInt64
    let work: UInt64
    let stall: UInt64
    /// Nanoseconds for the bytes that a client still sends after an early answer: nginx's `lingering_timeout`.
    let lingering: UInt64 = 5_000_000_000
    /// Nanoseconds between two searches for late connections: an eighth of the shortest deadline, 5 ms to 1 s.
    let tick: UInt64

    init(_ configuration: HTTPServerConfiguration) {
        header = configuration.headerDeadline.nanoseconds
        body = configuration.bodyDeadline.nanoseconds
        idle = configuration.idleTimeout.nanoseconds
        hangUpDelay = configuration.hangUpDelay.nanoseconds
        piece = configuration.pieceDeadline.nanoseconds
        shortPiece = configuration.shortPieceDeadline.nanoseconds
        work = configuration.workDeadline.nanoseconds
        stall = configuration.stallTimeout.nanoseconds
        tick = min(max(min(header, body, idle, piece, shortPiece, work, stall) / 8, 5_000_000), 1_000_000_000)
    }
}
