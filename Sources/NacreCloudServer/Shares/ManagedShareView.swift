import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The page on which a user manages a share, as HTML.
struct ManagedShareView {
    var pass: ShareGrant
    /// The sealed pass, which every form contains.
    var sealed: String
    /// The share's record; nil: nothing is shared yet.
    var share: Record?
    /// The names that users show to others, by user record name.
    var names: [String: String]
    var url: String?
    var notice: HTML?
    var problem: ServerError?

    var view: SignInViews.View {
        SignInViews.page(
            title: title, isProblem: problem != nil, style: ManagedShareLook.style, script: ManagedShareLook.script,
            """
            <h1 id="heading" tabindex="-1"\(problem == nil && notice == nil ? " data-focus" : nil as HTML?)>\(title)</h1>
            \(message)
            \(share?.sharing.map { shared($0.value) } ?? beginning)
            \(Self.frame(pass))
            """)
    }

    /// The page of an error that ends the work of the page.
    static func problem(_ error: ServerError, of grant: ShareGrant) -> SignInViews.View {
        SignInViews.page(
            title: "This page has ended", isProblem: true, style: ManagedShareLook.style, script: ManagedShareLook.script,
            """
            <h1>This page has ended</h1>
            \(SignInViews.problemLine(error))
            \(frame(grant))
            """)
    }

    /// The parts that the script needs in a frame: the origin that hears of the page, and the button that closes it.
    private static func frame(_ grant: ShareGrant) -> HTML? {
        guard let origin = grant.origin else { return nil }
        return """
            <div class="buttons" id="frame" data-origin="\(origin)" hidden><button type="button" class="main" id="done">Done</button></div>
            """
    }

    private var title: HTML {
        guard let name = share.flatMap(Self.title) ?? pass.title else { return "Share" }
        return "Share “\(name)”"
    }

    private static func title(of share: Record) -> String? {
        if case .string(let text)? = share.fields["cloudkit.title"], !text.isEmpty { text } else { nil }
    }

    private var message: HTML? {
        if let problem { return SignInViews.problemLine(problem) }
        return notice.map { "<p class=\"notice\" role=\"status\" tabindex=\"-1\" data-focus>\($0)</p>" }
    }

    // MARK: Parts of forms

    private func form(_ step: String, _ body: HTML, with fields: [(name: String, value: String)] = []) -> HTML {
        let hidden = ([(name: "pass", value: sealed)] + fields).map { field -> HTML in
            "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">"
        }
        return """
            <form method="post" action="manage-share">\(HTML(joining: hidden))<input type="hidden" name="step" value="\(step)">
            \(body)
            </form>
            """
    }

    private static func text(_ permission: SharePermission) -> HTML { permission == .readWrite ? "see and change" : "see only" }

    /// A field for a permission, of those that the app offers.
    /// - Parameter held: the permission that the person has, which is shown even if the app does not offer it.
    private func permissions(_ id: String, _ label: HTML, held: SharePermission? = nil, isHidden: Bool = false) -> HTML {
        var values = pass.offer.permissions
        if let held, held != .none, held != .unknown, !values.contains(held) { values.append(held) }
        let options = values.map { value -> HTML in
            "<option value=\"\(value.rawValue)\"\(value == held ? " selected" : nil as HTML?)>\(Self.text(value))</option>"
        }
        return """
            <label for="\(id)"\(isHidden ? " class=\"unseen\"" : nil as HTML?)>\(label)</label>
            <select id="\(id)" name="permission">\(HTML(joining: options))</select>
            """
    }

    /// A field for who has access by the link alone, of the choices that the app offers.
    /// - Parameter held: The permission that the link has, which is shown even if the app does not offer it; nil:
    ///   nothing is shared yet, and the first choice is selected.
    private func access(_ id: String, held: SharePermission?) -> HTML {
        var values: [(SharePermission, HTML)] = []
        if pass.offer.isPrivate || held == SharePermission.none { values.append((.none, "only people who are invited")) }
        for value in [SharePermission.readOnly, .readWrite] where held == value || pass.offer.isPublic && pass.offer.permissions.contains(value) {
            values.append((value, value == .readOnly ? "everybody who has the link: see only" : "everybody who has the link: see and change"))
        }
        let options = values.map { value, text -> HTML in
            "<option value=\"\(value.rawValue)\"\(value == held ? " selected" : nil as HTML?)>\(text)</option>"
        }
        return "<label for=\"\(id)\">Who has access</label><select id=\"\(id)\" name=\"permission\">\(HTML(joining: options))</select>"
    }

    // MARK: Sections

    private var beginning: HTML {
        """
        <p>This is shared with nobody yet.</p>
        \(form("begin", access("access", held: nil).with("<div class=\"buttons\"><button class=\"main\">Share</button></div>")))
        """
    }

