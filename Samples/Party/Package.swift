// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Party",
    dependencies: [.package(name: "nacre", path: "../..")],
    targets: [
        .executableTarget(name: "party", dependencies: [.product(name: "CloudKit", package: "nacre", condition: .when(platforms: [.linux]))]),
        .testTarget(name: "PartyTests", dependencies: ["party", .product(name: "CloudKitTesting", package: "nacre")]),
    ])
