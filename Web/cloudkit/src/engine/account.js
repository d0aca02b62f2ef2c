/** The user whom the state of a sync engine belongs to. */

import { localError } from "../error.js";
import { code, codeOf } from "./failures.js";

export class Account {
    #core;
    #session;
    /** Whether the account is looked at before other work. */
    mustCheck = true;
    hasAsked = false;
    /** @type {object | undefined} the change that the delegate has not taken yet */
    #untold;
    /** @type {number | undefined} the session in which the account was checked */
    #epoch;

    /**
     * @param {import("./core.js").Core} core
     * @param {import("../session.js").Session} session
     */
    constructor(core, session) {
        this.#core = core;
        this.#session = session;
    }

    /** Whether the delegate does not know yet whose state it is. */
    get isUntold() {
        return this.#untold !== undefined;
    }

    /**
     * Looks who the user is, if that is not certain, and tells the delegate if it is another one.
     * @param {import("./run.js").Run} run gets the session that its requests are for
     */
    async settle(run) {
        const { state } = this.#core;
        if (this.#untold) await this.#tell(this.#untold);
        if (state.user === undefined || this.mustCheck || this.#epoch !== this.#session.epoch) await this.#check(run);
        run.epoch = this.#epoch;
    }

    /** @param {import("./run.js").Run} run */
    async #check(run) {
        // A change that comes from here on is for the next look.
        this.mustCheck = false;
        this.hasAsked = true;
        this.#epoch = this.#session.epoch;
        run.epoch = this.#epoch;
        try {
            if (!await this.#session.token()) throw localError("AUTHENTICATION_REQUIRED", "nobody is signed in");
            await this.#signedIn(await this.#core.requests.caller(run));
        } catch (error) {
            this.mustCheck = true;
            // A user who has not signed out comes back: what is pending stays, whatever became of the session.
            const isOver = codeOf(error) === code.notAuthenticated && !await this.#session.token();
            if (isOver && this.#session.isLeft) await this.#signedOut();
            throw error;
        }
    }

    /** @param {string} user */
    async #signedIn(user) {
        const { state } = this.#core;
        const previous = state.user;
        if (previous === user) return;
        if (previous === undefined) {
            state.user = user;
            state.revision += 1;
        } else {
            state.reset(user);
        }
        const changeType = previous === undefined ? "signIn" : "switchAccounts";
        await this.#tell({ type: "accountChange", changeType, currentUser: user, previousUser: previous });
    }

    async #signedOut() {
        const previousUser = this.#core.state.user;
        if (previousUser === undefined) return;
        this.#core.state.reset(undefined);
        await this.#tell({ type: "accountChange", changeType: "signOut", previousUser });
    }

    /** @param {object} event is told again if the delegate fails to take it */
    async #tell(event) {
        this.#untold = event;
        await this.#core.post(event);
        this.#untold = undefined;
        await this.#core.postState();
    }
}
