"""Checks of CloudKit JS in each browser. Web/cloudkit/tests check the rest of it, in Node."""

import json
import subprocess
import time
import urllib.request

from checks import closed, expect, opened, sign_in, until

IN, OUT = "#apple-sign-in-button button", "#apple-sign-out-button button"


def page(server, work=None):
    """A page of an app that is written for Apple's library, under a policy that lets no other script run.

    `work` names a function of the page's script, which is done when its user signs in."""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Notes</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' {server}; connect-src {server}">
<body{f' data-work="{work}"' if work else ''}><div id="apple-sign-in-button"></div><div id="apple-sign-out-button"></div>
<pre id="user"></pre><pre id="zones"></pre><pre id="error"></pre>
<script src="/notes.js"></script><script src="{server}/ck/2/cloudkit.js" async></script>"""


def script(container, token, persist):
    """The page's own script."""
    return """
const show = (id, value) => { document.getElementById(id).textContent = value; };
const work = { save, records };
async function save({ privateCloudDatabase: database }) {
  const parts = [], megabyte = (value) => new Uint8Array(1 << 20).fill(value);
  const { records: [record], errors } = await database.saveRecords(
    { recordType: 'Photo', fields: { small: new Blob(['blue']), large: new File([megabyte(1), megabyte(2), 'end'], 'large.bin') } },
    { onProgress: ({ fieldName, loaded }) => { if (fieldName === 'large') parts.push(loaded); } });
  if (errors.length > 0) throw errors[0];
  const sizes = await Promise.all(['small', 'large'].map(async (name) => (
    (await (await fetch(record.fields[name].value.downloadURL.replace('${f}', 'file'))).blob()).size)));
  show('zones', JSON.stringify({ parts, sizes }));
}
async function records(container) {
  const database = container.privateCloudDatabase, seen = {};
  await database.saveRecordZones('Notes');
  const note = (text) => ({ recordName: text, recordType: 'Note', fields: { text } });
  const batch = database.newRecordsBatch({ zoneID: 'Notes', atomic: true });
  const { records: [first] } = await batch.create(['a', 'b', 'c', 'd', 'e'].map(note)).commit();
  const pages = [];
  for await (const { records } of database.queryPages({ recordType: 'Note', sortBy: { fieldName: 'text' } }, { zoneID: 'Notes', resultsLimit: 2 }))
    pages.push(records.map(({ fields }) => fields.text.value).join(''));
  seen.pages = pages;
  await database.saveRecords({ ...first, fields: { text: 'changed' } });
  const { errors: [conflict] } = await database.saveRecords({ ...first, fields: { text: 'late' } });
  seen.conflict = [conflict.ckErrorCode, conflict.serverRecord.fields.text.value];
  await database.deleteRecords(['b', 'c'], { zoneID: 'Notes' });
  const { records, errors } = await database.fetchRecords(['a', 'b'], { zoneID: 'Notes' });
  seen.fetched = [records[0].fields.text.value, errors[0].ckErrorCode];
  await database.saveSubscriptions({ subscriptionID: 'notes', subscriptionType: 'zone', zoneID: { zoneName: 'Notes' } });
  container.addNotificationListener(({ subscriptionID, zoneID }) => show('error', `${subscriptionID} ${zoneID.zoneName}`));
  await container.registerForNotifications();
  show('zones', JSON.stringify(seen));
}
addEventListener('cloudkitloaded', async () => {
  const container = CloudKit.configure({ containers: [{ containerIdentifier: %s, environment: 'development',
    apiTokenAuth: { apiToken: %s, persist: %s } }] }).getDefaultContainer();
  async function signedIn(user) {
    container.whenUserSignsOut().then(signedOut);
    show('zones', (await container.privateCloudDatabase.fetchAllRecordZones()).zones[0].zoneID.zoneName);
    show('error', '');
    await work[document.body.dataset.work]?.(container);
    show('user', user.userRecordName);
  }
  function signedOut(error) {
    show('error', error ? error.ckErrorCode : '');
    show('user', 'nobody');
    container.whenUserSignsIn().then(signedIn, signedOut);
  }
  const user = await container.setUpAuth();
  if (user) signedIn(user); else signedOut();
});""" % (json.dumps(container), json.dumps(token), json.dumps(persist))


def lay(scene, token, container=None, work=None, persist=False):
    scene.app.pages["/notes"] = page(scene.url, work)
    scene.app.pages["/notes.js"] = script(container or scene.container, token, persist)
    return scene.app.origin + "/notes"


