/** Signing in and out on a page: its buttons, and the server's page in a popup or in the window itself. */

import { CKError, localError } from "./error.js";
import { uuid } from "./values.js";

/** @typedef {import("../cloudkit").UserIdentity} UserIdentity */

const popupFeatures = "popup,width=480,height=700";
/** Begins the state of a window that has gone to the server's page itself: it is no popup when it comes back. */
const hereMark = "here-";

export class SignIn {
    #transport;
    #caller;
    /** @type {UserIdentity | null} the user who is shown as signed in */
    #user = null;
    /** @type {string | undefined} the server's page */
    #page;
    /** @type {Window | null} */
    #popup = null;
    /** Whether the page has called `setUpAuth`, and has buttons. */
    #isSetUp = false;
    /** Calls of `setUp` that are under way. */
    #asking = 0;
    /** @type {AbortController | undefined} of what the buttons do */
    #buttons;

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {() => Promise<UserIdentity>} caller asks who is signed in
     */
    constructor(transport, caller) {
        this.#transport = transport;
        this.#caller = caller;
        this.#listen();
    }

    /** @returns {Promise<UserIdentity | null>} */
    async setUp() {
        this.#asking += 1;
        try {
            await this.#takeReturn();
            await this.#find();
        } finally {
            this.#asking -= 1;
        }
        this.#isSetUp = true;
        this.#show();
        return this.#user;
    }

    /** Shows that the session has ended, if the buttons were set up. */
    async refresh() {
        if (!this.#isSetUp || this.#asking > 0) return;
        try {
            await this.setUp();
        } catch (error) {
            this.#transport.services.log("error", String(error));
        }
    }

    /** Asks who is signed in, or where to. */
    async #find() {
        try {
            this.#user = await this.#caller();
        } catch (error) {
            if (!(error instanceof CKError) || error.ckErrorCode !== "AUTHENTICATION_REQUIRED") throw error;
            this.#page = error.redirectURL;
            this.#user = null;
        }
    }

    /**
     * Begins a session with a token, and tells those who wait for it.
     * @param {string} token
     * @returns {Promise<UserIdentity>}
     */
    async begin(token) {
        const { session } = this.#transport;
        const { user: former } = session;
        try {
            const replaced = await session.begin(token);
            this.#user = await this.#caller();
            // A token of the same user may be of the very session that has begun.
            if (replaced && former && former !== this.#user.userRecordName) this.#discard(replaced);
        } catch (error) {
            session.signIns.reject(error);
            throw error;
        }
        this.#show();
        session.signIns.resolve(this.#user);
        return this.#user;
    }

    /**
     * Ends the session of another user at the server, so that nothing of it outlives its place in this page.
     * @param {string} token
     */
    async #discard(token) {
        try {
            await this.#transport.endOnServer(token);
        } catch (error) {
            this.#transport.services.log("warn", `The server did not hear of the end of a session: ${error}`);
        }
    }

    // Buttons

    /** Shows the button that fits, in the element that is there for it, and takes away the other. */
    #show() {
        const { document } = globalThis;
        const { apiTokenAuth } = this.#transport.config;
        if (!document || !apiTokenAuth) return;
        this.#buttons?.abort();
        this.#buttons = new AbortController();
        const isIn = this.#user !== null;
        const { signInButton, signOutButton } = apiTokenAuth;
        this.#place(signInButton, "sign-in", "Sign in", !isIn, () => this.#open());
        this.#place(signOutButton, "sign-out", "Sign out", isIn, () => this.#leave());
    }

