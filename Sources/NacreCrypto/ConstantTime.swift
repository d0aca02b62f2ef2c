import CNacreSodium

/// Whether two secrets are equal. The time depends on their length alone, not on where they differ. Different lengths
/// are unequal at once, so the length of a secret must not itself be secret.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && sodium_memcmp(left, right, left.count) == 0
}