def signed_in(browser):
    return until("a user", lambda: (browser.text("#user") or "").startswith("_") and browser.text("#user"))


def nobody(browser):
    until("nobody", lambda: browser.text("#user") == "nobody")


def allow(browser, scene, url):
    """Signs in by the button and the popup, which closes by itself. Answers the user's name on the page."""
    browser.go(url)
    nobody(browser)
    first = opened(browser, url, IN)
    sign_in(browser, scene)
    browser.click("button[value=allow]")
    closed(browser, first)
    return signed_in(browser)


def check_library_popup(browser, scene, pictures):
    """The button of CloudKit JS signs in by a popup; the session outlives a reload and ends by the other button."""
    url = lay(scene, scene.message_token)
    user = allow(browser, scene, url)
    expect(browser.text("#zones") == "_defaultZone", "the user's zones are not there")
    expect(browser.text(IN) is None and browser.text(OUT) == "Sign out", "the buttons did not change")
    browser.go(url)
    expect(signed_in(browser) == user, "another user after a reload")
    browser.click(OUT)
    nobody(browser)
    expect(browser.text(OUT) is None and browser.text(IN) == "Sign in", "the buttons did not change back")
    browser.go(url)
    nobody(browser)


def check_library_denial(browser, scene, pictures):
    url = lay(scene, scene.message_token)
    browser.go(url)
    nobody(browser)
    first = opened(browser, url, IN)
    sign_in(browser, scene)
    browser.click("button[value=deny]")
    closed(browser, first)
    until("the error", lambda: browser.text("#error") == "SIGN_IN_FAILED")
    expect(browser.text(IN) == "Sign in", "the user cannot try again")


def check_library_redirect(browser, scene, pictures):
    """A popup that is led to a page of the app hands its token over; a link with a token that nobody asked for does not sign in."""
    url = lay(scene, scene.token(origins=[scene.app.origin], redirect=scene.app.origin + "/notes"))
    allow(browser, scene, url)
    browser.click(OUT)
    nobody(browser)
    browser.go(url + "?ckWebAuthToken=stolen&state=guessed")
    nobody(browser)
    kept = browser.run("return JSON.stringify(sessionStorage)")
    expect("stolen" not in kept, f"a token that nobody asked for is kept: {kept}")


def second_tab(browser, url, user):
    """Opens a page in a second tab, in which the user must be signed in. Returns both tabs; the second one is in use."""
    first = browser.window()
    browser.run("open(arguments[0])", url)
    second = until("a tab", lambda: [window for window in browser.windows() if window != first])[0]
    browser.use(second)
    expect(signed_in(browser) == user, "another user in the second tab")
    return first, second


def check_library_tabs(browser, scene, pictures):
    """With `persist` a second tab is signed in, and out when the first one is."""
    url = lay(scene, scene.message_token, persist=True)
    user = allow(browser, scene, url)
    first, second = second_tab(browser, url, user)
    browser.use(first)
    browser.click(OUT)
    nobody(browser)
    browser.use(second)
    nobody(browser)
    browser.run("close()")
    closed(browser, first)


def prepared(browser, scene, name, record_type):
    """A container with one record type, and its API token."""
    container, administrator = f"iCloud.com.example.{name}.{browser.name}", scene.server.administrator
    administrator.json("POST", "/admin/1/containers", {"name": container})
    administrator.json("POST", "/admin/1/schema/import", {
        "container": container, "isDryRun": False, "text": f"DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE {record_type};"})
    return container, api_token(scene, container, origins=[scene.app.origin])


def api_token(scene, container, **more):
    return scene.server.administrator.json("POST", "/admin/1/tokens", {
        "container": container, "environment": "development", "kind": "api", "name": "browsers", **more})["token"]


def device(scene, container):
    """The header of a device of the user in a container."""
    body = {"email": scene.email, "password": scene.password, "apiToken": api_token(scene, container), "container": container,
            "environment": "development", "kind": "account"}
    return {"Authorization": f"Bearer {scene.ask({}, 'account/1/sign-in', body, scene.url)['token']}"}


