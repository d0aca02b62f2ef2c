// swift-tools-version: 6.2
import PackageDescription

let cloudKit: Target.Dependency = .product(name: "CloudKit", package: "nacre", condition: .when(platforms: [.linux]))

let package = Package(
    name: "Party",
    dependencies: [.package(name: "nacre", path: "../..")],
    targets: [
        .executableTarget(name: "party", dependencies: [cloudKit]),
        .testTarget(name: "PartyTests", dependencies: ["party", cloudKit, .product(name: "CloudKitTesting", package: "nacre")]),
    ])
