import Foundation
import NacreCloudTestSupport

extension TemporaryFolder {
    /// The names in it, sorted.
    var contents: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
