import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { keys } from "../service/support/shop.ts";
import { type Run, Stage } from "./command-stage.ts";

const page = "docs/cli.md";

/** Runs the commands of the page in its order and answers the page with what they really write. */
async function played(text: string): Promise<string> {
  using stage = new Stage();
  stage.programs = { kubectl: ([, directory = ""]) => ({ status: 0, stdout: joined(directory), stderr: "" }) };
  stage.env = { COMPUTE_OPERATOR_API_KEY: keys.shop };
  let last: Run = { status: 0, out: "", err: "" };
  const parts: string[] = [];
  for (const part of text.split(/(?<=```console\n)|(?=^```$)/m)) {
    const commands = part.split("\n").filter((line) => line.startsWith("$ "));
    if (!parts.at(-1)?.endsWith("```console\n")) {
      parts.push(part);
      continue;
    }
    const shown: string[] = [];
    for (const command of commands) {
      // Each may stand on what the one before did.
      last = command === "$ echo $?" ? { ...last, out: String(last.status), err: "" } : await typed(command, stage);
      const written = [last.out, last.err].filter((each) => each !== "");
      shown.push(command, ...written);
    }
    parts.push(`${shown.join("\n")}\n`);
  }
  return parts.join("");
}

/** What kustomize makes of a kustomization that only lists files. */
function joined(directory: string): string {
  const { resources } = parse(readFileSync(join(directory, "kustomization.yaml"), "utf8"));
  const files = z.array(z.string()).parse(resources);
  return files.map((file) => readFileSync(join(directory, file), "utf8")).join("---\n");
}

/** One line of a shell, with pipes. */
async function typed(line: string, stage: Stage): Promise<Run> {
  let run: Run = { status: 0, out: "", err: "" };
  for (const piece of line.slice(2).split(" | ")) {
    const [program = "", ...words] = piece.split(" ");
    if (program === "echo") {
      run = { ...run, out: words.join(" ").replaceAll("'", "") };
      continue;
    }
    const [command = "", ...args] = words;
    if (command !== "plan" && command !== "apply" && command !== "export") throw new Error(`what is ${piece}?`);
    run = await stage.run(command, args, run.out);
  }
  return run;
}

test(`${page} shows what the commands write`, async () => {
  await expect(await played(readFileSync(page, "utf8"))).toMatchFileSnapshot(`../../${page}`);
});
