// Bodies of HTTP requests and answers. Clients write requests and read answers with this module alone; the server
// reads requests and writes answers with `NacreCloudServerWire`.

/// A request of a client.
package protocol RequestMessage: Equatable, Sendable {
    var `extension`: RequestExtension { get set }

    func write(to writer: inout JSONWriter)
}

/// A request that can be read: by the server, or from a client's archive.
package protocol ReadableRequest: RequestMessage, ReadableMessage {}

/// An answer of the server. Any form of it can be read.
package protocol AnswerMessage: ReadableMessage {}

package protocol ReadableMessage: Equatable, Sendable {
    /// Reads one value; throws with its offset where it is not this message.
    init(from reader: inout JSONReader) throws(JSONError)
}

extension ReadableMessage {
    fileprivate static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> Self {
        var reader = JSONReader(bytes)
        let message = try Self(from: &reader)
        try reader.finish()
        return message
    }
}

extension RequestMessage {
    package func json() -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.finish()
    }
}

extension ReadableRequest {
    /// Reads a request's body. `bytes` are used only during the call.
    ///
    /// Throws `BAD_REQUEST` with CloudKit's sentence on the position; `field` is the path there, and `remedy` names the
    /// fault.
    package init(json bytes: UnsafeRawBufferPointer) throws(ServerError) {
        do throws(JSONError) {
            self = try Self.read(bytes)
        } catch {
            var refusal = ServerError(error, "badRequestException: unexpected input", in: bytes, code: .badRequest)
            if let reason = error.problem.reason { refusal.reason = reason }
            throw refusal
        }
    }

    package init(json: [UInt8]) throws(ServerError) {
        self = try json.withUnsafeBufferPointer { (bytes) throws(ServerError) in try Self(json: UnsafeRawBufferPointer(bytes)) }
    }
}

extension AnswerMessage {
    /// Reads an answer's body. `bytes` are used only during the call.
    ///
    /// Throws `INTERNAL_ERROR`: the server, or a proxy, sent an answer that no server sends.
    package init(json bytes: UnsafeRawBufferPointer) throws(ServerError) {
        do throws(JSONError) {
            self = try Self.read(bytes)
        } catch {
            throw ServerError(error, "the server's answer cannot be read", in: bytes, code: .internalError)
        }
    }

    package init(json: [UInt8]) throws(ServerError) {
        self = try json.withUnsafeBufferPointer { (bytes) throws(ServerError) in try Self(json: UnsafeRawBufferPointer(bytes)) }
    }
}

extension ServerError {
    fileprivate init(_ error: JSONError, _ sentence: String, in bytes: UnsafeRawBufferPointer, code: ServerErrorCode) {
        let place = JSONPosition(of: error.offset, in: bytes)
        let path = [place.path, error.missingKey].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ".")
        self.init(
            code, "\(sentence) at [line: \(place.line), column: \(place.column)]", field: path.isEmpty ? nil : path,
            remedy: error.problem.text)
    }
}
