import Glibc
import NacreCloudStorage

/// The number of different users in a set, without the users: HyperLogLog over keyed hashes of their names, with linear
/// counting for small sets.
///
/// The standard error is 1.04/√512, which is 4.6 %. Sets of a few users are counted exactly, but for two users in about
/// 500 that fall into one register. Hashes with different salts cannot be compared: a merge then keeps the larger set.
package struct UserSketch: Hashable, Sendable {
    /// The number of users that a figure of private databases is a sum over, at least.
    package static let fewest = 5

    fileprivate static let registerCount = 512
    private static let indexBits: UInt64 = 9

    /// The salt of the hashes; 0: no user.
    private(set) var salt: Int64 = 0
    private var registers: [UInt8] = []
    /// A number that is never larger than that of the users: the registers that some user has reached.
    package private(set) var atLeast = 0

    package init() {}

    package mutating func insert(_ hash: UInt64, salt: Int64) {
        if registers.isEmpty {
            self.salt = salt
            registers = [UInt8](repeating: 0, count: Self.registerCount)
        }
        guard salt == self.salt else { return }
        raise(Int(hash % UInt64(Self.registerCount)), to: UInt8((hash >> Self.indexBits).trailingZeroBitCount + 1))
    }

    private mutating func raise(_ register: Int, to rank: UInt8) {
        guard rank > registers[register] else { return }
        if registers[register] == 0 { atLeast += 1 }
        registers[register] = rank
    }

    package mutating func merge(_ other: UserSketch) {
        guard other.salt == salt, salt != 0 else {
            if other.atLeast > atLeast { self = other }
            return
        }
        for register in other.registers.indices { raise(register, to: other.registers[register]) }
    }

    /// The number of users, as well as it is known.
    package var estimate: Int {
        let count = Double(Self.registerCount)
        guard atLeast > 0 else { return 0 }
        let sum = registers.reduce(0) { $0 + exp2(-Double($1)) }
        let raw = 0.7213 / (1 + 1.079 / count) * count * count / sum
        let empty = Self.registerCount - atLeast
        // Flajolet et al. (2007), section 4: linear counting while registers are empty and the set is small.
        return Int((raw <= 2.5 * count && empty > 0 ? count * log(count / Double(empty)) : raw).rounded())
    }
}

/// Some users of a set, as bits of keyed hashes of their names: enough to tell whether there are `UserSketch.fewest`,
/// in few bytes. Hashes with different salts cannot be compared: a merge then keeps the larger set.
package struct FewUsers: Hashable, Sendable {
    private static let bitCount: UInt64 = 64

    /// 0: no user.
    fileprivate var salt: Int64 = 0
    fileprivate var bits: UInt64 = 0

    package init() {}

    package init(_ hash: UInt64, salt: Int64) { (self.salt, bits) = (salt, 1 << (hash % Self.bitCount)) }

    /// A number that is never larger than that of the users.
    package var atLeast: Int { bits.nonzeroBitCount }

    package mutating func merge(_ other: FewUsers) {
        if other.salt == salt { bits |= other.bits } else if other.atLeast > atLeast { self = other }
    }
}

extension ByteWriter {
    mutating func write(_ users: FewUsers) {
        signed(users.salt)
        number(users.bits)
    }

    mutating func write(_ sketch: UserSketch) {
        signed(sketch.salt)
        sparse(sketch.ranks)
    }
}

extension FewUsers {
    fileprivate init(salt: Int64, bits: UInt64) { (self.salt, self.bits) = (salt, bits) }
}

extension ByteReader {
    mutating func fewUsers() throws(MalformedBytes) -> FewUsers { FewUsers(salt: try signed(), bits: try number()) }

    mutating func sketch() throws(MalformedBytes) -> UserSketch {
        let salt = try signed()
        guard let sketch = UserSketch(salt: salt, try sparse(below: UserSketch.registerCount)) else { throw MalformedBytes() }
        return sketch
    }
}

extension UserSketch {
    /// The largest rank of each register; empty without a user.
    fileprivate var ranks: [UInt64] { registers.map(UInt64.init) }

    fileprivate init?(salt: Int64, _ ranks: [(index: Int, value: UInt64)]) {
        guard !ranks.isEmpty else { return }
        self.salt = salt
        registers = [UInt8](repeating: 0, count: Self.registerCount)
        for (register, value) in ranks {
            guard let rank = UInt8(exactly: value), rank > 0 else { return nil }
            raise(register, to: rank)
        }
    }
}
