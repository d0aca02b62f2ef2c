package import NacreCloudWire

/// What a part of a person's name must be, wherever one is set.
package enum PersonNameRule {
    /// - Parameter field: of the request, that holds the name.
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

    /// A name of blanks is none.
    static func kept(_ name: String?) -> String? {
        name.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}

extension Unicode.Scalar {
    /// Others see names beside their own texts, and administrators in their terminals: nothing in one may end its line, turn it round or command a terminal.
    fileprivate var leavesItsLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: ("\u{202a}"..."\u{202e}").contains(self) || ("\u{2066}"..."\u{2069}").contains(self)
        }
    }
}

extension String {
    /// Without what would leave the line on which it is shown.
    package var onOneLine: String { String(String.UnicodeScalarView(unicodeScalars.filter { !$0.leavesItsLine })) }
}

extension Registry {
    /// Gives an account other names. Where others may find the user they see the new ones with `Cloud.refreshIdentity`, which is also a task's.
    /// - Parameter account: as it was when its password was checked, or when an administrator looked.
    /// - Returns: the account as it is now.
    /// - Throws: what is wrong with a name, or `ServerError.accountChanged`.
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