    private func shared(_ share: ShareDetails) -> HTML {
        let isOpen = share.publicPermission != .none
        return """
            \(link(share))
            \(people(share))
            \(isOpen || !pass.offer.isPrivate ? nil : invitation)
            \(links(share, mayAdd: !isOpen && pass.offer.isPrivate))
            \(isOpen || !pass.offer.isPrivate ? nil : requests(share))
            \(share.currentUserParticipant?.role == .owner ? end : nil)
            """
    }

    /// The end of the share, which is the owner's: an administrator who deletes a share leaves it.
    private var end: HTML {
        """
        <section aria-labelledby="end"><h2 id="end">Stop sharing</h2>
        <details><summary>Stop sharing with everybody</summary>
        <p>All people but the owner lose access at once, and the link leads nowhere.</p>
        \(form("stop", "<div class=\"buttons\"><button id=\"stop\">Stop sharing</button></div>"))
        </details></section>
        """
    }

    private func link(_ share: ShareDetails) -> HTML {
        let button: HTML = "<div class=\"buttons\"><button id=\"open\">Save who has access</button></div>"
        return """
            <section aria-labelledby="of-link"><h2 id="of-link">Link</h2>
            \(copied("link", "Link of what is shared", url ?? ""))
            \(form("open", access("access", held: share.publicPermission).with(button)))
            </section>
            """
    }

    /// A field with a link, and the button that copies it, which the script shows.
    private func copied(_ id: String, _ label: HTML, _ link: String) -> HTML {
        """
        <label for="\(id)">\(label)</label><input id="\(id)" readonly value="\(link)">
        <div class="buttons"><button type="button" data-copy="\(id)" aria-describedby="\(id)" hidden>Copy the link</button></div>
        <p class="hint" role="status" id="\(id)-copied"></p>
        """
    }

    private func people(_ share: ShareDetails) -> HTML {
        let items = share.participants.filter { !$0.isOneTime || $0.acceptance == .accepted }.enumerated().map { index, person -> HTML in
            let isSelf = person.participantID == share.currentUserParticipant?.participantID
            let name = isSelf ? "You" : name(of: person.identity)
            return """
                <li class="person"><p><strong>\(name)</strong><br><span class="hint">\(standing(of: person))</span></p>
                \(person.role == .owner ? nil : controls(of: person, named: name, "person-\(index)"))</li>
                """
        }
        return """
            <section aria-labelledby="of-people"><h2 id="of-people">People</h2><ul class="people">\(HTML(joining: items))</ul></section>
            """
    }

    private func controls(of person: ShareParticipant, named name: String, _ id: String) -> HTML {
        let participant = [(name: "participant", value: person.participantID ?? "")]
        let permission =
            person.role == .publicUser
            ? nil
            : form(
                "permit",
                permissions(id, "Permission of \(name)", held: person.permission, isHidden: true)
                    .with("<button aria-label=\"Save the permission of \(name)\">Save</button>"),
                with: participant)
        return """
            \(permission)
            \(form("remove", "<button aria-label=\"Remove \(name)\">Remove</button>", with: participant))
            """
    }

    private func standing(of person: ShareParticipant) -> HTML {
        let role: HTML? =
            switch person.role {
            case .owner: "owner"
            case .administrator: "administrator"
            case .publicUser: "came by the link"
            case .privateUser, .unknown: nil
            }
        if person.role == .owner { return "\(role)" }
        let state: HTML = person.acceptance == .accepted ? "may \(Self.text(person.permission))" : "invited, and has not accepted yet"
        return "\(role.map { "\($0), " as HTML })\(state)"
    }

    private func name(of identity: ParticipantIdentity) -> String {
        let address: String? =
            switch identity.lookupInfo {
            case .emailAddress(let text), .phoneNumber(let text): text
            case .userRecordName, .contactHash, nil: nil
            }
        let name = identity.userRecordName.flatMap { names[$0] } ?? identity.nameComponents?.spoken
        if let name, let address { return "\(name), \(address)" }
        return name ?? address ?? identity.userRecordName ?? "somebody"
    }

    private var invitation: HTML {
        let fields: HTML = """
            <label for="who">E-mail address, phone number or user ID</label>
            <input id="who" name="who" required maxlength="\(Limits.nameCharacters)" autocomplete="off" aria-describedby="who-rule">
            <p class="hint" id="who-rule">A phone number begins with + and the code of its country.</p>
            \(permissions("invited", "The person may"))
            <div class="buttons"><button class="main" id="invite">Invite</button></div>
            """
        return """
            <section aria-labelledby="of-invitation"><h2 id="of-invitation">Invite somebody</h2>\(form("invite", fields))</section>
            """
    }

