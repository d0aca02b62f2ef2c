import Foundation

/// A file that the demo reads, and the Debian package that provides it.
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

/// The position in an input file that cannot be read.
struct InputFault: Error, Equatable, CustomStringConvertible {
    let file: InputFile
    let place: String

    var description: String { "\(file.path) of the package \(file.package) does not read at \(place)" }
}
