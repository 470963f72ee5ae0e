import { describe, expect, it } from "vitest";
import { calm } from "../simulation/api-server/faults.ts";
import { Refusal } from "../simulation/api-server/refusal.ts";
import { underShippedRights } from "../simulation/api-server/rights.ts";
import type { ApiServer } from "../simulation/api-server/server.ts";
import type { ApiFront } from "../simulation/api-server/transport.ts";
import type { ClusterWorld } from "./support/cluster-world.ts";
import {
  agreed,
  changeSecret,
  details,
  label,
  removed,
  restored,
  secretIn,
  secretsOf,
  told,
  worldOfApps,
} from "./support/elsewhere.ts";

/** The shipped rights, without those to Secrets of `apps` while `isRefused`. */
function withoutRights(server: ApiServer, isRefused: (method: string) => boolean): ApiFront {
  const front = underShippedRights(server);
  return {
    ...front,
    handle: (request, asOf) =>
      request.path.startsWith(secretsOf("apps")) && isRefused(request.method)
        ? new Refusal(403, "Forbidden", "the operator has no right to this").toResponse()
        : front.handle(request, asOf),
  };
}

const kept = (why: string, place = "apps/shop-db") =>
  `Connection Secret ${place} is kept: ${why}. Delete it if nothing uses it.`;
const disagrees = "that namespace does not agree to it any more";

describe("a Secret in another namespace whose namespace no longer agrees", () => {
  it("stays as it is while its Compute lives, and is written again once the label is back", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const before = secretIn(world, "apps");
    world.label("apps", {});
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    changeSecret(world, "apps", ({ data }) => {
      data["host"] = "eA==";
    });
    await world.clock.advance(7_200_000);
    expect(secretIn(world, "apps").data).toEqual({ ...before.data, host: "eA==" });
    expect(told(world, "Released")).toEqual([]);
    world.label("apps", agreed);
    await world.ready("shop", "db");
    expect(secretIn(world, "apps").data).toEqual(before.data);
  });

  it("stays when its Compute goes, which an event says, and the deletion goes on", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const before = secretIn(world, "apps");
    world.label("apps", {});
    await world.clock.advance(1000);
    await removed(world);
    expect(secretIn(world, "apps")).toEqual(before);
    expect(told(world, "Released")).toContain(kept(disagrees));
    expect(world.endpoints).toEqual([]);
  });

  it("stays after a change to another place, which one event says, and is no longer the Compute's to remove", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.label("apps", {});
    await world.clock.advance(1000);
    world.edit("shop", "db", { connectionSecret: details });
    await world.ready("shop", "db");
    await world.clock.advance(600_000);
    expect(told(world, "Released")).toEqual([kept(disagrees)]);
    expect(world.compute("shop", "db").status.connectionSecret?.namespace).toBe("shop");
    await removed(world);
    expect(secretIn(world, "apps")).toBeDefined();
  });
});

describe("the password in a Secret in another namespace", () => {
  const resets = (writes: readonly string[]) => writes.filter((write) => write.includes("reset_password")).length;

  it("the password is changed on request while the namespace agrees, and is not reset where no new one could be written", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const before = secretIn(world, "apps").data.password;
    world.setAnnotation("shop", "db", "passwordRotationAt", "first");
    await world.until("the new password", () => secretIn(world, "apps").data.password !== before);
    await world.ready("shop", "db");
    expect(resets(world.writes)).toBe(1);
    world.label("apps", {});
    world.setAnnotation("shop", "db", "passwordRotationAt", "second");
    await world.clock.advance(600_000);
    expect(resets(world.writes)).toBe(1);
    world.label("apps", agreed);
    await world.until("the second", () => resets(world.writes) === 2);
  });
});

describe("a Secret in another namespace to which the operator has lost its rights", () => {
  it.each(["DELETE", "GET"])("stays when its Compute goes, which an event says, without %s", async (method) => {
    const rights = { refused: "" };
    await using world = worldOfApps(agreed, {
      rights: (server) => withoutRights(server, (one) => one === rights.refused),
    });
    await world.ready("shop", "db");
    rights.refused = method;
    await removed(world);
    expect(secretIn(world, "apps")).toBeDefined();
    expect(told(world, "Released")).toContain(kept("the operator may not delete it"));
  });

  it("the Compute says Forbidden where the Secret cannot be written, and that of before stays until it can", async () => {
    const rights = { refused: "POST" };
    await using world = worldOfApps(agreed, {
      rights: (server) => withoutRights(server, (one) => one === rights.refused),
    });
    await world.until("the refusal", () => world.said("shop", "db").startsWith("Forbidden"));
    expect(world.said("shop", "db")).toContain('namespace "apps"');
    expect(world.endpoints).toHaveLength(1);
    rights.refused = "";
    await world.ready("shop", "db");
  });
});

