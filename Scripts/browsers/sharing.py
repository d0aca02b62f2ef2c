"""Checks of the page on which a user manages a share: in the dialog of CloudKit JS, and in frames of others."""

import json
import os
import time

from checks import at_share, axe, expect, focus, heading, until
from library import allow
from serving import frame

ESCAPE = "\ue00c"


def page(server):
    """A page of an app that shares a zone, under a policy that lets no other script run."""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Trips</title><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' {server}; connect-src {server}; frame-src {server}">
<body><main><h1>Trips</h1><div id="apple-sign-in-button"></div><div id="apple-sign-out-button"></div><button id="share" hidden>Share</button>
<pre id="user"></pre><pre id="result"></pre></main><script src="/trips.js"></script><script src="{server}/ck/2/cloudkit.js" async></script>"""


def script(container, token, zone):
    """The page's own script."""
    return """
const show = (id, value) => { document.getElementById(id).textContent = value; };
addEventListener('cloudkitloaded', async () => {
  const container = CloudKit.configure({ containers: [{ containerIdentifier: %s, environment: 'development',
    apiTokenAuth: { apiToken: %s } }] }).getDefaultContainer();
  const [known, zoneID, button] = [await container.setUpAuth(), { zoneName: %s }, document.getElementById('share')];
  show('user', 'nobody');
  const user = known ?? await container.whenUserSignsIn();
  const database = container.privateCloudDatabase;
  await database.saveRecordZones(zoneID);
  button.addEventListener('click', async () => {
    show('result', '');
    try {
      const { share } = await database.shareWithUI({ zoneID, shareTitle: 'Our <trip>' });
      show('result', JSON.stringify(share && { people: share.participants.length, guid: share.shortGUID }));
    } catch (error) {
      show('result', String(error));
    }
  });
  button.hidden = false;
  show('user', user.userRecordName);
});""" % (json.dumps(container), json.dumps(token), json.dumps(zone))


def into_dialog(browser):
    """Opens the dialog, and goes into its frame."""
    browser.use(browser.window())
    browser.click("#share")
    until("the dialog", lambda: browser.run("return document.querySelector('dialog[open] iframe') !== null"))
    browser.use_frame("dialog iframe")
    until("the page of the share", lambda: browser.run("return document.getElementById('frame') !== null && !document.getElementById('frame').hidden"))


def result(browser):
    """The answer of `shareWithUI`, once the dialog is gone."""
    browser.use(browser.window())
    text = until("an answer", lambda: browser.text("#result"))
    expect(browser.run("return document.querySelector('dialog') === null"), "the dialog stays")
    expect(focus(browser) == "share", f"the focus is on {focus(browser)}")
    return json.loads(text)


def step(browser, css, text):
    """Sends a form of the page, and waits for its sentence."""
    browser.click(css)
    until(text, lambda: text in (browser.text(".notice") or ""))


def sound(browser, pictures, name):
    """Asks axe in both themes, and takes pictures."""
    for theme in ["light", "dark"]:
        browser.theme(theme)
        found = json.loads(browser.run(
            axe() + ";return axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify("
            "found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)])))"))
        expect(not found, f"{name} {theme}: {found}")
        expect(browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0, f"{name} {theme}: something is cut off")
        expect(browser.run("return performance.getEntriesByType('resource').length") == 0, f"{name} {theme}: something was loaded")
        browser.picture(os.path.join(pictures, f"{name}-{theme}.png"))
    browser.theme("light")


def check_share_ui(browser, scene, pictures):
    """A zone is shared in the dialog, by keyboard and by clicks; who is invited accepts; in the end nothing is shared."""
    zone = f"UI-{browser.name}"
    scene.app.pages["/trips"] = page(scene.url)
    scene.app.pages["/trips.js"] = script(scene.container, scene.message_token, zone)
    allow(browser, scene, scene.app.origin + "/trips")
    into_dialog(browser)
    expect("Our <trip>" in browser.text("h1") and "nobody" in browser.text("main"), browser.text("main"))
    sound(browser, pictures, "share-ui-new")
    browser.press(ESCAPE)
    expect(result(browser) is None, "to close the dialog shares something")
    into_dialog(browser)
    step(browser, "button.main", "It is shared")
    browser.type("#who", scene.other)
    step(browser, "#invite", "The invitation is there")
    step(browser, "#once", "The link is made")
    step(browser, "#requests", "may ask for access")
    sound(browser, pictures, "share-ui")
    browser.click("#done")
    shared = result(browser)
    expect(shared["people"] == 3, f"{shared}")
    at_share(browser, scene, f"{scene.url}/share/{shared['guid']}", scene.other)
    heading(browser, "Take part?")
    browser.click("button[value=accept]")
    heading(browser, "You take part")
    expect(zone in scene.zones_of(scene.other), "who accepts takes no part")
    browser.go(scene.app.origin + "/trips")
    until("the button", lambda: browser.run("return !document.getElementById('share').hidden"))
    into_dialog(browser)
    expect(scene.other in browser.text("main"), browser.text("main"))
    browser.click("summary")
    step(browser, "#stop", "shared with nobody any more")
    browser.click("#done")
    expect(result(browser) is None, "something is still shared")
    expect(zone not in scene.zones_of(scene.other), "who was removed takes part")


def check_share_ui_frames(browser, scene, pictures):
    """Another origin cannot frame the page, and a grant opens it once."""
    zone, _, _ = scene.share()

    def granted():
        return scene.ask({**scene.owner, "Origin": scene.app.origin}, "private/records/share-page", {"zoneID": zone})["url"]

    scene.evil.pages["/share"] = frame(granted())
    browser.go(scene.evil.origin + "/share")
    browser.use_frame("#frame")
    time.sleep(1)
    expect(browser.text("#heading") is None and "trip" not in (browser.text("body") or "").lower(), "another origin frames the page")
    browser.use(browser.window())
    url = granted()
    scene.app.pages["/share"] = frame(url)
    browser.go(scene.app.origin + "/share")
    browser.use_frame("#frame")
    heading(browser, "Share “Our <trip>”")
    browser.use(browser.window())
    browser.go(scene.app.origin + "/share")
    browser.use_frame("#frame")
    heading(browser, "This page has ended")
    browser.use(browser.window())
