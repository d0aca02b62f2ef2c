"""What is asked of each browser. A check fails by an error; what it answers is printed."""

import json
import os
import subprocess
import time
import importlib.util
import urllib.parse
import urllib.request

from broker import Broker
from chromium import Chromium
from firefox import Firefox
from serving import Pages, form, frame, opener, subscriber

PATIENCE_SECONDS = 20
TAB, ENTER, SPACE = "\ue004", "\ue007", " "


def until(what, question):
    """The first answer that is not nothing."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            answer = question()
        except Exception as error:  # A page between two pages.
            answer, last = None, error
        else:
            last = None
        if answer:
            return answer
        assert time.monotonic() < end, f"waited in vain for {what}" + (f": {last}" if last else "")
        time.sleep(0.05)


def expect(isTrue, text):
    assert isTrue, text


def heading(browser, text):
    until(text, lambda: browser.text("h1") == text)


def focus(browser):
    return browser.run("return document.activeElement && (document.activeElement.id || document.activeElement.value || document.activeElement.tagName)")


def sign_in(browser, scene):
    browser.type("#email", scene.email)
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "Allow access?")


def opened(browser, url, button="#in"):
    """Opens a page, clicks, and goes into the window that opens. Answers the first window."""
    browser.go(url)
    until("a button", lambda: browser.run("return !document.querySelector(arguments[0]).disabled", button))
    first = browser.window()
    before = set(browser.windows())
    browser.click(button)
    browser.use(until("a popup", lambda: set(browser.windows()) - before).pop())
    heading(browser, "Sign in")
    return first


def closed(browser, first):
    """Waits until only the first window is there, and goes into it."""
    until("the popup to close", lambda: len(browser.windows()) == 1)
    browser.use(first)


def check_popup(browser, scene, pictures):
    """By the keyboard alone; the popup closes by itself, and the app's page gets one message and can use its token."""
    first = opened(browser, scene.app.origin + "/")
    expect(scene.app.origin in browser.text("main") and scene.container in browser.text("main"), "the page does not say who asks")
    expect(focus(browser) == "email", f"the focus is on {focus(browser)}")
    browser.press(scene.email)
    browser.press(TAB)
    browser.press(scene.password)
    browser.press(TAB + SPACE)
    expect(browser.run("return document.getElementById('password').type") == "text", "the password is not shown")
    browser.press(TAB + SPACE + ENTER)
    heading(browser, "Allow access?")
    until("the focus", lambda: focus(browser) == "H1")
    browser.press(ENTER)
    # The app's name leads to its page.
    browser.press(TAB)
    browser.press(TAB)
    expect(focus(browser) == "allow", f"the focus is on {focus(browser)}")
    browser.press(ENTER)
    closed(browser, first)
    answer = json.loads(until("an answer", lambda: browser.text("#answer")))
    messages = json.loads(browser.text("#messages"))
    expect(len(messages) == 1 and messages[0]["origin"] == scene.url, f"{messages}")
    data = messages[0]["data"]
    expect(set(data) == {"ckWebAuthToken", "ckSession"} and data["ckSession"] == data["ckWebAuthToken"], f"{set(data)}")
    expect(answer["status"] == 200 and answer["body"]["userRecordName"].startswith("_"), f"{answer}")
    expect(answer["token"] == data["ckWebAuthToken"], "the page cannot read the header with the next token")
    expect(scene.caller(scene.redirect_token, data["ckWebAuthToken"]) is None, "the token is good for another API token")


def check_denial(browser, scene, pictures):
    first = opened(browser, scene.app.origin + "/")
    sign_in(browser, scene)
    browser.click("button[value=deny]")
    closed(browser, first)
    messages = json.loads(until("a message", lambda: browser.text("#messages") != "[]" and browser.text("#messages")))
    expect([message["data"] for message in messages] == [{"errorMessage": "accessError"}], f"{messages}")


