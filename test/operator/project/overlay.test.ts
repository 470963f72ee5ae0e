import { describe, expect, test } from "vitest";
import { Overlay } from "../../../src/operator/project/overlay.ts";
import { endpoint } from "../../support/builders.ts";

const written = endpoint({ disabled: true });
const before = endpoint({ disabled: false });
const list = (startedAt: number, ...endpoints: ReturnType<typeof endpoint>[]) => ({
  endpoints,
  startedAt,
  endedAt: startedAt + 50,
});

/** The answer to a write that ended at this time. */
function laidAt(at: number): Overlay {
  const overlay = new Overlay();
  overlay.lay(written, at);
  return overlay;
}

describe("the answer to a write", () => {
  test("counts until a list shows the endpoint as written, even while an operation is in progress", () => {
    const overlay = laidAt(100);
    expect(overlay.listed(list(150, endpoint({ disabled: true, current_state: "idle" })), () => undefined)).toBe(false);
    expect(overlay.has("ep-one")).toBe(false);
  });

  test.each([99, 100])("stays where the list that shows it began at %i, before the write ended", (at) => {
    const overlay = laidAt(100);
    expect(overlay.listed(list(at, written), () => undefined)).toBe(false);
    expect(overlay.has("ep-one")).toBe(true);
    expect(overlay.listed(list(101, written), () => undefined)).toBe(false);
    expect(overlay.has("ep-one")).toBe(false);
  });

  test("counts although lists differ, while an operation is in progress: its end brings the next list", () => {
    const overlay = laidAt(100);
    for (const at of [150, 160, 170]) expect(overlay.listed(list(at, before), () => undefined)).toBe(false);
    expect(overlay.has("ep-one")).toBe(true);
  });

  test("an answer is outweighed by the second list that differs, and the first asks for another", () => {
    const overlay = laidAt(100);
    expect(overlay.listed(list(150, before), () => 120)).toBe(true);
    expect(overlay.has("ep-one")).toBe(true);
    expect(overlay.listed(list(160, before), () => 120)).toBe(false);
    expect(overlay.has("ep-one")).toBe(false);
  });

  test.each([
    ["began before its operations ended", 100, 200, 150],
    ["began when its operations ended", 100, 200, 200],
    ["began before the write ended", 200, 100, 150],
    ["began when the write ended", 200, 100, 200],
  ])("an answer is not outweighed by a list that %s: another one is needed", (_, at, ended, startedAt) => {
    const overlay = laidAt(at);
    for (let n = 0; n < 3; n += 1) expect(overlay.listed(list(startedAt, before), () => ended)).toBe(true);
    expect(overlay.has("ep-one")).toBe(true);
  });

  test("an answer is shown by a list with another provisioner: the operator never writes it", () => {
    const overlay = new Overlay();
    overlay.lay(endpoint({ provisioner: "k8s-pod" }), 100);
    overlay.listed(list(150, endpoint({ provisioner: "k8s-neonvm" })), () => 120);
    expect(overlay.has("ep-one")).toBe(false);
  });

  test("replaces the endpoint in the list, or is added to it; without answers the list stays the same object", () => {
    const other = endpoint({ id: "ep-two" });
    expect(laidAt(100).over(list(50, before, other)).endpoints).toEqual([written, other]);
    expect(laidAt(100).over(list(50, other)).endpoints).toEqual([other, written]);
    const latest = list(50, before);
    expect(new Overlay().over(latest)).toBe(latest);
  });
});
