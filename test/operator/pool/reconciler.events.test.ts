import { describe, expect, test } from "vitest";
import { pooled, root } from "./pooled.ts";

describe("the events of a pool", () => {
  const pool = "ComputePool web";

  test("tell once of each change of its number, of its template, and that all are ready", async () => {
    const { reconcile, reported, scale, move, ready } = pooled(1);
    await reconcile();
    await reconcile();
    ready();
    await reconcile();
    expect(reported.splice(0)).toEqual([
      `Normal ${pool} Scaling: Creating or removing replicas, to have 1.`,
      `Normal ${pool} Ready: All replicas are ready.`,
    ]);
    move("br-other");
    await reconcile();
    await reconcile();
    scale(3);
    await reconcile();
    await reconcile();
    expect(reported).toEqual([
      `Normal ${pool} Scaling: Applying the changed template to the replicas.`,
      `Normal ${pool} Scaling: Creating or removing replicas, to have 3.`,
    ]);
  });

  test("tell of a replica that the API server refuses, and of a name that is taken, once each", async () => {
    const { cluster, reconcile, reported } = pooled(1);
    const refusing = pooled(1);
    refusing.refuses = ({ method, path }) => method === "POST" && path.endsWith("/computes");
    await refusing.reconcile();
    await refusing.reconcile();
    expect(refusing.reported).toEqual([
      expect.stringMatching(
        /^Warning ComputePool web Rejected: The Kubernetes API server refused to create, change or delete a replica: .*quota.*retried automatically/,
      ),
    ]);
    const body = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name: "web-0" },
      spec: { projectID: "shiny-wind-028834", branchID: "br-main" },
    };
    cluster.server.handle({ method: "POST", path: `${root}/computes`, body });
    await reconcile();
    await reconcile();
    expect(reported).toEqual([expect.stringMatching(/^Warning ComputePool web Conflict: Compute web-0 exists/)]);
  });

  test("the events on an edited replica say that its spec was restored", async () => {
    const { reconcile, reported, edit, computes, ready } = pooled(1);
    await reconcile();
    ready();
    await reconcile();
    reported.length = 0;
    edit(0);
    await reconcile();
    expect((await computes())[0]?.spec.disabled).toBeUndefined();
    expect(reported[0]).toBe(
      "Normal Compute web-0 DriftCorrected: The spec differed from the template of ComputePool web and was restored. Change the template instead.",
    );
  });

  test("say nothing of a replica that is not ready for a while", async () => {
    const { reconcile, reported, ready, unready } = pooled(1);
    await reconcile();
    ready();
    await reconcile();
    reported.length = 0;
    unready();
    await reconcile();
    expect(reported).toEqual([]);
  });
});
