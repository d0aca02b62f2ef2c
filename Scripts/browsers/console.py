#!/usr/bin/env python3
"""Drives the console in headless browsers against a real server, and says what was seen.

    Scripts/browsers/console.py [--nacre PATH] [--browser chromium|firefox] [--records 5000] [--sources] [--link URL --data FOLDER] [CHECK …]

It starts a server, fills it (console_data.py), and signs in by a link of `nacre console`; or takes a link to a console whose server's data folder is
given. With --sources the page is that of Web/console as it stands, and not the one in the program. Pictures of each page, light and dark, at 1440 and 390 pixels, are left in .build/browsers/console. Exits with 1 if a check failed.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
import urllib.parse

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, here)

import console_data  # noqa: E402: the path comes first
import console_operations  # noqa: E402
import console_sessions  # noqa: E402
from console_data import CONTAINER, MARKUP, value  # noqa: E402
from serving import free_port  # noqa: E402
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import expect, sync_playwright  # noqa: E402

CONSOLE = os.path.join(root, "Web/console")
FIRST_LOAD_BYTES = 80 * 1024
READY_MILLISECONDS, FRAME_MILLISECONDS = 300, 50
VISITS = 10
# Notes when the first record is there, whatever the script that drives the browser does meanwhile.
NOTE_READY = """addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
    if (document.querySelector(".grid-body .grid-row")) window.readyAt ??= performance.now();
}).observe(document, { subtree: true, childList: true }));"""
ADA = "ada%40example.com"
# Queries of pages that show more with one.
QUERIES = {
    "records": ["type=Note", f"db=private&user={ADA}&zone=*&type=Note&look=1",
        f"db=private&user={ADA}&zone=Notes&type=Note&record=sunset&rzone=Notes", "type=Note&q=stars+%3E+3&record=note-001&rzone=_defaultZone",
                "type=Note&q=stars+%3E+", "type=Folder&q=color+%3D+%22teal%22"],
    "zones": ["", f"user={ADA}&zone=Notes"],
    "shares": ["", f"user={ADA}&zone=Work&record=note-001"],
    "subscriptions": ["", f"user={ADA}&db=public&subscription=starred-notes&record=note-001"],
    "schema": ["type=Note", "view=diagram"],
    "roles": ["", "user=bob%40example.com&operation=WRITE&record=note-001"],
}
# Pixels by which the window, or its part with the page, scrolls to the side.
WIDER = "() => Math.max(...[document.documentElement, document.querySelector('main')].map((one) => one.scrollWidth - one.clientWidth))"
# Answers of the server that a page above asks for on purpose: the browser reports each as an error of loading.
REFUSALS = ("records", "request")


def pages():
    """The pages of pages.js: `(path, is_of_server)`."""
    with open(os.path.join(CONSOLE, "js/pages.js")) as file:
        return [(path, "isOfServer: true" in line) for line in file for path in re.findall(r'\{ path: "([^"]+)"', line)]


def fragment(path, is_of_server=False, query="", environment="development"):
    place = f"#/server/{path}" if is_of_server else f"#/c/{CONTAINER}/{environment}/{path}"
    return place + ("?" + query if query else "")


def visits():
    """Each page, and its further states by a query: `(name, path, fragment)`."""
    return [(f"{path}-{index}", path, fragment(path, is_of_server, query)) for path, is_of_server in pages()
        for index, query in enumerate(QUERIES.get(path, [""]))]


class Scene:
    """A console in a browser."""

    def __init__(self, browser, link, place, pictures):
        self.browser, self.link, self.place, self.pictures = browser, link, place, pictures
        self.base = link.split("#")[0]
        self.state = None

    def window(self, width=1440, theme="light", height=900):
        """A page that is signed in; what went wrong in it is in `page.faults`."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, storage_state=self.state,
            reduced_motion="reduce")
        return self.watch(context.new_page())

    @staticmethod
    def watch(page):
        page.faults, page.hosts, page.may_refuse = [], set(), False
        page.on("console", lambda message: message.type == "error" and not (page.may_refuse and "status of 4" in message.text) and page.faults.append(message.text))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.hosts.add(urllib.parse.urlsplit(request.url).netloc))
        return page

    def sign_in(self):
        page = self.window()
        page.goto(self.link)
        page.wait_for_selector("nav a")
        self.state = page.context.storage_state()
        page.context.close()

    def open(self, page, fragment):
        if not page.url.startswith(self.base):
            page.goto(self.base + fragment)
        else:
            page.evaluate("fragment => { location.hash = fragment }", fragment)
        self.settle(page)

    @staticmethod
    def visits():
        return visits()

    @staticmethod
    def open_when_ended(page, fragment):
        """Goes to a page whose session an administrator has ended."""
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        expect(page.get_by_text("The session has ended.")).to_be_visible()
        assert page.locator("nav").count() == 0

    @staticmethod
    def settle(page):
        page.wait_for_selector("main h1", state="attached")
        page.wait_for_function("() => !document.querySelector('main .skeleton')")
        # Pages of a user's data ask first whether to look. Of those of records the ones with `look` do.
        look = page.locator(".empty").get_by_role("button", name="Look", exact=True)
        if ("look" in page.url or "/records?" not in page.url) and look.count():
            look.click()
            page.wait_for_function("() => !document.querySelector('main .skeleton')")
        page.wait_for_timeout(60)


