package import NacreCloudStorage
import NacreCloudWire

// The positions of a record in the views of its zone, as record shares show them. See `docs/decisions/shares.md`.

/// A record's position in one view. The record is there, or it was there and has left a departure.
package struct ViewPosition: Hashable, Sendable {
    package var view: FeedView
    /// The number of its last change there, which is its position in the view's feed.
    package var number: ChangeNumber
    /// The number of the change with which it came into the view.
    package var entered: ChangeNumber
    /// The record's type when it left; nil: it is there.
    var typeLeft: String?

    var viewNumber: ViewNumber { ViewNumber(view: view, number: number) }
    var feedRow: FeedRow { FeedRow(position: viewNumber, entered: entered, isDeparture: typeLeft != nil) }
}

/// The share and the views of a record. Kept in the record's body alone.
package struct RecordViews: Hashable, Sendable {
    /// The name of the share's record; nil unless this record is a shared root.
    package var share: String?
    /// One position for each view that the record is in, or was in since tombstones were last purged. At most one of
    /// them is not a departure.
    package private(set) var places: [ViewPosition] = []

    package static let none = RecordViews()

    package var isEmpty: Bool { share == nil && places.isEmpty }

    /// The view that the record is in; nil: only users of the whole zone see it.
    package var view: FeedView? { places.first { $0.typeLeft == nil }?.view }

    package func place(in view: FeedView) -> ViewPosition? { places.first { $0.view == view } }

    /// Returns the views after a change of the record.
    /// - Parameters:
    ///   - position: the view and share of the record from now on.
    ///   - type: the record's type before the change.
    ///   - forgotten: departures at or before this number are dropped.
    package func moved(to position: ViewAssignment, at number: ChangeNumber, from type: String, forgotten: ChangeNumber) -> RecordViews {
        var next = RecordViews(share: position.share)
        for var place in places where place.view != position.view {
            if place.typeLeft == nil {
                place.typeLeft = type
                place.number = number
            }
            if place.number > forgotten { next.places.append(place) }
        }
        if let view = position.view {
            let entered = self.view == view ? place(in: view)?.entered ?? number : number
            next.places.append(ViewPosition(view: view, number: number, entered: entered))
        }
        return next
    }

    /// Removes the oldest departures beyond `Limits.sharedPlacesPerRecord` positions.
    /// - Returns: the number of the newest removed one; cursors before it must begin again. `zero`: none was removed.
    package mutating func trim() -> ChangeNumber {
        var forgotten = ChangeNumber.zero
        while places.count > Limits.sharedPlacesPerRecord, let oldest = places.filter({ $0.typeLeft != nil }).min(by: { $0.number < $1.number }) {
            places.removeAll { $0 == oldest }
            forgotten = max(forgotten, oldest.number)
        }
        return forgotten
    }
}

/// The view and share in which a change puts a record.
package struct ViewAssignment: Hashable, Sendable {
    package var view: FeedView?
    /// The name of the share's record; nil unless the record is a shared root.
    package var share: String?

    package static let hidden = ViewAssignment()
}

extension StoredRecord {
    /// The record's present position.
    package var position: ViewAssignment { ViewAssignment(view: content.shared.view, share: content.shared.share) }
}

extension ShareState {
    /// The view of its zone that the share shows, derived from the short GUID; nil: the share shows the whole zone. Two
    /// roots of a zone have different views, but for one case in 2^62.
    package var view: FeedView? { root == nil ? nil : FeedView(ofShare: shortGUID) }
}

extension FeedView {
    /// - Parameter shortGUID: the short GUID of a record's share.
    package init(ofShare shortGUID: String) {
        // FNV-1a. Users cannot choose a short GUID: the server draws it under its key. A collision stays in one zone.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in shortGUID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        // View 0 is the owner's.
        self.init(rawValue: Int64(bitPattern: hash >> 1) | 1 << 62)
    }
}

/// The binary form inside a record's body.
extension RecordViews {
    package func write(to writer: inout ByteWriter) {
        writer.byte(share == nil ? 0 : 1)
        if let share { writer.string(share) }
        writer.number(UInt64(places.count))
        for place in places {
            writer.signed(place.view.rawValue)
            writer.write(place.number)
            writer.write(place.entered)
            writer.byte(place.typeLeft == nil ? 0 : 1)
            if let type = place.typeLeft { writer.string(type) }
        }
    }

    package init(_ reader: inout ByteReader) throws(MalformedBytes) {
        share = try reader.byte() == 0 ? nil : try reader.string()
        for _ in 0..<(try reader.count()) {
            let view = FeedView(rawValue: try reader.signed())
            let (number, entered) = (try reader.changeNumber(), try reader.changeNumber())
            places.append(ViewPosition(view: view, number: number, entered: entered, typeLeft: try reader.byte() == 0 ? nil : try reader.string()))
        }
    }
}
