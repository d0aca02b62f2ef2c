import assert from "node:assert/strict";
import { test } from "node:test";

import CloudKit from "../src/module.js";
import { containerIdentifier, refusal } from "./support/cloud.mjs";
import { openPage } from "./support/page.mjs";

const pageURL = "https://cloud.example/manage-share?grant=g";
const zoneID = { zoneName: "Trip" };
const share = { recordName: "s", recordType: "cloudkit.share", fields: {}, publicPermission: "NONE" };
const root = { recordName: "root", recordType: "Note", fields: {}, share: { recordName: "s", zoneID } };

/** An element of the page that notes what is done with it. */
function element(tag) {
    const target = new EventTarget();
    const one = {
        tag, style: {}, attributes: {}, children: [], isOpen: false, isThere: true, contentWindow: {}, focused: 0,
        addEventListener: (...all) => target.addEventListener(...all),
        setAttribute: (name, value) => { one.attributes[name] = value; },
        append: (child) => one.children.push(child),
        remove: () => { one.isThere = false; },
        showModal: () => { one.isOpen = true; },
        close: () => { one.isOpen = false; target.dispatchEvent(new Event("close")); },
        focus: () => { one.focused += 1; },
    };
    return one;
}

/** A page with a button that has the focus, and a server that knows some records. */
function scene({ records = { root, s: share }, url = pageURL } = {}) {
    const page = openPage("https://app.example/notes");
    const asked = [];
    const state = { page, asked, ended: [], button: element("button"), body: element("body"), listeners: new EventTarget() };
    globalThis.document = { activeElement: state.button, body: state.body, createElement: element, getElementById: () => null };
    globalThis.addEventListener = (...all) => state.listeners.addEventListener(...all);
    const fetch = async (address, { body }) => {
        const { pathname, searchParams } = new URL(address);
        if (pathname.endsWith("/sign-out")) state.ended.push(searchParams.get("ckWebAuthToken"));
        if (pathname.endsWith("/users/caller")) return new Response(JSON.stringify({ userRecordName: `_${searchParams.get("ckWebAuthToken")}` }));
        const path = pathname.split("/").slice(6).join("/");
        const sent = JSON.parse(body ?? "{}");
        asked.push([path, sent]);
        const [{ recordName } = {}] = sent.records ?? [];
        const answer = path === "records/share-page" ? { url } : {
            records: [records[recordName] ?? { recordName, serverErrorCode: "NOT_FOUND", reason: "Record not found" }],
        };
        return new Response(JSON.stringify(answer));
    };
    const pause = (milliseconds, signal) => new Promise((resolve) => {
        state.runOut = resolve;
        signal.addEventListener("abort", resolve);
    });
    state.container = CloudKit.configure({
        serverURL: "https://cloud.example", services: { fetch, pause },
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api" } }],
    }).getDefaultContainer();
    state.database = state.container.privateCloudDatabase;
    /** The dialog, as soon as it is there. */
    state.shown = async () => {
        for (let turn = 0; turn < 100 && !state.body.children[0]; turn += 1) await new Promise((resolve) => { setImmediate(resolve); });
        const [dialog] = state.body.children;
        return { dialog, frame: dialog.children[0] };
    };
    state.tell = (source, origin, data) => state.listeners.dispatchEvent(Object.assign(new Event("message"), { source, origin, data }));
    return state;
}

test("the page of a share comes up in a dialog, and its button answers the share as it is then", async () => {
    const { database, asked, shown, tell, button } = scene();
    const options = { record: root, zoneID, shareTitle: "Trip", supportedAccess: ["PRIVATE"], supportedPermissions: ["READ_ONLY"] };
    const waiting = database.shareWithUI(options);
    const { dialog, frame } = await shown();
    assert.deepEqual(asked, [["records/share-page", {
        zoneID, recordName: "root", shareTitle: "Trip", supportedAccess: ["PRIVATE"], supportedPermissions: ["READ_ONLY"],
    }]]);
    assert.ok(dialog.isOpen && frame.focused > 0 && dialog.attributes["aria-label"] && frame.title);
    assert.deepEqual([frame.src, frame.referrerPolicy, frame.allow], [pageURL, "no-referrer", "clipboard-write"]);
    tell(frame.contentWindow, "https://cloud.example", { nacreShare: "ready" });
    tell(frame.contentWindow, "https://cloud.example", { nacreShare: "done" });
    assert.deepEqual((await waiting).share, { ...share, zoneID });
    assert.deepEqual([dialog.isOpen, dialog.isThere, button.focused], [false, false, 1]);
});

