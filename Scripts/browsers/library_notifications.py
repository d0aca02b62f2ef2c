"""Checks of the notifications of CloudKit JS in each browser: the connection that tabs share, and the service worker of Web Push."""

import json
import time

from checks import expect, until
from chromium import Chromium
from library import OUT, allow, nobody, second_tab


def page(server):
    """A page that shows what it is told, and how many event streams it has opened itself."""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Notes</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' {server}; connect-src {server}; worker-src 'self'">
<body><div id="apple-sign-in-button"></div><div id="apple-sign-out-button"></div>
<pre id="user"></pre><pre id="told"></pre><pre id="streams">0</pre><pre id="push"></pre>
<script src="/heard.js"></script><script src="{server}/ck/2/cloudkit.js" async></script>"""


def script(container, token):
    return """
const show = (id, value) => { document.getElementById(id).textContent = value; };
const told = [];
let streams = 0;
function counted(url, options) {
  if (options.method === 'GET' && new URL(url).pathname.endsWith('/notifications')) show('streams', ++streams);
  return fetch(url, options);
}
addEventListener('cloudkitloaded', async () => {
  const container = CloudKit.configure({ services: { fetch: counted }, containers: [{ containerIdentifier: %s, environment: 'development',
    apiTokenAuth: { apiToken: %s, persist: true } }] }).getDefaultContainer();
  container.addNotificationListener(notification => { told.push(notification.recordName); show('told', JSON.stringify(told)); });
  async function signedIn(user) {
    container.whenUserSignsOut().then(signedOut);
    await container.registerForNotifications();
    show('user', user.userRecordName);
  }
  function signedOut() {
    show('user', container.isRegisteredForNotifications ? 'still registered' : 'nobody');
    container.whenUserSignsIn().then(signedIn);
  }
  const user = await container.setUpAuth();
  if (user) signedIn(user); else signedOut();
  navigator.serviceWorker?.addEventListener('message', async ({ data }) => {
    const shown = await (await navigator.serviceWorker.ready).getNotifications();
    show('push', JSON.stringify({ record: data.cloudKit.ck.qry.rid, shown: shown.map(({ title, body }) => [title, body]) }));
  });
});""" % (json.dumps(container), json.dumps(token))


def lay(scene):
    scene.app.pages["/heard"] = page(scene.url)
    scene.app.pages["/heard.js"] = script(scene.container, scene.message_token)
    # The app's own worker has one line.
    scene.app.pages["/cloudkit-worker.js"] = f"importScripts({json.dumps(scene.url + '/ck/2/cloudkit-worker.js')});"
    return scene.app.origin + "/heard"


def told(browser):
    return json.loads(browser.text("#told") or "[]")


def check_library_notifications(browser, scene, pictures):
    """Two tabs have one connection; the second goes on when the first is left, and a sign-out ends it."""
    record_type, device = f"Heard{browser.name.capitalize()}", scene.signed_in(scene.email)

    def save(name):
        scene.ask(device, "private/records/modify", {"operations": [{"operationType": "create", "record": {
            "recordName": f"{record_type}-{name}", "recordType": record_type, "fields": {"text": {"value": name}}}}]})
        return time.monotonic()

    save("first")
    scene.ask(device, "private/subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
        "subscriptionID": record_type, "subscriptionType": "query", "query": {"recordType": record_type}, "firesOn": ["create"],
        "notificationInfo": {"alertBody": "A note came"}}}]})
    url = lay(scene)
    user = allow(browser, scene, url)
    first, second = second_tab(browser, url, user)
    saved = save("both")
    until("the second tab's notification", lambda: told(browser) == [f"{record_type}-both"])
    seconds = time.monotonic() - saved
    expect(browser.text("#streams") == "0", "the second tab has a stream of its own")
    browser.use(first)
    until("the first tab's notification", lambda: told(browser) == [f"{record_type}-both"])
    expect(browser.text("#streams") == "1", f"{browser.text('#streams')} streams of the first tab")
    browser.go("about:blank")
    browser.use(second)
    save("second")
    until("the notification after the first tab's end", lambda: told(browser) == [f"{record_type}-both", f"{record_type}-second"])
    expect(browser.text("#streams") == "1", f"{browser.text('#streams')} streams of the second tab")
    browser.click(OUT)
    nobody(browser)
    return f"told after {seconds * 1000:.0f} ms"


def check_library_worker(browser, scene, pictures):
    """The service worker that an app has of the server shows a push, and hands it to the page."""
    if not isinstance(browser, Chromium):
        return "skipped: it takes no push from here; `push` has one of a push service"
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"origin": scene.app.origin, "permissions": ["notifications"]})
    browser.go(lay(scene))
    nobody(browser)
    browser.run("navigator.serviceWorker.register('/cloudkit-worker.js')")
    until("the service worker", lambda: browser.run("return navigator.serviceWorker.ready.then(({ active }) => active.state === 'activated')"))
    browser.driver.execute_cdp_cmd("ServiceWorker.enable", {})
    payload = {"aps": {"alert": {"title": "Notes", "body": "A note came"}}, "ck": {"nid": "1", "cid": scene.container, "qry": {"sid": "s", "rid": "pushed"}}}

    def push(number):
        browser.driver.execute_cdp_cmd("ServiceWorker.deliverPushMessage", {
            "origin": scene.app.origin, "registrationId": str(number), "data": json.dumps(payload)})
        time.sleep(0.5)
        return browser.text("#push")

    # A registration has no name but its number, which counts up in a browser.
    seen = json.loads(next(filter(None, map(push, range(20))), "{}"))
    expect(seen.get("record") == "pushed", f"{seen}")
    shown = until("the notification", lambda: browser.run(
        "return navigator.serviceWorker.ready.then(it => it.getNotifications()).then(all => all.map(({ title, body }) => [title, body]))"))
    expect(shown == [["Notes", "A note came"]], f"shown: {shown}")
