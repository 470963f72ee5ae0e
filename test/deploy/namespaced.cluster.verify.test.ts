import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runKubectl } from "../control-plane/kubectl.ts";
import { Installation } from "./installation.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start();
  await installation.kubectl("create", "namespace", "shop");
  await installation.kubectl("create", "namespace", "billing");
});
afterAll(() => installation?.[Symbol.asyncDispose]());

/** Whether a ServiceAccount may list Secrets in a namespace: "yes" or "no". */
async function mayListSecrets(account: string, namespace: string): Promise<string> {
  const user = `--as=system:serviceaccount:${account}:compute-operator`;
  const { stdout } = await runKubectl(
    ["auth", "can-i", "list", "secrets", "-n", namespace, user],
    installation.cluster.admin,
  );
  return stdout.trim();
}

describe("with rights in some namespaces only", () => {
  it("overlays/one-namespace brings the samples to Ready in the operator's own namespace", async () => {
    await installation.install("deploy/overlays/one-namespace", "shop");
    await installation.applySamples();
    await installation.samplesReady();
    expect(await mayListSecrets("shop", "shop")).toBe("yes");
    expect(await mayListSecrets("shop", "billing")).toBe("no");
  });

  it("overlays/some-namespaces takes them over without a write to the service", async () => {
    await installation.kubectl("delete", "rolebindings", "--all", "-n", "shop");
    installation.counter.clear();
    await installation.install("deploy/overlays/some-namespaces");
    const patch = JSON.stringify({ metadata: { annotations: { "compute-operator.dev/reconcileRequestedAt": "now" } } });
    await installation.kubectl("-n", "shop", "patch", "compute/shop-primary", "--type=merge", "-p", patch);
    const handled = "--for=jsonpath={.status.lastHandledReconcileAt}=now";
    await installation.kubectl("-n", "shop", "wait", handled, "compute/shop-primary", "--timeout=60s");
    expect(installation.counter.writes).toEqual([]);
    expect(await mayListSecrets("compute-operator-system", "shop")).toBe("yes");
    expect(await mayListSecrets("compute-operator-system", "default")).toBe("no");
  });
});
