import CNacreStart
import Foundation

/// The text of a compound predicate, which Foundation on Linux prints as "FALSEPREDICATE".
///
/// An extension cannot override Foundation's properties, and apps make compounds by Foundation's own initializers.
/// Before `main`, this class therefore replaces two entries in the method table of `NSCompoundPredicate`, if they are
/// the inherited ones. A Foundation with overrides of its own, or with another table, stays unchanged.
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

    /// The memory layout of a Swift class without Objective-C: a header, then the methods.
    private struct Table {
        /// Byte offsets, from the class's address, of its total size and of the size before that address.
        private static let sizeOffset = 32, leadOffset = 36

        let entries: UnsafeMutablePointer<UnsafeRawPointer?>
        let count: Int

        init(_ type: NSCompoundPredicate.Type) {
            let start = UnsafeMutableRawPointer(mutating: unsafeBitCast(type as AnyClass, to: UnsafeRawPointer.self))
            let bytes = start.load(fromByteOffset: Self.sizeOffset, as: UInt32.self) - start.load(fromByteOffset: Self.leadOffset, as: UInt32.self)
            entries = start.assumingMemoryBound(to: UnsafeRawPointer?.self)
            count = Int(bytes) / MemoryLayout<UnsafeRawPointer?>.stride
        }

        /// Returns the index of a method; nil if it does not occur exactly once.
        func place(of method: UnsafeRawPointer) -> Int? {
            let places = (0..<count).filter { entries[$0] == method }
            return places.count == 1 ? places[0] : nil
        }
    }
}
