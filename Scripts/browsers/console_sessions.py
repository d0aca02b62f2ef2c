"""What is asked of the console's sessions: who signs in, in which role, in how many tabs; and of its pages when answers are not what they expect.

`console.py` runs these beside its own, in Chromium, which has an authenticator for tests. A check gets its scene, and fails by an error.
"""

import re
import time

from playwright.sync_api import expect

from console_data import CONTAINER

# What a script says of a member that is not there: no words for a person.
RAW = re.compile(r"undefined|\bNaN\b|\bnull\b|Cannot read|is not (a function|iterable|an object)|\[object")
# Pages that a viewer sees. The others are of endpoints that the role may not ask.
SEEN_BY_VIEWERS = ["Home", "Types and indexes", "Schema file", "Telemetry", "Requests", "Push", "Container settings", "Status", "Limits", "Alerts", "Backups", "Faults"]
# What a page of the console sends, as the page itself would.
SEND = """async ([method, path, body]) => {
    const headers = { "X-Nacre-Console": JSON.parse(localStorage.getItem("nacre.key")), "Content-Type": "application/json" };
    const answer = await fetch("../admin/1/" + path, { method, headers, body: body && JSON.stringify(body) });
    return [answer.status, (await answer.json()).code];
}"""


def link(scene, *words):
    """A link that `nacre` prints, whose address the console's own listener takes the place of: browsers keep no passkeys for 127.0.0.1."""
    assert scene.place.console, "a server that --link names has no port for this check that the script knows"
    printed = re.search(r"https?://\S+(#\S+)", scene.place.run(*words))
    return f"http://localhost:{scene.place.console}/console/{printed.group(1)}"


def signed_in(page, name):
    """Waits until the page is there for a person."""
    page.wait_for_selector("nav a")
    page.wait_for_selector("main h1", state="attached")
    assert f"as {name}" in page.get_by_role("button", name="Sign out").get_attribute("title"), "the frame does not say who is signed in"


def visible_pages(page):
    return [one.inner_text().strip() for one in page.locator("nav a").all()]


