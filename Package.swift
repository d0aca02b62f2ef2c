// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// With NACRE_OPTIMIZED, which `make test` sets, a debug build optimizes the modules under test. Generic code that is not
/// specialized takes half of the tests' time otherwise. Nothing that depends on this package sets it.
let optimized: [SwiftSetting] = Context.environment["NACRE_OPTIMIZED"] == nil ? [] : [.unsafeFlags(["-O"])]

/// Makes a module of ours. CI checks that it imports nothing but its dependencies.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + optimized)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

/// Names modules over Debian's libcurl and cryptography. Elsewhere, and in a build with NACRE_URLSESSION, the framework
/// uses URLSession.
func client(_ names: String...) -> [Target.Dependency] {
    Context.environment["NACRE_URLSESSION"] == nil ? names.map { .target(name: $0, condition: .when(platforms: [.linux])) } : []
}

/// The commit that `make dist` builds. Other builds name none, so that a new commit compiles nothing again.
let commit = Context.environment["NACRE_COMMIT"].flatMap { text in text.allSatisfy { $0.isHexDigit || $0 == "+" } ? text : nil }

let package = Package(
    name: "nacre",
    products: [
        .library(name: "CloudKit", targets: ["CloudKit", "CoreLocation"]),
        .library(name: "CloudKitPush", targets: ["CloudKitPush"]),
        .library(name: "CloudKitTesting", targets: ["CloudKitTesting"]),
        .library(name: "NacreFoundationGaps", targets: ["NacreFoundationGaps"]),
        .executable(name: "nacre", targets: ["NacreCloudCLI"]),
    ],
    targets: [
        .systemLibrary(name: "CNacreChecksum"),
        .systemLibrary(name: "CNacreCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNacreOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNacrePostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CNacreSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CNacreSockets"),
        .systemLibrary(name: "CNacreSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CNacreZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        module("NacreLocks"),
        module("NacreRandom"),
        module("NacreTelemetry", ["NacreLocks"]),
        .target(name: "CNacreStart"),
        .target(name: "CNacreBuild", cSettings: commit.map { [.define("NACRE_COMMIT", to: "\"\($0)\"")] }),
        .target(name: "CNacreFileReads", linkerSettings: [.linkedLibrary("sqlite3")]),
        module("CoreLocation"),
        module("NacreFoundationGaps"),
        module("NacreCloudWire"),
        module("NacreCloudServerWire", ["NacreCloudWire"]),
        module("NacreCrypto", ["CNacreOpenSSL", "CNacreSodium", "NacreLocks"]),
        module("NacreEncryptionForms", ["NacreCrypto"]),
        module("NacreEncryption", ["NacreEncryptionForms", "NacreCrypto"]),
        module("NacreHTTPClient", ["CNacreCurl", "NacreLocks"]),
        module(
            "CloudKit",
            ["NacreCloudWire", "CoreLocation", "NacreLocks", "CNacreStart"]
                + client("NacreHTTPClient", "NacreCrypto", "NacreEncryption", "NacreEncryptionForms")),
        module("CloudKitPush", ["CloudKit"] + client("NacreHTTPClient", "NacreLocks")),
        module("NacreCloudStorage", ["NacreCloudWire", "NacreLocks", "CNacreChecksum"]),
        module("NacreCloudAccounts", ["NacreCloudStorage", "NacreCloudWire", "NacreLocks"]),
        module(
            "NacreCloudContainer",
            ["NacreCloudAccounts", "NacreCloudStorage", "NacreCloudServerWire", "NacreCloudWire", "NacreEncryptionForms", "NacreLocks"]),
        module("NacreCloudTasks", ["NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudWire", "NacreLocks"]),
        module(
            "NacreCloudStore",
            [
                "NacreCloudStorage", "NacreCloudContainer", "NacreCloudWire", "NacreCrypto", "NacreHTTPClient", "NacreLocks", "CNacreSQLite",
                "CNacreFileReads",
            ]),
        module("NacrePostgres", ["NacreCloudStore", "NacreCloudStorage", "NacreCloudWire", "NacreLocks", "CNacrePostgres"]),
        module("NacreHTTPServer", ["NacreTelemetry", "NacreLocks", "CNacreSockets", "CNacreZlib"]),
        module(
            "NacreCloudServer",
            [
                "NacreCloudTasks", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudStore", "NacreCloudServerWire",
                "NacreCloudWire", "NacreCrypto", "NacreHTTPClient",
                "NacreHTTPServer", "NacreTelemetry", "NacreLocks",
            ]),
        module(
            "CloudKitTesting",
            [
                "CloudKit", "NacreCloudServer", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage",
                "NacreCloudStore", "NacreCloudWire", "NacreHTTPServer",
                "NacreLocks", "NacreRandom",
            ]),
        module("NacreCloudTorture", ["CloudKit", "NacreCloudWire", "NacreLocks", "NacreRandom", "NacreHTTPClient"]),
        .executableTarget(
            name: "NacreCloudCLI",
            dependencies: [
                "NacreCloudServer", "CloudKit", "CloudKitPush", "NacreCloudTorture", "NacreCloudWire", "NacreEncryptionForms", "NacreLocks",
                "NacreHTTPClient", "NacreTelemetry", "CNacreBuild",
            ],
            swiftSettings: settings),

        .target(
            name: "NacreCloudTestSupport",
            dependencies: [
                "NacreCloudTasks", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudStore", "NacreCloudWire",
                "NacrePostgres", "NacreCrypto", "NacreEncryptionForms", "NacreLocks", "NacreRandom",
            ],
            path: "Tests/NacreCloudTestSupport", swiftSettings: settings + optimized),
        tests("NacreCryptoTests", ["NacreCrypto", "NacreCloudTestSupport"]),
        tests("NacreEncryptionTests", ["NacreEncryption", "NacreEncryptionForms", "NacreCrypto", "NacreCloudTestSupport"]),
        tests("NacreCloudWireTests", ["NacreCloudServerWire", "NacreCloudWire", "NacreCloudTestSupport"]),
        tests(
            "NacreCloudContainerTests",
            [
                "NacreCloudTasks", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudStore", "NacreCloudServerWire",
                "NacreCloudWire", "NacreCrypto", "NacreEncryptionForms", "NacreLocks",
                "NacreCloudTestSupport",
            ]),
        tests(
            "NacreCloudStoreTests",
            [
                "NacreCloudStore", "NacreCloudTasks", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudWire",
                "NacreCrypto", "NacreCloudTestSupport", "CNacreSQLite", "NacreLocks",
            ],
            resources: [.copy("Fixtures")]),
        tests(
            "NacrePostgresTests",
            ["NacrePostgres", "NacreCloudStorage", "NacreCloudWire", "NacreLocks", "NacreCloudTestSupport"]),
        tests(
            "NacreHTTPClientTests",
            ["NacreHTTPClient", "NacreLocks", "NacreCloudTestSupport"]),
        tests("NacreHTTPServerTests", ["NacreHTTPServer", "NacreTelemetry", "NacreLocks", "NacreCloudTestSupport"]),
        tests(
            "NacreCloudServerTests",
            [
                "NacreCloudServer", "NacreCloudStore", "NacreCloudTasks", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage",
                "NacreCloudServerWire", "NacreCloudWire", "NacreCrypto",
                "NacreHTTPClient", "NacreHTTPServer", "NacreLocks", "NacreTelemetry", "NacreCloudTestSupport",
            ]),
        tests(
            "NacreCloudTortureTests",
            [
                "CloudKit", "NacreCloudTorture", "NacreCloudServer", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage",
                "NacreCloudStore", "NacreCloudWire", "NacreCrypto", "NacreHTTPClient",
                "NacreLocks", "NacreTelemetry", "NacreCloudTestSupport",
            ]),
        tests(
            "NacreCloudKitTests",
            [
                "NacreHTTPClient", "CloudKit", "CoreLocation", "NacreCloudServerWire", "NacreCloudWire", "NacreCrypto", "NacreEncryption",
                "NacreEncryptionForms", "NacreLocks", "NacreCloudTestSupport",
            ], resources: [.copy("Fixtures")]),
        tests(
            "NacreCloudKitPushTests",
            ["CloudKitPush", "CloudKit", "NacreHTTPServer", "NacreCloudServerWire", "NacreCloudWire", "NacreLocks", "NacreCloudTestSupport"]),
        tests("NacreCloudKitTestingTests", ["CloudKitTesting", "CloudKit"]),
        // Compiled as apps that have not moved to Swift 6 are.
        .testTarget(name: "NacreCloudKitSwift5Tests", dependencies: ["CloudKit"], swiftSettings: [.swiftLanguageMode(.v5)]),
        // The app of a test that kills it.
        .executableTarget(
            name: "NacreLongLivedApp", dependencies: ["CloudKit", "NacreCrypto"], path: "Tests/NacreLongLivedApp", swiftSettings: settings),
        // The app of `Scripts/soak/converge.py`.
        .executableTarget(
            name: "NacreConvergingApp", dependencies: ["CloudKit", "NacreRandom"], path: "Tests/NacreConvergingApp", swiftSettings: settings),
        tests(
            "NacreEndToEndTests",
            [
                "NacreCloudCLI", "NacreLongLivedApp", "CloudKit", "CloudKitPush", "CoreLocation", "NacreCloudServer", "NacreCloudTorture",
                "NacreCloudWire", "NacreLocks",
                "NacreCloudTestSupport", "NacreCrypto", "NacreEncryption", "NacreEncryptionForms",
            ]),
        tests("NacreTidyTests", []),
        // The fuzzers' targets over the inputs that they once found.
        .testTarget(
            name: "NacreFuzzTests",
            dependencies: [
                "CloudKit", "NacreCloudServer", "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage",
                "NacreCloudServerWire", "NacreCloudWire", "NacreCrypto", "NacreEncryption", "NacreEncryptionForms", "NacreHTTPServer",
            ],
            path: "Fuzz", exclude: ["LibFuzzer.swift", "build", "corpus"], swiftSettings: settings),
    ]
)

// `make bench` sets it: nobody else builds what only measures.
if Context.environment["NACRE_BENCHMARKS"] != nil {
    package.targets += [
        .executableTarget(
            name: "NacreJSONThroughput", dependencies: ["NacreCloudServerWire", "NacreCloudWire"], path: "Benchmarks/NacreJSONThroughput",
            swiftSettings: settings,
            // Foundation would bring the C library's mathematics along.
            linkerSettings: [.linkedLibrary("m")]),
        .executableTarget(
            name: "NacreChunking", dependencies: ["NacreCloudWire", "NacreCrypto"], path: "Benchmarks/NacreChunking", swiftSettings: settings),
        .executableTarget(
            name: "NacreAuthenticationCost",
            dependencies: [
                "NacreCloudContainer", "NacreCloudAccounts", "NacreCloudStorage", "NacreCloudServer", "NacreCloudServerWire",
                "NacreCloudStore", "NacreCloudWire", "NacreHTTPServer",
            ],
            path: "Benchmarks/NacreAuthenticationCost", swiftSettings: settings),
        .executableTarget(name: "NacreSmallApp", dependencies: ["CloudKit"], path: "Benchmarks/NacreSmallApp", swiftSettings: settings),
        .executableTarget(
            name: "NacreTestingCost", dependencies: ["CloudKit", "CloudKitTesting"], path: "Benchmarks/NacreTestingCost", swiftSettings: settings),
        .executableTarget(
            name: "NacreFrameworkCost", dependencies: ["CloudKit", "NacreHTTPClient"], path: "Benchmarks/NacreFrameworkCost", swiftSettings: settings),
    ]
}
