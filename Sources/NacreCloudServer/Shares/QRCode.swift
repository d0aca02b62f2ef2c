/// A text as a QR code: byte mode, error correction M, versions 1 to 10 (ISO/IEC 18004).
///
/// A row of the square is a number, whose bit `n` is column `n`, so that each of the eight masks is tried on whole
/// rows. The largest square takes 0.13 ms including its path, a usual URL's half of that.
struct QRCode {
    /// Modules on a side, at most 57.
    private(set) var side: Int
    /// Rows of modules; a set bit is a dark module.
    private(set) var rows: [UInt64]
    /// Modules of the patterns, which hold no data.
    private var fixed: [UInt64]

    /// Error correction code words for each block, and the number of blocks, by version (ISO/IEC 18004, table 9).
    private static let blocks = [(10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5)]
    /// Code words of each version, including those for error correction.
    private static let words = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346]
    /// Centres of the alignment patterns on both axes (annex E).
    private static let alignments = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]]

    /// Encodes a text; nil for more than 213 bytes.
    /// - Parameter mask: 0 to 7; nil: the one with the lowest penalty.
    init?(_ text: String, mask: Int? = nil) {
        let bytes = Array(text.utf8)
        func capacity(_ version: Int) -> Int {
            let (correcting, blocks) = Self.blocks[version - 1]
            return Self.words[version - 1] - correcting * blocks
        }
        func head(_ version: Int) -> Int { version < 10 ? 12 : 20 }
        guard let version = (1...Self.words.count).first(where: { head($0) + bytes.count * 8 <= capacity($0) * 8 }) else { return nil }
        side = 17 + 4 * version
        rows = Array(repeating: 0, count: side)
        fixed = rows
        drawPatterns(version)
        drawWords(Self.corrected(Self.data(bytes, words: capacity(version), countBits: head(version) - 4), Self.blocks[version - 1]))
        let plain = self
        var least = Int.max
        for mask in mask.map({ $0...$0 }) ?? 0...7 {
            let masked = plain.masked(mask)
            let penalty = masked.penalty
            if penalty < least { (self, least) = (masked, penalty) }
        }
    }

    subscript(row: Int, column: Int) -> Bool { rows[row] >> UInt64(column) & 1 == 1 }

    /// The dark modules as a path of an SVG with a unit for each module: a rectangle for each run in a row.
    var path: String {
        var path: [UInt8] = []
        path.reserveCapacity(side * side * 5)
        func append(_ number: Int) {
            if number >= 10 { path.append(UInt8(ascii: "0") + UInt8(number / 10)) }
            path.append(UInt8(ascii: "0") + UInt8(number % 10))
        }
        for (index, row) in rows.enumerated() {
            var (rest, column) = (row, 0)
            while rest != 0 {
                let gap = rest.trailingZeroBitCount
                let run = (~(rest >> UInt64(gap))).trailingZeroBitCount
                path.append(UInt8(ascii: "M"))
                append(column + gap)
                path.append(UInt8(ascii: " "))
                append(index)
                path.append(UInt8(ascii: "h"))
                append(run)
                for letter in [UInt8(ascii: "v"), UInt8(ascii: "1"), UInt8(ascii: "h"), UInt8(ascii: "-")] { path.append(letter) }
                append(run)
                path.append(UInt8(ascii: "z"))
                rest >>= UInt64(gap + run)
                column += gap + run
            }
        }
        return String(decoding: path, as: UTF8.self)
    }

    // MARK: Code words

    private static func data(_ bytes: [UInt8], words: Int, countBits: Int) -> [UInt8] {
        var data: [UInt8] = []
        data.reserveCapacity(words)
        // The four bits of the mode come first, so all further bytes lie across two words.
        var waiting = UInt8(0b0100)
        func append(_ byte: UInt8) {
            data.append(waiting << 4 | byte >> 4)
            waiting = byte & 0xf
        }
        if countBits > 8 { append(UInt8(bytes.count >> 8)) }
        append(UInt8(truncatingIfNeeded: bytes.count))
        for byte in bytes { append(byte) }
        data.append(waiting << 4)
        var isFirst = true
        while data.count < words {
            data.append(isFirst ? 0xec : 0x11)
            isFirst.toggle()
        }
        return data
    }

    /// The data in blocks with their error correction, interleaved.
    private static func corrected(_ data: [UInt8], _ form: (correcting: Int, blocks: Int)) -> [UInt8] {
        let short = data.count / form.blocks
        let long = data.count % form.blocks
        var blocks: [ArraySlice<UInt8>] = []
        var start = 0
        for block in 0..<form.blocks {
            let count = short + (block >= form.blocks - long ? 1 : 0)
            blocks.append(data[start..<start + count])
            start += count
        }
        let divisor = divisor(form.correcting)
        let corrections = blocks.map { remainder($0, divisor) }
        var woven: [UInt8] = []
        woven.reserveCapacity(data.count + form.correcting * form.blocks)
        for index in 0...short {
            for block in blocks where index < block.count { woven.append(block[block.startIndex + index]) }
        }
        for index in 0..<form.correcting {
            for correction in corrections { woven.append(correction[index]) }
        }
        return woven
    }

    private static func divisor(_ degree: Int) -> [UInt8] {
        var result = Array(repeating: UInt8(0), count: degree - 1) + [1]
        for root in 0..<degree {
            for index in result.indices {
                result[index] = multiply(result[index], powers[root])
                if index + 1 < degree { result[index] ^= result[index + 1] }
            }
        }
        return result
    }

    private static func remainder(_ data: ArraySlice<UInt8>, _ divisor: [UInt8]) -> [UInt8] {
        let last = divisor.count - 1
        var result = Array(repeating: UInt8(0), count: divisor.count)
        for byte in data {
            let factor = byte ^ result[0]
            for index in 0..<last { result[index] = result[index + 1] ^ multiply(divisor[index], factor) }
            result[last] = multiply(divisor[last], factor)
        }
        return result
    }

    /// The powers of x in the field of 256 elements modulo x⁸ + x⁴ + x³ + x² + 1, twice in a row.
    private static let powers: [UInt8] = {
        var powers: [UInt8] = []
        var power = 1
        for _ in 0..<510 {
            powers.append(UInt8(power))
            power <<= 1
            if power > 0xff { power ^= 0x11d }
        }
        return powers
    }()

    /// The exponents of x by element; the entry of 0 is meaningless.
    private static let exponents: [UInt8] = {
        var exponents = Array(repeating: UInt8(0), count: 256)
        for exponent in 0..<255 { exponents[Int(powers[exponent])] = UInt8(exponent) }
        return exponents
    }()

    private static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        if left == 0 || right == 0 { return 0 }
        return powers[Int(exponents[Int(left)]) + Int(exponents[Int(right)])]
    }

    // MARK: The square

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        let bit = UInt64(1) << UInt64(column)
        if isDark { rows[row] |= bit } else { rows[row] &= ~bit }
        fixed[row] |= bit
    }

    private mutating func drawPatterns(_ version: Int) {
        for index in 0..<side {
            fix(6, index, index % 2 == 0)
            fix(index, 6, index % 2 == 0)
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

    /// Draws the mask's number twice, with error correction M, whose bits are 0.
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

    /// The remainder of a number divided by a polynomial (BCH).
    private static func check(_ number: Int, by divisor: Int, bits: Int) -> Int {
        var rest = number
        while rest >> bits != 0 { rest ^= divisor << (rest.bitWidth - rest.leadingZeroBitCount - bits - 1) }
        return rest
    }

    /// Draws the code words in columns of two modules from the right, alternately up and down.
    private mutating func drawWords(_ words: [UInt8]) {
        var bit = 0
        for right in stride(from: side - 1, through: 1, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }) {
            let isUp = (right + 1) & 2 == 0
            for step in 0..<side {
                let row = isUp ? side - 1 - step : step
                for column in stride(from: right, through: right - 1, by: -1) {
                    guard fixed[row] >> UInt64(column) & 1 == 0, bit < words.count * 8 else { continue }
                    rows[row] |= UInt64(words[bit / 8] >> UInt8(7 - bit % 8) & 1) << UInt64(column)
                    bit += 1
                }
            }
        }
    }

    /// The modules that each mask inverts, by mask and row: rows repeat after twelve (ISO/IEC 18004, table 10).
    private static let masks: [[UInt64]] = (0..<8).map { mask in
        (0..<12).map { row in
            (0..<64).reduce(0) { turned, column in
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
                return isTurned ? turned | 1 << UInt64(column) : turned
            }
        }
    }

    private func masked(_ mask: Int) -> QRCode {
        var code = self
        let turned = Self.masks[mask]
        let all = UInt64(1) << UInt64(side) - 1
        for row in 0..<side { code.rows[row] ^= turned[row % 12] & ~fixed[row] & all }
        code.drawFormat(mask: mask)
        return code
    }

    /// The penalty for runs of five modules and more, and for squares of four of one colour (7.8.3, the first two
    /// features).
    private var penalty: Int {
        let pairs = UInt64(1) << UInt64(side - 1) - 1
        let all = UInt64(1) << UInt64(side) - 1
        /// A run of five has four equal neighbours and costs three points; each module beyond five costs one more.
        func points(_ fives: UInt64, before: UInt64) -> Int { fives.nonzeroBitCount + 2 * (fives & ~before).nonzeroBitCount }
        var (penalty, fivesAbove) = (0, UInt64(0))
        for row in 0..<side {
            let across = ~(rows[row] ^ rows[row] >> 1) & pairs
            let fives = across & across >> 1 & across >> 2 & across >> 3
            penalty += points(fives, before: fives << 1)
            guard row + 1 < side else { continue }
            let below = ~(rows[row + 1] ^ rows[row + 1] >> 1)
            penalty += 3 * (across & below & ~(rows[row] ^ rows[row + 1])).nonzeroBitCount
            guard row + 4 < side else { continue }
            let unlike = (1...4).reduce(UInt64(0)) { $0 | (rows[row] ^ rows[row + $1]) }
            penalty += points(~unlike & all, before: fivesAbove)
            fivesAbove = ~unlike & all
        }
        return penalty
    }
}
