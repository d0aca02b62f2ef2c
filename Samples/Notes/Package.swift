// swift-tools-version: 6.2
import PackageDescription

let cloudKit: Target.Dependency = .product(name: "CloudKit", package: "nacre", condition: .when(platforms: [.linux]))

let package = Package(
    name: "Notes",
    dependencies: [.package(name: "nacre", path: "../..")],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "notes",
            dependencies: [
                "CSQLite", cloudKit,
                .product(name: "CloudKitPush", package: "nacre", condition: .when(platforms: [.linux])),
            ]),
        .testTarget(name: "NotesTests", dependencies: ["notes", cloudKit, .product(name: "CloudKitTesting", package: "nacre")]),
    ])
