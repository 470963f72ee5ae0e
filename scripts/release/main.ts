// Makes or checks a release of the checked-out commit: npm run release -- --help
import { parseArgs } from "node:util";
import { run } from "./programs.ts";
import { makeRelease, type Release } from "./release.ts";
import { verifyRelease } from "./verify.ts";

const usage = `npm run release -- --registry REGISTRY [flags]     makes a release of the checked-out commit
npm run release -- --verify DIR                   checks a release: its sums, and that a second run gives the same bytes

  --registry REGISTRY   where image and chart will lie, for example registry.example.com/databases
  --output DIR          directory of the files; default dist
  --download-url URL    where the files will be downloaded from, for krew
  --require-image       fail where no builder of images can be used
  --uncommitted         also with changes that are in no commit, to try it`;

/** As the chart's schema has it. */
const registryForm = /^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/;

const print = (line: string) => process.stdout.write(`${line}\n`);

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      registry: { type: "string" },
      output: { type: "string", default: "dist" },
      "download-url": { type: "string" },
      "require-image": { type: "boolean", default: false },
      uncommitted: { type: "boolean", default: false },
      verify: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    print(usage);
    return 0;
  }
  if (values.verify !== undefined) return await verify(values.verify, values.uncommitted);
  const { registry } = values;
  if (registry === undefined || !registryForm.test(registry)) {
    throw new Error(
      `--registry ${registry === undefined ? "is missing" : `${JSON.stringify(registry)} is no registry`}: the chart and install.yaml name the image by it. Give a host and perhaps a path, without a scheme: --registry registry.example.com/databases`,
    );
  }
  const { output, uncommitted } = values;
  const release = await makeRelease({ registry, output, uncommitted, downloadURL: values["download-url"] }, run);
  report(release, output);
  return values["require-image"] && "missing" in release.image ? 1 : 0;
}

function report({ version, commit, sums, image, baseImages }: Release, output: string): void {
  print(`compute-operator ${version}, commit ${commit.id}, in ${output}:`);
  for (const [name, sum] of sums) print(`  ${sum.slice(0, 12)}…  ${name}`);
  const unresolved = baseImages.filter(({ digest }) => digest === undefined).map(({ name }) => name);
  if ("missing" in image) print(`Not made: the image, because ${image.missing}.`);
  if (unresolved.length > 0) {
    print(
      `Not resolved to a digest: ${unresolved.join(", ")}. crane, skopeo or docker buildx would ask their registries.`,
    );
  }
}

async function verify(directory: string, uncommitted: boolean): Promise<number> {
  const { commit, same, problems, notMade } = await verifyRelease(directory, uncommitted, run);
  for (const name of same) print(`same bytes  ${name}`);
  for (const name of notMade)
    print(`not made    ${name}: only its sum was compared, because this machine cannot build the image`);
  for (const problem of problems) print(`PROBLEM     ${problem}`);
  print(
    problems.length === 0
      ? `${directory} is what commit ${commit} makes.`
      : `${directory} is not what commit ${commit} makes.`,
  );
  return problems.length === 0 ? 0 : 1;
}