def check_redirect(browser, scene, pictures):
    """The callback gets the token and the app's state, and hears nothing of the page before."""
    browser.go(scene.page(scene.redirect_token, state="a&b=\"<"))
    heading(browser, "Sign in")
    sign_in(browser, scene)
    browser.click("button[value=allow]")
    until("the callback", lambda: browser.url.startswith(scene.app.origin + "/signed-in?"))
    values = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(browser.url).query))
    expect(set(values) == {"ckWebAuthToken", "ckSession", "state"} and values["state"] == "a&b=\"<", f"{values}")
    expect(scene.caller(scene.redirect_token, values["ckWebAuthToken"]), "the token is none")
    expect(browser.text("#from") == "", f"the callback hears of {browser.text('#from')}")


def check_sign_up(browser, scene, pictures):
    """From the form for a new account to a token."""
    email = f"new-{browser.name}-{time.time_ns()}@example.com"
    browser.go(scene.page(scene.redirect_token))
    browser.click("main > p a")
    heading(browser, "Create an account")
    browser.type("#email", email)
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "Sign in")
    expect(browser.run("return document.getElementById('email').value") == email, "the address is not kept")
    until("the focus", lambda: focus(browser) == "password")
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "Allow access?")
    browser.click("button[value=allow]")
    until("the callback", lambda: "ckWebAuthToken=" in browser.url)


def check_wrong_password(browser, scene, pictures):
    """The reader's place is what went wrong, which belongs to both fields."""
    browser.go(scene.page(scene.message_token, scene.app.origin))
    browser.type("#email", scene.email)
    browser.type("#password", "not the password")
    browser.click("button.main")
    until("the problem", lambda: browser.text("#problem"))
    until("the focus", lambda: focus(browser) == "problem")
    expect(browser.run("return document.title").startswith("Error: "), "the title does not tell")
    for field in ["email", "password"]:
        expect(browser.run(f"return document.getElementById('{field}').getAttribute('aria-describedby')") == "problem", field)


def check_another_opener(browser, scene, pictures):
    """Somebody opens the page in the app's name: who allows it gives that page nothing."""
    scene.evil.pages["/opener"] = opener(scene.page(scene.message_token, scene.app.origin))
    first = opened(browser, scene.evil.origin + "/opener")
    sign_in(browser, scene)
    browser.click("button[value=allow]")
    closed(browser, first)
    # A message of a window that has closed would have come with this turn of the page.
    browser.run("return new Promise(done => setTimeout(done, 300))")
    expect(browser.text("#messages") == "[]", f"{browser.text('#messages')}")
    browser.go(scene.page(scene.message_token, scene.evil.origin))
    heading(browser, "You cannot sign in")


def check_another_origin(browser, scene, pictures):
    """A page that the API token is not for cannot read an answer."""
    browser.go(scene.evil.origin + "/app")
    answer = until("an answer", lambda: browser.text("#where"))
    expect(answer.startswith("TypeError"), answer)


def check_frame(browser, scene, pictures):
    """The page does not stand in another's."""
    scene.evil.pages["/frame"] = frame(scene.page(scene.message_token, scene.app.origin))
    browser.go(scene.evil.origin + "/frame")
    browser.use_frame("#frame")
    time.sleep(1)
    expect(browser.text("#email") is None and browser.text("h1") != "Sign in", "the page stands in a frame")
    browser.use(browser.window())


def check_foreign_form(browser, scene, pictures):
    """A form of another page does nothing, though the browser has our cookie."""
    browser.go(scene.page(scene.message_token, scene.app.origin))
    flow = browser.run("return document.querySelector('[name=flow]').value")
    for pages in [scene.evil, scene.app]:
        pages.pages["/form"] = form(scene.url + "/sign-in", {"step": "sign-in", "flow": flow, "email": scene.email, "password": scene.password})
        browser.go(pages.origin + "/form")
        heading(browser, "You cannot sign in")
        expect("another page" in browser.text("#problem"), browser.text("#problem"))


