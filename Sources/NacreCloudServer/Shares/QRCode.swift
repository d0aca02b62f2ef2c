/// A text as a square that telephones read: byte mode, error correction M, versions 1 to 10 (ISO/IEC 18004).
struct QRCode {
    /// Modules on a side.
    private(set) var side: Int
    /// By rows; true is dark.
    private(set) var modules: [Bool]
    /// Those that say how the square is read, and hold nothing of the text.
    private var isFixed: [Bool]

    /// Of each version: code words that correct in a block, and blocks (ISO/IEC 18004, table 9).
    private static let blocks = [(10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5)]
    /// Code words of each version, those that correct among them.
    private static let words = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346]
    /// Where the small squares are, on both axes (annex E).
    private static let alignments = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]]

    /// nil for a text of more than 213 bytes.
    /// - Parameter mask: 0 to 7; nil: the one with the fewest runs and squares of one colour.
    init?(_ text: String, mask: Int? = nil) {
        let bytes = Array(text.utf8)
        func capacity(_ version: Int) -> Int {
            let (correcting, blocks) = Self.blocks[version - 1]
            return Self.words[version - 1] - correcting * blocks
        }
        func head(_ version: Int) -> Int { version < 10 ? 12 : 20 }
        guard let version = (1...Self.words.count).first(where: { head($0) + bytes.count * 8 <= capacity($0) * 8 }) else { return nil }
        side = 17 + 4 * version
        modules = Array(repeating: false, count: side * side)
        isFixed = modules
        drawPatterns(version)
        drawWords(Self.corrected(Self.data(bytes, words: capacity(version), countBits: head(version) - 4), Self.blocks[version - 1]))
        let plain = self
        let masked = (mask.map { [$0] } ?? Array(0..<8)).map { plain.masked($0) }
        guard let best = masked.min(by: { $0.penalty < $1.penalty }) else { return nil }
        self = best
    }

    subscript(row: Int, column: Int) -> Bool { modules[row * side + column] }

    /// The dark modules as a path of an SVG, each one unit.
    var path: String {
        (0..<side).flatMap { row in
            (0..<side).filter { self[row, $0] }.map { "M\($0) \(row)h1v1h-1z" }
        }.joined()
    }

    // MARK: Code words

    private static func data(_ bytes: [UInt8], words: Int, countBits: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) { bits += (0..<count).reversed().map { value >> $0 & 1 == 1 } }
        append(0b0100, 4)
        append(bytes.count, countBits)
        for byte in bytes { append(Int(byte), 8) }
        append(0, min(4, words * 8 - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var data = stride(from: 0, to: bits.count, by: 8).map { start in bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) } }
        var isFirst = true
        while data.count < words {
            data.append(isFirst ? 0xec : 0x11)
            isFirst.toggle()
        }
        return data
    }

    /// The data in blocks with what corrects them, woven into one another.
    private static func corrected(_ data: [UInt8], _ form: (correcting: Int, blocks: Int)) -> [UInt8] {
        let short = data.count / form.blocks
        let long = data.count % form.blocks
        var blocks: [[UInt8]] = []
        var start = 0
        for block in 0..<form.blocks {
            let count = short + (block >= form.blocks - long ? 1 : 0)
            blocks.append(Array(data[start..<start + count]))
            start += count
        }
        let divisor = divisor(form.correcting)
        let corrections = blocks.map { remainder($0, divisor) }
        return (0...short).flatMap { place in blocks.compactMap { $0.indices.contains(place) ? $0[place] : nil } }
            + (0..<form.correcting).flatMap { place in corrections.map { $0[place] } }
    }

    private static func divisor(_ degree: Int) -> [UInt8] {
        var result = Array(repeating: UInt8(0), count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for place in result.indices {
                result[place] = multiply(result[place], root)
                if place + 1 < degree { result[place] ^= result[place + 1] }
            }
            root = multiply(root, 2)
        }
        return result
    }

    private static func remainder(_ data: [UInt8], _ divisor: [UInt8]) -> [UInt8] {
        var result = Array(repeating: UInt8(0), count: divisor.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for place in result.indices { result[place] ^= multiply(divisor[place], factor) }
        }
        return result
    }

    /// In the field of 256 elements by x⁸ + x⁴ + x³ + x² + 1.
    private static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) * 0x11d
            product ^= Int(right >> UInt8(bit) & 1) * Int(left)
        }
        return UInt8(truncatingIfNeeded: product)
    }

    // MARK: The square

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        modules[row * side + column] = isDark
        isFixed[row * side + column] = true
    }

    private mutating func drawPatterns(_ version: Int) {
        for place in 0..<side {
            fix(6, place, place % 2 == 0)
            fix(place, 6, place % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, side - 4), (side - 4, 3)] {
            for down in -4...4 {
                for right in -4...4 {
                    let distance = max(abs(down), abs(right))
                    let (row, column) = (row + down, column + right)
                    if (0..<side).contains(row), (0..<side).contains(column) { fix(row, column, distance != 2 && distance != 4) }
                }
            }
        }
        let centres = Self.alignments[version - 1]
        let corners: Set = [[6, 6], [6, side - 7], [side - 7, 6]]
        for row in centres {
            for column in centres where !corners.contains([row, column]) {
                for down in -2...2 {
                    for right in -2...2 { fix(row + down, column + right, max(abs(down), abs(right)) != 1) }
                }
            }
        }
        drawFormat(mask: 0)
        guard version >= 7 else { return }
        let bits = version << 12 | Self.check(version << 12, by: 0x1f25, bits: 12)
        for bit in 0..<18 {
            let (far, near) = (side - 11 + bit % 3, bit / 3)
            fix(far, near, bits >> bit & 1 == 1)
            fix(near, far, bits >> bit & 1 == 1)
        }
    }

    /// Which mask there is, twice, with error correction M, whose bits are 0.
    private mutating func drawFormat(mask: Int) {
        let bits = (mask << 10 | Self.check(mask << 10, by: 0x537, bits: 10)) ^ 0x5412
        func isDark(_ bit: Int) -> Bool { bits >> bit & 1 == 1 }
        for bit in 0...5 { fix(bit, 8, isDark(bit)) }
        fix(7, 8, isDark(6))
        fix(8, 8, isDark(7))
        fix(8, 7, isDark(8))
        for bit in 9..<15 { fix(8, 14 - bit, isDark(bit)) }
        for bit in 0..<8 { fix(8, side - 1 - bit, isDark(bit)) }
        for bit in 8..<15 { fix(side - 15 + bit, 8, isDark(bit)) }
        fix(side - 8, 8, true)
    }

    /// What is left of a number divided by a polynomial (BCH).
    private static func check(_ number: Int, by divisor: Int, bits: Int) -> Int {
        var rest = number
        while rest >> bits != 0 { rest ^= divisor << (rest.bitWidth - rest.leadingZeroBitCount - bits - 1) }
        return rest
    }

    /// In columns of two from the right, up and down in turns.
    private mutating func drawWords(_ words: [UInt8]) {
        var bit = 0
        for right in stride(from: side - 1, through: 1, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }) {
            let isUp = (right + 1) & 2 == 0
            for step in 0..<side {
                for column in [right, right - 1] {
                    let place = (isUp ? side - 1 - step : step) * side + column
                    guard !isFixed[place], bit < words.count * 8 else { continue }
                    modules[place] = words[bit / 8] >> UInt8(7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    private func masked(_ mask: Int) -> QRCode {
        var code = self
        for row in 0..<side {
            for column in 0..<side where !isFixed[row * side + column] {
                let isTurned =
                    switch mask {
                    case 0: (row + column) % 2 == 0
                    case 1: row % 2 == 0
                    case 2: column % 3 == 0
                    case 3: (row + column) % 3 == 0
                    case 4: (row / 2 + column / 3) % 2 == 0
                    case 5: row * column % 2 + row * column % 3 == 0
                    case 6: (row * column % 2 + row * column % 3) % 2 == 0
                    default: ((row + column) % 2 + row * column % 3) % 2 == 0
                    }
                if isTurned { code.modules[row * side + column].toggle() }
            }
        }
        code.drawFormat(mask: mask)
        return code
    }

    /// Runs of five and more, and squares of four of one colour (7.8.3, the first two features).
    private var penalty: Int {
        var penalty = 0
        for line in 0..<side {
            for isRow in [true, false] {
                var (run, last) = (0, false)
                for place in 0..<side {
                    let isDark = isRow ? self[line, place] : self[place, line]
                    run = isDark == last ? run + 1 : 1
                    last = isDark
                    if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
                }
            }
        }
        for row in 0..<side - 1 {
            for column in 0..<side - 1 {
                let dark = [self[row, column + 1], self[row + 1, column], self[row + 1, column + 1]].filter { $0 }.count
                if dark == (self[row, column] ? 3 : 0) { penalty += 3 }
            }
        }
        return penalty
    }
}
