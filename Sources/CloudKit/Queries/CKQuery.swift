public import Foundation
import NacreCloudWire

/// The description of a search: records of one type that match a predicate, in an order.
///
/// The predicate and the descriptors are checked when an operation runs. An unsupported part fails it with
/// `invalidArguments`, which names the part. Do not change the descriptors while other threads use the query. Apple:
/// iOS 8.
open class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: type and predicate are `let`s of immutable objects. The app must not change the descriptors in use, and
    // operations copy the query.

    /// The type of the records to search.
    public let recordType: CKRecord.RecordType
    /// The predicate: from a format, a value, or a compound of these. Block predicates cannot be sent.
    public let predicate: NSPredicate
    /// The order, most significant first: `NSSortDescriptor(key:ascending:)` or `CKLocationSortDescriptor`. nil for no
    /// defined order.
    open var sortDescriptors: [NSSortDescriptor]?

    /// Makes a query for the records of a type that match a predicate.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    open override var description: String {
        "<CKQuery: recordType=\(recordType), predicate=\(PredicateFormat.text(PredicateTree(predicate))), sortDescriptors=\(sortDescriptors ?? [])>"
    }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a query. If the archive holds none, operations reject the result.
    public required init(coder aDecoder: NSCoder) {
        let archived = ArchivedQuery(coder: aDecoder) ?? .unreadable
        recordType = archived.recordType
        predicate = FormatPredicate(archived.predicate.tree)
        sortDescriptors = archived.sorts?.map(\.descriptor)
        super.init()
    }

    open func encode(with coder: NSCoder) {
        ArchivedQuery(
            recordType: recordType, predicate: ArchivedPredicate(PredicateTree(predicate)),
            sorts: sortDescriptors?.map(ArchivedSort.init)
        ).encode(with: coder)
    }
}

extension CKQuery {
    /// Returns the query in its wire form; nil if nothing can match and no request is needed.
    ///
    /// - Parameter now: the value of `now()` in the predicate.
    func wire(now: Timestamp) throws(CKError) -> Query? {
        guard Names.isIdentifier(recordType) else {
            throw CKError(ValueFault(key: "recordType", reason: .invalidRecordType))
        }
        do throws(PredicateFault) {
            let predicate = try PredicateFilters(PredicateTree(predicate), now: now)
            var sorts: [QuerySort] = []
            for descriptor in sortDescriptors ?? [] { sorts.append(try QuerySort(descriptor)) }
            return predicate.matchesNothing ? nil : Query(recordType: recordType, filters: predicate.filters, sorts: sorts)
        } catch {
            throw CKError(error)
        }
    }
}

extension QuerySort {
    fileprivate init(_ descriptor: NSSortDescriptor) throws(PredicateFault) {
        guard let key = descriptor.key, let name = QueryField.name(key) else {
            throw PredicateFault(problem: "A sort descriptor of a query needs the key of a field", part: descriptor.key ?? "nil")
        }
        var place: Location?
        if let descriptor = descriptor as? CKLocationSortDescriptor {
            let coordinate = descriptor.relativeLocation.coordinate
            guard coordinate.latitude.isFinite, coordinate.longitude.isFinite else {
                throw PredicateFault(problem: "A sort descriptor's location must be finite", part: key)
            }
            place = Location(latitude: coordinate.latitude, longitude: coordinate.longitude)
        }
        self.init(name, isAscending: descriptor.ascending, relativeLocation: place)
    }
}

extension CKError {
    init(_ fault: PredicateFault) {
        self.init(.invalidArguments, text: fault.text, internalCode: 1017, details: [.field: fault.part])
    }
}
