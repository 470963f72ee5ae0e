import { expect, it } from "vitest";
import { logText } from "../../src/service/log-text.ts";

it("a client's words in the log are shown, and obeyed by no terminal", () => {
  const name = "shop\u001b]0;title\u0007\u001b[2J\u202e";
  expect(logText(`database "${name}" has a prepared transaction`)).toBe(
    'database "shop ]0;title [2J " has a prepared transaction',
  );
});

it("a client's words in the log begin no line that looks like one of the service's own", () => {
  const name = "shop\nAPI key (shown once): false\r\nListening on http://elsewhere";
  expect(logText(`Error: ${name}\n    at call (service.ts:1:1)`)).toBe(
    "Error: shop\n  API key (shown once): false \n  Listening on http://elsewhere\n    at call (service.ts:1:1)",
  );
});
