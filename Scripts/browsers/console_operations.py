"""What is asked of the console's pages of operations. Each check drives the pages as an operator does, and looks at the server for what came of it.

`console.py` runs these beside its own. A check gets a `Console`: a Playwright page that is signed in, the server's own admin API, and a container.
It fails by an error.
"""

import base64
import datetime
import hashlib
import hmac
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from console_data import CONTAINER, MARKUP, PASSWORD

SERVER_PAGES = ["status", "users", "alerts", "backups", "tasks", "team", "limits", "audit", "serverlog", "faults"]


class Console:
    def __init__(self, page, scene):
        place = scene.place
        self.page, self.pictures, self.container, self.environment = page, scene.pictures, CONTAINER, "production"
        self.admin, self.secret, self.public = place.admin, place.secret, place.public
        page.set_default_timeout(15000)

    @property
    def is_emulator(self):
        return "/admin/1/faults" in self.administer("openapi.json")["paths"]

    def open(self, path, **query):
        """Opens a page and waits until it is there."""
        base = f"#/server/{path}" if path.split("/")[0] in SERVER_PAGES else f"#/c/{self.container}/{self.environment}/{path}"
        search = "&".join(f"{name}={urllib.request.quote(str(value), safe='')}" for name, value in query.items())
        if self.page.url.split("?")[0] != self.page.url.split("#")[0] + base:  # Another query is shown in the same view.
            self.page.evaluate("document.querySelector('main .view')?.setAttribute('data-old', '')")
        self.page.evaluate("hash => { if (location.hash === hash) location.reload(); else location.hash = hash; }", base + (f"?{search}" if search else ""))
        self.page.wait_for_selector("main .view:not([data-old]) h1")
        self.page.wait_for_selector("main .skeleton", state="detached")

    def click(self, name, exact=True):
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def fill(self, label, text):
        self.page.get_by_label(label, exact=True).first.fill(text)

    def dialog(self):
        return self.page.locator("dialog[open]").last

    def confirm(self, name, typed=None):
        if typed:
            self.dialog().locator("input").last.fill(typed)
        self.dialog().get_by_role("button", name=name, exact=True).click()

    def once(self):
        """The secret of a dialog that shows it once."""
        text = self.dialog().locator("code").first.inner_text()
        self.dialog().get_by_role("button", name="I have kept it").click()
        return text

    def administer(self, path, body=None):
        return ask(f"{self.admin}/admin/1/{path}", body, {"Authorization": f"Bearer {self.secret}"})[1]

    def app(self, path, body=None, headers={}):
        """The status and answer of a request of an app."""
        return ask(f"{self.public}/database/1/{self.container}/{self.environment}/{path}", body, headers)


def ask(url, body, headers):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"} | headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def until(what, question, seconds=15):
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def expect(is_true, text):
    assert is_true, text


def signed_in(console, email):
    """The header of a device of a user, who is made if missing."""
    if email not in [user["email"] for user in console.administer("users")["users"]]:
        console.administer("users", {"email": email, "password": PASSWORD})
    token = console.administer("tokens", {"container": console.container, "environment": console.environment, "kind": "api", "name": "Checks"})["token"]
    told = ask(f"{console.public}/account/1/sign-in", {
        "email": email, "password": PASSWORD, "apiToken": token, "container": console.container, "environment": console.environment, "kind": "account",
        "device": MARKUP}, {})[1]
    return {"Authorization": f"Bearer {told['token']}"}


