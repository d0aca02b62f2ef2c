import assert from "node:assert/strict";
import { test } from "node:test";

import { orNothing } from "../js/data.js";
import { words } from "../js/pages/limits.js";

test("a limit is told in the unit that its name says, and 0 as none", () => {
    assert.deepEqual([["userQuotaBytes", 0], ["webAssetBytes", 52_428_800], ["sessionSeconds", 43_200], ["idleSeconds", 90], ["resultsPerPage", 200]]
        .map(([name, value]) => words({ name, value })), ["no limit", "50 MB", "12 h", "1.5 min", ""]);
});

test("a user who has not opened the container has nothing there, and every other refusal stays one", () => {
    const unopened = { code: "NOT_FOUND", field: "user", reason: "the account has no name in this container and environment" };
    assert.deepEqual(orNothing([])(unopened), []);
    for (const error of [{ ...unopened, reason: "no such account" }, { ...unopened, code: "ACCESS_DENIED" }, new Error("x")]) {
        assert.throws(() => orNothing([])(error), (thrown) => thrown === error);
    }
});
