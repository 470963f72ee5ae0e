import { expect, it } from "vitest";
import { WriteWindows } from "../../../src/operator/connection/write-window.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

it("the window of a project is shared by all that lead to it, and forgotten when 10,000 others were used since", () => {
  const windows = new WriteWindows(new VirtualClock());
  const window = windows.of("https://a.test", "shop");
  expect(windows.of("https://a.test", "shop")).toBe(window);
  expect(windows.of("https://b.test", "shop")).not.toBe(window);
  for (let other = 0; other < 9_998; other++) windows.of("https://a.test", `other-${other}`);
  expect(windows.of("https://a.test", "shop")).toBe(window);
  for (let other = 0; other < 10_000; other++) windows.of("https://a.test", `another-${other}`);
  expect(windows.of("https://a.test", "shop")).not.toBe(window);
});
