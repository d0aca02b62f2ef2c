import CNacreStart
import Foundation

/// What a compound prints in place of "FALSEPREDICATE", which is all that Foundation on Linux says of one.
///
/// No extension can come before a property of Foundation's, and apps make their compounds by Foundation's own initializers. So, before `main`,
/// two entries in the method table of `NSCompoundPredicate` are replaced by those of this class: where they are what the class inherits, and
/// nowhere else. A Foundation that knows better, or has another table, is left alone.
private class PrintingCompound: NSCompoundPredicate {
    override var predicateFormat: String { PredicateFormat.text(PredicateTree(self)) }
    override var description: String { PredicateFormat.text(PredicateTree(self)) }
}

enum CompoundPrinting {
    static func install() {
        let inherited = [nacre_inherited_predicate_format(), nacre_inherited_description()].compactMap { $0 }
        let (ours, theirs) = (Table(PrintingCompound.self), Table(NSCompoundPredicate.self))
        for method in inherited {
            guard let place = theirs.place(of: method), place < ours.count, ours.entries[place] != method else { continue }
            theirs.entries[place] = ours.entries[place]
        }
    }

    /// A class as Swift lays it out where there is no Objective-C: its header, and then its methods.
    private struct Table {
        /// Bytes from the class's address to the size of the whole, and to how much of it stands before that address.
        private static let sizeOffset = 32, leadOffset = 36

        let entries: UnsafeMutablePointer<UnsafeRawPointer?>
        let count: Int

        init(_ type: NSCompoundPredicate.Type) {
            let start = UnsafeMutableRawPointer(mutating: unsafeBitCast(type as AnyClass, to: UnsafeRawPointer.self))
            let bytes = start.load(fromByteOffset: Self.sizeOffset, as: UInt32.self) - start.load(fromByteOffset: Self.leadOffset, as: UInt32.self)
            entries = start.assumingMemoryBound(to: UnsafeRawPointer?.self)
            count = Int(bytes) / MemoryLayout<UnsafeRawPointer?>.stride
        }

        /// nil where there is not exactly one.
        func place(of method: UnsafeRawPointer) -> Int? {
            let places = (0..<count).filter { entries[$0] == method }
            return places.count == 1 ? places[0] : nil
        }
    }
}
