// swift-tools-version: 6.0
import PackageDescription

// An app beside a package with a target `Crypto`, in both language modes, with strict concurrency. `run` builds it.
let dependencies: [Target.Dependency] = [
    .product(name: "CloudKit", package: "nacre", condition: .when(platforms: [.linux])),
    .product(name: "Crypto", package: "Crypto"),
]

let package = Package(
    name: "NeighbourApp",
    dependencies: [.package(name: "nacre", path: "../.."), .package(path: "Crypto")],
    targets: [
        .executableTarget(
            name: "Swift5App", dependencies: dependencies,
            swiftSettings: [.swiftLanguageMode(.v5), .enableExperimentalFeature("StrictConcurrency")]),
        .executableTarget(name: "Swift6App", dependencies: dependencies, swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]),
        .target(name: "Swift6Model", dependencies: dependencies),
        // The app is linked as by `--static-swift-stdlib`, which leaves out parts of Foundation that no code names.
        .executableTarget(
            name: "StaticApp", dependencies: dependencies, swiftSettings: [.unsafeFlags(["-static-stdlib"])],
            linkerSettings: [.unsafeFlags(["-static-stdlib"])]),
    ])
