import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// A batch over a small set of records with references, and its outcome by the rules, in any order of its operations.
struct CascadeRow: Sendable, CustomTestStringConvertible {
    enum Fate: Hashable, Sendable {
        case saved, deleted, nothing
        /// This record, or one that would be deleted with it, is held by the named one.
        case held(String)
        /// Its target does not exist, or is deleted.
        case noTarget
        /// Refused by itself, independently of the batch.
        case refused
    }

    var title: String
    /// The records before the batch.
    var world: [RecordOperation]
    var batch: [(operation: RecordOperation, fate: Fate)]
    /// The records after it, including new ones.
    var living: Set<String>
    var testDescription: String { title }

    init(
        _ title: String, _ world: [RecordOperation], _ batch: [(RecordOperation, Fate)], living: Set<String>
    ) {
        self.title = title
        self.world = world
        self.batch = batch.map { (operation: $0.0, fate: $0.1) }
        self.living = living
    }
}

extension RecordOperation {
    /// Returns an operation that is refused for its version.
    fileprivate static func stale(_ name: String) -> RecordOperation { make(.update, name, tag: "stale") }
    fileprivate static func staleDeletion(_ name: String) -> RecordOperation { make(.delete, name, type: nil, tag: "stale") }
}

extension CascadeRow {
    static let rows = owning + shapes + validating + mixed + redirected + refused

    private static let pair: [RecordOperation] = [.create("t"), .holder("h", of: ["t"])]
    private static let chain: [RecordOperation] = pair + [.holder("i", of: ["h"]), .holder("j", of: ["i"])]
    private static let circle: [RecordOperation] = [.holder("a", of: ["c"]), .holder("b", of: ["a"]), .holder("c", of: ["b"])]
    private static let diamond: [RecordOperation] = [
        .create("t"), .holder("a", of: ["t"]), .holder("b", of: ["t"]), .holder("d", of: ["a", "b"]),
    ]
    private static let validated: [RecordOperation] = [.create("t"), .create("u"), .holder("v", validates: ["t"])]

    private static let owning: [CascadeRow] = [
        CascadeRow("a holder goes alone", pair, [(.delete("h"), .deleted)], living: ["t"]),
        CascadeRow("a holder goes with its target", pair, [(.delete("t"), .deleted)], living: []),
        CascadeRow("both are deleted", pair, [(.delete("h"), .deleted), (.delete("t"), .deleted)], living: []),
        CascadeRow("a target is saved and its holder deleted", pair, [(.update("t"), .saved), (.delete("h"), .deleted)], living: ["t"]),
        CascadeRow("what is not there takes nobody", pair, [(.delete("none"), .nothing)], living: ["t", "h"]),
        CascadeRow(
            "a reference that only points takes nobody",
            [.create("t"), .make(.create, "p", ["ref": .reference(Reference(recordName: "t", action: .none))])], [(.delete("t"), .deleted)],
            living: ["p"]),
    ]

    private static let shapes: [CascadeRow] = [
        CascadeRow("a chain goes from its end", chain, [(.delete("t"), .deleted)], living: []),
        CascadeRow("a chain goes from its middle", chain, [(.delete("i"), .deleted)], living: ["t", "h"]),
        CascadeRow("a chain goes from two places", chain, [(.delete("t"), .deleted), (.delete("i"), .deleted)], living: []),
        CascadeRow("a circle goes whole", circle, [(.delete("b"), .deleted)], living: []),
        CascadeRow("a circle is deleted whole", circle, ["a", "b", "c"].map { (.delete($0), .deleted) }, living: []),
        CascadeRow(
            "a circle is opened, and goes up to there", circle, [(.delete("a"), .deleted), (.holder("c"), .saved)], living: ["c"]),
        CascadeRow("a record that holds itself goes", [.holder("s", of: ["s"])], [(.delete("s"), .deleted)], living: []),
        CascadeRow("a diamond goes whole", diamond, [(.delete("t"), .deleted)], living: []),
        CascadeRow("one way is enough", diamond, [(.delete("a"), .deleted)], living: ["t", "b"]),
        CascadeRow(
            "one way is enough, though the other stays", diamond, [(.delete("t"), .deleted), (.holder("a"), .saved)], living: ["a"]),
        CascadeRow(
            "both ways are closed", diamond, [(.delete("t"), .deleted), (.holder("a"), .saved), (.holder("b"), .saved)], living: ["a", "b", "d"]),
        CascadeRow(
            "the far end turns away", diamond, [(.delete("t"), .deleted), (.holder("d"), .saved)], living: ["d"]),
    ]

