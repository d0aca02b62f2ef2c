import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests against Foundation's JSON: each reads what the other writes.
struct JSONFoundationTests {
    @Test(arguments: 0..<300)
    func `what Foundation writes is read as it was meant`(_: Int) throws {
        var seed = SeededRandom()
        let tree = JSONTree.random(&seed)
        for options: JSONSerialization.WritingOptions in [[.fragmentsAllowed], [.fragmentsAllowed, .prettyPrinted, .sortedKeys]] {
            let data = try JSONSerialization.data(withJSONObject: tree.foundation, options: options)
            let read = try JSONTree(Array(data))
            #expect(read.matches(tree), "\(seed)")
        }
    }

    @Test(arguments: 0..<300)
    func `what we write is read by Foundation, and by us, as it was meant`(_: Int) throws {
        var seed = SeededRandom()
        let tree = JSONTree.random(&seed)
        let json = tree.json
        let object = try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)
        #expect(isSame(object, tree), "\(seed)")
        #expect(try JSONTree(json) == tree, "\(seed)")
    }

    private func isSame(_ object: Any, _ tree: JSONTree) -> Bool {
        switch tree {
        case .null: object is NSNull
        case .boolean(let value): object as? Bool == value
        case .integer(let value): (object as? NSNumber)?.int64Value == value
        // Foundation reads some numbers as Decimal, which rounds; exactness has its own tests below.
        case .double(let value): (object as? NSNumber).map { abs($0.doubleValue - value) <= abs(value) * 1e-14 } ?? false
        case .string(let value): object as? String == value
        case .array(let values):
            (object as? [Any]).map { $0.count == values.count && zip($0, values).allSatisfy { isSame($0, $1) } } ?? false
        case .object(let members):
            (object as? [String: Any]).map { object in
                object.count == members.count && members.allSatisfy { key, value in object[key].map { isSame($0, value) } ?? false }
            } ?? false
        }
    }

    @Test(arguments: 0..<20)
    func `each double comes back bit for bit`(_: Int) throws {
        var seed = SeededRandom()
        for _ in 0..<500 {
            let value = seed.double()
            guard case .double(let read) = try JSONTree(JSONTree.double(value).json) else {
                Issue.record("\(value) is not written as a double; \(seed)")
                continue
            }
            #expect(read.bitPattern == value.bitPattern, "\(value); \(seed)")
        }
    }

    @Test(arguments: 0..<20)
    func `decimals of any length are rounded as the C library rounds them`(_: Int) throws {
        var seed = SeededRandom()
        for _ in 0..<300 {
            let digits = String((0..<Int.random(in: 1...40, using: &seed)).map { _ in Character(String(Int.random(in: 0...9, using: &seed))) })
            let text = "-\(Int.random(in: 1...9, using: &seed)).\(digits)e\(Int.random(in: -330...300, using: &seed))"
            #expect(try JSONTree(text) == .double(strtod(text, nil)), "\(text)")
        }
    }
}
