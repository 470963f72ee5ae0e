import { describe, expect, test } from "vitest";
import { computePatches } from "../../../src/operator/compute/execute/patch-metadata.ts";
import { ClusterError, ClusterUnreachable } from "../../../src/operator/kube/errors.ts";
import type { JsonPatchOperation } from "../../../src/operator/kube/json-patch.ts";
import { letGo, type Patcher, patched, patchOf, withFinalizer } from "../../../src/operator/life/patching.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import { compute } from "../../support/builders.ts";

const refusal = (status: number, message = "", subject = "") =>
  new ClusterError({ status, reason: "", message, subject });

/** An API server that notes each patch and answers so. */
function answering(answer: unknown) {
  const patches: (readonly JsonPatchOperation[])[] = [];
  const cluster: Patcher<Compute> = {
    patch: (_, __, ops) => {
      patches.push(ops);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  return { cluster, patches };
}

describe("the removal of the operator's finalizer", () => {
  test.each<[string, unknown, boolean]>([
    ["is carried out", compute({ guarded: false }), true],
    ["finds nothing", refusal(404), true],
    ["gets no answer", new ClusterUnreachable("reset"), true],
    ["is answered with 500, which says nothing", refusal(500), true],
    ["finds another version by its number", refusal(409), false],
    ["finds another version by its test", refusal(422), false],
    ["is not allowed", refusal(403), false],
    ["is not valid", refusal(422, "", "shop"), false],
    ["is held by a webhook that cannot be called", refusal(500, "failed calling webhook"), false],
  ])("an object counts as let go from before the request on, also where that %s", async (_, answer, isReleased) => {
    const notes: [boolean, number][] = [];
    const { cluster, patches } = answering(answer);
    const going = letGo(computePatches, cluster, compute(), (note) => notes.push([note, patches.length]));
    const thrown = await going.catch((error: unknown) => error);
    expect(thrown).toBe(answer instanceof Error ? answer : undefined);
    expect(notes).toEqual(
      isReleased
        ? [[true, 0]]
        : [
            [true, 0],
            [false, 1],
          ],
    );
  });

  test("the removal tests uid and version, and nobody else's finalizer goes", async () => {
    const { metadata, ...rest } = compute();
    const others = { ...rest, metadata: { ...metadata, finalizers: ["example.com/other", finalizers.endpoint] } };
    const { cluster, patches } = answering(compute({ guarded: false }));
    await letGo(computePatches, cluster, others, () => {});
    expect(patches).toEqual([
      [
        { op: "test", path: "/metadata/uid", value: metadata.uid },
        { op: "test", path: "/metadata/resourceVersion", value: "1" },
        { op: "test", path: "/metadata/finalizers/1", value: finalizers.endpoint },
        { op: "remove", path: "/metadata/finalizers/1" },
      ],
    ]);
  });

  test("an object without the finalizer is let go without a request", async () => {
    const notes: boolean[] = [];
    const { cluster, patches } = answering(refusal(500));
    await letGo(computePatches, cluster, compute({ guarded: false }), (note) => notes.push(note));
    expect([notes, patches]).toEqual([[true], []]);
  });
});

describe("a patch", () => {
  test("a patch that changes nothing is not sent, and leaves the object as it was", async () => {
    const { cluster, patches } = answering(refusal(500));
    const self = compute();
    expect(await withFinalizer(computePatches, cluster, self)).toBe(self);
    expect(patches).toEqual([]);
  });

  test("the object after a patch is the one that the answer shows", async () => {
    const answer = compute({ resourceVersion: "2" });
    const { cluster } = answering(answer);
    const after = await withFinalizer(computePatches, cluster, compute({ guarded: false }));
    expect(after.metadata).toMatchObject({ resourceVersion: "2", finalizers: [finalizers.endpoint] });
  });

  test("an answer that shows no such object is an error, and not taken for one", async () => {
    const { cluster } = answering({ kind: "Compute" });
    const patch = patchOf(compute({ guarded: false })).addFinalizer(finalizers.endpoint);
    await expect(patched(computePatches, cluster, patch, compute({ guarded: false }))).rejects.toThrow(
      "the API server answered with a Compute that cannot be read",
    );
  });
});
