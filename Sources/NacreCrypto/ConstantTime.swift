import CNacreSodium

/// Whether two secrets are equal, in a time that depends on their length alone and not on where they differ.
///
/// Different lengths are unequal at once: how long a secret is must not itself be secret.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && sodium_memcmp(left, right, left.count) == 0
}
