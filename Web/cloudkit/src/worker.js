/**
 * The service worker of Web Push, a script of its own: it shows what is pushed, and hands it to the open tabs. It
 * leaves pushes of others alone. `cloudKitNotification` of the app's own worker may change what is shown.
 */

/** @type {any} */
const worker = globalThis;

worker.addEventListener("push", (/** @type {any} */ event) => {
    const payload = payloadOf(event.data);
    if (payload) event.waitUntil(Promise.all([hand(payload), show(payload)]));
});

worker.addEventListener("notificationclick", (/** @type {any} */ event) => {
    if (!event.notification.data?.cloudKit) return;
    event.notification.close();
    event.waitUntil(openApp());
});

/**
 * @param {any} data
 * @returns {any} the notification; undefined if the push is another one's
 */
function payloadOf(data) {
    try {
        const payload = data?.json();
        return typeof payload?.ck?.cid === "string" ? payload : undefined;
    } catch {
        return undefined;
    }
}

/** @returns {Promise<any[]>} the open tabs, the one that was used last first */
const tabs = () => worker.clients.matchAll({ type: "window", includeUncontrolled: true });

/** @param {any} payload */
async function hand(payload) {
    for (const tab of await tabs()) tab.postMessage({ cloudKit: payload });
}

/** @param {any} payload */
async function show(payload) {
    const { badge } = payload.aps ?? {};
    if (badge !== undefined) await worker.navigator.setAppBadge?.(badge);
    const said = saidIn(payload);
    const shown = worker.cloudKitNotification ? await worker.cloudKitNotification(said, payload) : said;
    if (!shown?.title) return;
    const { title, ...options } = shown;
    await worker.registration.showNotification(title, options);
}

/**
 * What the subscription's `notificationInfo` says. The first of the title, the subtitle and the body is the title. A
 * text that the app has under a key is shown by its key.
 * @param {any} payload
 */
function saidIn(payload) {
    const { aps = {}, ck } = payload;
    const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert ?? {};
    const [title, ...rest] = [
        alert.title ?? alert["title-loc-key"], alert.subtitle ?? alert["subtitle-loc-key"], alert.body ?? alert["loc-key"],
    ].filter(Boolean);
    const { sid } = ck.qry ?? ck.fet ?? ck.met ?? {};
    // A notification that comes again takes the place of the one that is shown.
    const tag = ck.nid && `${ck.nid} ${sid}`;
    return { title, body: rest.join("\n"), tag, silent: aps.sound === undefined, data: { cloudKit: payload } };
}

/** Goes to a tab of the app, or opens one. */
async function openApp() {
    const { scope } = worker.registration;
    const tab = (await tabs()).find(({ url }) => url.startsWith(scope));
    await (tab ? tab.focus() : worker.clients.openWindow(scope));
}
