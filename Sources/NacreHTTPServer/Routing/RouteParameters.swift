/// The values of a route's `:names` in a request's path.
package struct RouteParameters: Sendable {
    let request: HTTPRequest
    let route: Route?

    /// Returns the percent-decoded text of a parameter; for a `*name` the rest of the path, each segment decoded.
    /// - Throws: 400 if it is malformed or a `:name` is empty, 500 if the route has no such parameter.
    package func require(_ name: String) throws -> String {
        guard let route, let parameter = route.parameters.first(where: { $0.name == name }) else {
            throw HTTPError(.internalServerError, "The route has no such parameter.")
        }
        guard !parameter.isTail else { return try tail(from: parameter.segment) }
        let text = try request.segment(parameter.segment)
        guard !text.isEmpty else { throw HTTPError(.badRequest, "A part of the path is empty.") }
        return text
    }

    /// Returns a parameter as a number or any other type that can be parsed from text.
    /// - Throws: The errors of `require(_:)`, and 400 if the text cannot be parsed.
    package func require<Value: LosslessStringConvertible>(_ name: String, as type: Value.Type) throws -> Value {
        guard let value = Value(try require(name)) else { throw HTTPError(.badRequest, "A part of the path does not read.") }
        return value
    }

    /// Returns a parameter as one of an enum's raw values.
    /// - Throws: The errors of `require(_:)`, and 404 for any other text.
    package func require<Value: RawRepresentable<String>>(_ name: String, as type: Value.Type) throws -> Value {
        guard let value = Value(rawValue: try require(name)) else { throw HTTPError(.notFound, "There is nothing at this path.") }
        return value
    }

    private func tail(from segment: Int) throws -> String {
        try request.head.segments.indices.dropFirst(segment).map { try request.segment($0) }.joined(separator: "/")
    }
}
