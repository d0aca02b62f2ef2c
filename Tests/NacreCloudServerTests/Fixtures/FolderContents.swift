import Foundation
import NacreCloudTestSupport

extension TemporaryFolder {
    /// The names in the folder, sorted.
    var contents: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
