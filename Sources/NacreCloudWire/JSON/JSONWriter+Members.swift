extension JSONWriter {
    package mutating func write(_ key: StaticString, _ value: String) {
        self.key(key)
        string(value)
    }

    package mutating func write(_ key: StaticString, _ value: Bool) {
        self.key(key)
        boolean(value)
    }

    package mutating func write(_ key: StaticString, _ value: Int64) {
        self.key(key)
        integer(value)
    }

    /// Writes a member.
    /// - Parameter value: Must be finite.
    package mutating func write(_ key: StaticString, _ value: Double) {
        self.key(key)
        double(value)
    }

    /// Writes a member, or nothing for nil; likewise the functions below.
    package mutating func write(ifPresent key: StaticString, _ value: String?) {
        if let value { write(key, value) }
    }

    package mutating func write(ifPresent key: StaticString, _ value: Bool?) {
        if let value { write(key, value) }
    }

    package mutating func write(ifPresent key: StaticString, _ value: Int?) {
        if let value { write(key, Int64(value)) }
    }

    package mutating func write(ifPresent key: StaticString, base64 value: [UInt8]?) {
        guard let value else { return }
        self.key(key)
        base64(value)
    }

    package mutating func write(ifPresent key: StaticString, _ names: [String]?) {
        guard let names else { return }
        write(key, names) { $0.string($1) }
    }

    @inlinable
    package mutating func write<Element>(_ key: StaticString, _ elements: [Element], _ element: (inout JSONWriter, Element) -> Void) {
        self.key(key)
        array(elements, element)
    }

    /// Writes an array.
    /// - Parameter element: Writes one element.
    @inlinable
    package mutating func array<Element>(_ elements: [Element], _ element: (inout JSONWriter, Element) -> Void) {
        beginArray()
        for next in elements { element(&self, next) }
        endArray()
    }

    package mutating func write(_ key: StaticString, _ zoneID: ZoneID, asAnswer: Bool) {
        self.key(key)
        zoneID.write(to: &self, asAnswer: asAnswer)
    }
}
