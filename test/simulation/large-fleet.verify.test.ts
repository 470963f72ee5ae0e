import { expect, test } from "vitest";
import { figuresOf } from "./calls.ts";
import { minutesToCreate, perMinute, secondsToSend } from "./large-fleet.ts";

test("2,000 projects with a Compute each are created in the time that a list and a write of each need", async () => {
  const most = (1.3 * 2 * 2000) / perMinute;
  expect(await minutesToCreate(2000, most)).toBeLessThanOrEqual(most);
});

test("in a settled fleet of 2,000 projects an edit and a deletion are sent within 5 s, and refreshes stretch", async () => {
  const { patch, deletion, message, refreshSeconds } = await secondsToSend(2000);
  expect(patch).toBeLessThanOrEqual(5);
  expect(deletion).toBeLessThanOrEqual(5);
  expect(message).toContain("listed less often than spec.refreshInterval says");
  // 2,000 lists at 700 a minute.
  expect(refreshSeconds).toBeGreaterThan(160);
  expect(refreshSeconds).toBeLessThan(190);
});

test("400 creates in 10 projects take the time that the writes need, and lists and polls get 5 % meanwhile", async () => {
  const figures = await figuresOf({
    computes: 400,
    projects: 10,
    locks: false,
    operationMs: 1000,
    answersAfterMs: 50,
    requestBudget: { perMinute, burst: 40 },
  });
  expect(figures).toMatchObject({ writes: 400, refused: 0 });
  // The burst is not counted: the first list of each project takes of it, before a write waits.
  expect(figures.lastWriteMs).toBeLessThanOrEqual((1.05 * 400 * 60_000) / perMinute);
  // One in twenty, and the one that is due next.
  expect(figures.readsMeanwhile - 1).toBeLessThanOrEqual(0.05 * (400 + figures.readsMeanwhile));
  expect(figures.reconciles).toBeLessThanOrEqual(20);
});

test("1,000 in one project are no slower and cost no more, each, than 100 in one", async () => {
  const of = async (computes: number) => {
    const service = { locks: false, operationMs: 50, answersAfterMs: 5 };
    const { lists, polls, ...figures } = await figuresOf({ computes, projects: 1, aSecond: 4000, ...service });
    return { ...figures, reads: (lists + polls) / computes, ready: figures.readyMs / computes };
  };
  const [few, many] = [await of(100), await of(1000)];
  expect(many).toMatchObject({ writes: 1000, refused: 0, patches: 4, events: 1 });
  for (const figure of ["reconciles", "reads", "ready"] as const) {
    expect(many[figure]).toBeLessThanOrEqual(few[figure]);
  }
});
