import Foundation
import NacreCloudServer
import NacreLocks

/// A change that a hostile server makes to the encrypted values that it shows. The framework finds it out: the record
/// fails with `CKError.internalError`, and none of its values is shown.
public struct TestTampering: Sendable, CustomStringConvertible {
    fileprivate enum Change: Sendable {
        case drop(String)
        case swap(String, String)
        case rollBack
    }

    fileprivate let record: String
    fileprivate let change: Change
    public let description: String

    /// Leaves an encrypted value out.
    public static func droppedValue(of field: String, inRecord record: String) -> TestTampering {
        TestTampering(record: record, change: .drop(field), description: "value of \(field) dropped in \(record)")
    }

    /// Shows two encrypted values of a record in each other's fields.
    public static func swappedValues(of first: String, _ second: String, inRecord record: String) -> TestTampering {
        TestTampering(record: record, change: .swap(first, second), description: "values of \(first) and \(second) swapped in \(record)")
    }

    /// Shows an older version of a record: the one in the first answer after the order, to whomever that was. It waits
    /// until an answer has another version.
    public static func rolledBack(_ record: String) -> TestTampering {
        TestTampering(record: record, change: .rollBack, description: "\(record) rolled back")
    }
}

/// Tampering that was ordered and has not happened, the oldest first.
final class TamperQueue: Sendable {
    struct Rule: Sendable {
        var left: Int
        let request: FaultableRequest
        let user: String?
        let device: String?
        let tampering: TestTampering
        /// The version to roll back to, as JSON, once an answer had one.
        fileprivate var older: Data?
        fileprivate var olderManifest: String?

        init(left: Int, request: FaultableRequest, user: String?, device: String?, tampering: TestTampering) {
            (self.left, self.request, self.user, self.device, self.tampering) = (left, request, user, device, tampering)
        }
    }

    private let rules = Locked<[Rule]>([])

    func add(_ rule: Rule) { if rule.left > 0 { rules.withLock { $0.append(rule) } } }
    func removeAll() { rules.withLock { $0 = [] } }
    var texts: [String] { rules.withLock { $0.map { "\($0.left) x \($0.request.rawValue): \($0.tampering)" } } }

    /// Returns the body of an answer as a hostile server shows it. At most one order happens to an answer: the first
    /// that is for the request, and finds its record there with encrypted values.
    func shown(_ body: [UInt8], to asked: AskedRequest, by user: String?, on device: String) -> [UInt8] {
        rules.withLock { rules in
            guard !rules.isEmpty, let json = try? JSONSerialization.jsonObject(with: Data(body)) else { return body }
            for index in rules.indices {
                let rule = rules[index]
                let isFor =
                    (rule.request == .any || rule.request == asked.kind) && (rule.user ?? user) == user && (rule.device ?? device) == device
                guard let altered = rules[index].altered(json, isFor: isFor), let data = try? JSONSerialization.data(withJSONObject: altered) else {
                    continue
                }
                rules[index].left -= 1
                if rules[index].left == 0 { rules.remove(at: index) }
                return [UInt8](data)
            }
            return body
        }
    }
}

extension TamperQueue.Rule {
    /// Returns the JSON of an answer with the change; nil if it has nothing to change.
    /// - Parameter isFor: whether the change may happen to this answer. An older version is kept from any.
    fileprivate mutating func altered(_ value: Any, isFor: Bool) -> Any? {
        if let list = value as? [Any] {
            var list = list
            for (index, element) in list.enumerated() {
                guard let altered = altered(element, isFor: isFor) else { continue }
                list[index] = altered
                return list
            }
            return nil
        }
        guard var object = value as? [String: Any] else { return nil }
        if object["recordName"] as? String == tampering.record, let manifest = (object["nacre"] as? [String: Any])?["manifest"] as? String,
            let fields = object["fields"] as? [String: Any]
        {
            switch tampering.change {
            case .rollBack:
                if older == nil { (older, olderManifest) = (try? JSONSerialization.data(withJSONObject: object), manifest) }
                guard isFor, manifest != olderManifest, let older else { return nil }
                return try? JSONSerialization.jsonObject(with: older)
            case .drop(let field):
                guard isFor, fields[field] != nil else { return nil }
                object["fields"] = fields.filter { $0.key != field }
            case .swap(let first, let second):
                guard isFor, let one = fields[first], let two = fields[second] else { return nil }
                object["fields"] = fields.merging([first: two, second: one]) { _, new in new }
            }
            return object
        }
        for (key, part) in object {
            guard let altered = altered(part, isFor: isFor) else { continue }
            object[key] = altered
            return object
        }
        return nil
    }
}
