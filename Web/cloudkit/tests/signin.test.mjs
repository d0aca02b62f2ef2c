import assert from "node:assert/strict";
import { test } from "node:test";

import CloudKit from "../src/module.js";
import { containerIdentifier, refusal } from "./support/cloud.mjs";
import { openPage } from "./support/page.mjs";

const url = "https://app.example/notes";
const signInPage = "https://cloud.example/sign-in?ckAPIToken=api";

/** A container of a page. Its server knows a user by a token that is the user's name, and nobody by the token "old". */
function configured({ persist = false, authTokenStore, asked = [] } = {}) {
    const fetch = async (address) => {
        const { pathname, searchParams } = new URL(address);
        asked.push(pathname);
        if (pathname.startsWith("/aps")) return new Promise(() => {});
        const user = searchParams.get("ckWebAuthToken")?.replace(/, newer$|^old$/, "");
        const body = user
            ? { userRecordName: user, apnsToken: "t", webcourierURL: "https://cloud.example/aps" }
            : { serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: signInPage };
        return new Response(JSON.stringify(body), { status: user ? 200 : 421 });
    };
    return CloudKit.configure({
        serverURL: "https://cloud.example", services: { fetch, authTokenStore },
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api", persist } }],
    }).getDefaultContainer();
}

const tokenKey = `cloudkit.token.${containerIdentifier}.development`;

/** The page to which the server's page led back, after a click on the button. */
async function returned(answer, { opener, popups }) {
    const first = openPage(url, { opener: popups ? null : opener, popups });
    await configured().setUpAuth();
    first.signIn.click();
    const { searchParams } = first.assigned[0] ?? first.opened[0];
    const back = new URL(url);
    back.search = new URLSearchParams({ ...answer, state: searchParams.get("state") });
    const page = openPage(back, { opener, sessionStorage: first.sessionStorage });
    return { page, container: configured() };
}

/** A window that has opened another one, and notes its messages. */
function openingWindow() {
    const messages = [];
    return { messages, postMessage: (message, origin) => messages.push([message, origin]) };
}

test("a popup that is led back hands its token to the page that opened it, and closes", async () => {
    const opener = openingWindow();
    const { page, container } = await returned({ ckWebAuthToken: "ada" }, { opener, popups: true });
    await container.setUpAuth();
    assert.deepEqual([opener.messages, page.isClosed], [[[{ ckWebAuthToken: "ada" }, "https://app.example"]], true]);
});

test("a window that signs in itself stays open when it is led back, also if another window has opened it", async () => {
    const opener = openingWindow();
    const { page, container } = await returned({ ckWebAuthToken: "ada" }, { opener, popups: false });
    assert.equal((await container.setUpAuth()).userRecordName, "ada");
    assert.deepEqual([opener.messages, page.isClosed, page.url], [[], false, url]);
});

test("a refusal that a window is led back with is told to the next who waits for a sign-in, once", async () => {
    const { container } = await returned({ errorMessage: "accessError" }, { opener: null, popups: false });
    assert.equal(await container.setUpAuth(), null);
    assert.equal((await refusal(container.whenUserSignsIn())).ckErrorCode, "SIGN_IN_FAILED");
    const waiting = container.whenUserSignsIn();
    await container.signIn("ada");
    assert.equal((await waiting).userRecordName, "ada");
});

test("a refusal is forgotten when a user signs in", async () => {
    const { container } = await returned({ errorMessage: "accessError" }, { opener: null, popups: false });
    await container.setUpAuth();
    await container.signIn("ada");
    const waiting = container.whenUserSignsIn();
    await container.signIn("ben");
    assert.equal((await waiting).userRecordName, "ben");
});

test("a store that gives nothing up does not have the server asked in a loop", async () => {
    openPage(url);
    const asked = [];
    const container = configured({ authTokenStore: { getToken: () => "old", putToken() {} }, asked });
    assert.equal(await container.setUpAuth(), null);
    assert.equal(await container.setUpAuth(), null);
    await new Promise((resolve) => { setImmediate(resolve); });
    assert.equal(asked.length, 2);
});

/** A page with a user who is told of notifications, and another tab of the same browser. */
async function twoTabs() {
    const page = openPage(url);
    page.localStorage.setItem(tokenKey, "ada");
    const [container, otherTab] = [configured({ persist: true }), configured({ persist: true })];
    await container.setUpAuth();
    await container.registerForNotifications();
    page.localStorage.changes.length = 0;
    const hear = () => { for (const change of page.localStorage.changes) page.tell("storage", change); };
    return { page, container, otherTab, hear };
}

test("a tab gives up its user's notifications when another user signs in in another tab", { timeout: 10_000 }, async () => {
    const { container, otherTab, hear } = await twoTabs();
    const [left, came] = [container.whenUserSignsOut(), container.whenUserSignsIn()];
    await otherTab.signIn("ben");
    hear();
    assert.equal(container.isRegisteredForNotifications, false);
    assert.equal(await left, undefined);
    assert.equal((await came).userRecordName, "ben");
});

test("a tab keeps its user's notifications when another tab gets a newer token of the session", async () => {
    const { page, container, hear } = await twoTabs();
    page.localStorage.setItem(tokenKey, "ada, newer");
    hear();
    assert.equal(container.isRegisteredForNotifications, true);
});

test("a tab that never called setUpAuth is signed out and in with another tab", { timeout: 10_000 }, async () => {
    const page = openPage(url);
    page.localStorage.setItem(tokenKey, "ada");
    const [container, otherTab] = [configured({ persist: true }), configured({ persist: true })];
    await container.registerForNotifications();
    const [left, came] = [container.whenUserSignsOut(), container.whenUserSignsIn()];
    page.localStorage.changes.length = 0;
    await otherTab.signOut();
    for (const change of page.localStorage.changes.splice(0)) page.tell("storage", change);
    assert.deepEqual([await left, container.isRegisteredForNotifications], [undefined, false]);
    await otherTab.signIn("ben");
    for (const change of page.localStorage.changes) page.tell("storage", change);
    assert.equal((await came).userRecordName, "ben");
});
