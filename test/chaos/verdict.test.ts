import { describe, expect, it } from "vitest";
import { initialAttributes } from "../../src/service/store/compute-attributes.ts";
import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import type { KubeObject } from "../simulation/api-server/objects.ts";
import type { Entry } from "./endpoint-history.ts";
import type { Evidence } from "./evidence.ts";
import { leftovers, ownedEndpoints, verdict } from "./verdict.ts";
import { WorkloadHistory } from "./workload-history.ts";

const uid = "11111111-0000-4000-8000-000000000001";
const signature = `k8s-${uid}`;
const gone = "22222222-0000-4000-8000-000000000002";
const project = "alpha-0";

function endpoint(id: string, name?: string): StoredEndpoint {
  return {
    id,
    projectId: project,
    branchId: "br-a",
    type: "read_only",
    name,
    ...initialAttributes,
    suspendTimeoutSeconds: -1,
    currentState: "active",
    pendingState: undefined,
    lastActive: undefined,
    startedAt: undefined,
    suspendedAt: undefined,
    suspendDue: undefined,
    meteredAt: undefined,
    createdAt: 0,
    updatedAt: 0,
  };
}

function entry(at: number, what: Entry["what"], id: string, name: string | null = signature): Entry {
  return { at, what, endpoint: id, project, branch: "br-a", type: "read_only", name };
}

function compute({ linked = "ep-one", restartedAt = "r1" } = {}): KubeObject {
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata: {
      name: "replica-0",
      namespace: "alpha",
      uid,
      generation: 1,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: { "compute-operator.dev/endpoint-id": linked, "compute-operator.dev/restartedAt": "r1" },
    },
    spec: { projectID: project, branchID: "br-a", type: "read_only" },
    status: {
      observedGeneration: 1,
      endpointID: linked,
      restartedAt,
      conditions: [{ type: "Ready", status: "True", reason: "Active", message: "" }],
    },
  };
}

/** A fleet of one, made at 100 and restarted once, for which somebody asked at 200; and a stranger's endpoint. */
function evidence(change: Partial<Evidence> = {}): Evidence {
  const workloadHistory = new WorkloadHistory();
  workloadHistory.made.set(uid, "replica-0");
  workloadHistory.restarts.push({ at: 200, uid, name: "replica-0", value: "r1" });
  const member = { name: "replica-0", project, type: "read_only", branches: ["br-a"] } as const;
  const pool = { name: "readers", most: 0, project, branch: "br-a" };
  const stranger = endpoint("ep-theirs", "analytics");
  return {
    fleets: [{ namespace: "alpha", key: "", organization: "", projects: [project], members: [member], pool }],
    computes: [compute()],
    pools: [],
    endpoints: [endpoint("ep-one", signature), stranger],
    endpointHistory: [entry(100, "made", "ep-one"), entry(100, "started", "ep-one"), entry(210, "started", "ep-one")],
    strangers: [stranger],
    requests: [],
    workloadHistory,
    ...change,
  };
}

const { endpointHistory, endpoints, strangers } = evidence();

/** What users requested, and the deletion of a Compute at 300. */
function deletedAt300(who: string, retain = false): WorkloadHistory {
  const { workloadHistory } = evidence();
  workloadHistory.deletions.push({ at: 300, uid: who, name: "replica-0", retain });
  workloadHistory.made.set(who, "replica-0");
  return workloadHistory;
}

const sent = (method: string, path: string, status?: number) => ({
  method,
  path: `/api/v2/projects/${project}/endpoints${path}`,
  body: "",
  arrivedAt: 205 - performance.timeOrigin,
  ...(status === undefined ? {} : { status, answeredAt: 206 - performance.timeOrigin }),
});