    private static let validating: [CascadeRow] = [
        CascadeRow("what is validated stays", validated, [(.delete("t"), .held("t"))], living: ["t", "u", "v"]),
        CascadeRow("who validates goes alone", validated, [(.delete("v"), .deleted)], living: ["t", "u"]),
        CascadeRow("both are deleted", validated, [(.delete("t"), .deleted), (.delete("v"), .deleted)], living: ["u"]),
        CascadeRow("who validates is saved and keeps it", validated, [(.delete("t"), .held("t")), (.update("v"), .saved)], living: ["t", "u", "v"]),
        CascadeRow("who validates gives it up", validated, [(.delete("t"), .deleted), (.holder("v"), .saved)], living: ["u", "v"]),
        CascadeRow(
            "somebody new validates", validated, [(.delete("u"), .held("u")), (.holder("w", validates: ["u"]), .saved)],
            living: ["t", "u", "v", "w"]),
        CascadeRow("who validates itself goes", [.holder("s", validates: ["s"])], [(.delete("s"), .deleted)], living: []),
        CascadeRow(
            "two validate each other", [.holder("a", validates: ["b"]), .holder("b", validates: ["a"])],
            [(.delete("a"), .deleted), (.delete("b"), .deleted)], living: []),
        CascadeRow(
            "one of two that validate each other", [.holder("a", validates: ["b"]), .holder("b", validates: ["a"])], [(.delete("a"), .held("a"))],
            living: ["a", "b"]),
    ]

    private static let mixed: [CascadeRow] = [
        CascadeRow(
            "a holder validates its target", [.create("t"), .holder("h", of: ["t"], validates: ["t"])], [(.delete("t"), .deleted)], living: []),
        CascadeRow("one holder validates the other", pair + [.holder("g", of: ["t"], validates: ["h"])], [(.delete("t"), .deleted)], living: []),
        CascadeRow(
            "one holder validates the other, which is deleted alone", pair + [.holder("g", of: ["t"], validates: ["h"])],
            [(.delete("h"), .held("h"))], living: ["t", "h", "g"]),
        CascadeRow(
            "the end of a chain validates its begin", chain + [.holder("k", of: ["j"], validates: ["t"])], [(.delete("t"), .deleted)], living: []),
        CascadeRow("a stranger validates a holder", pair + [.holder("v", validates: ["h"])], [(.delete("t"), .held("h"))], living: ["t", "h", "v"]),
        CascadeRow(
            "a stranger validates the end of a chain", chain + [.holder("v", validates: ["j"])], [(.delete("t"), .held("j"))],
            living: ["t", "h", "i", "j", "v"]),
        CascadeRow(
            "a stranger validates a part of the chain, and what hangs on it goes alone", chain + [.holder("v", validates: ["h"])],
            [(.delete("t"), .held("h")), (.delete("i"), .deleted)], living: ["t", "h", "v"]),
        CascadeRow(
            "the stranger goes too", pair + [.holder("v", validates: ["h"])], [(.delete("t"), .deleted), (.delete("v"), .deleted)], living: []),
        CascadeRow(
            "the stranger hangs on another that goes", pair + [.create("s"), .holder("v", of: ["s"], validates: ["h"])],
            [(.delete("t"), .deleted), (.delete("s"), .deleted)], living: []),
        CascadeRow(
            "the stranger hangs on another that must stay",
            pair + [.create("s"), .holder("v", of: ["s"], validates: ["h"]), .holder("w", validates: ["s"])],
            [(.delete("t"), .held("h")), (.delete("s"), .held("s"))], living: ["t", "h", "s", "v", "w"]),
        CascadeRow(
            "a held holder keeps all of its targets", [.create("t"), .create("u"), .holder("h", of: ["t", "u"]), .holder("v", validates: ["h"])],
            [(.delete("t"), .held("h")), (.delete("u"), .held("h"))], living: ["t", "u", "h", "v"]),
        CascadeRow(
            "a held holder does not keep others' targets", pair + [.holder("v", validates: ["h"]), .create("o"), .holder("x", of: ["o"])],
            [(.delete("t"), .held("h")), (.delete("o"), .deleted)], living: ["t", "h", "v"]),
        CascadeRow("a holder is a child too", [.create("t"), .holder("h", of: ["t"], parent: "t")], [(.delete("t"), .deleted)], living: []),
        CascadeRow(
            "a holder has a child that is none", pair + [.holder("c", parent: "h")], [(.delete("t"), .held("h"))], living: ["t", "h", "c"]),
    ]

    private static let two = pair + [.create("u")]

