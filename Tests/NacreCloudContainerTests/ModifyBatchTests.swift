import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules that connect the operations of a batch: parents, and atomicity.
@Suite struct ModifyBatchTests {
    enum Fate: Hashable { case saved, deleted, nothing, noParent, ring, hasChildren, refused, fell }

    private func settled(
        _ operations: [RecordOperation], over stored: [StoredRecord] = [], parentsOutside: Set<String> = [], atomic: Bool = false
    ) -> [Fate] {
        batch(operations, over: stored, parentsOutside: parentsOutside, atomic: atomic).verdicts.map(fate)
    }

    private func batch(
        _ operations: [RecordOperation], over stored: [StoredRecord] = [], parentsOutside: Set<String> = [], atomic: Bool = false
    ) -> ModifyBatch {
        var batch = ModifyBatch(operations, over: stored)
        batch.settle(within: CascadeReach(heldOutside: parentsOutside.intersection(batch.deletedNames)))
        if atomic { _ = batch.settleAtomically() }
        return batch
    }

    private func fate(of verdict: RecordVerdict) -> Fate {
        switch verdict {
        case .save: .saved
        case .delete: .deleted
        case .nothing: .nothing
        case .refuse(let error):
            switch error.reason {
            case ServerError.parentNotFound("").reason: .noParent
            case ServerError.parentRing.reason: .ring
            case _ where error.reason.hasPrefix("Record delete would violate validating reference"): .hasChildren
            case ServerError.atomicFailure.reason: .fell
            default: .refused
            }
        }
    }

    private func child(_ name: String, of parent: String?, seq: Int64 = 1) -> StoredRecord {
        .sample(name, seq: seq, parent: parent)
    }

    @Test func `a parent is saved in the batch, before or after its child, or is there already`() {
        #expect(settled([.create("p"), .create("c", parent: "p")]) == [.saved, .saved])
        #expect(settled([.create("c", parent: "p"), .create("p")]) == [.saved, .saved])
        #expect(settled([.create("c", parent: "p")], over: [child("p", of: nil)]) == [.saved])
    }

    @Test func `a parent that is missing, a tombstone, refused or deleted in the batch holds nothing`() {
        #expect(settled([.create("c", parent: "p")]) == [.noParent])
        #expect(settled([.create("c", parent: "p")], over: [.sample("p", seq: 1, isTombstone: true)]) == [.noParent])
        #expect(settled([.create("c", parent: "p"), .make(.create, "p", type: nil)]) == [.noParent, .refused])
        #expect(settled([.make(.create, "p", type: nil), .create("c", parent: "p")]) == [.refused, .noParent])
        #expect(settled([.create("c", parent: "p"), .delete("p")]) == [.noParent, .nothing])
    }

    @Test func `a parent that is there stays one when its own save is refused`() {
        #expect(settled([.create("c", parent: "p"), .create("p")], over: [child("p", of: nil)]) == [.saved, .refused])
    }

    @Test(arguments: [true, false]) func `a child given to a parent that the batch deletes wins, in either order`(childFirst: Bool) {
        let child = RecordOperation.create("c", parent: "p")
        let fates = settled(childFirst ? [child, .delete("p")] : [.delete("p"), child], over: [self.child("p", of: nil)])
        #expect(fates == (childFirst ? [.saved, .hasChildren] : [.hasChildren, .saved]))
    }

    @Test func `a parent goes with its children or after they were given away, and never before`() {
        let stored = [child("p", of: nil), child("c", of: "p")]
        #expect(settled([.delete("p"), .delete("c")], over: stored) == [.deleted, .deleted])
        #expect(settled([.delete("c"), .delete("p")], over: stored) == [.deleted, .deleted])
        #expect(settled([.delete("p")], over: [child("p", of: nil)], parentsOutside: ["p"]) == [.hasChildren])
        let cleared = RecordOperation.make(.forceUpdate, "c", parent: .clear)
        #expect(settled([.delete("p"), cleared], over: stored) == [.deleted, .saved])
        #expect(settled([.delete("p"), .update("c")], over: stored) == [.hasChildren, .saved])
        let moved = RecordOperation.make(.forceUpdate, "c", parent: .set(Reference(recordName: "q", action: .none)))
        #expect(settled([.delete("p"), moved, .create("q")], over: stored) == [.deleted, .saved, .saved])
        #expect(settled([.delete("p"), moved], over: stored) == [.hasChildren, .noParent])
    }

