import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { isJsonObject } from "../api-server/objects.ts";
import { type Mutant, occurrences } from "../mutants.ts";
import { fleetMutants } from "./mutants.ts";
import { type Plant, playFleet } from "./play.ts";

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);
/** Some mutants show in few plays; the first that shows one ends the search. */
const seedsForMutants = Array.from({ length: 200 }, (_, index) => index + 1);

describe("random plays of a fleet", () => {
  it("keep rule 1 of the design", async () => {
    const failed: string[] = [];
    for (const seed of seeds) {
      const wrong = await playFleet(seed);
      if (wrong.length > 0) failed.push(`seed ${seed}: ${wrong.join("; ")}`);
    }
    expect(failed).toEqual([]);
  }, 240_000);
});

describe("a planted bug of a fleet is caught", () => {
  it.each<[string, Plant, RegExp]>([
    // Fleet and key would then prove what only the uid does.
    ["every signature of the fleet is shown with one uid", withOneUID, /signs|DELETE|bear the uid/],
    ["lists show only the newest endpoint of several with one key", newestOnly, /there is more than one/],
  ])(
    "%s",
    async (_, plant, breaks) => {
      for (const seed of seeds) {
        const wrong = await playFleet(seed, plant).catch((error: unknown) => [String(error)]);
        if (wrong.some((each) => breaks.test(each))) return;
      }
      expect.unreachable("no seed caught it");
    },
    240_000,
  );
});

describe("a mutant is caught by the plays of a fleet", () => {
  it.each(Object.entries(fleetMutants))(
    "%s",
    async (_, { breaks, ...mutant }) => {
      expect(occurrences(mutant)).toBe(1);
      expect(await caughtBy(mutant, breaks)).toBe(true);
    },
    240_000,
  );
});

/** Whether one of the seeds shows what the mutant breaks. */
async function caughtBy(mutant: Mutant, breaks: RegExp): Promise<boolean> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: { mutant, seeds: seedsForMutants },
  });
  const caught = new Promise<boolean>((resolve, reject) => {
    worker.on("message", (wrong) => {
      if (Wrong.parse(wrong).some((each) => breaks.test(each))) resolve(true);
    });
    worker.once("error", reject);
    worker.once("exit", () => resolve(false));
  });
  try {
    return await caught;
  } finally {
    await worker.terminate();
  }
}

const Wrong = z.array(z.string());

type Shown = Record<string, unknown>;

function showing(change: (endpoints: Shown[]) => Shown[]): Plant {
  return (inner) => ({
    async send(request, options) {
      const response = await inner.send(request, options);
      const isList = request.method === "GET" && request.path.endsWith("/endpoints");
      return isList ? changed(response, change) : response;
    },
  });
}

function changed(response: ServiceResponse, change: (endpoints: Shown[]) => Shown[]): ServiceResponse {
  const { body } = response;
  if (!isJsonObject(body) || !Array.isArray(body["endpoints"])) return response;
  return { ...response, body: { ...body, endpoints: change(body["endpoints"].filter(isJsonObject)) } };
}

function withOneUID(inner: Parameters<Plant>[0]): ReturnType<Plant> {
  const uidByKey = new Map<string, string>();
  return showing((endpoints) =>
    endpoints.map((endpoint) => {
      const [, key, uid] = /^k8s-[0-9a-f]{8}-([0-9a-f]{16})-([0-9a-f]{32})$/.exec(String(endpoint["name"])) ?? [];
      if (key === undefined || uid === undefined) return endpoint;
      const last = uidByKey.get(key) ?? uid;
      uidByKey.set(key, uid);
      return { ...endpoint, name: String(endpoint["name"]).replace(uid, last) };
    }),
  )(inner);
}

function newestOnly(inner: Parameters<Plant>[0]): ReturnType<Plant> {
  return showing((endpoints) => {
    const byKey = new Map(endpoints.map((endpoint) => [String(endpoint["name"]).slice(0, 29), endpoint]));
    return [...byKey.values()];
  })(inner);
}
