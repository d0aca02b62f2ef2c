import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import { startCloud } from "./support/cloud.mjs";
import { faults, pair } from "./support/sync.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

/** The promises of docs/sync-engine.md that both engines are held against; SyncEngineTableTests runs them too. */
const table = JSON.parse(readFileSync(new URL("../../../Tests/sync-engine-order.json", import.meta.url), "utf8"));

const scopeOf = ({ scope }, app) => scope && {
    scope: {
        ...(scope.zones && { zoneIDs: scope.zones }), ...(scope.excluding && { allExcluding: scope.excluding }),
        ...(scope.records && { recordIDs: scope.records.map((name) => app.recordID(name)) }),
    },
};

const sign = ({ type }) => (type.startsWith("save") ? "+" : "-");

/** The steps of the table. */
const does = {
    write: (device, { name, word, zone }) => device.write(name, word, zone),
    delete: (device, { name }) => device.delete(name),
    send: async (device, step) => assert.equal(await device.send(scopeOf(step, device.app)), step.gives),
    fetch: async (device, step) => assert.equal(await device.fetch(scopeOf(step, device.app)), step.gives),
    log(device, { lines }) {
        assert.deepEqual(device.app.log, lines);
        device.app.log = [];
    },
    events(device, { lines }) {
        assert.deepEqual(device.app.events, lines);
        device.app.log = [];
    },
    lastEvents: (device, { lines }) => assert.deepEqual(device.app.events.slice(-lines.length), lines),
    clear: (device) => { device.app.log = []; },
    words: (device, { words }) => assert.deepEqual(device.app.words, words),
    served: async (device, { words }) => assert.deepEqual(await device.served(), words),
    pending: ({ engine }, { lines }) => (
        assert.deepEqual(engine.state.pendingRecordZoneChanges.map((change) => sign(change) + change.recordID.recordName), lines)),
    pendingZones: ({ engine }, { lines }) => (
        assert.deepEqual(engine.state.pendingDatabaseChanges.map((change) => sign(change) + change.zoneID.zoneName), lines)),
    unfetched: ({ engine }, { lines }) => assert.deepEqual(engine.state.zoneIDsWithUnfetchedServerChanges.map(({ zoneName }) => zoneName), lines),
    addZone: ({ engine }, { zone }) => engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: zone }] }),
    deleteZone: ({ engine }, { zone }) => engine.state.add({ pendingDatabaseChanges: [{ type: "deleteZone", zoneID: zone }] }),
    removeZoneChange: ({ engine }, { zone }) => engine.state.remove({ pendingDatabaseChanges: [{ type: "deleteZone", zoneID: zone }] }),
    makeZoneOnServer: ({ database }, { zone }) => database.saveRecordZones(zone),
    dropZoneOnServer: ({ database }, { zone }) => database.deleteRecordZones(zone),
    fail({ network }, { path, fault: { kind, ...rest } }) {
        network.failNext(path, typeof faults[kind] === "function" ? faults[kind](rest) : faults[kind]);
    },
    app: ({ app }, { device, do: _, atomic = app.isAtomic, ...settings }) => { Object.assign(app, settings, { isAtomic: atomic }); },
    restart: (device) => device.restart(),
    told: (device) => device.told(),
    requests: ({ network }, { path, count }) => assert.equal(network.count(path), count, path),
};

for (const { name, promises, steps, with: variants = [{}] } of table) {
    for (const variant of variants) {
        const filled = (value) => JSON.parse(JSON.stringify(value).replace(/\$(\w+)/g, (_, key) => variant[key]));
        test(`${filled(name)} (${promises.join(", ")})`, async () => {
            const devices = await pair(cloud);
            for (const [index, step] of filled(steps).entries()) {
                try {
                    await does[step.do](devices[step.device], step);
                } catch (error) {
                    error.message = `step ${index + 1}, ${JSON.stringify(step)}: ${error.message}`;
                    throw error;
                }
            }
        });
    }
}