def check_once(browser, scene, pictures):
    """The question that was answered is not answered again, whatever the history holds."""
    browser.go(scene.page(scene.redirect_token))
    sign_in(browser, scene)
    consent = browser.run("return document.querySelector('[name=consent]').value")
    browser.click("button[value=allow]")
    until("the callback", lambda: "ckWebAuthToken=" in browser.url)
    browser.go(scene.page(scene.redirect_token))
    browser.run("const form = document.forms[0]; form.flow.name = 'consent'; form.consent.value = arguments[0]; form.step.value = 'allow';"
                "form.email.remove(); form.password.remove(); form.submit()", consent)
    heading(browser, "You cannot sign in")
    expect("used already" in browser.text("#problem"), browser.text("#problem"))


def by_name(url):
    """The sign-in page's URL by a name: browsers have no passkeys for an address."""
    return url.replace("//127.0.0.1:", "//localhost:", 1)


def check_passkey(browser, scene, pictures):
    """By the keyboard: a passkey is added beside the question, signs in without a password, is shown with its name, and signs nobody in once it is removed."""
    authenticator = browser.authenticator()
    try:
        page = by_name(scene.page(scene.redirect_token))
        browser.go(page)
        heading(browser, "Sign in")
        sign_in(browser, scene)
        browser.click("button[value=passkeys]")
        heading(browser, "Passkeys")
        browser.type("#name", "A <phone>")
        browser.press(ENTER)
        until("a notice", lambda: "signs you in" in (browser.text(".notice") or ""))
        expect("A <phone>" in browser.text(".list"), browser.text("main"))
        kept = browser.passkeys(authenticator)
        expect(len(kept) == 1 and kept[0]["rpId"] == "localhost" and kept[0]["isResidentCredential"], f"{kept}")
        browser.click("#use")
        until("a refusal", lambda: browser.run("return !document.getElementById('unused').hidden"))
        expect(len(browser.passkeys(authenticator)) == 1, "one authenticator has two of an account")
        browser.click("button[value=question]")
        heading(browser, "Allow access?")

        browser.go(page)
        # The browser may offer it by itself; else it is asked for.
        until("the question", lambda: browser.text("h1") == "Allow access?" or browser.click("#use"))
        expect(scene.email in browser.text("main"), browser.text("main"))
        browser.click("button[value=allow]")
        until("the callback", lambda: "ckWebAuthToken=" in browser.url)
        values = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(browser.url).query))
        expect(scene.caller(scene.redirect_token, values["ckWebAuthToken"]), "the token is none")

        browser.verify(authenticator, False)
        browser.go(page)
        browser.click("#use")
        until("a refusal", lambda: browser.run("return !document.getElementById('unused').hidden"))
        browser.verify(authenticator, True)
        sign_in(browser, scene)
        browser.click("button[value=passkeys]")
        heading(browser, "Passkeys")
        expect("used " in browser.text(".list"), browser.text(".list"))
        browser.click("button[value=remove-passkey]")
        until("no passkey", lambda: "none yet" in browser.text("main"))
        browser.go(page)
        until("a refusal", lambda: "not known here" in (browser.text("#problem") or "") or browser.click("#use"))
    finally:
        browser.forget(authenticator)


def check_issuer(browser, scene, pictures):
    """Who agrees at the team's issuer signs in without a password here, and is the same user the next time."""
    users = set()
    for _ in range(2):
        browser.go(f"{scene.team_url}/sign-in?{urllib.parse.urlencode({'ckAPIToken': scene.team_token})}")
        heading(browser, "Sign in")
        browser.click("#issuer")
        heading(browser, "The team")
        browser.click("#agree")
        heading(browser, "Allow access?")
        expect("grace@example.com" in browser.text("main"), browser.text("main"))
        browser.click("button[value=allow]")
        until("the callback", lambda: "ckWebAuthToken=" in browser.url)
        values = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(browser.url).query))
        api = f"{scene.team_url}/database/1/{scene.container}/development"
        users.add(scene.caller(scene.team_token, values["ckWebAuthToken"], api))
    expect(len(users) == 1 and None not in users, f"{users}")