def check_passkey(scene):
    """An owner invites a viewer, who makes a passkey, signs in with it, changes nothing, and is signed out by another role and by a removal."""
    name = f"viewer-{time.time_ns()}"
    context = scene.browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    scene.watch(page)
    page.may_refuse = True
    client = context.new_cdp_session(page)
    client.send("WebAuthn.enable")
    authenticator = client.send("WebAuthn.addVirtualAuthenticator", {"options": {"protocol": "ctap2", "transport": "internal",
        "hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True}})["authenticatorId"]

    page.goto(link(scene, "team", "add", name, "--role", "viewer"))
    expect(page.get_by_text("You are invited as")).to_contain_text(name)
    page.get_by_role("button", name="Make a passkey").click()
    signed_in(page, name)
    assert "invitation" not in page.url, "the invitation stays in the address"
    kept = client.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]
    assert len(kept) == 1 and kept[0]["isResidentCredential"] and kept[0]["rpId"] == "localhost", kept

    assert visible_pages(page) == SEEN_BY_VIEWERS, f"a viewer is shown {visible_pages(page)}"
    before = scene.place.administer("containers")
    changes = 0
    for path in ["/server/home", "/server/alerts", "/server/backups", "/server/faults", "/server/status", "/server/alerts/server-errors"] + [
            f"/c/{CONTAINER}/development/{one}" for one in ("schema", "ckdb", "push", "sharing", "records", "deploy")]:
        page.evaluate("fragment => { location.hash = fragment }", path)
        scene.settle(page)
        assert page.locator("nav [aria-current]").count() or path.endswith(("records", "deploy")), f"{path} is not there"
        words = r"(New|Make|Add|Save|Keep|Give|Take|Change|Silence|Test|Remove|Delete|Back up|Verify|Order|Replace|Invite)\b"
        buttons = [one for one in page.locator("main button:visible:enabled").all() if re.match(words, one.inner_text().strip())]
        assert not buttons, f"{path} has {[one.inner_text() for one in buttons]}"
        assert not page.locator("main .toggle:enabled, main form:visible").count(), f"{path} has something to change"
        changes += 1
    for path, body in [("containers", {"name": "iCloud.com.example.Stolen"}), ("users", {"email": "mallory@example.com", "password": "correct horse battery"}),
        ("team/role", {"name": name, "role": "owner"}), ("console/links", {"role": "owner"}),
            ("schema/indexes", {"container": CONTAINER, "recordType": "Note", "field": "text", "options": ["QUERYABLE"]})]:
        told = page.evaluate(SEND, ["POST", path, body])
        assert told == [403, "ACCESS_DENIED"], f"a viewer asks POST {path}, and is told {told}"
    assert page.evaluate(SEND, ["GET", "server", None])[0] == 200
    assert scene.place.administer("containers") == before

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Nacre console")).to_be_visible()
    assert not [one for one in context.cookies() if one["name"].startswith("nacre-console") and one["value"]], "the cookie stays"
    page.get_by_role("button", name="Sign in with a passkey").click()
    signed_in(page, name)

    scene.place.run("team", "role", name, "--role", "developer")
    scene.open_when_ended(page, "#/server/alerts")
    page.get_by_role("button", name="Sign in with a passkey").click()
    signed_in(page, name)
    assert "Users" in visible_pages(page) and "Team" not in visible_pages(page)
    scene.place.run("team", "remove", name)
    scene.open_when_ended(page, "#/server/status")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").last).to_contain_text("passkey")
    assert page.locator("nav").count() == 0
    assert not page.faults, page.faults
    page.context.close()
    return f"{changes} pages without a change"


def check_tabs(scene):
    """A session that begins or ends in one tab is that of the others, and what is being written there stays."""
    page = scene.window()
    page.may_refuse = True
    other = page.context.new_page()
    scene.watch(other)
    other.may_refuse = True
    owner = lambda: scene.base + "#" + scene.place.run("console", "--no-open").strip().split("#")[-1].split()[0]
    page.goto(owner())
    page.wait_for_selector("nav a")
    scene.open(page, f"#/c/{CONTAINER}/development/sharing")
    page.get_by_label("Name of the app").fill("Not kept yet")
    other.goto(owner())
    other.wait_for_selector("nav a")
    page.wait_for_timeout(300)
    assert page.get_by_label("Name of the app").input_value() == "Not kept yet", "what was being written is gone"
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("main .pairs").first).to_contain_text("Not kept yet")

    viewer = scene.place.run("console", "--no-open", "--role", "viewer", "--name", "ada")
    other.goto("about:blank")
    other.goto(scene.base + "#" + viewer.split("#")[-1].split()[0])
    other.wait_for_selector("nav a")
    expect(page.locator("nav").get_by_text("Users", exact=True)).to_have_count(0)
    other.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Another tab has signed out.")).to_be_visible()
    assert page.locator("nav, .pairs").count() == 0, "what was shown stays"
    other.goto("about:blank")
    other.goto(owner())
    page.wait_for_selector("nav a")
    assert "sharing" in page.url, "the page does not come back"
    assert not page.faults + other.faults, page.faults + other.faults
    page.context.close()


def check_answers(scene):
    """An answer that lacks its members, or is cut off, is told in words, with something to do, and never in those of a script."""
    seen, told = 0, 0
    for change in ("{}", None):
        page = scene.window()
        scene.open(page, "#/server/home")

        def spoil(route):
            answer = route.fetch()
            is_spoiled = answer.status == 200 and "json" in answer.headers.get("content-type", "")
            body = answer.text()
            route.fulfill(response=answer, body=(change or body[:-1 - len(body) // 3]) if is_spoiled else body)

        page.route(re.compile(r"/admin/1/(?!console/)"), spoil)
        for name, _, place in scene.visits():
            scene.open(page, place)
            text = page.locator("body").inner_text()
            found = RAW.search(text)
            assert not found, f"{name} says: {text[max(0, found.start() - 80):found.end() + 80]}"
            problems = page.locator("main .problem")
            told += problems.count() > 0
            for one in problems.all():
                assert len(one.inner_text().split("\n")) > 1, f"{name} does not say what to do: {one.inner_text()}"
            seen += 1
        page.goto("about:blank")
        page.goto(scene.base + "#/server/home")
        page.wait_for_selector("main .problem")
        assert not RAW.search(page.locator("body").inner_text())
        page.context.close()
    assert told > seen // 2, f"{told} of {seen} pages say so"
    return f"{told} of {seen} pages say so"


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
