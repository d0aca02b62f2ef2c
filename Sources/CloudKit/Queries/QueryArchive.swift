import Foundation
import NacreCloudWire

/// The encoded form of a query: one property list under one key, as in `RecordArchive`.
struct ArchivedQuery: Codable {
    /// The newest version; version 1 is the first.
    private static let currentVersion = 1
    private static let key = "nacre.query"

    private var version = currentVersion
    var recordType: String
    var predicate: ArchivedPredicate
    var sorts: [ArchivedSort]?

    init(recordType: String, predicate: ArchivedPredicate, sorts: [ArchivedSort]?) {
        self.recordType = recordType
        self.predicate = predicate
        self.sorts = sorts
    }

    /// A query without a type, which operations reject.
    static let unreadable = ArchivedQuery(recordType: "", predicate: ArchivedPredicate(.constant(false)), sorts: nil)

    /// Decodes a query; nil if the archive holds none, or one of a later version.
    init?(coder: NSCoder) {
        guard let archived = coder.decode(ArchivedQuery.self, fromPropertyListForKey: Self.key), archived.version <= Self.currentVersion else {
            return nil
        }
        self = archived
    }

    func encode(with coder: NSCoder) {
        coder.encode(asPropertyList: self, forKey: Self.key)
    }
}

/// A format with the values of its placeholders, which is parsed again, or the predicate's fault.
struct ArchivedPredicate: Codable {
    private var format: String
    private var arguments: [ArchivedValue]
    private var fault: PredicateFault?

    init(_ tree: PredicateTree) {
        let exact = PredicateFormat.exact(tree)
        let arguments = exact.arguments.compactMap { ArchivedValue($0) }
        format = exact.text
        self.arguments = arguments
        fault = tree.fault
    }

    var tree: PredicateTree {
        fault.map { .fault($0) } ?? PredicateParser.tree(format, arguments.map { .value($0.wire) })
    }
}

struct ArchivedSort: Codable {
    private var key: String?
    private var isAscending: Bool
    private var latitude: Double?
    private var longitude: Double?

    init(_ descriptor: NSSortDescriptor) {
        key = descriptor.key
        isAscending = descriptor.ascending
        let place = (descriptor as? CKLocationSortDescriptor)?.relativeLocation.coordinate
        latitude = place?.latitude
        longitude = place?.longitude
    }

    var descriptor: NSSortDescriptor {
        guard let key, let latitude, let longitude else { return NSSortDescriptor(key: key, ascending: isAscending) }
        return CKLocationSortDescriptor(key: key, relativeLocation: CLLocation(latitude: latitude, longitude: longitude))
    }
}
