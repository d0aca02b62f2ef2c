/// A number as it stands in a document, its grammar checked.
struct JSONNumber {
    var start: Int
    var end: Int
    var isNegative: Bool
    /// Whether it has neither fraction nor exponent.
    var isInteger: Bool
    /// The first 19 significant digits, which fit 64 bits.
    var digits: UInt64
    /// Whether `digits` and `exponent` are the whole number; otherwise it has more digits, or an unreasonable
    /// exponent.
    var isExact: Bool
    /// The power of ten by which `digits` is multiplied.
    var exponent: Int
}

extension JSONReader {
    /// Reads an integer without fraction and exponent, exactly; throws beyond 64 bits.
    package mutating func int64() throws(JSONError) -> Int64 {
        try expect(.number)
        let number = try number()
        guard number.isInteger else { throw JSONError(.expectedInteger, at: number.start) }
        guard number.isExact, let value = Self.int64(number) else { throw JSONError(.integerOutOfRange, at: number.start) }
        return value
    }

    /// Reads the double nearest to the number; throws beyond the largest, and is zero below the smallest.
    package mutating func double() throws(JSONError) -> Double {
        try expect(.number)
        let number = try number()
        guard let value = double(of: number), value.isFinite else { throw JSONError(.numberOutOfRange, at: number.start) }
        return value
    }

    /// Returns whether the next number has neither fraction nor exponent; does not move past it.
    package mutating func isInteger() throws(JSONError) -> Bool {
        try expect(.number)
        let place = checkpoint
        let number = try number()
        restore(place)
        return number.isInteger
    }

    static func int64(_ number: JSONNumber) -> Int64? {
        if number.isNegative {
            guard number.digits <= Int64.min.magnitude else { return nil }
            return Int64(truncatingIfNeeded: 0 &- number.digits)
        }
        return Int64(exactly: number.digits)
    }

    func double(of number: JSONNumber) -> Double? {
        // Both are exact as doubles, so their product or quotient is rounded once: correctly.
        if number.isExact, number.digits <= 1 << 53, -22...22 ~= number.exponent {
            let power = Self.powersOfTen[Int(number.exponent.magnitude)]
            let value = number.exponent < 0 ? Double(number.digits) / power : Double(number.digits) * power
            return number.isNegative ? -value : value
        }
        return Double(String(decoding: bytes[number.start..<number.end], as: UTF8.self))
    }

    /// The powers of ten that a double holds exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]

    /// Reads the number whose first byte is at `offset`.
    mutating func number() throws(JSONError) -> JSONNumber {
        var number = JSONNumber(start: offset, end: offset, isNegative: false, isInteger: true, digits: 0, isExact: true, exponent: 0)
        if bytes[offset] == UInt8(ascii: "-") {
            number.isNegative = true
            offset += 1
        }
        if byteHere == UInt8(ascii: "0") {
            offset += 1
            if let byte = byteHere, Self.isDigit(byte) { throw JSONError(.invalidNumber, at: offset) }
        } else {
            try takeDigits(into: &number, exponentStep: 0)
        }
        if byteHere == UInt8(ascii: ".") {
            number.isInteger = false
            offset += 1
            try takeDigits(into: &number, exponentStep: -1)
        }
        if byteHere == UInt8(ascii: "e") || byteHere == UInt8(ascii: "E") {
            number.isInteger = false
            offset += 1
            try takeExponent(into: &number)
        }
        number.end = offset
        guard number.end - number.start <= Limits.numberBytes else { throw JSONError(.numberTooLong, at: number.start) }
        return number
    }

    private var byteHere: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// Reads at least one digit; each adds `exponentStep` to the exponent, which is -1 behind the point.
    @inline(__always)
    private mutating func takeDigits(into number: inout JSONNumber, exponentStep: Int) throws(JSONError) {
        let first = offset
        while offset < bytes.count {
            let byte = bytes[offset]
            guard Self.isDigit(byte) else { break }
            if number.digits < 1_000_000_000_000_000_000 {
                number.digits = number.digits * 10 + UInt64(byte - UInt8(ascii: "0"))
                number.exponent += exponentStep
            } else {
                number.isExact = false
            }
            offset += 1
        }
        guard offset > first else { throw numberError() }
    }

    private mutating func takeExponent(into number: inout JSONNumber) throws(JSONError) {
        var isNegative = false
        if byteHere == UInt8(ascii: "+") || byteHere == UInt8(ascii: "-") {
            isNegative = byteHere == UInt8(ascii: "-")
            offset += 1
        }
        let first = offset
        var value = 0
        while let byte = byteHere, Self.isDigit(byte) {
            if value < 100_000 { value = value * 10 + Int(byte - UInt8(ascii: "0")) } else { number.isExact = false }
            offset += 1
        }
        guard offset > first else { throw numberError() }
        number.exponent += isNegative ? -value : value
    }

    private func numberError() -> JSONError {
        offset < bytes.count ? JSONError(.invalidNumber, at: offset) : JSONError(.endOfInput, at: offset)
    }
}
