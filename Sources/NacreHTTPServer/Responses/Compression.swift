import CNacreZlib

package enum Compression {
    /// The fastest level: on JSON it saves most of what level 6 saves, in a third of the time.
    private static let level: Int32 = 1
    /// The window in zlib.h's terms: 15 bits, and 16 more for the gzip wrapper.
    private static let gzipWindowBits: Int32 = 15 + 16
    /// zlib.h's default for `memLevel`.
    private static let memoryLevel: Int32 = 8

    /// Whether bodies of a content type usually shrink: text, JSON, XML, scripts, WebAssembly and SVG, but no event
    /// streams.
    static func pays(for contentType: String) -> Bool {
        // Test the commonest type first: the other tests cost as much as some answers.
        if contentType.hasPrefix("application/json") { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        if type.hasPrefix("text/") || type.hasSuffix("+json") || type.hasSuffix("+xml") { return type != "text/event-stream" }
        return ["application/json", "application/javascript", "application/xml", "application/x-ndjson", "application/wasm", "image/svg+xml"]
            .contains(type)
    }

    /// Whether `Accept-Encoding` takes gzip: named, or under `*`, with a weight above 0 (RFC 9110 §12.5.3).
    package static func isAccepted(_ headers: [String]) -> Bool {
        var byStar = false
        for header in headers {
            for item in header.split(separator: ",") {
                let parts = item.split(separator: ";").map(trimmingSpaces)
                guard let coding = parts.first else { continue }
                let isRefused = parts.dropFirst().contains { weight in
                    (weight.hasPrefix("q=") || weight.hasPrefix("Q=")) && weight.dropFirst(2).allSatisfy { $0 == "0" || $0 == "." }
                }
                if equalIgnoringCase(coding, "gzip") || equalIgnoringCase(coding, "x-gzip") { return !isRefused }
                if coding == "*" { byStar = !isRefused }
            }
        }
        return byStar
    }

    /// Returns the bytes as one gzip member, or nil if zlib fails. Large bodies are compressed off the loop, which
    /// serves others meanwhile.
    package static func gzip(_ bytes: [UInt8]) async -> [UInt8]? {
        guard bytes.count >= ServerLimits.compressionOffLoopBytesMin else { return compressed(bytes) }
        let isLong = bytes.count >= ServerLimits.compressionLongBytesMin
        let executor: any TaskExecutor = isLong ? LongWork.shared : globalConcurrentExecutor
        return await withTaskExecutorPreference(executor) {
            await compressedElsewhere(bytes)
        }
    }

    @concurrent
    private static func compressedElsewhere(_ bytes: [UInt8]) async -> [UInt8]? {
        compressed(bytes)
    }

    /// Returns the content of one gzip member; nil if it is damaged or is not `length` bytes long.
    package static func gunzip(_ bytes: [UInt8], length: Int) -> [UInt8]? {
        var stream = z_stream()
        guard inflateInit2_(&stream, gzipWindowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var isComplete = false
        // One byte more, because zlib takes no empty output.
        let output = [UInt8](unsafeUninitializedCapacity: length + 1) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib takes a mutable pointer and does not write through it.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(clamping: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(clamping: output.count)
                isComplete = inflate(&stream, Z_FINISH) == Z_STREAM_END && Int(stream.total_out) == length
                count = isComplete ? length : 0
            }
        }
        return isComplete ? output : nil
    }

    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        let version = ZLIB_VERSION
        guard
            deflateInit2_(&stream, level, Z_DEFLATED, gzipWindowBits, memoryLevel, Z_DEFAULT_STRATEGY, version, Int32(MemoryLayout<z_stream>.size))
                == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        var isComplete = false
        let output = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib takes a mutable pointer and does not write through it.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(clamping: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(clamping: output.count)
                isComplete = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = isComplete ? Int(stream.total_out) : 0
            }
        }
        return isComplete && bytes.count <= Int(UInt32.max) ? output : nil
    }
}
