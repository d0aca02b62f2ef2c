// Apps that import CloudKit get Foundation and CoreLocation too, as on Apple's platforms.
@_exported public import CoreLocation
@_exported public import Foundation
