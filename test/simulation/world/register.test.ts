import { expect, test } from "vitest";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { JsonObject, KubeObject } from "../api-server/objects.ts";
import { Register } from "./register.ts";
import { ServiceHost } from "./service-host.ts";
import { projects } from "./service-seed.ts";

const [project] = projects;

function compute(spec: JsonObject): KubeObject {
  const metadata = {
    name: "c0",
    namespace: "shop",
    uid: "uid-0",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "",
  };
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata,
    spec: { projectID: project, type: "read_write", ...spec },
    status: {},
  };
}

test("a Compute was told to adopt the endpoint that its spec named, and no other of the branch", () => {
  const clock = new VirtualClock();
  const host = new ServiceHost({ clock, random: () => 0.5, firstKey: "key", onError: () => {} });
  const [one, two] = host.endpoints(project).length > 1 ? host.endpoints(project) : host.allEndpoints();
  if (one === undefined || two === undefined) throw new Error("the seed has no two endpoints");
  const register = new Register(clock);
  const told = (endpoint: typeof one) => register.wasToldToAdopt("uid-0", endpoint);
  const branchID = one.branchId;
  expect(told(one)).toBe(false);
  register.changed(undefined, compute({ branchID, adopt: { endpointID: "ep-missing" } }), false);
  expect([told(one), told(two)]).toEqual([false, false]);
  register.changed(undefined, compute({ branchID, adopt: { endpointID: one.id } }), false);
  expect([told(one), told(two)]).toEqual([true, false]);
  // A later spec does not undo what an earlier one asked for.
  register.changed(undefined, compute({ branchID }), false);
  expect(told(one)).toBe(true);
});
