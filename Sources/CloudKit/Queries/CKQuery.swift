public import Foundation
import NacreCloudWire

/// Which records to look for: of one type, that match a predicate, in an order.
///
/// The predicate and the descriptors are looked at when an operation runs: what CloudKit does not take fails it with `invalidArguments`,
/// naming the part. Do not change the descriptors while other threads use the query. Apple: iOS 8.
open class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: type and predicate are `let`s of immutable objects; the descriptors are the app's to keep from being changed in use, and
    // operations copy the query.

    /// The type of the records that are looked for.
    public let recordType: CKRecord.RecordType
    /// From a format, a value, or a compound of these; blocks cannot be sent.
    public let predicate: NSPredicate
    /// The first counts most. By `NSSortDescriptor(key:ascending:)` or `CKLocationSortDescriptor`; nil: in no order that can be relied on.
    open var sortDescriptors: [NSSortDescriptor]?

    /// A query for the records of a type that match a predicate.
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

    /// True: an archive is decoded by its class.
    public static var supportsSecureCoding: Bool { true }

    /// An archive that holds no query reads as one that no operation takes.
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
    /// The query as the server takes it; nil where nothing can match and there is nothing to ask.
    ///
    /// - Parameter now: what `now()` in the predicate stands for.
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