def check_telemetry(console):
    """The chart is read and brushed by the keyboard alone; a brushed period is in the address, and Back leaves it."""
    device = signed_in(console, "ada@example.com")
    for _ in range(5):
        console.app("public/users/caller", headers=device)
    page = console.page
    console.open("telemetry", last="hour", scope="server")
    plot = page.get_by_role("slider")
    plot.focus()
    page.keyboard.press("End")
    last = plot.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowLeft")
    expect(last and plot.get_attribute("aria-valuetext") != last, "the arrow does not move the cursor")
    for _ in range(9):
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    until("the period", lambda: re.search(r"from=\d+&to=\d+|to=\d+.*from=\d+", page.url))
    page.wait_for_selector("main .chip")
    page.go_back()
    until("Back", lambda: "from=" not in page.url)
    until("the chart", lambda: page.get_by_role("slider").count() == 1)
    console.click("Table")
    rows = page.locator(".chart-table tbody tr").count()
    expect(rows == 60, f"the table has {rows} rows")
    console.click("Errors")
    until("lines by error", lambda: "by=code" in page.url)
    page.reload()
    page.wait_for_selector("button[aria-pressed=true]:has-text('Errors')")
    return "60 slots by keys and as a table"


def check_requests(console):
    """A refused request is there a moment later, by itself; its page says why; nothing is asked while the page is hidden."""
    page, device = console.page, signed_in(console, "ada@example.com")
    console.open("logs", live="1")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/admin/1/requests" in request.url else None)
    begin = time.monotonic()
    console.app("private/records/modify", {"operations": [{"operationType": "update", "record": {"recordName": "no-such-record", "recordType": "Note", "recordChangeTag": "1"}}]}, device)
    row = page.locator("tbody tr.fresh:has-text('refused')").first
    row.wait_for(timeout=15000)
    took = time.monotonic() - begin
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(300)
    asked.clear()
    page.wait_for_timeout(2500)
    expect(asked == [], f"a hidden page asks: {asked}")
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    until("a question of the page that is seen again", lambda: (page.wait_for_timeout(50), asked)[1])
    console.open("logs", code="NOT_FOUND")
    page.locator("tbody tr").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("main .trace")
    text = page.locator("main").inner_text()
    expect("Record not found" in text and "nacre why" in text and "in the store" in text, "the page of the request does not say why")
    expect("no-such-record" not in text, "the page shows the name of a record")
    return f"live after {took:.1f} s"


def check_users(console):
    """An account is made, renamed with markup, signed out, restricted and deleted; the server agrees each time."""
    page, email = console.page, f"zoe-{time.time_ns()}@example.com"
    console.open("users")
    console.click("New account")
    console.fill("E-mail address", email)
    console.fill("Password", PASSWORD)
    console.confirm("Make account")
    page.wait_for_selector(f"h1:has-text('{email}')")
    console.click("Change the name")
    console.fill("Given name", MARKUP)
    console.confirm("Change")
    until("the name", lambda: MARKUP in page.locator("main").inner_text())
    signed_in(console, email)
    console.open(f"users/{urllib.request.quote(email)}")
    page.get_by_role("button", name=f"Sign out {MARKUP}").click()
    until("the device to end", lambda: console.administer(f"sessions?email={email}")["sessions"] == [])
    console.click("Act as this user")
    console.dialog().get_by_label("Container").select_option(console.container)
    console.confirm("Make a token")
    until("the token", lambda: console.dialog().get_by_role("button", name="I have kept it").count())
    token = console.once()
    until("the administrator's device", lambda: console.administer(f"sessions?email={email}")["sessions"] != [])
    caller = f"{console.public}/database/1/{console.container}/development/public/users/caller"
    expect(ask(caller, None, {"Authorization": f"Bearer {token}"})[0] == 200, "the token acts as nobody")
    page.get_by_label("What apps see").select_option("restricted")
    until("the state", lambda: console.administer(f"users/show?email={email}")["state"] == "restricted")
    console.click("Code for a new password")
    console.confirm("Make a code")
    until("the code", lambda: console.dialog().locator("code").count())
    expect(len(console.once()) > 6, "the code is short")
    console.click("Delete")
    expect(console.dialog().get_by_role("button", name="Delete account").is_disabled(), "an account goes without its address typed")
    console.confirm("Delete account", email)
    until("the account to be deleted", lambda: all(user["isDeleted"] for user in console.administer("users")["users"] if user["email"] == email))