    private static let redirected: [CascadeRow] = [
        CascadeRow("a holder turns away", pair, [(.delete("t"), .deleted), (.holder("h"), .saved)], living: ["h"]),
        CascadeRow("a holder turns to another target", two, [(.delete("t"), .deleted), (.holder("h", of: ["u"]), .saved)], living: ["u", "h"]),
        CascadeRow(
            "a holder turns to a new target", pair, [(.delete("t"), .deleted), (.holder("h", of: ["n"]), .saved), (.create("n"), .saved)],
            living: ["n", "h"]),
        CascadeRow(
            "a holder turns to another target that goes too", two,
            [(.delete("t"), .deleted), (.delete("u"), .deleted), (.holder("h", of: ["u"]), .noTarget)], living: []),
        CascadeRow(
            "a holder turns to what is not there", pair, [(.delete("t"), .deleted), (.holder("h", of: ["none"]), .noTarget)], living: []),
        CascadeRow(
            "a holder turns to what is not there, and its target stays", pair, [(.update("t"), .saved), (.holder("h", of: ["none"]), .noTarget)],
            living: ["t", "h"]),
        CascadeRow("a holder adds a target", two, [(.delete("t"), .deleted), (.holder("h", of: ["t", "u"]), .noTarget)], living: ["u"]),
        CascadeRow("a holder is saved and keeps its target", pair, [(.delete("t"), .deleted), (.update("h"), .noTarget)], living: []),
        CascadeRow("somebody turns to what goes", two, [(.delete("t"), .deleted), (.holder("u", of: ["t"]), .noTarget)], living: ["u"]),
        CascadeRow("somebody turns to a holder that goes", two, [(.delete("t"), .deleted), (.holder("u", of: ["h"]), .noTarget)], living: ["u"]),
        CascadeRow("somebody new turns to what goes", pair, [(.delete("t"), .deleted), (.holder("n", of: ["t"]), .noTarget)], living: []),
        CascadeRow(
            "a chain of new records ends at what goes", pair,
            [(.delete("t"), .deleted), (.holder("n", of: ["t"]), .noTarget), (.holder("m", of: ["n"]), .noTarget)], living: []),
        CascadeRow(
            "who validates turns to another", validated, [(.delete("t"), .deleted), (.holder("v", validates: ["u"]), .saved)], living: ["u", "v"]),
        CascadeRow(
            "who validates turns to another that should go", validated,
            [(.delete("t"), .deleted), (.delete("u"), .held("u")), (.holder("v", validates: ["u"]), .saved)], living: ["u", "v"]),
        CascadeRow(
            "who validates turns to what is not there", validated, [(.delete("t"), .held("t")), (.holder("v", validates: ["none"]), .noTarget)],
            living: ["t", "u", "v"]),
        CascadeRow(
            "somebody validates a holder that goes", pair, [(.delete("t"), .held("h")), (.holder("n", validates: ["h"]), .saved)],
            living: ["t", "h", "n"]),
        CascadeRow(
            "somebody new turns to one whose save is refused", two,
            [(.delete("t"), .deleted), (.holder("u", of: ["h"]), .noTarget), (.holder("n", of: ["u"]), .saved)], living: ["u", "n"]),
    ]

    private static let refused: [CascadeRow] = [
        CascadeRow("a refused save of a holder", pair, [(.delete("t"), .deleted), (.stale("h"), .refused)], living: []),
        CascadeRow("a refused deletion of a holder", pair, [(.delete("t"), .deleted), (.staleDeletion("h"), .refused)], living: []),
        CascadeRow("a refused save in a chain", chain, [(.delete("t"), .deleted), (.stale("i"), .refused)], living: []),
        CascadeRow("a refused deletion of a target", pair, [(.staleDeletion("t"), .refused)], living: ["t", "h"]),
        CascadeRow(
            "a refused deletion of a target, and its holder's", pair, [(.staleDeletion("t"), .refused), (.delete("h"), .deleted)], living: ["t"]),
        CascadeRow("a refused save of a target", pair, [(.stale("t"), .refused), (.update("h"), .saved)], living: ["t", "h"]),
        CascadeRow(
            "a refused target that is new", pair,
            [(.make(.create, "n", type: nil), .refused), (.holder("h", of: ["n"]), .noTarget), (.delete("t"), .deleted)], living: []),
        CascadeRow("a refused save of who validates", validated, [(.delete("t"), .held("t")), (.stale("v"), .refused)], living: ["t", "u", "v"]),
        CascadeRow(
            "a refused deletion of who validates", validated, [(.delete("t"), .held("t")), (.staleDeletion("v"), .refused)], living: ["t", "u", "v"]),
        CascadeRow(
            "a refused save of who validates, and goes", [.create("t"), .create("x"), .holder("h", of: ["t"], validates: ["x"])],
            [(.delete("t"), .deleted), (.delete("x"), .deleted), (.stale("h"), .refused)], living: []),
        CascadeRow(
            "a refused save of who validates, and would go but for another",
            [.create("t"), .create("x"), .holder("h", of: ["t"], validates: ["x"]), .holder("v", validates: ["t"])],
            [(.delete("t"), .held("t")), (.delete("x"), .held("x")), (.stale("h"), .refused)], living: ["t", "x", "h", "v"]),
    ]
}