def invited(email=None, name=None):
    """Somebody who is invited to a share, and may change what is shared."""
    info = {"emailAddress": email} if email else {"userRecordName": name}
    return {"type": "USER", "permission": "READ_WRITE", "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": info}}


def at_share(browser, scene, url, email):
    """Opens a share's URL and signs in, by the keyboard."""
    browser.go(url)
    heading(browser, "Something is shared with you")
    until("the focus", lambda: focus(browser) == "in")
    browser.press(ENTER)
    heading(browser, "Sign in")
    browser.type("#email", email)
    browser.type("#password", scene.password)
    browser.press(ENTER)


def name_of(scene, email):
    return scene.ask(scene.signed_in(email), "private/users/caller")["userRecordName"]


def check_share(browser, scene, pictures):
    """Who is invited signs in by a share's page, declines, accepts, and comes into the app; the wrong account is told nothing."""
    zone, share, url = scene.share(participants=[invited(name=name_of(scene, scene.other))])
    # What stands behind the # is for people, and goes to no server.
    at_share(browser, scene, url + "#Our%20trip", scene.email)
    heading(browser, "Nothing is here for you")
    expect("trip" not in browser.text("main"), browser.text("main"))
    browser.click("main p a")
    heading(browser, "Sign in")
    at_share(browser, scene, url, scene.other)
    heading(browser, "Take part?")
    expect("Our <trip>" in browser.text("main") and scene.container.split(".")[-1] in browser.text("main"), browser.text("main"))
    browser.click("button[value=decline]")
    heading(browser, "You do not take part")
    expect(zone["zoneName"] not in scene.zones_of(scene.other), "who declines takes part")
    at_share(browser, scene, url, scene.other)
    heading(browser, "Take part?")
    until("the focus", lambda: focus(browser) == "H1")
    # The app's name leads to its page.
    browser.press(TAB)
    browser.press(TAB)
    expect(focus(browser) == "accept", f"the focus is on {focus(browser)}")
    browser.press(ENTER)
    heading(browser, "You take part")
    expect(zone["zoneName"] in scene.zones_of(scene.other), "who accepts takes no part")
    expect(browser.run("return document.getElementById('fallback').href").startswith(scene.app.origin + "/get?shortGUID="), "the fallback is another one")
    # The code for a telephone is at the end of the page.
    browser.run("scrollTo(0, document.documentElement.scrollHeight)")
    browser.picture(os.path.join(pictures, "share-accepted.png"))
    read = scanned(os.path.join(pictures, "share-accepted.png"))
    expect(read == url, f"a telephone reads {read}")
    browser.click("#app")
    told = until("the app", lambda: browser.text("#share"))
    expect(told == "?" + urllib.parse.urlencode({"share": url}), told)
    return "QR code read"


ONCE = {"type": "USER", "permission": "READ_WRITE", "nacre": {"oneTime": True}}


def once(share, url):
    """The one-time URL of a share, as its owner has it."""
    return f"{url}~{share['participants'][1]['nacre']['oneTimeSecret']}"


