/** A container: its databases, its users and the shares that they are given. */

import { DatabaseScope } from "./constants.js";
import { Database } from "./database.js";
import { invalid } from "./error.js";
import { Listening } from "./notifications.js";
import { RecordInfosResponse, UserIdentitiesResponse } from "./responses.js";
import { SignIn } from "./signin.js";
import { optionsOf } from "./transport.js";
import { list, shortGUIDOf } from "./values.js";
import { WebPush } from "./webpush.js";

/** @typedef {import("../cloudkit").UserIdentity} UserIdentity */

export class Container {
    #transport;
    #signIn;
    #listening;
    #webPush;

    /** @param {import("./transport.js").Transport} transport */
    constructor(transport) {
        this.#transport = transport;
        this.#signIn = new SignIn(transport, () => this.#caller({}));
        const { containerIdentifier, environment, apnsEnvironment } = transport.config;
        this.containerIdentifier = containerIdentifier;
        this.environment = environment;
        this.apnsEnvironment = apnsEnvironment ?? environment;
        this.publicCloudDatabase = new Database(transport, "PUBLIC");
        this.privateCloudDatabase = new Database(transport, "PRIVATE");
        this.sharedCloudDatabase = new Database(transport, "SHARED");
        /** The keys of encrypted values; undefined without the module for them. */
        this.keys = transport.encryption?.keys;
        this.#listening = new Listening(transport, this.apnsEnvironment);
        this.#webPush = new WebPush(transport, this.#listening, (options) => this.#caller(options));
        this.#listening.add(() => { for (const heard of transport.listeners) heard(); });
        const { session } = transport;
        session.onForget = (notes) => {
            transport.encryption?.forget();
            this.#listening.end(notes);
            this.#webPush.end(notes, session.user);
        };
        session.onReplace = () => {
            session.user = undefined;
            session.abort();
            transport.encryption?.forget();
            this.#listening.unregister();
            this.#webPush.stop();
        };
        session.onEnd = () => {
            session.onReplace();
            this.#signIn.refresh();
        };
    }

    /** @param {"PUBLIC" | "PRIVATE" | "SHARED"} scope */
    getDatabaseWithDatabaseScope(scope) {
        switch (scope) {
            case DatabaseScope.PUBLIC: return this.publicCloudDatabase;
            case DatabaseScope.PRIVATE: return this.privateCloudDatabase;
            case DatabaseScope.SHARED: return this.sharedCloudDatabase;
            default: throw invalid("a scope is PUBLIC, PRIVATE or SHARED");
        }
    }

    /** The configuration of the container. */
    getConfig() {
        return this.#transport.config;
    }

    toString() {
        return `[object CloudKit.Container (${this.containerIdentifier}, ${this.environment})]`;
    }

    // Authentication

    /** Looks whether a user is signed in, and shows the button to sign in or out where the page has a place for it. */
    setUpAuth() {
        return this.#promise(undefined, () => this.#signIn.setUp());
    }

    /** @returns {Promise<UserIdentity>} resolved once; call again for the next sign-in */
    whenUserSignsIn() {
        return this.#promise(undefined, () => this.#transport.session.signIns.next());
    }

    /** @returns {Promise<undefined>} resolved once; call again for the next sign-out */
    whenUserSignsOut() {
        return this.#promise(undefined, () => this.#transport.session.signOuts.next());
    }

