import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The page on which a signed-in user adds and removes passkeys.
struct PasskeyPage {
    var account: AccountEntry
    var passkeys: [PasskeyEntry]
    /// The relying party of new passkeys; nil: browsers make none for this address.
    var party: RelyingParty?
    /// The challenge that a new passkey signs.
    var challenge: String
    /// The consent by which the user is signed in; every form contains it.
    var sealed: String
    var notice: String?
    var problem: ServerError?

    var view: SignInViews.View {
        SignInViews.page(
            title: "Passkeys", isProblem: problem != nil,
            """
            <h1 tabindex="-1" data-focus>Passkeys</h1>
            <p>They sign <strong>\(account.email)</strong> in with a finger, a face or a PIN, and without a password.</p>
            \(message)
            \(list)
            \(adding)
            <form method="post" action="sign-in">\(consent)
            <div class="buttons"><button name="step" value="question">Back</button></div>
            </form>
            """)
    }

    private var consent: HTML { "<input type=\"hidden\" name=\"consent\" value=\"\(sealed)\">" }

    private var message: HTML? {
        if let problem { return SignInViews.problemLine(problem) }
        return notice.map { "<p class=\"notice\" role=\"status\">\($0)</p>" }
    }

    private var list: HTML {
        if passkeys.isEmpty { return "<p class=\"hint\">There is none yet.</p>" }
        let items = passkeys.map { passkey -> HTML in
            """
            <li><span><strong>\(passkey.name)</strong><br><span class="hint">\(Self.line(passkey))</span></span>
            <form method="post" action="sign-in">\(consent)<input type="hidden" name="passkey" value="\(passkey.id)">
            <button name="step" value="remove-passkey" aria-label="Remove \(passkey.name)">Remove</button></form></li>
            """
        }
        return HTML(trusted: "<ul class=\"list\">\(items.map(\.text).joined())</ul>")
    }

    private var adding: HTML? {
        guard let party else {
            return
                "<p class=\"hint\">Browsers make passkeys for servers that have a name and HTTPS, which this address has not.</p>"
        }
        if passkeys.count >= Limits.passkeysPerAccount {
            return "<p class=\"hint\">There can be no more.</p>"
        }
        return """
            <noscript><p class="problem">To add one, this page needs JavaScript.</p></noscript>
            <form method="post" action="sign-in" id="passkey" data-does="create" data-rp="\(party.id)" data-challenge="\(challenge)" \
            data-user="\(Base64URL.encode(Array(account.id.utf8)))" data-email="\(account.email)" \
            data-known="\(passkeys.map(\.id).joined(separator: " "))" hidden>\(consent)
            <input type="hidden" name="step" value="add-passkey">
            <input type="hidden" name="client" value="">
            <input type="hidden" name="attestation" value="">
            <label for="name">Name</label>
            <p class="hint" id="rule">By which you know it again, such as “Phone”.</p>
            <input id="name" name="name" autocomplete="off" maxlength="\(Limits.passkeyNameCharacters)" aria-describedby="rule">
            <div class="buttons"><button class="main" type="button" id="use">Add a passkey</button></div>
            <p id="unused" class="problem" role="alert" hidden>No passkey was made. Try again.</p>
            </form>
            """
    }

    static func line(_ passkey: PasskeyEntry) -> String {
        "added \(day(passkey.created)), " + (passkey.used.map { "used \(day($0))" } ?? "never used")
    }

    static func day(_ seconds: Double) -> String {
        String(Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601).prefix(10))
    }
}
