/// What travels as the body of an HTTP request or answer.
package protocol WireMessage: Hashable, Sendable {
    /// Reads one value; throws with its offset where it is not this message.
    init(from reader: inout JSONReader) throws(JSONError)
}

/// What a client asks. The server reads it, the framework writes it.
package protocol RequestMessage: WireMessage {
    var `extension`: RequestExtension { get set }

    func write(to writer: inout JSONWriter)
}

/// What the server answers. The server writes it in the form that the request asked for, the framework reads any form.
package protocol AnswerMessage: WireMessage {
    func write(to writer: inout JSONWriter, form: AnswerForm)
}

/// What the request decided about its answer.
package struct AnswerForm: Hashable, Sendable {
    /// Our additions are shown (`nacre.details` of the request). Without them an answer has nothing that CloudKit's has not.
    package var details: Bool
    /// Values of the types INT64, DOUBLE and TIMESTAMP are strings.
    package var numbersAsStrings: Bool
    /// Each record shows its zone: its own, or this one where it says none. nil: records show none, as in answers to `records/modify`.
    package var zoneID: ZoneID?

    package init(details: Bool = false, numbersAsStrings: Bool = false, zoneID: ZoneID? = nil) {
        self.details = details
        self.numbersAsStrings = numbersAsStrings
        self.zoneID = zoneID
    }
}

extension WireMessage {
    fileprivate static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> Self {
        var reader = JSONReader(bytes)
        let message = try Self(from: &reader)
        try reader.finish()
        return message
    }
}

extension RequestMessage {
    /// Reads a request's body. `bytes` are used only during the call.
    ///
    /// Throws `BAD_REQUEST` with CloudKit's sentence on the place; `field` is the path there, `remedy` says what is wrong.
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

    package func json() -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.finish()
    }
}

extension AnswerMessage {
    /// Reads an answer's body. `bytes` are used only during the call.
    ///
    /// Throws `INTERNAL_ERROR`: the server, or something in between, said what no server says.
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

    package func json(_ form: AnswerForm) -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer, form: form)
        return writer.finish()
    }
}

extension ServerError {
    fileprivate init(_ error: JSONError, _ sentence: String, in bytes: UnsafeRawBufferPointer, code: ServerErrorCode) {
        let place = JSONPlace(of: error.offset, in: bytes)
        let path = [place.path, error.missingKey].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ".")
        self.init(
            code, "\(sentence) at [line: \(place.line), column: \(place.column)]", field: path.isEmpty ? nil : path,
            remedy: error.problem.text)
    }
}
