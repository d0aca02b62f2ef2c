/** The work of a sync engine: its fetches and sends, one at a time; its schedule; its account; the state that it tells. */

import { transportOf } from "../database.js";
import { CKError, invalid, localError } from "../error.js";
import { Account } from "./account.js";
import { Scope } from "./batch.js";
import { Edits } from "./edits.js";
import { cancelled, code, codeOf, each, endsRun } from "./failures.js";
import { fetchChanges } from "./fetching.js";
import { Requests } from "./requests.js";
import { Run } from "./run.js";
import { endingOf, Schedule } from "./schedule.js";
import { sendChanges } from "./sending.js";
import { State, SyncState, zoneIDIn } from "./state.js";
import { Tabs } from "./tabs.js";
import { waitForChanges } from "./waiting.js";

/** The longest pause before a state that could not be read is read again, in seconds. */
const longestPause = 60;

/** @typedef {import("./schedule.js").Due} Due */
/** @typedef {{ method: "fetchChanges" | "sendChanges", options: any }} Call */

const bodies = { fetchChanges, sendChanges };
const dues = { fetchChanges: { fetch: true }, sendChanges: { send: true } };

export class Core {
    #engine;
    #delegate;
    #transport;
    #home;
    #edits;
    #tabs;
    #isAutomatic;
    /** @type {Promise<unknown>} the work that is asked for so far */
    #tail = Promise.resolve();
    /** Failures in a row to read the state. */
    #failures = 0;
    #isRunning = false;
    /** @type {any} why the engine cannot work: with its configuration, or since its state could not be read */
    #fault;
    /** @type {Set<Run>} */
    #runs = new Set();
    #stopped = new AbortController();
    #isInsideDelegate = false;
    #toldRevision = 0;
    #isFlushQueued = false;
    #account;
    #schedule = new Schedule();
    #isScheduledQueued = false;
    /** @type {AbortController | undefined} */
    #timer;
    /** @type {AbortController | undefined} */
    #waiter;