def check_code(scene):
    """No text becomes markup or code anywhere."""
    for folder, _, names in os.walk(CONSOLE):
        for name in names:
            if name.endswith((".js", ".html")) and "/tests" not in folder:
                with open(os.path.join(folder, name)) as file:
                    found = re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\sstyle=", file.read())
                assert not found, f"{name} has {found.group(0)}"


def check_pages(scene):
    """Each page, in both themes and widths: no violation of axe's rules, no error, no other host, nothing wider than the window, no markup from data."""
    axe, seen, violations = Axe(), 0, []
    for width in (1440, 390):
        for theme in ("light", "dark"):
            page = scene.window(width, theme)
            for name, path, place in visits():
                page.may_refuse = path in REFUSALS
                scene.open(page, place)
                name = f"{name}-{width}-{theme}"
                page.screenshot(path=os.path.join(scene.pictures, name + ".png"))
                found = axe.run(page).response["violations"]
                violations += [f"{name}: {one['id']}: {one['nodes'][0]['html'][:160]}" for one in found]
                wide = page.evaluate(WIDER)
                violations += [f"{name}: {wide} pixels wider than the window"] if wide > 0 else []
                violations += [f"{name}: {fault}" for fault in page.faults]
                page.faults.clear()
                assert not page.evaluate("() => window.hurt || document.querySelector('img[src=x]')"), f"{name}: markup of data became an element"
                seen += 1
            violations += [f"asked {host}" for host in page.hosts - {urllib.parse.urlsplit(scene.base).netloc}]
            page.context.close()
    assert not violations, f"{len(violations)} faults:\n" + "\n".join(dict.fromkeys(violations))
    return f"{seen} pages"


def check_markup(scene):
    """Markup in names and fields of data stays text where it is shown."""
    page = scene.window()
    scene.open(page, fragment("records", query="type=Note"))
    expect(page.locator(".grid").get_by_text(MARKUP, exact=True).first).to_be_visible()
    scene.open(page, fragment("records", query="type=Note&record=note-000&rzone=_defaultZone"))
    expect(page.locator(".panel").get_by_text(MARKUP, exact=True).first).to_be_visible()
    for name in (MARKUP, "\"><script>window.hurt=1</script>", "javascript:window.hurt=1"):
        quoted = urllib.parse.quote(name)
        for path, query in [("records", f"type={quoted}"), ("records", f"type=Note&q={quoted}"),
            ("records", f"type=Note&record={quoted}&rzone=_defaultZone"), ("zones", f"user={quoted}"), ("roles", f"record={quoted}&operation=WRITE"),
                            (quoted, "")]:
            scene.open(page, fragment(path, query=query))
        scene.open(page, f"#/c/{quoted}/development/records")
    assert not page.evaluate("() => window.hurt || document.querySelector('img[src=x]')"), "markup became an element"


