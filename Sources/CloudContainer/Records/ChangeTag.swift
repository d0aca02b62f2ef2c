/// A record's change tag: its change number, said shortly.
///
/// CloudKit shows short strings of digits and lower-case letters. A zone made again starts above every number that its database has
/// used, so a tag never comes back, not even for a record deleted and made again.
enum ChangeTag {
    static func text(_ number: ChangeNumber) -> String {
        let seq = String(number.seq, radix: 36)
        return number.incarnation <= 1 ? seq : String(number.incarnation, radix: 36) + "-" + seq
    }
}