def check_share_once(browser, scene, pictures):
    """A one-time link lets in who comes first; to everybody after that, and with another secret, it leads nowhere. One that is taken back does so too."""
    zone, share, url = scene.share(participants=[ONCE])
    link = once(share, url)
    for wrong in [url, link[:-1] + ("1" if link[-1] == "0" else "0")]:
        at_share(browser, scene, wrong, scene.other)
        heading(browser, "Nothing is here for you")
    at_share(browser, scene, link, scene.other)
    heading(browser, "Take part?")
    browser.click("button[value=accept]")
    heading(browser, "You take part")
    expect(zone["zoneName"] in scene.zones_of(scene.other), "who accepts takes no part")
    at_share(browser, scene, link, scene.email)
    heading(browser, "Nothing is here for you")
    expect("trip" not in browser.text("main").lower(), browser.text("main"))
    at_share(browser, scene, link, scene.other)
    heading(browser, "You take part already")
    zone, share, url = scene.share(participants=[ONCE])
    link = once(share, url)
    at_share(browser, scene, link, scene.email)
    heading(browser, "Take part?")
    scene.ask(scene.owner, "private/records/modify", {"zoneID": zone, "operations": [{"operationType": "update", "record": {
        "recordName": "cloudkit.zoneshare", "recordType": "cloudkit.share", "recordChangeTag": share["recordChangeTag"], "participants": []}}]})
    browser.click("button[value=accept]")
    heading(browser, "Nothing is here for you")
    expect(zone["zoneName"] not in scene.zones_of(scene.email), "a link that was taken back lets in")


def asking(browser, scene):
    """Comes to a share that takes requests, with an account that has verified its address. Answers the zone and the address."""
    email = f"asker-{browser.name}-{time.time_ns()}@example.com"
    before = len(scene.sink.mails)
    scene.ask_for_verification(email)
    mail = until("a mail", lambda: scene.sink.mails[before:])[0]
    browser.go([line for line in mail.splitlines() if "/verify-address?" in line][0])
    heading(browser, "Is this your address?")
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "The address is verified")
    zone, _, url = scene.share(mails=True, asks=True)
    at_share(browser, scene, url, email)
    heading(browser, "Ask for access?")
    return zone, email


def check_share_request(browser, scene, pictures):
    """Who is not invited asks for access by the keyboard, and its owner hears of it; who does not ask is not heard of."""
    zone, email = asking(browser, scene)
    expect("trip" not in browser.text("main").lower() and email in browser.text("main"), browser.text("main"))
    until("the focus", lambda: focus(browser) == "H1")
    browser.press(TAB)
    expect(focus(browser) == "request", f"the focus is on {focus(browser)}")
    browser.press(ENTER)
    heading(browser, "You have asked")
    expect(scene.asked(zone) == [email], f"{scene.asked(zone)} have asked")
    zone, _ = asking(browser, scene)
    browser.click("button[value=decline]")
    heading(browser, "You do not take part")
    expect(scene.asked(zone) == [], f"{scene.asked(zone)} have asked")


def scanned(path):
    """What a reader of QR codes finds in a picture."""
    found = subprocess.run(["zbarimg", "--quiet", "--raw", path], capture_output=True, text=True)
    return found.stdout.strip()


def check_without_script(browser, scene, pictures):
    """All but a message works without JavaScript."""
    if not isinstance(browser, Chromium):
        return "not asked: Marionette needs it"
    plain = Chromium(script=False)
    try:
        plain.go(scene.page(scene.message_token, scene.app.origin))
        expect("needs JavaScript" in plain.text("main"), "nobody is told that the app will not hear")
        plain.go(by_name(scene.page(scene.redirect_token)))
        expect("passkey" not in plain.text("main"), "a passkey is offered, which only JavaScript can use")
        expect("JavaScript" not in plain.text("main"), "JavaScript is not needed here")
        sign_in(plain, scene)
        plain.click("button[value=allow]")
        until("the callback", lambda: "ckWebAuthToken=" in plain.url)
        zone, share, url = scene.share(public="READ_ONLY")
        plain.go(url)
        plain.click("#in")
        plain.type("#email", scene.email)
        plain.type("#password", scene.password)
        plain.click("button.main")
        plain.click("button[value=accept]")
        heading(plain, "You take part")
        expect(zone["zoneName"] in scene.zones_of(scene.email), "who accepts takes no part")
    finally:
        plain.close()


def axe():
    """axe-core, from the package that brings it. The package itself is not imported."""
    folder = importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]
    with open(os.path.join(folder, "axe.min.js")) as file:
        return file.read()


