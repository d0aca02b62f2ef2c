/** The namespace `CloudKit`. */

import { RecordsBatchBuilder } from "./batch.js";
import {
    AppleIDButtonTheme, CLOUDKIT_LOADED, DatabaseScope, DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT, QueryFilterComparator, ReferenceAction,
    ShareParticipantAcceptanceStatus, ShareParticipantPermission, ShareParticipantType, ShareRecordType, SubscriptionType, WS_API_VERSION,
} from "./constants.js";
import { Container } from "./container.js";
import { Database } from "./database.js";
import { SyncEngine } from "./engine/engine.js";
import { CKError, localError } from "./error.js";
import { Notification, QueryNotification, RecordZoneNotification } from "./notifications.js";
import {
    DatabaseChangesResponse, QueryResponse, RecordInfosResponse, RecordsResponse, RecordZoneChangesResponse, RecordZonesResponse, Response,
    SubscriptionsResponse, UserIdentitiesResponse,
} from "./responses.js";
import { Services, Transport } from "./transport.js";
import { toRecordReference } from "./values.js";

const VERSION = "2.0.0";

/** The digest of the sources, which `Scripts/cloudkit-js/make` writes here: it names a build in addresses. */
const BUILD_VERSION = /** @type {any} */ (globalThis).CLOUDKIT_BUILD_VERSION ?? "source";

/** @type {{ containers: Container[], services: Services, scriptURL?: string }} */
const state = { containers: [], services: new Services() };

/**
 * Notes the URL of the script.
 * @param {string | undefined} url
 */
export function setScriptURL(url) {
    state.scriptURL = url;
}

/**
 * The server's URL: the configuration's, that of the server which the script came from, or the environment's in Node.
 * @param {unknown} given
 */
function serverURLOf(given) {
    const fromScript = /^(https?:\/\/.*)\/ck\/[^/]+\/cloudkit\.m?js([?#].*)?$/.exec(state.scriptURL ?? "")?.[1];
    const url = given ?? fromScript ?? /** @type {any} */ (globalThis).process?.env?.CLOUDKIT_SERVER_URL;
    if (typeof url !== "string" || !/^https?:\/\/[^?#]+$/.test(url)) {
        throw wrong("serverURL is the http or https URL of the server, such as https://cloud.example");
    }
    return url.replace(/\/+$/, "");
}

/** @param {string} reason */
const wrong = (reason) => localError("CONFIGURATION_ERROR", reason);

/** @param {unknown} value */
const isText = (value) => typeof value === "string" && value !== "";

/** @param {any} config */
function checkContainer(config) {
    if (typeof config !== "object" || config === null) throw wrong("a container's configuration is an object");
    const { containerIdentifier, environment, apnsEnvironment, apiTokenAuth, serverToServerKeyAuth: key } = config;
    const environments = [DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT];
    if (!isText(containerIdentifier)) throw wrong("a container has a containerIdentifier");
    if (!environments.includes(environment)) throw wrong("environment is 'development' or 'production'");
    if (apnsEnvironment !== undefined && !environments.includes(apnsEnvironment)) throw wrong("apnsEnvironment is 'development' or 'production'");
    if (!apiTokenAuth === !key) throw wrong("a container has either apiTokenAuth or serverToServerKeyAuth");
    if (apiTokenAuth && !isText(apiTokenAuth.apiToken)) throw wrong("apiTokenAuth has an apiToken");
    if (!key) return;
    if (!isText(key.keyID)) throw wrong("serverToServerKeyAuth has a keyID");
    if (isText(key.privateKeyFile) === isText(key.privateKey)) throw wrong("serverToServerKeyAuth has either a privateKeyFile or a privateKey");
    if (typeof globalThis.document !== "undefined") throw wrong("a server-to-server key is for servers: a page would give it to everybody");
}

/**
 * Sets up the containers, in place of those before.
 * @param {any} config
 */
function configure(config) {
    const { containers, services, serverURL } = config ?? {};
    if (!Array.isArray(containers) || containers.length === 0) throw wrong("containers is an array of at least one container");
    containers.forEach(checkContainer);
    if (services !== undefined && (typeof services !== "object" || services === null)) throw wrong("services is an object");
    const url = serverURLOf(serverURL);
    state.services = new Services(services);
    state.services.logsToConsole = () => CloudKit.logToConsole;
    state.containers = containers.map((container) => new Container(new Transport(Object.freeze({ ...container }), state.services, url)));
    return CloudKit;
}

export const CloudKit = {
    CLOUDKIT_LOADED, DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT, WS_API_VERSION,
    AppleIDButtonTheme, DatabaseScope, QueryFilterComparator, ReferenceAction, ShareParticipantAcceptanceStatus, ShareParticipantPermission,
    ShareParticipantType, ShareRecordType, SubscriptionType,
    VERSION,
    BUILD_VERSION,
    logToConsole: false,
    get Promise() {
        return state.services.Promise;
    },
    configure,
    getAllContainers: () => [...state.containers],
    /** @param {string} identifier */
    getContainer: (identifier) => state.containers.find(({ containerIdentifier }) => containerIdentifier === identifier),
    getDefaultContainer() {
        const [first] = state.containers;
        if (!first) throw wrong("CloudKit.configure was not called");
        return first;
    },
    toRecordReference,
    CKError, Container, Database, RecordsBatchBuilder, SyncEngine,
    Response, RecordsResponse, QueryResponse, RecordZonesResponse, SubscriptionsResponse, UserIdentitiesResponse, RecordInfosResponse,
    DatabaseChangesResponse, RecordZoneChangesResponse, Notification, QueryNotification, RecordZoneNotification,
};
