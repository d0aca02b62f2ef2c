import NacreCloudStorage

/// The text of a record's change tag: its change number to the base 36.
///
/// CloudKit shows short strings of digits and lower-case letters. A tag never comes back, not even for a record that
/// was deleted and made again: a zone made again starts above every number that its database has used. After an older
/// copy of the data is restored, new numbers belong to another run, and no tag of the lost state is used again.
enum ChangeTag {
    package static func text(_ number: ChangeNumber) -> String {
        String(unsafeUninitializedCapacity: mostLetters) { write(number, to: $0) }
    }

    /// The most letters of a tag.
    static let mostLetters = 2 * numberBytes + 1

    /// Writes the letters of a tag, which are all ASCII.
    /// - Parameter buffer: has room for `mostLetters`.
    /// - Returns: the number of letters written.
    package static func write(_ number: ChangeNumber, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var count = 0
        // Tags of the first run keep their old form, without a run.
        if number.run > Run.first {
            count = write(number.run, to: buffer, at: count)
            buffer[count] = UInt8(ascii: "-")
            count += 1
        }
        return write(number.seq, to: buffer, at: count)
    }

    /// The most letters of one 64-bit number to the base 36, its sign included.
    private static let numberBytes = 14

    /// Writes a number to the base 36, with the digits of `String(_:radix:)` but without its string, which costs too
    /// much for every record of an answer.
    /// - Returns: the index behind the last letter.
    private static func write(_ number: Int64, to buffer: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
        let digits: StaticString = "0123456789abcdefghijklmnopqrstuvwxyz"
        var start = start
        if number < 0 {
            buffer[start] = UInt8(ascii: "-")
            start += 1
        }
        var (rest, end) = (number.magnitude, start)
        repeat {
            buffer[end] = digits.utf8Start[Int(rest % 36)]
            rest /= 36
            end += 1
        } while rest > 0
        buffer[start..<end].reverse()
        return end
    }
}