describe("the storm's verdict", () => {
  it("the verdict has nothing to say of one Compute with one endpoint", () => {
    expect(verdict(evidence())).toEqual([]);
    expect(ownedEndpoints(evidence())).toBe(1);
    expect(leftovers(evidence({ endpoints: strangers }))).toEqual([]);
  });

  it.each<[string, Partial<Evidence>, string]>([
    [
      "a Compute without an endpoint",
      { endpoints: strangers, computes: [compute({ linked: "ep-none" })] },
      "replica-0 has 0 endpoints",
    ],
    ["two endpoints", { endpoints: [...endpoints, endpoint("ep-two", signature)] }, "replica-0 has 2 endpoints"],
    [
      "two that were made, though one is gone",
      { endpointHistory: [...endpointHistory, entry(300, "made", "ep-two"), entry(400, "deleted", "ep-two")] },
      `for ${signature} were made ep-one at 00:00:00.100 and ep-two`,
    ],
    ["a link to another", { computes: [compute({ linked: "ep-theirs" })] }, "is linked to ep-theirs"],
    [
      "one that was left behind",
      { endpoints: [...endpoints, endpoint("ep-old", `k8s-${gone}`)] },
      "ep-old was left behind by a Compute that is gone",
    ],
    ["a Compute that is not there", { computes: [] }, "alpha/replica-0 was declared and is not there"],
    [
      "the loss of a standing Compute's",
      { endpointHistory: [...endpointHistory, entry(300, "deleted", "ep-zero")] },
      "ep-zero was deleted, and its Compute stands",
    ],
    [
      "a deletion before it was asked for",
      {
        endpointHistory: [...endpointHistory, entry(250, "deleted", "ep-old", `k8s-${gone}`)],
        workloadHistory: deletedAt300(gone),
      },
      "before replica-0 was",
    ],
    [
      "the deletion of what was to be kept",
      {
        endpointHistory: [
          ...endpointHistory,
          entry(50, "made", "ep-old", `k8s-${gone}`),
          entry(350, "deleted", "ep-old", `k8s-${gone}`),
        ],
        workloadHistory: deletedAt300(gone, true),
      },
      "ep-old was to be kept",
    ],
    ["the loss of a stranger's", { endpoints: endpoints.slice(0, 1) }, "ep-theirs, which is a stranger's, is gone"],
    [
      "a change of a stranger's",
      { endpoints: [endpoint("ep-one", signature), { ...endpoint("ep-theirs", "analytics"), maxCu: 8 }] },
      "ep-theirs, which is a stranger's, was changed",
    ],
    [
      "a restart of a stranger's",
      { endpointHistory: [...endpointHistory, entry(300, "started", "ep-theirs", "analytics")] },
      "ep-theirs, which is a stranger's, was started",
    ],
    [
      "what was sent to a stranger's",
      { requests: [sent("DELETE", "/ep-theirs", 423)] },
      "DELETE /api/v2/projects/alpha-0/endpoints/ep-theirs was sent",
    ],
    [
      "the deletion of what nobody made",
      { endpointHistory: [...endpointHistory, entry(300, "deleted", "ep-nameless", null)] },
      "ep-nameless, which no Compute made, was deleted",
    ],
    [
      "a second restart for one value",
      { endpointHistory: [...endpointHistory, entry(220, "started", "ep-one")] },
      "nobody had asked for another",
    ],
    [
      "a restart before it was asked for",
      {
        endpointHistory: [
          entry(100, "made", "ep-one"),
          entry(100, "started", "ep-one"),
          entry(150, "started", "ep-one"),
        ],
      },
      "nobody had asked for another",
    ],
    [
      "a restart that never came",
      { endpointHistory: endpointHistory.slice(0, 2) },
      "says that it was restarted for r1, and was not",
    ],
    ["a restart still owed", { computes: [compute({ restartedAt: "r0" })] }, "to be restarted for r1, and says r0"],
  ])("reports %s", (_what, change, complaint) => {
    expect(verdict(evidence(change)).join("\n")).toContain(complaint);
  });

  it("lets a restart pass that came twice because a reply was lost", () => {
    const twice = [...endpointHistory, entry(220, "started", "ep-one")];
    expect(verdict(evidence({ endpointHistory: twice, requests: [sent("POST", "/ep-one/restart")] }))).toEqual([]);
  });

  it("lets a change of size pass for the restart that was asked for before", () => {
    const resized = [...endpointHistory.slice(0, 2), entry(220, "up", "ep-one")];
    expect(verdict(evidence({ endpointHistory: resized }))).toEqual([]);
  });

  const again = [
    ...endpointHistory,
    entry(300, "deleted", "ep-one"),
    entry(400, "made", "ep-two"),
    entry(400, "started", "ep-two"),
  ];
  const second = {
    endpointHistory: again,
    endpoints: [endpoint("ep-two", signature), ...strangers],
    computes: [compute({ linked: "ep-two" })],
  };

  it("reports an endpoint that was created again, unless somebody had deleted the previous one", () => {
    expect(verdict(evidence(second)).join("\n")).toContain(`for ${signature} were made ep-one at`);
    const { workloadHistory } = evidence();
    workloadHistory.strikes.push({ at: 290, uid, name: "replica-0", endpoint: "ep-one" });
    expect(verdict(evidence({ ...second, workloadHistory }))).toEqual([]);
  });

  it("lets pass that a primary is made late once more and deleted again", () => {
    const late = [...endpointHistory, entry(300, "made", "ep-late"), entry(310, "deleted", "ep-late")];
    const primaries = late.map((each) => ({ ...each, type: "read_write" }));
    expect(verdict(evidence({ endpointHistory: primaries }))).toEqual([]);
  });

  it("reports what is left when all is deleted, except what was to be kept", () => {
    const kept = endpoint("ep-kept", `k8s-${gone}`);
    const left = leftovers(evidence({ endpoints: [...endpoints, kept], workloadHistory: deletedAt300(gone, true) }));
    expect(left).toEqual([`ep-one (${signature}) is still there when all is deleted`]);
  });
});