def check_library_records(browser, scene, pictures):
    """A page saves, queries in pages, meets a conflict, deletes, and hears of another device's save within a second; nothing comes from elsewhere."""
    if hasattr(browser, "complaints"):
        browser.complaints()
    container, token = prepared(browser, scene, "records", 'Note ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE SORTABLE)')
    allow(browser, scene, lay(scene, token, container, "records"))
    seen = json.loads(browser.text("#zones"))
    expect(seen == {"pages": ["ab", "cd", "e"], "conflict": ["CONFLICT", "changed"], "fetched": ["changed", "NOT_FOUND"]}, f"{seen}")
    answer = scene.ask(device(scene, container), "private/records/modify", {"zoneID": {"zoneName": "Notes"}, "operations": [{
        "operationType": "create", "record": {"recordName": "f", "recordType": "Note", "fields": {"text": {"value": "from a device"}}}}]},
        f"{scene.url}/database/1/{container}/development")
    start = time.monotonic()
    expect("serverErrorCode" not in answer["records"][0], f"{answer}")
    until("the notification", lambda: browser.text("#error") == "notes Notes")
    took = time.monotonic() - start
    expect(took < 1, f"the notification took {took:.1f} s")
    loaded = browser.run("return performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)")
    expect(set(loaded) == {scene.app.origin, scene.url}, f"{set(loaded)}")
    browser.click(OUT)
    nobody(browser)
    if hasattr(browser, "complaints"):
        # 421 says that nobody is signed in, which is no fault.
        complaints = [line for line in browser.complaints() if "status of 421" not in line and "favicon" not in line]
        expect(not complaints, f"{complaints}")
    return f"notified in {took * 1000:.0f} ms"


def check_library_files(browser, scene, pictures):
    """A page of another origin sends files, whole and in parts, and fetches them again."""
    container, token = prepared(browser, scene, "files", "Photo (small ASSET, large ASSET)")
    allow(browser, scene, lay(scene, token, container, "save"))
    seen = json.loads(browser.text("#zones"))
    expect(seen == {"parts": [0, 1 << 20, 2 << 20, (2 << 20) + 3], "sizes": [4, (2 << 20) + 3]}, f"{seen}")
    browser.click(OUT)
    nobody(browser)


def pinned(elements, module):
    """A page with elements of `nacre web sri`, which tells what became of the classic script and of a module that it imports."""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Pinned</title>
{elements}
<pre id="classic"></pre><pre id="module"></pre>
<script>addEventListener('load', () => {{ document.getElementById('classic').textContent = typeof CloudKit; }});</script>
<script type="module">
const show = (text) => {{ document.getElementById('module').textContent = text; }};
import("{module}").then((found) => show(Object.keys(found).includes('encryption') ? 'loaded' : 'empty'), (error) => show(`refused: ${{error}}`));
</script>"""


def check_library_integrity(browser, scene, pictures):
    """A26: with the elements of `nacre web sri` a page refuses a script of the library that its server has changed by one byte, and without them it does not."""
    report = json.loads(subprocess.run([scene.server.binary, "web", "sri", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    scripts = {one["name"]: one for one in report["scripts"] if one["name"] in ("cloudkit.js", "cloudkit-encryption.mjs")}
    expect(len(scripts) == 2, f"{report}")
    elements, module = "".join(one["element"] for one in scripts.values()), scripts["cloudkit-encryption.mjs"]["path"]
    for one in scripts.values():
        with urllib.request.urlopen(scene.url + one["path"]) as answer:
            one["text"] = answer.read().decode()
        # A byte of the first comment: the changed script would run as the true one does.
        one["changed"] = one["text"].replace("CloudKit JS of Nacre", "CloudKit JS of nacre", 1)
        expect(one["changed"] != one["text"], one["text"][:100])

    def seen(name, page, text):
        for one in scripts.values():
            scene.app.pages[one["path"]] = one[text]
        scene.app.pages[f"/pinned-{name}"] = page
        browser.go(f"{scene.app.origin}/pinned-{name}")
        return until("both scripts", lambda: browser.text("#classic") and browser.text("#module") and (browser.text("#classic"), browser.text("#module")))

    expect(seen("true", pinned(elements, module), "text") == ("object", "loaded"), "the true scripts do not run")
    loose = "".join(f'<script src="{one["path"]}"></script>' for one in scripts.values() if one["path"].endswith(".js"))
    expect(seen("loose", pinned(loose, module), "changed") == ("object", "loaded"), "the changed scripts would not run anyway")
    classic, imported = seen("changed", pinned(elements, module), "changed")
    expect(classic == "undefined", "the changed classic script has run")
    expect(imported.startswith("refused"), f"the changed module: {imported}")
    for one in scripts.values():
        del scene.app.pages[one["path"]]
    if hasattr(browser, "complaints"):
        browser.complaints()
    return "a changed classic script and a changed module are refused"