def check_tokens(console):
    """Tokens are shown once, replaced and ended; a key that the browser made signs a request that the server takes."""
    page = console.page
    console.open("tokens")
    console.click("New API token")
    console.fill("Name", MARKUP)
    console.fill("Origins that may use it", "https://notes.example.com")
    console.confirm("Make token")
    until("the token", lambda: console.dialog().locator("code").count())
    token = console.once()
    held = lambda: {one["id"]: one for one in console.administer(f"tokens?container={console.container}")["tokens"]}
    expect(held()[token]["origins"] == ["https://notes.example.com"], "the token lacks its origin")
    until("the row", lambda: page.locator(f"tr:has-text('{MARKUP}')").count())
    page.get_by_role("button", name=f"End {MARKUP}").first.click()
    expect(console.dialog().get_by_role("button", name="End it").is_disabled(), "a token of production ends without the container's name typed")
    console.confirm("End it", console.container)
    until("the token to end", lambda: token not in held())
    console.open("tokens")
    console.click("New server key")
    console.fill("Name", "Made in the browser")
    console.confirm("Make key")
    until("the key", lambda: console.dialog().locator("code").count())
    key_id = re.search(r"[0-9a-f]{64}|[0-9A-Za-z_-]{20,}", console.dialog().inner_text().split("key ID is")[1])[0]
    status, answer = signed(console, key_id.rstrip("."), console.once(), "public/records/lookup", {"records": [{"recordName": "none"}]})
    expect(status == 200 and answer["records"][0]["serverErrorCode"] == "NOT_FOUND", f"the key does not sign: {status} {answer}")
    return "a key of the browser's signs"