test("another window and another origin are not heard", async () => {
    const { database, shown, tell } = scene();
    const waiting = database.shareWithUI({ record: "root", zoneID: "Trip" });
    const { dialog, frame } = await shown();
    tell({}, "https://cloud.example", { nacreShare: "done" });
    tell(frame.contentWindow, "https://evil.example", { nacreShare: "done" });
    tell(frame.contentWindow, "https://cloud.example", null);
    assert.ok(dialog.isOpen);
    tell(frame.contentWindow, "https://cloud.example", { nacreShare: "done" });
    await waiting;
});

test("the key Escape closes the dialog, and a zone that is not shared answers no share", async () => {
    const { database, shown, button, asked } = scene({ records: {} });
    const waiting = database.shareWithUI({ zoneID });
    const { dialog } = await shown();
    dialog.close();
    assert.deepEqual(await waiting, { share: null });
    assert.equal(button.focused, 1);
    assert.equal(asked[0][1].recordName, undefined);
    assert.deepEqual(asked[1][1].records, [{ recordName: "cloudkit.zoneshare" }]);
});

test("a record that is not shared any more answers no share", async () => {
    const { database, shown } = scene({ records: { root: { ...root, share: undefined } } });
    const waiting = database.shareWithUI({ record: root, zoneID });
    (await shown()).dialog.close();
    assert.deepEqual(await waiting, { share: null });
});

test("a page that does not come up in time is given up, and one that has come up stays", async () => {
    const late = scene();
    const lost = refusal(late.database.shareWithUI({ zoneID }));
    const { dialog } = await late.shown();
    late.runOut();
    assert.equal((await lost).ckErrorCode, "SHARE_UI_TIMEOUT");
    assert.deepEqual([dialog.isOpen, dialog.isThere, late.button.focused], [false, false, 1]);

    const { database, shown, tell, ...state } = scene({ records: {} });
    const waiting = database.shareWithUI({ zoneID });
    const { dialog: other, frame } = await shown();
    tell(frame.contentWindow, "https://cloud.example", { nacreShare: "ready" });
    await new Promise((resolve) => { setImmediate(resolve); });
    state.runOut?.();
    await new Promise((resolve) => { setImmediate(resolve); });
    assert.ok(other.isOpen);
    other.close();
    await waiting;
});

test("a signal closes the dialog, and the promise rejects with its reason", async () => {
    const { database, shown } = scene();
    const cancelling = new AbortController();
    const lost = refusal(database.shareWithUI({ zoneID, signal: cancelling.signal }));
    const { dialog } = await shown();
    cancelling.abort(new Error("gone"));
    assert.equal((await lost).message, "gone");
    assert.equal(dialog.isThere, false);
});

test("the end of the session closes the dialog, and so does another user, whose predecessor's session ends at the server", async () => {
    for (const next of ["signOut", "signIn"]) {
        const { container, database, shown, ended } = scene();
        await container.signIn("ada");
        const lost = refusal(database.shareWithUI({ zoneID }));
        const { dialog } = await shown();
        await container[next](...(next === "signIn" ? ["ben"] : []));
        assert.equal((await lost).ckErrorCode, "AUTHENTICATION_REQUIRED");
        assert.deepEqual([dialog.isOpen, dialog.isThere, ended], [false, false, ["ada"]], next);
    }
});

test("a share needs a zone, a record with a name, a page, and an address that a frame may show", async () => {
    const { database } = scene({ url: "javascript:alert(1)" });
    assert.equal((await refusal(database.shareWithUI({ record: "root" }))).ckErrorCode, "INVALID_ARGUMENTS");
    assert.equal((await refusal(database.shareWithUI({ record: {}, zoneID }))).ckErrorCode, "INVALID_ARGUMENTS");
    assert.equal((await refusal(database.shareWithUI())).ckErrorCode, "INVALID_ARGUMENTS");
    assert.equal((await refusal(database.shareWithUI({ zoneID }))).ckErrorCode, "UNEXPECTED_SERVER_RESPONSE");
    globalThis.document = undefined;
    assert.equal((await refusal(database.shareWithUI({ zoneID }))).ckErrorCode, "CONFIGURATION_ERROR");
});
