"""What is asked of the console in Firefox: every page, and the ways through them by the keyboard alone.

`console.py --browser firefox` runs these. Playwright drives no Firefox of a distribution, so that these go by Marionette (firefox.py).
"""

import os
import time
import urllib.parse

from marionette_driver.keys import Keys

from checks import axe
from firefox import Firefox

HEIGHT = 900
# Errors of scripts, styles and policies since the last question: those that Firefox's console shows in red.
FAULTS = """
    const found = Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError && !one.isFromChromeContext
        && !(one.flags & (Ci.nsIScriptError.warningFlag | Ci.nsIScriptError.infoFlag))).map((one) => one.errorMessage);
    Services.console.reset();
    return found;"""
SAID = """
    const storage = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
    const found = storage.getEvents().filter((one) => one.level === "error").map((one) => Array.from(one.arguments, String).join(" "));
    storage.clearEvents();
    return found;"""
WATCH = """
    const seen = window.nacreHosts = new Set();
    Services.obs.addObserver((channel) => {
        channel.QueryInterface(Ci.nsIHttpChannel);
        if (!channel.loadInfo.triggeringPrincipal.isSystemPrincipal) seen.add(channel.URI.hostPort);
    }, "http-on-modify-request");"""


class Scene:
    """A console in Firefox, signed in by a link."""

    def __init__(self, link, place, pictures):
        self.browser, self.place, self.pictures = Firefox(), place, pictures
        self.base = link.split("#")[0]
        self.host = urllib.parse.urlsplit(link).netloc
        self.chrome(WATCH)
        self.browser.go(link)
        self.wait("the navigation", "return document.querySelector('nav a')")

    def close(self):
        self.browser.close()

    def chrome(self, script, *arguments):
        """Runs a script in Firefox itself."""
        with self.browser.marionette.using_context("chrome"):
            return self.browser.marionette.execute_script(script, script_args=list(arguments), sandbox="system", new_sandbox=False)

    def wait(self, what, script, *arguments):
        end = time.monotonic() + 15
        while True:
            answer = self.browser.run(script, *arguments)
            if answer:
                return answer
            assert time.monotonic() < end, f"waited in vain for {what}"
            time.sleep(0.03)

    def window(self, width, theme):
        """Makes the page as wide as that. A window of Firefox is never narrower than 450 pixels: the page in it is."""
        self.browser.theme(theme)
        self.browser.marionette.set_window_rect(width=1600, height=HEIGHT + 100)
        self.chrome("gBrowser.selectedBrowser.style.maxWidth = `${arguments[0]}px`; gBrowser.selectedBrowser.style.maxHeight = `${arguments[1]}px`;", width, HEIGHT)
        self.wait("the window's width", "return innerWidth === arguments[0] && matchMedia(`(prefers-color-scheme: ${arguments[1]})`).matches", width, theme)

    def open(self, fragment):
        self.browser.run("document.querySelector('main .view')?.setAttribute('data-old', ''); location.hash = arguments[0]", fragment)
        self.settle()

    def settle(self):
        ready = "return document.querySelector('main h1') && !document.querySelector('main .skeleton')"
        self.wait("the page", ready)
        # Pages of a user's data ask first whether to look.
        if self.browser.run("""const look = [...document.querySelectorAll(".empty button")].find((one) => one.textContent.trim() === "Look");
            look?.click(); return Boolean(look);"""):
            self.wait("what is looked at", ready)
        time.sleep(0.05)

    def faults(self):
        """Errors since the last question."""
        said = self.browser.marionette.execute_script(SAID, sandbox="system")
        return [*self.chrome(FAULTS), *said]

    def hosts(self):
        return set(self.chrome("return [...window.nacreHosts]"))

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)

    def with_control(self, key):
        self.browser.marionette.actions.sequence("key", "keyboard").key_down(Keys.CONTROL).key_down(key).key_up(key).key_up(Keys.CONTROL).perform()

    def tab_to(self, text, tag="*"):
        """Presses Tab until the focus is on an element of that text or label."""
        for _ in range(90):
            if self.browser.run("""const one = document.activeElement;
                return one.matches(arguments[1]) && [one.textContent, one.getAttribute("aria-label"), one.labels?.[0]?.textContent].some((text) => text?.trim() === arguments[0]);""",
                    text, tag):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"Tab does not come to {text}")


