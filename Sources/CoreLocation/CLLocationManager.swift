// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// Whether the app may know where it is.
public enum CLAuthorizationStatus: Int32, Sendable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case authorizedAlways = 3
    case authorizedWhenInUse = 4
}

public let kCLErrorDomain: String = "kCLErrorDomain"

/// Why there is no location.
public struct CLError: CustomNSError, LocalizedError, Hashable, Sendable {
    public enum Code: Int, Sendable {
        /// There is none now; there may be one later.
        case locationUnknown = 0
        /// The app may not know.
        case denied = 1
        case network = 2
    }

    public let code: Code

    public init(_ code: Code) {
        self.code = code
    }

    public static var errorDomain: String { kCLErrorDomain }
    public var errorCode: Int { code.rawValue }
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text] }
    public var errorDescription: String? { text }

    private var text: String {
        switch code {
        case .locationUnknown: "CLOUDKIT_LOCATION is not a latitude and a longitude"
        case .denied: "There is no location: set CLOUDKIT_LOCATION=latitude,longitude"
        case .network: "The network cannot be reached"
        }
    }

    public static var locationUnknown: Code { .locationUnknown }
    public static var denied: Code { .denied }
    public static var network: Code { .network }
}

/// Hears what a `CLLocationManager` finds out, on the main queue.
public protocol CLLocationManagerDelegate: AnyObject {
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
    /// Apple: deprecated in iOS 14.
    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus)
}

extension CLLocationManagerDelegate {
    public func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {}
    public func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {}
    public func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        locationManager(manager, didChangeAuthorization: manager.authorizationStatus)
    }
    public func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus) {}
}

/// Tells an app where it is.
///
/// On this server: a machine has no receiver. The one location is the environment's `CLOUDKIT_LOCATION`, as in `48.4,9.99`; the person who sets it
/// allows the app to know it. Without it the app is denied the location, and is told so by `CLError.denied`.
open class CLLocationManager: NSObject {
    open weak var delegate: (any CLLocationManagerDelegate)? {
        didSet { if delegate != nil { tell { $1.locationManagerDidChangeAuthorization($0) } } }
    }
    /// A wish that changes nothing here.
    open var desiredAccuracy: CLLocationAccuracy = kCLLocationAccuracyBest
    /// A wish that changes nothing here.
    open var distanceFilter: CLLocationDistance = kCLDistanceFilterNone
    /// What was found last.
    open private(set) var location: CLLocation?
    private let setting: String?

    public convenience override init() {
        self.init(setting: ProcessInfo.processInfo.environment["CLOUDKIT_LOCATION"])
    }

    package init(setting: String?) {
        self.setting = setting.flatMap { $0.isEmpty ? nil : $0 }
        super.init()
    }

    open class func locationServicesEnabled() -> Bool { CLLocationManager().setting != nil }

    open var authorizationStatus: CLAuthorizationStatus { setting == nil ? .denied : .authorizedWhenInUse }
    /// Apple: deprecated in iOS 14.
    open class func authorizationStatus() -> CLAuthorizationStatus { CLLocationManager().authorizationStatus }

    /// Asks nobody: the setting has answered. The delegate is told what holds.
    open func requestWhenInUseAuthorization() {
        tell { $1.locationManagerDidChangeAuthorization($0) }
    }

    /// As `requestWhenInUseAuthorization`.
    open func requestAlwaysAuthorization() {
        requestWhenInUseAuthorization()
    }

    /// Tells the delegate the location, or the error, once.
    open func requestLocation() {
        let result = found
        if case .success(let place) = result { location = place }
        tell { manager, delegate in
            switch result {
            case .success(let place): delegate.locationManager(manager, didUpdateLocations: [place])
            case .failure(let error): delegate.locationManager(manager, didFailWithError: error)
            }
        }
    }

    /// As `requestLocation`: the location never changes.
    open func startUpdatingLocation() {
        requestLocation()
    }

    /// There is nothing to stop.
    open func stopUpdatingLocation() {}

    private var found: Result<CLLocation, CLError> {
        guard let setting else { return .failure(CLError(.denied)) }
        let parts = setting.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return .failure(CLError(.locationUnknown)) }
        let place = CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
        guard CLLocationCoordinate2DIsValid(place) else { return .failure(CLError(.locationUnknown)) }
        return .success(
            CLLocation(
                coordinate: place, altitude: 0, horizontalAccuracy: 0, verticalAccuracy: -1, course: -1, courseAccuracy: -1, speed: -1,
                speedAccuracy: -1, timestamp: Date(),
                sourceInfo: CLLocationSourceInformation(softwareSimulationState: true, andExternalAccessoryState: false)))
    }

    private func tell(_ body: @escaping @Sendable (CLLocationManager, any CLLocationManagerDelegate) -> Void) {
        nonisolated(unsafe) let manager = self
        DispatchQueue.main.async { if let delegate = manager.delegate { body(manager, delegate) } }
    }
}
