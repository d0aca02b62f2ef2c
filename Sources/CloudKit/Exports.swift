// As on Apple's platforms: who imports CloudKit has Foundation and CoreLocation too.
@_exported public import CoreLocation
@_exported public import Foundation
