/// A record's change tag: its change number, said shortly.
///
/// CloudKit shows short strings of digits and lower-case letters. A zone made again starts above every number that its database has
/// used, so a tag never comes back, not even for a record deleted and made again. Nor does one of a state that was lost when an older copy of the
/// data was put back: what is written from then on is of another run.
enum ChangeTag {
    static func text(_ number: ChangeNumber) -> String {
        let seq = String(number.seq, radix: 36)
        // Tags from before runs were counted stay as they were given.
        return number.run <= Run.first ? seq : String(number.run, radix: 36) + "-" + seq
    }
}