describe("the end of what a Secret in another namespace hangs on", () => {
  it("the CRD's deletion leaves it where it is, which an event says, and every endpoint too", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.send("DELETE", `${definitions}/computes.compute-operator.dev`);
    await world.clock.advance(60_000);
    expect([secretIn(world, "apps"), world.endpoints.length]).toEqual([expect.anything(), 1]);
    expect(told(world, "Released")).toContain(kept("the definition of Computes goes"));
  });

  it("a Secret that somebody deletes is made again, and goes with its Compute all the same", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.send("DELETE", `${secretsOf("apps")}/shop-db`);
    await world.clock.advance(2000);
    expect(secretIn(world, "apps")).toBeDefined();
    expect(told(world, "SecretUpdated")).toEqual([expect.stringContaining('Secret "apps/shop-db" was deleted')]);
    await removed(world);
    expect(secretIn(world, "apps")).toBeUndefined();
  });

  it.each([
    ["deleted", () => {}],
    ["retained", (world: ClusterWorld) => world.edit("shop", "db", { deletionPolicy: "Retain" })],
  ])("a create that takes effect late leaves nothing behind a Compute that is %s", async (_, change) => {
    let created = 0;
    await using world = worldOfApps(agreed, {
      weather: {
        ...calm,
        request: (request, timeoutMs) => {
          if (request.method !== "POST" || !request.path.endsWith("/apps/secrets"))
            return calm.request(request, timeoutMs);
          created += 1;
          return created === 1 ? { kind: "answered", arriveMs: 50_000, replyMs: 0 } : { kind: "refused", afterMs: 1 };
        },
      },
    });
    await world.until("the create", () => created > 0);
    await world.clock.advance(2000);
    change(world);
    await removed(world);
    await world.clock.advance(120_000);
    expect([created > 0, secretIn(world, "apps")]).toEqual([true, undefined]);
  });

  it("the Secret's namespace may go first: its Compute says so, and goes", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.send("DELETE", "/api/v1/namespaces/apps");
    await world.clock.advance(30_000);
    expect(world.find("/api/v1/namespaces/apps")).toBeUndefined();
    expect(world.said("shop", "db")).toMatch(/^SecretNotAllowed/);
    await removed(world);
    expect(told(world, "Released").filter((message) => message.includes("is kept: "))).toEqual([]);
  });

  it("the Compute's namespace may go: its Secret elsewhere goes before it", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.send("DELETE", "/api/v1/namespaces/shop");
    await world.until("the end of the namespace", () => world.find("/api/v1/namespaces/shop") === undefined);
    expect(secretIn(world, "apps")).toBeUndefined();
    expect(world.endpoints).toEqual([]);
  });

  it("a Compute that is retained, or whose endpoint was adopted, takes its Secret along", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.edit("shop", "db", { deletionPolicy: "Retain" });
    await removed(world);
    expect([secretIn(world, "apps"), world.endpoints.length]).toEqual([undefined, 1]);
  });
});

describe("a Compute that goes without its finalizer", () => {
  it("a Compute without its finalizer leaves its Secret elsewhere, which an event says", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    restored(world);
    await world.clock.advance(2000);
    expect(told(world, "Released")).toContain(kept("the Compute was deleted without the operator's finalizer"));
    expect(secretIn(world, "apps")).toBeDefined();
  });
});

describe("a restored cluster", () => {
  it("a Compute of the same namespace and name takes its former Secret over, and removes it in the end", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const before = secretIn(world, "apps");
    restored(world);
    await world.ready("shop", "db");
    const after = secretIn(world, "apps");
    const { uid } = world.compute("shop", "db").metadata;
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.metadata.annotations["compute-operator.dev/secret-of"]).toBe(`shop/db/${uid}`);
    expect(after.metadata.labels["compute-operator.dev/compute"]).toBe(uid);
    expect(after.data).toEqual(before.data);
    expect(told(world, "SecretUpdated")).toEqual([]);
    await removed(world);
    expect(secretIn(world, "apps")).toBeUndefined();
  });

  it("a Compute that is restored with its annotations takes its rotated Secret over, and rotates nothing again", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const resets = () => world.writes.filter((write) => write.includes("reset_password")).length;
    world.setAnnotation("shop", "db", "passwordRotationAt", "one");
    await world.until("the rotation", () => resets() === 1);
    await world.clock.advance(20_000);
    const before = secretIn(world, "apps");
    const handled = "compute-operator.dev/password-rotation-handled";
    expect(before.metadata.annotations[handled]).toBe("one");
    restored(world);
    world.setAnnotation("shop", "db", "passwordRotationAt", "one");
    await world.ready("shop", "db");
    await world.clock.advance(600_000);
    const after = secretIn(world, "apps");
    expect([resets(), after.data.password]).toEqual([1, before.data.password]);
    expect(after.metadata.annotations[handled]).toBe("one");
    expect(after.metadata.labels["compute-operator.dev/compute"]).not.toBe(
      before.metadata.labels["compute-operator.dev/compute"],
    );
    world.setAnnotation("shop", "db", "passwordRotationAt", "two");
    await world.until("the next rotation", () => resets() === 2);
  });

  it("a Secret that is restored after its Compute is taken over at once", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const { metadata, ...backup } = secretIn(world, "apps");
    world.send("DELETE", `${secretsOf("apps")}/shop-db`);
    restored(world);
    world.label("apps", {});
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    const { name, labels, annotations } = metadata;
    world.send("POST", secretsOf("apps"), { ...backup, metadata: { name, labels, annotations } });
    world.label("apps", agreed);
    await world.ready("shop", "db");
    const { uid } = world.compute("shop", "db").metadata;
    expect(secretIn(world, "apps").metadata.labels["compute-operator.dev/compute"]).toBe(uid);
  });
});

