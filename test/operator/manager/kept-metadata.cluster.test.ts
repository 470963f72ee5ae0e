import { expect, test } from "vitest";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { noLabels, withKeptMetadata } from "../../../src/operator/manager/kept-metadata.ts";
import { annotations, finalizers } from "../../../src/operator/resources/names.ts";
import { createNamespace, kubeconfig } from "../../control-plane/shared-control-plane.ts";
import { configMap, configMaps } from "../kube/config-maps.ts";
import { realClient } from "../kube/real-client.ts";

test("a patch of an object of which only a part is kept leaves others' annotations, labels and finalizers in place", async () => {
  const { client, transport } = realClient(kubeconfig());
  await using _ = { [Symbol.asyncDispose]: () => transport.close() };
  const namespace = await createNamespace("kept");
  const others = { annotations: { "example.com/a": "1", "example.com/b": "2" }, labels: { team: "a" } };
  const held = Array.from({ length: 150 }, (__, n) => `example.com/held-${n}`);
  const object = await client.create(configMaps, configMap(namespace, "x", { ...others, finalizers: held }));
  const ref = { namespace, name: "x" };
  const send = (patch: ReturnType<typeof guardedPatch>) => client.patch(configMaps, ref, patch.ops());

  const kept = withKeptMetadata(object, noLabels);
  expect(kept.metadata).toMatchObject({ annotations: {}, labels: {} });
  const linked = await send(
    guardedPatch(kept).addFinalizer(finalizers.endpoint).setAnnotation(annotations.endpointID, "ep-1"),
  );
  expect(linked.metadata).toMatchObject({
    annotations: { ...others.annotations, [annotations.endpointID]: "ep-1" },
    labels: others.labels,
    finalizers: [...held, finalizers.endpoint],
  });

  const seen = withKeptMetadata(linked, noLabels);
  expect(seen.metadata.finalizers?.indexOf(finalizers.endpoint)).toBe(150);
  const unlinked = await send(
    guardedPatch(seen, { resourceVersion: true })
      .removeAnnotation(annotations.endpointID)
      .removeFinalizer(finalizers.endpoint),
  );
  expect(unlinked.metadata).toMatchObject({ annotations: others.annotations, finalizers: held });
  expect(unlinked.metadata.annotations).not.toHaveProperty(annotations.endpointID);
});
