import { expect, it } from "vitest";
import { WriteWindow, WriteWindows } from "../../../src/operator/project/write-window.ts";
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

it("a window grows by one with each write that is accepted, up to 64", () => {
  const window = new WriteWindow(new VirtualClock());
  const sizes = Array.from({ length: 70 }, () => {
    window.accepted();
    return window.size;
  });
  expect([sizes.slice(0, 3), sizes.slice(-8)]).toEqual([
    [2, 3, 4],
    [64, 64, 64, 64, 64, 64, 64, 64],
  ]);
});

it("a window falls to one with a 423, and no write that is accepted grows it for ten minutes", async () => {
  const clock = new VirtualClock();
  const window = new WriteWindow(clock);
  window.accepted();
  window.refused();
  expect(window.size).toBe(1);
  await clock.advance(599_999);
  window.accepted();
  expect(window.size).toBe(1);
  await clock.advance(1);
  window.accepted();
  expect(window.size).toBe(2);
});

it("the window that was not used for longest, of ten thousand, is dropped for the next", () => {
  const windows = new WriteWindows(new VirtualClock());
  const of = (n: number) => windows.of("https://service/api/v2", `project-${n}`);
  const first = Array.from({ length: 10_000 }, (_, n) => of(n));
  of(0);
  of(10_000);
  expect([of(0) === first[0], of(2) === first[2], of(1) === first[1]]).toEqual([true, true, false]);
});
