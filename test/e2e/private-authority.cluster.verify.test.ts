import { describe, it } from "vitest";
import { type Authority, newAuthority } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { TlsFront } from "../support/tls-front.ts";
import { compute, connection } from "./manifests.ts";
import { sharedCluster } from "./shared-cluster.ts";
import { World } from "./world.ts";

interface Scene extends AsyncDisposable {
  world: World;
  front: TlsFront;
  /** Leads the connection to the service behind TLS, with this `caBundle`. */
  trust: (caBundle?: string) => Promise<void>;
  /** Waits until the object's condition Ready says this, e.g. `("compute/shop", "…")`. */
  says: (object: string, text: string) => Promise<string>;
}

/** The service behind TLS with a certificate of this authority, before the counter, and a Compute that uses it. */
async function behind(authority: Authority): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const args = ["--allowed-base-url", "https://127.0.0.1:*/api/v2"];
  const world = stack.use(await World.start({ cluster: sharedCluster(), operatorArgs: args }));
  const front = stack.use(await TlsFront.start(world.counter, authority));
  const all = stack.move();
  const trust = (caBundle?: string) =>
    world.apply(connection(front.baseURL, caBundle === undefined ? {} : { caBundle }));
  const says = (object: string, text: string) =>
    eventually(`${object} to say: ${text}`, async () => {
      const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
      const message = await world.kubectl("get", object, "-o", path);
      if (!message.includes(text)) throw new Error(message);
      return message;
    });
  return { world, front, trust, says, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const shop = (cu: number) =>
  compute("shop", { projectID: "shop", branchID: "br-main", computeUnits: { min: cu, max: cu } });

describe.concurrent("a service whose certificate a private authority signed", () => {
  it("a service with a private authority is refused with what to do, until caBundle holds that authority", async ({
    expect,
  }) => {
    const authority = await newAuthority();
    await using scene = await behind(authority);
    const { world, trust, says } = scene;
    await trust();
    await world.apply(shop(1));
    await world.waitForReason("serviceconnection/default", "Unreachable");
    await says(
      "serviceconnection/default",
      "put that authority's certificate into spec.caBundle of the ServiceConnection",
    );
    await world.waitForReason("compute/shop", "ServiceUnavailable");
    expect(world.counter.writes).toEqual([]);
    await trust(authority.certificate);
    await world.waitForReason("serviceconnection/default", "Authenticated");
    await world.waitForReady("compute/shop");
    expect(await world.endpoints()).toHaveLength(1);
  });

  it("a new authority takes effect at once, without a restart", async ({ expect }) => {
    const [first, second] = await Promise.all([newAuthority(), newAuthority()]);
    await using scene = await behind(first);
    const { world, front, trust, says } = scene;
    await trust(`# ours\n${first.certificate}`);
    await world.apply(shop(1));
    await world.waitForReady("compute/shop");
    const before = await world.compute("shop");
    front.show(second);
    await world.waitForReason("compute/shop", "ServiceUnavailable");
    // A request that was under way at the change says only that its connection was reset.
    await says("compute/shop", "another authority than spec.caBundle of the ServiceConnection holds");
    await trust(second.certificate);
    await world.apply(shop(2));
    await world.waitForField("compute/shop", "{.status.size}", "2 CU");
    await world.waitForReady("compute/shop");
    expect((await world.compute("shop")).status.endpointID).toBe(before.status.endpointID);
    expect(world.counter.writes.map(({ method }) => method)).toEqual(["POST", "PATCH"]);
  });

  it("a service is not asked at all while caBundle holds what is no certificate", async ({ expect }) => {
    const authority = await newAuthority();
    await using scene = await behind(authority);
    const { world, front, trust, says } = scene;
    const refused = await world.tryApply(connection(front.baseURL, { caBundle: "no certificate" }));
    expect(refused.stderr).toContain("caBundle must hold certificates in PEM form (-----BEGIN CERTIFICATE-----)");
    await trust(authority.certificate.replace(/\n[^\n]{40}/, "\n"));
    await says("serviceconnection/default", "Certificate 1 of 1 in spec.caBundle cannot be read");
    await world.apply(shop(1));
    await world.waitForReason("compute/shop", "ConnectionNotReady");
    expect(world.counter.writes).toEqual([]);
    await trust(authority.certificate);
    await world.waitForReady("compute/shop");
  });
});