def signed(console, key_id, pem, path, body):
    """A request that a server-to-server key signs."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        path = f"/database/1/{console.container}/{console.environment}/{path}"
        text, date = json.dumps(body).encode(), datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = f"{date}:{base64.b64encode(hashlib.sha256(text).digest()).decode()}:{path}"
        code = subprocess.run(["openssl", "dgst", "-sha256", "-sign", file.name], input=told.encode(), capture_output=True, check=True).stdout
    return ask(console.public + path, body, {
        "X-Apple-CloudKit-Request-KeyID": key_id, "X-Apple-CloudKit-Request-ISO8601Date": date, "X-Apple-CloudKit-Request-SignatureV1": base64.b64encode(code).decode()})


def check_alerts(console):
    """A rule is added with a limit in words, tried, silenced with a name and a reason, and removed."""
    page = console.page
    rules = lambda: {rule["name"]: rule for rule in console.administer("alerts")["alerts"]}
    if "console-check" in rules():
        console.administer("alerts/remove", {"name": "console-check"})
    console.open("alerts")
    console.click("New alert")
    console.fill("Name", "console-check")
    console.dialog().get_by_label("Figure").select_option("latency")
    expect(console.dialog().get_by_label("Percentile").is_visible() and not console.dialog().get_by_label("Errors").is_visible(), "the form does not follow the kind")
    console.fill("Limit", "1.5s")
    console.confirm("Add alert")
    page.wait_for_selector("h1:has-text('console-check')")
    rule = rules()["console-check"]
    expect((rule["limit"], rule["percentile"], rule["holdSeconds"]) == (1500, 95, 300), f"another rule: {rule}")
    console.click("Test")
    until("the ways", lambda: "log" in console.dialog().inner_text())
    page.keyboard.press("Escape")
    console.click("Silence")
    console.fill("Who", "Ada")
    console.fill("Why", MARKUP)
    console.confirm("Silence")
    until("the silence", lambda: rules()["console-check"].get("silence", {}).get("why") == MARKUP)
    until("the note", lambda: MARKUP in page.locator("main").inner_text())
    console.click("Remove")
    console.confirm("Remove")
    until("the rule to go", lambda: "console-check" not in rules())


def check_webhooks(console):
    """A webhook with a predicate is made, tried against a receiver of this script's, and deleted by the container's name."""
    got = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.headers["X-Nacre-Signature"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}/hook"
    held = lambda: [hook for hook in console.administer(f"webhooks?container={console.container}&environment={console.environment}")["webhooks"] if hook["url"] == url]
    page = console.page
    console.open("webhooks")
    console.click("New webhook")
    until("the form", lambda: console.dialog().count())
    console.fill("URL of the receiver", url)
    console.dialog().get_by_label("Records").select_option("Note")
    console.fill("That pass", "stars >= 3")
    console.confirm("Make webhook")
    until("the secret", lambda: console.dialog().locator("code").count())
    secret = console.once()
    query = json.loads(held()[0]["query"])
    expect("GREATER_THAN_OR_EQUALS" in json.dumps(query), f"another filter: {query}")
    page.get_by_role("button", name=f"Test {url}").click()
    until("the delivery", lambda: (page.wait_for_timeout(20), got)[1])
    page.wait_for_selector(".toast.good")
    sent = dict(part.split("=") for part in got[0][0].split(","))
    expect(hmac.new(secret.encode(), sent["t"].encode() + b"." + got[0][1], hashlib.sha256).hexdigest() == sent["v1"], "the secret does not sign")
    page.get_by_role("button", name=f"Delete {url}").click()
    console.confirm("Delete", console.container)
    until("the webhook to go", lambda: held() == [])
    receiver.shutdown()


def check_backups(console):
    """A backup is made into a folder and is there; a path that is not whole is refused in words."""
    console.open("backups")
    console.fill("Path on the server's machine", "backups")
    console.click("Back up")
    until("the refusal", lambda: "not absolute" in console.page.locator("main").inner_text())
    if console.is_emulator:
        return "refused in words; an emulator has nothing to back up"
    with tempfile.TemporaryDirectory() as folder:
        console.fill("Path on the server's machine", folder)
        console.click("Back up")
        console.page.wait_for_selector(".badge.good:has-text('done')", timeout=60000)
        expect(os.listdir(folder), "there is no backup")


def check_tasks(console):
    """Both checks run through all parts and say that nothing is wrong."""
    console.open("tasks")
    console.click("Check")
    console.page.wait_for_selector(".outcome:has-text('rows')", timeout=60000)
    console.click("Verify")
    console.page.wait_for_selector(".outcome:has-text('assets')", timeout=60000)
    console.click("Remove orphans")
    console.confirm("Remove orphans")
    until("the end", lambda: "Looked at" in console.page.locator("main").inner_text())


def check_quotas(console):
    """A quota and a rate are set in words and given back."""
    place = f"container={console.container}&environment={console.environment}"
    console.open("quotas")
    console.click("Change quotas")
    console.fill("Each private database", "250M")
    console.confirm("Change")
    until("the quota", lambda: console.administer(f"quotas?{place}")["userBytes"] == 250 << 20)
    until("the page", lambda: "250 MB" in console.page.locator("main").inner_text())
    console.click("Change quotas")
    console.fill("Each private database", "much")
    console.confirm("Change")
    until("the fault", lambda: "no such number" in console.dialog().inner_text())
    console.fill("Each private database", "")
    console.confirm("Change")
    until("the server's own", lambda: not console.administer(f"quotas?{place}")["isUserBytesOwn"])
    console.open("quotas")
    console.click("Change rates")
    console.fill("Each user", "500")
    console.confirm("Change")
    until("the rate", lambda: console.administer(f"rates?container={console.container}")["userRate"] == 500)
    console.administer("rates/change", {"container": console.container, "resetsUserRate": True})


def check_push(console):
    """A key of Apple's is kept and taken away, and no page has its private half."""
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], capture_output=True, text=True, check=True).stdout
    console.open("push")
    console.click("Give a key")
    console.fill("Text of the .p8 file", key)
    console.fill("Key ID", "ABCDE12345")
    console.fill("Team ID", "FGHIJ67890")
    console.fill("Bundle ID of the app", "com.example.notes")
    console.confirm("Keep it")
    until("the key", lambda: "ABCDE12345" in console.page.locator("main").inner_text())
    expect(key.splitlines()[1] not in console.page.content(), "the page has the private key")
    console.click("Take away")
    console.confirm("Take away", console.container)
    until("the key to go", lambda: console.administer(f"push/apns?container={console.container}")["keys"] == [])


