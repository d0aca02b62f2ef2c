import assert from "node:assert/strict";
import { test } from "node:test";

import { parse } from "../js/router.js";

test("a fragment names a container of an app, and no other text", () => {
    assert.equal(parse("#/c/iCloud.com.example.Notes/production/zones").container, "iCloud.com.example.Notes");
    assert.notEqual(parse("#/c/x;curl evil.example/development/shares").container, "x;curl evil.example");
});