def shown(browser, scene):
    """Brings up each page in turn, and answers its name."""
    browser.go(scene.page(scene.message_token, scene.app.origin))
    yield "sign-in"
    browser.type("#email", scene.email)
    browser.type("#password", "not the password")
    browser.click("button.main")
    until("the problem", lambda: browser.text("#problem"))
    yield "wrong-password"
    browser.go(scene.page(scene.message_token, scene.app.origin, form="sign-up"))
    yield "sign-up"
    browser.type("#email", scene.email)
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "Sign in")
    yield "signed-up"
    sign_in(browser, scene)
    yield "question"
    browser.go(by_name(scene.page(scene.message_token, scene.app.origin)))
    yield "sign-in-passkey"
    sign_in(browser, scene)
    yield "question-passkey"
    browser.click("button[value=passkeys]")
    heading(browser, "Passkeys")
    yield "passkeys"
    browser.click("button[value=question]")
    heading(browser, "Allow access?")
    browser.click("button[value=allow]")
    heading(browser, "The app was not told")
    yield "lost"
    browser.go(scene.url + "/openapi")
    until("the endpoints", lambda: "endpoints of version" in browser.text("#state"))
    browser.run("document.querySelector('summary').click()")
    yield "openapi"
    browser.go(scene.url + "/sign-in")
    yield "problem"
    yield from mailed(browser, scene, scene.password)
    yield from verified(browser, scene)
    yield from shared(browser, scene)


def shared(browser, scene):
    """Opens a share's URL as who is not invited and as who is, and answers the name of each page."""
    _, _, url = scene.share(participants=[invited(name=name_of(scene, scene.other))])
    browser.go(url)
    heading(browser, "Something is shared with you")
    yield "share"
    at_share(browser, scene, url, scene.email)
    heading(browser, "Nothing is here for you")
    yield "share-refused"
    at_share(browser, scene, url, scene.other)
    heading(browser, "Take part?")
    yield "share-question"
    browser.click("button[value=decline]")
    heading(browser, "You do not take part")
    yield "share-declined"
    at_share(browser, scene, url, scene.other)
    heading(browser, "Take part?")
    browser.click("button[value=accept]")
    heading(browser, "You take part")
    yield "share-accepted"
    at_share(browser, scene, url, scene.other)
    heading(browser, "You take part already")
    yield "share-inside"
    asking(browser, scene)
    yield "share-asking"
    browser.click("button[value=request]")
    heading(browser, "You have asked")
    yield "share-asked"
    _, share, url = scene.share(participants=[ONCE])
    at_share(browser, scene, once(share, url), scene.other)
    heading(browser, "Take part?")
    browser.click("button[value=accept]")
    heading(browser, "You take part")
    at_share(browser, scene, once(share, url), scene.email)
    heading(browser, "Nothing is here for you")
    yield "share-used"


def mailed(browser, scene, password):
    """Sets a new password by a mail, and answers the name of each page."""
    before = len(scene.sink.mails)
    browser.go(scene.mailing_page)
    heading(browser, "Sign in")
    yield "sign-in-issuer"
    browser.click("a[href=forgotten-password]")
    heading(browser, "Forgotten password")
    yield "forgotten"
    browser.type("#email", scene.email)
    browser.click("button.main")
    heading(browser, "Look at your mail")
    yield "sent"
    mail = until("a mail", lambda: scene.sink.mails[before:])[0]
    browser.go([line for line in mail.splitlines() if "/new-password?" in line][0])
    heading(browser, "New password")
    yield "new-password"
    browser.type("#password", password)
    browser.click("button.main")
    heading(browser, "The password is set")
    yield "password-set"