    private func links(_ share: ShareDetails, mayAdd: Bool) -> HTML? {
        let open = share.participants.filter { $0.isOneTime && $0.acceptance != .accepted }
        if open.isEmpty, !mayAdd { return nil }
        let items = open.enumerated().map { index, place -> HTML in
            let link = place.oneTimeSecret.flatMap { secret in
                url.map { copied("once-\(index)", "One-time link \(index + 1): the person may \(Self.text(place.permission))", $0 + "~" + secret) }
            }
            let withheld: HTML = "<p>One-time link \(index + 1) is known to the owner alone.</p>"
            let participant = [(name: "participant", value: place.participantID ?? "")]
            let button: HTML = "<button aria-label=\"Withdraw one-time link \(index + 1)\">Withdraw</button>"
            return """
                <li>\(link ?? withheld)\(form("remove", button, with: participant))</li>
                """
        }
        let button: HTML = "<div class=\"buttons\"><button id=\"once\">Make a one-time link</button></div>"
        let adding = form("link", permissions("linked", "The person may").with(button))
        return """
            <section aria-labelledby="of-links"><h2 id="of-links">One-time links</h2>
            <p class="hint">Such a link lets in the first person to open it.</p>
            \(items.isEmpty ? nil : "<ul class=\"people\">\(HTML(joining: items))</ul>" as HTML)
            \(mayAdd ? adding : nil)
            </section>
            """
    }

    private func requests(_ share: ShareDetails) -> HTML {
        let items = share.requesters.enumerated().compactMap { index, person -> HTML? in
            guard let user = person.userRecordName else { return nil }
            let (name, field) = (name(of: person), [(name: "user", value: user)])
            let approval = permissions("asker-\(index)", "Permission of \(name)", isHidden: true)
                .with("<button aria-label=\"Let in \(name)\">Let in</button>")
            return """
                <li class="person"><p><strong>\(name)</strong><br><span class="hint">asks for access</span></p>
                \(form("approve", approval, with: field))
                \(form("deny", "<button aria-label=\"Deny \(name)\">Deny</button>", with: field))</li>
                """
        }
        let takes = share.allowsAccessRequests
        let button: HTML = """
            <div class="buttons"><button id="requests">\(takes ? "Take no requests" : "Let people ask" as HTML)</button></div>
            """
        return """
            <section aria-labelledby="of-requests"><h2 id="of-requests">Requests for access</h2>
            <p>\(takes ? "People who have the link may ask for access." : "Nobody can ask for access." as HTML)</p>
            \(items.isEmpty ? nil : "<ul class=\"people\">\(HTML(joining: items))</ul>" as HTML)
            \(form("requests", button, with: [(name: "takes", value: takes ? "0" : "1")]))
            </section>
            """
    }
}

extension HTML {
    fileprivate func with(_ next: HTML) -> HTML { HTML(joining: [self, next]) }
}

/// The style and the script of the page of a share, beside those of the sign-in.
enum ManagedShareLook {
    static let style = HTML(
        trusted: """

            main { max-width: 34rem }
            h2 { font-size: 1.125rem; margin: 1.5rem 0 .25rem }
            select { display: block; width: 100%; min-height: 2.75rem; margin-top: .25rem; padding: .5rem .75rem; font: inherit; color: inherit;
            background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
            .people { list-style: none; margin: .5rem 0; padding: 0 }
            .people li { padding: .5rem 0; border-bottom: 1px solid var(--line) }
            .people p { margin: 0 }
            .person { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem }
            .person p { flex: 1 0 100% }
            .person form { display: flex; gap: .5rem; margin: 0; min-width: 0 }
            .person form:has(select) { flex: 1 1 12rem }
            .person select { flex: 1 1 auto; width: auto; min-width: 0; margin: 0 }
            .person button, .people li > form button { flex: none }
            summary { min-height: 2.75rem; padding: .5rem 0; cursor: pointer }
            .unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
            """)

    /// Copies links. In a frame it tells the page around it that this page is there, and when the user is done: a click
    /// or the key Escape. Only the origin of the grant hears that.
    static let script = HTML(
        trusted: """

            (() => {
              const find = id => document.getElementById(id);
              for (const button of document.querySelectorAll('[data-copy]')) {
                const field = find(button.dataset.copy), said = find(button.dataset.copy + '-copied');
                button.hidden = false;
                button.addEventListener('click', async () => {
                  field.select();
                  try {
                    await navigator.clipboard.writeText(field.value);
                    said.textContent = 'The link is copied.';
                  } catch {
                    said.textContent = 'The link is selected: copy it with the keyboard.';
                  }
                });
              }
              const frame = find('frame');
              if (!frame || window.parent === window) return;
              const tell = text => window.parent.postMessage({ nacreShare: text }, frame.dataset.origin);
              frame.hidden = false;
              find('done').addEventListener('click', () => tell('done'));
              addEventListener('keydown', event => { if (event.key === 'Escape' && !event.defaultPrevented) tell('done'); });
              tell('ready');
            })();
            """)
}
