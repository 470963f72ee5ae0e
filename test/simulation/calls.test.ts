import { describe, expect, it } from "vitest";
import { figuresOf } from "./calls.ts";

/** How long an operation takes, and the service to answer, in milliseconds. */
const service = { operationMs: 50, answersAfterMs: 5 };
const each = 100;

describe("what a fleet of 100 Computes in one project costs", { timeout: 60_000 }, () => {
  it("at a service that does not lock: no list or poll per write, few reconciles, four writes to the API server", async () => {
    const figures = await figuresOf({ computes: each, projects: 1, locks: false, ...service });
    expect(figures).toMatchObject({ writes: each, refused: 0, mostListsASecond: 1, mostPollsASecond: 1 });
    expect(figures.lists + figures.polls).toBeLessThanOrEqual(11);
    expect(figures.reconciles).toBeLessThanOrEqual(9);
    expect(figures.connectionReconciles).toBeLessThanOrEqual(10);
    expect(figures.readyMs).toBeLessThanOrEqual(each * 10 + 2500);
    // Record, finalizer, link and the final status; the event of the create.
    expect(figures).toMatchObject({ patches: 4, events: 1, resized: { writes: 1, patches: 1, events: 1 } });
  });

  it("at a service that locks the project: each write when the operation before it is expected to end", async () => {
    const figures = await figuresOf({ computes: each, projects: 1, locks: true, ...service });
    expect(figures).toMatchObject({ writes: each, mostListsASecond: 1, mostPollsASecond: 1 });
    // One to find out that it locks.
    expect(figures.refused).toBeLessThanOrEqual(2);
    expect(figures.refused + figures.lists + figures.polls).toBeLessThanOrEqual(0.3 * each);
    expect(figures.reconciles).toBeLessThanOrEqual(11);
    expect(figures.lastWriteMs).toBeLessThanOrEqual(1.4 * each * service.operationMs);
    // Besides those above, that it waits for its turn.
    expect(figures.patches).toBeLessThanOrEqual(5);
    // The first operation of a kind in a process is known to have ended a second after its write.
    expect(figures.resized.patches).toBeLessThanOrEqual(2.2);
    expect(figures).toMatchObject({ events: 1, resized: { writes: 1, events: 1 } });
  });
});

it("writes that follow each other for long share lists and polls, and are seen to end soon after the last", {
  timeout: 60_000,
}, async () => {
  // As fast as kubectl creates 1,000 Computes in ten projects.
  const figures = await figuresOf({ computes: 3 * each, projects: 3, aSecond: 20, locks: false, ...service });
  expect(figures).toMatchObject({ writes: 3 * each, refused: 0, events: 1 });
  expect(figures.lists + figures.polls).toBeLessThanOrEqual(9 * 3);
  expect(figures.patches).toBeLessThanOrEqual(4.01);
  expect(figures.reconciles).toBeLessThanOrEqual(6);
  expect(figures.readyMs).toBeLessThanOrEqual(figures.lastWriteMs + 1000);
});

it("three times as many in one project take no more reconciles for each", { timeout: 60_000 }, async () => {
  const of = (computes: number) => figuresOf({ computes, projects: 1, locks: false, ...service });
  const [few, many] = [await of(each), await of(3 * each)];
  expect(many.reconciles).toBeLessThanOrEqual(few.reconciles * 1.2);
});

it("a fleet that is declared at once gets all workers: its writes are sent within two and a half seconds", {
  timeout: 60_000,
}, async () => {
  const figures = await figuresOf({ computes: 4 * each, projects: 1, aSecond: 4000, locks: false, ...service });
  expect(figures).toMatchObject({ writes: 4 * each, refused: 0, patches: 4, events: 1 });
  expect(figures.lastWriteMs).toBeLessThanOrEqual(2500);
});
