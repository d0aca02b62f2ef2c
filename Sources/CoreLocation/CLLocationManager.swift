// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The app's permission to learn its location.
public enum CLAuthorizationStatus: Int32, Sendable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case authorizedAlways = 3
    case authorizedWhenInUse = 4
}

public let kCLErrorDomain: String = "kCLErrorDomain"

/// The reason why there is no location.
public struct CLError: CustomNSError, LocalizedError, Hashable, Sendable {
    public enum Code: Int, Sendable {
        /// There is no location now, but there may be one later.
        case locationUnknown = 0
        /// The app has no permission to learn its location.
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

/// The receiver of what a `CLLocationManager` finds out. Its methods are called on the main queue.
public protocol CLLocationManagerDelegate: AnyObject {
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
    /// The older form of `locationManagerDidChangeAuthorization(_:)`. Apple: deprecated in iOS 14.
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

/// Tells an app its location.
///
/// On this server: a machine has no receiver. The only location is the environment variable `CLOUDKIT_LOCATION`, as in
/// `48.4,9.99`. Setting it also grants the app permission to learn it. Without it, permission is denied and requests
/// fail with `CLError.denied`.
open class CLLocationManager: NSObject {
    open weak var delegate: (any CLLocationManagerDelegate)? {
        didSet { if delegate != nil { callDelegate { $1.locationManagerDidChangeAuthorization($0) } } }
    }
    /// The accuracy that the app wishes for. On this server: it has no effect.
    open var desiredAccuracy: CLLocationAccuracy = kCLLocationAccuracyBest
    /// The distance that the app wishes to move between updates. On this server: it has no effect.
    open var distanceFilter: CLLocationDistance = kCLDistanceFilterNone
    /// The location that was found last.
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
    /// Returns the authorization status of a new manager. Apple: deprecated in iOS 14.
    open class func authorizationStatus() -> CLAuthorizationStatus { CLLocationManager().authorizationStatus }

    /// Tells the delegate the current authorization, without asking the user: the setting decides it.
    open func requestWhenInUseAuthorization() {
        callDelegate { $1.locationManagerDidChangeAuthorization($0) }
    }

    /// Does the same as `requestWhenInUseAuthorization`.
    open func requestAlwaysAuthorization() {
        requestWhenInUseAuthorization()
    }

    /// Tells the delegate the location or the error, once.
    open func requestLocation() {
        let result = found
        if case .success(let place) = result { location = place }
        callDelegate { manager, delegate in
            switch result {
            case .success(let place): delegate.locationManager(manager, didUpdateLocations: [place])
            case .failure(let error): delegate.locationManager(manager, didFailWithError: error)
            }
        }
    }

    /// Does the same as `requestLocation`: the location never changes.
    open func startUpdatingLocation() {
        requestLocation()
    }

    /// Does nothing: no updates are under way.
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

    private func callDelegate(_ body: @escaping @Sendable (CLLocationManager, any CLLocationManagerDelegate) -> Void) {
        nonisolated(unsafe) let manager = self
        DispatchQueue.main.async { if let delegate = manager.delegate { body(manager, delegate) } }
    }
}
