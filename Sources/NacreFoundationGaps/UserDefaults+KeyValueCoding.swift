public import Foundation

// What Foundation on Linux lacks and CloudKit's own samples use. Nothing imports this module but an app that says so.

extension UserDefaults {
    /// Sets a value like `set(_:forKey:)`; nil removes it.
    public func setValue(_ value: Any?, forKey key: String) {
        set(value, forKey: key)
    }

    /// Returns the value like `object(forKey:)`.
    public func value(forKey key: String) -> Any? {
        object(forKey: key)
    }
}