    @Test(arguments: [true, false]) func `a child whose deletion is refused keeps its parent, whatever the order`(parentFirst: Bool) {
        let stored = [child("p", of: nil), child("c", of: "p", seq: 4)]
        let stale = RecordOperation.make(.delete, "c", type: nil, tag: "zz")
        let fates = settled(parentFirst ? [.delete("p"), stale] : [stale, .delete("p")], over: stored)
        #expect(fates == (parentFirst ? [.hasChildren, .refused] : [.refused, .hasChildren]))
    }

    @Test(arguments: [true, false]) func `a chain without its first link falls whole, in any order`(reversed: Bool) {
        let chain = (1...100).map { RecordOperation.create("r\($0)", parent: "r\($0 - 1)") }
        #expect(settled(reversed ? chain.reversed() : chain) == Array(repeating: .noParent, count: 100))
        let whole = [.create("r0")] + chain
        #expect(settled(reversed ? whole.reversed() : whole) == Array(repeating: .saved, count: 101))
    }

    @Test(arguments: [true, false]) func `a chain is deleted whole, or not above a child that stays`(reversed: Bool) {
        let stored = (0..<50).map { child("r\($0)", of: $0 == 0 ? nil : "r\($0 - 1)") }
        let all = (0..<50).map { RecordOperation.delete("r\($0)") }
        #expect(settled(reversed ? all.reversed() : all, over: stored) == Array(repeating: .deleted, count: 50))
        let held = settled(reversed ? all.reversed() : all, over: stored, parentsOutside: ["r49"])
        #expect(held == Array(repeating: .hasChildren, count: 50))
        let part = settled(all, over: stored, parentsOutside: ["r10"])
        #expect(part == Array(repeating: .hasChildren, count: 11) + Array(repeating: .deleted, count: 39))
    }

    @Test func `a ring of parents is refused, but for members that were in it before, and one that is stored can be deleted whole`() {
        #expect(settled([.create("a", parent: "b"), .create("b", parent: "a")]) == [.ring, .ring])
        #expect(settled([.create("a", parent: "a")]) == [.ring])
        #expect(settled([.create("x", parent: "a"), .create("a", parent: "b"), .create("b", parent: "a")]) == [.noParent, .ring, .ring])
        let moved = RecordOperation.make(.forceUpdate, "a", parent: .set(Reference(recordName: "b", action: .none)))
        #expect(settled([.update("b"), moved], over: [child("a", of: nil), child("b", of: "a")]) == [.saved, .ring])
        let stored = [child("a", of: "b"), child("b", of: "a")]
        #expect(settled([.delete("a"), .delete("b")], over: stored) == [.deleted, .deleted])
        #expect(settled([.delete("a"), .make(.delete, "b", type: nil, tag: "zz")], over: stored) == [.hasChildren, .refused])
    }

    @Test func `one refusal takes an atomic batch with it, deletions of nothing too, and keeps its own reason`() {
        let operations: [RecordOperation] = [.create("a"), .create("p"), .delete("gone"), .create("c", parent: "nobody")]
        #expect(settled(operations, over: [child("p", of: nil)], atomic: true) == [.fell, .refused, .fell, .noParent])
        #expect(settled([.create("a"), .delete("gone")], atomic: true) == [.saved, .nothing])
    }

    @Test func `parents outside the batch are touched by children that are saved, once each and in order`() {
        let stored = [child("p", of: nil), child("q", of: nil), child("c", of: "q"), .sample("t", seq: 1, isTombstone: true)]
        let operations: [RecordOperation] = [.create("x", parent: "p"), .create("y", parent: "p"), .update("c"), .create("z", parent: "t")]
        #expect(batch(operations, over: stored).touchedParents.map(\.row.name) == ["p", "q"])
        #expect(batch([.create("x", parent: "p"), .update("p")], over: stored).touchedParents.isEmpty)
        #expect(batch([.create("x", parent: "p"), .create("p")], over: stored).touchedParents.map(\.row.name) == ["p"])
        #expect(batch([.delete("c")], over: stored).touchedParents.isEmpty)
    }
}
