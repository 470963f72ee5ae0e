import { join } from "node:path";
import { findBinaries } from "../control-plane/binaries.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { installCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { asRoot } from "../service/postgres/rig.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { freePort } from "../support/ports.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { sampleBaseURL, samplesFor } from "./samples.ts";
import type { Screen } from "./screen.ts";

/** Everything that the demo runs: a control plane, the service, a counter before it, and the operator. */
export interface Stage extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly service: ServiceProcess;
  /** Whether real servers run behind the computes. */
  readonly postgres: boolean;
  /** Counts what the operator sends; its base URL is the one that the operator knows. */
  readonly counter: CountingProxy;
  /** The file with what the operator logs. */
  readonly operatorLog: string;
}

/** The admission policies of an installation, from the root of the repository. */
const policies = ["deploy/base/deletion-protection", "deploy/base/annotations"];

/** Starts everything, each as a process of its own but the counter. */
export async function setStage(screen: Screen, { model, rules }: { model: boolean; rules: string }): Promise<Stage> {
  await using everything = new AsyncDisposableStack();
  const start = async <T extends AsyncDisposable>(what: string, starting: Promise<T>) =>
    everything.use(await screen.waiting(what, starting));

  const binaries = await findBinaries({ progress: (line) => screen.note(line) });
  const { seed } = samplesFor(sampleBaseURL);
  const flags = ["--rules", rules];
  const real = model ? undefined : await onPostgres(screen, seed, flags);
  const service = everything.use(
    real ?? (await screen.waiting("the service, with SQLite", ServiceProcess.start({ seed, args: flags }))),
  );
  const postgres = real !== undefined;
  const counter = await start(
    "a counter of its calls",
    CountingProxy.start(service, Number(new URL(sampleBaseURL).port)),
  );
  const controlPlane = await start("kube-apiserver and etcd", startControlPlane({ binaries }));
  const { kubeconfig, admin } = controlPlane;
  // The garbage collector knows the kinds that are there when it starts, and others half a minute later.
  await screen.waiting("kubectl apply -k crds", installCrds(admin));
  await screen.waiting("kube-controller-manager", controlPlane.startControllerManager());
  for (const policy of policies) {
    const applied = kubectl(["apply", "-k", policy], admin);
    await screen.waiting(`kubectl apply -k ${policy}`, applied);
  }
  const operator = await start(
    "the operator",
    OperatorProcess.start({ kubeconfig, allowedBaseURLs: [counter.baseURL] }),
  );
  const operatorLog = join(temporaryDirectory("operator").path, "operator.log");
  operator.child.logTo(operatorLog);

  const started = everything.move();
  return { controlPlane, service, postgres, counter, operatorLog, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** The service with real Postgres behind its computes; `undefined` where that cannot run here, and why. */
async function onPostgres(screen: Screen, seed: string, flags: readonly string[]): Promise<ServiceProcess | undefined> {
  const port = String(await freePort());
  const args = [...flags, "--postgres", "--postgres-port", port, ...asRoot];
  try {
    return await screen.waiting("the service, with SQLite and Postgres", ServiceProcess.start({ seed, args }));
  } catch (error) {
    const said = /compute-operator service: (.*)/.exec(String(error))?.[1] ?? String(error);
    screen.note(`Real Postgres cannot run behind the computes here, and a model of them stands in: ${said}`);
    return undefined;
  }
}
