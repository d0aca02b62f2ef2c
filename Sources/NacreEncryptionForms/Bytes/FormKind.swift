/// The second byte of a form. A number is never given to another form.
package enum FormKind: UInt8, Sendable, CaseIterable {
    case value = 1
    case recordManifest = 2
    case statement = 3
    case scopeKeyWrap = 4
    case accountKeyWrap = 5
    case olderKey = 6
    case scopeManifest = 7
    case chunk = 8
    case link = 9
    case treeHead = 10
    case enrolmentCommitment = 11
    case enrolmentAnswer = 12
    case enrolmentOpening = 13
    case linkSecret = 14
    case joining = 15
}

/// The first byte of a form: the primitives under it.
package enum Suite {
    /// X25519, Ed25519, HKDF and HMAC with SHA-256, AES-256-GCM. Nothing negotiates it, and a reader takes no other.
    package static let current: UInt8 = 1
}