def verified(browser, scene):
    """Verifies the address of a new account by a mail, and answers the name of each page."""
    before = len(scene.sink.mails)
    scene.ask_for_verification(f"new-{browser.name}-{time.time_ns()}@example.com")
    mail = until("a mail", lambda: scene.sink.mails[before:])[0]
    browser.go([line for line in mail.splitlines() if "/verify-address?" in line][0])
    heading(browser, "Is this your address?")
    yield "verify-address"
    browser.type("#password", scene.password)
    browser.click("button.main")
    heading(browser, "The address is verified")
    yield "address-verified"


def check_mail(browser, scene, pictures):
    """A link in a mail sets a password, which signs in; an issuer that nobody reaches is told on a page."""
    for name in mailed(browser, scene, "another horse of " + browser.name):
        pass
    browser.go(scene.mailing_page)
    browser.type("#email", scene.email)
    browser.type("#password", "another horse of " + browser.name)
    browser.click("button.main")
    heading(browser, "Allow access?")
    browser.go(scene.mailing_page)
    browser.click("#issuer")
    heading(browser, "You cannot sign in")
    expect("cannot be reached" in browser.text("#problem"), browser.text("#problem"))


def check_pages(browser, scene, pictures):
    """Each page in both themes, on a desk and on a telephone: axe finds nothing, nothing is cut off, nothing comes from elsewhere."""
    source, pages, rules = axe(), 0, 0
    if isinstance(browser, Chromium):
        browser.complaints()
    widths = [None, 390, 320] if isinstance(browser, Chromium) else [None]
    for theme in ["light", "dark"]:
        browser.theme(theme)
        for name in shown(browser, scene):
            for width in widths:
                if width or len(widths) > 1:
                    browser.width(width)
                label = f"{name} {theme} {width or ''}"
                result = json.loads(browser.run(
                    source + ";return axe.run(document, {resultTypes: ['violations', 'incomplete']}).then(found => JSON.stringify({"
                    "violations: found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)]),"
                    "passes: found.passes.length}))"))
                expect(not result["violations"], f"{label}: {result['violations']}")
                seen = browser.run(
                    "return [document.documentElement.scrollWidth - innerWidth, matchMedia('(prefers-color-scheme: dark)').matches,"
                    "performance.getEntriesByType('resource').filter(it => it.name !== location.origin + '/openapi.json').length,"
                    "Math.min(99, ...[...document.querySelectorAll('button, input:not([type=hidden], [type=checkbox])')].map(it => it.getBoundingClientRect().height))]")
                expect(seen[0] <= 0, f"{label}: {seen[0]} pixels are cut off")
                expect(seen[1] == (theme == "dark"), f"{label}: the browser shows another theme")
                expect(seen[2] == 0, f"{label}: something was loaded")
                expect(seen[3] >= 44, f"{label}: a field of {seen[3]} pixels")
                browser.picture(os.path.join(pictures, f"{name}-{theme}{f'-{width}' if width else ''}.png"))
                pages, rules = pages + 1, rules + result["passes"]
            if len(widths) > 1:
                browser.width(None)
    if isinstance(browser, Chromium):
        # 401 and 400 of these pages, and the form fields' own warnings, are no faults.
        complaints = [line for line in browser.complaints() if "status of 4" not in line]
        expect(not complaints, f"{complaints}")
    return f"{pages} pages, {rules} rules of axe passed"


SUBSCRIBE = """const [key, base, query, done] = arguments;
(async () => {
  const registration = await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const answer = await fetch(`${base}/tokens/web-push?${query}`, { method: 'POST', body: JSON.stringify({ subscription }) });
  return [answer.status, subscription.endpoint];
})().then(done, error => done([0, String(error)]));"""

SHOWN = """const done = arguments[0];
navigator.serviceWorker.ready.then(registration => registration.getNotifications()).then(all => done(all.map(shown => shown.title)), error => done(String(error)));"""


