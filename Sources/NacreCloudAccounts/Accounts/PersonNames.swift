import NacreCloudStorage
package import NacreCloudWire

/// The rule for a part of a person's name.
package enum PersonNameRule {
    /// - Parameter field: The field of the request that holds the name.
    package static func fault(_ name: String?, field: String) -> ServerError? {
        guard let name else { return nil }
        if name.utf8.count > Limits.personNameBytes {
            return .badValue(field, "name is too long", remedy: "Take at most \(Limits.personNameBytes) bytes of UTF-8.")
        }
        if name.unicodeScalars.contains(where: \.leavesItsLine) {
            return .badValue(
                field, "name has a character that cannot be shown", remedy: "Leave out line breaks, control characters and changes of direction.")
        }
        return nil
    }

    /// Returns the name; nil for one of blanks only.
    package static func kept(_ name: String?) -> String? {
        name.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}

extension Unicode.Scalar {
    /// Whether the character could end its line, change its direction or command a terminal. Others see names beside
    /// their own texts, and administrators see them in terminals.
    fileprivate var leavesItsLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: ("\u{202a}"..."\u{202e}").contains(self) || ("\u{2066}"..."\u{2069}").contains(self)
        }
    }
}

extension String {
    /// The text without characters that would leave the line on which it is shown.
    package var onOneLine: String { String(String.UnicodeScalarView(unicodeScalars.filter { !$0.leavesItsLine })) }
}

extension Registry {
    /// Gives an account other names. Users who may find its user see them after `Cloud.refreshIdentity`, which a task
    /// also calls.
    /// - Parameter account: The account as it was when its password was checked, or when an administrator read it.
    /// - Returns: The changed account.
    /// - Throws: The fault of a name, or `ServerError.accountChanged`.
    package func changeNames(of account: AccountEntry, to names: NameComponents) async throws -> AccountEntry {
        if let fault = names.fault { throw fault }
        return try await write(.account(account.id)) { database, now, transaction in
            try transaction.changeAccount(account, in: database, at: now) { entry in
                entry.givenName = PersonNameRule.kept(names.givenName)
                entry.familyName = PersonNameRule.kept(names.familyName)
                entry.identityChanges = entry.changesOfIdentity + 1
            }
        }
    }
}

extension NameComponents {
    package var fault: ServerError? {
        PersonNameRule.fault(givenName, field: "givenName") ?? PersonNameRule.fault(familyName, field: "familyName")
    }
}
