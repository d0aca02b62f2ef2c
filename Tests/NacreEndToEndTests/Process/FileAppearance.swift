import Dispatch
import Glibc
import NacreCloudTestSupport

/// Waits, without polling, until a name appears in a folder. Watches from its creation on, so that nothing is missed.
final class FileAppearance: Sendable {
    private let descriptor: Int32
    private let isIt: @Sendable (String) -> Bool

    /// Waits for a name.
    /// - Throws: `POSIXFault` when the folder cannot be watched.
    convenience init(of name: String, in folder: String) throws {
        try self.init(in: folder) { $0 == name }
    }

    /// Waits for any name with this suffix.
    /// - Throws: `POSIXFault` when the folder cannot be watched.
    convenience init(suffix: String, in folder: String) throws {
        try self.init(in: folder) { $0.hasSuffix(suffix) }
    }

    private init(in folder: String, _ isIt: @escaping @Sendable (String) -> Bool) throws {
        descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        self.isIt = isIt
        guard descriptor >= 0 else { throw POSIXFault(call: "inotify_init1", code: errno) }
        // A link gives a file its name here, and a rename may.
        guard inotify_add_watch(descriptor, folder, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
            throw POSIXFault(call: "inotify_add_watch", code: errno)
        }
    }

    deinit { close(descriptor) }

    /// Waits for the name.
    /// - Returns: false when `process` ended, or the time was up, before the name appeared.
    func wait(while process: Launched, seconds: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            // Blocks a thread of Dispatch, none of Swift's pool.
            DispatchQueue.global().async { continuation.resume(returning: self.block(while: process, seconds: seconds)) }
        }
    }

    private func block(while process: Launched, seconds: Int) -> Bool {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        while clock.now < end {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // The kernel ends the wait at the event; the timeout of 100 ms is for the end of the process alone.
            _ = poll(&event, 1, 100)
            if names().contains(where: isIt) { return true }
            if !process.isRunning { return names().contains(where: isIt) }
        }
        return false
    }

    private func names() -> [String] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 1024, alignment: 8)
        defer { buffer.deallocate() }
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return [] }
        var names: [String] = []
        var offset = 0
        let head = MemoryLayout<inotify_event>.size
        while offset + head <= count {
            let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let text = buffer[(offset + head)..<(offset + head + Int(event.len))].prefix { $0 != 0 }
            names.append(String(decoding: text, as: UTF8.self))
            offset += head + Int(event.len)
        }
        return names
    }
}
