/// The `CKOperationGroup` of an operation, in a header of each of its requests. A server writes it into its log and
/// does nothing more with it.
///
/// CloudKit: groups are for reports and planning. The text has the form of a URL's query, so that any name is ASCII:
/// `id=…&name=…&quantity=3&sends=kilobytes`.
package struct OperationGroupNote: Hashable, Sendable {
    package static let header = "X-Nacre-Operation-Group"
    /// Bytes of the text at most. Ours: an ID and a name of some words, escaped.
    package static let bytesMax = 1024

    /// The approximate size of a transfer; `CKOperationGroup.TransferSize` has them in this order.
    package enum Size: String, Hashable, Sendable, CaseIterable {
        case unknown
        case kilobytes
        case megabytes
        case tensOfMegabytes
        case hundredsOfMegabytes
        case gigabytes
        case tensOfGigabytes
        case hundredsOfGigabytes
    }

    package var id: String
    package var name: String?
    package var quantity: Int
    package var sends: Size
    package var receives: Size

    package init(id: String, name: String? = nil, quantity: Int = 0, sends: Size = .unknown, receives: Size = .unknown) {
        (self.id, self.name, self.quantity, self.sends, self.receives) = (id, name, quantity, sends, receives)
    }

    /// The header's text. Default values are left out, and a name that does not fit.
    package var text: String {
        var parts = ["id=" + PercentEncoding.ofQueryValue(id)]
        if quantity != 0 { parts.append("quantity=\(quantity)") }
        if sends != .unknown { parts.append("sends=\(sends.rawValue)") }
        if receives != .unknown { parts.append("receives=\(receives.rawValue)") }
        let short = parts.joined(separator: "&")
        guard let name else { return short }
        let whole = short + "&name=" + PercentEncoding.ofQueryValue(name)
        return whole.utf8.count <= Self.bytesMax ? whole : short
    }

    /// Parses the text; nil where it is too long, without an ID, or has an invalid value: no client of ours sends
    /// that.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.bytesMax else { return nil }
        self.init(id: "")
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = PercentEncoding.decoded(pair[1]) else { return nil }
            switch pair[0] {
            case "id": id = value
            case "name": name = value
            case "quantity":
                guard let number = Int(value) else { return nil }
                quantity = number
            case "sends":
                guard let size = Size(rawValue: value) else { return nil }
                sends = size
            case "receives":
                guard let size = Size(rawValue: value) else { return nil }
                receives = size
            default: continue
            }
        }
        if id.isEmpty { return nil }
    }
}
