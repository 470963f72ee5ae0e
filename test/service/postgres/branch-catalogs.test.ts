import { expect, it } from "vitest";
import { BranchCatalogs } from "../../../src/service/postgres/branch-catalogs.ts";
import { Store } from "../../../src/service/store/store.ts";
import { realClock } from "../../support/real-clock.ts";

it("a branch's server is asked once for all calls that wait, however many there are", async () => {
  const store = Store.open(":memory:");
  const unused = () => {
    throw new Error("not used here");
  };
  const catalogs = new BranchCatalogs({
    store,
    clock: realClock,
    storage: { of: unused },
    passwordOf: unused,
    report: unused,
    change: unused,
  });
  const answer = Promise.withResolvers<void>();
  let sessions = 0;
  const connect = async () => {
    sessions += 1;
    await answer.promise;
    return { query: () => Promise.resolve([]), close() {} };
  };
  const callAtOnce = () => Array.from({ length: 50 }, () => catalogs.refresh("br-a", connect));
  const first = callAtOnce();
  await expect.poll(() => sessions).toBe(1);
  const later = [...callAtOnce(), ...callAtOnce()];
  answer.resolve();
  await Promise.all([...first, ...later]);
  expect(sessions).toBe(2);
  store.close();
});
