/// What a request's path has in the places of its route's `:names`.
package struct RouteParameters: Sendable {
    let request: HTTPRequest
    let route: Route?

    /// The percent-decoded text of a parameter; the rest of the path, as it came, for a `*name`.
    /// - Throws: 400 where it is malformed or empty, 500 where the route has no such parameter.
    package func require(_ name: String) throws -> String {
        guard let route, let parameter = route.parameters.first(where: { $0.name == name }) else {
            throw HTTPError(.internalServerError, "The route has no such parameter.")
        }
        guard !parameter.isTail else { return try tail(from: parameter.segment) }
        let text = try request.segment(parameter.segment)
        guard !text.isEmpty else { throw HTTPError(.badRequest, "A part of the path is empty.") }
        return text
    }

    /// A parameter as a number or any other type that reads itself from text.
    /// - Throws: as `require(_:)`, and 400 where the text does not read.
    package func require<Value: LosslessStringConvertible>(_ name: String, as type: Value.Type) throws -> Value {
        guard let value = Value(try require(name)) else { throw HTTPError(.badRequest, "A part of the path does not read.") }
        return value
    }

    /// A parameter as one of an enum's raw values.
    /// - Throws: as `require(_:)`, and 404 where there is no such value.
    package func require<Value: RawRepresentable<String>>(_ name: String, as type: Value.Type) throws -> Value {
        guard let value = Value(rawValue: try require(name)) else { throw HTTPError(.notFound, "There is nothing at this path.") }
        return value
    }

    private func tail(from segment: Int) throws -> String {
        try request.head.segments.indices.dropFirst(segment).map { try request.segment($0) }.joined(separator: "/")
    }
}