    /**
     * @param {{ id?: string, theme?: string } | null | undefined} options
     * @param {string} kind
     * @param {string} text
     * @param {boolean} isShown
     * @param {() => void} action
     */
    #place(options, kind, text, isShown, action) {
        const place = document.getElementById(options?.id ?? `apple-${kind}-button`);
        if (!place) return;
        place.replaceChildren();
        if (!isShown) return;
        const button = document.createElement("button");
        button.type = "button";
        button.className = `cloudkit-button cloudkit-${kind}-button`;
        button.dataset.theme = options?.theme ?? "medium";
        button.textContent = text;
        button.addEventListener("click", action, { signal: this.#buttons?.signal });
        place.append(button);
    }

    /** Opens the server's page: in a popup, or in the window itself where the browser allows none. */
    #open() {
        if (!this.#page) return;
        const page = new URL(this.#page);
        this.#mark(page, uuid());
        this.#popup = globalThis.open(page, "cloudkit-sign-in", popupFeatures);
        if (this.#popup) return this.#popup.focus();
        this.#mark(page, hereMark + uuid());
        globalThis.location.assign(page);
    }

    /**
     * @param {URL} page
     * @param {string} state
     */
    #mark(page, state) {
        page.searchParams.set("state", state);
        remember(this.#stateKey, state);
    }

    async #leave() {
        try {
            await this.#transport.signOut();
        } catch (error) {
            this.#transport.services.log("warn", `The server did not hear of the sign-out: ${error}`);
        }
    }

    // Tokens

    get #stateKey() {
        return `${this.#transport.session.storageKey}.state`;
    }

    /** Hears the popup, and of sign-ins and sign-outs in other tabs. */
    #listen() {
        if (typeof globalThis.document === "undefined") return;
        addEventListener("message", (event) => this.#hear(event));
        addEventListener("storage", ({ key, oldValue, newValue }) => {
            // A text in place of another one is a newer token of the session.
            if (key === this.#transport.session.storageKey && !(oldValue && newValue)) this.#follow(Boolean(newValue));
        });
    }

    /**
     * Does as another tab did.
     * @param {boolean} isIn true: a user has signed in there; false: out
     */
    async #follow(isIn) {
        const { session } = this.#transport;
        if (!isIn) {
            session.onReplace();
            session.signOuts.resolve(undefined);
            if (!this.#isSetUp) return;
        }
        try {
            const user = this.#isSetUp ? await this.setUp() : await this.#caller();
            if (isIn && user) session.signIns.resolve(user);
        } catch (error) {
            session.signIns.reject(error);
        }
    }

    /**
     * Takes the popup's message: from the server's page, or from the page of this app to which it led.
     * @param {MessageEvent} event
     */
    #hear({ source, origin, data }) {
        if (!this.#popup || source !== this.#popup || !this.#page) return;
        if (origin !== new URL(this.#page).origin && origin !== globalThis.location.origin) return;
        this.#take(data?.ckWebAuthToken ?? data?.ckSession, data?.errorMessage);
    }

    /**
     * @param {unknown} token
     * @param {unknown} errorMessage
     */
    #take(token, errorMessage) {
        if (typeof token === "string" && token !== "") {
            this.#popup = null;
            this.begin(token).catch((error) => this.#transport.services.log("error", String(error)));
        } else if (typeof errorMessage === "string") {
            this.#popup = null;
            this.#transport.session.signIns.reject(signInFailed(errorMessage));
        }
    }

    /**
     * Takes the token out of the page's URL, if the server's page led here. The state tells that this browser asked for
     * it: a link of somebody else signs nobody in. A popup hands it to the page that opened it, and closes.
     */
    async #takeReturn() {
        const { location, history, opener } = globalThis;
        const { session } = this.#transport;
        if (typeof globalThis.document === "undefined" || !location?.search) return;
        const url = new URL(location.href);
        const values = url.searchParams;
        const [token, errorMessage, state] = ["ckWebAuthToken", "errorMessage", "state"].map((name) => values.get(name));
        if (!(token || errorMessage) || !state || state !== recall(this.#stateKey)) return;
        for (const name of ["ckWebAuthToken", "ckSession", "errorMessage", "state"]) values.delete(name);
        history.replaceState(history.state, "", url);
        remember(this.#stateKey, null);
        if (opener && opener !== globalThis && !state.startsWith(hereMark)) {
            opener.postMessage(token ? { ckWebAuthToken: token } : { errorMessage }, location.origin);
            globalThis.close();
        } else if (token) {
            await session.begin(token);
        } else {
            session.signIns.rejectNext(signInFailed(errorMessage));
        }
    }
}

/** @param {string | null} errorMessage */
const signInFailed = (errorMessage) => localError("SIGN_IN_FAILED", `the sign-in failed: ${errorMessage}`);

/**
 * Keeps a text for this tab. A browser that has no storage for the page keeps nothing.
 * @param {string} key
 * @param {string | null} text
 */
function remember(key, text) {
    try {
        if (text === null) sessionStorage.removeItem(key); else sessionStorage.setItem(key, text);
    } catch {
        // The token then comes by a message alone.
    }
}

/** @param {string} key */
function recall(key) {
    try {
        return sessionStorage.getItem(key);
    } catch {
        return null;
    }
}
