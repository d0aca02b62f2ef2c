import CoreLocation
import Foundation
import NacreCloudWire

extension FieldValue {
    /// The value as a record of `zone` returns it; nil for sealed values, which this version cannot show. An asset
    /// comes without a file: the record knows where its file is.
    ///
    /// The objects are `NSString`, `NSNumber`, `NSDate`, `NSData` and `NSArray` of them, which `as?` turns into every
    /// Swift type that can hold them. Lists call the bridge of `Array` by name. A static link drops parts of Foundation
    /// that are never named, and without the bridge `as? [String]` of an `NSArray` is nil. The bridges of the other
    /// types come with their classes.
    func object(in zone: CKRecordZone.ID) -> (any __CKRecordObjCValue)? {
        switch self {
        case .string(let value): NSString(string: value)
        case .int64(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .timestamp(let value): NSDate(timeIntervalSinceReferenceDate: value.secondsSince2001)
        case .bytes(let value): NSData(data: Data(value))
        case .location(let value): CLLocation(wire: value)
        case .reference(let value): CKReference(wire: value, from: zone)
        case .stringList(let list): list.map { NSString(string: $0) }._bridgeToObjectiveC()
        case .int64List(let list): list.map { NSNumber(value: $0) }._bridgeToObjectiveC()
        case .doubleList(let list): list.map { NSNumber(value: $0) }._bridgeToObjectiveC()
        case .timestampList(let list): list.map { NSDate(timeIntervalSinceReferenceDate: $0.secondsSince2001) }._bridgeToObjectiveC()
        case .bytesList(let list): list.map { NSData(data: Data($0)) }._bridgeToObjectiveC()
        case .locationList(let list): list.map { CLLocation(wire: $0) }._bridgeToObjectiveC()
        case .referenceList(let list): list.map { CKReference(wire: $0, from: zone) }._bridgeToObjectiveC()
        case .emptyList: NSArray()
        case .asset(let value): CKAsset(file: nil, known: value)
        case .assetList(let list): list.map { CKAsset(file: nil, known: $0) }._bridgeToObjectiveC()
        case .sealed: nil
        }
    }

    /// Whether `object(in:)` returns a value.
    var isReadable: Bool {
        switch self {
        case .sealed: false
        default: true
        }
    }

    /// The texts in the value, for full-text matching.
    var texts: [String] {
        switch self {
        case .string(let value): [value]
        case .stringList(let list): list
        default: []
        }
    }
}

extension CLLocation {
    /// Makes a location. Missing values become those that `CLLocation` calls invalid.
    fileprivate convenience init(wire location: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: location.latitude, longitude: location.longitude), altitude: location.altitude ?? 0,
            horizontalAccuracy: location.horizontalAccuracy ?? 0, verticalAccuracy: location.verticalAccuracy ?? -1, course: location.course ?? -1,
            speed: location.speed ?? -1,
            timestamp: Date(timeIntervalSinceReferenceDate: location.timestamp?.secondsSince2001 ?? -Timestamp.secondsFrom1970To2001))
    }
}