    /**
     * @param {import("./engine.js").SyncEngine} engine
     * @param {any} configuration
     */
    constructor(engine, configuration) {
        const { database, delegate, stateSerialization, automaticallySync = true, subscriptionID, store, locks } = configuration;
        this.#engine = engine;
        this.#delegate = delegate;
        this.#transport = transportOf(database);
        this.#isAutomatic = Boolean(automaticallySync);
        this.scope = database.databaseScope;
        this.subscriptionID = subscriptionID ?? `CKSyncEngine-${this.scope.toLowerCase()}`;
        this.requests = new Requests(this.#transport, this.scope);
        const { containerIdentifier, environment } = this.#transport.config;
        this.#home = { container: containerIdentifier, environment, scope: this.scope };
        this.state = new SyncState();
        this.#account = new Account(this, this.#transport.session);
        this.appState = new State(this.scope, () => this.state, (edit) => this.#edit(edit));
        if (this.scope === "PUBLIC") {
            this.#fault = invalid("a sync engine is for private and shared databases, and not for the public one: give it privateCloudDatabase");
        }
        if (stateSerialization !== undefined && stateSerialization !== null) this.#read(stateSerialization);
        this.#edits = store && new Edits(store, this.#name);
        const manager = store && (locks ?? /** @type {any} */ (globalThis).navigator?.locks);
        this.#tabs = manager && new Tabs(this.#name, this.#transport, manager);
        if (this.#tabs) {
            this.#tabs.onEdits = () => this.#queue(() => this.#takeEdits());
            this.#tabs.onLoss = () => this.#lost();
            this.#tabs.perform = (/** @type {Call} */ call) => this.perform(call);
        }
        if (store && !this.#fault) this.#queue(() => this.#begin()); else this.#isRunning = true;
        this.#watch();
        if (this.#isAutomatic) this.#queue(() => { this.#want({ fetch: true, send: this.state.hasSomethingToSend }); });
    }

    get #name() {
        return `${this.#home.container}.${this.#home.environment}.${this.scope.toLowerCase()}`;
    }

    /** @param {unknown} text */
    #read(text) {
        const { state, home } = SyncState.read(text);
        if (JSON.stringify(home) === JSON.stringify(this.#home)) this.state = state;
        else this.#fault ??= invalid("the state is of another container or database than the engine's: keep one state for each");
    }

    // Beginning and end

    /** Waits for this tab's turn, and reads the state. If that fails, it is tried again after a pause. */
    async #begin() {
        let wantsSend = false;
        try {
            await this.#tabs?.begin();
            const loaded = await this.#edits.load();
            if (this.#isStopped) return;
            this.#edits.restart();
            this.state = new SyncState();
            this.#fault = undefined;
            if (loaded.state !== undefined) this.#read(loaded.state);
            if (this.#fault) throw this.#fault;
            wantsSend = this.#edits.take(this.state, loaded);
        } catch (error) {
            if (!this.#isStopped) this.#refuse(error);
            return;
        }
        this.#failures = 0;
        this.#isRunning = true;
        this.#tabs?.run();
        if (wantsSend) this.#edited(true);
        // What other tabs have added while the state was read.
        this.#queue(() => this.#takeEdits());
    }

    /**
     * Leaves the turn to another tab: with a state that was not read nothing is kept. One that cannot be used stays so
     * for this page; a store that failed is asked again.
     * @param {unknown} error
     */
    #refuse(error) {
        const isFinal = error instanceof CKError;
        this.#fault = isFinal ? error : localError("UNKNOWN_ERROR", "the state of the sync engine could not be read", { cause: error });
        this.log(String(this.#fault));
        this.#tabs?.leave(this.#fault);
        if (isFinal) return;
        const seconds = Math.min(2 ** this.#failures, longestPause);
        this.#failures += 1;
        this.#transport.services.pause(seconds * 1000, this.#stopped.signal).then(() => { if (!this.#isStopped) this.#queue(() => this.#begin()); });
    }

    /** Ends the work of an engine whose turn another tab has taken, and waits for the next turn. */
    #lost() {
        if (!this.#isRunning || this.#isStopped) return;
        this.#isRunning = false;
        this.cancel();
        this.#waiter?.abort();
        this.#queue(() => this.#begin());
    }

    #watch() {
        const { session, listeners } = this.#transport;
        const changed = () => this.#accountMayHaveChanged();
        const heard = () => this.#want({ fetch: true });
        const online = () => this.#reached();
        session.observers.add(changed);
        listeners.add(heard);
        globalThis.addEventListener?.("online", online);
        this.#stopped.signal.addEventListener("abort", () => {
            session.observers.delete(changed);
            listeners.delete(heard);
            globalThis.removeEventListener?.("online", online);
        });
    }

    /** Ends all work. Another tab's engine may run then. */
    async stop() {
        this.#stopped.abort();
        this.cancel();
        this.#timer?.abort();
        this.#waiter?.abort();
        // An engine that waits for its turn ends its wait; one that runs ends its work before another one may begin.
        if (!this.#isRunning) this.#tabs?.stop();
        await this.idle;
        this.#tabs?.stop();
    }

    get #isStopped() {
        return this.#stopped.signal.aborted;
    }

    /** @returns {Promise<unknown>} fulfilled when all is done that was asked for so far */
    get idle() {
        return this.#tail;
    }

    cancel() {
        for (const run of [...this.#runs]) run.cancel();
    }

    /** @param {string} text */
    log(text) {
        this.#transport.services.log("warn", `SyncEngine: ${text}`);
    }

    // The delegate

    /**
     * Calls the delegate. As long as the call has not returned its promise, the engine knows that it is inside.
     * @param {"handleEvent" | "nextRecordZoneChangeBatch" | "nextFetchChangesOptions"} method
     * @param {object} argument
     */
    async #call(method, argument) {
        if (this.#isStopped) throw cancelled();
        this.#isInsideDelegate = true;
        let answer;
        try {
            answer = this.#delegate[method](argument, this.#engine);
        } finally {
            this.#isInsideDelegate = false;
        }
        return answer;
    }

    /** @param {object} event */
    async post(event) {
        await this.#call("handleEvent", event);
    }

    /**
     * Does something between two events. The second one comes also if that fails.
     * @param {object} will
     * @param {object} did
     * @param {() => Promise<void>} body
     */
    async between(will, did, body) {
        /** @type {{ error: unknown } | undefined} */
        let failure;
        try {
            await this.post(will);
            await body();
        } catch (error) {
            failure = { error };
        }
        try {
            await this.post(did);
        } catch (error) {
            failure ??= { error };
        }
        if (failure) throw failure.error;
    }

    /** @param {any} context */
    nextBatch(context) {
        return this.#call("nextRecordZoneChangeBatch", context);
    }

    /** @param {any} context */
    async nextFetchOptions(context) {
        if (!this.#delegate.nextFetchChangesOptions) return context.options;
        return this.#options(await this.#call("nextFetchChangesOptions", context) ?? {});
    }

    /** @param {any} given */
    #options({ scope, prioritizedZoneIDs = [] }) {
        if (!Array.isArray(prioritizedZoneIDs)) throw invalid("prioritizedZoneIDs is an array");
        return {
            scope: scope instanceof Scope ? scope : new Scope(this.scope, scope ?? {}),
            prioritizedZoneIDs: prioritizedZoneIDs.map((zoneID) => zoneIDIn(this.scope, zoneID)),
        };
    }

    /** Keeps the state and tells the delegate of it, if it differs from the one that was told last. */
    async postState() {
        const { revision } = this.state;
        // A state without the user's data is not kept before the app has dropped that.
        if (revision === this.#toldRevision || this.#account.isUntold || this.#fault || !this.#isRunning) return;
        const stateSerialization = this.state.serialized(this.#home);
        await this.#edits?.keep(stateSerialization);
        await this.post({ type: "stateUpdate", stateSerialization });
        this.#toldRevision = revision;
    }

    // Fetches and sends

    /** @param {() => unknown} work */
    #queue(work) {
        this.#tail = this.#tail.then(work).catch((error) => this.log(String(error)));
    }

    /**
     * Makes a fetch or send in its turn, here or in the tab whose engine runs.
     * @param {Call} call
     * @returns {Promise<void>}
     */
    async perform({ method, options: { signal, ...given } }) {
        if (this.#isInsideDelegate) {
            throw invalid("fetchChanges and sendChanges cannot be called by the delegate of the engine: they would wait for themselves");
        }
        if (this.#isStopped) throw cancelled();
        const options = this.#options(given);
        const context = { reason: "manual", options };
        // The other tab hears of this one's edits before it hears of the call.
        if (this.#tabs && !this.#isRunning) await this.#edits.written;
        if (this.#tabs && !this.#isRunning) {
            if (this.#fault) throw this.#fault;
            return this.#tabs.ask({ method, options: { ...options, scope: options.scope.plain } }, signal);
        }
        const run = new Run();
        const end = () => run.cancel();
        this.#runs.add(run);
        signal?.addEventListener("abort", end);
        if (signal?.aborted) end();
        const error = await this.#turn(run, () => bodies[method](this, context, run));
        signal?.removeEventListener("abort", end);
        this.#runs.delete(run);
        if (this.#isAutomatic) {
            this.#finish(dues[method], error, run, true);
            this.#decide();
        }
        if (error) throw signal?.aborted ? signal.reason : error;
    }

    /**
     * @param {Run} run
     * @param {() => Promise<void>} body
     * @returns {Promise<any>} the error with which it ended
     */
    #turn(run, body) {
        return new Promise((resolve) => {
            if (run.signal.aborted) return resolve(cancelled());
            let hasEnded = false;
            run.endWait = () => {
                hasEnded = true;
                resolve(cancelled());
            };
            this.#queue(async () => {
                if (hasEnded) return;
                run.endWait = () => {};
                resolve(await this.#ended(run, body));
            });
        });
    }

    /**
     * @param {Run} run
     * @param {() => Promise<void>} body
     * @returns {Promise<any>} the error with which it ended
     */
    async #ended(run, body) {
        let isSettled = false;
        /** @type {any} */
        let error;
        try {
            run.check();
            await this.#settle(run);
            isSettled = true;
            await body();
        } catch (thrown) {
            error = thrown ?? localError("UNKNOWN_ERROR", "the delegate has thrown nothing");
        }
        const isOfAccount = (/** @type {any} */ one) => [code.notAuthenticated, code.accountTemporarilyUnavailable].includes(codeOf(one));
        if (isSettled && error && each(error).some(isOfAccount)) {
            this.#account.mustCheck = true;
            await this.#quietly(() => this.#settle(run));
        }
        await this.#quietly(() => this.postState());
        return error;
    }

    /**
     * Does what may fail: it is done again with the next run, or at the next change.
     * @param {() => Promise<void>} work
     */
    async #quietly(work) {
        try {
            await work();
        } catch (error) {
            if (!this.#isStopped) this.log(String(error));
        }
    }

    // Edits by the app

    /** @param {Parameters<SyncState["apply"]>[0]} edit */
    #edit(edit) {
        this.state.apply(edit);
        if (this.#isRunning) {
            this.#edits?.note(edit);
            return this.#edited(!edit.isRemoval && edit.untracked !== false);
        }
        // Another user's engine would send the edit of a session that other tabs do not have.
        if (this.#tabs && !this.#transport.session.isOfOrigin) return this.#edits.hold(edit);
        const fail = (/** @type {unknown} */ error) => this.#transport.services.log("error", `SyncEngine: a change is not kept yet: ${error}`);
        this.#edits.add(edit, () => this.#tabs?.tellOfEdits(), fail);
    }

    /** Takes the edits of other tabs. */
    async #takeEdits() {
        if (!this.#isRunning || this.#fault) return;
        const loaded = await this.#edits.load();
        if (this.#isRunning && this.#edits.take(this.state, loaded)) this.#edited(true);
    }

    /** @param {boolean} wantsSend */
    #edited(wantsSend) {
        if (!this.#isFlushQueued) {
            this.#isFlushQueued = true;
            this.#queue(async () => {
                this.#isFlushQueued = false;
                await this.#greet();
                await this.#quietly(() => this.postState());
            });
        }
        if (wantsSend && this.state.hasSomethingToSend) this.#want({ send: true });
    }

    // The account

    /** Tells of an account that is not known yet before anything else. If that fails, it is not tried again here. */
    async #greet() {
        if (this.state.user === undefined && !this.#account.hasAsked && !this.#fault) await this.#quietly(() => this.#settle(new Run()));
    }

    /** @param {Run} run */
    async #settle(run) {
        if (this.#fault) throw this.#fault;
        if (!this.#isRunning) throw cancelled();
        await this.#account.settle(run);
    }

    #accountMayHaveChanged() {
        this.#account.mustCheck = true;
        this.#schedule.retryNow();
        this.#want({ fetch: true, send: this.state.hasSomethingToSend });
    }

    // The schedule

    get #now() {
        return this.#transport.services.now() / 1000;
    }

    /** @param {Due} due */
    #want(due) {
        if (!this.#isAutomatic || !this.#isRunning || this.#fault) return;
        this.#schedule.want(due);
        this.#decide();
    }

    #reached() {
        this.#schedule.retryNetwork();
        this.#decide();
    }

    #decide() {
        if (this.#isScheduledQueued || this.#isStopped || !this.#isAutomatic) return;
        this.#timer?.abort();
        this.#timer = undefined;
        const decision = this.#schedule.decide(this.#now);
        if (!decision) return;
        if ("run" in decision) {
            this.#isScheduledQueued = true;
            this.#queue(() => this.#runScheduled(decision.run));
        } else {
            const timer = new AbortController();
            this.#timer = timer;
            this.#transport.services.pause(decision.wait * 1000, timer.signal).then(() => { if (!timer.signal.aborted) this.#decide(); });
        }
    }

    /**
     * Does what is due. It fetches first, so that the app can merge others' changes before it sends.
     * @param {Due} due
     */
    async #runScheduled(due) {
        this.#schedule.begin(due);
        let error = due.fetch && await this.#scheduled("fetchChanges");
        // An error that ended the fetch would end the send too.
        if (due.send && error && endsRun(error)) this.#finish({ send: true }, error, new Run());
        else if (due.send) error = await this.#scheduled("sendChanges");
        this.#isScheduledQueued = false;
        this.#decide();
        this.#waitForChanges();
    }

    /** @param {Call["method"]} method */
    async #scheduled(method) {
        const run = new Run();
        this.#runs.add(run);
        const context = { reason: "scheduled", options: this.#options({}) };
        const error = await this.#ended(run, () => bodies[method](this, context, run));
        this.#runs.delete(run);
        this.#finish(dues[method], error, run);
        return error;
    }

    /**
     * Tells the schedule how a fetch or send ended.
     * @param {Due} done
     * @param {any} error
     * @param {Run} run
     * @param {boolean} [byHand]
     */
    #finish(done, error, run, byHand = false) {
        const isFruitless = Boolean(done.send) && !run.hasSucceeded && this.state.hasSomethingToSend;
        this.#schedule.end(done, endingOf(error, isFruitless), { now: this.#now, spread: this.#transport.services.random(), byHand });
    }

    /** Keeps one request open, which the server answers as soon as the database changes. */
    async #waitForChanges() {
        const { databaseToken } = this.state;
        this.#waiter?.abort();
        if (databaseToken === undefined || this.#isStopped) return;
        this.#waiter = new AbortController();
        if (!await waitForChanges(this.requests, this.#transport, databaseToken, this.#waiter.signal)) return;
        this.#schedule.retryNetwork();
        this.#want({ fetch: true });
    }
}