HOSTILE = [MARKUP, "javascript:window.hurt=1", "\u202egnp.exe", "W" * 180, "__proto__", "\"><script>window.hurt=1</script>"]


def fill_hostile(place):
    """Gives every kind of name and value the hostile texts, as far as the server takes them: names of records are printable ASCII, for one."""
    owner = place.user("hostile@example.com")
    place.administer("users/change-name", {"email": "hostile@example.com", "givenName": MARKUP, "familyName": "W" * 60})
    place.administer("tokens", {"container": CONTAINER, "environment": "development", "kind": "api", "name": HOSTILE[-1]})
    for zone in HOSTILE:
        place.cloud(owner, "private/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
    names = [text if text.isascii() and text[0] != "_" else f"hostile-{index}" for index, text in enumerate(HOSTILE)]
    records = [{"recordName": name, "recordType": "Note", "fields": {"title": value(text), "text": value(text * 20), "tags": value(HOSTILE, "STRING_LIST"),
        "folder": value({"recordName": name, "action": "NONE"}, "REFERENCE")}} for name, text in zip(names, HOSTILE)]
    for database, zone in [("public", None), ("private", None), ("private", MARKUP)]:
        place.save(owner, database, records, zone)
    place.save(owner, "private", [{"recordName": "share", "recordType": "cloudkit.share", "forRecord": {"recordName": MARKUP}, "publicPermission": "READ_ONLY",
        "fields": {"cloudkit.title": value(MARKUP)}}], MARKUP)
    place.cloud(owner, "private/subscriptions/modify", {"operations": [{"operationType": "create", "subscription":
        {"subscriptionID": name, "subscriptionType": "zone", "zoneID": {"zoneName": MARKUP}}} for name in HOSTILE]})


def check_hostile(scene):
    """Hostile names and values of apps, users and administrators: none runs, none is where a link leads, and no page is wider than its window."""
    if "hostile@example.com" not in [user["email"] for user in scene.place.administer("users")["users"]]:
        fill_hostile(scene.place)
    user, seen = "hostile%40example.com", 0
    for width in (1440, 390):
        page = scene.window(width)
        page.may_refuse = True
        states = [("records", f"db=private&user={user}&zone=*&type=Note&look=1")]
        for name in map(urllib.parse.quote, HOSTILE):
            states += [("zones", f"user={user}&zone={name}"), ("shares", f"user={user}&zone={name}&record={name}"), ("zones", f"user={name}"),
                ("subscriptions", f"user={user}&db=private&subscription={name}&record={name}&zone={name}"),
                ("records", f"type=Note&record={name}&rzone=_defaultZone"), ("records", f"type={name}&q={name}&sort={name}&cols={name}"), ("logs", f"user={name}")]
        states += [(path, "") for path, is_of_server in pages() if not is_of_server]
        for path, query in states + [("users/" + user, None), ("users", None), ("audit", None), ("serverlog", None)]:
            scene.open(page, fragment(path, query is None, query or ""))
            wide = page.evaluate(WIDER)
            bad, hurt = page.evaluate("""() => [
                [...document.querySelectorAll("a[href],form[action],iframe,img")].map((one) => one.getAttribute("href") ?? one.src ?? "")
                    .filter((to) => !/^(#|favicon|blob:|https?:)|^\\/|^\\.\\./.test(to) && to !== location.origin + "/console/favicon.svg"),
                Boolean(window.hurt || document.querySelector("img[src=x]") || ({}).hurt)]""")
            if wide > 0:
                page.screenshot(path=os.path.join(scene.pictures, "wide.png"))
            assert wide <= 0 and not bad and not hurt, f"{path}?{query} at {width}: {wide} pixels too wide, leads to {bad}, {hurt}"
            assert not page.faults, f"{path}?{query}: {page.faults}"
            seen += 1
        page.context.close()
    return f"{seen} states"


def check_keyboard(scene):
    """From the palette to a record and back without a pointer."""
    page = scene.window()
    scene.open(page, fragment("home", True))
    page.keyboard.press("Control+k")
    page.keyboard.type("records data")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid")
    scene.settle(page)
    page.keyboard.press("/")
    page.keyboard.type("number > 2")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('number')")
    scene.settle(page)
    page.locator(".grid").focus()
    for key in ("j", "j", "k", "x", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".panel .record-fields")
    assert page.locator(".grid-row[aria-selected=true]").count() == 1, "x selects the row"
    page.keyboard.press("Escape")
    page.wait_for_selector(".panel", state="hidden")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_function("() => location.hash.includes('/schema')")
    scene.settle(page)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement !== document.body"), "the focus is lost"


def check_links(scene):
    """A link and a reload show the same state, and Back goes to the one before."""
    page = scene.window()
    scene.open(page, fragment("records", query="type=Note&q=stars+%3E+3&sort=-stars"))
    rows = page.locator(".records-status").inner_text()
    page.reload()
    scene.settle(page)
    page.wait_for_selector(".grid-body .grid-row")
    assert page.locator(".records-status").inner_text().split("\n")[0] == rows.split("\n")[0], "a reload shows something else"
    assert page.get_by_label("Predicate").input_value() == "stars > 3"
    page.locator(".grid-body .grid-row").first.click()
    page.wait_for_selector(".panel .record-fields")
    page.go_back()
    page.wait_for_selector(".panel", state="hidden")
    assert "record=" not in page.url


def check_looks(scene):
    """A link leads to no look at a user's data: the page asks first, and looks once it is told to."""
    page, asked = scene.window(), []
    page.on("request", lambda request: request.method == "POST" and asked.append(request.url.split("/admin/1/")[1]))
    for path, query, route in [("zones", f"user={ADA}&zone=Notes", "zones/list"), ("shares", f"user={ADA}&zone=Work&record=note-001", "shares/list"),
        ("subscriptions", f"user={ADA}&db=public&subscription=starred-notes&record=note-001", "subscriptions/list"),
            ("records", f"db=private&user={ADA}&zone=*&type=Note&record=note-001&rzone=Notes", "query/explain")]:
        page.goto("about:blank")  # Each page as if the link opened the console.
        page.goto(scene.base + fragment(path, query=query))
        look = page.locator(".empty").get_by_role("button", name="Look", exact=True)
        look.wait_for()
        assert asked == [], f"{path} asked {asked} by a link alone"
        look.click()
        page.wait_for_selector("main table td, .grid-body .grid-row")
        assert route in asked, f"{path} asked {asked}"
        asked.clear()


def check_first(scene):
    """What a visit loads at first, how soon it paints, and how soon it is ready."""
    page = scene.window()
    sizes = {}
    page.add_init_script(NOTE_READY)
    page.on("response", lambda response: response.url.startswith(scene.base) and sizes.update({response.url: response}))
    times = []
    for _ in range(VISITS):
        page.goto("about:blank")
        page.goto(scene.base + fragment("records", query="type=Note"))
        page.wait_for_selector(".grid-body .grid-row")
        times.append(page.evaluate("() => [window.readyAt, performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0]"))
    # The program has its files packed. The server packs those of --sources in haste: here they count as zopfli would pack them.
    total = sum(0.97 * len(gzip.compress(response.body(), 9)) if scene.place.files else int(response.headers["content-length"])
        for response in sizes.values() if response.status == 200)
    assert total <= FIRST_LOAD_BYTES, f"{total} bytes of the first load"
    ready, paint = min(one[0] for one in times), min(one[1] for one in times)
    assert ready <= READY_MILLISECONDS, f"the records were there after {ready:.0f} ms at best"
    return f"{total / 1024:.1f} KB gzipped; of {VISITS} visits the best painted after {paint:.0f} ms, and had its records after {ready:.0f} ms"


def check_scrolling(scene):
    """All records of a type pass by, and no frame takes the page more than its time: of its own thread, whatever else the machine does."""
    page = scene.window()
    scene.open(page, fragment("records", query="type=Event"))
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        return next(one["value"] for one in client.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration") * 1000

    frames, before, still = [], busy(), 0
    while still < 20:
        at_end, rows = page.evaluate("""async () => {
            const grid = document.querySelector(".grid");
            grid.scrollTop += 700;
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            return [grid.scrollHeight - grid.scrollTop - grid.clientHeight < 4, Number(grid.getAttribute("aria-rowcount")) - 1];
        }""")
        now = busy()
        frames.append(now - before)
        before = now
        still = still + 1 if at_end else 0
        if at_end:
            page.wait_for_timeout(50)
    # A step is two frames: one that scrolls, and one that paints.
    assert max(frames) <= 2 * FRAME_MILLISECONDS, f"a step of {max(frames):.0f} ms among {len(frames)}, of {rows} records"
    return f"{rows} records in {len(frames)} steps, {sum(frames) / len(frames):.1f} ms each, the longest {max(frames):.0f} ms"


def check_more(scene):
    """A page of records that is refused stops the list, and Load all goes on from there, also while the next page is on its way."""
    page = scene.window()
    page.may_refuse = True
    scene.open(page, fragment("records", query="type=Event"))
    status, asked = page.locator(".records-status"), []

    def refuse(route):
        asked.append(route.request.url)
        route.fulfill(status=429, content_type="application/json", body=json.dumps({"code": "THROTTLED", "detail": "Too many looks.", "remedy": "Wait."}))

    page.route("**/query/explain", refuse)
    for _ in range(3):
        page.evaluate("() => { const grid = document.querySelector('.grid'); grid.scrollTop = grid.scrollTop ? 0 : 1e6; }")
        page.wait_for_timeout(200)
    expect(page.get_by_role("alert")).to_contain_text("Too many looks.")
    expect(status).to_contain_text(re.compile("200 (and more|of 5,000)"))
    assert len(asked) == 1, f"a list that was refused asks {len(asked)} times"
    page.unroute("**/query/explain")
    page.route("**/query/explain", lambda route: (time.sleep(0.05), route.continue_()))
    page.get_by_role("button", name="Load all").click()
    expect(status).to_contain_text(re.compile(r"^[\d,]+ records"), timeout=20000)
    # Load all in the same moment as the scrolling that asks for the next page.
    page.reload()
    scene.settle(page)
    page.wait_for_selector(".grid-body .grid-row")
    page.evaluate("""() => { document.querySelector(".grid").scrollTop = 1e6;
        requestAnimationFrame(() => setTimeout(() => [...document.querySelectorAll(".records-status button")].at(-1).click())); }""")
    expect(status).to_contain_text(re.compile(r"^[\d,]+ records"), timeout=20000)
    assert not page.faults, page.faults


def check_editor(scene):
    """Edit, undo, conflict, create, delete and undo of it, in the public database."""
    page = scene.window()
    elsewhere, made = f"Elsewhere {time.time_ns()}", f"made-{time.time_ns()}"
    page.may_refuse = True
    scene.open(page, fragment("records", query="type=Note&record=note-001&rzone=_defaultZone"))
    panel = page.locator(".panel")
    panel.locator(".record-fields").wait_for()
    fields = panel.locator(".record-fields")
    panel.get_by_role("button", name="Edit").click()
    before = panel.get_by_label("title", exact=True).input_value()
    panel.get_by_label("title", exact=True).fill("Changed here")
    panel.get_by_role("button", name="Save").click()
    page.get_by_role("dialog", name="In whose name?").get_by_label("User").fill("ada@example.com")
    page.keyboard.press("Enter")
    expect(fields.get_by_text("Changed here")).to_be_visible()
    expect(page.locator(".grid-body .grid-row").filter(has_text="note-001")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(fields.get_by_text(before)).to_be_visible()
    panel.get_by_role("button", name="Edit").click()
    panel.get_by_label("stars", exact=True).fill("many")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("alert")).to_contain_text("stars")
    panel.get_by_label("stars", exact=True).fill("2")
    device = scene.place.user("ada@example.com")
    scene.place.cloud(device, "public/records/modify", {"operations": [{"operationType": "forceUpdate",
        "record": {"recordName": "note-001", "recordType": "Note", "fields": {"title": {"value": elsewhere}}}}]})
    panel.get_by_role("button", name="Save").click()
    conflict = page.get_by_role("dialog")
    expect(conflict).to_contain_text(elsewhere)
    page.screenshot(path=os.path.join(scene.pictures, "conflict.png"))
    conflict.get_by_role("button", name="Put my changes on it").click()
    expect(fields.get_by_text(elsewhere)).to_be_visible()
    page.get_by_role("button", name="Undo").last.click()
    page.get_by_role("button", name="New record").click()
    panel.get_by_label("Record name").fill(made)
    panel.get_by_label("title", exact=True).fill("Made here")
    panel.get_by_role("button", name="Create").click()
    expect(fields.get_by_text("Made here")).to_be_visible()
    panel.get_by_role("button", name="Delete the record").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator(".grid").get_by_text(made)).to_be_visible()
    # Two saves of one record in a zone of its own.
    scene.open(page, fragment("records", query=f"db=private&user={ADA}&zone=Notes&type=Note&record=note-002&rzone=Notes&look=1"))
    for title in ("Once", "Twice"):
        panel.get_by_role("button", name="Edit").click()
        panel.get_by_label("title", exact=True).fill(f"{title} {elsewhere}")
        panel.get_by_role("button", name="Save").click()
        expect(fields.get_by_text(f"{title} {elsewhere}")).to_be_visible()
    expect(page.locator(".grid-body .grid-row").filter(has_text="note-002")).to_have_count(1)
    assert not page.faults, page.faults


def check_production(scene):
    """Production has its own word, and destruction there wants the container's name."""
    page = scene.window()
    scene.open(page, fragment("deploy", environment="production"))
    expect(page.locator(".environments [aria-current]")).to_have_text("Production")
    assert "Production" in page.title()
    page.get_by_role("button", name="Reset development").click()
    go = page.get_by_role("dialog").get_by_role("button", name="Reset")
    expect(go).to_be_disabled()
    page.get_by_role("dialog").get_by_role("textbox").fill(CONTAINER)
    expect(go).to_be_enabled()
    page.keyboard.press("Escape")


def check_sign_in(scene):
    """A link that was used says so; signing out leaves nothing behind."""
    page = scene.browser.new_context().new_page()
    page.goto(scene.base + "#signin=used")
    expect(page.get_by_role("heading", name="Nacre console")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_visible()
    assert "signin" not in page.url, "the token stays in the address"
    assert not Axe().run(page).response["violations"]
    page.screenshot(path=os.path.join(scene.pictures, "sign-in.png"))
    page.context.close()
    # A session that has ended says so, and keeps nothing of what was shown.
    page = scene.window()
    page.may_refuse = True
    scene.open(page, fragment("roles"))
    page.context.clear_cookies()
    page.evaluate("fragment => { location.hash = fragment }", fragment("records", query="type=Note"))
    expect(page.get_by_text("The session has ended.")).to_be_visible()
    assert page.locator(".grid, nav").count() == 0
    assert not page.faults, page.faults


def start(binary, folder, records, files):
    """A filled server: the process and its place. `files`: a folder with the console's page, or nothing for the program's own."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    port = free_port()
    process = subprocess.Popen([binary, "serve", "--emulator", "--data", folder, "--listen", "127.0.0.1:0", "--console-listen", f"127.0.0.1:{port}",
        *(["--console-dir", files] if files else [])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not os.path.exists(os.path.join(folder, "admin.json")):
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit("the server does not start")
        time.sleep(0.05)
    place = console_data.Place(binary, folder)
    place.console, place.files = port, files
    console_data.fill(place, records)
    return process, place


def run(checks, names, *arguments):
    """How many checks failed."""
    failures = 0
    for name in names or checks:
        begin = time.monotonic()
        try:
            verdict, text = "passed", checks[name](*arguments) or ""
        except Exception as error:  # One that fails must not hide what the others find.
            verdict, text = "FAILED", "".join(traceback.format_exception(error)[-2:]).strip()
            failures += 1
        print(f"{verdict:7} console   {name:14} {text} ({time.monotonic() - begin:.1f} s)", flush=True)
    return failures


def in_chromium(checks, names, link, place, pictures):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        scene = Scene(browser, link, place, pictures)
        scene.sign_in()
        failures = run(checks, names, scene)
        browser.close()
    return failures


def checks_of(browser):
    """How the checks in a browser are run, and the checks by their names."""
    if browser == "firefox":
        import console_firefox  # It takes more to be installed than Chromium does.
        return in_firefox, console_firefox.CHECKS
    own = {name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")}
    return in_chromium, own | console_sessions.CHECKS | console_operations.CHECKS


def in_firefox(checks, names, link, place, pictures):
    import console_firefox
    scene = console_firefox.Scene(link, place, pictures)
    try:
        return run(checks, names, scene, [(name, place, WIDER) for name, _, place in visits()])
    finally:
        scene.close()


def main():
    parser = argparse.ArgumentParser(description="Drives the console in browsers.")
    parser.add_argument("--nacre", default=os.path.join(root, ".build/debug/nacre"), help="the server")
    parser.add_argument("--browser", choices=["chromium", "firefox"], help="only this one")
    parser.add_argument("--records", type=int, default=5000, help="further records, for the check of scrolling")
    parser.add_argument("--sources", action="store_true", help="the page of Web/console, in the place of the one in the program")
    parser.add_argument("--link", help="a link that signs in to a console that runs already")
    parser.add_argument("--data", help="the data folder of that console's server")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"chromium: {', '.join(checks_of('chromium')[1])}; firefox: pages, keyboard")
    options = parser.parse_args()
    browsers = {name: checks_of(name) for name in ("chromium", "firefox") if options.browser in (None, name)}
    taken = {name: (drive, checks, [one for one in options.checks if one in checks]) for name, (drive, checks) in browsers.items()}
    for name in options.checks:
        if not any(name in names for _, _, names in taken.values()):
            parser.error(f"there is no check {name}")
    pictures = os.path.join(root, ".build/browsers/console")
    os.makedirs(pictures, exist_ok=True)
    process, place, files = None, None, None
    failures = 0
    if options.sources:
        files = os.path.join(root, ".build/browsers/page")
        subprocess.run([os.path.join(root, "Scripts/console/embed"), "--into", files], check=True)
    try:
        if options.link:
            place = console_data.Place(options.nacre, options.data)
            place.console, place.files = None, None
        else:
            process, place = start(options.nacre, os.path.join(root, ".build/browsers/console-data"), options.records, files)
        for drive, checks, names in taken.values():
            if names or not options.checks:
                failures += drive(checks, names, options.link or link_of(place), place, pictures)
    finally:
        if process:
            process.terminate()
            process.wait()
    sys.exit(failures > 0)


def link_of(place):
    """A link of an owner, which is good once."""
    return re.search(r"https?://\S+#signin=\S+", place.run("console", "--no-open")).group(0)


if __name__ == "__main__":
    main()
