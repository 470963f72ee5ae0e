import { describe, expect, it } from "vitest";
import { completionSyntax } from "../src/cli/commands/completion.ts";
import { applySyntax, connectionSyntax, exportSyntax, planSyntax } from "../src/cli/commands/flags.ts";
import { pluginSyntaxes } from "../src/cli/plugin/flags.ts";
import type { Command, Option } from "../src/command-line.ts";
import { crdsSyntax, runSyntax } from "../src/operator/flags.ts";
import { serviceSyntax } from "../src/service/flags.ts";
import { runProgram } from "./support/run-program.ts";

// What scripts and manifests of others rely on: a flag with its short form and its default. A change here breaks them.
const ofManifests = `
  -f --filename; -k --kustomize; -n --namespace; --kubeconfig; --context; --no-cluster; --fleet; --base-url`;
const ofObjects = "-n --namespace; --kubeconfig; --context";
const promised: Readonly<Record<string, string>> = {
  run: `
    --kubeconfig; --namespace=all; --selector; --leader-elect; --no-leader-elect; --lease-name; --lease-namespace;
    --cluster-resource-namespace; --http-port=8080; --workers=16; --log-level=info;
    --allowed-base-url=https://console.neon.tech/api/v2; --create-settle=60s; --fleet; --max-deletes-per-minute=60;
    --max-branch-deletes-per-minute=5; --metrics-namespaces=20; --budget-share=1`,
  service: `
    --port=8090; --host=127.0.0.1; --data=:memory:; --seed; --time-scale=1; --rules=specification; --faults;
    --no-rate-limits; --no-project-lock; --branch-recovery; --test-controls; --behind-proxy; --ready-file;
    --postgres; --postgres-port=5432; --postgres-bin; --postgres-user; --postgres-advertise; --domain; --temporary-disk-scale=1;
    --api-tls; --strict-spec`,
  plan: `${ofManifests}; --prune; --prune-branches; -o --output=text`,
  apply: `
    ${ofManifests}; --yes; --prune; --prune-branches; --max-deletes; --timeout=10m; --connection-file;
    --create-settle=60s`,
  connection: `${ofManifests}; -o --output=uri; --pooled`,
  export: `
    --project; --all-projects; --organization; -n --namespace; --connection=default; --branches; --observe;
    --base-url=https://console.neon.tech/api/v2`,
  crds: "",
  completion: "",
  status: ofObjects,
  psql: `${ofObjects}; --pooled`,
  restart: `${ofObjects}; --wait; --timeout=5m`,
  pause: `${ofObjects}; --for`,
  resume: ofObjects,
  disrupt: `${ofObjects}; --for`,
  reset: `${ofObjects}; --yes; --wait; --timeout=5m`,
};

const syntaxes = new Map<string, Command>(
  [
    runSyntax,
    serviceSyntax,
    planSyntax,
    applySyntax,
    connectionSyntax,
    exportSyntax,
    crdsSyntax,
    completionSyntax,
    ...pluginSyntaxes,
  ].map((syntax) => [syntax.name().replace("compute-operator ", ""), syntax]),
);

function written({ short, long, required, defaultValue, defaultValueDescription }: Option): string {
  const value = required && defaultValue !== undefined ? `=${defaultValueDescription ?? String(defaultValue)}` : "";
  return `${short === undefined ? "" : `${short} `}${long}${value}`;
}

describe("the flags that others rely on", () => {
  it("the flags are promised for every command", () => {
    expect([...syntaxes.keys()].toSorted()).toEqual(Object.keys(promised).toSorted());
  });

  it.each(Object.entries(promised))("the flags of %s are these, with these defaults, and no other", (name, list) => {
    const flags = list.split(";").map((flag) => flag.trim());
    expect(syntaxes.get(name)?.options.map(written)).toEqual(flags.filter((flag) => flag !== ""));
  });

  it.each([...syntaxes])("the help of %s names each of its flags, and says what it is for", (_, syntax) => {
    const help = syntax.helpInformation();
    expect(syntax.options.filter(({ long }) => !help.includes(`${long}`))).toEqual([]);
    expect(syntax.options.filter(({ description }) => description.length < 8)).toEqual([]);
  });
});

describe("a command of the program", () => {
  const run = (...args: string[]) => runProgram(process.execPath, ["src/main.ts", ...args]);

  it("a command is listed by --help, and no other is", async () => {
    const { stdout } = await run("--help");
    const listed = [...stdout.matchAll(/^ {2}(\w+) {2,}\S/gm)].map(([, name = ""]) => name);
    expect(listed.toSorted()).toEqual(Object.keys(promised).toSorted());
  });

  it.each(["run", "plan", "service", "completion"])(
    "a command ends with 0 after its help, and with 1 after a flag that it has not: %s",
    async (name) => {
      const [help, wrong] = await Promise.all([run(name, "--help"), run(name, "--frobnicate")]);
      expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining(`Usage: compute-operator ${name}`) });
      const said = `compute-operator ${name}: unknown option '--frobnicate'\nSee compute-operator ${name} --help.`;
      expect(wrong).toMatchObject({ status: 1, stderr: expect.stringContaining(said) });
    },
  );
});
