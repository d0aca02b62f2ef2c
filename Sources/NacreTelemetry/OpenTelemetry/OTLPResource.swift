/// The value of an attribute of OpenTelemetry.
package enum OTLPAttribute: Sendable, Hashable {
    case text(String)
    case integer(Int64)
}

/// The sender of telemetry: a service, as its attributes name it.
package struct OTLPResource: Sendable {
    /// Attributes in the order in which they are sent. Names differ.
    package var attributes: [(name: String, value: OTLPAttribute)]
    /// The version of the program that measures.
    package var version: String

    package init(attributes: [(name: String, value: OTLPAttribute)], version: String) {
        (self.attributes, self.version) = (attributes, version)
    }

    /// Returns the request of an export: what the signals share around their own list.
    /// - Parameters:
    ///   - signal: `Spans` or `Metrics`, as the JSON names are built with it.
    ///   - items: the spans or metrics.
    func request(_ signal: String, _ items: [OTLPMessage]) -> OTLPMessage {
        var (resource, scope, ofScope, ofResource, request) = (OTLPMessage(), OTLPMessage(), OTLPMessage(), OTLPMessage(), OTLPMessage())
        resource.addAttributes(1, attributes)
        scope.add(1, "name", .text("nacre"))
        scope.add(2, "version", .text(version))
        ofScope.add(1, "scope", .message(scope))
        ofScope.add(2, signal.lowercased(), .messages(items))
        ofResource.add(1, "resource", .message(resource))
        ofResource.add(2, "scope\(signal)", .messages([ofScope]))
        request.add(1, "resource\(signal)", .messages([ofResource]))
        return request
    }
}

extension OTLPMessage {
    /// Adds a list of attributes (`KeyValue`).
    mutating func addAttributes(_ number: UInt32, _ attributes: [(name: String, value: OTLPAttribute)]) {
        let messages = attributes.map { name, value in
            var (any, pair) = (OTLPMessage(), OTLPMessage())
            switch value {
            case .text(let text): any.add(1, "stringValue", .text(text))
            case .integer(let number): any.add(3, "intValue", .integer(number))
            }
            pair.add(1, "key", .text(name))
            pair.add(2, "value", .message(any))
            return pair
        }
        add(number, "attributes", .messages(messages))
    }
}
