import Foundation

/// A file that the demo reads, and the Debian package that brings it.
struct InputFile: Equatable {
    let path: String
    let package: String

    func read() throws -> Data {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                .failure, "the demo reads \(path), which is not there", remedy: "It is in the Debian package \(package): apt-get install \(package)")
        }
        return bytes
    }
}

/// Where an input file is not what it should be.
struct InputFault: Error, Equatable, CustomStringConvertible {
    let file: InputFile
    let place: String

    var description: String { "\(file.path) of the package \(file.package) does not read at \(place)" }
}
