import { beforeEach, describe, expect, it } from "vitest";
import { endpointQuarters } from "../../../src/service/store/periods.ts";
import { main, primary, project, Shop } from "../support/shop.ts";
import { textOf, Visitor } from "./visitor.ts";

const page = `/app/projects/${project}/branches/${main}/computes/${primary}`;
const minute = 60_000;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

interface Drawn {
  summary: string | undefined;
  scale: (string | undefined)[];
  bars: (string | undefined)[];
  marks: number;
}

/** The charts of the page, each with its sentence, its scale and the words of its bars, the present one last. */
function charts(): Drawn[] {
  return [...ana.get(page).html.matchAll(/<svg.*?<\/svg>/gs)].map(([chart]) => ({
    summary: /aria-label="([^"]+)"/.exec(chart)?.[1],
    scale: [...chart.matchAll(/dy="4" text-anchor="end">([^<]+)</g)].map(([, tick]) => tick),
    bars: [...chart.matchAll(/<title>([^<]+)<\/title>/g)].map(([, words]) => words),
    marks: [...chart.matchAll(/<circle/g)].length,
  }));
}

describe("the last day of a compute", () => {
  it("draws size, connections and state by the quarter of an hour, with each wake, and says them in words", () => {
    shop.active({ autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
    shop.time.pass(15 * minute - (shop.time.now() % (15 * minute)));
    shop.connect(primary, 60);
    shop.connect(primary, 60, true);
    shop.time.pass(31 * minute);
    const [size, connections, state] = charts();
    // Nobody has half a connection.
    expect([size?.scale, connections?.scale]).toEqual([
      ["0", "0.2", "0.4", "0.6", "0.8"],
      ["0", "1", "2"],
    ]);
    expect([size?.bars.length, connections?.bars.length, state?.bars.length]).toEqual([96, 96, 96]);
    // It suspends after five minutes, and is woken by a client that stays for one.
    expect(size?.bars.slice(-3)).toEqual(["00:15: 0.8 CU", "00:30: 0 CU", "00:45: 0 CU"]);
    expect(connections?.bars.slice(-3)).toEqual([
      "00:15: 2 connections",
      "00:30: 0 connections",
      "00:45: 0 connections",
    ]);
    expect(state?.bars.slice(-4)).toEqual([
      expect.stringMatching(/^00:00: active for \d+ % of the time, woken 1 time$/),
      "00:15: active for 40 % of the time, woken 1 time",
      "00:30: idle",
      "00:45: idle",
    ]);
    expect([size?.marks, connections?.marks, state?.marks]).toEqual([0, 0, 2]);
    expect([size?.summary, connections?.summary, state?.summary]).toEqual([
      expect.stringMatching(/^At most [\d.]+ CU on average/),
      "At most 2 connections at one time in the last 24 hours",
      expect.stringMatching(/^Active for [\d.]+ hours of the last 24, woken 2 times$/),
    ]);
  });

  it("says of a quarter of an hour how much of it was active, also where that is most of it", () => {
    shop.active();
    shop.time.pass(15 * minute - (shop.time.now() % (15 * minute)));
    shop.connect(primary, 300);
    shop.time.pass(31 * minute);
    expect(charts()[2]?.bars.at(-3)).toMatch(/^00:15: active for 6[67] % of the time, woken 1 time$/);
  });

  it("includes the time that is not recorded yet, and an empty day has no marks that are no numbers", () => {
    const [, ...counts] = charts();
    expect(counts.map(({ scale }) => scale)).toEqual([
      ["0", "1"],
      ["0", "1"],
    ]);
    expect(counts[1]?.summary).toBe("Active for 0 hours of the last 24, woken 0 times");
    expect(ana.get(page).html).not.toMatch(/NaN|Infinity/);
    shop.active({ suspend_timeout_seconds: -1 });
    shop.time.pass(30 * 3_600_000);
    ana.signIn("acc-ana");
    const [size, , state] = charts();
    expect(size?.bars.slice(0, 2).map((bar) => bar?.slice(7))).toEqual(["1 CU", "1 CU"]);
    expect(state?.summary).toMatch(/^Active for 2[34](\.\d+)? hours of the last 24, woken 0 times$/);
  });

  it("keeps a day of each compute, however long it runs, and nothing of one that is deleted", () => {
    shop.active({ suspend_timeout_seconds: -1 });
    const { quarters } = shop.core.context.store;
    shop.time.pass(100 * 3_600_000);
    shop.connect(primary, 60);
    expect(quarters.since(primary, 0).length).toBeLessThanOrEqual(endpointQuarters.kept);
    shop.time.pass(5 * minute);
    expect(quarters.since(primary, 0).length).toBeLessThanOrEqual(endpointQuarters.kept);
    shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    shop.core.clear();
    expect(quarters.since(primary, 0)).toEqual([]);
  });

  it("counts scaled time as often as the clock does: a size is that of the compute", () => {
    shop = new Shop({ timeScale: 60 });
    ana = new Visitor(shop.core).signIn("acc-ana");
    shop.active({ suspend_timeout_seconds: -1 });
    shop.time.pass(60 * minute);
    expect(charts()[0]?.bars.slice(-3, -1)).toEqual([
      expect.stringContaining(": 1 CU"),
      expect.stringContaining(": 1 CU"),
    ]);
  });
});

it("a compute is resized on its own page, which a refusal and success both come back to", () => {
  const shown = { compute: primary, shown: "1/1/0", min: "1", max: "4", suspend: "0" };
  const seen = ana.post(page, shown);
  expect(textOf(seen)).toContain(`${primary} has 1–4 vCPU. Scale to zero: after 5 minutes.`);
  expect([textOf(seen), shop.get(primary).autoscaling_limit_max_cu]).toEqual([expect.stringContaining("Connect"), 4]);
  shop.finishOperations();
  const refused = ana.post(page, { ...shown, shown: "1/4/0", min: "8" });
  expect([refused.status, textOf(refused)]).toEqual([400, expect.stringContaining("Connect")]);
  expect(refused.html).toMatch(/<option selected>8<\/option>/);
});

it("a compute is resized on its page by its path alone, whatever the form says", () => {
  const other = shop.create({ branch_id: main, type: "read_only" }).endpoint.id;
  shop.finishOperations();
  ana.post(page, { compute: other, shown: "1/1/0", min: "1", max: "4", suspend: "0" });
  expect([shop.get(primary).autoscaling_limit_max_cu, shop.get(other).autoscaling_limit_max_cu]).toEqual([4, 1]);
});
