import NacreCloudWire

// Where a record stands in the views of its zone: what the participants of shares of single records see. See `docs/decisions/sharing.md`.

/// A record's one appearance in a view: it is there, or it was and a departure is left of it.
struct SharedPlace: Hashable, Sendable {
    var view: FeedView
    /// Of its last change there: its place in the view's feed.
    var number: ChangeNumber
    /// With which it came into the view.
    var entered: ChangeNumber
    /// The type that it had when it left; nil: it is there.
    var typeLeft: String?

    var feedPlace: FeedPlace { FeedPlace(view: view, number: number) }
    var feedRow: FeedRow { FeedRow(place: feedPlace, entered: entered, isDeparture: typeLeft != nil) }
}

/// What a record says of its share. Kept in its body, and nothing else says it.
struct SharedPlaces: Hashable, Sendable {
    /// Of a shared root, the name of its share's record.
    var share: String?
    /// One for each view that the record is in, or was in since tombstones were purged last; of one at most it has not left.
    private(set) var places: [SharedPlace] = []

    static let none = SharedPlaces()

    var isEmpty: Bool { share == nil && places.isEmpty }

    /// In which view the record is; nil: nobody sees it but who sees the whole zone.
    var view: FeedView? { places.first { $0.typeLeft == nil }?.view }

    func place(in view: FeedView) -> SharedPlace? { places.first { $0.view == view } }

    /// After a change of the record.
    /// - Parameters:
    ///   - view: in which it is from now on.
    ///   - type: that it had before.
    ///   - forgotten: departures at or before it are told to nobody.
    func moved(to position: SharedPosition, at number: ChangeNumber, from type: String, forgotten: ChangeNumber) -> SharedPlaces {
        var next = SharedPlaces(share: position.share)
        for var place in places where place.view != position.view {
            if place.typeLeft == nil {
                place.typeLeft = type
                place.number = number
            }
            if place.number > forgotten { next.places.append(place) }
        }
        if let view = position.view {
            let entered = self.view == view ? place(in: view)?.entered ?? number : number
            next.places.append(SharedPlace(view: view, number: number, entered: entered))
        }
        return next
    }

    /// Takes off the oldest departures, of which a record keeps so many.
    /// - Returns: the change number of the newest one that went; who stands before it must begin again. `zero`: none went.
    mutating func trim() -> ChangeNumber {
        var forgotten = ChangeNumber.zero
        while places.count > Limits.sharedPlacesPerRecord, let oldest = places.filter({ $0.typeLeft != nil }).min(by: { $0.number < $1.number }) {
            places.removeAll { $0 == oldest }
            forgotten = max(forgotten, oldest.number)
        }
        return forgotten
    }
}

/// Where a change puts a record.
struct SharedPosition: Hashable, Sendable {
    var view: FeedView?
    /// Of a shared root, the name of its share's record.
    var share: String?

    static let hidden = SharedPosition()
}

extension StoredRecord {
    /// As it stands.
    var position: SharedPosition { SharedPosition(view: content.shared.view, share: content.shared.share) }
}

extension ShareState {
    /// What the share shows is a view of its zone, told apart by what stands in the share's URL; nil: it shows the whole zone. Of two roots of a zone the
    /// numbers differ, but for one case in 2^62.
    var view: FeedView? { root == nil ? nil : FeedView(ofShare: shortGUID) }
}

extension FeedView {
    /// - Parameter shortGUID: of a share of a record.
    init(ofShare shortGUID: String) {
        // FNV-1a. A short GUID is drawn under the server's key, so that nobody chooses one; and whoever finds two of a kind has them in their own zone.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in shortGUID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        // 0 is the owner's.
        self.init(rawValue: Int64(bitPattern: hash >> 1) | 1 << 62)
    }
}

/// The binary form inside a record's body.
extension SharedPlaces {
    func write(to writer: inout ByteWriter) {
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

    init(_ reader: inout ByteReader) throws(MalformedBytes) {
        share = try reader.byte() == 0 ? nil : try reader.string()
        for _ in 0..<(try reader.count()) {
            let view = FeedView(rawValue: try reader.signed())
            let (number, entered) = (try reader.changeNumber(), try reader.changeNumber())
            places.append(SharedPlace(view: view, number: number, entered: entered, typeLeft: try reader.byte() == 0 ? nil : try reader.string()))
        }
    }
}
