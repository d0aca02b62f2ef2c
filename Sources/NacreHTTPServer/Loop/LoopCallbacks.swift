import CNacreMicroHTTPD
import Glibc

/// The functions that libmicrohttpd calls, each on its loop's thread.
enum LoopCallbacks {
    static func startDaemon(for loop: EventLoop, socket: Int32, connectionsMax: Int, memoryBytes: Int, stall: Duration) -> OpaquePointer? {
        var settings = nacre_mhd_settings()
        settings.listen_socket = socket
        settings.connections_max = UInt32(clamping: connectionsMax)
        settings.connection_memory_bytes = memoryBytes
        settings.stall_seconds = UInt32(clamping: stall.components.seconds + 1)
        settings.context = Unmanaged.passUnretained(loop).toOpaque()
        settings.on_target = { context, target, raw in
            guard let target, let raw, let found = nacre_mhd_socket_context(raw) else { return nil }
            let connection = Unmanaged<ServedConnection>.fromOpaque(found).takeUnretainedValue()
            return LoopCallbacks.begin(connection, raw, target)
        }
        settings.on_request = { _, _, _, method, version, data, size, slot in
            guard let found = slot?.pointee else { return .NO }
            let exchange = Unmanaged<Exchange>.fromOpaque(found).takeUnretainedValue()
            exchange.loop.stuckChunks.noteCall()
            return exchange.advance(method, version, data, size)
        }
        settings.on_log = { context, _, _ in
            guard let context else { return }
            Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue().mayRefuseHead()
        }
        settings.on_completed = { _, _, slot, reason in
            guard let slot, let found = slot.pointee else { return }
            slot.pointee = nil
            Unmanaged<Exchange>.fromOpaque(found).takeRetainedValue().end(reason)
        }
        settings.on_connection = { context, raw, slot, event in
            guard let context, let raw, let slot else { return }
            if event == .CONNECTION_NOTIFY_STARTED {
                let loop = Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue()
                slot.pointee = Unmanaged.passRetained(loop.opened(raw)).toOpaque()
            } else if let found = slot.pointee {
                slot.pointee = nil
                let connection = Unmanaged<ServedConnection>.fromOpaque(found).takeRetainedValue()
                // libmicrohttpd 0.9.75 tells of no end where what is behind the request line did not fit its memory. What `begin` gave it is taken back.
                if let exchange = connection.exchange {
                    exchange.end(.REQUEST_TERMINATED_WITH_ERROR)
                    Unmanaged.passUnretained(exchange).release()
                }
                connection.loop.closed(connection)
            }
        }
        return nacre_mhd_start(&settings)
    }

    /// The request line is here: the exchange begins, and libmicrohttpd keeps it until `on_completed`.
    private static func begin(_ connection: ServedConnection, _ raw: OpaquePointer, _ target: UnsafePointer<CChar>) -> UnsafeMutableRawPointer? {
        let text = UnsafeRawBufferPointer(start: target, count: strlen(target))
        var bytes: [UInt8] = []
        // Room for usual headers too, which are added behind it.
        bytes.reserveCapacity(text.count + 512)
        bytes.append(contentsOf: text)
        connection.beginHead()
        let exchange = Exchange(connection, raw: raw, target: bytes)
        connection.exchange = exchange
        connection.loop.stuckChunks.noteCall()
        connection.loop.beginHead(of: exchange, on: connection)
        exchange.refuseParameters()
        return Unmanaged.passRetained(exchange).toOpaque()
    }
}
