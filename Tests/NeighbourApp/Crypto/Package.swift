// swift-tools-version: 6.0
import PackageDescription

// A third-party package whose target has a name that many packages have.
let package = Package(
    name: "Crypto",
    products: [.library(name: "Crypto", targets: ["Crypto"])],
    targets: [.target(name: "Crypto")])
