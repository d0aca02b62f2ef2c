import CNacreCurl

/// The functions that libcurl calls on the loop's thread while it carries a transfer. The transfer is their context.
/// The functions throw no Swift error.
enum TransferCallbacks {
    static var table: nacre_curl_callbacks {
        nacre_curl_callbacks(
            context: nil,
            on_header: { bytes, size, count, context in
                guard let transfer = transfer(context) else { return 0 }
                return transfer.takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
            },
            on_body: { bytes, size, count, context in
                guard let transfer = transfer(context) else { return 0 }
                switch transfer.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
                case .taken: return size * count
                case .paused: return nacre_curl_pause_body
                // Any number other than the count of the bytes ends the transfer.
                case .refused: return size * count == 0 ? 1 : 0
                }
            },
            on_pull: { buffer, size, count, context in
                guard let transfer = transfer(context) else { return nacre_curl_abort_pull }
                switch transfer.pull(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) {
                case .bytes(let count): return count
                case .paused: return nacre_curl_pause_pull
                case .refused: return nacre_curl_abort_pull
                }
            },
            on_seek: { context, offset, origin in
                offset == 0 && origin == SEEK_SET && transfer(context)?.rewind() == true ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            },
            on_progress: { context, toReceive, received, toSend, sent in
                transfer(context)?.noteProgress(sent: Int(sent), toSend: Int(toSend), received: Int(received), toReceive: Int(toReceive))
                return 0
            },
            on_connected: { context, _, _, _, _ in
                transfer(context)?.noteConnected() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            })
    }
}

// A global function, because C function pointers cannot capture a type.
private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}
