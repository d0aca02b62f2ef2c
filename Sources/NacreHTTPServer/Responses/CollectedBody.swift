extension HTTPResponse.Body {
    /// Returns the whole body of a response without a socket, in memory, however long it is.
    /// - Throws: The error of the handler while it writes; 500 if the body is a file on disk, or fewer bytes came than
    ///   announced.
    package func collect() async throws -> [UInt8] {
        let writer = HTTPStreamWriter(bufferedBytesMax: .max, takesParts: false) {}
        switch self {
        case .none: return []
        case .bytes(let bytes): return bytes
        case .file: throw HTTPError(.internalServerError, "A file is not collected.")
        case .content(let content):
            try await content.write(0..<content.length, writer)
            let bytes = writer.untaken
            guard UInt64(bytes.count) == content.length else { throw HTTPError(.internalServerError, "The body ended too early.") }
            return bytes
        case .stream(let write):
            try await write(writer)
            return writer.untaken
        }
    }
}
