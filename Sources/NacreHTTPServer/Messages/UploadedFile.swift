/// The file that a request brings: its body, or the file in a body of `multipart/form-data`.
package struct UploadedFile {
    /// The file's bytes, if the request says how many they are.
    package let length: Int?
    private var form: FileForm?
    private var pieces: HTTPBody.Iterator

    /// - Throws: `FileFormFault` if the request announces another form than one that is a file.
    package init(_ request: HTTPRequest) throws(FileFormFault) {
        form = if let type = request.header("Content-Type") { try FileForm(contentType: type) } else { nil }
        length = form == nil ? request.body.length : nil
        pieces = request.body.makeAsyncIterator()
    }

    /// Returns the next bytes of the file, never none; nil at its end.
    /// - Throws: `FileFormFault`, and the errors of the body.
    package mutating func next() async throws -> [UInt8]? {
        while let piece = try await pieces.next() {
            guard form != nil else { return piece }
            if let file = try form?.file(in: piece), !file.isEmpty { return file }
        }
        try form?.end()
        return nil
    }
}