def check_push(browser, scene, pictures):
    """A page subscribes with the service worker of CloudKit JS, which is told what another device saves."""
    if browser.name != Firefox.name:
        return "skipped: its push service is built in"
    broker, pages = Broker(), Pages("localhost")
    pages.pages["/"] = subscriber()
    place = os.path.join(pictures, "push-scene.json")
    log = open(os.path.join(pictures, "push-server.log"), "w")
    server = subprocess.Popen(
        [scene.tests, "--testing-library", "swift-testing", "--filter", "BrowserPushTests"], stdin=subprocess.PIPE, stdout=log, stderr=log,
        env=os.environ | {"NACRE_PUSH_SERVICE": broker.endpoints, "NACRE_PUSH_SCENE": place})
    listener = None
    try:
        names = json.loads(until("the server", lambda: os.path.exists(place) and open(place).read()))
        root = f"http://127.0.0.1:{names['port']}"
        pages.pages["/worker.js"] = f"importScripts({json.dumps(root + '/ck/2/cloudkit-worker.js')});"
        path = f"1/{names['container']}/development"
        query = urllib.parse.urlencode({"ckAPIToken": names["api"], "ckWebAuthToken": names["ada"]})

        def ask(target, body=None, headers={}):
            request = urllib.request.Request(f"{root}/{target}", None if body is None else json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)

        info = {"alertBody": "A note came"}
        ask(f"database/{path}/private/subscriptions/modify?{query}", {"operations": [{"operationType": "create", "subscription": {
            "subscriptionID": "notes", "subscriptionType": "query", "query": {"recordType": "Note"}, "firesOn": ["create"], "notificationInfo": info}}]})
        key = ask(f"device/{path}/tokens/web-push?{query}")["applicationServerKey"]
        listener = Firefox(**{
            "dom.push.enabled": True, "dom.push.connection.enabled": True, "dom.push.serverURL": broker.url, "dom.push.testing.ignorePermission": True,
            "dom.push.testing.allowInsecureServerURL": True, "permissions.default.desktop-notification": 1,
            # Without a desktop nobody else shows them.
            "alerts.useSystemBackend": False})
        listener.go(pages.origin + "/")
        status, endpoint = listener.run_async(SUBSCRIBE, key, f"{root}/device/{path}", query)
        expect(status == 200, f"subscribed: {status} {endpoint}")
        expect(endpoint.startswith(broker.endpoints), endpoint)
        keys = [text.rstrip("=") for text in broker.keys.values()]
        expect(keys == [key], f"the browser subscribed with the server's key {key}: {keys}")
        save = {"operations": [{"operationType": "create", "record": {"recordName": "pushed", "recordType": "Note", "fields": {"text": {"value": "x"}}}}]}
        ask(f"database/{path}/private/records/modify", save, {"Authorization": f"Bearer {names['ada.device']}"})
        until("a message at the service", lambda: broker.posted)
        updates = until("the browser's acknowledgement", lambda: broker.acknowledged)
        expect([update["code"] for update in updates] == [100], f"delivered to the service worker: {updates}")
        told = json.loads(until("the payload", lambda: listener.text("#told")))
        expect(isinstance(told, dict), f"shown: {told}")
        expect(told["aps"]["alert"] == "A note came" and told["ck"]["qry"]["rid"] == "pushed", str(told))
        shown = listener.run_async(SHOWN)
        expect(shown == ["A note came"], f"shown: {shown}")
        headers, body = broker.posted[0]
        expect(headers["content-encoding"] == "aes128gcm" and b"A note" not in body, "the service cannot read it")
        return f"{len(body)} sealed bytes, opened and shown"
    finally:
        if listener:
            listener.close()
        server.stdin.close()
        server.wait(30)
        log.close()
        pages.close()
        broker.close()


# They use what is above.
from library import (  # noqa: E402,F401
    check_library_denial, check_library_files, check_library_integrity, check_library_popup, check_library_records, check_library_redirect,
    check_library_tabs)
from library_notifications import check_library_notifications, check_library_worker  # noqa: E402,F401
from sharing import check_share_ui, check_share_ui_frames  # noqa: E402,F401
from offline import check_offline  # noqa: E402,F401
