/// The fault of a form that is not one file. The raw value is a static sentence that the client may read.
package enum FileFormFault: String, Error {
    case notFormData = "the multipart body is not multipart/form-data"
    case noBoundary = "the form's boundary is missing or malformed"
    case malformed = "the form is malformed"
    case longHead = "the headers of the form's part are too long"
    case encoded = "the part of the form is encoded, or has parts of its own"
    case noFile = "the form has no file"
    case severalParts = "the form has more than one part"
    case cut = "the form ends before its last boundary"
}

/// The reader of a form that is one file: `multipart/form-data` with one part (RFC 7578). It takes the form in pieces
/// of any size, and hands on the file's bytes. Between pieces it keeps at most `envelopeBytesMax` bytes.
package struct FileForm: Sendable {
    /// The most bytes of a form that are not its file's: boundaries, the headers of the part, and what follows the end.
    package static let envelopeBytesMax = 8 * 1024
    /// RFC 2046 §5.1.1.
    private static let boundaryCharactersMax = 70
    private static let lineEnd: [UInt8] = [0x0D, 0x0A]
    private static let hyphens: [UInt8] = [0x2D, 0x2D]

    private enum Place { case head, file, end }

    /// The line end before a boundary, two hyphens, and the boundary.
    private let delimiter: [UInt8]
    private var place = Place.head
    /// The bytes whose meaning depends on those to come.
    private var kept: [UInt8] = []
    /// Bytes of the form so far that are not the file's.
    private var envelopeBytes = 0

    /// Creates the reader of a body with this content type; nil if the type is not multipart.
    /// - Throws: if the type is another multipart one, or has no valid boundary.
    package init?(contentType: String) throws(FileFormFault) {
        let type = HeaderParameters(contentType[...])
        guard type.value.hasPrefix("multipart/") else { return nil }
        guard type.value == "multipart/form-data" else { throw .notFormData }
        guard let boundary = type["boundary"].map({ Array($0.utf8) }), (1...Self.boundaryCharactersMax).contains(boundary.count),
            boundary.allSatisfy({ (0x20..<0x7F).contains($0) }), boundary.last != 0x20
        else { throw .noBoundary }
        delimiter = Self.lineEnd + Self.hyphens + boundary
    }

    /// Takes the next bytes of the form, and returns those of them that are known to be the file's; none, if more must
    /// come before.
    package mutating func file(in piece: [UInt8]) throws(FileFormFault) -> [UInt8] {
        let isSearched = max(0, kept.count - 3)
        kept += piece
        if place == .head { try readHead(from: isSearched) }
        var file: [UInt8] = []
        if place == .file { file = takeFile() }
        if place == .end { try readEnd() }
        return file
    }

    /// Checks that the form was whole.
    package func end() throws(FileFormFault) {
        guard place == .end, kept == Self.hyphens else { throw .cut }
    }

    /// Reads the first boundary, before which a line end may stand, and the headers of the part.
    /// - Parameter start: the place in `kept` before which the headers do not end.
    private mutating func readHead(from start: Int) throws(FileFormFault) {
        let boundary = delimiter.dropFirst(2)
        let first = kept.dropFirst(kept.starts(with: Self.lineEnd) ? 2 : 0)
        guard boundary.starts(with: first.prefix(boundary.count)) || kept == [0x0D] else { throw .malformed }
        let rest = first.dropFirst(boundary.count)
        if rest.starts(with: Self.hyphens) { throw .noFile }
        guard let end = Self.place(of: Self.lineEnd + Self.lineEnd, in: kept, from: start), end <= Self.envelopeBytesMax else {
            if kept.count - 3 > Self.envelopeBytesMax { throw .longHead }
            return
        }
        try Self.check(Array(kept[rest.startIndex..<end]))
        envelopeBytes = end
        kept.removeFirst(end + 4)
        place = .file
    }

    /// Checks the rest of the boundary's line, and the headers: the part is a file if it has a file name or a type, and
    /// its bytes are the file's.
    private static func check(_ head: [UInt8]) throws(FileFormFault) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: Character("\r\n"), omittingEmptySubsequences: false)
        guard trimmingSpaces(lines[0]).isEmpty else { throw .malformed }
        var (isFormData, isFile) = (false, false)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex, line[..<colon].utf8.allSatisfy(isTokenByte),
                line.utf8.allSatisfy(isTextByte)
            else { throw .malformed }
            let header = HeaderParameters(line[line.index(after: colon)...])
            switch line[..<colon].lowercased() {
            case "content-disposition":
                guard !isFormData, header.value == "form-data" else { throw .malformed }
                isFormData = true
                if header["filename"] != nil || header["filename*"] != nil { isFile = true }
            case "content-type":
                if header.value.hasPrefix("multipart/") { throw .encoded }
                isFile = true
            case "content-transfer-encoding":
                guard ["binary", "8bit", "7bit"].contains(header.value) else { throw .encoded }
            default: break
            }
        }
        guard isFormData else { throw .malformed }
        guard isFile else { throw .noFile }
    }

    /// Takes the file's bytes from those kept: all up to the next boundary, or all that cannot be the beginning of one.
    private mutating func takeFile() -> [UInt8] {
        let found = Self.place(of: delimiter, in: kept, from: 0)
        let file = Array(kept.prefix(found ?? max(0, kept.count - delimiter.count + 1)))
        kept.removeFirst(file.count + (found == nil ? 0 : delimiter.count))
        if found != nil { place = .end }
        return file
    }

    /// Reads what follows the boundary behind the file: two hyphens, and nothing but spaces and line ends.
    private mutating func readEnd() throws(FileFormFault) {
        guard kept.count >= 2 else { return }
        guard kept.starts(with: Self.hyphens) else { throw Self.isBlank(kept[0]) ? .severalParts : .malformed }
        envelopeBytes += kept.count - 2
        guard kept.dropFirst(2).allSatisfy(Self.isBlank), envelopeBytes <= Self.envelopeBytesMax else { throw .malformed }
        kept.removeLast(kept.count - 2)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }

    /// Returns the first place of a pattern that begins with a carriage return, from `start` on.
    private static func place(of pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            var from = start
            while let found = bytes[from...].firstIndex(of: 0x0D), found + pattern.count <= bytes.count {
                if bytes[found..<found + pattern.count].elementsEqual(pattern) { return found }
                from = found + 1
            }
            return nil
        }
    }
}
