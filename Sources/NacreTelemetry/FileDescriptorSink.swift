import NacreLocks

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes lines to an open descriptor, in order, and waits at most `patienceMilliseconds` for the reader of each piece.
/// A line that a full pipe or a stopped terminal does not take in that time is dropped. A later line says how many
/// were.
package final class FileDescriptorSink: LogSink {
    /// The longest wait of a piece of a line for a slow reader. Long enough for a busy journald, short enough for a
    /// request.
    private static let patienceMilliseconds: Int32 = 5
    /// The bytes of a piece: a pipe that polls writable takes this many without blocking (`PIPE_BUF`, pipe(7)).
    private static let pieceBytesMax = 4096

    private struct State {
        var dropped = 0
        /// Whether the last line was cut because its reader stopped in the middle.
        var isCut = false
    }

    private let descriptor: Int32
    private let state = Locked(State())

    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    package func write(_ line: [UInt8]) {
        state.withLock { state in
            if state.isCut || state.dropped > 0 {
                var note = state.isCut ? Array("\n".utf8) : []
                note += Array("{\"level\":\"warning\",\"msg\":\"log lines dropped\",\"count\":\(state.dropped)}\n".utf8)
                guard put(note) == note.count else {
                    state.dropped += 1
                    return
                }
                state = State()
            }
            let written = put(line)
            if written < line.count {
                state.dropped += 1
                state.isCut = written > 0
            }
        }
    }

    private func put(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&poller, 1, Self.patienceMilliseconds) == 1, poller.revents & Int16(POLLOUT) != 0 else { break }
                let piece = UnsafeRawBufferPointer(rebasing: bytes[done..<min(done + Self.pieceBytesMax, bytes.count)])
                #if canImport(Glibc)
                    let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
                #else
                    let count = Musl.write(descriptor, piece.baseAddress, piece.count)
                #endif
                guard count > 0 else { break }
                done += count
            }
            return done
        }
    }
}