describe("a Secret at the place that the spec names", () => {
  const marks = {
    labels: { "compute-operator.dev/compute": "u" },
    annotations: { "compute-operator.dev/secret-of": "" },
  };

  it.each<[string, object, string]>([
    ["without any mark", {}, "servicebinding.io/postgresql"],
    [
      "of another Compute",
      { ...marks, annotations: { "compute-operator.dev/secret-of": "other/db/u" } },
      "servicebinding.io/postgresql",
    ],
    [
      "of another name",
      { ...marks, annotations: { "compute-operator.dev/secret-of": "shop/db2/u" } },
      "servicebinding.io/postgresql",
    ],
    [
      "of a former one by its annotation alone",
      { annotations: { "compute-operator.dev/secret-of": "shop/db/u" } },
      "servicebinding.io/postgresql",
    ],
    ["of another type", { ...marks, annotations: { "compute-operator.dev/secret-of": "shop/db/u" } }, "Opaque"],
  ])("a Secret %s is neither written over nor removed", async (_, metadata, type) => {
    await using world = worldOfApps({});
    world.send("POST", secretsOf("apps"), { type, metadata: { name: "shop-db", ...metadata }, data: { own: "eA==" } });
    world.label("apps", agreed);
    await world.until("the refusal", () => world.said("shop", "db").startsWith("Conflict"));
    expect(world.said("shop", "db")).toContain('Secret "apps/shop-db" exists and does not belong to this Compute');
    await removed(world);
    expect(secretIn(world, "apps").data).toEqual({ own: "eA==" });
  });

  it("a Secret of one that still lives is not taken over, and is free once that one goes", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.declare("shop", "second", { branchID: "br-preview", connectionSecret: { ...details, namespace: "apps" } });
    await world.until("the refusal", () => world.said("shop", "second").startsWith("Conflict"));
    const before = secretIn(world, "apps");
    await world.clock.advance(600_000);
    expect(secretIn(world, "apps")).toEqual(before);
    await removed(world);
    await world.ready("shop", "second");
    expect(secretIn(world, "apps").metadata.uid).not.toBe(before.metadata.uid);
  });

  it("a Secret whose mark somebody took away is theirs: it is neither written over nor removed", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    changeSecret(world, "apps", ({ metadata }) => {
      delete metadata.annotations["compute-operator.dev/secret-of"];
    });
    await world.until("the refusal", () => world.said("shop", "db").startsWith("Conflict"));
    await removed(world);
    expect(secretIn(world, "apps")).toBeDefined();
  });

  it("a copy with all its marks counts as the Compute's too: it goes where the namespace agrees, and stays elsewhere", async () => {
    await using world = worldOfApps();
    world.namespace("outside");
    await world.ready("shop", "db");
    const { metadata, ...rest } = secretIn(world, "apps");
    const { labels, annotations } = metadata;
    for (const namespace of ["apps", "outside"]) {
      world.send("POST", secretsOf(namespace), { ...rest, metadata: { name: "copy", labels, annotations } });
    }
    await world.clock.advance(60_000);
    expect(["apps", "outside"].map((namespace) => secretIn(world, namespace, "copy") !== undefined)).toEqual([
      false,
      true,
    ]);
    expect(secretIn(world, "apps")).toBeDefined();
    await removed(world);
    expect(secretIn(world, "outside", "copy")).toBeDefined();
  });

  it("a namespace that agrees to another namespace alone takes none", async () => {
    await using world = worldOfApps({ [`${label}s`]: "", "secrets-from.compute-operator.dev/other": "" });
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    expect(secretIn(world, "apps")).toBeUndefined();
  });
});
