/// A record's change tag: its change number, said shortly.
///
/// CloudKit shows short strings of digits and lower-case letters. A zone made again starts above every number that its database has
/// used, so a tag never comes back, not even for a record deleted and made again. Nor does one of a state that was lost when an older copy of the
/// data was put back: what is written from then on is of another run.
enum ChangeTag {
    static func text(_ number: ChangeNumber) -> String {
        String(unsafeUninitializedCapacity: mostLetters) { write(number, to: $0) }
    }

    /// Of a tag.
    static let mostLetters = 2 * numberBytes + 1

    /// Writes the letters of a tag, which are all ASCII.
    /// - Parameter buffer: has room for `mostLetters`.
    /// - Returns: how many they are.
    static func write(_ number: ChangeNumber, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var count = 0
        // Tags from before runs were counted stay as they were given.
        if number.run > Run.first {
            count = write(number.run, to: buffer, at: count)
            buffer[count] = UInt8(ascii: "-")
            count += 1
        }
        return write(number.seq, to: buffer, at: count)
    }

    /// Of a number of 64 bits, its sign included.
    private static let numberBytes = 14

    /// To the base 36, as `String(_:radix:)` writes it: that makes a text of each number, which for every record of an answer is too much.
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