def check_sharing(console):
    """Names and URLs of the pages of shares are kept, and removed by a box."""
    console.open("sharing")
    console.fill("Name of the app", MARKUP)
    console.fill("URL that opens a share in the app", "https://notes.example.com/open")
    console.click("Keep")
    until("what is kept", lambda: "https://notes.example.com/open" in console.page.locator("main").inner_text())
    console.fill("Name of the app", "")
    console.page.get_by_label("no name").check()
    console.page.get_by_label("no app's URL").check()
    console.click("Keep")
    until("what is removed", lambda: "nothing" in console.page.locator("main .pairs").first.inner_text())


def check_logs(console):
    """The audit log has what was done, the server's log its lines; both are filtered, and the filter is in the address."""
    console.open("audit")
    console.fill("Filter", "sharing")
    until("the filter", lambda: console.page.locator("tbody tr").count() and all("sharing" in text for text in console.page.locator("tbody tr").all_inner_texts()))
    expect("q=sharing" in console.page.url, "the filter is not in the address")
    console.open("serverlog", level="notice", still="1")
    until("lines", lambda: console.page.locator(".server-lines li").count())


def check_faults(console):
    """On an emulator a fault is ordered, happens, and is taken back. Another server says what to start."""
    console.open("faults")
    if not console.is_emulator:
        expect("nacre serve --emulator" in console.page.locator("main").inner_text(), "it does not say what to start")
        return "no emulator"
    console.page.get_by_label("What goes wrong").select_option("quotaExceeded")
    console.click("Order it")
    until("the order", lambda: "quotaExceeded" in console.page.locator("main ol").inner_text())
    console.click("Take all back")
    until("nothing", lambda: console.administer("faults")["faults"] == [])
    return "ordered and taken back"


def check_details(console):
    """Pages of one request, one account and one rule, with what belongs to them, as console.py looks at the pages of lists."""
    from axe_playwright_python.sync_playwright import Axe
    page, faults = console.page, []
    signed_in(console, "ada@example.com")
    uuid = console.administer("requests?limit=1&code=NOT_FOUND")["requests"][0]["request"]
    for theme, width in [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 390)]:
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        for path in [f"request/{uuid}", "users/ada%40example.com", "alerts/disk-free" if not console.is_emulator else "alerts/server-errors"]:
            console.open(path)
            page.screenshot(path=os.path.join(console.pictures, f"{path.split('/')[0]}-one-{width}-{theme}.png"))
            wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            found = [(one["id"], one["nodes"][0]["html"][:120]) for one in Axe().run(page).response["violations"]]
            if wide > 0 or found or page.evaluate("() => window.hurt || document.querySelector('img[src=x]')"):
                faults.append(f"{path} {theme} {width}: {wide} pixels too wide, {found}")
    expect(not faults, "\n".join(faults))


def of_scene(check):
    """A check of `console.py`."""
    def run(scene):
        page = scene.window()
        page.may_refuse = True
        try:
            page.goto(scene.base)
            page.wait_for_selector("main h1")
            said = check(Console(page, scene))
            expect(not page.faults, f"errors: {page.faults}")
            return said
        except Exception:
            page.screenshot(path=os.path.join(scene.pictures, f"failed-{check.__name__}.png"))
            raise
        finally:
            page.context.close()
    return run


CHECKS = {name.removeprefix("check_"): of_scene(check) for name, check in list(globals().items()) if name.startswith("check_")}