def check_pages(scene, visits):
    """Each page, in both themes and widths: no violation of axe's rules, no error, no other host, nothing wider than the window, no markup from data."""
    scene.browser.run("window.wrappedJSObject.console.error('probe'); window.wrappedJSObject.reportError(new window.wrappedJSObject.Error('probe'))")
    probes = 0
    while probes < 2:  # A fault that is not seen ends the loop as one that takes too long.
        probes += sum("probe" in one for one in scene.faults())
    scene.browser.marionette.refresh()  # The page tells its user of such an error, too.
    source, seen, faults = axe(), 0, []
    for width in (1440, 390):
        for theme in ("light", "dark"):
            scene.window(width, theme)
            for name, fragment, wide in visits:
                scene.open(fragment)
                name = f"{name}-{width}-{theme}"
                scene.browser.picture(os.path.join(scene.pictures, f"firefox-{name}.png"))
                found = scene.browser.run(source + """; return axe.run(document, { resultTypes: ["violations"] })
                    .then((all) => all.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)}`));""")
                assert not scene.browser.run("const { scrollHeight, clientHeight } = document.documentElement; return scrollHeight > clientHeight"), f"{name}: the frame scrolls"
                pixels, hurt = scene.browser.run(f"return [({wide})(), Boolean(window.wrappedJSObject.hurt || document.querySelector('img[src=x]'))]")
                faults += [f"{name}: {one}" for one in found + scene.faults()]
                faults += [f"{name}: {pixels} pixels wider than the window"] if pixels > 0 else []
                assert not hurt, f"{name}: markup of data became an element"
                seen += 1
    faults += [f"asked {host}" for host in scene.hosts() - {scene.host}]
    assert scene.host in scene.hosts(), "requests of pages are not seen"
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(dict.fromkeys(faults))
    return f"{seen} pages"


def check_keyboard(scene, visits):
    """Three ways without a pointer: to a record that is changed, to a token, and through the chart; the focus is never lost."""
    browser = scene.browser
    scene.window(1440, "light")
    scene.open(visits[0][1])
    scene.with_control("k")
    scene.wait("the palette", "return document.querySelector('dialog[open] [role=combobox]') === document.activeElement")
    scene.press("records data", Keys.ENTER)
    scene.wait("the records", "return document.querySelector('.grid-body .grid-row')")
    scene.settle()
    scene.press("/", "number > 2", Keys.ENTER)
    scene.wait("the predicate", "return location.hash.includes('number')")
    scene.settle()
    scene.wait("rows", "return document.querySelector('.grid-body .grid-row')")
    browser.run("document.querySelector('.grid').focus()")
    scene.press("j", "j", "k", Keys.ENTER)
    scene.wait("the record", "return document.querySelector('.panel .record-fields')")
    scene.tab_to("Edit", "button")
    scene.press(Keys.ENTER)
    scene.tab_to("kind")
    scene.with_control("a")
    scene.press("By keys alone")
    scene.tab_to("Save", "button")
    scene.press(Keys.ENTER)
    scene.wait("whose name", "return document.querySelector('dialog[open] input') || [...document.querySelectorAll('.record-fields')].some((one) => one.textContent.includes('By keys alone'))")
    if browser.run("return document.querySelector('dialog[open] input')"):
        scene.press("ada@example.com", Keys.ENTER)
    scene.wait("the change", "return document.querySelector('.record-fields')?.textContent.includes('By keys alone')")
    assert browser.run("return document.activeElement.closest('.panel')"), "the focus is lost after a save"
    scene.press(Keys.ESCAPE)
    scene.wait("the panel to close", "return !document.querySelector('.panel:not([hidden]) .record-fields')")
    scene.press("?")
    scene.wait("the keys", "return document.querySelector('dialog[open] .keys')")
    scene.press(Keys.ESCAPE)
    scene.wait("the keys to close", "return !document.querySelector('dialog')")
    scene.press("g", "k")
    scene.wait("the tokens", "return location.hash.includes('/tokens') && document.querySelector('main h1')?.textContent.includes('Tokens')")
    scene.settle()
    assert browser.run("return document.activeElement !== document.body"), "the focus is lost"
    scene.tab_to("New API token", "button")
    scene.press(Keys.ENTER)
    scene.tab_to("Name", "input")
    scene.press("By keys", Keys.ENTER)
    scene.wait("the token", "return document.querySelector('dialog[open] code')")
    scene.tab_to("I have kept it", "button")
    scene.press(Keys.ENTER)
    scene.wait("the token's line", "return !document.querySelector('dialog[open]') && document.querySelector('main').textContent.includes('By keys')")
    scene.press("g", "t")
    scene.wait("the chart", "return document.querySelector('[role=slider]')")
    browser.run("document.querySelector('[role=slider]').focus()")
    scene.press(Keys.END)
    last = browser.run("return document.activeElement.getAttribute('aria-valuetext')")
    scene.press(Keys.ARROW_LEFT)
    assert browser.run("return document.activeElement.getAttribute('aria-valuetext')") != last, "the arrow does not move the chart's cursor"
    assert not (faults := scene.faults()), faults


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