    /**
     * Begins a session with a web auth token that the app has from elsewhere.
     * @param {string} token
     * @param {any} [options]
     */
    signIn(token, options) {
        return this.#promise(options, () => {
            if (typeof token !== "string" || token === "") throw invalid("a web auth token is a text");
            return this.#signIn.begin(token);
        });
    }

    /**
     * Ends the session, here and on the server.
     * @param {any} [options]
     */
    signOut(options) {
        return this.#promise(options, ({ signal }) => this.#transport.signOut({ signal }));
    }

    // Users

    /** @param {any} [options] */
    fetchCurrentUserIdentity(options) {
        return this.#promise(options, (given) => this.#caller(given));
    }

    /** @param {any} [options] */
    discoverAllUserIdentities(options) {
        return this.#promise(options, async (given) => new UserIdentitiesResponse(await this.#ask("users/discover", undefined, given)));
    }

    /**
     * @param {any} lookupInfos
     * @param {any} [options]
     */
    discoverUserIdentities(lookupInfos, options) {
        return this.#discover(lookupInfos, options, (info) => {
            if (typeof info !== "object" || info === null) throw invalid("a lookup info is an object");
            return info;
        });
    }

    /**
     * @param {any} emailAddresses one, or an array
     * @param {any} [options]
     */
    discoverUserIdentityWithEmailAddress(emailAddresses, options) {
        return this.#discover(emailAddresses, options, (emailAddress) => ({ emailAddress }));
    }

    /**
     * @param {any} phoneNumbers one, or an array
     * @param {any} [options]
     */
    discoverUserIdentityWithPhoneNumber(phoneNumbers, options) {
        return this.#discover(phoneNumbers, options, (phoneNumber) => ({ phoneNumber }));
    }

    /**
     * @param {any} userRecordNames one, or an array
     * @param {any} [options]
     */
    discoverUserIdentityWithUserRecordName(userRecordNames, options) {
        return this.#discover(userRecordNames, options, (userRecordName) => ({ userRecordName }));
    }

    /**
     * @param {any} values
     * @param {any} options
     * @param {(value: any) => object} info
     */
    #discover(values, options, info) {
        return this.#promise(options, async (given) => (
            new UserIdentitiesResponse(await this.#ask("users/discover", { lookupInfos: list(values).map(info) }, given))));
    }

    // Shares

    /**
     * @param {any} shortGUIDs one, or an array
     * @param {any} [options]
     */
    fetchRecordInfos(shortGUIDs, options) {
        return this.#shares("records/resolve", shortGUIDs, options);
    }

    /**
     * @param {any} shortGUIDs one, or an array
     * @param {any} [options]
     */
    acceptShares(shortGUIDs, options) {
        return this.#shares("records/accept", shortGUIDs, options);
    }

    /**
     * Asks the owners of shares for access.
     * @param {any} shortGUIDs one, or an array
     * @param {any} [options]
     */
    requestShareAccess(shortGUIDs, options) {
        return this.#shares("records/request-access", shortGUIDs, options);
    }

    /**
     * @param {string} endpoint
     * @param {any} shortGUIDs
     * @param {any} options
     */
    #shares(endpoint, shortGUIDs, options) {
        return this.#promise(options, async (given) => (
            new RecordInfosResponse(await this.#ask(endpoint, { shortGUIDs: list(shortGUIDs).map(shortGUIDOf) }, given))));
    }

    // Notifications

    get isRegisteredForNotifications() {
        return this.#listening.isRegistered;
    }

    /**
     * Has listeners told of the notifications of the user's subscriptions.
     * @returns {Promise<this>}
     */
    registerForNotifications() {
        return this.#promise(undefined, async () => {
            await this.#listening.register();
            return this;
        });
    }

    unregisterForNotifications() {
        this.#listening.unregister();
    }

    /** @param {any} listener called with each notification */
    addNotificationListener(listener) {
        if (typeof listener !== "function") throw invalid("a listener is a function");
        this.#listening.add(listener);
    }

    /** @param {any} listener */
    removeNotificationListener(listener) {
        this.#listening.remove(listener);
    }

    /**
     * Has the browser show the notifications of the user's subscriptions, also while no page is open. Asks the user for
     * it, so call it from a click.
     * @param {any} [options]
     * @returns {Promise<this>}
     */
    registerForWebPush(options) {
        return this.#promise(options, async (given) => {
            await this.#webPush.register(given);
            return this;
        });
    }

    /** @param {any} [options] */
    unregisterForWebPush(options) {
        return this.#promise(options, (given) => this.#webPush.unregister(given));
    }

    // Requests

    /**
     * @param {any} options
     * @returns {Promise<UserIdentity>}
     */
    async #caller(options) {
        const { session } = this.#transport;
        const { epoch } = session;
        const answer = await this.#ask("users/caller", undefined, options);
        const user = answer.users?.[0] ?? answer;
        if (session.epoch === epoch && user.userRecordName) {
            session.user = user.userRecordName;
            await this.#webPush.meet(user.userRecordName);
        }
        return user;
    }

    /**
     * @param {string} endpoint
     * @param {object | undefined} body
     * @param {any} options
     */
    #ask(endpoint, body, { signal }) {
        return this.#transport.ask(DatabaseScope.PUBLIC, endpoint, body, { signal });
    }

    /**
     * @template T
     * @param {any} options
     * @param {(options: any) => Promise<T> | T} work
     * @returns {Promise<T>}
     */
    #promise(options, work) {
        return this.#transport.services.promise(async () => work(optionsOf(options)));
    }
}
