// `npm run generate -- gitops`: Argo CD's engine keeps a namespace as a Git repository says, on a real API server
// beside the operator. What it says at each step is written into docs/proof/health.md.
import { readFileSync, writeFileSync } from "node:fs";
import { startWithCrds } from "../../control-plane/crds.ts";
import { World } from "../../e2e/world.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { Engine } from "./engine.ts";
import { page, recorded } from "./page.ts";
import { Repository } from "./repository.ts";
import { playLoop } from "./steps.ts";

await using controlPlane = await startWithCrds();
const cluster = controlPlane.admin;
const { kubeconfig } = cluster;
// Prunes the members of a pool.
await controlPlane.startControllerManager();
await using world = await World.start({ cluster, projects: [{ id: "shop", branches: ["br-main"] }] });
const directory = temporaryDirectory("gitops");
const repository = new Repository(directory.path);
const { namespace } = world;
const options = { kubeconfig, namespace, repository: repository.path, directory: directory.path };
await using engine = await Engine.start(options);
const steps = await playLoop({ cluster, world, repository, engine });
writeFileSync(page, recorded(readFileSync(page, "utf8"), steps, namespace));
directory.remove();
const writes = steps.flatMap((step) => step.writes).length;
console.log(`gitops: ${steps.length} steps, ${writes} writes at the service, none too many`);
