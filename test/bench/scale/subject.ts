import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";

/** Where a program under measurement finds what it works on. */
export interface Place {
  kubeconfig: string;
  baseURL: string;
  key: string;
}

/** A program under measurement. */
export interface Subject {
  name: "operator" | "baseline";
  /** Starts it as a process of its own, and waits until it says that it works, where it says so. */
  start(place: Place): Promise<Running>;
}

export interface Running {
  child: Child;
  /** The longest task since the last call, in seconds; not a number where the program does not say so. */
  longestTask(): Promise<number>;
}

/** The bundle, with the flags and the environment of the image. */
export function operatorOfImage(): Subject {
  const directory = temporaryDirectory("scale");
  execFileSync(process.execPath, ["scripts/bundle.ts", directory.path]);
  const dockerfile = readFileSync("Dockerfile", "utf8");
  const last = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
  const entrypoint = z.array(z.string()).parse(JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(last)?.[1] ?? "[]"));
  const flags = entrypoint.filter((word) => word.startsWith("--"));
  const variables = Object.fromEntries(
    [...last.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = ""]) =>
      line.split(" ").map((pair): [string, string] => {
        const [name = "", value = ""] = pair.split("=");
        return [name, value];
      }),
    ),
  );
  return {
    name: "operator",
    async start({ kubeconfig, baseURL }) {
      const port = await freePort();
      const child = await Child.start({
        name: "operator",
        command: process.execPath,
        args: [
          ...flags,
          join(directory.path, "compute-operator.js"),
          "run",
          "--leader-elect",
          "--kubeconfig",
          kubeconfig,
          "--http-port",
          String(port),
          "--allowed-base-url",
          baseURL,
        ],
        env: { PATH: process.env["PATH"], ...variables },
      });
      await eventually("the operator to be ready", async () => {
        if (!child.running) throw new Error(`it ended: ${child.tail()}`);
        return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok || undefined;
      });
      return { child, longestTask: () => longestTask(`http://127.0.0.1:${port}/metrics`) };
    },
  };
}

async function longestTask(url: string): Promise<number> {
  const text = await (await fetch(url)).text();
  return Number(/event_loop_delay_seconds\{statistic="max"\} (\S+)/.exec(text)?.[1]);
}

export const baseline: Subject = {
  name: "baseline",
  async start({ kubeconfig, baseURL, key }) {
    const child = await Child.start({
      name: "baseline",
      command: process.execPath,
      args: ["test/bench/baseline/operator.ts", "--kubeconfig", kubeconfig, "--base-url", baseURL, "--key", key],
    });
    return { child, longestTask: async () => Number.NaN };
  },
};
