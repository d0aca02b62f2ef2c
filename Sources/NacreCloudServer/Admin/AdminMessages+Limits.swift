import FoundationEssentials
import NacreCloudStorage

extension AdminMessages {
    /// `GET /limits` of the public listener, and `GET /admin/1/limits`
    package struct LimitTable: Codable, Hashable, Sendable {
        package var limits: [LimitLine]

        init(_ limits: [Limit]) {
            self.limits = limits.map { LimitLine(name: $0.name, value: $0.value, source: $0.source.rawValue) }
        }

        var json: [UInt8] {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                return [UInt8](try encoder.encode(self))
            }
        }
    }

    package struct LimitLine: Codable, Hashable, Sendable {
        package var name: String
        /// The name says its unit; 0: no limit.
        package var value: Int
        /// CloudKit or Nacre.
        package var source: String
    }
}
