"""Checks of the sync engine of CloudKit JS in each browser, by the page of Samples/web-notes. Web/cloudkit/tests check the rest of it, in Node."""

import json
import pathlib

from checks import closed, expect, opened, sign_in, until

IN, OUT = "#apple-sign-in-button button", "#apple-sign-out-button button"
sample = pathlib.Path(__file__).resolve().parents[2] / "Samples/web-notes"


def lay(scene, name):
    """The page's URL, for a container of its own."""
    container, administrator = f"iCloud.com.example.offline.{name}", scene.server.administrator
    administrator.json("POST", "/admin/1/containers", {"name": container, "justInTime": "all"})
    token = administrator.json("POST", "/admin/1/tokens", {
        "container": container, "environment": "development", "kind": "api", "name": "browsers", "origins": [scene.app.origin]})["token"]
    for file in sample.iterdir():
        scene.app.pages[f"/offline/{file.name}"] = file.read_text()
    config = json.dumps({"server": scene.url, "container": container, "apiToken": token})
    scene.app.pages["/offline/config.js"] = f"globalThis.config = {config};"
    scene.app.pages["/offline/"] = scene.app.pages["/offline/index.html"]
    return scene.app.origin + "/offline/"


def status(browser, text):
    until(text, lambda: (browser.text("#status") or "").startswith(text))


def enter(browser, scene, url):
    browser.go(url)
    status(browser, "Not signed in")
    first = opened(browser, url, IN)
    sign_in(browser, scene)
    browser.click("button[value=allow]")
    closed(browser, first)
    status(browser, "Signed in")


def write(browser, text):
    """Writes the first note anew, as a person does who then leaves it."""
    browser.run("""const area = document.querySelector('textarea'); area.value = arguments[0]; area.dispatchEvent(new Event('input'));
        document.activeElement?.blur();""", text)


def lines(browser):
    """The lines of each note."""
    return browser.run("return [...document.querySelectorAll('textarea')].map((area) => area.value.split('\\n').sort().join(' '))")


def shows(browser, *notes):
    until(f"{notes} in place of {lines(browser)}", lambda: lines(browser) == list(notes))


def cut(browser):
    """Takes the network away from a page, until it is loaded anew."""
    browser.run("globalThis.fetch = () => Promise.reject(new TypeError('no network'))")


def check_offline(browser, scene, pictures):
    """Two browsers of a user write one note without a network and agree after; so do two tabs, of which one is closed."""
    url = lay(scene, browser.name)
    other = type(browser)()
    try:
        enter(browser, scene, url)
        browser.click("#add")
        until("a note", lambda: lines(browser) == [""])
        write(browser, "bread")
        enter(other, scene, url)
        shows(other, "bread")

        cut(browser)
        write(browser, "bread\nwine")
        write(other, "bread\nolives")
        shows(browser, "bread wine")
        browser.go(url)
        status(browser, "Signed in")
        for one in [browser, other]:
            shows(one, "bread olives wine")

        first = browser.window()
        browser.run("open(arguments[0])", url)
        second = until("a tab", lambda: [window for window in browser.windows() if window != first])[0]
        browser.use(second)
        status(browser, "Signed in")
        shows(browser, "bread olives wine")
        write(browser, "salt")
        shows(other, "salt")
        browser.use(first)
        shows(browser, "salt")
        browser.run("close()")
        browser.use(second)
        write(browser, "salt\npepper")
        shows(other, "pepper salt")

        other.click("li button")
        for one in [browser, other]:
            shows(one)
        browser.click(OUT)
        status(browser, "Not signed in")
        expect(lines(browser) == [], "the notes of a user who is gone are there")
    finally:
        other.close()
