import CoreLocation
import Foundation
import Testing

/// Tests of the location manager, whose one location comes from the environment.
@Suite struct DeviceLocationTests {
    @MainActor private final class Ear: CLLocationManagerDelegate {
        nonisolated(unsafe) var heard: [String] = []
        nonisolated(unsafe) var enough: CheckedContinuation<Void, Never>?

        nonisolated func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
            let place = locations[0]
            hear("\(place.coordinate.latitude) \(place.coordinate.longitude) \(place.sourceInformation?.isSimulatedBySoftware ?? false)")
        }

        nonisolated func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
            hear((error as? CLError).map { "\($0.code)" } ?? "other")
        }

        nonisolated func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
            hear("\(manager.authorizationStatus)")
        }

        private nonisolated func hear(_ line: String) {
            heard.append(line)
            if heard.count == 2 { enough?.resume() }
        }
    }

    @MainActor
    @Test(arguments: [
        ("48.4, -9.99" as String?, ["authorizedWhenInUse", "48.4 -9.99 true"]), (nil, ["denied", "denied"]), ("", ["denied", "denied"]),
        ("north", ["authorizedWhenInUse", "locationUnknown"]), ("91,0", ["authorizedWhenInUse", "locationUnknown"]),
        ("nan,0", ["authorizedWhenInUse", "locationUnknown"]),
    ])
    func `the delegate hears the authorisation, then the location or why there is none`(setting: String?, lines: [String]) async {
        let ear = Ear()
        let manager = CLLocationManager(setting: setting)
        await withCheckedContinuation { continuation in
            ear.enough = continuation
            manager.delegate = ear
            manager.requestLocation()
        }
        #expect(ear.heard == lines)
        #expect((manager.location != nil) == (lines[1].hasSuffix("true")))
    }

    @Test func `accuracies and the filter have Apple's values`() {
        #expect(kCLLocationAccuracyBestForNavigation == -2 && kCLLocationAccuracyBest == -1 && kCLDistanceFilterNone == -1)
        let metres = [
            kCLLocationAccuracyNearestTenMeters, kCLLocationAccuracyHundredMeters, kCLLocationAccuracyKilometer, kCLLocationAccuracyThreeKilometers,
        ]
        #expect(metres == [10, 100, 1000, 3000])
        #expect(CLLocationManager(setting: nil).desiredAccuracy == kCLLocationAccuracyBest)
    }

    @Test func `an error is one of Apple's domain`() {
        let error = CLError(.denied) as NSError
        #expect(error.domain == "kCLErrorDomain" && error.code == 1 && error.localizedDescription.contains("CLOUDKIT_LOCATION"))
    }

    @Test func `where a location comes from is archived with it`() throws {
        let source = CLLocationSourceInformation(softwareSimulationState: true, andExternalAccessoryState: false)
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 0, horizontalAccuracy: 1, verticalAccuracy: 1, course: 0,
            courseAccuracy: 0, speed: 0, speedAccuracy: 0, timestamp: Date(timeIntervalSinceReferenceDate: 5), sourceInfo: source)
        let data = try NSKeyedArchiver.archivedData(withRootObject: place, requiringSecureCoding: true)
        let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: CLLocation.self, from: data)
        #expect(back == place && back?.sourceInformation == source && back?.floor == nil)
    }
}
