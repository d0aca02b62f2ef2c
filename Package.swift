// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A module of ours: what it may import is what it depends on, and CI checks that it imports nothing else.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

/// Debian's libcurl; elsewhere the framework goes through URLSession.
let client = Target.Dependency.target(name: "NacreHTTPClient", condition: .when(platforms: [.linux]))

let package = Package(
    name: "nacre",
    products: [
        .library(name: "CloudKit", targets: ["CloudKit", "CoreLocation"]),
        .executable(name: "nacre", targets: ["CloudCLI"]),
    ],
    targets: [
        .systemLibrary(name: "CChecksum"),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CNacreCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        module("Locks"),
        module("Telemetry", ["Locks"]),
        module("CoreLocation"),
        module("CloudWire"),
        module("Crypto", ["COpenSSL", "CSodium", "Locks"]),
        module("NacreHTTPClient", ["CNacreCurl", "Locks"]),
        module("CloudKit", ["CloudWire", "CoreLocation", "Crypto", "Locks", client]),
        module("CloudContainer", ["CloudWire", "Locks", "CChecksum"]),
        module("CloudStore", ["CloudContainer", "CloudWire", "Crypto", "Telemetry", "Locks", "CSQLite"]),
        module("HTTPServer", ["Telemetry", "Locks", "CMicroHTTPD", "CZlib"]),
        module("CloudServer", ["CloudContainer", "CloudStore", "CloudWire", "Crypto", "HTTPServer", "Telemetry", "Locks"]),
        module("CloudTorture", ["CloudWire", "Locks", "NacreHTTPClient"]),
        .executableTarget(
            name: "CloudCLI", dependencies: ["CloudServer", "CloudKit", "CloudTorture", "CloudWire", "Locks", "NacreHTTPClient"],
            swiftSettings: settings),

        .target(
            name: "CloudTestSupport", dependencies: ["CloudContainer", "CloudStore", "CloudWire", "Locks"],
            path: "Tests/CloudTestSupport", swiftSettings: settings),
        tests("CryptoTests", ["Crypto"]),
        tests("CloudWireTests", ["CloudWire"]),
        tests("CloudContainerTests", ["CloudContainer", "CloudStore", "CloudWire", "Locks", "CloudTestSupport"]),
        tests(
            "CloudStoreTests", ["CloudStore", "CloudContainer", "CloudWire", "CloudTestSupport", "Crypto", "CSQLite", "Locks"],
            resources: [.copy("Fixtures")]),
        tests("NacreHTTPClientTests", ["NacreHTTPClient", "HTTPServer", "Locks", "Telemetry"]),
        tests("HTTPServerTests", ["HTTPServer", "Telemetry", "Locks"]),
        tests(
            "CloudServerTests",
            ["CloudServer", "CloudStore", "CloudContainer", "CloudWire", "Crypto", "HTTPServer", "Locks", "Telemetry", "CloudTestSupport"]),
        tests(
            "CloudTortureTests",
            ["CloudTorture", "CloudServer", "CloudContainer", "CloudStore", "CloudWire", "Crypto", "Locks", "Telemetry", "CloudTestSupport"]),
        tests(
            "CloudKitTests", ["NacreHTTPClient", "CloudKit", "CoreLocation", "CloudServer", "CloudWire", "Locks", "Telemetry", "CloudTestSupport"]),
        // Compiled as apps that have not moved to Swift 6 are.
        .testTarget(name: "CloudKitSwift5Tests", dependencies: ["CloudKit"], swiftSettings: [.swiftLanguageMode(.v5)]),
        tests(
            "EndToEndTests",
            ["CloudCLI", "CloudKit", "CoreLocation", "CloudServer", "CloudWire", "Crypto", "Locks", "Telemetry", "CloudTestSupport"]),
        tests("TidyTests", []),
    ]
)

// `make bench` sets it: nobody else builds what only measures.
if Context.environment["NACRE_BENCHMARKS"] != nil {
    package.targets += [
        .executableTarget(
            name: "JSONThroughput", dependencies: ["CloudWire"], path: "Benchmarks/JSONThroughput", swiftSettings: settings,
            // Foundation would bring the C library's mathematics along.
            linkerSettings: [.linkedLibrary("m")]),
        .executableTarget(
            name: "FrameworkCost", dependencies: ["CloudKit", "NacreHTTPClient"], path: "Benchmarks/FrameworkCost", swiftSettings: settings),
    ]
}
